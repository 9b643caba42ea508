/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/map.h"
#include "patch/apply_internal.h"

#include <stdlib.h>

/* metadata.managedFields: in, out, and in order. */

const struct json *managed_of(const struct json *object)
{
    return json_get(json_get(object, S("metadata")), S("managedFields"));
}

/* ---- Identity. ---- */

static void id_part(struct buf *b, const char *name, str text)
{
    if (text.n == 0)
        return;
    buf_fmt(b, b->n > 1 ? ",\"%s\":" : "\"%s\":", name);
    json_encode_str(b, text);
}

static str entry_id(struct arena *a, const struct managed_entry *e)
{
    struct buf b = {.arena = a};
    buf_add_char(&b, '{');
    id_part(&b, "manager", e->manager);
    id_part(&b, "operation", e->applied ? S("Apply") : S("Update"));
    if (!e->applied)
        id_part(&b, "apiVersion", e->api_version);
    id_part(&b, "subresource", e->subresource);
    buf_add_char(&b, '}');
    return buf_str(&b);
}

str managed_id(struct arena *a, const struct managed_write *w, bool applied)
{
    struct managed_entry e = {
        .manager = w->manager.n ? w->manager : S("unknown"),
        .api_version = w->api_version,
        .subresource = w->subresource,
        .applied = applied,
    };
    return entry_id(a, &e);
}

struct managed_entry *managed_find(const struct managed *m, str id)
{
    for (size_t i = 0; i < m->list.n; i++) {
        if (str_eq(m->list.p[i].id, id))
            return &m->list.p[i];
    }
    return NULL;
}

/* ---- In. ---- */

static int decode_entry(struct arena *a, const struct json *v, size_t i, struct managed_entry *ret, struct err *err)
{
    str operation = json_get_text(v, S("operation")), type = json_get_text(v, S("fieldsType"));
    *ret = (struct managed_entry){
        .manager = json_get_text(v, S("manager")),
        .api_version = json_get_text(v, S("apiVersion")),
        .subresource = json_get_text(v, S("subresource")),
        .time = json_get_text(v, S("time")),
        .applied = str_eq(operation, S("Apply")),
        .fields = json_get(v, S("fieldsV1")),
    };
    if (!ret->applied && !str_eq(operation, S("Update")))
        return err_set(err, ERR_INTERNAL, "operation must be `Apply` or `Update`");
    if (ret->api_version.n == 0)
        return err_set(err, ERR_INTERNAL, "apiVersion must not be empty");
    if (type.n == 0)
        return err_set(err, ERR_INTERNAL, "missing fieldsType in managed fields entry %zu", i);
    if (!str_eq(type, S("FieldsV1")))
        return err_set(err, ERR_INTERNAL, "invalid fieldsType \"%.*s\" in managed fields entry %zu", STR(type), i);
    ret->id = entry_id(a, ret);
    if (fieldset_parse(a, ret->fields, &ret->set, err) < 0) {
        err_wrap(err, "error decoding set");
        err->code = ERR_INTERNAL;
        return ERR_INTERNAL;
    }
    if (!fieldset_is_format(ret->fields, ret->set))
        ret->fields = NULL;
    return 0;
}

int managed_decode(struct arena *a, const struct json *entries, struct managed *ret, struct err *err)
{
    struct managed m = {.arena = a};
    struct map known = {0};
    struct err ignored;
    int rc = 0;
    json_each_item(entries, v)
    {
        struct managed_entry e = {0};
        rc = rc ? rc : decode_entry(a, v, (size_t)(v - entries->items), &e, err ? err : &ignored);
        if (rc < 0)
            break;
        size_t at = (size_t)(uintptr_t)map_get(&known, e.id); /* one more than the position; 0: new */
        if (at == 0) {
            *vec_push(a, &m.list) = e;
            map_set(&known, e.id, (void *)(uintptr_t)m.list.n);
        } else {
            m.list.p[at - 1] = e; /* the last one counts */
        }
    }
    map_done(&known);
    if (rc == 0)
        *ret = m;
    return rc;
}

/* ---- Out. ---- */

static int64_t seconds_of(str time)
{
    int64_t seconds;
    uint32_t nanos;
    return time.n && time_parse(time, &seconds, &nanos) ? seconds : 0;
}

