/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "json/json.h"

#include <stdlib.h>
#include <yyjson.h>

/* A second, slow pass over a text that the parser refused, to find the error that Go would report: one token at a time,
 * with a stack of the open containers. */
struct look {
    str text;
    size_t at;
    const char *where; /* what was being read when it went wrong; NULL: nothing wrong so far */
    char expecting;    /* inside true, false, null */
    const char *literal;
    size_t depth;
    char open[JSON_MAX_DEPTH]; /* '{' or '[' */
};

static int peek(const struct look *l)
{
    return l->at < l->text.n ? (unsigned char)l->text.p[l->at] : -1;
}

static bool is_hex(int c)
{
    return char_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static void skip_blanks(struct look *l)
{
    while (peek(l) == ' ' || peek(l) == '\t' || peek(l) == '\r' || peek(l) == '\n')
        l->at++;
}

static bool wrong(struct look *l, const char *where)
{
    l->where = where;
    return false;
}

static bool read_escape(struct look *l)
{
    int c = peek(l);
    if (c < 0 || c == 0 || strchr("bfnrt\\/\"u", c) == NULL)
        return wrong(l, "in string escape code");
    l->at++;
    for (int i = 0; c == 'u' && i < 4; i++, l->at++) {
        if (!is_hex(peek(l)))
            return wrong(l, "in \\u hexadecimal character escape");
    }
    return true;
}

/* Behind the opening quote. */
static bool read_string(struct look *l)
{
    for (int c; (c = peek(l)) != '"';) {
        if (c < ' ')
            return wrong(l, "in string literal");
        l->at++;
        if (c == '\\' && !read_escape(l))
            return false;
    }
    l->at++;
    return true;
}

static void skip_digits(struct look *l)
{
    while (char_is_digit(peek(l)))
        l->at++;
}

static bool read_number(struct look *l)
{
    if (peek(l) == '-')
        l->at++;
    if (!char_is_digit(peek(l)))
        return wrong(l, "in numeric literal");
    if (peek(l) == '0')
        l->at++;
    else
        skip_digits(l);
    if (peek(l) == '.') {
        l->at++;
        if (!char_is_digit(peek(l)))
            return wrong(l, "after decimal point in numeric literal");
        skip_digits(l);
    }
    if (peek(l) == 'e' || peek(l) == 'E') {
        l->at++;
        if (peek(l) == '+' || peek(l) == '-')
            l->at++;
        if (!char_is_digit(peek(l)))
            return wrong(l, "in exponent of numeric literal");
        skip_digits(l);
    }
    return true;
}

static bool read_literal(struct look *l, const char *literal)
{
    for (const char *want = literal; *want; want++, l->at++) {
        if (peek(l) != *want) {
            l->literal = literal;
            l->expecting = *want;
            return wrong(l, "in literal");
        }
    }
    return true;
}

/* Reads a scalar whole, or opens a container. */
static bool read_value(struct look *l)
{
    int c = peek(l);
    switch (c) {
    case '{':
    case '[':
        if (l->depth == sizeof l->open)
            return false;
        l->open[l->depth++] = (char)c;
        l->at++;
        return true;
    case '"':
        l->at++;
        return read_string(l);
    case 't':
        return read_literal(l, "true");
    case 'f':
        return read_literal(l, "false");
    case 'n':
        return read_literal(l, "null");
    default:
        return c == '-' || char_is_digit(c) ? read_number(l) : wrong(l, "looking for beginning of value");
    }
}

static bool read_key(struct look *l)
{
    skip_blanks(l);
    if (peek(l) != '"')
        return wrong(l, "looking for beginning of object key string");
    l->at++;
    if (!read_string(l))
        return false;
    skip_blanks(l);
    if (peek(l) != ':')
        return wrong(l, "after object key");
    l->at++;
    return true;
}

/* Between values: closes containers and finds the comma that lets the next value follow. */
static bool read_between(struct look *l, bool *fresh)
{
    while (l->depth) {
        char open = l->open[l->depth - 1];
        skip_blanks(l);
        if (peek(l) == (open == '{' ? '}' : ']')) {
            l->at++;
            l->depth--;
            *fresh = false;
            continue;
        }
        if (!*fresh) {
            if (peek(l) != ',')
                return wrong(l, open == '{' ? "after object key:value pair" : "after array element");
            l->at++;
        }
        return open == '[' || read_key(l);
    }
    skip_blanks(l);
    return peek(l) < 0 || wrong(l, "after top-level value");
}

static void look_through(struct look *l)
{
    do {
        size_t depth = l->depth;
        skip_blanks(l);
        if (!read_value(l))
            return;
        bool fresh = l->depth > depth;
        if (!read_between(l, &fresh))
            return;
    } while (l->depth);
}

/* Where the text may not end: Go's reader appends a blank, which these places do not allow. */
static bool is_inside_token(const char *where)
{
    return (str_has_prefix(str_of(where), S("in ")) && strcmp(where, "in string literal") != 0) ||
           str_has_suffix(str_of(where), S("in numeric literal"));
}

/* Well-formed, but out of range: 1e400. */
static int number_error(str text, size_t at, struct err *err)
{
    size_t end = at;
    while (end < text.n && (char_is_digit(text.p[end]) || (text.p[end] && strchr("+-.eE", text.p[end]))))
        end++;
    return err_set(err, ERR_BAD_REQUEST, "json: cannot unmarshal number %.*s into Go value of type float64",
                   (int)(end - at), text.p + at);
}

/* As Go quotes a byte, which it takes for a character. c < 0: the blank behind the end. */
static void add_char(struct buf *b, int c)
{
    char text[2] = {(char)(0xc0 | (c >> 6 & 3)), (char)(0x80 | (c & 0x3f))};
    if (c < 0 || c == '"') {
        buf_fmt(b, "'%c'", c < 0 ? ' ' : c);
    } else if (c == '\'') {
        buf_add_str(b, S("'\\''"));
    } else {
        size_t from = b->n;
        buf_add_quoted(b, c < 0x80 ? (str){&(char){(char)c}, 1} : (str){text, 2});
        b->p[from] = b->p[b->n - 1] = '\'';
    }
}

/* fallback and at are the parser's own message and position: for texts that are well-formed but cannot be taken, such
 * as invalid UTF-8 or 1e999. */
static int json_syntax_error(str text, const char *fallback, size_t at, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    struct look l = {.text = text};
    look_through(&l);
    if (l.where == NULL && at < text.n && (char_is_digit(text.p[at]) || text.p[at] == '-'))
        return number_error(text, at, err);
    if (l.where == NULL)
        return err_set(err, ERR_BAD_REQUEST, "%s at byte %zu", fallback, at);
    if (peek(&l) < 0 && !is_inside_token(l.where))
        return err_set(err, ERR_BAD_REQUEST, "unexpected end of JSON input");
    buf_add_str(&b, S("invalid character "));
    add_char(&b, peek(&l));
    buf_fmt(&b, " %s", l.where);
    if (l.literal)
        buf_fmt(&b, " %s (expecting '%c')", l.literal, l.expecting);
    return err_set(err, ERR_BAD_REQUEST, "%.*s", STR(buf_str(&b)));
}

/* Text → yyjson's flat array of values → our tree. The second step costs about as much as the first and pays for it:
 * depth and duplicate keys are checked there, keys are hashed once, and every container knows its children by
 * position. */
struct duplicate {
    const char *at; /* the later key in the text */
    str path;
};

struct decoder {
    struct arena *arena;
    bool noting;
    VEC(struct duplicate) duplicates;
    size_t noted; /* bytes of their paths */
    uint32_t depth_left;
    uint32_t *slots; /* scratch of unique_members, grown as needed */
    size_t slots_n;
};

static bool convert(struct decoder *d, yyjson_val *v, struct json *out, const struct json_path *path);

static void note_duplicate(struct decoder *d, const struct json_path *path, str key)
{
    if (!d->noting || d->duplicates.n >= JSON_MAX_NOTES || d->noted > JSON_MAX_NOTES_TEXT)
        return;
    struct buf b = {.arena = d->arena};
    json_path_format(&b, &(struct json_path){.up = path, .key = key});
    d->noted += b.n;
    *vec_push(d->arena, &d->duplicates) = (struct duplicate){key.p, buf_str(&b)};
}

static int by_place(const void *a, const void *b)
{
    const struct duplicate *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Inner duplicates are found before outer ones; readers want them in the order of the text. */
static void report_duplicates(struct decoder *d, struct json_notes *notes)
{
    if (d->duplicates.n == 0)
        return;
    qsort(d->duplicates.p, d->duplicates.n, sizeof *d->duplicates.p, by_place);
    for (size_t i = 0; i < d->duplicates.n; i++)
        *vec_push(d->arena, &notes->duplicates) = d->duplicates.p[i].path;
}

/* Replaces the value of the kept member first by that of m. */
static void supersede(struct decoder *d, struct json_member *first, const struct json_member *m,
                      const struct json_path *path)
{
    first->val = m->val;
    note_duplicate(d, path, json_key(m));
}

static bool same_key(const struct json_member *a, const struct json_member *b)
{
    return a->hash == b->hash && str_eq(json_key(a), json_key(b));
}

/* For hostile objects whose keys all hash alike: a map with a secret seed. */
static void unique_by_map(struct decoder *d, struct json *obj, const struct json_path *path)
{
    struct map seen = {0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < obj->n; i++) {
        struct json_member *m = &obj->members[i], *first = map_get(&seen, json_key(m));
        if (first) {
            supersede(d, first, m, path);
            continue;
        }
        obj->members[kept] = *m;
        map_set(&seen, json_key(m), &obj->members[kept]);
        kept++;
    }
    map_done(&seen);
    obj->n = kept;
}

static uint32_t *clear_slots(struct decoder *d, size_t n)
{
    if (n > d->slots_n) {
        free(d->slots);
        d->slots = malloc(n * sizeof *d->slots);
        d->slots_n = n;
        if (d->slots == NULL)
            abort();
    }
    return memset(d->slots, 0, n * sizeof *d->slots);
}

/* Of members with the same key the last value stays, at the place of the first. */
static void unique_by_slots(struct decoder *d, struct json *obj, const struct json_path *path)
{
    size_t size = 32;
    while (size < (size_t)obj->n * 2)
        size *= 2;
    uint32_t *slots = clear_slots(d, size), kept = 0;
    size_t steps_left = (size_t)obj->n * 8 + 64;
    for (uint32_t i = 0; i < obj->n; i++) {
        struct json_member *m = &obj->members[i];
        size_t at = m->hash & (size - 1);
        while (slots[at] && !same_key(&obj->members[slots[at] - 1], m)) {
            at = (at + 1) & (size - 1);
            if (--steps_left == 0) {
                memmove(&obj->members[kept], m, (obj->n - i) * sizeof *m);
                obj->n = kept + (obj->n - i);
                unique_by_map(d, obj, path);
                return;
            }
        }
        if (slots[at]) {
            supersede(d, &obj->members[slots[at] - 1], m, path);
            continue;
        }
        if (kept != i)
            obj->members[kept] = *m;
        slots[at] = ++kept;
    }
    obj->n = kept;
}

static void unique_members(struct decoder *d, struct json *obj, const struct json_path *path)
{
    if (obj->n > 8) {
        unique_by_slots(d, obj, path);
        return;
    }
    for (uint32_t i = 1; i < obj->n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (same_key(&obj->members[k], &obj->members[i])) {
                supersede(d, &obj->members[k], &obj->members[i], path);
                json_remove_at(obj, i--);
                break;
            }
        }
    }
}

/* Everything but containers. */
static inline struct json scalar(yyjson_val *v)
{
    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        return (struct json){.type = JSON_STR, .n = (uint32_t)unsafe_yyjson_get_len(v), .s = unsafe_yyjson_get_str(v)};
    case YYJSON_TYPE_BOOL:
        return json_bool(unsafe_yyjson_get_bool(v));
    case YYJSON_TYPE_NUM:
        break;
    default:
        return json_null();
    }
    switch (unsafe_yyjson_get_subtype(v)) {
    case YYJSON_SUBTYPE_UINT:
        return json_uint(unsafe_yyjson_get_uint(v));
    case YYJSON_SUBTYPE_SINT:
        return json_int(unsafe_yyjson_get_sint(v));
    default:
        return json_real(unsafe_yyjson_get_real(v));
    }
}

