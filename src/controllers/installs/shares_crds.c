/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the CRDs of a family, and deleting those it leaves: a few at once, and only those that differ. Whether one does is seen
 * without reading it: its annotation says what it was made of, and the uid, generation and labels that it had after our last look are remembered.
 *
 *   signature (hashes of all bodies, who shares it) = annotation?  ─ no ──┐
 *   uid, generation, labels as remembered?  ─ no ─► read it: the same? ─ no ─► write
 *                                                               └─ yes ─► remember */
#include "controllers/installs/inside.h"
#include "object/object.h"
#include "oci/digest.h"
#include "package/crd_union.h"
#include "package/family.h"

#include <stdlib.h>

enum { AT_ONCE = 16 };

static const struct client_resource crds =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);

/* ---- What is remembered. ---- */

struct seen {
    struct arena arena;
    str name, uid, applied;
    int64_t generation;
    uint64_t marks;
};

struct memo {
    struct arena arena;
    str label;
    struct map seen; /* by name */
};

static struct memo *memo_of(struct installs *s, str label)
{
    installs_lock(s);
    struct memo *m = map_get(&s->memos, label);
    if (!m) {
        m = calloc(1, sizeof *m);
        if (!m)
            abort();
        arena_begin(&m->arena, label.n + 8);
        m->label = str_dup(&m->arena, label);
        map_set(&s->memos, m->label, m);
    }
    installs_unlock(s);
    return m;
}

static void seen_free(struct seen *n)
{
    arena_done(&n->arena);
    free(n);
}

void shares_free_memos(struct installs *s)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&s->memos, &at, &key, &value)) {
        struct memo *m = value;
        size_t k = 0;
        while (map_next(&m->seen, &k, &key, &value))
            seen_free(value);
        map_done(&m->seen);
        arena_done(&m->arena);
        free(m);
    }
    map_done(&s->memos);
}

static void remember(struct memo *m, const struct json *crd)
{
    struct seen *n = calloc(1, sizeof *n);
    if (!n)
        abort();
    arena_begin(&n->arena, 256);
    struct arena scratch ARENA_SCOPE = {0};
    struct crd_row row = crd_row_of(&scratch, crd);
    *n = (struct seen){.arena = n->arena, .generation = row.generation, .marks = row.marks};
    n->name = str_dup(&n->arena, row.crd.name);
    n->uid = str_dup(&n->arena, row.uid);
    n->applied = str_dup(&n->arena, row.applied);
    struct seen *before = map_del(&m->seen, n->name);
    map_set(&m->seen, n->name, n);
    if (before)
        seen_free(before);
}

/* ---- What it should be. ---- */

/* Of all that a CRD is made of. */
static str signature(struct arena *a, const struct share_crd *c)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < c->n_packages; i++) {
        const struct package_crd *crd = package_find_crd(c->packages[i], c->name);
        buf_fmt(&b, "%.*s %.*s %.*s\n", STR(crd->hash), STR(c->packages[i]->version), STR(c->packages[i]->digest));
    }
    for (size_t i = 0; i < c->sharers.n_namespaces; i++)
        buf_fmt(&b, "n %.*s\n", STR(c->sharers.namespaces[i]));
    uint64_t records = 0; /* in whatever order */
    for (size_t i = 0; i < c->sharers.n_records; i++) {
        struct oci_digest d = oci_digest_of(OCI_SHA256, c->sharers.records[i]);
        uint64_t word;
        memcpy(&word, d.bytes, sizeof word);
        records += word;
    }
    buf_fmt(&b, "r %016llx", (unsigned long long)records);
    struct oci_digest d = oci_digest_of(OCI_SHA256, buf_str(&b));
    return str_upto(oci_digest_hex(a, &d), 32);
}

struct job {
    const struct share_crd *crd;
    str signature;
    struct json want;
    struct json live; /* null: there is none */
    bool is_there;
};

static bool is_done(struct memo *m, const struct job *job, const struct crd_row *row)
{
    const struct seen *n = map_get(&m->seen, job->crd->name);
    return n && str_eq(row->applied, job->signature) && str_eq(n->applied, job->signature) &&
           str_eq(n->uid, row->uid) && n->generation == row->generation && n->marks == row->marks;
}

