/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/map.h"
#include "schema/schema_format.h"
#include "schema/schema_internal.h"
#include "schema/schema_keyword.h"

#include <stdlib.h>

/* Values inside a compiled schema: one byte for the type, lengths and small numbers seven bits a byte. */

enum tag { TAG_NULL, TAG_FALSE, TAG_TRUE, TAG_INT, TAG_UINT, TAG_REAL, TAG_STR, TAG_ARR, TAG_OBJ };

static void add_varint(struct buf *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        buf_add_char(b, (char)(n | 0x80));
    buf_add_char(b, (char)n);
}

static void pack_text(struct buf *b, str s)
{
    add_varint(b, s.n);
    buf_add_str(b, s);
}

/* Signed numbers with the sign in the lowest bit, so that small ones are short. */
static uint64_t zigzag(int64_t i)
{
    return (uint64_t)i << 1 ^ (i < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t n)
{
    uint64_t i = n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
    int64_t v;
    memcpy(&v, &i, sizeof v);
    return v;
}

/* Values (defaults, enums) packed into bytes. */
static void schema_pack(struct buf *b, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NULL:
        buf_add_char(b, TAG_NULL);
        break;
    case JSON_BOOL:
        buf_add_char(b, v->b ? TAG_TRUE : TAG_FALSE);
        break;
    case JSON_INT:
        buf_add_char(b, TAG_INT);
        add_varint(b, zigzag(v->i));
        break;
    case JSON_UINT:
        buf_add_char(b, TAG_UINT);
        add_varint(b, v->u);
        break;
    case JSON_REAL:
        buf_add_char(b, TAG_REAL);
        buf_add(b, &v->d, sizeof v->d);
        break;
    case JSON_STR:
        buf_add_char(b, TAG_STR);
        pack_text(b, json_text(v));
        break;
    case JSON_ARR:
        budget_charge(1 + v->n);
        buf_add_char(b, TAG_ARR);
        add_varint(b, v->n);
        json_each_item(v, it) schema_pack(b, it);
        break;
    case JSON_OBJ:
        buf_add_char(b, TAG_OBJ);
        add_varint(b, v->n);
        json_each_member(v, m)
        {
            pack_text(b, json_key(m));
            schema_pack(b, &m->val);
        }
        break;
    }
}

static str unpack_text(struct arena *a, const char **p)
{
    size_t n = varint_read(p);
    str s = str_dup(a, (str){*p, n});
    *p += n;
    return s;
}

static struct json unpack_container(struct arena *a, const char **p, enum tag tag)
{
    size_t n = varint_read(p);
    budget_charge(1 + n);
    struct json v = tag == TAG_ARR ? json_arr_sized(a, n) : json_obj_sized(a, n);
    for (size_t i = 0; i < n; i++) {
        str key = tag == TAG_OBJ ? unpack_text(a, p) : (str){0};
        struct json child = schema_unpack(a, p);
        if (tag == TAG_OBJ)
            json_add(a, &v, key, child);
        else
            json_push(a, &v, child);
    }
    return v;
}

struct json schema_unpack(struct arena *a, const char **p)
{
    enum tag tag = (enum tag)(unsigned char)*(*p)++;
    double d;
    switch (tag) {
    case TAG_NULL:
        return json_null();
    case TAG_FALSE:
        return json_bool(false);
    case TAG_TRUE:
        return json_bool(true);
    case TAG_INT:
        return json_int(unzigzag(varint_read(p)));
    case TAG_UINT:
        return json_uint(varint_read(p));
    case TAG_REAL:
        memcpy(&d, *p, sizeof d);
        *p += sizeof d;
        return json_real(d);
    case TAG_STR:
        return json_str(unpack_text(a, p));
    case TAG_ARR:
    case TAG_OBJ:
        return unpack_container(a, p, tag);
    }
    return json_null();
}

bool schema_packed_text(const char *p, str *ret)
{
    if (*p++ != TAG_STR)
        return false;
    ret->n = varint_read(&p);
    ret->p = p;
    return true;
}

