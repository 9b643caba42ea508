/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/strategic.h"

#include "base/budget.h"
#include "base/map.h"
#include "object/go_text.h"

#include <stdlib.h>
#include <strings.h>

/* The type of a field: a value, or a list or map of values. */
struct smp_type {
    uint8_t type, card; /* enum shape_type, enum shape_card */
    const struct shape *record;
};

enum {
    SMP_MAX_MEMBERS = 1 << 20
}; /* of maps merged into; more only where a patch names the same items again and again */

struct smp {
    struct arena *arena;
    struct err *err;
    size_t members; /* of maps merged into so far */
};

/* How a list is merged. */
struct smp_list {
    struct smp_type item;
    bool merge;       /* else the patch replaces it */
    bool is_deletion; /* the patch lists scalars to remove */
    str key;          /* of items that are maps; empty: none */
};

static struct json smp_merge_map(struct smp *s, struct smp_type t, const struct json *doc, const struct json *patch,
                                 int *rc);
static struct json smp_merge_list(struct smp *s, const struct smp_list *list, const struct json *doc,
                                  const struct json *patch, int *rc);
static struct json smp_order_list(struct smp *s, const struct smp_list *list, const struct json *doc,
                                  const struct json *patch, const struct json *order, int *rc);

static const str directive_patch = S_INIT("$patch"), directive_retain = S_INIT("$retainKeys");
static const str prefix_delete = S_INIT("$deleteFromPrimitiveList"), prefix_order = S_INIT("$setElementOrder");

static bool is_directive(str key)
{
    return key.n && key.p[0] == '$' &&
           (str_eq(key, directive_patch) || str_eq(key, directive_retain) || str_has_prefix(key, prefix_delete) ||
            str_has_prefix(key, prefix_order));
}

/* "expected a X, but received a Y" */
static int smp_type_error(struct smp *s, const char *expected, const struct json *v)
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

/* v as it may be stored: without directives and nulls in maps. With drop_marked, maps with $patch are dropped, too:
 * false when v itself is one. */
static bool smp_clean(struct smp *s, const struct json *v, bool drop_marked, struct json *ret)
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
        struct smp_list list = {0};
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

/* strategic.c */
static struct json smp_merge_map(struct smp *s, struct smp_type t, const struct json *doc, const struct json *patch,
                                 int *rc)
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

/* Lists that a strategic merge patch merges: by a key of their maps, or as sets of scalars; and the order that
 * results. */

/* ---- Errors. ---- */

static int no_key(struct smp *s, const struct json *item, str key)
{
    struct buf b = {.arena = s->arena};
    go_text(&b, item);
    return err_set(s->err, ERR_INTERNAL, "map: %.*s does not contain declared merge key: %.*s", STR(buf_str(&b)),
                   STR(key));
}

static int not_identical(struct smp *s, const struct json *x, const struct json *y)
{
    static const struct json none = {.type = JSON_ARR};
    struct buf b = {.arena = s->arena};
    buf_add_char(&b, '[');
    go_text(&b, x ? x : &none);
    buf_add_char(&b, ' ');
    go_text(&b, y ? y : &none);
    buf_add_char(&b, ']');
    return err_set(s->err, ERR_INTERNAL, "list element types are not identical: %.*s", STR(buf_str(&b)));
}

/* All items of both lists have one type, which is not a list. */
static int check_items(struct smp *s, const struct json *x, const struct json *y, bool *ret_maps)
{
    const struct json *first = NULL, *lists[] = {x, y};
    for (size_t l = 0; l < 2; l++) {
        json_each_item(lists[l], it)
        {
            if (!first && json_is_arr(it))
                return err_set(s->err, ERR_INVALID, "lists of lists are not supported");
            first = first ? first : it;
            if (json_is_null(it) || strcmp(go_type_name(first), go_type_name(it)) != 0)
                return not_identical(s, x, y);
        }
    }
    if (!first)
        return err_set(s->err, ERR_INTERNAL, "no elements in any of the given slices");
    *ret_maps = json_is_obj(first);
    return 0;
}

/* ---- Items and their identity. ---- */

struct entry {
    struct json value;
    str id;         /* of the scalar, or of the key's value */
    ptrdiff_t rank; /* while sorting: odd for what has a position, even for what goes in front of one */
};

typedef VEC(struct entry) entries;

static str id_of(struct arena *a, const struct json *v)
{
    struct buf b = {.arena = a};
    buf_add_char(&b, (char)('0' + json_type(v))); /* 1 and "1" differ, and for Go so do 1 and 1.0 */
    if (json_is_str(v))
        buf_add_str(&b, json_text(v));
    else
        json_encode(&b, v, JSON_SORTED);
    return buf_str(&b);
}

