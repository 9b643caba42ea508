/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/map.h"
#include "json/yaml.h"
#include "json/yaml_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

struct yaml_anchor {
    bool open; /* its container is still being read: an alias now would contain itself */
    struct yaml_scalar scalar;
    size_t nodes, bytes;
    uint32_t height;
};

/* A value on its way into its container. */
struct value {
    struct yaml_scalar scalar; /* type only counts for scalars */
    struct yaml_at at;
    uint32_t height; /* containers inside containers, 0 for a scalar */
    bool alias;
};

enum { LINEAR_MAX = 16 }; /* members looked through one by one; above, by a map */

int yaml_fail(struct yaml_build *b, struct yaml_at at, const char *fmt, ...)
{
    char msg[sizeof b->err->msg];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    return err_set(b->err, ERR_BAD_REQUEST, "yaml: line %zu, column %zu: %s", at.line, at.column, msg);
}

static int too_large(struct yaml_build *b, struct yaml_at at, const char *what)
{
    return err_set(b->err, ERR_TOO_LARGE, "yaml: line %zu, column %zu: %s", at.line, at.column, what);
}

/* The innermost container; there must be one. */
static struct yaml_frame *top(struct yaml_build *b)
{
    return &b->frames.p[b->frames.n - 1];
}

static bool wants_key(struct yaml_build *b)
{
    return b->frames.n && top(b)->type == JSON_OBJ && !top(b)->has_key;
}

/* ---- Limits. ---- */

/* The share of nodes that may come by alias: nearly all of a small document, less of a large one. The numbers are
 * go-yaml's, so that a document is refused here if kubectl refuses it. */
static double alias_share(size_t nodes)
{
    const double low = 400000, high = 4000000;
    return (double)nodes <= low ? 0.99 : 0.99 - 0.89 * (((double)nodes - low) / (high - low));
}

/* Called once for every node. libyaml visits all open brackets for each token, so deep documents must be small. */
static int check_nodes(struct yaml_build *b, struct yaml_at at)
{
    b->steps += b->frames.n;
    if (b->steps > YAML_MAX_STEPS)
        return too_large(b, at, "document is nested too deeply for its size");
    if (b->aliased > 100 && b->nodes > 1000 && (double)b->aliased / (double)b->nodes > alias_share(b->nodes))
        return too_large(b, at, "document contains excessive aliasing");
    if (b->nodes > YAML_MAX_NODES)
        return too_large(b, at, "document has too many values");
    return 0;
}

static int check_depth(struct yaml_build *b, struct yaml_at at, uint32_t height)
{
    if (b->frames.n + height > b->limits.depth)
        return too_large(b, at, "exceeded max depth");
    return 0;
}

/* ---- Keys. ---- */

static int key_of(struct yaml_build *b, const struct value *v, str *ret)
{
    const struct json *k = &v->scalar.value;
    struct buf text = {.arena = b->arena};
    switch (k->type) {
    case JSON_STR:
        *ret = json_text(k);
        return 0;
    case JSON_BOOL:
        *ret = k->b ? S("true") : S("false");
        return 0;
    case JSON_INT:
        *ret = str_fmt(b->arena, "%" PRId64, k->i);
        return 0;
    case JSON_REAL:
        yaml_format_real(&text, k->d, 32);
        *ret = buf_str(&text);
        return 0;
    case JSON_NULL:
        return yaml_fail(b, v->at, "unsupported map key: null");
    case JSON_UINT:
        return yaml_fail(b, v->at, "unsupported map key: %" PRIu64, k->u);
    default:
        return yaml_fail(b, v->at, "invalid map key: %s", k->type == JSON_ARR ? "a sequence" : "a mapping");
    }
}

static bool is_merge(const struct yaml_node *node)
{
    return str_eq(node->text, S("<<")) && (node->plain || str_eq(node->tag, S("tag:yaml.org,2002:merge")));
}

/* "<<" takes a mapping, an alias of one, or a list of these. */
static bool can_merge(const struct value *v)
{
    if (json_is_obj(&v->scalar.value))
        return true;
    if (!json_is_arr(&v->scalar.value) || v->alias)
        return false;
    json_each_item(&v->scalar.value, item)
    {
        if (!json_is_obj(item))
            return false;
    }
    return true;
}

/* ---- Values into containers. ---- */

