/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/registry.h"

#include "base/map.h"
#include "kinds/builtin.h"
#include "kinds/columns.h"
#include "schema/crd.h"

#include <stdatomic.h>
#include <stdlib.h>

struct registry_crd;
/* A kind knows the block it lives in. */
struct registry_kind {
    struct kind kind; /* first: a kind with KIND_CUSTOM is the start of one of these */
    struct registry_crd *crd;
};

struct registry_crd {
    _Atomic size_t refs;
    struct arena arena;
    str name, group;
    struct json names;           /* acceptedNames */
    struct registry_kind *kinds; /* by preference */
    size_t n;
};

enum { VERBS_TERMINATING = VERB_DELETE | VERB_DELETECOLLECTION | VERB_GET | VERB_LIST | VERB_WATCH };

static const char *text(struct arena *a, const struct json *obj, str key)
{
    return str_cstr(a, json_get_text(obj, key));
}

/* A list of texts, NULL at its end. */
static const char *const *texts(struct arena *a, const struct json *list)
{
    const char **made = ARENA_ARRAY(a, const char *, json_len(list) + 1);
    size_t n = 0;
    json_each_item(list, item)
    {
        made[n++] = str_cstr(a, json_text(item));
    }
    return made;
}

/* ".spec.color" is selected as spec.color. */
static const char *const *selectable(struct arena *a, const struct json *fields)
{
    const char **made = ARENA_ARRAY(a, const char *, json_len(fields) + 1);
    size_t n = 0;
    json_each_item(fields, f)
    {
        str path = json_get_text(f, S("jsonPath"));
        made[n++] = str_cstr(a, str_has_prefix(path, S(".")) ? str_from(path, 1) : path);
    }
    return made;
}

static void subresources(struct arena *a, const struct json *given, struct kind *k)
{
    struct kind_subresource *list = ARENA_ARRAY(a, struct kind_subresource, 2);
    const struct json *scale = json_get(given, S("scale"));
    if (json_is_obj(scale)) {
        struct kind_scale *s = ARENA_NEW(a, struct kind_scale);
        bool selects = json_get_text(scale, S("labelSelectorPath")).n;
        *s = (struct kind_scale){text(a, scale, S("specReplicasPath")), text(a, scale, S("statusReplicasPath")),
                                 selects ? text(a, scale, S("labelSelectorPath")) : NULL};
        k->scale = s;
        list[k->n_subresources++] = (struct kind_subresource){"scale", "autoscaling", "v1", "Scale", VERBS_STATUS};
    }
    if (json_is_obj(json_get(given, S("status"))))
        list[k->n_subresources++] = (struct kind_subresource){"status", NULL, NULL, NULL, VERBS_STATUS};
    k->subresources = list;
}

/* "example.com/v1 Bar is deprecated; use example.com/v2 Bar" */
static const char *deprecation(struct arena *a, const struct json *versions, const struct json *version,
                               const struct kind *k)
{
    str best = json_get_text(version, S("name")), own = json_get_text(version, S("deprecationWarning"));
    if (own.n)
        return str_cstr(a, own);
    json_each_item(versions, v)
    {
        str name = json_get_text(v, S("name"));
        if (json_true(json_get(v, S("served"))) && !json_true(json_get(v, S("deprecated"))) &&
            kind_version_order(name, best) < 0)
            best = name;
    }
    str msg = str_fmt(a, "%s/%s %s is deprecated", k->group, k->version, k->kind);
    if (!str_eq(best, str_of(k->version)))
        msg = str_fmt(a, "%.*s; use %s/%.*s %s", STR(msg), k->group, STR(best), k->kind);
    return str_cstr(a, msg);
}

