/* SPDX-License-Identifier: Apache-2.0 */
/* The walk through the schemas of one version. All sides go down together, and at each place only those are asked that
 * have it:
 *
 *     1.0   spec { size, color }
 *     1.1   spec { size }            size: 1.0 ≤ 1.1 ≤ 1.2      color: 1.0 alone      zone: 1.2 alone
 *     1.2   spec { size, zone }
 *
 * A side that does not declare a field has nothing to say about it: the server prunes it there. But where a side keeps
 * unknown fields, or has entries of any name, a declaration by another would narrow what that side accepts. */
#include "package/crd_union_parts.h"
#include "schema/schema.h"

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