void schema_packed_skip(const char **p)
{
    enum tag tag = (enum tag)(unsigned char)*(*p)++;
    uint64_t n = 0;
    if (tag == TAG_REAL)
        *p += sizeof(double);
    else if (tag >= TAG_INT)
        n = varint_read(p);
    if (tag == TAG_STR)
        *p += n;
    for (; tag >= TAG_ARR && n; n--) {
        uint64_t key = tag == TAG_OBJ ? varint_read(p) : 0;
        *p += key;
        schema_packed_skip(p);
    }
}

/* From the JSON of a schema to the block described in schema_internal.h: the tree is walked once from the leaves up,
 * and everything is stored through add_words and add_bytes, which store equal things once. */

struct builder {
    struct arena arena;
    VEC(uint32_t) words;
    struct buf bytes;
    struct map known_words, known_bytes; /* what is stored already → where */
    struct map known_patterns;           /* expression → number + 1 */
    VEC(uint32_t) patterns;              /* their texts */
    struct err *err;
};

typedef VEC(uint32_t) word_vec;

enum { NODE_STEPS = 40 }; /* about what compiling one node costs */

static uint32_t add_words(struct builder *b, const void *p, size_t n)
{
    str key = {p, n * sizeof(uint32_t)};
    uintptr_t at = (uintptr_t)map_get(&b->known_words, key);
    if (at)
        return (uint32_t)at;
    at = b->words.n;
    for (size_t i = 0; i < n; i++)
        memcpy(vec_push(&b->arena, &b->words), key.p + i * sizeof(uint32_t), sizeof(uint32_t));
    map_set(&b->known_words, str_dup(&b->arena, key), (void *)at);
    return (uint32_t)at;
}

static uint32_t add_bytes(struct builder *b, str s)
{
    budget_charge(s.n / 32);
    uintptr_t at = (uintptr_t)map_get(&b->known_bytes, s);
    if (at)
        return (uint32_t)at;
    at = b->bytes.n;
    buf_add_str(&b->bytes, s);
    map_set(&b->known_bytes, str_dup(&b->arena, s), (void *)at);
    return (uint32_t)at;
}

/* A text in the form that text_at reads. */
static uint32_t add_text(struct builder *b, str s)
{
    struct buf framed = {.arena = &b->arena};
    size_t n = s.n;
    for (; n >= 0x80; n >>= 7)
        buf_add_char(&framed, (char)(n | 0x80));
    buf_add_char(&framed, (char)n);
    buf_add_str(&framed, s);
    return add_bytes(b, buf_str(&framed));
}

static uint32_t add_packed(struct builder *b, const struct json *v)
{
    struct buf packed = {.arena = &b->arena};
    schema_pack(&packed, v);
    return add_bytes(b, buf_str(&packed));
}

static uint32_t add_enum(struct builder *b, const struct json *list)
{
    uint32_t at = add_packed(b, list);
    size_t n = schema_enum_size(list);
    uint32_t *words = arena_zalloc(&b->arena, n * sizeof *words);
    schema_enum_fill(words, at, b->bytes.p + at, list);
    return add_words(b, words, n);
}

static void push(struct builder *b, word_vec *list, uint32_t word)
{
    *vec_push(&b->arena, list) = word;
}

static uint32_t add_list(struct builder *b, const word_vec *list)
{
    return add_words(b, list->p, list->n);
}

static bool refuse(struct builder *b, const struct step *path, const char *what)
{
    struct buf text = {.arena = &b->arena};
    schema_path_format(&text, path, true);
    err_set(b->err, ERR_INVALID, "%.*s%s%s", STR(buf_str(&text)), text.n ? ": " : "", what);
    return false;
}

static bool refuse_keyword(struct builder *b, const struct step *path, enum keyword k, const char *what)
{
    return refuse(b, &(struct step){.up = path, .key = str_of(keyword_name(k))}, what);
}

