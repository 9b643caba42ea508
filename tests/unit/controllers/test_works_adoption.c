/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the managed cluster that the agent did not create: left as they are unless their owner consents, and never deleted. */
#include "controllers/works/works.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "manifests.h"
#include "object/object.h"

#define NAMESPACE(name) "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'" name "'}}"
#define CONFIG(name, key) \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" name "','namespace':'a'},'data':{'" key "':'v'}}"
#define CONSENTING_CONFIG(name)                                                                               \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" name                                         \
    "','namespace':'a','annotations':{'" FLEET_ANNOTATION_ADOPT "':'true'},'labels':{'own':'kept'}},'data':{" \
    "'theirs':'v'}}"
#define CONSENTING_ROLE(verb)                                                                                         \
    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRole','metadata':{'name':'r','annotations':{'" FLEET_ANNOTATION_ADOPT \
    "':'true'}},'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':[" verb "]}]}"

static void assert_same(struct fleet *f, const char *object, const struct json *before)
{
    struct json now = fleet_get(f, object);
    if (!json_equal(&now, before))
        fail_msg("%s has changed", object);
}

static void assert_conflict(struct fleet *f, const char *work, size_t i)
{
    const char *text = fleet_manifest_condition(f, work, i, "Applied");
    if (strncmp(text, "False Conflict: ", strlen("False Conflict: ")) != 0)
        fail_msg("manifest %zu of %s: %s", i, work, text);
}

static const char *label_of(struct fleet *f, const char *object)
{
    struct json o = fleet_get(f, object);
    return str_cstr(&f->arena, object_label(&o, S(FLEET_LABEL_DELIVERED)));
}

/* ---- Without consent. ---- */

/* Nothing in it differs from what stands there, so an apply would succeed, and take it over. */
static void leaves_existing_objects_alone(void **state)
{
    struct fleet *f = *state;
    fleet_namespace(f, "a", "");
    fleet_put(f, f->managed, CONFIG("m", "k"));
    struct json space = fleet_get(f, "namespaces/a"), map = fleet_get(f, "configmaps/a/m");
    fleet_start(f);
    /* Once it watches these kinds, what its copy does not show need not be missing. */
    fleet_manifests(f, "earlier", NAMESPACE("b") "," CONFIG("o", "k"));
    fleet_settle(f);
    fleet_manifests(f, "w", NAMESPACE("a") "," CONFIG("m", "k") "," CONFIG("n", "k"));
    fleet_settle(f);
    assert_conflict(f, "w", 0);
    assert_conflict(f, "w", 1);
    assert_string_equal(fleet_manifest_condition(f, "w", 2, "Applied"), DONE);
    assert_string_equal(fleet_condition(f, "w", "Applied"), FAILED);
    assert_same(f, "namespaces/a", &space);
    assert_same(f, "configmaps/a/m", &map);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_same(f, "namespaces/a", &space);
    assert_same(f, "configmaps/a/m", &map);
    assert_false(fleet_has(f, "configmaps/a/n"));
}

/* The manifest cannot consent for who owns the object. */
static void a_manifest_cannot_consent(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, ROLE("r", "'watch'"));
    struct json before = fleet_get(f, "clusterroles/r");
    fleet_start(f);
    fleet_manifests(f, "w", CONSENTING_ROLE("'get'"));
    fleet_settle(f);
    assert_conflict(f, "w", 0);
    assert_same(f, "clusterroles/r", &before);
}

