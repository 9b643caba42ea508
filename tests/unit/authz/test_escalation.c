/* SPDX-License-Identifier: Apache-2.0 */
/* The check fails closed where case files do not reach: without an identity, an index, a namespace or a readable object. */
#include "authz/escalation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "authz/validate.h"
#include "kinds/builtin.h"
#include "object/status.h"

static const struct authz_identity bob = {.user = S_INIT("bob")};

static const struct kind *kind(const char *name)
{
    return kind_builtin_by_body(S("rbac.authorization.k8s.io/v1"), str_of(name));
}

static struct json decode(struct arena *a, const char *text)
{
    struct json v;
    assert_int_equal(json_decode(a, str_of(text), NULL, NULL, &v, NULL), 0);
    return v;
}

static void nobody_may_grant_nothing(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct authz_index *ix = authz_index_new();
    struct json object = decode(&a, "{\"metadata\": {\"name\": \"r\"}}"), status = {0};
    struct escalation_write write = {.kind = kind("ClusterRole"), .object = &object};
    struct authz_identity nobody = {0};
    assert_int_equal(escalation_check(&a, ix, &bob, &write, &status), 0);
    assert_true(json_is_null(&status));
    assert_int_equal(escalation_check(&a, ix, &nobody, &write, &status), ERR_FORBIDDEN);
    assert_int_equal(status_get_http(&status), 403);
    assert_int_equal(escalation_check(&a, ix, NULL, &write, &status), ERR_FORBIDDEN);
    assert_int_equal(escalation_check(&a, NULL, &bob, &write, &status), ERR_FORBIDDEN);
    authz_index_free(ix);
}

static void groups_are_somebody(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct authz_index *ix = authz_index_new();
    str devs = S("devs");
    struct json object = decode(&a, "{\"metadata\": {\"name\": \"r\"}}"), status;
    struct escalation_write write = {.kind = kind("ClusterRole"), .object = &object};
    struct authz_identity group = {.groups = {&devs, 1}};
    assert_int_equal(escalation_check(&a, ix, &group, &write, &status), 0);
    authz_index_free(ix);
}

static void namespaces_are_needed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct authz_index *ix = authz_index_new();
    struct json object = decode(&a, "{\"metadata\": {\"name\": \"r\"}}"), status;
    struct escalation_write write = {.kind = kind("Role"), .object = &object};
    assert_int_equal(escalation_check(&a, ix, &bob, &write, &status), ERR_BAD_REQUEST);
    write.kind = kind("RoleBinding");
    assert_int_equal(escalation_check(&a, ix, &bob, &write, &status), ERR_BAD_REQUEST);
    authz_index_free(ix);
}

/* What bob holds in a namespace is not his to give to the cluster, whatever the caller says about the path. */
static void kinds_of_the_cluster_have_no_namespace(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct authz_index *ix = authz_index_new();
    struct json role =
        decode(&a, "{\"kind\": \"ClusterRole\", \"metadata\": {\"name\": \"r\"}, \"rules\": [{\"verbs\": "
                   "[\"*\"], \"apiGroups\": [\"*\"], \"resources\": [\"*\"]}]}");
    struct json local =
        decode(&a, "{\"kind\": \"RoleBinding\", \"metadata\": {\"name\": \"b\", \"namespace\": \"shop\"}, "
                   "\"roleRef\": {\"kind\": \"ClusterRole\", \"name\": \"r\"}, "
                   "\"subjects\": [{\"kind\": \"User\", \"name\": \"bob\"}]}");
    struct json status;
    assert_int_equal(authz_index_put(ix, &role, NULL), 0);
    assert_int_equal(authz_index_put(ix, &local, NULL), 0);
    struct escalation_write write = {.kind = kind("ClusterRole"), .namespace = S("shop"), .object = &role};
    assert_int_equal(escalation_check(&a, ix, &bob, &write, &status), ERR_BAD_REQUEST);
    write.kind = kind("ClusterRoleBinding");
    write.object = &local;
    assert_int_equal(escalation_check(&a, ix, &bob, &write, &status), ERR_BAD_REQUEST);
    write.kind = kind("RoleBinding");
    assert_int_equal(escalation_check(&a, ix, &bob, &write, &status), 0);
    authz_index_free(ix);
}

static void unreadable_rules_are_refused(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct authz_index *ix = authz_index_new();
    struct json object = decode(&a, "{\"metadata\": {\"name\": \"r\"}, \"rules\": [{\"verbs\": [1]}]}"), status;
    struct escalation_write write = {.kind = kind("ClusterRole"), .object = &object};
    assert_int_equal(escalation_check(&a, ix, &bob, &write, &status), ERR_BAD_REQUEST);
    authz_index_free(ix);
}

static void other_kinds_grant_nothing(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = decode(&a, "{}"), status;
    struct escalation_write write = {.kind = kind_builtin_by_body(S("v1"), S("ConfigMap")), .object = &object};
    assert_int_equal(escalation_check(&a, NULL, &bob, &write, &status), 0);
}

static void only_objects_can_be_the_same(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = decode(&a, "{\"metadata\": {\"name\": \"r\"}, \"x\": [{\"y\": []}, 1]}");
    struct json spelled = decode(&a, "{\"x\": [{\"y\": null, \"z\": {}}, 1], \"metadata\": {\"name\": \"r\"}}");
    struct json longer = decode(&a, "{\"x\": [{}, 1, 2], \"metadata\": {\"name\": \"r\"}}"), text = json_str(S("r"));
    struct json mapped = decode(&a, "{\"x\": {\"y\": 1}, \"metadata\": {\"name\": \"r\"}}");
    assert_true(escalation_is_only_gc(&object, &object));
    assert_true(escalation_is_only_gc(&object, &spelled));
    assert_false(escalation_is_only_gc(&object, &longer));
    assert_false(escalation_is_only_gc(&object, &mapped));
    assert_false(escalation_is_only_gc(&mapped, &object));
    assert_false(escalation_is_only_gc(&object, NULL));
    assert_false(escalation_is_only_gc(NULL, NULL));
    assert_false(escalation_is_only_gc(&text, &text));
}

/* Left out, a list of names that is no list would mean any name, and a namespace that is no text the binding's own. */
static void values_of_a_wrong_type_are_not_dropped(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json role = decode(&a, "{\"rules\": [{\"verbs\": [\"get\"], \"resourceNames\": \"one\"}]}");
    struct json binding = decode(&a, "{\"subjects\": [{\"kind\": \"ServiceAccount\", \"namespace\": 7}]}");
    rbac_default(&a, kind("Role"), &role);
    assert_non_null(json_get(&json_get(&role, S("rules"))->items[0], S("resourceNames")));
    rbac_default(&a, kind("RoleBinding"), &binding);
    assert_non_null(json_get(&json_get(&binding, S("subjects"))->items[0], S("namespace")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_may_grant_nothing),
        cmocka_unit_test(groups_are_somebody),
        cmocka_unit_test(namespaces_are_needed),
        cmocka_unit_test(unreadable_rules_are_refused),
        cmocka_unit_test(kinds_of_the_cluster_have_no_namespace),
        cmocka_unit_test(values_of_a_wrong_type_are_not_dropped),
        cmocka_unit_test(other_kinds_grant_nothing),
        cmocka_unit_test(only_objects_can_be_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