static bool check_forms(struct builder *b, const struct keywords *kw, const struct step *path)
{
    static const uint8_t unsupported[] = {KW_ID,           KW_SCHEMA,           KW_REF,        KW_PATTERN_PROPERTIES,
                                          KW_DEPENDENCIES, KW_ADDITIONAL_ITEMS, KW_DEFINITIONS};
    for (uint64_t left = kw->given; left; left &= left - 1) {
        enum keyword k = keyword_lowest(left);
        const char *wrong = keyword_misformed(k, kw->at[k]);
        if (wrong)
            return refuse_keyword(b, path, k, wrong);
    }
    for (size_t i = 0; i < sizeof unsupported; i++) {
        const struct json *v = kw->at[unsupported[i]];
        if (v && !(v->type == JSON_STR && v->n == 0) && !(v->type == JSON_OBJ && v->n == 0))
            return refuse_keyword(b, path, unsupported[i], "is not supported");
    }
    if (json_is_arr(kw->at[KW_ITEMS]))
        return refuse_keyword(b, path, KW_ITEMS, "must be a schema object and not an array");
    if (kw->at[KW_X_PRESERVE] && !keyword_true(kw, KW_X_PRESERVE))
        return refuse_keyword(b, path, KW_X_PRESERVE, "must be true or undefined");
    return true;
}

static bool read_type(struct builder *b, const struct keywords *kw, const struct step *path, struct node *node)
{
    static const char *const names[] = {
        [TYPE_NONE] = "",           [TYPE_STRING] = "string", [TYPE_INTEGER] = "integer", [TYPE_NUMBER] = "number",
        [TYPE_BOOLEAN] = "boolean", [TYPE_ARRAY] = "array",   [TYPE_OBJECT] = "object",
    };
    str type = keyword_text(kw, KW_TYPE);
    if (keyword_true(kw, KW_X_INT_OR_STRING)) {
        node->type = TYPE_INT_OR_STRING;
        return true;
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        if (str_eq(type, str_of(names[i]))) {
            node->type = (uint8_t)i;
            return true;
        }
    }
    return refuse_keyword(b, path, KW_TYPE, "must be array, boolean, integer, number, object or string");
}

/* Which values need no closer look at their type. A format lets strings and lists through, as upstream does: strings
 * are checked by the format, and lists are not checked. */
static uint8_t accepts(const struct node *node, bool has_format)
{
    static const uint8_t by_type[] = {
        [TYPE_NONE] = 0xff,
        [TYPE_STRING] = 1 << JSON_STR,
        [TYPE_INTEGER] = 1 << JSON_INT,
        [TYPE_NUMBER] = 1 << JSON_INT | 1 << JSON_UINT | 1 << JSON_REAL,
        [TYPE_BOOLEAN] = 1 << JSON_BOOL,
        [TYPE_ARRAY] = 1 << JSON_ARR,
        [TYPE_OBJECT] = 1 << JSON_OBJ,
        [TYPE_INT_OR_STRING] = 1 << JSON_INT | 1 << JSON_STR,
    };
    uint8_t mask = by_type[node->type];
    if (has_format && node->type == TYPE_NONE)
        mask = 1 << JSON_NULL | 1 << JSON_STR | 1 << JSON_ARR;
    else if (has_format && node->type != TYPE_INTEGER && node->type != TYPE_NUMBER && node->type != TYPE_INT_OR_STRING)
        mask |= 1 << JSON_STR | 1 << JSON_ARR;
    return node->flags & NODE_NULLABLE ? mask | 1 << JSON_NULL : mask;
}

static void read_flags(const struct keywords *kw, struct node *node)
{
    str list = keyword_text(kw, KW_X_LIST_TYPE);
    unsigned flags = 0;
    flags |= keyword_true(kw, KW_NULLABLE) ? NODE_NULLABLE : 0;
    flags |= kw->at[KW_X_PRESERVE] ? NODE_PRESERVE : 0;
    flags |= keyword_true(kw, KW_X_EMBEDDED) ? NODE_EMBEDDED | NODE_HAS_EMBEDDED : 0;
    flags |= str_eq(list, S("set")) ? NODE_SET | NODE_HAS_UNIQUE : 0;
    flags |= str_eq(list, S("map")) ? NODE_LIST_MAP | NODE_HAS_UNIQUE : 0;
    flags |= str_eq(keyword_text(kw, KW_X_MAP_TYPE), S("atomic")) ? NODE_ATOMIC_MAP : 0;
    flags |= json_len(kw->at[KW_X_VALIDATIONS]) ? NODE_HAS_RULES : 0;
    flags |= kw->at[KW_DEFAULT] ? NODE_DEFAULT : 0;
    node->flags = (uint16_t)flags;
}