static void make_kind(struct registry_crd *c, const struct json *crd, const struct json *version, struct kind *k)
{
    struct arena *a = &c->arena;
    bool terminating = condition_is(crd, S("Terminating"), S("True"));
    *k = (struct kind){
        .group = str_cstr(a, c->group),
        .version = text(a, version, S("name")),
        .kind = text(a, &c->names, S("kind")),
        .list_kind = text(a, &c->names, S("listKind")),
        .plural = text(a, &c->names, S("plural")),
        .singular = text(a, &c->names, S("singular")),
        .short_names = texts(a, json_get(&c->names, S("shortNames"))),
        .categories = texts(a, json_get(&c->names, S("categories"))),
        .namespaced = str_eq(json_text(json_dig(crd, "spec.scope")), S("Namespaced")),
        .verbs = terminating ? VERBS_TERMINATING : VERBS_ALL,
        .flags = KIND_CUSTOM | KIND_GENERATION,
        .selectable = selectable(a, json_get(version, S("selectableFields"))),
        .columns = columns_of_crd(a, json_get(version, S("additionalPrinterColumns"))),
        .crd = str_cstr(a, c->name),
        .crd_uid = str_cstr(a, json_text(json_dig(crd, "metadata.uid"))),
    };
    json_each_item(json_dig(crd, "spec.versions"), v)
    {
        if (json_true(json_get(v, S("storage"))))
            k->storage_version = text(a, v, S("name"));
    }
    subresources(a, json_get(version, S("subresources")), k);
    if (json_true(json_get(version, S("deprecated")))) {
        k->flags |= KIND_DEPRECATED;
        k->deprecation_warning = deprecation(a, json_dig(crd, "spec.versions"), version, k);
    }
}

static int by_preference(const void *l, const void *r)
{
    const struct registry_kind *a = l, *b = r;
    return kind_version_order(str_of(a->kind.version), str_of(b->kind.version));
}

static void make_kinds(struct registry_crd *c, const struct json *crd)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    c->kinds = ARENA_ARRAY(&c->arena, struct registry_kind, json_len(versions));
    json_each_item(versions, v)
    {
        if (!json_true(json_get(v, S("served"))))
            continue;
        make_kind(c, crd, v, &c->kinds[c->n].kind);
        c->kinds[c->n++].crd = c;
    }
    if (c->n)
        qsort(c->kinds, c->n, sizeof c->kinds[0], by_preference);
}

static int registry_crd_new(const struct json *crd, struct registry_crd **ret, struct err *err)
{
    str name = json_text(json_dig(crd, "metadata.name")), group = json_text(json_dig(crd, "spec.group"));
    const struct json *names = json_dig(crd, "status.acceptedNames");
    if (name.n == 0 || group.n == 0)
        return err_set(err, ERR_INVALID, "a CustomResourceDefinition needs a name and a group");
    struct registry_crd *c = xcalloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    c->name = str_dup(&c->arena, name);
    c->group = str_dup(&c->arena, group);
    c->names = json_is_obj(names) ? json_dup(&c->arena, names) : json_obj();
    if (crd_owns_objects(crd))
        make_kinds(c, crd);
    *ret = c;
    return 0;
}

static void registry_crd_unref(struct registry_crd *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_done(&c->arena);
    free(c);
}

static struct registry_crd *crd_of(const struct kind *k)
{
    return k && (k->flags & KIND_CUSTOM) ? ((const struct registry_kind *)(const void *)k)->crd : NULL;
}

const struct kind *registry_hold(const struct kind *k)
{
    struct registry_crd *c = crd_of(k);
    if (c)
        atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return k;
}

void registry_release(const struct kind *k)
{
    registry_crd_unref(crd_of(k));
}

/* Keys of the three indexes are "group/version/plural", "group/version/Kind" and "group/Kind"; they live in the block
 * of the kind's CRD, or in the registry's arena for built-in kinds. */
struct registry {
    struct arena arena;
    uint64_t generation;
    struct map crds; /* name → struct registry_crd */
    struct map by_path, by_body, by_kind;
    struct map versions; /* "group/version" → struct served */
};

/* How many paths there are in a version of a group: kinds come and go, so the text is its own. */
struct served {
    size_t n;
    char name[];
};

enum { KEY_ROOM = 512 }; /* for the key of a lookup; a longer one takes memory */

/* ---- Indexes. ---- */

/* A lookup key in the arena. Every request makes some. */
static str key2(struct arena *a, str group, str name)
{
    struct buf b = {.arena = a};
    buf_grow(&b, group.n + name.n + 1);
    buf_add_str(&b, group);
    buf_add_char(&b, '/');
    buf_add_str(&b, name);
    return buf_str(&b);
}

static str key3(struct arena *a, str group, str version, str name)
{
    struct buf b = {.arena = a};
    buf_grow(&b, group.n + version.n + name.n + 2);
    buf_add_str(&b, group);
    buf_add_char(&b, '/');
    buf_add_str(&b, version);
    buf_add_char(&b, '/');
    buf_add_str(&b, name);
    return buf_str(&b);
}