static int entry_order(const void *x, const void *y)
{
    const struct managed_entry *const *pa = x, *const *pb = y;
    const struct managed_entry *a = *pa, *b = *pb;
    if (a->applied != b->applied)
        return a->applied ? -1 : 1;
    int64_t ta = seconds_of(a->time), tb = seconds_of(b->time);
    if (ta != tb)
        return ta < tb ? -1 : 1;
    int c = str_cmp(a->manager, b->manager);
    c = c ? c : str_cmp(a->api_version, b->api_version);
    return c ? c : str_cmp(a->subresource, b->subresource);
}

static struct json encode_entry(struct arena *a, const struct managed_entry *e)
{
    struct json fields = e->fields ? *e->fields : fieldset_format(a, e->set);
    return json_build(
        a,
        "{manager?: %.*s, operation: %s, apiVersion?: %.*s, time?: %.*s, fieldsType: 'FieldsV1', fieldsV1: %p, "
        "subresource?: %.*s}",
        STR(e->manager), e->applied ? "Apply" : "Update", STR(e->api_version), STR(e->time), &fields,
        STR(e->subresource));
}

struct json managed_encode(const struct managed *m)
{
    struct arena *a = m->arena;
    size_t n = m->list.n;
    if (n == 0)
        return json_null();
    const struct managed_entry **order = arena_alloc(a, arena_array_size(n, sizeof *order));
    for (size_t i = 0; i < n; i++)
        order[i] = &m->list.p[i];
    qsort(order, n, sizeof *order, entry_order);
    struct json list = json_arr_sized(a, n);
    for (size_t i = 0; i < n; i++)
        json_push(a, &list, encode_entry(a, order[i]));
    return list;
}

struct json managed_attach(struct arena *a, const struct json *object, const struct managed *m)
{
    struct json list = managed_encode(m);
    const struct json *metadata = json_get(object, S("metadata"));
    if (json_is_null(&list) && !managed_of(object))
        return *object;
    struct json out = json_dup_top(a, object);
    struct json meta = json_is_obj(metadata) ? json_dup_top(a, metadata) : json_obj();
    if (json_is_null(&list))
        json_remove(&meta, S("managedFields"));
    else
        json_set(a, &meta, S("managedFields"), list);
    json_set(a, &out, S("metadata"), meta);
    return out;
}

/* ---- Changes. ---- */

void managed_set(struct managed_entry *e, struct fieldset set)
{
    if (set.p != e->set.p || set.n != e->set.n)
        e->fields = NULL;
    e->set = set;
}

void managed_sweep(struct managed *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->list.n; i++) {
        if (m->list.p[i].set.n)
            m->list.p[kept++] = m->list.p[i];
    }
    m->list.n = kept;
}

#define NEVER(name, ...)                                                                           \
    {                                                                                              \
        .elem = {.kind = FIELDSET_NAME, .text = S_INIT(name)}, .marks = FIELDSET_IN, ##__VA_ARGS__ \
    }

/* Sorted, as all sets are. A constant: every write asks for it. */
struct fieldset managed_never(void)
{
    static const struct fieldset_entry metadata[] = {
        NEVER("clusterName"), NEVER("creationTimestamp"), NEVER("generation"), NEVER("managedFields"), NEVER("name"),
        NEVER("namespace"),   NEVER("resourceVersion"),   NEVER("selfLink"),   NEVER("uid"),
    };
    static const struct fieldset_entry top[] = {
        NEVER("apiVersion"),
        NEVER("kind"),
        NEVER("metadata", .below = {metadata, COUNT(metadata)}),
    };
    return (struct fieldset){top, COUNT(top)};
}

/* ---- Types that changed. ---- */

/* The place of an element below t. */
static struct typed place_of(const struct typed *t, enum fieldset_kind kind, str name)
{
    struct typed child = typed_deduced();
    if (kind != FIELDSET_NAME)
        return t->allows & TYPED_LIST ? typed_item(t) : child;
    if (t->allows & TYPED_MAP)
        typed_field(t, name, &child);
    return child;
}

static bool is_one_value(const struct typed *t)
{
    if (t->source == TYPED_DEDUCED)
        return false;
    return t->allows & TYPED_MAP ? t->atomic : t->allows == TYPED_LIST && t->list == TYPED_LIST_ATOMIC;
}