/* ---- Checks ---- */

static void add_check(struct builder *b, word_vec *checks, enum check op, uint32_t arg)
{
    push(b, checks, op);
    push(b, checks, arg);
}

static void add_int_check(struct builder *b, word_vec *checks, enum check op, const struct json *v)
{
    int64_t i;
    if (v && json_to_int(v, &i))
        add_check(b, checks, op, add_words(b, &i, 2));
}

static void add_real_check(struct builder *b, word_vec *checks, enum check op, const struct json *v)
{
    if (v == NULL)
        return;
    double d = json_to_real(v);
    add_check(b, checks, op, add_words(b, &d, 2));
}

static void add_pattern(struct builder *b, word_vec *checks, str expression)
{
    if (expression.n == 0)
        return;
    uintptr_t number = (uintptr_t)map_get(&b->known_patterns, expression);
    if (number == 0) {
        *vec_push(&b->arena, &b->patterns) = add_text(b, expression);
        number = b->patterns.n;
        map_set(&b->known_patterns, expression, (void *)number);
    }
    add_check(b, checks, CHECK_PATTERN, (uint32_t)number - 1);
}

static bool add_format(struct builder *b, word_vec *checks, str name)
{
    enum format format = format_find(name);
    if (format == FORMAT_NONE)
        return false;
    uint32_t words[] = {format, add_text(b, name)};
    add_check(b, checks, CHECK_FORMAT, add_words(b, words, 2));
    return true;
}

static void add_names(struct builder *b, word_vec *checks, enum check op, const struct json *names)
{
    if (json_len(names) == 0)
        return;
    word_vec list = {0};
    push(b, &list, (uint32_t)json_len(names));
    json_each_item(names, it)
    {
        push(b, &list, json_hash(json_text(it)));
        push(b, &list, add_text(b, json_text(it)));
    }
    add_check(b, checks, op, add_list(b, &list));
}

static bool compile_node(struct builder *b, const struct json *schema, const struct step *path, uint32_t *ret);

static bool add_alternatives(struct builder *b, word_vec *checks, enum check op, const struct json *schemas,
                             const struct step *path)
{
    if (json_len(schemas) == 0)
        return true;
    word_vec list = {0};
    push(b, &list, (uint32_t)json_len(schemas));
    for (uint32_t i = 0; i < schemas->n; i++) {
        uint32_t node = 0;
        if (!compile_node(b, &schemas->items[i], &(struct step){.up = path, .index = i}, &node))
            return false;
        push(b, &list, node);
    }
    add_check(b, checks, op, add_list(b, &list));
    return true;
}

static bool add_junctors(struct builder *b, word_vec *checks, const struct keywords *kw, const struct step *path)
{
    static const struct {
        uint8_t op, keyword;
    } lists[] = {{CHECK_ANY_OF, KW_ANY_OF}, {CHECK_ONE_OF, KW_ONE_OF}, {CHECK_ALL_OF, KW_ALL_OF}};
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct step step = {.up = path, .key = str_of(keyword_name(lists[i].keyword))};
        if (!add_alternatives(b, checks, lists[i].op, kw->at[lists[i].keyword], &step))
            return false;
    }
    if (kw->at[KW_NOT]) {
        uint32_t node = 0;
        if (!compile_node(b, kw->at[KW_NOT], &(struct step){.up = path, .key = S("not")}, &node))
            return false;
        add_check(b, checks, CHECK_NOT, node);
    }
    return true;
}

