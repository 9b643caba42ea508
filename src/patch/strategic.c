/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/strategic_parts.h"

#include "base/budget.h"

#include <strings.h>

#include "object/go_text.h"

static const str directive_patch = S_INIT("$patch"), directive_retain = S_INIT("$retainKeys");
static const str prefix_delete = S_INIT("$deleteFromPrimitiveList"), prefix_order = S_INIT("$setElementOrder");

static bool is_directive(str key)
{
    return key.n && key.p[0] == '$' &&
           (str_eq(key, directive_patch) || str_eq(key, directive_retain) || str_has_prefix(key, prefix_delete) ||
            str_has_prefix(key, prefix_order));
}

int smp_type_error(struct smp *s, const char *expected, const struct json *v)
{
    const char *got = json_is_null(v) ? "%!s(<nil>)" : go_type_name(v);
    return err_set(s->err, ERR_INTERNAL, "expected a %s, but received a %s", expected, got);
}

/* ---- What of a patch may be stored. ---- */

static bool needs_cleaning(const struct json *v)
{
    budget_charge(1 + json_len(v));
    json_each_item(v, it)
    {
        if (it->type >= JSON_ARR && needs_cleaning(it))
            return true;
    }
    json_each_member(v, m)
    {
        if (is_directive(json_key(m)) || json_is_null(&m->val) || (m->val.type >= JSON_ARR && needs_cleaning(&m->val)))
            return true;
    }
    return false;
}

static bool clean(struct smp *s, const struct json *v, bool drop_marked, struct json *ret)
{
    struct json kept, out = *v;
    if (drop_marked && json_get(v, directive_patch))
        return false;
    if (json_is_obj(v))
        out = json_obj_sized(s->arena, v->n);
    else if (json_is_arr(v))
        out = json_arr_sized(s->arena, v->n);
    json_each_member(v, m)
    {
        if (!is_directive(json_key(m)) && !json_is_null(&m->val) && clean(s, &m->val, drop_marked, &kept))
            json_add(s->arena, &out, json_key(m), kept);
    }
    json_each_item(v, it)
    {
        if (clean(s, it, drop_marked, &kept))
            json_push(s->arena, &out, kept);
    }
    *ret = out;
    return true;
}

bool smp_clean(struct smp *s, const struct json *v, bool drop_marked, struct json *ret)
{
    if (needs_cleaning(v))
        return clean(s, v, drop_marked, ret);
    *ret = *v;
    return true;
}

/* ---- Types. ---- */

/* The kind of Go type, for messages. */
static const char *kind_name(struct smp_type t)
{
    static const char *const names[] = {
        [SHAPE_STRING] = "string", [SHAPE_BOOL] = "bool",      [SHAPE_INT32] = "int32",
        [SHAPE_INT64] = "int64",   [SHAPE_DOUBLE] = "float64", [SHAPE_BYTES] = "slice",
    };
    if (t.card != SHAPE_ONE)
        return t.card == SHAPE_MAP ? "map" : "slice";
    return t.type <= SHAPE_BYTES ? names[t.type] : "struct";
}

static const char *struct_name(struct smp_type t)
{
    static const char *const names[] = {
        [SHAPE_TIME] = "Time",
        [SHAPE_MICRO_TIME] = "MicroTime",
        [SHAPE_QUANTITY] = "Quantity",
        [SHAPE_INT_OR_STRING] = "IntOrString",
        [SHAPE_RAW] = "JSON",
        [SHAPE_STRINGS] = "ExtraValue",
        [SHAPE_JSON_OR_BOOL] = "JSONSchemaPropsOrBool",
        [SHAPE_JSON_OR_ARRAY] = "JSONSchemaPropsOrArray",
        [SHAPE_JSON_OR_STRINGS] = "JSONSchemaPropsOrStringArray",
    };
    return t.type == SHAPE_RECORD ? t.record->name : names[t.type];
}

static const struct shape_field *find_folded(const struct shape *record, str key)
{
    const struct shape_field *f = shape_find(record, key);
    for (size_t i = 0; !f && i < record->n; i++) {
        const char *name = record->fields[i].name;
        if (strlen(name) == key.n && strncasecmp(name, key.p, key.n) == 0)
            f = &record->fields[i];
    }
    return f;
}

/* Needed only where a map or list of the patch meets one of the document. NULL: error is set. */
static const struct shape_field *look_up(struct smp *s, struct smp_type t, str key)
{
    if (strcmp(kind_name(t), "struct") != 0) {
        err_set(s->err, ERR_INTERNAL, "merging an object in json but data type is not struct, instead is: %s",
                kind_name(t));
        return NULL;
    }
    const struct shape_field *f = t.type == SHAPE_RECORD ? find_folded(t.record, key) : NULL;
    if (!f)
        err_set(s->err, ERR_INTERNAL, "unable to find api field in struct %s for the json field \"%.*s\"",
                struct_name(t), STR(key));
    return f;
}

