/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "schema/schema_internal.h"

#include <stdarg.h>
#include <stdio.h>

static bool validate_value(struct validation *v, uint32_t at, const struct json *value, const struct step *path);

/* How failed checks become field errors. */

str report_name(struct validation *v, const struct step *path)
{
    struct buf b = {.arena = v->errs->arena};
    schema_path_format(&b, path, v->brackets);
    return buf_str(&b);
}

/* The field of an error: below base; the root of an object has the name <nil>. */
static str field_of(struct validation *v, str name)
{
    if (name.n == 0)
        return v->base.n ? v->base : S("<nil>");
    return field_child(v->errs->arena, v->base, name);
}

static bool is_same(const struct field_error *a, const struct field_error *b)
{
    return a->type == b->type && str_eq(a->field, b->field) && str_eq(a->detail, b->detail) &&
           (a->detail.n || str_eq(a->value, b->value));
}

/* Several ways through a schema may come to the same error: it is reported once. */
static void add_once(struct field_errors *errs, const struct field_error *e)
{
    vec_each(&errs->list, it)
    {
        if (is_same(it, e))
            return;
    }
    errs->bytes += e->field.n + e->value.n + e->detail.n;
    *vec_push(errs->arena, &errs->list) = *e;
}

void report_merge(struct validation *v, const struct field_errors *from)
{
    struct arena *a = v->errs->arena;
    vec_each(&from->list, it)
    {
        if (report_wanted(v))
            add_once(v->errs, &(struct field_error){it->type, str_dup(a, it->field), str_dup(a, it->value),
                                                    str_dup(a, it->detail)});
    }
    v->errs->dropped += from->dropped;
}

bool report(struct validation *v, const struct step *path, enum field_error_type type, str value, const char *fmt, ...)
{
    if (!report_wanted(v))
        return false;
    str name = report_name(v, path);
    struct buf detail = {.arena = v->errs->arena};
    buf_fmt(&detail, "%.*s in body ", STR(name));
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&detail, fmt, args);
    va_end(args);
    add_once(v->errs, &(struct field_error){type, field_of(v, name), value, buf_str(&detail)});
    return false;
}

bool report_plain(struct validation *v, const struct step *path, enum field_error_type type, str value, const char *fmt,
                  ...)
{
    if (!report_wanted(v))
        return false;
    struct buf detail = {.arena = v->errs->arena};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&detail, fmt, args);
    va_end(args);
    add_once(v->errs, &(struct field_error){type, field_of(v, report_name(v, path)), value, buf_str(&detail)});
    return false;
}

/* Of the whole: "<nil>: Invalid value: \"\": text" */
static bool report_whole(struct validation *v, str text)
{
    if (report_wanted(v))
        add_once(v->errs, &(struct field_error){FIELD_INVALID, field_of(v, (str){0}), S("\"\""), text});
    return false;
}

/* Validation as three walks, which is how the API server orders its errors: the schema's own rules, then embedded
 * resources, then lists of type set and map. */

/* ---- anyOf, oneOf, allOf, not ----
 *
 * A pattern that gave up did not match. Where that would be good news, inside not and beside another alternative of
 * oneOf, nobody knows, and the value is refused. */

/* One alternative, with errors and matches of its own. Most attempts leave nothing behind, so each has its memory. */
struct attempt {
    bool ok;
    uint32_t matches;
    struct arena arena;
    struct field_errors errs;
};

static struct attempt try(struct validation *v, uint32_t at, const struct json *value, const struct step *path)
{
    budget_charge(5);
    struct attempt t = {0};
    struct validation inner = *v;
    t.errs.arena = &t.arena;
    inner.errs = v->errs && !field_errors_full(v->errs) ? &t.errs : NULL;
    inner.matches = 0;
    t.ok = validate_value(&inner, at, value, path);
    t.matches = inner.matches;
    t.errs.arena = NULL; /* nothing is added any more */
    return t;
}

/* Of two attempts keeps the one that came further, the first if both did. */
static void keep_better(struct attempt *best, struct attempt *t, bool is_first)
{
    if (is_first || t->matches > best->matches) {
        arena_done(&best->arena);
        *best = *t;
    } else {
        arena_done(&t->arena);
    }
}