/* Below what has become one value nothing is owned any more but that value. */
static struct fieldset fit(struct fieldset_builder *b, const struct typed *t, struct fieldset set)
{
    size_t begin = fieldset_begin(b);
    bool changed = false;
    for (uint32_t i = 0; i < set.n; i++) {
        const struct fieldset_entry *e = &set.p[i];
        struct typed child = place_of(t, (enum fieldset_kind)e->elem.kind, e->elem.text);
        struct fieldset below = e->below;
        unsigned marks = e->marks;
        if (below.n && is_one_value(&child)) {
            below = (struct fieldset){0};
            marks = FIELDSET_IN;
        } else if (below.n) {
            below = fit(b, &child, below);
        }
        changed |= below.p != e->below.p || below.n != e->below.n;
        fieldset_put(b, &e->elem, marks, below);
    }
    if (changed)
        return fieldset_end(b, begin);
    b->stack.n = begin;
    return set;
}

/* The same of a FieldsV1 tree: nothing that fit would change, nor that would be written in another way. */
static bool fits(const struct typed *t, const struct json *fields)
{
    if (!json_is_obj(fields))
        return false;
    json_each_member(fields, m)
    {
        str key = json_key(m);
        bool is_dot = str_eq(key, S("."));
        if (is_dot ? !json_is_obj(&m->val) || m->val.n || fields->n == 1
                   : key.n < 2 || key.p[1] != ':' || !memchr("fkvi", key.p[0], 4))
            return false;
        if (is_dot || (json_is_obj(&m->val) && m->val.n == 0))
            continue;
        struct typed child = place_of(t, key.p[0] == 'f' ? FIELDSET_NAME : FIELDSET_KEY, str_from(key, 2));
        if (is_one_value(&child) || !fits(&child, &m->val))
            return false;
    }
    return true;
}

static bool is_known_version(const struct managed_write *w, str version)
{
    for (size_t i = 0; i < w->n_versions; i++) {
        if (str_eq(w->versions[i], version))
            return true;
    }
    return w->n_versions == 0 || str_eq(version, w->api_version);
}

void managed_reconcile(struct managed *m, const struct managed_write *w)
{
    struct fieldset_builder b = {.arena = m->arena};
    size_t kept = 0;
    for (size_t i = 0; i < m->list.n; i++) {
        struct managed_entry *e = &m->list.p[i];
        if (!is_known_version(w, e->api_version))
            continue;
        managed_set(e, fit(&b, &w->type, e->set));
        m->list.p[kept++] = *e;
    }
    m->list.n = kept;
}

/* The names and texts of an entry, which must be all there is. */
static bool read_entry(const struct json *v, struct managed_entry *ret)
{
    static const str names[] = {S_INIT("manager"),    S_INIT("operation"), S_INIT("apiVersion"), S_INIT("time"),
                                S_INIT("fieldsType"), S_INIT("fieldsV1"),  S_INIT("subresource")};
    str operation = json_get_text(v, S("operation"));
    size_t known = 0;
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct json *member = json_get(v, names[i]);
        known += i == 5 ? member != NULL : json_text(member).n > 0;
    }
    *ret = (struct managed_entry){
        .manager = json_get_text(v, S("manager")),
        .api_version = json_get_text(v, S("apiVersion")),
        .subresource = json_get_text(v, S("subresource")),
        .time = json_get_text(v, S("time")),
        .applied = str_eq(operation, S("Apply")),
        .fields = json_get(v, S("fieldsV1")),
    };
    return known == json_len(v) && (ret->applied || str_eq(operation, S("Update"))) && ret->api_version.n &&
           str_eq(json_get_text(v, S("fieldsType")), S("FieldsV1"));
}

bool managed_is_reconciled(const struct json *entries, const struct managed_write *w)
{
    struct managed_entry pair[2], *before = NULL;
    json_each_item(entries, v)
    {
        struct managed_entry *e = before == &pair[0] ? &pair[1] : &pair[0];
        if (!read_entry(v, e) || !is_known_version(w, e->api_version) || !json_len(e->fields) ||
            json_get(e->fields, S(".")) || !fits(&w->type, e->fields))
            return false;
        if (before && entry_order(&(const struct managed_entry *){before}, &(const struct managed_entry *){e}) >= 0)
            return false;
        before = e;
    }
    return true;
}