static int add_entry(struct smp *s, entries *to, const struct json *item, str key)
{
    if (!budget_charge(8))
        return ERR_TOO_LARGE;
    const struct json *v = item;
    if (key.n) {
        if (!json_is_obj(item))
            return smp_type_error(s, "map[string]interface {}", item);
        v = json_get(item, key);
        if (!v)
            return no_key(s, item, key);
    }
    *vec_push(s->arena, to) = (struct entry){.value = *item, .id = id_of(s->arena, v)};
    return 0;
}

static int add_all(struct smp *s, entries *to, const struct json *list, str key)
{
    int rc = 0;
    json_each_item(list, it) rc = rc ? rc : add_entry(s, to, it, key);
    return rc;
}

/* The first position of each identity, counted from one. */
static void index_entries(struct map *ret, const entries *list)
{
    *ret = (struct map){0};
    for (size_t i = 0; i < list->n; i++) {
        if (!map_get(ret, list->p[i].id))
            map_set(ret, list->p[i].id, (void *)(uintptr_t)(i + 1));
    }
}

static ptrdiff_t position(const struct map *index, str id)
{
    return (ptrdiff_t)(uintptr_t)map_get(index, id) - 1;
}

#define MAP_SCOPE __attribute__((cleanup(map_done)))

/* ---- Order. ---- */

static int by_rank(const void *x, const void *y)
{
    const struct entry *const *a = x, *const *b = y;
    if ((*a)->rank != (*b)->rank)
        return (*a)->rank < (*b)->rank ? -1 : 1;
    int as_they_came = *a < *b ? -1 : *a > *b;
    return (*a)->rank % 2 ? as_they_came : -as_they_came;
}

/* Sorts by the position in order. What is not there moves in front of all that came before it, and what comes later may
 * still overtake it: so does Go's stable sort (of up to 20 items), for which an unknown item is less than any other. */
static void sort_by(struct smp *s, entries *list, const struct map *order)
{
    size_t n = list->n;
    ptrdiff_t lowest = PTRDIFF_MAX - 1;
    const struct entry **sorted = arena_alloc(s->arena, arena_array_size(n + 1, sizeof *sorted));
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t at = position(order, list->p[i].id);
        if (at >= 0 && at * 2 < lowest)
            lowest = at * 2;
        list->p[i].rank = at >= 0 ? at * 2 + 1 : lowest;
        sorted[i] = &list->p[i];
    }
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, by_rank);
    struct entry *out = arena_alloc(s->arena, arena_array_size(n + 1, sizeof *out));
    for (size_t i = 0; i < n; i++)
        out[i] = *sorted[i];
    list->p = out;
}

/* Items that `wanted` orders keep its order; the others keep the order of the document at their relative positions,
 * as far as possible: in front of the first wanted item that used to follow them, else at the end. */
static struct json arrange(struct smp *s, const entries *merged, const entries *wanted, const entries *doc)
{
    struct map by_wanted MAP_SCOPE, by_doc MAP_SCOPE;
    entries ours = {0}, theirs = {0};
    index_entries(&by_wanted, wanted);
    index_entries(&by_doc, doc);
    vec_each(merged, e)
    {
        if (position(&by_wanted, e->id) >= 0)
            *vec_push(s->arena, &ours) = *e;
        else
            *vec_push(s->arena, &theirs) = *e;
    }
    sort_by(s, &ours, &by_wanted);
    sort_by(s, &theirs, &by_doc);
    struct json out = json_arr_sized(s->arena, merged->n);
    size_t i = 0, j = 0;
    while (i < theirs.n || j < ours.n) {
        ptrdiff_t left = i < theirs.n ? position(&by_doc, theirs.p[i].id) : -1;
        ptrdiff_t right = j < ours.n ? position(&by_doc, ours.p[j].id) : -1;
        bool first = j == ours.n || (i < theirs.n && left >= 0 && right >= 0 && left < right);
        json_push(s->arena, &out, first ? theirs.p[i++].value : ours.p[j++].value);
    }
    return out;
}

/* ---- Sets of scalars. ---- */

static void add_missing(struct smp *s, entries *to, struct map *known, const entries *from)
{
    vec_each(from, e)
    {
        if (!map_get(known, e->id)) {
            map_set(known, e->id, e);
            *vec_push(s->arena, to) = *e;
        }
    }
}