static bool report_junctor(struct validation *v, const struct step *path, const char *text)
{
    if (!report_wanted(v))
        return false;
    struct buf b = {.arena = v->errs->arena};
    buf_add_quoted(&b, report_name(v, path));
    buf_add_str(&b, str_of(text));
    return report_whole(v, buf_str(&b));
}

static void merge(struct validation *v, struct attempt *t)
{
    if (v->errs)
        report_merge(v, &t->errs);
    v->matches += t->matches;
    arena_done(&t->arena);
}

static bool check_any_of(struct validation *v, const uint32_t *list, const struct json *value, const struct step *path)
{
    struct attempt best = {0};
    for (uint32_t i = 1; i <= list[0]; i++) {
        struct attempt t = try(v, list[i], value, path);
        if (t.ok) {
            v->matches += t.matches;
            arena_done(&t.arena);
            arena_done(&best.arena);
            return true;
        }
        keep_better(&best, &t, i == 1);
    }
    report_junctor(v, path, " must validate at least one schema (anyOf)");
    merge(v, &best);
    return false;
}

static bool check_one_of(struct validation *v, const uint32_t *list, const struct json *value, const struct step *path)
{
    struct attempt best = {0};
    uint32_t passed = 0, matches = 0;
    bool failed = false, unsure = false;
    for (uint32_t i = 1; i <= list[0] && (passed < 2 || v->errs); i++) {
        unsigned unknown = v->scratch->timeouts;
        struct attempt t = try(v, list[i], value, path);
        if (t.ok && passed++ == 0)
            matches = t.matches;
        unsure = unsure || v->scratch->timeouts != unknown;
        if (t.ok) {
            arena_done(&t.arena);
        } else {
            keep_better(&best, &t, !failed);
            failed = true;
        }
    }
    passed += unsure && passed == 1;
    if (passed == 1) {
        v->matches += matches;
        arena_done(&best.arena);
        return true;
    }
    char text[96] = " must validate one and only one schema (oneOf). Found none valid";
    if (passed)
        (void)snprintf(text, sizeof text, " must validate one and only one schema (oneOf). Found %u valid alternatives",
                       passed);
    report_junctor(v, path, text);
    if (passed == 0)
        merge(v, &best);
    else
        arena_done(&best.arena);
    return false;
}

static bool check_all_of(struct validation *v, const uint32_t *list, const struct json *value, const struct step *path)
{
    uint32_t passed = 0;
    for (uint32_t i = 1; i <= list[0]; i++) {
        struct attempt t = try(v, list[i], value, path);
        passed += t.ok;
        merge(v, &t);
        if (!t.ok && v->errs == NULL)
            return false;
    }
    if (passed == list[0])
        return true;
    return report_junctor(v, path,
                          passed ? " must validate all the schemas (allOf)"
                                 : " must validate all the schemas (allOf). None validated");
}

bool check_junctor(struct validation *v, enum check op, uint32_t arg, const struct json *value, const struct step *path)
{
    switch (op) {
    case CHECK_ANY_OF:
        return check_any_of(v, v->schema->words + arg, value, path);
    case CHECK_ONE_OF:
        return check_one_of(v, v->schema->words + arg, value, path);
    case CHECK_ALL_OF:
        return check_all_of(v, v->schema->words + arg, value, path);
    default:
        break;
    }
    struct validation quiet = *v;
    unsigned unknown = v->scratch->timeouts;
    quiet.errs = NULL;
    if (!validate_value(&quiet, arg, value, path) && v->scratch->timeouts == unknown)
        return true;
    return report_junctor(v, path, " must not validate the schema (not)");
}

/* ---- The schema's own rules ---- */

/* Checks a value and everything below it. */
static bool validate_value(struct validation *v, uint32_t at, const struct json *value, const struct step *path)
{
    const struct node *node = node_at(v->schema, at);
    bool ok = check_before(v, node, value, path);
    if (value->type == JSON_OBJ && (node->props || node->extra)) {
        for (uint32_t i = 0; i < value->n && (ok || v->errs); i++) {
            const struct json_member *m = &value->members[i];
            struct step step = {.up = path, .key = json_key(m)};
            uint32_t child = schema_member_node(v->schema, node, m, &step.extra);
            if (!budget_charge_round(i, value->n))
                return false;
            ok = (child == 0 || validate_value(v, child, &m->val, &step)) && ok;
        }
    } else if (value->type == JSON_ARR && node->items) {
        for (uint32_t i = 0; i < value->n && (ok || v->errs); i++) {
            if (!budget_charge_round(i, value->n))
                return false;
            ok = validate_value(v, node->items, &value->items[i], &(struct step){.up = path, .index = i}) && ok;
        }
    }
    return (ok || v->errs) && check_after(v, node, value, path) && ok;
}