static int render(struct job *job, struct arena *a, struct err *err)
{
    const struct share_crd *c = job->crd;
    struct json body;
    const struct package *owner;
    int code = family_crd(a, c->packages, c->n_packages, c->name, &body, &owner, err);
    if (code < 0)
        return err_wrap(err, "CRD %.*s", STR(c->name));
    job->want = plan_crd(a, c->dialect, owner, package_find_crd(owner, c->name), &body, &c->sharers);
    struct json *meta = json_get_mut(&job->want, S("metadata"));
    struct json *annotations = json_get_mut(meta, S("annotations"));
    if (!annotations)
        annotations = json_add(a, meta, S("annotations"), json_obj());
    json_set(a, annotations, S(ANNOTATION_APPLIED), json_str(job->signature));
    return 0;
}

/* Ours are exactly as wanted; those of others stay. */
static struct json merge_texts(struct arena *a, const struct json *live, const struct json *want)
{
    struct json next = json_obj();
    struct json_index wanted JSON_INDEX_SCOPE = {0};
    json_index_init(&wanted, want);
    json_each_member(live, m)
    {
        if (!crd_key_is_reserved(json_key(m)) && !json_index_find(&wanted, json_key(m)))
            json_add(a, &next, json_key(m), m->val);
    }
    json_each_member(want, m)
    {
        json_add(a, &next, json_key(m), m->val);
    }
    return next;
}

/* The live object with what is wanted in it. */
static struct json merge(struct arena *a, const struct json *live, const struct json *want)
{
    struct json next = json_dup_top(a, live), meta = json_dup_top(a, object_meta(live));
    json_set(a, &meta, S("labels"), merge_texts(a, object_labels(live), object_labels(want)));
    json_set(a, &meta, S("annotations"), merge_texts(a, object_annotations(live), object_annotations(want)));
    json_remove(&meta, S("managedFields"));
    json_set(a, &next, S("metadata"), meta);
    if (!crd_is_same(live, want)) {
        json_set(a, &next, S("spec"), *json_get(want, S("spec")));
    }
    return next;
}

static bool is_as_wanted(const struct json *live, const struct json *next)
{
    return crd_is_same(live, next) && json_equal(object_labels(live), object_labels(next)) &&
           json_equal(object_annotations(live), object_annotations(next));
}

/* ---- Reading and writing a few at once. ---- */

static struct client_question ask(struct arena *a, const char *method, str name, const struct json *body)
{
    struct buf target = {.arena = a}, text = {.arena = a};
    client_path(&target, &(struct client_ref){.resource = &crds, .name = name});
    if (body) {
        client_query(&target, S("fieldManager"), S(FIELD_MANAGER_PACKAGES));
        json_encode(&text, body, 0);
    }
    return (struct client_question){
        .request = {.method = str_of(method), .target = buf_str(&target), .body = buf_str(&text)}};
}

static int read_live(struct client *c, struct arena *a, struct job *jobs, size_t n, struct err *err)
{
    struct client_question questions[AT_ONCE];
    struct job *of[AT_ONCE];
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (!jobs[i].is_there)
            continue;
        of[k] = &jobs[i];
        questions[k++] = ask(a, "GET", jobs[i].crd->name, NULL);
    }
    client_raw_all(c, a, questions, k);
    for (size_t i = 0; i < k; i++) {
        if (questions[i].code == ERR_NOT_FOUND) {
            of[i]->is_there = false;
        } else if (questions[i].code < 0) {
            *err = questions[i].err;
            return err_wrap(err, "read CRD %.*s", STR(of[i]->crd->name));
        } else {
            of[i]->live = questions[i].ret;
        }
    }
    return 0;
}

/* Ours is what says so, or what we wrote ourselves, even if somebody took our name off it. */
static int objection(const struct memo *m, const struct job *job, struct err *err)
{
    str name = job->crd->name, family = object_annotation(&job->live, S(ANNOTATION_FAMILY));
    const struct seen *seen = map_get(&m->seen, name);
    if (object_is_deleting(&job->live))
        return err_set(err, ERR_UNAVAILABLE, "CRD %.*s is being deleted", STR(name));
    if (str_eq(family, job->crd->owner->family) || (seen && str_eq(seen->uid, object_uid(&job->live))))
        return 0;
    if (family.n)
        return err_set(err, ERR_ALREADY_EXISTS, "CRD %.*s belongs to package %.*s", STR(name), STR(family));
    return err_set(err, ERR_ALREADY_EXISTS, "CRD %.*s was not put there by a package", STR(name));
}

