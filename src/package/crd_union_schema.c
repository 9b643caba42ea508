/* SPDX-License-Identifier: Apache-2.0 */
#include "package/crd_union_internal.h"
#include "schema/schema.h"
#include "schema/schema_keyword.h"

#include <stdlib.h>

/* The walk through the schemas of one version. All sides go down together, and at each place only those are asked that
 * have it:
 *
 *     1.0   spec { size, color }
 *     1.1   spec { size }            size: 1.0 ≤ 1.1 ≤ 1.2      color: 1.0 alone      zone: 1.2 alone
 *     1.2   spec { size, zone }
 *
 * A side that does not declare a field has nothing to say about it: the server prunes it there. But where a side keeps
 * unknown fields, or has entries of any name, a declaration by another would narrow what that side accepts. */

struct spot {
    const struct crd_place *place;
    bool is_resource; /* apiVersion, kind and metadata are there, declared or not */
    bool is_metadata; /* of a resource */
    bool is_shut;     /* here or above, values are restricted as a whole */
};

static struct json unite(struct crd_union *u, struct crd_sides sides, struct spot at);

static bool keeps_unknown(const struct json *schema)
{
    return json_true(json_get(schema, S("x-kubernetes-preserve-unknown-fields")));
}

/* Whether a side takes members of any name here. */
static bool is_open(const struct json *schema, struct spot at)
{
    return at.is_metadata || keeps_unknown(schema) || !json_is_null(json_get(schema, S("additionalProperties")));
}

static str type_of(const struct json *schema)
{
    str type = json_get_text(schema, S("type"));
    return type.n ? type : S("declared");
}

/* What every resource has, as if it were declared; NULL for other fields. */
static const struct json *implied(struct crd_union *u, struct spot at, str field)
{
    static const str texts[] = {S_INIT("apiVersion"), S_INIT("kind")};
    static const str names[] = {S_INIT("name"), S_INIT("generateName")};
    const char *type = NULL;
    for (size_t i = 0; i < 2; i++) {
        if ((at.is_resource && str_eq(field, texts[i])) || (at.is_metadata && str_eq(field, names[i])))
            type = "string";
    }
    if (at.is_resource && str_eq(field, S("metadata")))
        type = "object";
    if (type == NULL)
        return NULL;
    struct json *schema = ARENA_NEW(u->arena, struct json);
    *schema = json_obj();
    json_set(u->arena, schema, S("type"), json_str(str_of(type)));
    return schema;
}

static void tell_sides(struct crd_union *u, const struct crd_place *at, size_t one, str says, size_t other, str answers)
{
    if (one < other)
        crd_tell(u, at, NULL, one, says, other, answers);
    else
        crd_tell(u, at, NULL, other, answers, one, says);
}

/* ---- Fields ---- */

struct fields {
    struct crd_sides sides;   /* of the object around */
    struct json_index *known; /* of each side: its properties */
    struct spot at;           /* of the object around */
};

/* Whether the default of a place is valid there, together with those below it. The server asks only about the value as it is
 * written, and inside of the entries of a map not even that. */
static bool fits(struct crd_union *u, const struct json *schema)
{
    struct json value = json_dup(&u->scratch, json_get(schema, S("default")));
    struct schema *compiled;
    if (schema_compile(schema, &compiled, NULL) < 0)
        return false;
    schema_node root = schema_root(compiled);
    bool ok = schema_default(root, &u->scratch, &value) && schema_validate(root, (str){0}, &value, NULL);
    schema_free(compiled);
    return ok;
}

/* A side that does not declare the field, beside one that does. */
static void check_undeclared(struct crd_union *u, const struct fields *f, const struct crd_side *without,
                             const struct crd_side *with, const struct crd_place *place)
{
    bool fills = !json_is_null(json_get(with->schema, S("default")));
    if (is_open(without->schema, f->at))
        tell_sides(u, place, without->source, S("anything"), with->source, type_of(with->schema));
    else if (fills && !fits(u, with->schema))
        tell_sides(u, place, without->source, S("unknown"), with->source,
                   S("filled in by a default that does not fit"));
    else if (fills && f->at.is_shut)
        tell_sides(u, place, without->source, S("unknown"), with->source,
                   S("filled in by a default though its surroundings are restricted as a whole"));
}

