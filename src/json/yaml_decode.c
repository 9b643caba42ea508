/* SPDX-License-Identifier: Apache-2.0 */
#include "json/yaml.h"

#include "base/budget.h"
#include "base/map.h"
#include "json/yaml_build.h"

#include <stdlib.h>
#include <yaml.h>

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

/* JSON first, with its own escapes; what is no JSON may still be YAML such as {a: b}. If it is neither, a text that
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

/* A text that starts like JSON and is no longer than one document may be is read by the rules above; it is one, or few. */
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