/* What is there first stays: a CRD can neither hide a built-in kind nor another CRD's. */
static void index_add(struct map *m, str key, const struct kind *k)
{
    if (!map_get(m, key))
        map_set(m, key, (void *)k);
}

static void index_remove(struct map *m, str key, const struct kind *k)
{
    if (map_get(m, key) == k)
        map_del(m, key);
}

/* One path more, or one less. */
static void version_count(struct registry *r, str name, bool is_more)
{
    struct served *v = map_get(&r->versions, name);
    if (!v) {
        v = xcalloc(1, sizeof *v + name.n);
        memcpy(v->name, name.p, name.n);
        map_set(&r->versions, (str){v->name, name.n}, v);
    }
    if (is_more) {
        v->n++;
    } else if (--v->n == 0) {
        map_del(&r->versions, name);
        free(v);
    }
}

static void each_index(struct registry *r, struct arena *a, const struct kind *k,
                       void (*fn)(struct map *, str, const struct kind *))
{
    struct arena scratch ARENA_SCOPE = {0};
    str group = str_of(k->group), version = str_of(k->version);
    size_t before = r->by_path.n;
    if (!(k->flags & KIND_NO_PATH))
        fn(&r->by_path, key3(a, group, version, str_of(k->plural)), k);
    if (r->by_path.n != before)
        version_count(r, key2(&scratch, group, version), r->by_path.n > before);
    fn(&r->by_body, key3(a, group, version, str_of(k->kind)), k);
    fn(&r->by_kind, key2(a, group, str_of(k->kind)), k);
}

static void unpublish(struct registry *r, struct registry_crd *c)
{
    struct arena scratch ARENA_SCOPE = {0};
    for (size_t i = 0; i < c->n; i++)
        each_index(r, &scratch, &c->kinds[i].kind, index_remove);
}

/* ---- Life. ---- */

struct registry *registry_new(void)
{
    struct registry *r = xcalloc(1, sizeof *r);
    for (size_t i = 0; i < kind_builtin_count(); i++)
        each_index(r, &r->arena, kind_builtin(i), index_add);
    return r;
}

void registry_free(struct registry *r)
{
    if (!r)
        return;
    size_t at = 0;
    str name;
    void *c;
    while (map_next(&r->crds, &at, &name, &c))
        registry_crd_unref(c);
    map_done(&r->crds);
    map_done(&r->by_path);
    map_done(&r->by_body);
    map_done(&r->by_kind);
    at = 0;
    while (map_next(&r->versions, &at, &name, &c))
        free(c);
    map_done(&r->versions);
    arena_done(&r->arena);
    free(r);
}

bool registry_remove_crd(struct registry *r, str name)
{
    struct registry_crd *c = map_del(&r->crds, name);
    if (!c)
        return false;
    unpublish(r, c);
    registry_crd_unref(c);
    r->generation++;
    return true;
}

int registry_put_crd(struct registry *r, const struct json *crd, struct err *err)
{
    struct registry_crd *c = NULL;
    int rc = registry_crd_new(crd, &c, err);
    if (rc < 0 || !c)
        return rc;
    registry_remove_crd(r, c->name);
    for (size_t i = 0; i < c->n; i++)
        each_index(r, &c->arena, &c->kinds[i].kind, index_add);
    map_set(&r->crds, c->name, c);
    r->generation++;
    return 0;
}

uint64_t registry_generation(const struct registry *r)
{
    return r->generation;
}

/* ---- Looking up. ---- */

const struct kind *registry_by_path(const struct registry *r, str group, str version, str plural)
{
    char room[KEY_ROOM];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    return map_get(&r->by_path, key3(&scratch, group, version, plural));
}

const struct kind *registry_by_body(const struct registry *r, str api_version, str kind)
{
    char room[KEY_ROOM];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    str group, version;
    if (!kind_split_api_version(api_version, &group, &version))
        return NULL;
    const struct kind *k = map_get(&r->by_body, key3(&scratch, group, version, kind));
    return k ? k : kind_builtin_by_body(api_version, kind); /* DeleteOptions and Status are in every group */
}

const struct kind *registry_by_kind(const struct registry *r, str group, str kind)
{
    char room[KEY_ROOM];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    return map_get(&r->by_kind, key2(&scratch, group, kind));
}