/* The sides that declare the field, the oldest first; those of the others that object are told. */
static struct crd_sides declaring(struct crd_union *u, const struct fields *f, str field, const struct crd_place *place)
{
    const struct crd_sides *all = &f->sides;
    struct crd_sides with = {ARENA_ARRAY(&u->scratch, struct crd_side, all->n), 0};
    const struct json *stand_in = implied(u, f->at, field);
    for (size_t i = 0; i < all->n; i++) {
        const struct json_member *m = json_index_find(&f->known[i], field);
        const struct json *schema = m ? &m->val : stand_in;
        if (schema)
            with.p[with.n++] = (struct crd_side){all->p[i].source, schema};
    }
    for (size_t i = 0, k = 0; i < all->n && with.n < all->n; i++) {
        if (k < with.n && with.p[k].source == all->p[i].source)
            k++;
        else
            check_undeclared(u, f, &all->p[i], &with.p[with.n - 1], place);
    }
    return with;
}

static struct json unite_field(struct crd_union *u, const struct fields *f, str field)
{
    struct crd_place place = {f->at.place, CRD_FIELD, field};
    struct crd_sides with = declaring(u, f, field, &place);
    struct spot at = {
        .place = &place,
        .is_resource = json_true(json_get(with.p[with.n - 1].schema, S("x-kubernetes-embedded-resource"))),
        .is_metadata = f->at.is_resource && str_eq(field, S("metadata")),
        .is_shut = f->at.is_shut,
    };
    return unite(u, with, at);
}

static bool is_known_to_newer(const struct fields *f, size_t side, str field)
{
    for (size_t i = side + 1; i < f->sides.n; i++)
        if (json_index_find(&f->known[i], field))
            return true;
    return false;
}

/* The fields of all, those of the newest first. Null when nobody declares any. */
static struct json unite_fields(struct crd_union *u, const struct fields *f)
{
    struct json all = json_null();
    for (size_t i = f->sides.n; i-- > 0;) {
        const struct json *properties = f->known[i].obj;
        if (json_is_obj(properties) && all.type == JSON_NULL)
            all = json_obj_sized(u->arena, properties->n);
        json_each_member(properties, m)
        {
            if (!is_known_to_newer(f, i, json_key(m)))
                json_add(u->arena, &all, json_key(m), unite_field(u, f, json_key(m)));
        }
    }
    return all;
}

static struct json unite_properties(struct crd_union *u, struct crd_sides sides, struct spot at)
{
    struct fields f = {sides, ARENA_ARRAY(&u->scratch, struct json_index, sides.n), at};
    for (size_t i = 0; i < sides.n; i++)
        json_index_init(&f.known[i], json_get(sides.p[i].schema, S("properties")));
    struct json all = unite_fields(u, &f);
    for (size_t i = 0; i < sides.n; i++)
        json_index_done(&f.known[i]);
    return all;
}

/* ---- Items and entries ---- */

/* The sides that have a schema under this keyword. */
static struct crd_sides having(struct crd_union *u, struct crd_sides sides, str keyword)
{
    struct crd_sides with = {ARENA_ARRAY(&u->scratch, struct crd_side, sides.n), 0};
    for (size_t i = 0; i < sides.n; i++) {
        const struct json *schema = json_get(sides.p[i].schema, keyword);
        if (!json_is_null(schema))
            with.p[with.n++] = (struct crd_side){sides.p[i].source, schema};
    }
    return with;
}

/* All are schemas, or all say the same. */
static bool are_alike(struct crd_union *u, struct crd_sides with, const struct crd_place *place)
{
    for (size_t i = 1; i < with.n; i++) {
        const struct json *was = with.p[i - 1].schema, *now = with.p[i].schema;
        bool are_schemas = json_is_obj(was) && json_is_obj(now);
        if (are_schemas || json_equal(was, now))
            continue;
        crd_tell(u, place, NULL, with.p[i - 1].source, crd_shown(u, was), with.p[i].source, crd_shown(u, now));
        return false;
    }
    return true;
}