static int look_up_list(struct smp *s, struct smp_type t, str key, struct smp_list *ret)
{
    const struct shape_field *f = look_up(s, t, key);
    if (!f)
        return ERR_INTERNAL;
    if (f->card != SHAPE_LIST)
        return err_set(s->err, ERR_INTERNAL, "expected slice or array type, but got: %s", kind_name(t));
    *ret = (struct smp_list){
        .item = {f->type, SHAPE_ONE, f->record},
        .merge = f->smp & SHAPE_SMP_MERGE,
        .key = str_of(f->smp_key),
    };
    return 0;
}

/* ---- Maps. ---- */

/* A map under change. Members of the document keep their place until the end, so that an index of them stays good. */
struct merging {
    struct smp *smp;
    struct smp_type type;
    const struct json *doc, *patch;
    struct json_index known; /* of doc */
    struct json_index asked; /* of patch */
    struct json out;         /* members of doc, then new ones */
    struct map ordered;      /* lists put in order that doc does not have: positions in out, from one */
    bool *gone;              /* members of doc that are dropped */
    bool *done;              /* members of patch that need no second look */
};

/* The value of a member as it is by now, or NULL. */
static struct json *current(struct merging *m, str key)
{
    const struct json_member *was = json_index_find(&m->known, key);
    if (was)
        return m->gone[was - m->doc->members] ? NULL : &m->out.members[was - m->doc->members].val;
    size_t at = (size_t)(uintptr_t)map_get(&m->ordered, key); /* nothing else is added before anybody asks */
    return at ? &m->out.members[at - 1].val : NULL;
}

static void put(struct merging *m, str key, struct json v)
{
    const struct json_member *was = json_index_find(&m->known, key);
    if (was) {
        m->out.members[was - m->doc->members].val = v;
        m->gone[was - m->doc->members] = false;
    } else {
        json_add(m->smp->arena, &m->out, key, v);
    }
}

static void drop(struct merging *m, str key)
{
    const struct json_member *was = json_index_find(&m->known, key);
    if (was)
        m->gone[was - m->doc->members] = true;
}

static struct json finish(struct merging *m)
{
    struct json out = json_obj_sized(m->smp->arena, m->out.n);
    for (uint32_t i = 0; i < m->out.n; i++) {
        if (i >= m->doc->n || !m->gone[i])
            json_add(m->smp->arena, &out, json_key(&m->out.members[i]), m->out.members[i].val);
    }
    return out;
}

static int bad_patch(struct smp *s, const struct json *directive, const struct json *map)
{
    struct buf b = {.arena = s->arena};
    buf_add_str(&b, S("unknown patch type: "));
    go_text(&b, directive);
    buf_add_str(&b, S(" in map: "));
    go_text(&b, map);
    return err_set(s->err, ERR_INTERNAL, "%.*s", STR(buf_str(&b)));
}

static int retain_keys(struct merging *m, const struct json *keys)
{
    static const char text[] = "invalid patch format of retainKeys";
    if (!json_is_arr(keys))
        return err_set(m->smp->err, ERR_BAD_REQUEST, text);
    struct json kept = json_obj_sized(m->smp->arena, keys->n);
    json_each_item(keys, k)
    {
        if (json_is_str(k))
            json_add(m->smp->arena, &kept, json_text(k), json_null());
    }
    struct json_index known JSON_INDEX_SCOPE;
    json_index_init(&known, &kept);
    json_each_member(m->patch, p)
    {
        if (!json_is_null(&p->val) && !is_directive(json_key(p)) && !json_index_find(&known, json_key(p)))
            return err_set(m->smp->err, ERR_BAD_REQUEST, text);
    }
    for (uint32_t i = 0; i < m->doc->n; i++)
        m->gone[i] = !json_index_find(&known, json_key(&m->doc->members[i]));
    return 0;
}

/* The name behind "$directive/". */
static int directive_target(struct smp *s, str key, str prefix, const char *text, str *ret)
{
    str before;
    if (!str_cut(key, '/', &before, ret) || !str_eq(before, prefix))
        return err_set(s->err, ERR_BAD_REQUEST, "%s", text);
    return 0;
}

static int order_list(struct merging *m, const struct json_member *directive)
{
    struct smp *s = m->smp;
    struct smp_list list;
    str key;
    if (!json_is_arr(&directive->val))
        return smp_type_error(s, "[]interface {}", &directive->val);
    int rc =
        directive_target(s, json_key(directive), prefix_order, "invalid patch format of setElementOrder list", &key);
    if (rc < 0)
        return rc;
    const struct json *doc = current(m, key);
    const struct json_member *patch = json_index_find(&m->asked, key);
    if (doc && !json_is_arr(doc))
        return smp_type_error(s, "[]interface {}", doc);
    if (patch && !json_is_arr(&patch->val))
        return smp_type_error(s, "[]interface {}", &patch->val);
    rc = look_up_list(s, m->type, key, &list);
    if (rc < 0 || (!doc && !patch))
        return rc;
    struct json merged = smp_order_list(s, &list, doc, patch ? &patch->val : NULL, &directive->val, &rc);
    if (rc < 0)
        return rc;
    put(m, key, merged);
    if (!doc)
        map_set(&m->ordered, key, (void *)(uintptr_t)m->out.n);
    if (patch)
        m->done[patch - m->patch->members] = true;
    return 0;
}