static bool convert_obj(struct decoder *d, yyjson_val *v, struct json *out, const struct json_path *path)
{
    size_t n = unsafe_yyjson_get_len(v);
    struct json_member *m = n ? arena_alloc(d->arena, arena_array_size(n, sizeof *m)) : NULL;
    struct json_path here = {.up = path};
    *out = (struct json){.type = JSON_OBJ, .n = (uint32_t)n, .members = m};
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < n; i++, m++) {
        if (!budget_charge_round(i, n))
            return false;
        yyjson_val *val = key + 1;
        here.key = (str){unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
        m->key = here.key.p;
        m->key_n = (uint32_t)here.key.n;
        m->hash = json_hash(here.key);
        if (!unsafe_yyjson_is_ctn(val))
            m->val = scalar(val);
        else if (!convert(d, val, &m->val, &here))
            return false;
        key = unsafe_yyjson_get_next(val);
    }
    unique_members(d, out, path);
    return true;
}

static bool convert_arr(struct decoder *d, yyjson_val *v, struct json *out, const struct json_path *path)
{
    size_t n = unsafe_yyjson_get_len(v);
    struct json *item = n ? arena_alloc(d->arena, arena_array_size(n, sizeof *item)) : NULL;
    struct json_path here = {.up = path};
    *out = (struct json){.type = JSON_ARR, .n = (uint32_t)n, .items = item};
    v = unsafe_yyjson_get_first(v);
    for (; here.index < n; here.index++, item++) {
        if (!budget_charge_round(here.index, n))
            return false;
        if (!unsafe_yyjson_is_ctn(v))
            *item = scalar(v);
        else if (!convert(d, v, item, &here))
            return false;
        v = unsafe_yyjson_get_next(v);
    }
    return true;
}