static int put(struct yaml_build *b, const struct value *v)
{
    if (wants_key(b)) {
        top(b)->has_key = true;
        top(b)->key_at = v->at;
        return key_of(b, v, &top(b)->key);
    }
    if (v->scalar.type == YAML_FLOAT && json_is_str(&v->scalar.value))
        return yaml_fail(b, v->at, "unsupported value: %.*s is no JSON number", STR(json_text(&v->scalar.value)));
    if (b->frames.n == 0) {
        b->root = v->scalar.value;
        b->root_at = v->at;
        return 0;
    }
    struct yaml_frame *f = top(b);
    if (f->merge && !can_merge(v))
        return yaml_fail(b, v->at, "map merge requires map or sequence of maps as the value");
    *vec_push(&b->scratch, &b->pending) = (struct yaml_pending){
        .key = f->key,
        .value = v->scalar.value,
        .at = f->has_key ? f->key_at : v->at,
        .merge = f->merge,
    };
    f->has_key = f->merge = false;
    f->height = f->height > v->height ? f->height : v->height;
    return 0;
}

static struct yaml_anchor *add_anchor(struct yaml_build *b, str name)
{
    if (name.n == 0)
        return NULL;
    struct yaml_anchor *anchor = ARENA_NEW(&b->scratch, struct yaml_anchor);
    map_set(&b->anchors, str_dup(&b->scratch, name), anchor);
    return anchor;
}

static int yaml_build_scalar(struct yaml_build *b, const struct yaml_node *node)
{
    struct value v = {.at = node->at};
    if (wants_key(b) && is_merge(node)) {
        top(b)->has_key = top(b)->merge = true;
        top(b)->key_at = node->at;
        return 0;
    }
    b->nodes++;
    int r = check_nodes(b, node->at);
    if (r == 0)
        r = yaml_build_resolve(b, node, &v.scalar);
    if (r < 0)
        return r;
    struct yaml_anchor *anchor = add_anchor(b, node->anchor);
    if (anchor)
        *anchor = (struct yaml_anchor){.scalar = v.scalar, .nodes = 1, .bytes = json_text(&v.scalar.value).n};
    return put(b, &v);
}

/* Containers of its own, so that a change to one does not show in the other; strings never change and are shared. */
static struct json copy_of(struct arena *a, const struct json *v)
{
    budget_charge(1 + json_len(v));
    if (json_is_arr(v)) {
        struct json copy = json_arr_sized(a, v->n);
        json_each_item(v, item) json_push(a, &copy, copy_of(a, item));
        return copy;
    }
    if (json_is_obj(v)) {
        struct json copy = json_obj_sized(a, v->n);
        json_each_member(v, m) json_add(a, &copy, json_key(m), copy_of(a, &m->val));
        return copy;
    }
    return *v;
}

static int yaml_build_alias(struct yaml_build *b, const struct yaml_node *node)
{
    const struct yaml_anchor *anchor = map_get(&b->anchors, node->text);
    if (anchor == NULL)
        return yaml_fail(b, node->at, "unknown anchor '%.*s' referenced", STR(node->text));
    if (anchor->open)
        return yaml_fail(b, node->at, "anchor '%.*s' value contains itself", STR(node->text));
    b->nodes += 1 + anchor->nodes;
    b->aliased += anchor->nodes;
    b->copied += anchor->nodes;
    b->bytes += anchor->bytes;
    int r = check_nodes(b, node->at);
    if (r == 0)
        r = check_depth(b, node->at, anchor->height);
    if (r < 0)
        return r;
    if (b->copied > YAML_MAX_COPIES)
        return too_large(b, node->at, "documents contain excessive aliasing");
    if (b->bytes > YAML_MAX_GROWTH)
        return too_large(b, node->at, "document grows too much by aliases");
    struct value v = {.scalar = anchor->scalar, .at = node->at, .height = anchor->height, .alias = true};
    v.scalar.value = copy_of(b->arena, &anchor->scalar.value);
    return put(b, &v);
}

static int yaml_build_open(struct yaml_build *b, const struct yaml_node *node, enum json_type type)
{
    b->nodes++;
    int r = check_nodes(b, node->at);
    if (r == 0)
        r = check_depth(b, node->at, 1);
    if (r < 0)
        return r;
    struct yaml_frame f = {
        .type = type, .at = node->at, .first = b->pending.n, .nodes = b->nodes - 1, .bytes = b->bytes};
    f.anchor = add_anchor(b, node->anchor);
    if (f.anchor)
        f.anchor->open = true;
    *vec_push(&b->scratch, &b->frames) = f;
    return 0;
}