/* Somebody creates one of that name after the agent looked and before it writes. */
static void never_creates_onto_an_object(void **state)
{
    static const char *const strategies[] = {"'type':'Update'", "'type':'ServerSideApply'", "'type':'CreateOnly'"};
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "earlier", CONFIG("o", "k"));
    fleet_settle(f);
    for (size_t i = 0; i < COUNT(strategies); i++) {
        const char *work = str_cstr(&f->arena, str_fmt(&f->arena, "w%zu", i));
        const char *map = str_cstr(&f->arena, str_fmt(&f->arena, "m%zu", i));
        const char *path = str_cstr(&f->arena, str_fmt(&f->arena, "configmaps/a/%s", map));
        fleet_put(f, f->managed,
                  str_cstr(&f->arena, str_fmt(&f->arena,
                                              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s',"
                                              "'namespace':'a'},'data':{'theirs':'v'}}",
                                              map)));
        struct json before = fleet_get(f, path);
        fake_fault(f->managed, &(struct fake_fault){.type = FAKE_ANSWER,
                                                    .method = S("GET"),
                                                    .prefix = str_of(fleet_path(f, path)),
                                                    .times = 1,
                                                    .status = 404});
        fleet_work(
            f, work,
            str_cstr(&f->arena, str_fmt(&f->arena,
                                        "{'manifestConfigs':[{'resourceIdentifier':{'group':'','resource':'configmaps',"
                                        "'name':'*','namespace':'a'},'updateStrategy':{%s}}],'workload':{'manifests':[{"
                                        "'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s','namespace':'a'},"
                                        "'data':{'k':'v'}}]}}",
                                        strategies[i], map)));
        fleet_settle(f);
        fake_heal(f->managed);
        assert_conflict(f, work, 0);
        assert_same(f, path, &before);
    }
}

/* ---- With consent. ---- */

static void adopts_and_orphans(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, CONSENTING_ROLE("'watch'"));
    fleet_put(f, f->managed, CONSENTING_CONFIG("m"));
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'") "," CONFIG("m", "ours"));
    fleet_settle(f);
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    assert_int_equal(fleet_owners(f, "clusterroles/r"), 0);
    assert_int_equal(fleet_owners(f, "configmaps/a/m"), 0);
    assert_string_equal(label_of(f, "clusterroles/r"), FLEET_ADOPTED);
    struct json map = fleet_get(f, "configmaps/a/m");
    assert_string_equal(str_cstr(&f->arena, json_text(json_dig(&map, "data.ours"))), "v");
    assert_string_equal(str_cstr(&f->arena, object_label(&map, S("own"))), "kept");
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "rules", "[]"); /* kept as the work says */
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    fake_log_clear(f->managed);
    fleet_kill(f); /* what it knows of adopted objects stands on them */
    fleet_start(f);
    fleet_pass(f, 3600);
    assert_int_equal(fake_writes(f->managed), 0);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_false(fleet_has_applied(f, "w"));
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    assert_string_equal(label_of(f, "clusterroles/r"), "");
    map = fleet_get(f, "configmaps/a/m");
    assert_null(json_get(object_annotations(&map), S(FLEET_ANNOTATION_ADOPTED_BY)));
    assert_string_equal(str_cstr(&f->arena, object_label(&map, S("own"))), "kept");
}

/* A manifest that is dropped from a work releases its object, as the end of the work does. */
static void releases_what_is_dropped(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, CONSENTING_CONFIG("m"));
    fleet_start(f);
    fleet_manifests(f, "w", CONFIG("m", "k") "," CONFIG("n", "k"));
    fleet_settle(f);
    assert_string_equal(label_of(f, "configmaps/a/m"), FLEET_ADOPTED);
    fleet_manifests(f, "w", CONFIG("n", "k"));
    fleet_settle(f);
    assert_string_equal(label_of(f, "configmaps/a/m"), "");
    assert_true(fleet_has(f, "configmaps/a/n"));
}

static void stops_when_consent_is_withdrawn(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, CONSENTING_ROLE("'watch'"));
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "metadata.annotations", "{}");
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "rules", "[]");
    struct json before = fleet_get(f, "clusterroles/r");
    fleet_settle(f);
    assert_conflict(f, "w", 0);
    assert_same(f, "clusterroles/r", &before);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_true(fleet_has(f, "clusterroles/r"));
}

