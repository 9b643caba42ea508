/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/map.h"
#include "base/rune.h"
#include "object/meta.h"
#include "object/name.h"
#include "schema/schema_format.h"
#include "schema/schema_internal.h"

#include <math.h>

/* The checks of one value. Texts, and what is compared with what, are those of the Go library inside the API server: an
 * integer is compared with limits cut to integers, a length is counted in characters, of several things wrong with the
 * length and pattern of one string only the first is reported. */

/* ---- Type ---- */

/* Go's test for "this float is an integer": up to 2^53, and above zero a relative error of 1e-9 is overlooked. */
static bool is_json_integer(double f)
{
    if (!(f >= -9007199254740991.0 && f <= 9007199254740991.0))
        return false;
    if (f == trunc(f))
        return true;
    double whole = trunc(f), diff = f - whole;
    return whole > 0 && diff / (f + whole) < 1e-9;
}

static bool is_integer_like(const struct json *value)
{
    return value->type == JSON_REAL && is_json_integer(value->d);
}

/* The type and the format of a value, as Go sees them. */
static const char *go_type(const struct json *value)
{
    static const char *const names[] = {"null", "boolean", "integer", "number", "number", "string", "array", "object"};
    return names[value->type];
}

static const char *go_format(const struct json *value)
{
    static const char *const names[] = {"", "", "int64", "float64", "float64", "", "", ""};
    return names[value->type];
}

static bool check_type(struct validation *v, const struct node *node, const struct json *value, const struct step *path)
{
    static const char *const names[] = {
        [TYPE_NONE] = "",           [TYPE_STRING] = "string",
        [TYPE_INTEGER] = "integer", [TYPE_NUMBER] = "number",
        [TYPE_BOOLEAN] = "boolean", [TYPE_ARRAY] = "array",
        [TYPE_OBJECT] = "object",   [TYPE_INT_OR_STRING] = "integer,string",
    };
    if (node->accepts >> value->type & 1)
        return true;
    if ((node->type == TYPE_INTEGER || node->type == TYPE_INT_OR_STRING) && is_integer_like(value))
        return true;
    if (node->type == TYPE_INT_OR_STRING && v->is_default)
        return true;
    if (!report_wanted(v))
        return false;
    uint32_t format = schema_check_arg(v->schema, node, CHECK_FORMAT);
    const char *is = go_type(value);
    str wanted = str_of(names[node->type]);
    if (format && value->type != JSON_NULL && value->type != JSON_STR && value->type != JSON_ARR) {
        is = go_format(value);
        wanted = text_at(v->schema, v->schema->words[format + 1]);
    }
    str quoted = str_fmt(v->errs->arena, "\"%s\"", is);
    return report(v, path, FIELD_TYPE_INVALID, quoted, "must be of type %.*s: %.*s", STR(wanted), STR(quoted));
}

/* ---- Strings ---- */

static bool check_pattern(struct validation *v, uint32_t index, const struct json *value, const struct step *path)
{
    if (!budget_charge(10 + value->n / 8))
        return false;
    const struct pattern *p = schema_pattern(v->schema, index);
    enum pattern_result found = pattern_match(p, json_text(value), v->scratch);
    if (found == PATTERN_YES)
        return true;
    if (!report_wanted(v))
        return false;
    str expression = text_at(v->schema, v->schema->words[v->schema->patterns + index]);
    const char *why = found == PATTERN_REFUSED   ? ", but pattern is invalid"
                      : found == PATTERN_TIMEOUT ? ", but takes too long to tell"
                                                 : "";
    return report(v, path, FIELD_INVALID, field_value(v->errs->arena, value), "should match '%.*s%s'", STR(expression),
                  why);
}

static bool check_string(struct validation *v, enum check op, uint32_t arg, const struct json *value,
                         const struct step *path)
{
    if (op == CHECK_PATTERN)
        return check_pattern(v, arg, value, path);
    int64_t limit = int_at(v->schema, arg);
    /* A byte is at most a character: most strings need not be counted. */
    if (op == CHECK_MAX_LENGTH) {
        if ((int64_t)value->n <= limit || (int64_t)str_utf8_len(json_text(value)) <= limit)
            return true;
        return report_plain(v, path, FIELD_TOO_LONG, (str){0}, "may not be more than %lld bytes", (long long)limit);
    }
    if ((int64_t)value->n >= limit && (int64_t)str_utf8_len(json_text(value)) >= limit)
        return true;
    return report_wanted(v) && report(v, path, FIELD_INVALID, field_value(v->errs->arena, value),
                                      "should be at least %lld chars long", (long long)limit);
}

