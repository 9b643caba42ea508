/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON: {"permission": a ClusterPermission, "works": [what agents made of ManifestWorks], "agent": true, "delivered": true}, of any
 * types whatever.
 * What is built is what OCM's webhook and a managed cluster accept, and the same when it is built again; else there is a short
 * message. The status is one that a server takes, and is equal to itself when it is written.
 */
#include "authz/validate.h"
#include "controllers/permissions/permissions_report.h"
#include "controllers/permissions/permissions_resources.h"
#include "kinds/builtin.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_WORKS = 4, MAX_BYTES = 64 * 1024 };

/* ---- What the hub knows. ---- */

static bool has_account(void *ctx, str name)
{
    (void)ctx;
    return name.n % 2 == 1;
}

static const struct json *find_role(void *ctx, struct arena *a, str namespace, str name)
{
    (void)a;
    (void)namespace;
    return name.n % 4 == 3 ? NULL : ctx;
}

static size_t find_namespaces(void *ctx, struct arena *a, const struct json *selector, str **ret)
{
    (void)ctx;
    *ret = ARENA_ARRAY(a, str, 3);
    (*ret)[0] = S("a");
    (*ret)[1] = S("b");
    (*ret)[2] = S("default");
    return json_len(selector) % 4;
}

/* ---- What is built. ---- */

static void check_manifest(struct arena *a, const struct json *m, struct map *seen)
{
    struct field_errors errs = {.arena = a};
    const struct kind *kind = kind_builtin_by_body(object_api_version(m), object_kind(m));
    assert(kind && rbac_kind_of(kind) != AUTHZ_UNKNOWN);
    rbac_validate(&errs, kind, m);
    assert(errs.list.n == 0);
    assert(object_name(m).n && (kind->namespaced || object_namespace(m).n == 0));
    assert(!kind->namespaced || object_namespace(m).n || object_annotation(m, S(FLEET_ANNOTATION_SELECTOR)).n);
    str id = str_fmt(a, "%.*s/%.*s/%.*s", STR(object_kind(m)), STR(object_namespace(m)), STR(object_name(m)));
    assert(map_set(seen, id, (void *)m) == NULL);
}

static void check_work(struct arena *a, const struct permission_work *work)
{
    const struct json *manifests = json_dig(&work->spec, "workload.manifests");
    struct json object = json_obj();
    struct buf text = {.arena = a};
    struct map seen = {0};
    assert(work->name.n <= FLEET_WORK_NAME && json_len(manifests));
    json_each_item(manifests, m) check_manifest(a, m, &seen);
    map_done(&seen);
    json_encode(&text, manifests, 0);
    assert(text.n <= FLEET_WORK_BYTES + json_len(manifests) + 2);
    json_add(a, &object, S("spec"), work->spec);
    assert(permission_work_is(work, &object));
}

static struct permission_build check_build(struct arena *a, const struct json *permission,
                                           const struct permission_facts *facts)
{
    struct permission_build first = permission_build(a, permission, facts),
                            second = permission_build(a, permission, facts);
    assert((first.outcome == PERMISSION_BUILT) == (first.message.n == 0));
    assert(first.outcome == PERMISSION_BUILT || first.n == 0);
    assert(first.message.n <= PERMISSION_MESSAGE + 3 && str_is_utf8(first.message));
    assert(first.n == second.n && str_eq(first.message, second.message));
    for (size_t i = 0; i < first.n; i++) {
        check_work(a, &first.works[i]);
        assert(str_eq(first.works[i].name, second.works[i].name));
        assert(json_equal(&first.works[i].spec, &second.works[i].spec));
    }
    return first;
}

/* ---- The status. ---- */

static void check_conditions(struct arena *a, const struct json *conditions)
{
    struct field_errors errs = {.arena = a};
    int64_t seconds;
    uint32_t nanos;
    conditions_validate(&errs, S("conditions"), conditions);
    assert(errs.list.n == 0);
    json_each_item(conditions, c) assert(time_parse(json_get_text(c, S("lastTransitionTime")), &seconds, &nanos));
}

static void check_resources(struct arena *a, const struct json *resources)
{
    struct buf text = {.arena = a};
    json_each_member(resources, list)
    {
        const struct json *entries = &list->val;
        assert(json_len(entries));
        json_each_item(entries, it)
        {
            assert(json_is_str(json_get(it, S("name"))) && json_len(json_get(it, S("condition"))) == 1);
            check_conditions(a, json_get(it, S("condition")));
        }
    }
    json_encode(&text, resources, 0);
    assert(text.n <= PERMISSION_STATUS_BYTES);
}

static void check_status(struct arena *a, struct json *permission, const struct permission_progress *progress)
{
    struct clock_fake fake = {.wall = 1000000000000000000};
    struct clock clock = clock_of_fake(&fake);
    struct json first = permission_status(a, permission, progress, &clock);
    check_conditions(a, json_get(&first, S("conditions")));
    check_resources(a, json_get(&first, S("resourceStatus")));
    json_set(a, permission, S("status"), json_dup(a, &first));
    clock_fake_advance(&fake, 5000000000);
    struct json second = permission_status(a, permission, progress, &clock);
    assert(json_equal(&first, &second));
}

static void check(struct arena *a, struct json *input)
{
    struct json *permission = json_get_mut(input, S("permission")), works[MAX_WORKS];
    const struct json *list = json_get(input, S("works"));
    struct permission_facts facts = {
        .has_cluster = true,
        .has_agent = json_true(json_get(input, S("agent"))),
        .is_delivered = json_true(json_get(input, S("delivered"))),
        .account_namespace = S("accounts"),
        .has_account = has_account,
        .role = find_role,
        .namespaces = find_namespaces,
        .ctx = permission,
    };
    if (!json_is_obj(permission))
        return;
    json_remove(permission, S("status"));
    json_set(a, meta_of(a, permission), S("generation"), json_int(3));
    struct permission_build build = check_build(a, permission, &facts);
    struct permission_progress progress = {.build = &build, .works = works};
    json_each_item(list, work)
    {
        if (progress.n_works < MAX_WORKS)
            works[progress.n_works++] = *work;
    }
    check_status(a, permission, &progress);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct json input;
    struct err err;
    if (size <= MAX_BYTES && json_decode(&a, (str){(const char *)data, size}, NULL, NULL, &input, &err) == 0 &&
        json_is_obj(&input))
        check(&a, &input);
    return 0;
}