static bool convert(struct decoder *d, yyjson_val *v, struct json *out, const struct json_path *path)
{
    if (!unsafe_yyjson_is_ctn(v)) {
        *out = scalar(v);
        return true;
    }
    if (d->depth_left == 0)
        return false;
    d->depth_left--;
    bool ok = unsafe_yyjson_is_obj(v) ? convert_obj(d, v, out, path) : convert_arr(d, v, out, path);
    d->depth_left++;
    return ok;
}

/* yyjson takes some memory in front and unescapes strings in place: they live in this copy of the text. */
static yyjson_doc *read_copy(struct arena *a, str text, yyjson_read_err *why)
{
    char *copy = arena_alloc_aligned(a, text.n + YYJSON_PADDING_SIZE, 1);
    if (text.n)
        memcpy(copy, text.p, text.n);
    memset(copy + text.n, 0, YYJSON_PADDING_SIZE);
    return yyjson_read_opts(copy, text.n, YYJSON_READ_INSITU, NULL, why);
}

int json_decode(struct arena *a, str text, const struct json_limits *limits, struct json_notes *notes, struct json *ret,
                struct err *err)
{
    size_t max = limits && limits->bytes ? limits->bytes : JSON_MAX_BYTES;
    uint32_t depth = limits && limits->depth ? limits->depth : JSON_MAX_DEPTH;
    if (text.n > max || text.n > UINT32_MAX)
        return err_set(err, ERR_TOO_LARGE, "JSON text of %zu bytes is longer than the limit of %zu", text.n, max);
    if (str_has_prefix(text, S("\xef\xbb\xbf")))
        text = str_from(text, 3);
    budget_charge(text.n / 32); /* all at once: a long text is put off before it takes memory */
    yyjson_read_err why;
    yyjson_doc *doc = read_copy(a, text, &why);
    if (doc == NULL)
        return json_syntax_error(text, why.msg, why.pos, err);
    struct decoder d = {.arena = a, .noting = notes != NULL, .depth_left = depth};
    struct json root;
    bool ok = convert(&d, yyjson_doc_get_root(doc), &root, NULL);
    free(d.slots);
    yyjson_doc_free(doc);
    if (!ok)
        return err_set(err, ERR_TOO_LARGE, "JSON text is nested deeper than the limit of %u", depth);
    report_duplicates(&d, notes);
    *ret = root;
    return 0;
}