static bool check_format(struct validation *v, uint32_t arg, const struct json *value, const struct step *path)
{
    const uint32_t *words = v->schema->words + arg;
    if (value->n > 64)
        budget_charge(value->n / 16);
    if (format_matches(words[0], json_text(value)))
        return true;
    if (!report_wanted(v))
        return false;
    str quoted = field_value(v->errs->arena, value);
    return report(v, path, FIELD_TYPE_INVALID, quoted, "must be of type %.*s: %.*s", STR(text_at(v->schema, words[1])),
                  STR(quoted));
}

/* ---- Numbers ---- */

/* The limit as it is compared, and printed, for this value. */
static struct json limit_for(const struct json *value, double limit)
{
    return value->type == JSON_INT ? json_int(schema_cut(limit)) : json_real(limit);
}

static int compare(const struct json *value, const struct json *limit)
{
    if (value->type == JSON_INT)
        return value->i < limit->i ? -1 : value->i > limit->i;
    double d = json_to_real(value);
    return d < limit->d ? -1 : d > limit->d;
}

static bool check_multiple(struct validation *v, const struct json *value, const struct json *factor,
                           const struct step *path)
{
    bool positive = factor->type == JSON_INT ? factor->i > 0 : factor->d > 0;
    if (positive && value->type == JSON_INT && value->i % factor->i == 0)
        return true;
    double d = json_to_real(value);
    if (positive && value->type != JSON_INT && is_json_integer(factor->d < 1 ? 1 / factor->d * d : d / factor->d))
        return true;
    if (!report_wanted(v))
        return false;
    struct arena *a = v->errs->arena;
    str printed = field_value(a, factor);
    if (!positive)
        return report_plain(v, path, FIELD_INVALID, printed,
                            "factor MultipleOf declared for %.*s must be positive: %.*s", STR(report_name(v, path)),
                            STR(printed));
    return report(v, path, FIELD_INVALID, field_value(a, value), "should be a multiple of %.*s", STR(printed));
}

static bool check_number(struct validation *v, enum check op, uint32_t arg, const struct json *value,
                         const struct step *path)
{
    struct json limit = limit_for(value, real_at(v->schema, arg));
    const char *text = "";
    bool ok = true;
    switch (op) {
    case CHECK_MULTIPLE_OF:
        return check_multiple(v, value, &limit, path);
    case CHECK_MINIMUM:
        ok = compare(value, &limit) >= 0;
        text = "should be greater than or equal to";
        break;
    case CHECK_EXCLUSIVE_MINIMUM:
        ok = compare(value, &limit) > 0;
        text = "should be greater than";
        break;
    case CHECK_MAXIMUM:
        ok = compare(value, &limit) <= 0;
        text = "should be less than or equal to";
        break;
    default:
        ok = compare(value, &limit) < 0;
        text = "should be less than";
        break;
    }
    if (ok || !report_wanted(v))
        return ok;
    return report(v, path, FIELD_INVALID, field_value(v->errs->arena, value), "%s %.*s", text,
                  STR(field_value(v->errs->arena, &limit)));
}

/* ---- Enums ---- */

static bool report_enum(struct validation *v, const struct json *list, const struct json *value,
                        const struct step *path)
{
    struct arena *a = v->errs->arena;
    struct buf values = {.arena = a};
    json_each_item(list, it)
    {
        if (!budget_charge_text(8 * (size_t)it->n))
            break;
        struct buf text = {.arena = a};
        if (json_is_str(it))
            buf_add_str(&text, json_text(it));
        else
            json_encode(&text, it, JSON_SORTED);
        if (values.n)
            buf_add_str(&values, S(", "));
        buf_add_quoted(&values, buf_str(&text));
    }
    return report_plain(v, path, FIELD_NOT_SUPPORTED, field_value(a, value), "supported values: %.*s",
                        STR(buf_str(&values)));
}

