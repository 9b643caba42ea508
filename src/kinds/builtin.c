/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/builtin.h"

#include "kinds/kinds_internal.h"
#include "object/conditions.h"
#include "schema/crd.h"

/* The order of discovery; meta has no paths, so its place does not show. */
static const struct kind_table *const tables[] = {
    &kinds_core,           &kinds_apps,        &kinds_events,    &kinds_authentication, &kinds_authorization,
    &kinds_autoscaling_v2, &kinds_autoscaling, &kinds_batch,     &kinds_certificates,   &kinds_networking,
    &kinds_policy,         &kinds_rbac,        &kinds_storage,   &kinds_apiextensions,  &kinds_scheduling,
    &kinds_coordination,   &kinds_node,        &kinds_discovery, &kinds_meta,
};

enum { N_TABLES = COUNT(tables) };

size_t kind_builtin_count(void)
{
    size_t n = 0;
    for (size_t t = 0; t < N_TABLES; t++)
        n += tables[t]->n;
    return n;
}

const struct kind *kind_builtin(size_t i)
{
    for (size_t t = 0; t < N_TABLES; t++) {
        if (i < tables[t]->n)
            return &tables[t]->kinds[i];
        i -= tables[t]->n;
    }
    return NULL;
}

/* Clients send these under the group and version of whatever they act on. */
static bool is_in_every_group(const struct kind *k)
{
    return strcmp(k->kind, "DeleteOptions") == 0 || strcmp(k->kind, "Status") == 0;
}

const struct kind *kind_builtin_by_body(str api_version, str kind)
{
    str group, version;
    if (!kind_split_api_version(api_version, &group, &version))
        return NULL;
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++) {
        if (!str_eq(kind, str_of(k->kind)))
            continue;
        if (is_in_every_group(k) || (str_eq(group, str_of(k->group)) && str_eq(version, str_of(k->version))))
            return k;
    }
    return NULL;
}

const struct kind *kind_builtin_by_path(str group, str version, str plural)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++)
        if (!(k->flags & KIND_NO_PATH) && str_eq(plural, str_of(k->plural)) && str_eq(group, str_of(k->group)) &&
            str_eq(version, str_of(k->version)))
            return k;
    return NULL;
}

bool kind_is_builtin_resource(str group, str plural)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++)
        if (!(k->flags & KIND_NO_PATH) && str_eq(plural, str_of(k->plural)) && str_eq(group, str_of(k->group)))
            return true;
    return false;
}

static str spec_group(const struct json *crd)
{
    return json_get_text(json_get(crd, S("spec")), S("group"));
}

/* Its objects would be stored in the table of the built-in kind. */
static void check_crd_is_not_builtin(struct field_errors *errs, const struct json *crd)
{
    str group = spec_group(crd), plural = json_get_text(json_dig(crd, "spec.names"), S("plural"));
    if (group.n == 0 || !kind_is_builtin_resource(group, plural)) /* the core group is refused as one that is missing */
        return;
    field_error_add(errs, FIELD_FORBIDDEN, S("spec.names.plural"), (str){0}, "\"%.*s.%.*s\" is a built-in resource",
                    STR(plural), STR(group));
}

void builtin_validate_crd(struct field_errors *errs, const struct json *crd)
{
    crd_validate(errs, crd);
    check_crd_is_not_builtin(errs, crd);
}

bool crd_owns_objects(const struct json *crd)
{
    struct arena scratch ARENA_SCOPE = {0};
    str group = spec_group(crd), plural = json_get_text(json_dig(crd, "status.acceptedNames"), S("plural"));
    str name = json_get_text(json_get(crd, S("metadata")), S("name"));
    return plural.n && str_find_char(plural, '.') < 0 &&
           str_eq(name, str_fmt(&scratch, "%.*s.%.*s", STR(plural), STR(group))) &&
           !kind_is_builtin_resource(group, plural) && condition_is(crd, S("Established"), S("True"));
}
