/* SPDX-License-Identifier: Apache-2.0 */
/* The CRDs of a package: each is checked and hashed where it lies, and only what the plan needs of it stays. */
#include "package/load.h"

#include "object/object.h"
#include "oci/digest.h"

#include <stdlib.h>

enum { HASH_DIGITS = 32 };

/* What is wrong with a document, told with its file; definitions without a name are hard to find even then. */
static void tell(struct findings *to, const struct load_document *d, const struct findings *from)
{
    bool has_name = object_name(d->json).n > 0;
    vec_each(&from->list, f)
    {
        if (has_name)
            findings_add(to, f->reason, "%.*s: %.*s", STR(d->path), STR(f->message));
        else
            findings_add(to, f->reason, "%.*s: document %zu: %.*s", STR(d->path), d->number, STR(f->message));
    }
    to->more += from->more;
}

str load_crd_hash(struct arena *a, const struct json *crd)
{
    struct buf text = {0};
    json_encode(&text, crd, JSON_SORTED);
    struct oci_digest digest = oci_digest_of(OCI_SHA256, buf_str(&text));
    buf_done(&text);
    return str_upto(oci_digest_hex(a, &digest), HASH_DIGITS);
}

static size_t annotations_size(const struct json *crd)
{
    size_t n = 0;
    const struct json *annotations = object_annotations(crd);
    json_each_member(annotations, m) n += m->key_n + json_text(&m->val).n;
    return n;
}

void load_crd(struct load *l, const struct load_document *d)
{
    struct findings findings = {.arena = l->line}, warnings = {.arena = l->line};
    struct crd_checked checked;
    if (l->crds.n == PACKAGE_MAX_CRDS) {
        if (!l->has_too_many_crds)
            findings_add(l->findings, INVALID_PACKAGE, "%.*s: a package must not have more than %d CRDs", STR(d->path),
                         PACKAGE_MAX_CRDS);
        l->has_too_many_crds = true;
        return;
    }
    bool ok = crd_check(l->line, d->json, &checked, &findings, &warnings);
    tell(l->findings, d, &findings);
    tell(l->warnings, d, &warnings);
    if (!ok)
        return;
    *vec_push(l->while_loading, &l->crds) = (struct load_crd){
        .crd = {.info = crd_info_dup(l->keep, &checked.info),
                .offset = d->offset,
                .hash = str_dup(l->keep, load_crd_hash(l->line, &checked.crd))},
        .path = str_dup(l->while_loading, d->path),
        .own = annotations_size(&checked.crd),
    };
}

static int by_name(const void *l, const void *r)
{
    const struct load_crd *a = l, *b = r;
    int order = str_cmp(a->crd.info.name, b->crd.info.name);
    if (order == 0)
        order = str_cmp(a->path, b->path);
    return order ? order : (a->crd.offset > b->crd.offset) - (a->crd.offset < b->crd.offset);
}

static void check_scope(struct load *l, const struct load_crd *c)
{
    if (l->package->scope == PACKAGE_NAMESPACED && !c->crd.info.is_namespaced)
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: CRD %.*s: must be of namespace scope: the package's permissionScope is Namespaced",
                     STR(c->path), STR(c->crd.info.name));
}

void load_crds_end(struct load *l)
{
    if (l->crds.n == 0)
        return;
    qsort(l->crds.p, l->crds.n, sizeof *l->crds.p, by_name);
    struct package_crd *crds = ARENA_ARRAY(l->keep, struct package_crd, l->crds.n);
    size_t n = 0;
    vec_each(&l->crds, c)
    {
        if (n && str_eq(crds[n - 1].info.name, c->crd.info.name)) {
            findings_add(l->findings, INVALID_PACKAGE, "%.*s: CRD %.*s: is there twice, also in %.*s", STR(c->path),
                         STR(c->crd.info.name), STR((c - 1)->path));
            continue;
        }
        check_scope(l, c);
        c->crd.path = str_dup(l->keep, c->path);
        c->crd.annotations = describe_crd(&l->describe, c->path, c->crd.info.kind, c->own);
        crds[n++] = c->crd;
    }
    l->package->crds = crds;
    l->package->n_crds = n;
}
