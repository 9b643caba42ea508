/* SPDX-License-Identifier: Apache-2.0 */
/* Others in the same place, and of the same family: what the controller would say about them. Their images are read again, because
 * only these tell whether CRDs can be united. */
#include "cli/planning.h"

#include "object/object.h"
#include "oci/reference.h"
#include "package/crd_union.h"
#include "package/family.h"

enum { OTHERS_MAX = 8 }; /* versions of a family that are read; it has one or two while an upgrade goes round */

/* ---- One in one place. ---- */

static void check_place(struct planning *p)
{
    str family = p->source.package->family;
    vec_each(&p->world.list, it)
    {
        struct rival other = {it->dialect, it->is_cluster, &it->object};
        bool is_same_place = it->is_cluster == p->self.is_cluster &&
                             (it->is_cluster || str_eq(object_namespace(&it->object), object_namespace(&p->install)));
        rival_check_account(p->a, &p->self, &other, &p->findings);
        if (is_same_place)
            rival_check_package(p->a, &p->self, family, &other, &p->findings);
    }
}

/* ---- The family. ---- */

bool planning_is_same_source(const struct planning *p, str source)
{
    str ours = p->source.package->source;
    if (p->source.is_directory || str_eq(source, ours))
        return true;
    return str_eq(source, rival_source(p->a, oci_reference_located(p->a, ours, false)));
}

/* Whether the name is that of a package from another source. What the install has itself is not in its way. */
static void check_source(struct planning *p, const struct planning_install *it)
{
    str installed = json_text(json_dig(&it->object, "status.installedPackage"));
    struct rival other = {it->dialect, it->is_cluster, &it->object};
    if (installed.n == 0 || object_is_deleting(&it->object) || &it->object == p->running.install ||
        p->findings.list.n || !str_eq(rival_family(p->a, installed), p->source.package->family))
        return;
    str source = rival_source(p->a, installed);
    if (!planning_is_same_source(p, source))
        family_check_source(p->source.package, source, rival_title(p->a, &other), &p->findings);
}

/* An image that is installed somewhere. */
struct image {
    str reference, digest, version;
};

static struct image image_of(const struct json *install)
{
    const struct json *status = json_get(install, S("status"));
    return (struct image){json_get_text(status, S("installedPackage")), json_get_text(status, S("resolvedPackage")),
                          json_get_text(status, S("version"))};
}

static bool is_candidate(const struct planning *p, const struct image *image)
{
    const struct package *ours = p->source.package;
    return str_eq(image->digest, ours->digest) && str_eq(image->version, ours->version) &&
           str_eq(rival_family(p->a, image->reference), ours->family);
}

/* By the digest it has on the server, whatever its tag stands for by now. */
static int open_image(struct planning *p, const struct image *image, struct package_source *ret)
{
    struct err err;
    str reference = str_find_char(image->reference, '@') >= 0 || image->digest.n == 0
                        ? image->reference
                        : str_fmt(p->a, "%.*s@%.*s", STR(image->reference), STR(image->digest));
    int code = package_source_pull(p->c, &p->images, reference, ret, &err);
    str why, more;
    (void)str_cut(str_of(code < 0 ? err.msg : ""), '\n', &why, &more); /* a note is one line */
    if (code < 0)
        planning_note(p, "what %.*s holds, which is installed: %.*s", STR(image->reference), STR(why));
    return code;
}

static bool is_open(const struct planning *p, const struct image *image)
{
    vec_each(&p->others, it)
    {
        if (str_eq(it->package->digest, image->digest) && str_eq(it->package->version, image->version))
            return true;
    }
    return false;
}

static void meet(struct planning *p, const struct image *image)
{
    struct package_source other;
    if (image->reference.n == 0 || is_candidate(p, image) || is_open(p, image) ||
        !str_eq(rival_family(p->a, image->reference), p->source.package->family))
        return;
    if (p->others.n == OTHERS_MAX) {
        planning_note(p, "more than %d versions of %.*s that are installed", OTHERS_MAX,
                      STR(p->source.package->family));
        return;
    }
    if (open_image(p, image, &other) == 0)
        *vec_push(p->a, &p->others) = other;
    else
        family_check_version(p->source.package, image->version, image->digest, &p->findings);
}