/* ---- Containers from values. ---- */

/* A mapping being made, with an index of its keys when it is wide. */
struct mapping {
    struct yaml_build *b;
    struct json obj;
    bool wide;
    struct map index; /* key → position + 1 */
};

static struct json *find(struct mapping *m, str key)
{
    if (!m->wide)
        return json_get_mut(&m->obj, key);
    uintptr_t position = (uintptr_t)map_get(&m->index, key);
    return position ? &m->obj.members[position - 1].val : NULL;
}

static void add(struct mapping *m, str key, struct json v)
{
    json_add(m->b->arena, &m->obj, key, v);
    if (m->wide)
        map_set(&m->index, key, (void *)(uintptr_t)m->obj.n);
}

static void note_duplicate(struct yaml_build *b, const struct yaml_pending *member)
{
    if (b->duplicates.n == JSON_MAX_NOTES || b->noted > JSON_MAX_NOTES_TEXT)
        return;
    struct json_path *steps = ARENA_ARRAY(&b->scratch, struct json_path, b->frames.n);
    for (size_t i = 0; i < b->frames.n; i++) {
        const struct yaml_frame *f = &b->frames.p[i];
        bool last = i + 1 == b->frames.n;
        steps[i].up = i ? &steps[i - 1] : NULL;
        if (f->type == JSON_OBJ)
            steps[i].key = last ? member->key : f->key;
        else
            steps[i].index = f[1].first - f->first;
    }
    struct buf path = {.arena = b->arena};
    json_path_format(&path, &steps[b->frames.n - 1]);
    b->noted += path.n;
    *vec_push(b->arena, &b->duplicates) = (struct yaml_duplicate){member->at, buf_str(&path)};
}

static int by_place(const void *a, const void *b)
{
    const struct yaml_at *x = &((const struct yaml_duplicate *)a)->at, *y = &((const struct yaml_duplicate *)b)->at;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Fills the notes, in the order of the text: inner duplicates are found before outer ones. */
static void yaml_build_report(struct yaml_build *b)
{
    if (b->duplicates.n == 0)
        return;
    qsort(b->duplicates.p, b->duplicates.n, sizeof *b->duplicates.p, by_place);
    vec_each(&b->duplicates, it) * vec_push(b->arena, &b->notes->duplicates) = it->path;
}

static int add_explicit(struct mapping *m, const struct yaml_pending *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i].merge)
            continue;
        struct json *known = find(m, p[i].key);
        if (known == NULL) {
            add(m, p[i].key, p[i].value);
            continue;
        }
        if (m->b->notes == NULL)
            return yaml_fail(m->b, p[i].at, "key \"%.*s\" already set in map", STR(p[i].key));
        note_duplicate(m->b, &p[i]);
        *known = p[i].value;
    }
    return 0;
}

static void add_missing(struct mapping *m, const struct json *from)
{
    budget_charge(2 * json_len(from));
    json_each_member(from, it)
    {
        if (find(m, json_key(it)) == NULL)
            add(m, json_key(it), it->val);
    }
}

/* Of several "<<" the last counts most, of a list the first. */
static void add_merged(struct mapping *m, const struct yaml_pending *p, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (!p[i].merge)
            continue;
        if (json_is_obj(&p[i].value))
            add_missing(m, &p[i].value);
        json_each_item(&p[i].value, item) add_missing(m, item);
    }
}

static size_t most_members(const struct yaml_pending *p, size_t n)
{
    size_t most = n;
    for (size_t i = 0; i < n; i++) {
        if (!p[i].merge)
            continue;
        if (json_is_obj(&p[i].value))
            most += json_len(&p[i].value);
        json_each_item(&p[i].value, item) most += json_len(item);
    }
    return most;
}

static int make_mapping(struct yaml_build *b, const struct yaml_pending *p, size_t n, struct json *ret)
{
    size_t most = most_members(p, n);
    struct mapping m = {.b = b, .obj = json_obj_sized(b->arena, most), .wide = most > LINEAR_MAX};
    int r = add_explicit(&m, p, n);
    if (r == 0) {
        add_merged(&m, p, n);
        *ret = m.obj;
    }
    map_done(&m.index);
    return r;
}

