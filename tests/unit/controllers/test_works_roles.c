/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings and the roles that they name: what a work delivers under that name is bound, or nothing is. */
#include "controllers/works/works.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "manifests.h"
#include "object/fleet.h"
#include "object/object.h"

#define WITHHELD                                                                                                        \
    "False Conflict: Failed to apply manifest: ClusterRoleBinding \"b\" is withheld: its role, ClusterRole \"r\", was " \
    "not delivered by this agent, though a ManifestWork delivers one of that name"
#define FOREIGN ROLE("r", "'*'")
#define PART(name, manifests)                                                                            \
    "{'apiVersion':'work.open-cluster-management.io/v1','kind':'ManifestWork','metadata':{'name':'" name \
    "','namespace':'" CLUSTER                                                                            \
    "','generation':1,'ownerReferences':[{'apiVersion':'x/v1','kind':'ClusterPermission','name':"        \
    "'p','uid':'u-p','controller':true}]},'spec':{'workload':{'manifests':[" manifests "]}}}"
#define IN(ns, name, role)                                                                                  \
    "{'apiVersion':'" RBAC "/v1','kind':'RoleBinding','metadata':{'name':'" name "','namespace':'" ns "'}," \
    "'roleRef':{'apiGroup':'" RBAC "','kind':'Role','name':'" role "'},'subjects':[{'kind':'Group','name':'g'}]}"

static str uid_of(struct fleet *f, const char *object)
{
    struct json o = fleet_get(f, object);
    return str_dup(&f->arena, object_uid(&o));
}

static void take_role(struct fleet *f)
{
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_put(f, f->managed, FOREIGN);
}

static void assert_calm(struct fleet *f)
{
    fake_log_clear(f->hub);
    fake_log_clear(f->managed);
    fleet_pass(f, 600);
    assert_int_equal(fake_writes(f->hub), 0);
    assert_int_equal(fake_writes(f->managed), 0);
    assert_true(fake_count(f->managed, "GET", "/apis/" RBAC "/v1/clusterroles/r") <=
                160); /* two bindings and a role, each 15 s */
}

/* ---- Foreign roles. ---- */

static void test_of_one_work(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, FOREIGN);
    fleet_start(f);
    fleet_manifests(f, "w", BINDING("b", "r") "," ROLE("r", "'get'"));
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterrolebindings/b"));
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Applied"), WITHHELD);
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Available"),
                        "False ResourceNotAvailable: Resource is not available");
    assert_string_equal(fleet_condition(f, "w", "Applied"), FAILED);
    assert_calm(f);
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_pass(f, 20);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    assert_true(fleet_has(f, "clusterrolebindings/b"));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    assert_calm(f);
}

static void test_of_another_work(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, FOREIGN);
    fleet_start(f);
    fleet_put(f, f->hub, PART("p", ROLE("r", "'get'")));
    fleet_settle(f);
    fleet_put(f, f->hub, PART("p-1", BINDING("b", "r")));
    fleet_manifests(f, "x", BINDING("c", "r"));
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterrolebindings/b"));
    assert_false(fleet_has(f, "clusterrolebindings/c"));
    assert_string_equal(fleet_manifest_condition(f, "p-1", 0, "Applied"), WITHHELD);
    assert_calm(f);
    fleet_delete_work(f, "p"); /* nobody delivers it any more: it is the existing role that is meant */
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterrolebindings/c"));
}

/* Whoever knew of the binding first. */
static void test_of_a_work_that_comes_later(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, FOREIGN);
    fleet_start(f);
    fleet_put(f, f->hub, PART("p-1", BINDING("b", "r")));
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterrolebindings/b"));
    fleet_put(f, f->hub, PART("p", ROLE("r", "'get'")));
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterrolebindings/b"));
    assert_string_equal(fleet_manifest_condition(f, "p-1", 0, "Applied"), WITHHELD);
}

static void test_that_took_the_place_of_ours(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_put(f, f->hub, PART("p", ROLE("r", "'get'") "," BINDING("b", "r")));
    fleet_put(f, f->hub, PART("p-1", BINDING("c", "r")));
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterrolebindings/b") && fleet_has(f, "clusterrolebindings/c"));
    take_role(f);
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterrolebindings/b"));
    assert_false(fleet_has(f, "clusterrolebindings/c"));
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "*");
    assert_calm(f);
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_pass(f, 20);
    assert_true(fleet_has(f, "clusterrolebindings/b") && fleet_has(f, "clusterrolebindings/c"));
    assert_string_equal(fleet_condition(f, "p", "Applied"), COMPLETE);
    assert_string_equal(fleet_condition(f, "p-1", "Applied"), COMPLETE);
    fleet_delete_work(f, "p-1");
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterrolebindings/c"));
}

static void test_while_the_agent_was_away(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_put(f, f->hub, PART("p", ROLE("r", "'get'")));
    fleet_put(f, f->hub, PART("p-1", BINDING("b", "r")));
    fleet_settle(f);
    fleet_kill(f);
    take_role(f);
    fleet_start(f);
    assert_false(fleet_has(f, "clusterrolebindings/b"));
    assert_string_equal(fleet_manifest_condition(f, "p-1", 0, "Applied"), WITHHELD);
}

/* What stays when its work goes does not stay when it grants what nobody meant. */
static void test_of_an_orphaned_binding(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_work(f, "w",
               "{'deleteOption':{'propagationPolicy':'Orphan'},'workload':{'manifests':[" ROLE(
                   "r", "'get'") "," BINDING("b", "r") "]}}");
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterrolebindings/b"));
    take_role(f);
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterrolebindings/b"));
}