/* The first side that is not among those with the keyword, and is such that this matters. */
static bool objects(struct crd_union *u, struct crd_sides sides, struct crd_sides with, bool is_entry,
                    const struct crd_place *place)
{
    for (size_t i = 0, k = 0; i < sides.n; i++) {
        if (k < with.n && with.p[k].source == sides.p[i].source) {
            k++;
            continue;
        }
        if (is_entry && !keeps_unknown(sides.p[i].schema))
            continue;
        tell_sides(u, place, sides.p[i].source, S("anything"), with.p[0].source, type_of(with.p[0].schema));
        return true;
    }
    return false;
}

static struct json unite_below(struct crd_union *u, struct crd_sides sides, struct spot at, str keyword)
{
    bool is_entry = str_eq(keyword, S("additionalProperties"));
    struct crd_place place = {at.place, is_entry ? CRD_ENTRY : CRD_ITEM, {0}};
    struct crd_sides with = having(u, sides, keyword);
    if (with.n == 0 || objects(u, sides, with, is_entry, &place) || !are_alike(u, with, &place))
        return json_null();
    const struct json *newest = with.p[with.n - 1].schema;
    if (!json_is_obj(newest))
        return *newest;
    struct spot below = {
        .place = &place,
        .is_resource = json_true(json_get(newest, S("x-kubernetes-embedded-resource"))),
        .is_shut = at.is_shut,
    };
    return unite(u, with, below);
}

/* ---- Places ---- */

static void put(struct arena *a, struct json *schema, str keyword, struct json v)
{
    if (v.type != JSON_NULL)
        json_set(a, schema, keyword, v);
}

static struct json unite(struct crd_union *u, struct crd_sides sides, struct spot at)
{
    const struct json *newest = sides.p[sides.n - 1].schema;
    if (sides.n == 1)
        return *newest;
    for (size_t i = 1; i < sides.n; i++)
        if (!crd_wider(u, at.place, &sides.p[i - 1], &sides.p[i]))
            return *newest;
    for (size_t i = 0; i < sides.n; i++)
        at.is_shut = at.is_shut || crd_restricts_whole(sides.p[i].schema);
    struct json all = json_dup_top(u->arena, newest);
    put(u->arena, &all, S("properties"), unite_properties(u, sides, at));
    put(u->arena, &all, S("additionalProperties"), unite_below(u, sides, at, S("additionalProperties")));
    put(u->arena, &all, S("items"), unite_below(u, sides, at, S("items")));
    return all;
}

struct json crd_union_schema(struct crd_union *u, struct crd_sides sides)
{
    return unite(u, sides, (struct spot){.is_resource = true});
}

/* ==== One place of a schema ==== */

/* What may follow what at one place of a schema. The newer one may only widen: accept what the older one accepted, and
 * mean the same by it. */

enum rule {
    EQUAL,    /* the same, or absent in both */
    DROPS,    /* a restriction: the newer may leave it out, else the same */
    UPPER,    /* a bound from above: the newer may raise it or leave it out */
    LOWER,    /* a bound from below: the newer may lower it or leave it out */
    GROWS,    /* a list of what is allowed: the newer may add to it or leave it out */
    SHRINKS,  /* a list of what is demanded: the newer may take from it */
    OPENS,    /* off by default: the newer may switch it on */
    SAME_SET, /* a list whose order means nothing: the same members */
    FREE,     /* for people only: that of the newest */
    BESIDE,   /* judged together with the keyword it belongs to */
    PARTS,    /* schemas of the places below: the walk joins them, and keeps fields that only some have */
};