/* A roleRef can only be changed by deleting the binding. */
static void never_makes_an_adopted_binding_anew(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, BINDING("b", "s"));
    fleet_edit(f, f->managed, fleet_path(f, "clusterrolebindings/b"), "metadata.annotations",
               "{'" FLEET_ANNOTATION_ADOPT "':'true'}");
    struct json before = fleet_get(f, "clusterrolebindings/b");
    fleet_start(f);
    fleet_manifests(f, "w", BINDING("b", "r"));
    fleet_settle(f);
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Applied"),
                        "False Conflict: Failed to apply manifest: ClusterRoleBinding \"b\" is adopted and has another "
                        "roleRef, which cannot be changed");
    assert_same(f, "clusterrolebindings/b", &before);
}

/* The first that adopts decides; when it goes, the next does. */
static void adopters_do_not_fight(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, CONSENTING_ROLE("'watch'"));
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_manifests(f, "x", ROLE("r", "'list'"));
    fleet_settle(f);
    assert_conflict(f, "x", 0);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    fleet_manifests(f, "x", ROLE("r", "'get'"));
    fleet_settle(f);
    assert_string_equal(fleet_condition(f, "x", "Applied"), COMPLETE);
    fake_log_clear(f->managed);
    fleet_pass(f, 3600);
    assert_int_equal(fake_writes(f->managed), 0);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    struct json role = fleet_get(f, "clusterroles/r"), applied = fleet_applied(f, "x");
    assert_string_equal(str_cstr(&f->arena, object_annotation(&role, S(FLEET_ANNOTATION_ADOPTED_BY))),
                        str_cstr(&f->arena, object_name(&applied)));
}

/* A binding of an adopted role stands: the role says what its work says. */
static void binds_adopted_roles(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, CONSENTING_ROLE("'watch'"));
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_manifests(f, "x", BINDING("b", "r"));
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterrolebindings/b"));
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "metadata.annotations", "{}");
    fleet_settle(f);
    fleet_pass(f, 60);
    assert_false(fleet_has(f, "clusterrolebindings/b"));
}

/* ---- What cannot be deleted. ---- */

/* An agent of an earlier release has taken Namespace "default" over. Servers refuse to delete it. */
static void a_work_that_names_an_undeletable_namespace_goes(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", NAMESPACE("default"));
    fleet_settle(f);
    assert_true(fleet_has(f, "namespaces/default"));
    assert_int_equal(fleet_owners(f, "namespaces/default"), 1);
    fake_fault(f->managed, &(struct fake_fault){.type = FAKE_ANSWER,
                                                .method = S("DELETE"),
                                                .prefix = S("/api/v1/namespaces/default"),
                                                .status = 403});
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_int_equal(fleet_owners(f, "namespaces/default"), 0);
}

/* Another object that the server refuses to delete: the work waits, and its condition says what for. */
static void says_what_cannot_be_deleted(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", CONFIG("m", "k"));
    fleet_settle(f);
    fake_fault(f->managed, &(struct fake_fault){.type = FAKE_ANSWER,
                                                .method = S("DELETE"),
                                                .prefix = S("/api/v1/namespaces/a/configmaps/m"),
                                                .status = 403});
    fleet_delete_work(f, "w");
    fleet_settle(f);
    const char *text = fleet_condition(f, "w", "Deleting");
    assert_non_null(strstr(text, "True WorkDeleting: ManifestWork is being deleted. Its objects cannot be removed yet: "
                                 "remove configmaps m: "));
    fake_heal(f->managed);
    fleet_pass(f, 120);
    assert_false(fleet_has_work(f, "w"));
    assert_false(fleet_has(f, "configmaps/a/m"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, fleet_set_up, fleet_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(leaves_existing_objects_alone),
        T(a_manifest_cannot_consent),
        T(never_creates_onto_an_object),
        T(adopts_and_orphans),
        T(releases_what_is_dropped),
        T(stops_when_consent_is_withdrawn),
        T(never_makes_an_adopted_binding_anew),
        T(adopters_do_not_fight),
        T(binds_adopted_roles),
        T(a_work_that_names_an_undeletable_namespace_goes),
        T(says_what_cannot_be_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