static bool check_enum(struct validation *v, uint32_t arg, const struct json *value, const struct step *path)
{
    if (schema_enum_has(v->schema, arg, value))
        return true;
    if (!report_wanted(v))
        return false;
    struct arena scratch ARENA_SCOPE = {0};
    const char *p = v->schema->bytes + v->schema->words[arg];
    struct json list = schema_unpack(&scratch, &p);
    return report_enum(v, &list, value, path);
}

/* ---- Lists and objects ---- */

static bool check_count(struct validation *v, enum check op, uint32_t arg, const struct json *value,
                        const struct step *path)
{
    int64_t limit = int_at(v->schema, arg), n = value->n;
    bool is_max = op == CHECK_MAX_ITEMS || op == CHECK_MAX_PROPERTIES;
    if (is_max ? n <= limit : n >= limit)
        return true;
    if (!report_wanted(v))
        return false;
    str count = str_fmt(v->errs->arena, "%lld", (long long)n);
    if (is_max)
        return report_plain(v, path, FIELD_TOO_MANY, count, "must have at most %lld items", (long long)limit);
    return report(v, path, FIELD_INVALID, count, "should have at least %lld %s", (long long)limit,
                  op == CHECK_MIN_ITEMS ? "items" : "properties");
}

static bool check_required(struct validation *v, uint32_t arg, const struct json *value, const struct step *path)
{
    const uint32_t *list = v->schema->words + arg;
    if (!budget_charge(list[0]))
        return false;
    struct json_index index JSON_INDEX_SCOPE = {0};
    bool ok = true, wide = is_wide(list[0], value);
    if (wide)
        json_index_init(&index, value);
    for (uint32_t i = 0; i < list[0] && (ok || v->errs); i++) {
        uint32_t hash = list[1 + 2 * i], key = list[2 + 2 * i];
        if (wide ? json_index_find(&index, text_at(v->schema, key)) : schema_find_member(v->schema, value, key, hash))
            continue;
        ok = report_plain(v, &(struct step){.up = path, .key = text_at(v->schema, key)}, FIELD_REQUIRED, (str){0}, "%s",
                          "");
    }
    return ok;
}

static bool check_forbidden(struct validation *v, const struct node *node, const struct json *value,
                            const struct step *path)
{
    bool ok = true;
    if (!(node->flags & NODE_FORBID_EXTRA))
        return ok;
    budget_charge(value->n);
    json_each_member(value, m)
    {
        if (schema_find_prop(v->schema, node, m))
            continue;
        ok = false;
        if (v->errs == NULL)
            break;
        if (!report_wanted(v))
            continue;
        struct buf quoted = {.arena = v->errs->arena};
        buf_add_quoted(&quoted, json_key(m));
        report_plain(v, path, FIELD_INVALID, buf_str(&quoted), "%.*s.%.*s in body is a forbidden property",
                     STR(report_name(v, path)), STR(json_key(m)));
    }
    return ok;
}

/* ---- All checks of a value ---- */

static bool is_string_check(enum check op)
{
    return op >= CHECK_MAX_LENGTH && op <= CHECK_PATTERN;
}

static bool is_number_check(enum check op)
{
    return op >= CHECK_MULTIPLE_OF && op <= CHECK_EXCLUSIVE_MAXIMUM;
}

/* The checks of a scalar from c on. */
static bool check_scalar(struct validation *v, const uint32_t *c, const struct json *value, const struct step *path)
{
    bool ok = true, string_ok = true;
    for (; *c != CHECK_END && *c <= CHECK_ENUM && (ok || v->errs); c += 2) {
        bool one = true;
        if (is_string_check(c[0]) && value->type == JSON_STR && string_ok)
            one = string_ok = check_string(v, c[0], c[1], value, path);
        else if (c[0] == CHECK_FORMAT && value->type == JSON_STR)
            one = check_format(v, c[1], value, path);
        else if (is_number_check(c[0]) && json_is_num(value))
            one = check_number(v, c[0], c[1], value, path);
        else if (c[0] == CHECK_ENUM)
            one = check_enum(v, c[1], value, path);
        ok = ok && one;
    }
    return ok;
}

