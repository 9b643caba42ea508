/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of CRDs are read one by one, into an arena that is forgotten before the next: a package may have 2,000 of them. Most are
 * the same in all versions, which their hashes tell without reading any. */
#include "package/family.h"

#include "object/object.h"
#include "package/crd_share.h"
#include "package/crd_union.h"

/* ---- Who was accepted first. ---- */

static str since_of(struct arena *a, str time, const struct json *install)
{
    return str_fmt(a, "%.*s %.*s/%.*s", STR(time), STR(object_namespace(install)), STR(object_name(install)));
}

str family_since(struct arena *a, const struct json *install)
{
    str accepted = json_get_text(json_get(install, S("status")), S("acceptedAt"));
    str created = json_get_text(object_meta(install), S("creationTimestamp"));
    if (accepted.n)
        return since_of(a, accepted, install);
    /* as many decimals as acceptedAt has, so that texts compare as times do */
    if (created.n && created.p[created.n - 1] == 'Z')
        created = str_fmt(a, "%.*s.000000Z", STR(str_upto(created, created.n - 1)));
    return since_of(a, created, install);
}

str family_since_time(str since)
{
    str time, rest;
    return str_cut(since, ' ', &time, &rest) ? time : since;
}

str family_since_next(struct arena *a, const struct json *install, const str *others, size_t n,
                      const struct clock *clock)
{
    static const int64_t million = INT64_C(1000000);
    int64_t now = clock_wall_ns(clock) / 1000, seconds;
    struct buf time = {.arena = a};
    uint32_t nanos;
    for (size_t i = 0; i < n; i++) {
        if (time_parse(family_since_time(others[i]), &seconds, &nanos) && seconds * million + nanos / 1000 >= now)
            now = seconds * million + nanos / 1000 + 1;
    }
    time_format(&time, now / million, (uint32_t)(now % million * 1000), 6);
    return since_of(a, buf_str(&time), install);
}

/* ---- Identities. ---- */

void family_check_version(const struct package *candidate, str version, str digest, struct findings *findings)
{
    if (str_eq(version, candidate->version) && !str_eq(digest, candidate->digest))
        findings_add(findings, S("AlreadyInstalled"),
                     "%.*s:%.*s is installed already, but from another image: %.*s, not %.*s", STR(candidate->family),
                     STR(version), STR(digest), STR(candidate->digest));
}

void family_check_source(const struct package *candidate, str source, str holder, struct findings *findings)
{
    if (!str_eq(source, candidate->source))
        findings_add(findings, S("NameConflict"),
                     "%.*s cannot be installed: the name %.*s is in use by %.*s%s%.*s, which comes from another source",
                     STR(candidate->source), STR(candidate->family), STR(source), holder.n ? " of " : "", STR(holder));
}

void family_check_identity(const struct package *candidate, const struct package *other, struct findings *findings)
{
    if (!str_eq(other->version, candidate->version))
        return;
    if (str_eq(other->digest, candidate->digest) && !package_is_same(other, candidate))
        findings_add(findings, S("AlreadyInstalled"),
                     "%.*s:%.*s is installed already, and what was pulled now by its digest %.*s is something else",
                     STR(other->family), STR(other->version), STR(other->digest));
    else
        family_check_version(candidate, other->version, other->digest, findings);
}

/* ---- Definitions. ---- */

/* The same body once, however many packages have it. */
struct bodies {
    struct arena *a;
    struct map by_hash;
};

#define BODIES_SCOPE __attribute__((cleanup(bodies_done)))

static void bodies_done(struct bodies *b)
{
    map_done(&b->by_hash);
}

/* NULL with 0: the package has no such CRD. */
static int read_body(struct bodies *b, const struct package *p, str name, const struct json **ret, struct err *err)
{
    const struct package_crd *crd = p ? package_find_crd(p, name) : NULL;
    *ret = crd ? map_get(&b->by_hash, crd->hash) : NULL;
    if (!crd || *ret)
        return 0;
    struct json *body = ARENA_NEW(b->a, struct json);
    if (package_crd_body(p, crd, b->a, body, err) < 0)
        return err_wrap(err, "CRD %.*s of %.*s:%.*s", STR(name), STR(p->family), STR(p->version));
    map_set(&b->by_hash, crd->hash, body);
    *ret = body;
    return 0;
}