/* It keeps a finalizer: it is said that it goes, and the work is not let go before. */
static void test_of_a_binding_that_goes_slowly(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'") "," BINDING("b", "r"));
    fleet_settle(f);
    fleet_edit(f, f->managed, fleet_path(f, "clusterrolebindings/b"), "metadata.finalizers", "['x/y']");
    fleet_settle(f);
    take_role(f);
    fleet_settle(f);
    struct json binding = fleet_get(f, "clusterrolebindings/b");
    assert_true(object_is_deleting(&binding));
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterrolebindings/b")));
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_pass(f, 30);
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    struct json applied = fleet_applied(f, "w");
    assert_int_equal(json_len(json_dig(&applied, "status.appliedResources")), 2);
}

/* ---- Namespaces. ---- */

#define TEMPLATE "{\\'matchLabels\\':{\\'team\\':\\'x\\'}}"
#define FOREIGN_IN(ns) IN_NAMESPACE(ns, "r")

static void test_of_a_template(void **state)
{
    struct fleet *f = *state;
    fleet_namespace(f, "a", "'team':'x'");
    fleet_namespace(f, "b", "'team':'y'");
    fleet_put(f, f->managed, FOREIGN_IN("a"));
    fleet_put(f, f->managed, FOREIGN_IN("b"));
    fleet_start(f);
    fleet_put(f, f->hub, PART("p", SELECTED("r", TEMPLATE)));
    fleet_settle(f);
    fleet_pass(f, 2);
    fleet_put(f, f->hub, PART("p-1", IN("a", "in", "r") "," IN("b", "in", "r")));
    fleet_settle(f);
    fleet_pass(f, 2);
    assert_false(fleet_has(f, "rolebindings/a/in"));
    assert_true(fleet_has(f, "rolebindings/b/in")); /* there the existing one is meant */
}

/* ---- Others. ---- */

static void test_that_no_work_delivers(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, ROLE("view", "'get'"));
    fleet_start(f);
    fleet_work(f, "x",
               "{'manifestConfigs':[{'resourceIdentifier':{'group':'" RBAC
               "','resource':'clusterroles','name':'view','namespace':''},'updateStrategy':{'type':'ReadOnly'}}],"
               "'workload':{'manifests':[" ROLE("view", "'get'") "]}}");
    fleet_manifests(f, "w", BINDING("b", "view") "," BINDING("c", "none"));
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterrolebindings/b"));
    assert_true(fleet_has(f, "clusterrolebindings/c"));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
}

static void test_that_is_deleted_and_comes_again(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_put(f, f->hub, PART("p", ROLE("r", "'get'")));
    fleet_put(f, f->hub, PART("p-1", BINDING("b", "r")));
    fleet_settle(f);
    str before = uid_of(f, "clusterrolebindings/b");
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterroles/r"));
    assert_true(str_eq(uid_of(f, "clusterrolebindings/b"), before)); /* never away */
    assert_string_equal(fleet_condition(f, "p-1", "Applied"), COMPLETE);
}

/* The role moves to another part and changes: the binding is never away. */
static void test_that_moves(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_put(f, f->hub, PART("p", ROLE("r", "'get'") "," BINDING("b", "r")));
    fleet_settle(f);
    str before = uid_of(f, "clusterrolebindings/b");
    fleet_put(f, f->hub, PART("p-1", ROLE("r", "'list'")));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    fleet_manifests(f, "p", BINDING("b", "r"));
    fleet_settle(f);
    assert_true(str_eq(uid_of(f, "clusterrolebindings/b"), before));
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    assert_string_equal(fleet_condition(f, "p", "Applied"), COMPLETE);
}

/* A role that works share is changed by one after the other: what stands stays, what is new waits. */
static void test_that_another_work_leads(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_manifests(f, "x", ROLE("r", "'get'") "," BINDING("b", "r"));
    fleet_settle(f);
    str before = uid_of(f, "clusterrolebindings/b");
    fleet_manifests(f, "w", ROLE("r", "'list'"));
    fleet_manifests(f, "z", ROLE("r", "'watch'") "," BINDING("c", "r"));
    fleet_settle(f);
    assert_true(str_eq(uid_of(f, "clusterrolebindings/b"), before));
    assert_false(fleet_has(f, "clusterrolebindings/c"));
    assert_string_equal(
        fleet_manifest_condition(f, "z", 1, "Applied"),
        "False Conflict: Failed to apply manifest: ClusterRoleBinding \"c\" is withheld: its role, ClusterRole \"r\", "
        "is delivered by another ManifestWork with other content");
    assert_calm(f);
    fleet_manifests(f, "x", ROLE("r", "'list'") "," BINDING("b", "r"));
    fleet_manifests(f, "z", ROLE("r", "'list'") "," BINDING("c", "r"));
    fleet_settle(f);
    assert_true(str_eq(uid_of(f, "clusterrolebindings/b"), before));
    assert_true(fleet_has(f, "clusterrolebindings/c"));
    assert_string_equal(fleet_condition(f, "x", "Applied"), COMPLETE);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, fleet_set_up, fleet_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(of_one_work),
        T(of_another_work),
        T(of_a_work_that_comes_later),
        T(that_took_the_place_of_ours),
        T(while_the_agent_was_away),
        T(of_an_orphaned_binding),
        T(of_a_binding_that_goes_slowly),
        T(of_a_template),
        T(that_no_work_delivers),
        T(that_is_deleted_and_comes_again),
        T(that_moves),
        T(that_another_work_leads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