/* How many more checks upstream counts for a value of this type, apart from its junctors, members and items. */
static uint32_t count_matches(const struct validation *v, const struct node *node, const struct json *value,
                              bool type_ok)
{
    bool has_format = schema_check_arg(v->schema, node, CHECK_FORMAT) != 0;
    uint32_t n = 4; /* junctors and their own count, enum, the whole */
    if (node->type != TYPE_NONE || has_format)
        n += 1 + type_ok;
    if (value->type == JSON_STR)
        n += 1 + has_format;
    else if (json_is_num(value) || value->type == JSON_ARR)
        n += 2;
    else if (value->type == JSON_OBJ)
        n += 1;
    return n;
}

bool check_before(struct validation *v, const struct node *node, const struct json *value, const struct step *path)
{
    bool ok = check_type(v, node, value, path);
    if (v->errs)
        v->matches += value->type == JSON_NULL ? ok : count_matches(v, node, value, ok);
    if (node->checks == 0)
        return ok && (value->type != JSON_OBJ || check_forbidden(v, node, value, path));
    const uint32_t *c = v->schema->words + node->checks;
    if (value->type == JSON_NULL) {
        uint32_t list = schema_check_arg(v->schema, node, CHECK_ENUM);
        return (list == 0 || check_enum(v, list, value, path)) && ok;
    }
    for (; *c != CHECK_END && *c <= CHECK_NOT && (ok || v->errs); c += 2)
        ok = check_junctor(v, c[0], c[1], value, path) && ok;
    if (value->type < JSON_ARR)
        return check_scalar(v, c, value, path) && ok;
    if (value->type == JSON_ARR)
        return ok;
    for (; *c != CHECK_END && (ok || v->errs); c += 2) {
        if (*c == CHECK_ENUM)
            ok = check_enum(v, c[1], value, path) && ok;
        else if (*c == CHECK_MIN_PROPERTIES || *c == CHECK_MAX_PROPERTIES)
            ok = check_count(v, c[0], c[1], value, path) && ok;
    }
    return check_forbidden(v, node, value, path) && ok;
}

bool check_after(struct validation *v, const struct node *node, const struct json *value, const struct step *path)
{
    bool ok = true;
    if (node->checks == 0 || value->type < JSON_ARR)
        return ok;
    for (const uint32_t *c = v->schema->words + node->checks; *c != CHECK_END && (ok || v->errs); c += 2) {
        if (*c == CHECK_REQUIRED && value->type == JSON_OBJ)
            ok = check_required(v, c[1], value, path) && ok;
        else if ((*c == CHECK_MIN_ITEMS || *c == CHECK_MAX_ITEMS) && value->type == JSON_ARR)
            ok = check_count(v, c[0], c[1], value, path) && ok;
        else if (*c == CHECK_ENUM && value->type == JSON_ARR)
            ok = check_enum(v, c[1], value, path) && ok;
    }
    return ok;
}

/* Lists of type set hold no value twice, lists of type map no key twice. A value that comes several times is reported
 * once, where it comes for the second time. Short lists are compared pair by pair, long ones through a hash map. */

enum { PAIRS_UPTO = 16 };

/* What identifies an item: the item itself, or an object of its key fields. */
struct identity {
    const struct schema *schema;
    const uint32_t *keys; /* n, names; NULL: a set */
};

/* Key field k of an item, NULL when it has none (null items have none). */
static const struct json *key_field(const struct identity *id, const struct json *item, uint32_t k)
{
    if (item->type != JSON_OBJ)
        return NULL;
    const struct json_member *m = schema_find_member(id->schema, item, id->keys[2 + 2 * k], id->keys[1 + 2 * k]);
    return m ? &m->val : NULL;
}

/* As Go compares: 1 and 1.0 are two values, but not inside of others, as several keys together are. */
static bool is_same_value(const struct json *a, const struct json *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->type == JSON_STR && b->type == JSON_STR)
        return str_eq(json_text(a), json_text(b));
    return a->type == b->type && json_equal(a, b);
}

