/* SPDX-License-Identifier: Apache-2.0 */
#include "package/rival.h"

#include "object/conditions.h"
#include "object/object.h"
#include "oci/reference.h"

/* ---- What an install is about. ---- */

str rival_title(struct arena *a, const struct rival *r)
{
    str kind = r->dialect->install[r->is_cluster].kind;
    if (r->is_cluster)
        return str_fmt(a, "%.*s %.*s", STR(kind), STR(object_name(r->install)));
    return str_fmt(a, "%.*s %.*s/%.*s", STR(kind), STR(object_namespace(r->install)), STR(object_name(r->install)));
}

str rival_asks_for(struct arena *a, const struct json *install)
{
    const struct json *spec = json_get(install, S("spec"));
    return oci_reference_with_source(a, json_get_text(spec, S("package")), json_get_text(spec, S("source")));
}

static str installed(const struct json *install)
{
    return json_get_text(json_get(install, S("status")), S("installedPackage"));
}

str rival_reference(struct arena *a, const struct json *install)
{
    return installed(install).n ? installed(install) : rival_asks_for(a, install);
}

str rival_family(struct arena *a, str reference)
{
    struct oci_reference ref;
    struct oci_digest none = {0};
    if (oci_reference_parse(reference, &ref, NULL) < 0)
        return (str){0};
    struct oci_identity id = oci_reference_identity(a, &ref, S("-"), &none);
    return str_fmt(a, "%.*s:%.*s", STR(id.repo), STR(id.name));
}

str rival_source(struct arena *a, str reference)
{
    struct oci_reference ref;
    return oci_reference_parse(reference, &ref, NULL) < 0 ? (str){0} : oci_reference_source(a, &ref);
}

/* ---- Who comes first. ---- */

/* Those of a package before those of a stack, and those of a namespace before those of the cluster. */
static int lane(const struct rival *r)
{
    return (r->dialect == &dialect_stacks ? 2 : 0) + r->is_cluster;
}

static int by_time(str x, str y)
{
    if ((x.n == 0) != (y.n == 0))
        return x.n == 0 ? 1 : -1;
    return str_cmp(x, y);
}

static bool comes_before(const struct rival *x, const struct rival *y)
{
    bool holds_x = installed(x->install).n != 0, holds_y = installed(y->install).n != 0;
    if (holds_x != holds_y)
        return holds_x;
    int order = by_time(json_get_text(object_meta(x->install), S("creationTimestamp")),
                        json_get_text(object_meta(y->install), S("creationTimestamp")));
    if (order == 0)
        order = lane(x) != lane(y) ? lane(x) - lane(y) : str_cmp(object_name(x->install), object_name(y->install));
    return order < 0;
}

/* It was refused, and holds nothing: one that is broken does not keep another out. */
static bool is_refused(const struct json *install)
{
    return installed(install).n == 0 && condition_is(install, S("Synced"), S("False"));
}

static bool is_in_the_way(const struct rival *self, const struct rival *other)
{
    return !is_refused(other->install) && comes_before(other, self);
}

/* ---- One in one place. ---- */

static bool is_one(const struct rival *x, const struct rival *y)
{
    return lane(x) == lane(y) && str_eq(object_name(x->install), object_name(y->install)) &&
           str_eq(object_namespace(x->install), object_namespace(y->install));
}

void rival_check_package(struct arena *a, const struct rival *self, str family, const struct rival *other,
                         struct findings *findings)
{
    if (is_one(self, other) || !str_eq(rival_family(a, rival_reference(a, other->install)), family) ||
        !is_in_the_way(self, other))
        return;
    str wanted = rival_source(a, rival_asks_for(a, self->install));
    str there = rival_source(a, rival_reference(a, other->install));
    if (str_eq(wanted, there) || installed(other->install).n == 0)
        findings_add(findings, S("AlreadyInstalled"), "%.*s is installed already, by %.*s", STR(family),
                     STR(rival_title(a, other)));
}

static struct plan_install read(struct arena *a, const struct rival *r)
{
    struct findings ignored = {.arena = a};
    struct plan_install asked;
    plan_install_read(a, r->dialect, r->install, &asked, &ignored);
    return asked;
}

void rival_check_account(struct arena *a, const struct rival *self, const struct rival *other,
                         struct findings *findings)
{
    if (lane(self) == lane(other) || !str_eq(object_name(self->install), object_name(other->install)))
        return;
    struct plan_install ours = read(a, self), theirs = read(a, other);
    if (str_eq(theirs.namespace, ours.namespace) && is_in_the_way(self, other))
        findings_add(findings, S("Conflict"), "ServiceAccount \"%.*s\" of namespace %.*s is that of %.*s",
                     STR(theirs.name), STR(theirs.namespace), STR(rival_title(a, other)));
}
