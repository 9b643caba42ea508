/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of CRDs are read one by one, into an arena that is forgotten before the next: a package may have 2,000 of them. Most are
 * the same in all versions, which their hashes tell without reading any. */
#include "package/family.h"

#include "package/crd_union.h"
#include "package/version.h"

/* ---- One CRD in several packages. ---- */

struct holder {
    const struct package *package;
    const struct package_crd *crd;
};

typedef VEC(struct holder) holder_vec;

static holder_vec holders_of(struct arena *a, const struct package *const *packages, size_t n, str name)
{
    holder_vec list = {0};
    for (size_t i = 0; i < n; i++) {
        const struct package_crd *crd = package_find_crd(packages[i], name);
        if (crd)
            *vec_push(a, &list) = (struct holder){packages[i], crd};
    }
    return list;
}

static bool are_equal(const holder_vec *list)
{
    vec_each(list, h)
    {
        if (!str_eq(h->crd->hash, list->p->crd->hash))
            return false;
    }
    return true;
}

static const struct holder *newest(const holder_vec *list)
{
    const struct holder *best = list->p;
    vec_each(list, h)
    {
        if (package_version_compare(h->package->version, best->package->version) > 0)
            best = h;
    }
    return best;
}

/* The same body once, however many packages have it; each package all the same, because the order of their versions matters. */
static int read_sources(struct arena *a, const holder_vec *list, struct crd_source *ret, struct err *err)
{
    struct map bodies = {0};
    for (size_t i = 0; i < list->n; i++) {
        const struct package *p = list->p[i].package;
        struct json *body = map_get(&bodies, list->p[i].crd->hash);
        if (body == NULL) {
            body = ARENA_NEW(a, struct json);
            if (package_crd_body(p, list->p[i].crd, a, body, err) < 0) {
                map_done(&bodies);
                return err_wrap(err, "CRD %.*s of %.*s:%.*s", STR(list->p[i].crd->info.name), STR(p->family),
                                STR(p->version));
            }
            map_set(&bodies, list->p[i].crd->hash, body);
        }
        ret[i] = (struct crd_source){
            .package = str_fmt(a, "%.*s/%.*s", STR(p->repo), STR(p->name)), .version = p->version, .crd = body};
    }
    map_done(&bodies);
    return 0;
}

static int unite(struct arena *a, const holder_vec *list, struct json *ret, struct findings *conflicts, struct err *err)
{
    struct crd_source *sources = ARENA_ARRAY(a, struct crd_source, list->n);
    int rc = read_sources(a, list, sources, err);
    if (rc == 0)
        crd_union(a, sources, list->n, ret, conflicts);
    return rc;
}

/* ---- The family. ---- */

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

/* Those that may live beside the candidate, which is the last of the list returned; the others are findings. */
static size_t check_identities(const struct package *candidate, const struct package *const *others, size_t n_others,
                               const struct package **ret, struct findings *findings)
{
    size_t n = 0;
    for (size_t i = 0; i < n_others; i++) {
        const struct package *o = others[i];
        if (!str_eq(o->version, candidate->version))
            ret[n++] = o;
        else if (str_eq(o->digest, candidate->digest) && !package_is_same(o, candidate))
            findings_add(findings, S("AlreadyInstalled"),
                         "%.*s:%.*s is installed already, and what was pulled now by its digest %.*s is something else",
                         STR(o->family), STR(o->version), STR(o->digest));
        else
            family_check_version(candidate, o->version, o->digest, findings);
    }
    ret[n++] = candidate;
    return n;
}

int family_check(struct arena *a, const struct package *candidate, const struct package *const *others, size_t n_others,
                 struct findings *findings, struct err *err)
{
    const struct package **packages = ARENA_ARRAY(a, const struct package *, n_others + 1);
    size_t n = check_identities(candidate, others, n_others, packages, findings);
    struct arena scratch ARENA_SCOPE = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && n > 1 && i < candidate->n_crds; i++) {
        arena_reset(&scratch);
        holder_vec list = holders_of(&scratch, packages, n, candidate->crds[i].info.name);
        struct json united;
        if (!are_equal(&list))
            rc = unite(&scratch, &list, &united, findings, err);
    }
    return rc;
}

int family_crd(struct arena *a, const struct package *const *packages, size_t n, str name, struct json *ret_body,
               const struct package **ret_owner, struct err *err)
{
    holder_vec list = holders_of(a, packages, n, name);
    struct findings conflicts = {.arena = a};
    if (list.n == 0)
        return err_set(err, ERR_NOT_FOUND, "no package of the family has CRD %.*s", STR(name));
    const struct holder *first = newest(&list);
    struct json body;
    int rc = are_equal(&list) ? package_crd_body(first->package, first->crd, a, &body, err)
                              : unite(a, &list, &body, &conflicts, err);
    if (rc < 0)
        return rc;
    if (conflicts.list.n)
        return err_set(err, ERR_CONFLICT, "%.*s", STR(findings_text(a, &conflicts)));
    *ret_body = body;
    *ret_owner = first->package;
    return 0;
}