/* Every keyword of JSONSchemaProps; one that were forgotten would have to be equal. */
static const uint8_t rules[KW_COUNT] = {
    [KW_ID] = FREE,
    [KW_SCHEMA] = FREE,
    [KW_REF] = EQUAL, /* not allowed in v1, as are definitions, dependencies, patternProperties, additionalItems */
    [KW_DESCRIPTION] = FREE,
    [KW_TITLE] = FREE,
    [KW_EXAMPLE] = FREE,
    [KW_EXTERNAL_DOCS] = FREE,
    [KW_TYPE] = EQUAL, /* integer to number too: who reads integers cannot read 1.5 */
    [KW_FORMAT] = DROPS,
    [KW_NULLABLE] = OPENS,
    [KW_DEFAULT] = EQUAL, /* one more default changes what objects mean that do not say anything there */
    [KW_ENUM] = GROWS,
    [KW_MAXIMUM] = UPPER,
    [KW_EXCLUSIVE_MAXIMUM] = BESIDE,
    [KW_MINIMUM] = LOWER,
    [KW_EXCLUSIVE_MINIMUM] = BESIDE,
    [KW_MAX_LENGTH] = UPPER,
    [KW_MIN_LENGTH] = LOWER,
    [KW_MAX_ITEMS] = UPPER,
    [KW_MIN_ITEMS] = LOWER,
    [KW_MAX_PROPERTIES] = UPPER,
    [KW_MIN_PROPERTIES] = LOWER,
    [KW_PATTERN] = DROPS,
    [KW_MULTIPLE_OF] = DROPS,
    [KW_UNIQUE_ITEMS] = DROPS,
    [KW_REQUIRED] = SHRINKS, /* a field with a default is never missing, so it may become required */
    [KW_ALL_OF] = DROPS,     /* not compared any further: what is wider there is hard to see, for people too */
    [KW_ANY_OF] = DROPS,
    [KW_ONE_OF] = DROPS,
    [KW_NOT] = DROPS,
    [KW_PROPERTIES] = PARTS,
    [KW_ADDITIONAL_PROPERTIES] = PARTS,
    [KW_ITEMS] = PARTS,
    [KW_PATTERN_PROPERTIES] = EQUAL,
    [KW_DEPENDENCIES] = EQUAL,
    [KW_ADDITIONAL_ITEMS] = EQUAL,
    [KW_DEFINITIONS] = EQUAL,
    [KW_X_PRESERVE] = OPENS,
    [KW_X_EMBEDDED] = EQUAL,
    [KW_X_INT_OR_STRING] = EQUAL,
    [KW_X_LIST_MAP_KEYS] = SAME_SET, /* how lists are merged is known to all who apply */
    [KW_X_LIST_TYPE] = EQUAL,        /* absent is atomic */
    [KW_X_MAP_TYPE] = EQUAL,         /* absent is granular */
    [KW_X_VALIDATIONS] = SHRINKS,    /* compared by the rule itself; messages are for people */
};

/* What the absence of a keyword means, where that is a value, too; else NULL. */
static const char *absent(enum keyword k)
{
    return k == KW_X_LIST_TYPE ? "atomic" : k == KW_X_MAP_TYPE ? "granular" : NULL;
}

/* Two sides of one place. */
struct pair {
    struct crd_union *u;
    const struct crd_place *at;
    size_t older, newer;
    struct keywords was, now;
};

static bool is_given(const struct keywords *kw, enum keyword k)
{
    return keyword_counts(kw, k);
}

/* "maximum 5", or "no maximum". The type goes without its name. */
static str said(const struct pair *p, const struct keywords *kw, enum keyword k)
{
    struct arena *a = &p->u->scratch;
    if (k == KW_TYPE)
        return is_given(kw, k) ? keyword_text(kw, k) : S("any type");
    if (is_given(kw, k))
        return str_fmt(a, "%s %.*s", keyword_name(k), STR(crd_shown(p->u, kw->at[k])));
    if (absent(k))
        return str_fmt(a, "%s \"%s\"", keyword_name(k), absent(k));
    return str_fmt(a, "no %s", keyword_name(k));
}

static void differ(const struct pair *p, enum keyword k)
{
    crd_tell(p->u, p->at, NULL, p->older, said(p, &p->was, k), p->newer, said(p, &p->now, k));
}

/* ---- Values ---- */