/* The checks must be added in the order of enum check. */
static bool add_checks(struct builder *b, const struct keywords *kw, const struct step *path, struct node *node)
{
    word_vec checks = {0};
    if (!add_junctors(b, &checks, kw, path))
        return false;
    add_int_check(b, &checks, CHECK_MAX_LENGTH, kw->at[KW_MAX_LENGTH]);
    add_int_check(b, &checks, CHECK_MIN_LENGTH, kw->at[KW_MIN_LENGTH]);
    add_pattern(b, &checks, keyword_text(kw, KW_PATTERN));
    bool has_format = add_format(b, &checks, keyword_text(kw, KW_FORMAT));
    add_real_check(b, &checks, CHECK_MULTIPLE_OF, kw->at[KW_MULTIPLE_OF]);
    add_real_check(b, &checks, keyword_true(kw, KW_EXCLUSIVE_MINIMUM) ? CHECK_EXCLUSIVE_MINIMUM : CHECK_MINIMUM,
                   kw->at[KW_MINIMUM]);
    add_real_check(b, &checks, keyword_true(kw, KW_EXCLUSIVE_MAXIMUM) ? CHECK_EXCLUSIVE_MAXIMUM : CHECK_MAXIMUM,
                   kw->at[KW_MAXIMUM]);
    add_int_check(b, &checks, CHECK_MIN_ITEMS, kw->at[KW_MIN_ITEMS]);
    add_int_check(b, &checks, CHECK_MAX_ITEMS, kw->at[KW_MAX_ITEMS]);
    if (json_len(kw->at[KW_ENUM]))
        add_check(b, &checks, CHECK_ENUM, add_enum(b, kw->at[KW_ENUM]));
    add_int_check(b, &checks, CHECK_MIN_PROPERTIES, kw->at[KW_MIN_PROPERTIES]);
    add_int_check(b, &checks, CHECK_MAX_PROPERTIES, kw->at[KW_MAX_PROPERTIES]);
    add_names(b, &checks, CHECK_REQUIRED, kw->at[KW_REQUIRED]);
    if (kw->at[KW_DEFAULT])
        add_check(b, &checks, CHECK_DEFAULT, add_packed(b, kw->at[KW_DEFAULT]));
    add_names(b, &checks, CHECK_LIST_KEYS, kw->at[KW_X_LIST_MAP_KEYS]);
    if (checks.n) {
        push(b, &checks, CHECK_END);
        node->checks = add_list(b, &checks);
    }
    node->accepts = accepts(node, has_format);
    return true;
}

/* ---- Children ---- */

/* An index at most half full. */
static uint32_t index_mask(size_t n)
{
    uint32_t slots = 2;
    while (slots < 2 * n)
        slots *= 2;
    return slots - 1;
}

static uint32_t add_table(struct builder *b, const struct prop *props, uint32_t n)
{
    struct table head = {.n = n, .mask = index_mask(n)};
    word_vec defaults = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct node *made = (const struct node *)(b->words.p + props[i].node);
        if (made->flags & NODE_DEFAULT)
            push(b, &defaults, i);
    }
    head.defaults = (uint32_t)defaults.n;
    size_t size =
        sizeof head + n * sizeof *props + defaults.n * sizeof(uint32_t) + ((size_t)head.mask + 1) * sizeof(table_slot);
    struct table *t = arena_zalloc(&b->arena, size);
    *t = head;
    memcpy(t->props, props, n * sizeof *props);
    if (defaults.n)
        memcpy((uint32_t *)(t->props + n), defaults.p, defaults.n * sizeof(uint32_t));
    table_slot *slots = (table_slot *)table_slots(t);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = props[i].hash & t->mask;
        while (slots[at])
            at = (at + 1) & t->mask;
        slots[at] = (table_slot)(i + 1);
    }
    return add_words(b, t, size / sizeof(uint32_t));
}

static void inherit(struct builder *b, struct node *node, uint32_t child)
{
    const struct node *from = (const struct node *)(b->words.p + child);
    node->flags |= from->flags & (NODE_HAS_UNIQUE | NODE_HAS_EMBEDDED | NODE_HAS_RULES);
}