static struct json make_sequence(struct yaml_build *b, const struct yaml_pending *p, size_t n)
{
    struct json arr = json_arr_sized(b->arena, n);
    for (size_t i = 0; i < n; i++)
        json_push(b->arena, &arr, p[i].value);
    return arr;
}

static int yaml_build_close(struct yaml_build *b)
{
    struct yaml_frame *f = top(b);
    size_t n = b->pending.n - f->first;
    const struct yaml_pending *p = n ? b->pending.p + f->first : NULL;
    struct value v = {.at = f->at, .height = f->height + 1};
    int r = 0;
    if (f->type == JSON_OBJ)
        r = make_mapping(b, p, n, &v.scalar.value);
    else
        v.scalar.value = make_sequence(b, p, n);
    if (r < 0)
        return r;
    if (f->anchor)
        *f->anchor = (struct yaml_anchor){
            .scalar = v.scalar, .nodes = b->nodes - f->nodes, .bytes = b->bytes - f->bytes, .height = v.height};
    b->pending.n = f->first;
    b->frames.n--;
    return put(b, &v);
}

/* Begins a document: forgets anchors and counts. */
static void yaml_build_start(struct yaml_build *b)
{
    map_done(&b->anchors);
    arena_reset(&b->scratch);
    memset(&b->frames, 0, sizeof b->frames);
    memset(&b->pending, 0, sizeof b->pending);
    b->nodes = 1;
    b->aliased = b->bytes = b->steps = 0;
}

static void yaml_build_done(struct yaml_build *b)
{
    map_done(&b->anchors);
    arena_done(&b->scratch);
}

enum { MAX_DIRECTIVES = 100 }; /* libyaml compares each with all before it */

/* One stream of documents. */
struct stream {
    yaml_parser_t parser;
    struct yaml_build build;
    size_t begin, most; /* where this document begins, and how many characters it may have (0: as many as the text) */
};

/* Where the reader stopped at bytes it cannot take: it knows only the offset. */
static struct yaml_at place_of(str text, size_t offset)
{
    struct yaml_at at = {1, 1};
    for (size_t i = 0; i < offset && i < text.n; i++) {
        if (text.p[i] == '\n')
            at = (struct yaml_at){at.line + 1, 1};
        else
            at.column += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    }
    return at;
}

static struct yaml_at at_mark(yaml_mark_t mark)
{
    return (struct yaml_at){mark.line + 1, mark.column + 1};
}

static int parse_failed(struct stream *s, str text)
{
    const yaml_parser_t *p = &s->parser;
    if (p->error == YAML_MEMORY_ERROR)
        abort();
    struct yaml_at at = p->error == YAML_READER_ERROR ? place_of(text, p->problem_offset) : at_mark(p->problem_mark);
    return yaml_fail(&s->build, at, "%s", p->problem ? p->problem : "unknown problem parsing YAML content");
}

static str text_of(const yaml_char_t *p)
{
    return str_of((const char *)p);
}

/* Kubernetes reads YAML 1.1 only; libyaml would take 1.2 too. */
static int start_document(struct stream *s, const yaml_event_t *e)
{
    const yaml_version_directive_t *version = e->data.document_start.version_directive;
    if (version && (version->major != 1 || version->minor != 1))
        return yaml_fail(&s->build, at_mark(e->start_mark), "found incompatible YAML document: version %d.%d, not 1.1",
                         version->major, version->minor);
    s->begin = e->start_mark.index;
    yaml_build_start(&s->build);
    return 0;
}

static int take_scalar(struct stream *s, const yaml_event_t *e)
{
    struct yaml_node node = {
        .at = at_mark(e->start_mark),
        .anchor = text_of(e->data.scalar.anchor),
        .tag = text_of(e->data.scalar.tag),
        .text = {(const char *)e->data.scalar.value, e->data.scalar.length},
        .plain = e->data.scalar.plain_implicit,
    };
    return yaml_build_scalar(&s->build, &node);
}

enum { EVENT_STEPS = 20 }; /* what libyaml does for an event */