/* ---- Too many updaters. ---- */

static int updater_order(const void *x, const void *y)
{
    struct managed_entry *const *a = x, *const *b = y;
    int64_t ta = seconds_of((*a)->time), tb = seconds_of((*b)->time);
    return ta != tb ? (ta < tb ? -1 : 1) : str_cmp((*a)->id, (*b)->id);
}

/* What the oldest entries of one version are joined in: the first of them, renamed when a second one comes. */
struct bucket {
    struct managed_entry *entry;
    VEC(struct fieldset) sets;
};

/* Both maps lead from a text to what there is of it. */
struct capping {
    struct managed *managed;
    struct map by_version; /* struct bucket */
    struct map by_id;      /* struct managed_entry */
    VEC(struct bucket *) buckets;
};

static void rename_bucket(struct capping *c, struct bucket *b)
{
    struct managed_entry ancient = {.manager = S_INIT("ancient-changes"), .api_version = b->entry->api_version};
    ancient.id = entry_id(c->managed->arena, &ancient);
    struct managed_entry *there = map_get(&c->by_id, ancient.id);
    if (there && there != b->entry) { /* one of an earlier time: it goes on, and the oldest stays as it is */
        b->entry = there;
        b->sets.p[0] = there->set;
    } else {
        b->entry->manager = ancient.manager;
        b->entry->subresource = (str){0};
        b->entry->id = ancient.id;
    }
}

/* Joins e into the bucket of its version; false when it is the first of its version, or the bucket. */
static bool cap_entry(struct capping *c, struct managed_entry *e)
{
    struct arena *a = c->managed->arena;
    struct bucket *b = map_get(&c->by_version, e->api_version);
    if (!b) {
        b = ARENA_NEW(a, struct bucket);
        b->entry = e;
        *vec_push(a, &b->sets) = e->set;
        *vec_push(a, &c->buckets) = b;
        map_set(&c->by_version, e->api_version, b);
        return false;
    }
    if (b->sets.n == 1)
        rename_bucket(c, b);
    if (b->entry == e)
        return false;
    *vec_push(a, &b->sets) = e->set;
    b->entry->time = e->time;
    e->set = (struct fieldset){0};
    return true;
}

/* Joins the oldest entries of operation Update until at most MANAGED_MAX_UPDATERS are left. */
static void managed_cap(struct managed *m)
{
    struct managed_entry **updaters = arena_alloc(m->arena, arena_array_size(m->list.n + 1, sizeof(void *)));
    struct capping c = {.managed = m};
    size_t n = 0;
    vec_each(&m->list, e)
    {
        if (!e->applied)
            updaters[n++] = e;
    }
    if (n <= MANAGED_MAX_UPDATERS)
        return;
    qsort(updaters, n, sizeof(struct managed_entry *), updater_order);
    for (size_t i = 0; i < n; i++)
        map_set(&c.by_id, updaters[i]->id, updaters[i]);
    size_t left = n;
    for (size_t i = 0; i < n && left > MANAGED_MAX_UPDATERS; i++)
        left -= cap_entry(&c, updaters[i]);
    vec_each(&c.buckets, b)
    {
        if ((*b)->sets.n > 1)
            managed_set((*b)->entry, fieldset_union_all(m->arena, (*b)->sets.p, (*b)->sets.n));
    }
    map_done(&c.by_version);
    map_done(&c.by_id);
    managed_sweep(m);
}

/* Tracking of all writes that are not an apply: who changed a field owns it. */

/* Empty, or a single empty entry: the client resets managedFields. An empty list does so only for built-in kinds; for
 * custom resources it cannot be distinguished from an absent list. */
static bool is_reset(const struct managed_write *w, const struct json *entries)
{
    if (!json_is_arr(entries))
        return false;
    if (entries->n == 0)
        return w->type.source == TYPED_SHAPE;
    return entries->n == 1 && json_is_obj(&entries->items[0]) && entries->items[0].n == 0;
}

/* What the client sent, unless that is nothing or nonsense; clients that do not know managedFields must not lose
 * them. */