/* By all of several keys. */
static bool is_same(const struct identity *id, const struct json *a, const struct json *b)
{
    for (uint32_t k = 0; k < id->keys[0]; k++) {
        const struct json *x = key_field(id, a, k), *y = key_field(id, b, k);
        if ((x == NULL) != (y == NULL) || !json_equal(x, y))
            return false;
    }
    return true;
}

static void add_identity(struct buf *b, const struct json *v, bool is_alone)
{
    if (v == NULL)
        buf_add_char(b, '-');
    else if (is_alone && v->type == JSON_REAL)
        buf_add_char(b, 'r');
    if (v)
        json_encode(b, v, JSON_SORTED);
}

static str identity(const struct identity *id, struct arena *a, const struct json *item)
{
    struct buf b = {.arena = a};
    if (id->keys == NULL)
        add_identity(&b, item, true);
    for (uint32_t k = 0; id->keys && k < id->keys[0]; k++) {
        add_identity(&b, key_field(id, item, k), id->keys[0] == 1);
        buf_add_char(&b, '\n');
    }
    return buf_str(&b);
}

static bool report_duplicate(struct validation *v, const struct identity *id, const struct json *list, uint32_t i,
                             const struct step *path)
{
    if (!report_wanted(v))
        return false;
    struct arena *a = v->errs->arena;
    struct json shown = list->items[i];
    if (id->keys) {
        shown = json_obj();
        for (uint32_t k = 0; k < id->keys[0]; k++) {
            const struct json *f = key_field(id, &list->items[i], k);
            if (f)
                json_set(a, &shown, text_at(id->schema, id->keys[2 + 2 * k]), *f);
        }
    }
    return report_plain(v, &(struct step){.up = path, .index = i}, FIELD_DUPLICATE, field_value(a, &shown), "%s", "");
}

/* The most distinctive part of an item: itself, or its first key field. */
static const struct json *foremost(const struct identity *id, const struct json *item)
{
    return id->keys ? key_field(id, item, 0) : item;
}

static bool check_pairs(struct validation *v, const struct identity *id, const struct json *list,
                        const struct step *path)
{
    const struct json *first[PAIRS_UPTO];
    bool more = id->keys && id->keys[0] > 1, ok = true;
    for (uint32_t i = 0; i < list->n && (ok || v->errs); i++) {
        uint32_t before = 0;
        budget_charge(1 + i / 4);
        first[i] = foremost(id, &list->items[i]);
        for (uint32_t k = 0; k < i; k++)
            before += more ? is_same(id, &list->items[k], &list->items[i]) : is_same_value(first[k], first[i]);
        if (before == 1)
            ok = report_duplicate(v, id, list, i, path);
    }
    return ok;
}

static bool check_hashed(struct validation *v, const struct identity *id, const struct json *list,
                         const struct step *path)
{
    static char once, twice;
    struct arena scratch ARENA_SCOPE = {0};
    struct map seen = {0};
    bool ok = true;
    for (uint32_t i = 0; i < list->n && (ok || v->errs); i++) {
        if (!budget_charge(5))
            break;
        str key = identity(id, &scratch, &list->items[i]);
        const void *before = map_get(&seen, key);
        map_set(&seen, key, before ? &twice : &once);
        if (before == &once)
            ok = report_duplicate(v, id, list, i, path);
    }
    map_done(&seen);
    return ok;
}

bool check_unique(struct validation *v, const struct node *node, const struct json *list, const struct step *path)
{
    uint32_t keys = node->flags & NODE_LIST_MAP ? schema_check_arg(v->schema, node, CHECK_LIST_KEYS) : 0;
    struct identity id = {v->schema, keys ? v->schema->words + keys : NULL};
    for (uint32_t i = 0; node->flags & NODE_LIST_MAP && i < list->n; i++) {
        const struct json *item = &list->items[i];
        if (item->type != JSON_OBJ && item->type != JSON_NULL)
            return report_wanted(v) &&
                   report_plain(v, &(struct step){.up = path, .index = i}, FIELD_INVALID,
                                field_value(v->errs->arena, item), "must be an object for an array of list-type map");
    }
    if (list->n <= 1 || (node->flags & NODE_LIST_MAP && keys == 0))
        return true;
    return list->n <= PAIRS_UPTO ? check_pairs(v, &id, list, path) : check_hashed(v, &id, list, path);
}

