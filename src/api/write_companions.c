/* SPDX-License-Identifier: Apache-2.0 */
/* What a Namespace brings along. The server, not the user, decides on its content: no permission of the user on these kinds is asked
 * for, and nothing that exists is overwritten. */
#include "api/write_parts.h"

#include "api/value.h"
#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "object/object.h"
#include "patch/apply.h"

#include <assert.h>

static const struct kind *role_kind(void)
{
    return kind_builtin_by_body(S("rbac.authorization.k8s.io/v1"), S("ClusterRole"));
}

/* Whether the object was applied by this manager. */
static bool is_applied_by(const struct json *object, str manager)
{
    json_each_item(json_get(object_meta(object), S("managedFields")), entry)
    {
        if (str_eq(json_get_text(entry, S("manager")), manager) &&
            str_eq(json_get_text(entry, S("operation")), S("Apply")))
            return true;
    }
    return false;
}

/* As a server-side apply of an absent object by the manager, and all that the server fills in. */
static int make_companion(struct write *w, const struct json *config, struct json *ret, struct err *err)
{
    struct api *api = w->api;
    struct arena *a = &w->work;
    const struct kind *kind = role_kind();
    struct meta_place place = {.kind = kind, .name = object_name(config)};
    struct meta_sources sources = {&api->options.clock, &api->options.random};
    struct json now = meta_now(a, &api->options.clock);
    struct apply_args args = {
        .write = {.type = typed_of_shape(kind->shape),
                  .api_version = decode_api_version(a, kind),
                  .kind = str_of(kind->kind),
                  .manager = api->options.companions.manager,
                  .time = json_text(&now)},
        .config = config,
    };
    struct apply_result applied;
    int code = apply_patch(a, &args, &applied, err);
    if (code < 0)
        return code;
    struct json managed = json_dup(a, json_get(object_meta(&applied.object), S("managedFields")));
    *ret = json_dup(a, &applied.object);
    code = decode_object(api, a, kind, ret, NULL, NULL, err);
    if (code == 0)
        code = meta_prepare_create(a, &place, &sources, ret, err);
    if (code == 0) {
        json_set(a, meta_of(a, ret), S("managedFields"), managed);
        strategy_prepare_create(a, kind, ret);
    }
    return code;
}

/* False: it is there and foreign. */
static bool plan_companion(struct write *w, const struct json *config, struct store_change *ret)
{
    struct err err = {0};
    struct store_item item;
    struct json object;
    const struct kind *kind = role_kind();
    *ret = (struct store_change){.table = api_table(w->api, kind), .name = object_name(config)};
    int code = value_get(w->api, &w->work, kind, (str){0}, ret->name, &object, &item, &err);
    if (code == 0) {
        ret->expect = item.revision;
        if (!is_applied_by(&object, w->api->options.companions.manager) || object_is_deleting(&object))
            return false;
    } else if (code != ERR_NOT_FOUND || make_companion(w, config, &object, &err) < 0) {
        log_line(w->api->options.log, LOG_ERROR, "cannot create a role together with its namespace",
                 LOG_STR("role", ret->name), LOG_STR("error", str_of(err.msg)));
        return false;
    }
    struct value_parts parts = value_encode(w->api, &w->work, kind, &object);
    ret->value = parts.header;
    ret->value_rest = parts.body;
    return true;
}

size_t write_companions(struct write *w, struct store_change *list)
{
    const struct api_companions *from = &w->api->options.companions;
    struct json *wanted;
    size_t n = 0;
    if (!from->of_namespace || w->kind->group[0] || strcmp(w->kind->plural, "namespaces") != 0)
        return 0;
    size_t n_wanted = from->of_namespace(&w->work, w->is_create ? NULL : &w->current, &w->next, &wanted);
    assert(n_wanted <= WRITE_COMPANIONS);
    for (size_t i = 0; i < n_wanted; i++)
        n += plan_companion(w, &wanted[i], &list[n]);
    return n;
}