bool registry_has_version(const struct registry *r, str group, str version)
{
    char room[KEY_ROOM];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    return map_get(&r->versions, key2(&scratch, group, version));
}

static bool is_called(const struct kind *k, str word)
{
    if (k->flags & KIND_NO_PATH)
        return false;
    if (str_eq(word, str_of(k->plural)) || str_eq(word, str_of(k->singular)))
        return true;
    for (size_t i = 0; k->short_names && k->short_names[i]; i++)
        if (str_eq(word, str_of(k->short_names[i])))
            return true;
    return false;
}

static bool is_meant(const struct kind *k, str word)
{
    str name, group;
    return is_called(k, word) ||
           (str_cut(word, '.', &name, &group) && str_eq(group, str_of(k->group)) && is_called(k, name));
}

const struct kind *registry_by_word(const struct registry *r, str word)
{
    const struct kind *k, *best = NULL;
    for (size_t i = 0; (k = kind_builtin(i)); i++)
        if (is_meant(k, word))
            return k;
    size_t at = 0;
    str name;
    void *found;
    while (map_next(&r->crds, &at, &name, &found)) {
        const struct registry_crd *c = found;
        if (c->n && is_meant(&c->kinds[0].kind, word) && (!best || str_cmp(name, str_of(best->crd)) < 0))
            best = &c->kinds[0].kind;
    }
    return best;
}

/* ---- Names. ---- */

/* Names of a group that are taken, resources and kinds apart; the values of the maps mean nothing. */
struct taken {
    struct map resources, kinds;
};

static void take(struct map *m, str name)
{
    if (name.n)
        map_set(m, name, m);
}

static void taken_init(struct taken *t, const struct registry *r, str group)
{
    *t = (struct taken){0};
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++) {
        if (!str_eq(group, str_of(k->group)))
            continue;
        take(&t->resources, str_of(k->plural));
        take(&t->resources, str_of(k->singular));
        for (size_t n = 0; k->short_names && k->short_names[n]; n++)
            take(&t->resources, str_of(k->short_names[n]));
        take(&t->kinds, str_of(k->kind));
        take(&t->kinds, str_of(k->list_kind));
    }
    size_t at = 0;
    str name;
    void *found;
    while (map_next(&r->crds, &at, &name, &found)) {
        const struct registry_crd *c = found;
        if (!str_eq(group, c->group))
            continue;
        take(&t->resources, json_get_text(&c->names, S("plural")));
        take(&t->resources, json_get_text(&c->names, S("singular")));
        json_each_item(json_get(&c->names, S("shortNames")), s)
        {
            take(&t->resources, json_text(s));
        }
        take(&t->kinds, json_get_text(&c->names, S("kind")));
        take(&t->kinds, json_get_text(&c->names, S("listKind")));
    }
}

static void taken_done(struct taken *t)
{
    map_done(&t->resources);
    map_done(&t->kinds);
}

struct naming {
    struct arena *arena;
    const struct json *wanted, *had;
    struct json *names;
    struct condition *condition;
};

static void refuse(struct naming *n, const char *reason, str message)
{
    n->condition->status = S("False");
    n->condition->reason = str_of(reason);
    n->condition->message = message;
}

/* One of the single names: kept when it was accepted before, given when it is free. */
static void name_accept(struct naming *n, str key, const struct map *taken, const char *reason)
{
    str want = json_get_text(n->wanted, key);
    if (!str_eq(want, json_get_text(n->had, key)) && map_get(taken, want))
        refuse(n, reason, str_fmt(n->arena, "\"%.*s\" is already in use", STR(want)));
    else if (want.n)
        json_set(n->arena, n->names, key, json_str(want));
    else
        json_remove(n->names, key);
}