static void take(struct merging *m, str key, const struct json *v)
{
    struct json kept;
    if (smp_clean(m->smp, v, true, &kept))
        put(m, key, kept);
    else
        drop(m, key);
}

static int merge_member(struct merging *m, const struct json_member *p)
{
    budget_charge(5);
    struct smp *s = m->smp;
    str key = json_key(p);
    bool is_deletion = str_has_prefix(key, prefix_delete);
    int rc = is_deletion
                 ? directive_target(s, json_key(p), prefix_delete, "invalid patch format of primitive list", &key)
                 : 0;
    if (rc < 0)
        return rc;
    if (json_is_null(&p->val)) {
        drop(m, key);
        return 0;
    }
    struct json *doc = is_deletion || json_index_find(&m->known, key) ? current(m, key) : NULL;
    if (!doc || doc->type != p->val.type || doc->type < JSON_ARR) {
        if (!is_deletion)
            take(m, key, &p->val);
        return 0;
    }
    if (json_is_arr(doc)) {
        struct smp_list list;
        rc = look_up_list(s, m->type, key, &list);
        list.is_deletion = is_deletion;
        struct json merged = rc < 0 ? json_null() : smp_merge_list(s, &list, doc, &p->val, &rc);
        if (rc == 0)
            *doc = merged;
        return rc;
    }
    const struct shape_field *f = look_up(s, m->type, key);
    if (!f)
        return ERR_INTERNAL;
    struct smp_type child = {f->type, f->card, f->record};
    struct json merged;
    if (f->smp & SHAPE_SMP_REPLACE)
        smp_clean(s, &p->val, false, &merged);
    else
        merged = smp_merge_map(s, child, doc, &p->val, &rc);
    if (rc == 0)
        *doc = merged;
    return rc;
}

enum step { STEP_ORDER, STEP_DELETE, STEP_REST };

static enum step step_of(str key)
{
    return str_has_prefix(key, prefix_order)    ? STEP_ORDER
           : str_has_prefix(key, prefix_delete) ? STEP_DELETE
                                                : STEP_REST;
}

/* Directives first: they decide about other members of the patch. */
static int merge_members(struct merging *m)
{
    const struct json *retain = json_get(m->patch, directive_retain);
    int rc = retain ? retain_keys(m, retain) : 0;
    for (enum step step = STEP_ORDER; step <= STEP_REST; step++) {
        json_each_member(m->patch, p)
        {
            bool skip = m->done[p - m->patch->members] || str_eq(json_key(p), directive_retain);
            if (rc == 0 && !skip && step_of(json_key(p)) == step)
                rc = step == STEP_ORDER ? order_list(m, p) : merge_member(m, p);
        }
    }
    return rc;
}

struct json smp_merge_map(struct smp *s, struct smp_type t, const struct json *doc, const struct json *patch, int *rc)
{
    const struct json *directive = json_get(patch, directive_patch);
    struct json out = json_obj();
    if (directive && str_eq(json_text(directive), S("replace")))
        smp_clean(s, patch, false, &out);
    else if (directive && !str_eq(json_text(directive), S("delete")))
        *rc = bad_patch(s, directive, patch);
    if (directive)
        return out;
    s->members += doc->n;
    if (s->members > SMP_MAX_MEMBERS) {
        *rc = err_set(s->err, ERR_TOO_LARGE, "the patch merges more than %d fields", SMP_MAX_MEMBERS);
        return json_null();
    }
    struct merging m = {.smp = s, .type = t, .doc = doc, .patch = patch, .out = json_dup_top(s->arena, doc)};
    m.gone = arena_zalloc(s->arena, doc->n + 1);
    m.done = arena_zalloc(s->arena, patch->n + 1);
    json_index_init(&m.known, doc);
    json_index_init(&m.asked, patch);
    *rc = merge_members(&m);
    json_index_done(&m.known);
    json_index_done(&m.asked);
    map_done(&m.ordered);
    return *rc < 0 ? json_null() : finish(&m);
}

int strategic_patch(struct arena *a, const struct shape *shape, const struct json *doc, const struct json *patch,
                    struct json *ret, struct err *err)
{
    struct smp s = {.arena = a, .err = err};
    int rc = 0;
    if (!shape)
        return err_set(err, ERR_BAD_REQUEST, "strategic merge patch format is not supported");
    if (!json_is_obj(doc) || !json_is_obj(patch))
        return err_set(err, ERR_BAD_REQUEST, "invalid JSON document");
    struct json out = smp_merge_map(&s, (struct smp_type){SHAPE_RECORD, SHAPE_ONE, shape}, doc, patch, &rc);
    if (rc == 0)
        *ret = out;
    return rc;
}