static int holder_of(struct bodies *b, const struct family_side *side, str name, struct crd_holder *ret,
                     struct err *err)
{
    const struct package *p = side->package;
    *ret = (struct crd_holder){.package = str_fmt(b->a, "%.*s/%.*s", STR(p->repo), STR(p->name)),
                               .version = p->version,
                               .since = side->since,
                               .approved = side->approved,
                               .is_cluster = side->is_cluster};
    return read_body(b, p, name, &ret->now, err);
}

struct holders {
    struct crd_holder *p; /* n of them, in the order of their sides */
    size_t n;
    const struct package **packages;
};

/* Those that have the CRD. */
static int read_holders(struct bodies *b, const struct family_side *sides, size_t n, str name, struct holders *ret,
                        struct err *err)
{
    *ret = (struct holders){ARENA_ARRAY(b->a, struct crd_holder, n + 1), 0,
                            ARENA_ARRAY(b->a, const struct package *, n + 1)};
    for (size_t i = 0; i < n; i++) {
        if (!package_find_crd(sides[i].package, name))
            continue;
        int code = holder_of(b, &sides[i], name, &ret->p[ret->n], err);
        if (code < 0)
            return code;
        ret->packages[ret->n++] = sides[i].package;
    }
    return 0;
}

/* ---- The one that serves all. ---- */

/* One install that is just changing its version: its two packages become one holder. */
static void join_one(const struct family_side *sides, size_t n, struct holders *h)
{
    const struct family_side *old = NULL, *now = NULL;
    for (size_t i = 0; i < n; i++) {
        if (sides[i].is_old)
            old = &sides[i];
        else
            now = &sides[i];
    }
    if (n != 2 || h->n != 2 || !old || !now || !now->install.n || !str_eq(old->install, now->install))
        return;
    size_t k = now == &sides[1];
    struct crd_holder one = h->p[k];
    one.old = h->p[1 - k].now;
    one.old_version = h->p[1 - k].version;
    h->p[0] = one;
    h->packages[0] = h->packages[k];
    h->n = 1;
}

static const struct package *owner_of(const struct holders *h)
{
    const struct crd_holder *best = h->p;
    for (size_t i = 1; i < h->n; i++) {
        if (crd_holder_counts_first(&h->p[i], best))
            best = &h->p[i];
    }
    return h->packages[best - h->p];
}

static str missing_text(struct arena *a, const struct json *body, const struct crd_holder *holder)
{
    struct findings missing = {.arena = a};
    crd_share_missing(a, body, holder, &missing);
    return missing.list.n ? findings_text(a, &missing) : (str){0};
}

int family_crd(struct arena *a, const struct family_side *sides, size_t n, str name, const struct family_live *live,
               struct family_crd *ret, struct err *err)
{
    struct bodies bodies BODIES_SCOPE = {.a = a};
    struct holders h;
    int code = read_holders(&bodies, sides, n, name, &h, err);
    if (code < 0)
        return code;
    if (h.n == 0)
        return err_set(err, ERR_NOT_FOUND, "no package of the family has CRD %.*s", STR(name));
    join_one(sides, n, &h);
    bool is_there = live && !json_is_null(&live->body);
    str *missing = ARENA_ARRAY(a, str, n);
    ret->body = is_there && live->is_foreign
                    ? live->body
                    : crd_share_body(a, h.p, h.n, is_there ? &live->body : NULL, live ? live->approved : (str){0});
    ret->owner = owner_of(&h);
    for (size_t i = 0; i < n; i++) {
        struct crd_holder holder;
        missing[i] = (str){0};
        if (sides[i].is_old || !package_find_crd(sides[i].package, name))
            continue;
        if ((code = holder_of(&bodies, &sides[i], name, &holder, err)) < 0)
            return code;
        if (h.n > 1 || (live && live->is_foreign))
            missing[i] = missing_text(a, &ret->body, &holder);
    }
    ret->missing = missing;
    return 0;
}

