/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the CRDs of a family, and deleting those it leaves: a few at once, and only those that differ. Whether one does is seen
 * without reading it: its annotation says what it was made of, and the uid, generation and labels that it had after our last look are remembered.
 *
 *   signature (hashes of all bodies, who shares it) = annotation?  ─ no ──┐
 *   uid, generation, labels as remembered?  ─ no ─► read it: ours? ─ yes ─► the same? ─ no ─► write
 *                                                      │                       └─ yes ─► remember
 *                                                      └─ no ─► its definition stays; installs report Conflict
 *
 * A CRD is ours while its definition is the one that was written last, which an annotation has the digest of. Whoever may update
 * CRDs and changes it takes it over: the definition is never changed back, and the CRD is not deleted with its installs. With the
 * annotation ANNOTATION_RELEASE all marks are taken off it, too. */
#include "controllers/installs/installs_internal.h"
#include "object/object.h"
#include "oci/digest.h"
#include "package/crd_union.h"
#include "package/family.h"

#include <stdlib.h>

enum { AT_ONCE = 16 };

static const struct client_resource crds =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);

/* ---- What is remembered. ---- */

enum crd_standing {
    CRD_OURS,
    CRD_FOREIGN,  /* somebody else changed the definition */
    CRD_RELEASED, /* it is to be given up, or bears none of our marks */
};

/* Installs whose package needs something that the CRD lacks. */
struct lack {
    str digest; /* of the package */
    str text;
};

struct seen {
    struct arena arena;
    str name, uid, applied;
    str spec; /* digest of its definition */
    enum crd_standing standing;
    VEC(struct lack) lacks;
    int64_t generation;
    uint64_t marks;
};

struct memo {
    struct arena arena;
    str label;
    struct map seen;   /* by name */
    uint64_t retained; /* instances at the last count */
    int64_t recheck_ns;
    int64_t rest_ns; /* see shares_rest */
};

static struct memo *memo_of(struct installs *s, str label)
{
    installs_lock(s);
    struct memo *m = map_get(&s->memos, label);
    if (!m) {
        m = xcalloc(1, sizeof *m);
        arena_begin(&m->arena, label.n + 8);
        m->label = str_dup(&m->arena, label);
        map_set(&s->memos, m->label, m);
    }
    installs_unlock(s);
    return m;
}