/* ---- Embedded resources; sets and maps ---- */

/* Runs check for every object (or list) whose node has the flag `of`, in all places that `below` leads to. */
struct search {
    uint16_t of, below;
    bool (*check)(struct validation *v, const struct node *node, const struct json *value, const struct step *path);
};

static bool search(struct validation *v, uint32_t at, const struct json *value, const struct search *s,
                   const struct step *path)
{
    if (at == 0 || value->type < JSON_ARR)
        return true;
    const struct node *node = node_at(v->schema, at);
    if (!(node->flags & s->below))
        return true;
    if (!budget_charge(2 + value->n / 2))
        return false;
    bool ok = !(node->flags & s->of) || s->check(v, node, value, path);
    for (uint32_t i = 0; i < value->n && (ok || v->errs); i++) {
        struct step step = {.up = path, .index = i};
        uint32_t child = node->items;
        if (value->type == JSON_OBJ) {
            step.key = json_key(&value->members[i]);
            child = schema_member_node(v->schema, node, &value->members[i], &step.extra);
        }
        ok = search(v, child, value->type == JSON_OBJ ? &value->members[i].val : &value->items[i], s, &step) && ok;
    }
    return ok;
}

static bool search_embedded(struct validation *v, const struct node *node, const struct json *value,
                            const struct step *path)
{
    (void)node;
    return value->type != JSON_OBJ || check_embedded(v, value, path);
}

static bool search_unique(struct validation *v, const struct node *node, const struct json *value,
                          const struct step *path)
{
    return value->type != JSON_ARR || check_unique(v, node, value, path);
}

/* Errors after which the rules in CEL are not evaluated. */
static bool is_blocking(const struct field_errors *errs, size_t first)
{
    for (size_t i = first; i < errs->list.n; i++) {
        switch (errs->list.p[i].type) {
        case FIELD_NOT_SUPPORTED:
        case FIELD_REQUIRED:
        case FIELD_TYPE_INVALID:
        case FIELD_TOO_LONG:
        case FIELD_TOO_MANY:
            return true;
        default:
            break;
        }
    }
    return false;
}

static const struct search embedded = {NODE_EMBEDDED, NODE_HAS_EMBEDDED, search_embedded};
static const struct search unique = {NODE_SET | NODE_LIST_MAP, NODE_HAS_UNIQUE, search_unique};

bool schema_validate_default(schema_node n, str base, const struct json *value, bool is_root, struct field_errors *errs)
{
    struct pattern_scratch scratch = {0};
    struct validation v = {.schema = n.schema, .base = base, .errs = errs, .scratch = &scratch, .is_default = true};
    v.brackets = true;
    bool ok = n.at == 0 || search(&v, n.at, value, &embedded, NULL);
    if (is_root && json_is_obj(value) && !schema_node_is_resource(n))
        ok = check_embedded(&v, value, NULL) && ok;
    v.brackets = false;
    ok = ok && (n.at == 0 || validate_value(&v, n.at, value, NULL));
    pattern_scratch_done(&scratch);
    return ok;
}

bool schema_validate(schema_node n, str base, const struct json *value, struct field_errors *errs)
{
    if (n.at == 0)
        return true;
    struct pattern_scratch scratch = {0};
    struct validation v = {.schema = n.schema, .base = base, .errs = errs, .scratch = &scratch};
    size_t first = errs ? errs->list.n : 0;
    bool ok = validate_value(&v, n.at, value, NULL);
    v.brackets = true;
    if (ok || errs)
        ok = search(&v, n.at, value, &embedded, NULL) && ok;
    if (ok || errs)
        ok = search(&v, n.at, value, &unique, NULL) && ok;
    if (!ok && errs && base.n == 0 && node_at(n.schema, n.at)->flags & NODE_HAS_RULES && is_blocking(errs, first))
        field_error_add(errs, FIELD_INVALID, S("<nil>"), S("\"null\""),
                        "some validation rules were not checked because the object was invalid; correct the existing "
                        "errors to complete validation");
    pattern_scratch_done(&scratch);
    return ok;
}