/* ---- One more. ---- */

/* Nobody else has it: both versions serve until the upgrade is over. */
static void check_own(struct arena *a, const struct crd_holder *self, struct findings *findings)
{
    struct crd_source both[] = {{self->package, self->version, self->now},
                                {self->package, self->old_version, self->old}};
    struct json united;
    if (self->old)
        (void)crd_union(a, both, 2, &united, findings);
}

static bool are_equal(const struct holders *h, const struct json *body)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->p[i].now != body)
            return false;
    }
    return true;
}

static int check_live(struct arena *a, const struct family_question *q, str name, const struct holders *others,
                      const struct crd_holder *self, struct family_answer *ret, struct findings *findings,
                      struct err *err)
{
    struct family_live live = {.body = json_null()};
    struct findings changes = {.arena = a};
    int code = q->live(q->ctx, a, name, &live, err);
    if (code < 0)
        return code;
    bool is_there = !json_is_null(&live.body);
    if (is_there && live.is_foreign) {
        crd_share_missing(a, &live.body, self, findings);
        return 0;
    }
    struct crd_holder *all = ARENA_ARRAY(a, struct crd_holder, others->n + 1);
    size_t n = others->n;
    for (size_t i = 0; i < n; i++)
        all[i] = others->p[i];
    if (self->old) {
        all[n] = *self;
        all[n].version = self->old_version;
        all[n].now = self->old;
        all[n++].old = NULL;
    }
    struct json in_effect = crd_share_body(a, all, n, is_there ? &live.body : NULL, live.approved);
    ret->is_first |= crd_share_check(a, &(struct crd_share_request){others->p, others->n, self, &in_effect}, &changes);
    vec_each(&changes.list, f)
    {
        if (str_eq(f->reason, S("ApprovalRequired")))
            *vec_push(a, &ret->needs) = (struct family_need){str_dup(a, name), f->message};
        else
            findings_add(findings, f->reason, "%.*s", STR(f->message));
    }
    return 0;
}

static int check_crd(struct arena *a, struct arena *scratch, const struct family_question *q, str name,
                     struct family_answer *ret, struct findings *findings, struct err *err)
{
    struct bodies bodies BODIES_SCOPE = {.a = scratch};
    struct holders others;
    struct crd_holder self;
    struct family_side asking = q->self;
    struct family_answer answer = {0};
    asking.package = q->candidate;
    int code = read_holders(&bodies, q->others, q->n_others, name, &others, err);
    if (code < 0 || (code = holder_of(&bodies, &asking, name, &self, err)) < 0 ||
        (code = read_body(&bodies, q->self.package, name, &self.old, err)) < 0)
        return code;
    self.old_version = q->self.package ? q->self.package->version : (str){0};
    if (others.n == 0) {
        check_own(scratch, &self, findings);
        return 0;
    }
    if (are_equal(&others, self.now) && (!self.old || self.old == self.now) &&
        others.p[0].is_cluster == self.is_cluster)
        return 0;
    code = check_live(scratch, q, name, &others, &self, &answer, findings, err);
    ret->is_first |= answer.is_first;
    vec_each(&answer.needs, need)
    {
        *vec_push(a, &ret->needs) = (struct family_need){str_dup(a, need->crd), str_dup(a, need->text)};
    }
    return code;
}

int family_check_crds(struct arena *a, const struct family_question *q, struct family_answer *ret,
                      struct findings *findings, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int code = 0;
    *ret = (struct family_answer){0};
    for (size_t i = 0; code == 0 && i < q->candidate->n_crds; i++) {
        arena_reset(&scratch);
        code = check_crd(a, &scratch, q, q->candidate->crds[i].info.name, ret, findings, err);
    }
    return code;
}