/* All short names or none. */
static void short_names_accept(struct naming *n, const struct map *taken)
{
    const struct json *want = json_get(n->wanted, S("shortNames")), *had = json_get(n->had, S("shortNames"));
    struct map own = {0};
    struct buf msg = {.arena = n->arena};
    size_t conflicts = 0;
    json_each_item(had, s)
    {
        take(&own, json_text(s));
    }
    json_each_item(want, s)
    {
        if (map_get(&own, json_text(s)) || !map_get(taken, json_text(s)))
            continue;
        take(&own, json_text(s)); /* told once */
        buf_fmt(&msg, "%s\"%.*s\" is already in use", conflicts++ ? ", " : "", STR(json_text(s)));
    }
    map_done(&own);
    if (conflicts)
        refuse(n, "ShortNamesConflict",
               conflicts > 1 ? str_fmt(n->arena, "[%.*s]", STR(buf_str(&msg))) : buf_str(&msg));
    else if (want)
        json_set(n->arena, n->names, S("shortNames"), *want);
    else
        json_remove(n->names, S("shortNames"));
}

void registry_accept_names(struct arena *a, const struct registry *r, const struct json *crd, struct json *ret_names,
                           struct condition *ret_condition)
{
    const struct json *wanted = json_dig(crd, "spec.names"), *had = json_dig(crd, "status.acceptedNames");
    *ret_names = json_is_obj(had) ? json_dup_top(a, had) : json_obj();
    *ret_condition = (struct condition){.type = S("NamesAccepted"),
                                        .status = S("True"),
                                        .reason = S("NoConflicts"),
                                        .message = S("no conflicts found")};
    struct naming n = {a, wanted, had, ret_names, ret_condition};
    struct taken t;
    taken_init(&t, r, json_text(json_dig(crd, "spec.group")));
    name_accept(&n, S("plural"), &t.resources, "PluralConflict");
    name_accept(&n, S("singular"), &t.resources, "SingularConflict");
    short_names_accept(&n, &t.resources);
    name_accept(&n, S("kind"), &t.kinds, "KindConflict");
    name_accept(&n, S("listKind"), &t.kinds, "ListKindConflict");
    taken_done(&t);
    const struct json *categories = json_get(wanted, S("categories"));
    if (categories)
        json_set(a, ret_names, S("categories"), *categories);
    else
        json_remove(ret_names, S("categories"));
}

/* ---- Discovery. ---- */

struct ranked {
    size_t rank; /* of the group: in the order in which built-in kinds name them, the others behind by name */
    const struct kind *kind;
};

static size_t group_rank(str group)
{
    const struct kind *k;
    size_t i = 0;
    for (; (k = kind_builtin(i)); i++)
        if (str_eq(group, str_of(k->group)))
            break;
    return i;
}

static int by_discovery(const void *l, const void *r)
{
    const struct ranked *left = l, *right = r;
    const struct kind *a = left->kind, *b = right->kind;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    int cmp = strcmp(a->group, b->group);
    if (cmp == 0)
        cmp = kind_version_order(str_of(a->version), str_of(b->version));
    return cmp ? cmp : strcmp(a->plural, b->plural);
}

/* All kinds with a path, in the order of discovery. */
static const struct kind **collect(struct arena *a, const struct registry *r)
{
    const struct kind **kinds = ARENA_ARRAY(a, const struct kind *, r->by_path.n);
    struct arena scratch ARENA_SCOPE = {0};
    struct ranked *all = ARENA_ARRAY(&scratch, struct ranked, r->by_path.n);
    size_t at = 0, n = 0;
    str key;
    void *k;
    while (map_next(&r->by_path, &at, &key, &k))
        all[n++] = (struct ranked){group_rank(str_of(((const struct kind *)k)->group)), k};
    qsort(all, n, sizeof all[0], by_discovery);
    for (size_t i = 0; i < n; i++)
        kinds[i] = all[i].kind;
    return kinds;
}

struct registry_group *registry_groups(struct arena *a, const struct registry *r, size_t *ret_n)
{
    VEC(struct registry_group) groups = {0};
    const struct kind **all = collect(a, r);
    struct registry_version *versions = ARENA_ARRAY(a, struct registry_version, r->versions.n);
    size_t used = 0;
    for (size_t i = 0; i < r->by_path.n; i++) {
        const struct kind *k = all[i], *before = i ? all[i - 1] : NULL;
        bool new_group = !before || strcmp(k->group, before->group) != 0;
        if (new_group)
            *vec_push(a, &groups) = (struct registry_group){k->group, &versions[used], 0};
        if (new_group || strcmp(k->version, before->version) != 0) {
            groups.p[groups.n - 1].n++;
            versions[used++] = (struct registry_version){k->version, &all[i], 0};
        }
        versions[used - 1].n++;
    }
    *ret_n = groups.n;
    return groups.p;
}