static bool is_equal(const struct pair *p, enum keyword k)
{
    if (absent(k)) {
        str was = is_given(&p->was, k) ? keyword_text(&p->was, k) : str_of(absent(k));
        str now = is_given(&p->now, k) ? keyword_text(&p->now, k) : str_of(absent(k));
        return str_eq(was, now);
    }
    if (is_given(&p->was, k) != is_given(&p->now, k))
        return false;
    return !is_given(&p->was, k) || json_equal(p->was.at[k], p->now.at[k]);
}

static bool is_bound_wider(const struct pair *p, enum keyword k)
{
    if (!is_given(&p->now, k))
        return true;
    if (!is_given(&p->was, k))
        return false;
    int order = json_compare(p->now.at[k], p->was.at[k]);
    if (rules[k] == LOWER)
        order = -order;
    if (order || (k != KW_MAXIMUM && k != KW_MINIMUM))
        return order >= 0;
    enum keyword beside = k == KW_MAXIMUM ? KW_EXCLUSIVE_MAXIMUM : KW_EXCLUSIVE_MINIMUM;
    return keyword_true(&p->was, beside) || !keyword_true(&p->now, beside);
}

static void check_bound(const struct pair *p, enum keyword k)
{
    if (is_bound_wider(p, k))
        return;
    enum keyword beside = k == KW_MAXIMUM ? KW_EXCLUSIVE_MAXIMUM : KW_EXCLUSIVE_MINIMUM;
    bool by_side =
        (k == KW_MAXIMUM || k == KW_MINIMUM) && is_given(&p->was, k) && json_equal(p->was.at[k], p->now.at[k]);
    if (by_side)
        differ(p, beside);
    else
        differ(p, k);
}

/* ---- Lists ---- */

static int by_value(const void *l, const void *r)
{
    return json_compare(*(const struct json *const *)l, *(const struct json *const *)r);
}

struct values {
    const struct json **p;
    size_t n;
};

static struct values sorted(struct arena *a, const struct json *list)
{
    struct values v = {ARENA_ARRAY(a, const struct json *, json_len(list)), 0};
    json_each_item(list, it) v.p[v.n++] = it;
    if (v.n)
        qsort(v.p, v.n, sizeof *v.p, by_value);
    return v;
}

/* The first values of l that r has not, with commas; empty when r has them all. */
static str missing(struct crd_union *u, struct values l, struct values r)
{
    struct buf b = {.arena = &u->scratch};
    size_t found = 0;
    for (size_t i = 0, k = 0; i < l.n; i++) {
        while (k < r.n && json_compare(r.p[k], l.p[i]) < 0)
            k++;
        if (k < r.n && json_compare(r.p[k], l.p[i]) == 0)
            continue;
        if (found++ == 3) {
            buf_add_str(&b, S(", …"));
            break;
        }
        buf_fmt(&b, "%s%.*s", found > 1 ? ", " : "", STR(crd_shown(u, l.p[i])));
    }
    return buf_str(&b);
}

static void check_enum(const struct pair *p, enum keyword k)
{
    struct arena *a = &p->u->scratch;
    if (!is_given(&p->now, k))
        return;
    if (!is_given(&p->was, k)) {
        differ(p, k);
        return;
    }
    str gone = missing(p->u, sorted(a, p->was.at[k]), sorted(a, p->now.at[k]));
    if (gone.n)
        crd_tell(p->u, p->at, NULL, p->older, str_fmt(a, "%.*s allowed", STR(gone)), p->newer, S("not"));
}

static bool is_same_set(const struct pair *p, enum keyword k)
{
    struct arena *a = &p->u->scratch;
    struct values was = sorted(a, p->was.at[k]), now = sorted(a, p->now.at[k]);
    return missing(p->u, was, now).n == 0 && missing(p->u, now, was).n == 0;
}

/* ---- Demands ---- */

#define MAP_SCOPE __attribute__((cleanup(map_done)))

static bool has_default(const struct json_index *properties, str field)
{
    const struct json_member *m = json_index_find(properties, field);
    return m && !json_is_null(json_get(&m->val, S("default")));
}