/* What every embedded resource must have. */

static bool fail(struct validation *v, const struct step *up, str field, const struct json *value, const char *text)
{
    if (!report_wanted(v))
        return false;
    enum field_error_type type = value ? FIELD_INVALID : FIELD_REQUIRED;
    str shown = value ? field_value(v->errs->arena, value) : (str){0};
    return report_plain(v, &(struct step){.up = up, .key = field}, type, shown, "%s", text);
}

static bool check_api_version(struct validation *v, const struct json *value, const struct step *path)
{
    if (value == NULL)
        return fail(v, path, S("apiVersion"), NULL, "must not be empty");
    if (!json_is_str(value))
        return fail(v, path, S("apiVersion"), value, "must be a string");
    str text = json_text(value), group, rest;
    if (text.n == 0)
        return fail(v, path, S("apiVersion"), value, "must not be empty");
    str_cut(text, '/', &group, &rest);
    if (str_find_char(rest, '/') < 0)
        return true;
    if (!report_wanted(v))
        return false;
    str why = str_fmt(v->errs->arena, "unexpected GroupVersion string: %.*s", STR(text));
    return fail(v, path, S("apiVersion"), value, str_cstr(v->errs->arena, why));
}

static bool check_kind(struct validation *v, const struct json *value, const struct step *path)
{
    if (value == NULL)
        return fail(v, path, S("kind"), NULL, "must not be empty");
    if (!json_is_str(value))
        return fail(v, path, S("kind"), value, "must be a string");
    if (value->n == 0)
        return fail(v, path, S("kind"), value, "must not be empty");
    struct arena scratch ARENA_SCOPE = {0};
    struct name_faults faults = name_check(NAME_DNS1035_LABEL, str_lower(&scratch, json_text(value)));
    if (faults.n == 0)
        return true;
    struct buf why = {.arena = &scratch};
    buf_add_str(&why, S("may have mixed case, but should otherwise match: "));
    name_faults_format(&why, &faults, S(","));
    return fail(v, path, S("kind"), value, str_cstr(&scratch, buf_str(&why)));
}

static void check_names(struct field_errors *errs, str field, const struct json *metadata)
{
    struct arena *a = errs->arena;
    str name = json_get_text(metadata, S("name")), prefix = json_get_text(metadata, S("generateName"));
    str namespace = json_get_text(metadata, S("namespace"));
    if (prefix.n)
        name_validate_prefix(errs, field_child(a, field, S("generateName")), NAME_PATH_SEGMENT, prefix);
    if (name.n)
        name_validate(errs, field_child(a, field, S("name")), NAME_PATH_SEGMENT, name);
    if (namespace.n)
        name_validate(errs, field_child(a, field, S("namespace")), NAME_DNS_LABEL, namespace);
    meta_validate_labels_and_annotations(errs, field, metadata);
    meta_validate_owners(errs, field_child(a, field, S("ownerReferences")), json_get(metadata, S("ownerReferences")));
    const struct json *finalizers = json_get(metadata, S("finalizers"));
    json_each_item(finalizers, it)
        name_validate(errs, field_child(a, field, S("finalizers")), NAME_QUALIFIED, json_text(it));
}

static bool check_metadata(struct validation *v, const struct json *value, const struct step *path)
{
    if (json_is_null(value))
        return true;
    if (!json_is_obj(value))
        return fail(v, path, S("metadata"), value, "must be an object");
    struct arena scratch ARENA_SCOPE = {0};
    struct field_errors found = {.arena = &scratch};
    struct buf field = {.arena = found.arena};
    schema_path_format(&field, &(struct step){.up = path, .key = S("metadata")}, true);
    check_names(&found, field_child(found.arena, v->base, buf_str(&field)), value);
    if (v->errs)
        report_merge(v, &found);
    return found.list.n == 0;
}

bool check_embedded(struct validation *v, const struct json *object, const struct step *path)
{
    bool ok = check_api_version(v, json_get(object, S("apiVersion")), path);
    ok = check_kind(v, json_get(object, S("kind")), path) && ok;
    return check_metadata(v, json_get(object, S("metadata")), path) && ok;
}
