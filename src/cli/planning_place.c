/* SPDX-License-Identifier: Apache-2.0 */
/* Which install a plan is about: the one of that name; or, when nobody said a name, the one that has the package in that place. */
#include "cli/planning.h"

#include "object/conditions.h"
#include "object/name.h"
#include "object/object.h"

static bool is_in_place(const struct planning *p, const struct planning_install *it, str namespace)
{
    return it->dialect == p->self.dialect && it->is_cluster == p->self.is_cluster &&
           (it->is_cluster || str_eq(object_namespace(&it->object), namespace));
}

static const struct json *find_named(const struct planning *p, str namespace, str name)
{
    vec_each(&p->world.list, it)
    {
        if (is_in_place(p, it, namespace) && str_eq(object_name(&it->object), name))
            return &it->object;
    }
    return NULL;
}

/* One that runs or asks for a package of this family. */
static const struct json *find_family(const struct planning *p, str namespace, str family)
{
    vec_each(&p->world.list, it)
    {
        if (is_in_place(p, it, namespace) && str_eq(rival_family(p->a, rival_reference(p->a, &it->object)), family))
            return &it->object;
    }
    return NULL;
}

static struct json make_install(struct planning *p, str namespace, str name)
{
    struct json object = json_obj(), meta = json_obj(), spec = json_obj();
    const struct dialect *d = p->self.dialect;
    json_add(p->a, &meta, S("name"), json_str(name));
    if (!p->self.is_cluster)
        json_add(p->a, &meta, S("namespace"), json_str(namespace));
    json_add(p->a, &spec, S("package"), json_str(p->source.reference));
    json_add(p->a, &object, S("apiVersion"), json_str(str_fmt(p->a, "%.*s/%.*s", STR(d->group), STR(d->version))));
    json_add(p->a, &object, S("kind"), json_str(d->install[p->self.is_cluster].kind));
    json_add(p->a, &object, S("metadata"), meta);
    json_add(p->a, &object, S("spec"), spec);
    return object;
}

/* The one that is there, asking for another package. */
static struct json change_install(struct planning *p, const struct json *there)
{
    struct json object = json_dup_top(p->a, there);
    const struct json *old = json_get(there, S("spec"));
    struct json spec = json_is_obj(old) ? json_dup_top(p->a, old) : json_obj();
    json_set(p->a, &spec, S("package"), json_str(p->source.reference));
    json_set(p->a, &object, S("spec"), spec);
    return object;
}

/* Nothing that is asked of it now is carried out. */
static void check_deletion(struct planning *p)
{
    const struct json *conditions = json_dig(p->running.install, "status.conditions");
    str why = json_get_text(condition_find(conditions, S("Synced")), S("message"));
    if (object_is_deleting(p->running.install))
        findings_add(&p->findings, S("Terminating"), "%.*s is being uninstalled%s%.*s",
                     STR(rival_title(p->a, &p->self)), why.n ? ": " : "", STR(why));
}

static void see_running(struct planning *p)
{
    struct planning_running *r = &p->running;
    const struct json *status = json_get(r->install, S("status"));
    r->reference = json_get_text(status, S("installedPackage"));
    r->digest = json_get_text(status, S("resolvedPackage"));
    r->version = json_get_text(status, S("version"));
    r->family = rival_family(p->a, r->reference);
}

/* As the server does. */
static int check_name(str name, struct err *err)
{
    struct name_faults faults = name_check(NAME_DNS_SUBDOMAIN, name);
    return faults.n
               ? err_set(err, ERR_BAD_REQUEST, "\"%.*s\" cannot be the name of an install: %s; say another with --name",
                         STR(name), faults.texts[0])
               : 0;
}

int planning_find_place(struct planning *p, struct err *err)
{
    const struct package *package = p->source.package;
    str context = command_namespace(p->c), place = context.n ? context : S("default");
    str name = p->name.n ? p->name : str_dup(p->a, package->name); /* the package may be opened again */
    p->self = (struct rival){p->is_stack ? &dialect_stacks : &dialect_packages, p->is_cluster, &p->install};
    p->running.install = find_named(p, place, name);
    if (!p->running.install && p->name.n == 0)
        p->running.install = find_family(p, place, package->family);
    if (!p->running.install && check_name(name, err) < 0)
        return err->code;
    p->install = p->running.install ? change_install(p, p->running.install) : make_install(p, place, name);
    see_running(p);
    if (p->running.install)
        check_deletion(p);
    plan_install_read(p->a, p->self.dialect, &p->install, &p->asked, &p->findings);
    return 0;
}