static struct json merge_scalars(struct smp *s, const struct json *doc, const struct json *patch, bool is_deletion)
{
    struct map known MAP_SCOPE = {0};
    entries ours = {0}, theirs = {0}, merged = {0};
    add_all(s, &theirs, doc, (str){0});
    add_all(s, &ours, patch, (str){0});
    if (is_deletion) {
        struct json out = json_arr_sized(s->arena, doc->n);
        index_entries(&known, &ours);
        vec_each(&theirs, e)
        {
            if (position(&known, e->id) < 0)
                json_push(s->arena, &out, e->value);
        }
        return out;
    }
    add_missing(s, &merged, &known, &theirs);
    add_missing(s, &merged, &known, &ours);
    return arrange(s, &merged, &ours, &theirs);
}

/* ---- Lists of maps. ---- */

static int bad_directive(struct smp *s, const struct json *directive, const struct json *item)
{
    struct buf b = {.arena = s->arena};
    if (str_eq(json_text(directive), S("merge")))
        return err_set(s->err, ERR_INTERNAL, "merging lists cannot yet be specified in the patch");
    go_text(&b, directive);
    buf_add_str(&b, S(" in map: "));
    go_text(&b, item);
    return err_set(s->err, ERR_INTERNAL, "unknown patch type: %.*s", STR(buf_str(&b)));
}

/* Sorts the patch into items to merge and keys to delete. */
static int read_patch(struct smp *s, const struct smp_list *list, const struct json *patch, entries *ret_plain,
                      struct map *ret_deleted, bool *ret_replace)
{
    struct json plain = json_arr_sized(s->arena, patch->n);
    json_each_item(patch, it)
    {
        const struct json *directive = json_get(it, S("$patch")), *v = json_get(it, list->key);
        if (!directive)
            json_push(s->arena, &plain, *it);
        else if (str_eq(json_text(directive), S("replace")))
            *ret_replace = true;
        else if (!str_eq(json_text(directive), S("delete")))
            return bad_directive(s, directive, it);
        else if (!v)
            return no_key(s, it, list->key);
        else
            map_set(ret_deleted, id_of(s->arena, v), ret_deleted);
    }
    return add_all(s, ret_plain, &plain, list->key);
}

/* Lays the items of the patch over those of the document with the same key; new ones go to the end. */
static int lay_over(struct smp *s, const struct smp_list *list, entries *merged, const entries *plain)
{
    struct map known MAP_SCOPE;
    int rc = 0;
    index_entries(&known, merged);
    vec_each(plain, e)
    {
        ptrdiff_t at = position(&known, e->id);
        struct json v;
        if (at >= 0 && merged->p) {
            v = smp_merge_map(s, list->item, &merged->p[at].value, &e->value, &rc);
            if (rc < 0)
                return rc;
            merged->p[at].value = v;
        } else {
            smp_clean(s, &e->value, false, &v);
            *vec_push(s->arena, merged) = (struct entry){.value = v, .id = e->id};
            map_set(&known, e->id, (void *)(uintptr_t)merged->n);
        }
    }
    return 0;
}

static struct json replacement(struct smp *s, const entries *plain)
{
    struct json out = json_arr_sized(s->arena, plain->n), v;
    vec_each(plain, e)
    {
        smp_clean(s, &e->value, false, &v);
        json_push(s->arena, &out, v);
    }
    return out;
}

/* *ret_order: the order of the document, for those who arrange the result again. Items that the patch adds count as
 * part of it as far as they fill the gaps that it tore; an accident of Go's slices that clients have learnt to
 * expect. */
static struct json merge_maps(struct smp *s, const struct smp_list *list, const struct json *doc,
                              const struct json *patch, entries *ret_order, int *rc)
{
    struct map deleted MAP_SCOPE = {0};
    entries plain = {0}, theirs = {0}, merged = {0}, kept = {0};
    bool replace = false;
    *rc = read_patch(s, list, patch, &plain, &deleted, &replace);
    if (*rc == 0)
        *rc = add_all(s, &theirs, replace ? NULL : doc, list->key);
    if (*rc < 0)
        return json_null();
    vec_each(&theirs, e)
    {
        if (!map_get(&deleted, e->id)) {
            *vec_push(s->arena, &merged) = *e;
            *vec_push(s->arena, &kept) = *e;
        }
    }
    if (replace)
        return replacement(s, &plain);
    *rc = lay_over(s, list, &merged, &plain);
    if (*rc < 0)
        return json_null();
    *ret_order = kept;
    for (size_t i = kept.n; i < merged.n && i < theirs.n; i++)
        *vec_push(s->arena, ret_order) = merged.p[i];
    return arrange(s, &merged, &plain, &kept);
}