/* ---- CRDs that the family shares, as the controller asks. ---- */

static const struct package *find_open(const struct planning *p, const struct image *image)
{
    vec_each(&p->others, it)
    {
        if (str_eq(it->package->digest, image->digest) && str_eq(it->package->version, image->version))
            return it->package;
    }
    return NULL;
}

static struct family_side side_of(struct planning *p, const struct planning_install *it, const struct package *package)
{
    return (struct family_side){.package = package,
                                .install = object_uid(&it->object),
                                .since = family_since(p->a, &it->object),
                                .approved = json_text(json_dig(&it->object, "status.crds.approvedAt")),
                                .is_cluster = it->is_cluster};
}

static int read_crd(void *ctx, struct arena *a, str name, struct family_live *ret, struct err *err)
{
    static const struct client_resource definitions =
        CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);
    struct planning *p = ctx;
    struct client_ref ref = {.resource = &definitions, .name = name};
    *ret = (struct family_live){.body = json_null()};
    int code = client_get(p->c->session.client, a, &ref, &ret->body, err);
    if (code == ERR_FORBIDDEN)
        planning_note(p, "CRD %.*s as it is: you may not get it", STR(name));
    if (code < 0)
        return code == ERR_NOT_FOUND || code == ERR_FORBIDDEN ? 0 : err_wrap(err, "get CRD %.*s", STR(name));
    str written = object_annotation(&ret->body, S(ANNOTATION_SPEC));
    ret->approved = object_annotation(&ret->body, S(ANNOTATION_APPROVED));
    ret->is_foreign = written.n && !str_eq(written, crd_spec_digest(a, &ret->body));
    return 0;
}

static int check_crds(struct planning *p, struct err *err)
{
    VEC(struct family_side) sides = {0};
    struct family_answer answer;
    struct family_question q = {.candidate = p->source.package, .ctx = p, .live = read_crd};
    q.self.is_cluster = p->self.is_cluster;
    q.self.since = S("9"); /* after all that are there */
    vec_each(&p->world.list, it)
    {
        struct image image = image_of(&it->object);
        const struct package *package = find_open(p, &image);
        if (!package || object_is_deleting(&it->object))
            continue;
        struct family_side side = side_of(p, it, package);
        if (&it->object == p->running.install)
            q.self = side;
        else
            *vec_push(p->a, &sides) = side;
    }
    q.others = sides.p;
    q.n_others = sides.n;
    int code = family_check_crds(p->a, &q, &answer, &p->findings, err);
    for (size_t i = 0; code == 0 && i < answer.needs.n; i++)
        *vec_push(p->a, &p->approvals) = answer.needs.p[i].text;
    return code;
}

static int check_family(struct planning *p, struct err *err)
{
    vec_each(&p->world.list, it)
    {
        struct image image = image_of(&it->object);
        check_source(p, it);
        if (object_is_deleting(&it->object))
            continue;
        p->is_held |= is_candidate(p, &image);
        meet(p, &image);
    }
    for (size_t i = 0; i < p->others.n; i++)
        family_check_identity(p->source.package, p->others.p[i].package, &p->findings);
    return p->is_held || p->findings.list.n ? 0 : check_crds(p, err);
}

/* The package that the install runs now. */
static void open_running(struct planning *p)
{
    struct image image = image_of(p->running.install);
    if (image.reference.n == 0 || is_candidate(p, &image))
        return;
    vec_each(&p->others, it)
    {
        if (str_eq(it->package->digest, image.digest) && str_eq(it->package->family, p->running.family)) {
            p->running.old = *it;
            (void)package_ref(it->package);
            return;
        }
    }
    if (!str_eq(p->running.family, p->source.package->family)) /* else it was tried */
        (void)open_image(p, &image, &p->running.old);
}

int planning_meet_others(struct planning *p, struct err *err)
{
    check_place(p);
    int code = p->source.package->findings.list.n ? 0 : check_family(p, err);
    open_running(p);
    return code;
}