int64_t *shares_rest(struct installs *s, str label)
{
    return &memo_of(s, label)->rest_ns;
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

struct job {
    const struct share_crd *crd;
    str signature;
    struct json want;
    struct json live; /* null: there is none */
    bool is_there;
    enum crd_standing standing;
    const str *missing; /* of each side */
};

static void remember(struct memo *m, const struct job *job, const struct json *crd)
{
    struct seen *n = xcalloc(1, sizeof *n);
    arena_begin(&n->arena, 256);
    struct arena scratch ARENA_SCOPE = {0};
    struct crd_row row = crd_row_of(&scratch, crd);
    *n = (struct seen){.arena = n->arena, .generation = row.generation, .marks = row.marks, .standing = job->standing};
    n->name = str_dup(&n->arena, row.crd.name);
    n->uid = str_dup(&n->arena, row.uid);
    n->applied = str_dup(&n->arena, job->standing == CRD_RELEASED ? job->signature : row.applied);
    n->spec = crd_spec_digest(&n->arena, crd);
    for (size_t i = 0; i < job->crd->n_sides; i++) {
        if (job->missing && job->missing[i].n)
            *vec_push(&n->arena, &n->lacks) = (struct lack){str_dup(&n->arena, job->crd->sides[i].package->digest),
                                                            str_dup(&n->arena, job->missing[i])};
    }
    struct seen *before = map_del(&m->seen, n->name);
    map_set(&m->seen, n->name, n);
    if (before)
        seen_free(before);
}

str shares_conflict(struct installs *s, struct arena *a, str label, const struct package *p, bool *ret_is_lacking)
{
    const struct memo *m = memo_of(s, label);
    struct findings found = {.arena = a};
    *ret_is_lacking = false;
    for (size_t i = 0; i < p->n_crds; i++) {
        const struct seen *n = map_get(&m->seen, p->crds[i].info.name);
        if (!n)
            continue;
        if (n->standing == CRD_FOREIGN)
            findings_add(&found, S("Conflict"), "CRD %.*s was changed by another client, and is left as it is",
                         STR(n->name));
        if (n->standing == CRD_RELEASED)
            findings_add(&found, S("Conflict"), "CRD %.*s is not managed by this package any more", STR(n->name));
        vec_each(&n->lacks, lack)
        {
            if (!str_eq(lack->digest, p->digest))
                continue;
            findings_add(&found, S("Conflict"), "%.*s", STR(lack->text));
            *ret_is_lacking = true;
        }
    }
    return found.list.n ? findings_text(a, &found) : (str){0};
}

/* ---- What it should be. ---- */

/* Of all that a CRD is made of. */
static str signature(struct arena *a, const struct share_crd *c)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < c->n_sides; i++) {
        const struct family_side *side = &c->sides[i];
        const struct package_crd *crd = package_find_crd(side->package, c->name);
        buf_fmt(&b, "%.*s %.*s %.*s %.*s %.*s %d %d\n", STR(crd->hash), STR(side->package->version),
                STR(side->package->digest), STR(side->approved), STR(side->since), side->is_cluster, side->is_old);
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

static bool is_done(struct memo *m, const struct job *job, const struct crd_row *row)
{
    const struct seen *n = map_get(&m->seen, job->crd->name);
    bool is_applied = n && str_eq(n->applied, job->signature) &&
                      (n->standing == CRD_RELEASED || str_eq(row->applied, job->signature));
    return is_applied && str_eq(n->uid, row->uid) && n->generation == row->generation && n->marks == row->marks;
}

/* ---- Whose it is. ---- */

static bool is_released(const struct json *live)
{
    return str_eq(object_annotation(live, S(ANNOTATION_RELEASE)), S("true"));
}

/* The definition is not the one that was written last. CRDs of the first release have no digest: they are as they were written. */
static bool is_changed(struct arena *a, const struct json *live)
{
    str written = object_annotation(live, S(ANNOTATION_SPEC));
    return written.n && !str_eq(written, crd_spec_digest(a, live));
}

/* Ours is what says so and was not changed, or what we wrote ourselves, even if somebody took our name off it. */
static enum crd_standing standing_of(const struct memo *m, struct arena *a, const struct json *live, str family)
{
    const struct seen *seen = map_get(&m->seen, object_name(live));
    bool is_marked = str_eq(object_annotation(live, S(ANNOTATION_FAMILY)), family);
    if (is_released(live))
        return CRD_RELEASED;
    if (is_marked)
        return is_changed(a, live) ? CRD_FOREIGN : CRD_OURS;
    bool is_ours = seen && str_eq(seen->uid, object_uid(live)) && seen->standing == CRD_OURS &&
                   str_eq(seen->spec, crd_spec_digest(a, live));
    return is_ours ? CRD_OURS : CRD_RELEASED;
}

int shares_read_live(struct client *c, struct arena *a, str name, struct family_live *ret, struct err *err)
{
    struct client_ref ref = {.resource = &crds, .name = name};
    *ret = (struct family_live){.body = json_null()};
    int code = client_get(c, a, &ref, &ret->body, err);
    if (code < 0)
        return code == ERR_NOT_FOUND ? 0 : err_wrap(err, "read CRD %.*s", STR(name));
    ret->approved = object_annotation(&ret->body, S(ANNOTATION_APPROVED));
    ret->is_foreign = is_released(&ret->body) || is_changed(a, &ret->body);
    return 0;
}

static void set_annotation(struct arena *a, struct json *crd, str key, str value)
{
    struct json *meta = json_get_mut(crd, S("metadata"));
    struct json *annotations = json_get_mut(meta, S("annotations"));
    if (!annotations)
        annotations = json_add(a, meta, S("annotations"), json_obj());
    if (value.n)
        json_set(a, annotations, key, json_str(value));
}

/* The last approval of all, which the definition contains then. */
static str last_approval(const struct share_crd *c, str before)
{
    for (size_t i = 0; i < c->n_sides; i++) {
        if (str_cmp(c->sides[i].approved, before) > 0)
            before = c->sides[i].approved;
    }
    return before;
}

static int render(struct memo *m, struct job *job, struct arena *a, struct err *err)
{
    const struct share_crd *c = job->crd;
    struct family_live live = {.body = job->is_there ? job->live : json_null()};
    struct family_crd made;
    str family = c->sides[0].package->family;
    job->standing = job->is_there ? standing_of(m, a, &job->live, family) : CRD_OURS;
    live.is_foreign = job->standing != CRD_OURS;
    if (job->is_there)
        live.approved = object_annotation(&job->live, S(ANNOTATION_APPROVED));
    int code = family_crd(a, c->sides, c->n_sides, c->name, &live, &made, err);
    if (code < 0)
        return err_wrap(err, "CRD %.*s", STR(c->name));
    job->missing = made.missing;
    job->want = plan_crd(a, c->dialect, made.owner, package_find_crd(made.owner, c->name), &made.body, &c->sharers);
    json_remove(&job->want, S("status"));
    set_annotation(a, &job->want, S(ANNOTATION_APPLIED), job->signature);
    set_annotation(a, &job->want, S(ANNOTATION_APPROVED), last_approval(c, live.approved));
    set_annotation(a, &job->want, S(ANNOTATION_SPEC),
                   live.is_foreign ? object_annotation(&job->live, S(ANNOTATION_SPEC))
                                   : crd_spec_digest(a, &made.body));
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

static int objection(const struct job *job, struct err *err)
{
    str name = job->crd->name, family = object_annotation(&job->live, S(ANNOTATION_FAMILY));
    if (object_is_deleting(&job->live))
        return err_set(err, ERR_UNAVAILABLE, "CRD %.*s is being deleted", STR(name));
    if (family.n && !str_eq(family, job->crd->sides[0].package->family))
        return err_set(err, ERR_ALREADY_EXISTS, "CRD %.*s belongs to package %.*s", STR(name), STR(family));
    return 0;
}

/* The live object without any of our marks: what it was released with stays. */
static struct json without_marks(struct arena *a, const struct json *live)
{
    struct json next = json_dup_top(a, live), meta = json_dup_top(a, object_meta(live)), none = json_obj();
    struct json annotations = merge_texts(a, object_annotations(live), &none);
    if (is_released(live))
        json_add(a, &annotations, S(ANNOTATION_RELEASE), json_str(S("true")));
    json_set(a, &meta, S("labels"), merge_texts(a, object_labels(live), &none));
    json_set(a, &meta, S("annotations"), annotations);
    json_remove(&meta, S("managedFields"));
    json_set(a, &next, S("metadata"), meta);
    return next;
}

/* The definition of others stays, whatever becomes of labels and annotations. */
static struct json next_of(struct arena *a, const struct job *job)
{
    if (job->standing == CRD_RELEASED)
        return object_annotation(&job->live, S(ANNOTATION_FAMILY)).n ? without_marks(a, &job->live) : job->live;
    return merge(a, &job->live, &job->want);
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
        if ((code = objection(job, err)) < 0)
            return code;
        struct json next = next_of(a, job);
        if (is_as_wanted(&job->live, &next)) {
            remember(m, job, &job->live);
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
            remember(m, of[i], &questions[i].ret);
        }
    }
    return code;
}

static int do_jobs(struct installs *s, struct reconcile *r, struct memo *m, struct job *jobs, size_t n, struct err *err)
{
    (void)s;
    struct arena scratch ARENA_SCOPE = {0};
    int code = 0;
    code = read_live(r->client, &scratch, jobs, n, err);
    for (size_t i = 0; code == 0 && i < n; i++)
        code = render(m, &jobs[i], &scratch, err);
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

int64_t shares_recheck_ns(struct installs *s, str label, const retained_vec *retained)
{
    static const int64_t first = NS_PER_S, last = INT64_C(15000000000);
    struct memo *m = memo_of(s, label);
    uint64_t n = 0;
    vec_each(retained, one)
    {
        n += one->n;
    }
    m->recheck_ns = n != m->retained || !m->recheck_ns ? first : 2 * m->recheck_ns < last ? 2 * m->recheck_ns : last;
    m->retained = n;
    return n ? m->recheck_ns : 0;
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

/* One that somebody else changed is theirs: it stays, without our marks. One that has none any more was given up before. */
static int give_up(struct client *c, struct arena *a, str name, bool *ret, struct err *err)
{
    struct family_live live;
    struct client_ref ref = {.resource = &crds, .name = name};
    struct client_write_options options = {.field_manager = S(FIELD_MANAGER_PACKAGES)};
    int code = shares_read_live(c, a, name, &live, err);
    bool is_there = code == 0 && !json_is_null(&live.body);
    bool is_marked = is_there && object_annotation(&live.body, S(ANNOTATION_FAMILY)).n;
    *ret = is_there && (live.is_foreign || !is_marked);
    if (code < 0 || !*ret || !is_marked)
        return code;
    struct json next = without_marks(a, &live.body);
    code = client_update(c, a, &ref, &next, &options, NULL, err);
    return code < 0 && code != ERR_NOT_FOUND ? err_wrap(err, "give up CRD %.*s", STR(name)) : 0;
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
        bool is_given_up;
        if ((code = give_up(c, &scratch, list[i]->crd.name, &is_given_up, err)) < 0)
            return code;
        if (is_given_up)
            continue;
        struct instances_of all = {.crd = list[i]->crd.name};
        if ((code = instances_count(c, s, &scratch, &all, 1, &left, err)) < 0)
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