/* One event; *ret_more is cleared by the end of the document. */
static int take_event(struct stream *s, const yaml_event_t *e, bool *ret_more)
{
    struct yaml_node node = {.at = at_mark(e->start_mark)};
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return start_document(s, e);
    case YAML_SCALAR_EVENT:
        return take_scalar(s, e);
    case YAML_ALIAS_EVENT:
        node.text = text_of(e->data.alias.anchor);
        return yaml_build_alias(&s->build, &node);
    case YAML_SEQUENCE_START_EVENT:
        node.anchor = text_of(e->data.sequence_start.anchor);
        return yaml_build_open(&s->build, &node, JSON_ARR);
    case YAML_MAPPING_START_EVENT:
        node.anchor = text_of(e->data.mapping_start.anchor);
        return yaml_build_open(&s->build, &node, JSON_OBJ);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return yaml_build_close(&s->build);
    case YAML_DOCUMENT_END_EVENT:
    case YAML_STREAM_END_EVENT:
        *ret_more = false;
        return 0;
    default:
        return 0;
    }
}

/* Reads up to the end of a document; *ret_end is set at the end of the stream instead. */
static int read_document(struct stream *s, str text, bool *ret_end)
{
    for (bool more = true; more;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&s->parser, &e))
            return parse_failed(s, text);
        budget_charge(EVENT_STEPS + (e.end_mark.index - e.start_mark.index) / 4);
        *ret_end = e.type == YAML_STREAM_END_EVENT;
        int r = take_event(s, &e, &more);
        if (r == 0 && s->most && !*ret_end && e.end_mark.index - s->begin > s->most)
            r = err_set(s->build.err, ERR_TOO_LARGE, "yaml: line %zu: document has more than %zu characters",
                        at_mark(e.start_mark).line, s->most);
        yaml_event_delete(&e);
        if (r == 0 && budget_is_exhausted())
            r = err_set(s->build.err, ERR_TOO_LARGE, "yaml: document takes too many steps");
        if (r < 0)
            return r;
    }
    return 0;
}

/* Fills *ret with all documents that are not null, at most most of them. */
static int read_stream(struct stream *s, str text, size_t most, json_vec *ret)
{
    for (bool end = false;;) {
        int r = read_document(s, text, &end);
        if (r < 0)
            return r;
        if (end)
            return 0;
        if (json_is_null(&s->build.root))
            continue;
        if (ret->n == most)
            return most == 1 ? yaml_fail(&s->build, s->build.root_at, "expected one document, found another")
                             : err_set(s->build.err, ERR_TOO_LARGE, "yaml: more than %zu documents", most);
        *vec_push(s->build.arena, ret) = s->build.root;
    }
}