static int write_jobs(struct client *c, struct arena *a, struct memo *m, struct job *jobs, size_t n, struct err *err)
{
    struct client_question questions[AT_ONCE];
    struct job *of[AT_ONCE];
    size_t k = 0;
    int code = 0;
    for (size_t i = 0; i < n; i++) {
        struct job *job = &jobs[i];
        if (!job->is_there) {
            of[k] = job;
            questions[k++] = ask(a, "POST", (str){0}, &job->want);
            continue;
        }
        struct json next = merge(a, &job->live, &job->want);
        if ((code = objection(m, job, err)) < 0)
            return code;
        if (is_as_wanted(&job->live, &next)) {
            remember(m, &job->live);
            continue;
        }
        of[k] = job;
        questions[k++] = ask(a, "PUT", job->crd->name, &next);
    }
    client_raw_all(c, a, questions, k);
    for (size_t i = 0; i < k; i++) {
        if (questions[i].code < 0) {
            *err = questions[i].err;
            code = err_wrap(err, "write CRD %.*s", STR(of[i]->crd->name));
            if (code == ERR_ALREADY_EXISTS)
                code = ERR_CONFLICT; /* the cache was behind */
        } else {
            remember(m, &questions[i].ret);
        }
    }
    return code;
}

static int do_jobs(struct installs *s, struct reconcile *r, struct memo *m, struct job *jobs, size_t n, struct err *err)
{
    (void)s;
    struct arena scratch ARENA_SCOPE = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i++)
        code = render(&jobs[i], &scratch, err);
    if (code == 0)
        code = read_live(r->client, &scratch, jobs, n, err);
    return code == 0 ? write_jobs(r->client, &scratch, m, jobs, n, err) : code;
}

int shares_write_crds(struct installs *s, struct reconcile *r, str label, const struct share_crd *list, size_t n,
                      struct err *err)
{
    struct memo *m = memo_of(s, label);
    struct job jobs[AT_ONCE];
    size_t k = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i++) {
        struct crd_row row;
        jobs[k] = (struct job){.crd = &list[i], .signature = signature(r->arena, &list[i])};
        jobs[k].is_there = crd_table_get(s->crds, r->arena, list[i].name, &row);
        if (jobs[k].is_there && is_done(m, &jobs[k], &row))
            continue;
        if (++k == AT_ONCE) {
            code = do_jobs(s, r, m, jobs, k, err);
            k = 0;
        }
    }
    return code == 0 && k ? do_jobs(s, r, m, jobs, k, err) : code;
}

/* ---- Deleting a few at once. ---- */

static struct client_question ask_delete(struct arena *a, const struct crd_row *row)
{
    struct buf target = {.arena = a}, body = {.arena = a};
    client_path(&target, &(struct client_ref){.resource = &crds, .name = row->crd.name});
    buf_add_str(&body, S("{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":"));
    json_encode_str(&body, row->uid);
    buf_add_str(&body, S("}}"));
    return (struct client_question){
        .request = {.method = S("DELETE"), .target = buf_str(&target), .body = buf_str(&body)}};
}

/* At most AT_ONCE. */
static int delete_some(struct installs *s, struct client *c, const struct crd_row *const *list, size_t n, size_t *going,
                       struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct client_question questions[AT_ONCE];
    const struct crd_row *of[AT_ONCE];
    size_t k = 0;
    int code = 0;
    for (size_t i = 0; i < n; i++) {
        struct instances left;
        if ((code = instances_count(c, s, &scratch, &list[i]->crd.name, 1, &left, err)) < 0)
            return code;
        if (left.n) /* nobody's any more, but people's data: it stays */
            continue;
        of[k] = list[i];
        questions[k++] = ask_delete(&scratch, list[i]);
    }
    *going += k;
    client_raw_all(c, &scratch, questions, k);
    for (size_t i = 0; i < k; i++) {
        int was = questions[i].code;
        if (was < 0 && was != ERR_NOT_FOUND && was != ERR_CONFLICT) {
            *err = questions[i].err;
            code = err_wrap(err, "delete CRD %.*s", STR(of[i]->crd.name));
        }
    }
    return code;
}

int shares_delete_crds(struct installs *s, struct reconcile *r, const struct crd_row *const *list, size_t n,
                       size_t *going, struct err *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i += AT_ONCE)
        code = delete_some(s, r->client, list + i, n - i < AT_ONCE ? n - i : AT_ONCE, going, err);
    return code;
}