static struct managed starting_point(struct arena *a, const struct managed_args *args)
{
    struct managed m = {.arena = a};
    const struct json *sent = managed_of(args->next), *stored = managed_of(args->old);
    if (args->write.subresource.n == 0) {
        if (is_reset(&args->write, sent))
            return m;
        if (managed_decode(a, sent, &m, NULL) == 0 && m.list.n)
            return m;
    }
    if (managed_decode(a, stored, &m, NULL) < 0)
        m = (struct managed){.arena = a};
    return m;
}

/* Removes the changed and the removed fields from all managers. */
static void take_from_all(struct managed *m, struct fieldset change)
{
    vec_each(&m->list, e) managed_set(e, fieldset_minus(m->arena, e->set, change, FIELDSET_IN | FIELDSET_REMOVED));
}

static void give(struct managed *m, const struct managed_write *w, struct fieldset set)
{
    str id = managed_id(m->arena, w, false);
    struct managed_entry *mine = managed_find(m, id);
    if (!mine) {
        mine = vec_push(m->arena, &m->list);
        *mine = (struct managed_entry){
            .manager = w->manager.n ? w->manager : S("unknown"),
            .subresource = w->subresource,
            .id = id,
        };
    }
    mine->api_version = w->api_version;
    mine->time = w->time;
    managed_set(mine, fieldset_union(m->arena, set, mine->set));
}

/* Drops the removed marks: what stays is an ordinary set. */
static struct fieldset only_changed(struct arena *a, struct fieldset change)
{
    return fieldset_common(a, change, change, FIELDSET_IN);
}

int managed_track(struct managed *m, const struct managed_write *w, const struct json *old, const struct json *next,
                  struct err *err)
{
    struct arena *a = m->arena;
    struct fieldset change;
    managed_reconcile(m, w);
    int rc = value_diff(a, &w->type, old, next, &change, err);
    if (rc < 0)
        return rc;
    change = fieldset_without(a, change, fieldset_of_names(a, w->reset, w->n_reset));
    take_from_all(m, change);
    struct fieldset mine = fieldset_minus(a, only_changed(a, change), managed_never(), FIELDSET_IN);
    if (mine.n)
        give(m, w, mine);
    managed_sweep(m);
    managed_cap(m);
    return 0;
}

static struct json without_record(struct arena *a, const struct json *object)
{
    return object ? managed_attach(a, object, &(struct managed){.arena = a}) : json_obj();
}

struct json managed_update(struct arena *a, const struct managed_args *args)
{
    struct managed m = starting_point(a, args);
    struct json old = without_record(a, args->old), next = without_record(a, args->next);
    bool exists = json_get_text(json_get(args->old, S("metadata")), S("uid")).n > 0;
    if (m.list.n == 0 && exists)
        return next;
    if (managed_track(&m, &args->write, &old, &next, NULL) < 0)
        return next;
    return managed_attach(a, &next, &m);
}

/* ---- Same but for the time. ---- */

static bool same_entry(const struct json *x, const struct json *y)
{
    size_t nx = json_len(x), ny = json_len(y);
    if (!json_is_obj(x) || !json_is_obj(y))
        return json_equal(x, y);
    json_each_member(x, m)
    {
        if (!str_eq(json_key(m), S("time")) && !json_equal(&m->val, json_get(y, json_key(m))))
            return false;
    }
    return nx - (json_get(x, S("time")) != NULL) == ny - (json_get(y, S("time")) != NULL);
}

static bool same_entries(const struct json *x, const struct json *y)
{
    if (json_len(x) != json_len(y))
        return false;
    for (size_t i = 0; i < json_len(x); i++) {
        if (!same_entry(&x->items[i], &y->items[i]))
            return false;
    }
    return true;
}

bool managed_is_same(const struct json *x, const struct json *y)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json *mx = managed_of(x), *my = managed_of(y);
    if ((mx && !json_is_arr(mx)) || (my && !json_is_arr(my)))
        return json_equal(x, y);
    if (!same_entries(mx, my))
        return false;
    struct json rest_x = without_record(&scratch, x), rest_y = without_record(&scratch, y);
    return json_equal(&rest_x, &rest_y);
}