static bool add_properties(struct builder *b, const struct json *props, const struct step *path, struct node *node)
{
    if (json_len(props) == 0)
        return true;
    if (props->n > TABLE_MAX)
        return refuse_keyword(b, path, KW_PROPERTIES, "must not have more than 65534 members");
    struct prop *made = ARENA_ARRAY(&b->arena, struct prop, props->n);
    struct step under = {.up = path, .key = S("properties")};
    for (uint32_t i = 0; i < props->n; i++) {
        const struct json_member *m = &props->members[i];
        uint32_t child = 0;
        if (!compile_node(b, &m->val, &(struct step){.up = &under, .key = json_key(m), .extra = true}, &child))
            return false;
        made[i] = (struct prop){m->hash, add_text(b, json_key(m)), child};
        inherit(b, node, child);
    }
    node->props = add_table(b, made, props->n);
    return true;
}

static bool add_children(struct builder *b, const struct keywords *kw, const struct step *path, struct node *node)
{
    const struct json *extra = kw->at[KW_ADDITIONAL_PROPERTIES];
    if (!add_properties(b, kw->at[KW_PROPERTIES], path, node))
        return false;
    if (kw->at[KW_ITEMS]) {
        if (!compile_node(b, kw->at[KW_ITEMS], &(struct step){.up = path, .key = S("items")}, &node->items))
            return false;
        inherit(b, node, node->items);
    }
    if (json_is_obj(extra)) {
        struct step step = {.up = path, .key = S("additionalProperties")};
        if (!compile_node(b, extra, &step, &node->extra))
            return false;
        inherit(b, node, node->extra);
    }
    if (extra)
        node->flags |= json_is_obj(extra) || json_true(extra) ? NODE_EXTRA : NODE_FORBID_EXTRA;
    return true;
}

static bool compile_node(struct builder *b, const struct json *schema, const struct step *path, uint32_t *ret)
{
    struct keywords kw;
    struct node node = {0};
    if (!budget_charge(NODE_STEPS))
        return refuse(b, path, "takes too many steps");
    keywords_read(schema, &kw);
    if (!check_forms(b, &kw, path) || !read_type(b, &kw, path, &node))
        return false;
    read_flags(&kw, &node);
    if (!add_checks(b, &kw, path, &node) || !add_children(b, &kw, path, &node))
        return false;
    *ret = add_words(b, &node, sizeof node / sizeof(uint32_t));
    return true;
}

/* ---- The whole ---- */

static struct schema *finish(struct builder *b, uint32_t root)
{
    uint32_t patterns = b->patterns.n ? add_words(b, b->patterns.p, b->patterns.n) : 0;
    size_t slots = b->patterns.n * sizeof(_Atomic(struct pattern *));
    size_t words = b->words.n * sizeof(uint32_t);
    struct schema *s = xcalloc(1, sizeof *s + slots + words + b->bytes.n);
    s->root = root;
    s->n_words = (uint32_t)b->words.n;
    s->n_bytes = (uint32_t)b->bytes.n;
    s->n_patterns = (uint32_t)b->patterns.n;
    s->patterns = patterns;
    char *at = (char *)(s->slots + b->patterns.n);
    s->words = memcpy(at, b->words.p, words);
    s->bytes = memcpy(at + words, b->bytes.p, b->bytes.n);
    return s;
}

int schema_compile(const struct json *openapi, struct schema **ret, struct err *err)
{
    struct builder b = {.err = err};
    b.bytes.arena = &b.arena;
    buf_add_char(&b.bytes, 0); /* so that no place is 0 */
    *vec_push(&b.arena, &b.words) = 0;
    const struct node any = {.flags = NODE_PRESERVE, .accepts = 0xff};
    uint32_t root = add_words(&b, &any, sizeof any / sizeof(uint32_t));
    bool ok = json_is_obj(openapi) ? compile_node(&b, openapi, NULL, &root) : refuse(&b, NULL, "must be a schema");
    if (ok)
        *ret = finish(&b, root);
    map_done(&b.known_words);
    map_done(&b.known_bytes);
    map_done(&b.known_patterns);
    arena_done(&b.arena);
    return ok ? 0 : ERR_INVALID;
}