/* ---- Both. ---- */

static struct json merge_list(struct smp *s, const struct smp_list *list, const struct json *doc,
                              const struct json *patch, entries *ret_order, int *rc)
{
    bool maps = false;
    struct json out;
    if (!list->merge && !list->is_deletion) {
        smp_clean(s, patch, false, &out);
        *rc = add_all(s, ret_order, doc, list->key);
        return out;
    }
    if (doc->n == 0 && patch->n == 0)
        return *doc;
    *rc = check_items(s, doc, patch, &maps);
    if (*rc < 0)
        return json_null();
    if (!maps) {
        add_all(s, ret_order, doc, (str){0});
        return merge_scalars(s, doc, patch, list->is_deletion);
    }
    if (list->key.n == 0) {
        *rc = err_set(s->err, ERR_INTERNAL, "cannot merge lists without merge key for %s",
                      list->item.type == SHAPE_RECORD ? "struct" : "string");
        return json_null();
    }
    return merge_maps(s, list, doc, patch, ret_order, rc);
}

static struct json smp_merge_list(struct smp *s, const struct smp_list *list, const struct json *doc,
                                  const struct json *patch, int *rc)
{
    entries order = {0};
    struct smp_list plain = *list;
    if (!list->merge)
        plain.key = (str){0};
    return merge_list(s, &plain, doc, patch, &order, rc);
}

/* What identifies an item of an ordered list; NULL: error is set. */
static const struct json *ordered_by(struct smp *s, const struct smp_list *list, const struct json *item)
{
    if (list->key.n == 0)
        return item;
    if (!json_is_obj(item)) {
        smp_type_error(s, "map[string]interface {}", item);
        return NULL;
    }
    const struct json *v = json_get(item, list->key);
    if (!v)
        no_key(s, item, list->key);
    return v;
}

static int order_mismatch(struct smp *s, const struct json *patch, const struct json *order)
{
    struct buf b = {.arena = s->arena};
    buf_add_str(&b, S("The order in patch list:\n"));
    go_text(&b, patch);
    buf_add_str(&b, S("\n doesn't match $setElementOrder list:\n"));
    go_text(&b, order);
    return err_set(s->err, ERR_INTERNAL, "%.*s\n", STR(buf_str(&b)));
}

/* The items of the patch must come in the order that it asks for, and all of them be named there. */
static int check_order(struct smp *s, const struct smp_list *list, const struct json *patch, const struct json *order)
{
    size_t j = 0;
    if (!patch || patch->n == 0 || order->n == 0)
        return 0;
    json_each_item(patch, it)
    {
        const struct json *directive = list->key.n ? json_get(it, S("$patch")) : NULL;
        if (directive && str_eq(json_text(directive), S("delete")))
            continue;
        bool found = directive != NULL;
        if (found && j == order->n)
            return order_mismatch(s, patch, order);
        const struct json *x = !found && j < order->n ? ordered_by(s, list, it) : NULL;
        while (!found && j < order->n) {
            const struct json *y = x ? ordered_by(s, list, &order->items[j++]) : NULL;
            if (!y)
                return ERR_INTERNAL;
            found = json_equal(x, y);
        }
        if (!found)
            return order_mismatch(s, patch, order);
    }
    return 0;
}

/* Merges and then puts in the order that the patch asks for. doc and patch may be NULL, but not both. */
static struct json smp_order_list(struct smp *s, const struct smp_list *list, const struct json *doc,
                                  const struct json *patch, const struct json *order, int *rc)
{
    struct json now;
    entries merged = {0}, wanted = {0}, theirs = {0};
    bool maps = false;
    *rc = check_order(s, list, patch, order);
    if (*rc < 0)
        return json_null();
    if (doc && patch) {
        now = merge_list(s, list, doc, patch, &theirs, rc);
    } else {
        now = doc ? *doc : json_arr();
        if (patch)
            smp_clean(s, patch, true, &now);
        *rc = add_all(s, &theirs, doc, list->key);
    }
    if (*rc == 0)
        *rc = check_items(s, doc, patch, &maps);
    if (*rc == 0)
        *rc = add_all(s, &merged, &now, list->key);
    if (*rc == 0)
        *rc = add_all(s, &wanted, order, list->key);
    return *rc < 0 ? json_null() : arrange(s, &merged, &wanted, &theirs);
}