static int decode_yaml(struct yaml_build build, str text, size_t most, json_vec *ret)
{
    struct stream s = {.build = build};
    if (!yaml_parser_initialize(&s.parser))
        abort();
    yaml_parser_set_input_string(&s.parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
    int r = read_stream(&s, text, most, ret);
    if (r == 0)
        yaml_build_report(&s.build);
    yaml_parser_delete(&s.parser);
    yaml_build_done(&s.build);
    return r;
}

static bool has_many_directives(str text)
{
    size_t found = 0;
    for (str line; text.n;) {
        str_cut(text, '\n', &line, &text);
        found += line.n && line.p[0] == '%';
    }
    return found > MAX_DIRECTIVES;
}

static str skip_bom(str text)
{
    return str_has_prefix(text, S("\xef\xbb\xbf")) ? str_from(text, 3) : text;
}

static int decode_json(const struct yaml_build *b, str text, json_vec *ret)
{
    struct json_notes notes = {0};
    struct json v;
    int r = json_decode(b->arena, text, &b->limits, &notes, &v, b->err);
    if (r < 0)
        return r;
    if (b->notes)
        *b->notes = notes;
    else if (notes.duplicates.n)
        return err_set(b->err, ERR_BAD_REQUEST, "json: key \"%.*s\" already set in map", STR(notes.duplicates.p[0]));
    *vec_push(b->arena, ret) = v;
    return 0;
}

/* JSON first, with its own escapes; other text may still be YAML such as {a: b}. If it is neither, a text that
 * starts like JSON gets the error of the JSON reader. */
static int decode_braces(struct yaml_build build, str text, size_t most, json_vec *ret)
{
    struct err as_yaml;
    str inside = str_trim(str_from(str_trim(skip_bom(text)), 1));
    int r = decode_json(&build, text, ret);
    if (r != ERR_BAD_REQUEST)
        return r;
    struct err *as_json = build.err;
    build.err = &as_yaml;
    int again = decode_yaml(build, text, most, ret);
    if (again == 0 || str_has_prefix(inside, S("\"")))
        return again < 0 ? r : 0;
    if (as_json)
        *as_json = as_yaml;
    return again;
}

static int decode(struct yaml_build build, str text, size_t most, json_vec *ret)
{
    build.limits.bytes = build.limits.bytes ? build.limits.bytes : JSON_MAX_BYTES;
    build.limits.depth = build.limits.depth ? build.limits.depth : JSON_MAX_DEPTH;
    if (text.n > build.limits.bytes)
        return err_set(build.err, ERR_TOO_LARGE, "yaml: %zu bytes are more than the limit of %zu", text.n,
                       build.limits.bytes);
    if (has_many_directives(text))
        return err_set(build.err, ERR_TOO_LARGE, "yaml: more than %d directives", MAX_DIRECTIVES);
    json_vec found = {0};
    bool braces = str_has_prefix(str_trim(skip_bom(text)), S("{"));
    int r = braces ? decode_braces(build, text, most, &found) : decode_yaml(build, text, most, &found);
    if (r == 0)
        *ret = found;
    return r;
}

int yaml_decode(struct arena *a, str text, const struct json_limits *limits, struct json_notes *notes, struct json *ret,
                struct err *err)
{
    struct yaml_build build = {
        .arena = a, .limits = limits ? *limits : (struct json_limits){0}, .notes = notes, .err = err};
    json_vec found = {0};
    int r = decode(build, text, 1, &found);
    if (r == 0)
        *ret = found.n ? found.p[0] : json_null();
    return r;
}

int yaml_decode_all(struct arena *a, str text, const struct json_limits *limits, json_vec *ret, struct err *err)
{
    struct yaml_build build = {.arena = a, .limits = limits ? *limits : (struct json_limits){0}, .err = err};
    return decode(build, text, YAML_MAX_DOCUMENTS, ret);
}

/* ---- One at a time. ---- */

struct each {
    const struct yaml_each_limits *limits;
    yaml_each_fn fn;
    void *ctx;
    size_t found;
};

static int each_document(struct stream *s, str text, struct each *each)
{
    for (bool end = false;;) {
        int r = read_document(s, text, &end);
        if (r == 0 && !end && !json_is_null(&s->build.root)) {
            if (each->found == each->limits->documents)
                return err_set(s->build.err, ERR_TOO_LARGE, "yaml: more than %zu documents", each->found);
            r = each->fn(each->ctx, each->found++, &s->build.root, s->build.err);
        }
        if (r < 0 || end)
            return r;
        arena_reset(s->build.arena);
    }
}

static int each_yaml(struct yaml_build build, str text, struct each *each)
{
    struct stream s = {.build = build, .most = each->limits->characters};
    if (!yaml_parser_initialize(&s.parser))
        abort();
    yaml_parser_set_input_string(&s.parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
    int r = each_document(&s, text, each);
    yaml_parser_delete(&s.parser);
    yaml_build_done(&s.build);
    return r;
}

/* A text that starts like JSON and is no longer than one document may be is read by the rules above; it is one, or
 * few. */
static int each_braces(struct yaml_build build, str text, struct each *each)
{
    json_vec found = {0};
    int r = decode_braces(build, text, each->limits->documents, &found);
    for (size_t i = 0; r == 0 && i < found.n; i++) {
        if (!json_is_null(&found.p[i]))
            r = each->fn(each->ctx, each->found++, &found.p[i], build.err);
    }
    return r;
}

int yaml_decode_each(str text, const struct yaml_each_limits *limits, yaml_each_fn fn, void *ctx, struct err *err)
{
    struct arena document ARENA_SCOPE = {0};
    struct err mine;
    struct each each = {.limits = limits, .fn = fn, .ctx = ctx};
    struct yaml_build build = {
        .arena = &document,
        .limits = {.bytes = limits->bytes, .depth = limits->depth ? limits->depth : JSON_MAX_DEPTH},
        .err = err ? err : &mine,
    };
    if (text.n > limits->bytes)
        return err_set(err, ERR_TOO_LARGE, "yaml: %zu bytes are more than the limit of %zu", text.n, limits->bytes);
    if (has_many_directives(text))
        return err_set(err, ERR_TOO_LARGE, "yaml: more than %d directives", MAX_DIRECTIVES);
    bool braces = text.n <= limits->characters && str_has_prefix(str_trim(skip_bom(text)), S("{"));
    return braces ? each_braces(build, text, &each) : each_yaml(build, text, &each);
}