/* A field may only be demanded if it always was, or is never missing. */
static void check_required(const struct pair *p)
{
    static char yes;
    const struct json *was = p->was.at[KW_REQUIRED], *now = p->now.at[KW_REQUIRED];
    if (json_len(now) == 0)
        return;
    struct map demanded MAP_SCOPE = {0};
    struct json_index old JSON_INDEX_SCOPE = {0}, new JSON_INDEX_SCOPE = {0};
    json_index_init(&old, p->was.at[KW_PROPERTIES]);
    json_index_init(&new, p->now.at[KW_PROPERTIES]);
    json_each_item(was, it)
    {
        if (!has_default(&old, json_text(it)))
            map_set(&demanded, json_text(it), &yes);
    }
    json_each_item(now, it)
    {
        str field = json_text(it);
        if (has_default(&new, field) || map_get(&demanded, field))
            continue;
        struct crd_place at = {p->at, CRD_FIELD, field};
        str before = json_index_find(&old, field) ? S("optional") : S("unknown");
        crd_tell(p->u, &at, NULL, p->older, before, p->newer, S("required"));
    }
}

/* What tells rules apart: the text, and whether it holds for new objects too. */
static str rule_key(struct crd_union *u, const struct json *rule)
{
    return str_fmt(&u->scratch, "%c%.*s", json_true(json_get(rule, S("optionalOldSelf"))) ? '?' : ' ',
                   STR(json_get_text(rule, S("rule"))));
}

static void check_rules(const struct pair *p)
{
    static char yes;
    struct map known MAP_SCOPE = {0};
    const struct json *was = p->was.at[KW_X_VALIDATIONS], *now = p->now.at[KW_X_VALIDATIONS];
    if (json_len(now) == 0)
        return;
    json_each_item(was, it) map_set(&known, rule_key(p->u, it), &yes);
    json_each_item(now, it)
    {
        if (map_get(&known, rule_key(p->u, it)))
            continue;
        str text = crd_shown(p->u, json_get(it, S("rule")));
        crd_tell(p->u, p->at, NULL, p->older, str_fmt(&p->u->scratch, "no rule %.*s", STR(text)), p->newer, S("added"));
    }
}

/* ---- The whole ---- */

static void check(const struct pair *p, enum keyword k)
{
    switch ((enum rule)rules[k]) {
    case EQUAL:
        if (!is_equal(p, k))
            differ(p, k);
        return;
    case DROPS:
        if (is_given(&p->now, k) && !is_equal(p, k))
            differ(p, k);
        return;
    case UPPER:
    case LOWER:
        check_bound(p, k);
        return;
    case GROWS:
        check_enum(p, k);
        return;
    case SHRINKS:
        k == KW_REQUIRED ? check_required(p) : check_rules(p);
        return;
    case OPENS:
        if (keyword_true(&p->was, k) && !keyword_true(&p->now, k))
            differ(p, k);
        return;
    case SAME_SET:
        if (!is_same_set(p, k))
            differ(p, k);
        return;
    case FREE:
    case BESIDE:
    case PARTS:
        return;
    }
}

bool crd_wider(struct crd_union *u, const struct crd_place *at, const struct crd_side *older,
               const struct crd_side *newer)
{
    struct pair p = {.u = u, .at = at, .older = older->source, .newer = newer->source};
    keywords_read(older->schema, &p.was);
    keywords_read(newer->schema, &p.now);
    if (!is_equal(&p, KW_TYPE)) {
        differ(&p, KW_TYPE);
        return false;
    }
    for (int k = 0; k < KW_COUNT; k++)
        check(&p, k);
    return true;
}

bool crd_restricts_whole(const struct json *schema)
{
    static const uint8_t whole[] = {KW_ALL_OF, KW_ANY_OF, KW_ONE_OF, KW_NOT, KW_ENUM, KW_MAX_PROPERTIES};
    struct keywords kw;
    keywords_read(schema, &kw);
    for (size_t i = 0; i < sizeof whole; i++)
        if (keyword_counts(&kw, whole[i]))
            return true;
    return false;
}
