/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds the server knows. What is written down here is what a Kubernetes 1.32 API server tells in discovery. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/builtin.h"
#include "kinds/columns.h"
#include "kinds/registry.h"
#include "kinds/strategy.h"

/* group version plural Kind singular scope [short names] [categories] verbs subresources(verbs) */
static const char *const expected[] = {
    " v1 configmaps ConfigMap configmap Namespaced [cm] [] ALL",
    " v1 endpoints Endpoints endpoints Namespaced [ep] [] ALL",
    " v1 events Event event Namespaced [ev] [] ALL",
    " v1 limitranges LimitRange limitrange Namespaced [limits] [] ALL",
    " v1 namespaces Namespace namespace Cluster [ns] [] create,delete,get,list,patch,update,watch finalize(update) "
    "status(get,patch,update)",
    " v1 nodes Node node Cluster [no] [] ALL status(get,patch,update)",
    " v1 persistentvolumeclaims PersistentVolumeClaim persistentvolumeclaim Namespaced [pvc] [] ALL "
    "status(get,patch,update)",
    " v1 persistentvolumes PersistentVolume persistentvolume Cluster [pv] [] ALL status(get,patch,update)",
    " v1 pods Pod pod Namespaced [po] [all] ALL ephemeralcontainers(get,patch,update) status(get,patch,update)",
    " v1 podtemplates PodTemplate podtemplate Namespaced [] [] ALL",
    " v1 replicationcontrollers ReplicationController replicationcontroller Namespaced [rc] [all] ALL "
    "scale=autoscaling/v1/Scale(get,patch,update) status(get,patch,update)",
    " v1 resourcequotas ResourceQuota resourcequota Namespaced [quota] [] ALL status(get,patch,update)",
    " v1 secrets Secret secret Namespaced [] [] ALL",
    " v1 serviceaccounts ServiceAccount serviceaccount Namespaced [sa] [] ALL "
    "token=authentication.k8s.io/v1/TokenRequest(create)",
    " v1 services Service service Namespaced [svc] [all] ALL status(get,patch,update)",
    "apps v1 controllerrevisions ControllerRevision controllerrevision Namespaced [] [] ALL",
    "apps v1 daemonsets DaemonSet daemonset Namespaced [ds] [all] ALL status(get,patch,update)",
    "apps v1 deployments Deployment deployment Namespaced [deploy] [all] ALL scale=autoscaling/v1/Scale(get,patch,update) "
    "status(get,patch,update)",
    "apps v1 replicasets ReplicaSet replicaset Namespaced [rs] [all] ALL scale=autoscaling/v1/Scale(get,patch,update) "
    "status(get,patch,update)",
    "apps v1 statefulsets StatefulSet statefulset Namespaced [sts] [all] ALL scale=autoscaling/v1/Scale(get,patch,update) "
    "status(get,patch,update)",
    "events.k8s.io v1 events Event event Namespaced [ev] [] ALL",
    "authentication.k8s.io v1 selfsubjectreviews SelfSubjectReview selfsubjectreview Cluster [] [] create",
    "authentication.k8s.io v1 tokenreviews TokenReview tokenreview Cluster [] [] create",
    "authorization.k8s.io v1 localsubjectaccessreviews LocalSubjectAccessReview localsubjectaccessreview Namespaced [] [] "
    "create",
    "authorization.k8s.io v1 selfsubjectaccessreviews SelfSubjectAccessReview selfsubjectaccessreview Cluster [] [] create",
    "authorization.k8s.io v1 selfsubjectrulesreviews SelfSubjectRulesReview selfsubjectrulesreview Cluster [] [] create",
    "authorization.k8s.io v1 subjectaccessreviews SubjectAccessReview subjectaccessreview Cluster [] [] create",
    "autoscaling v2 horizontalpodautoscalers HorizontalPodAutoscaler horizontalpodautoscaler Namespaced [hpa] [all] ALL "
    "status(get,patch,update)",
    "autoscaling v1 horizontalpodautoscalers HorizontalPodAutoscaler horizontalpodautoscaler Namespaced [hpa] [all] ALL "
    "status(get,patch,update)",
    "batch v1 cronjobs CronJob cronjob Namespaced [cj] [all] ALL status(get,patch,update)",
    "batch v1 jobs Job job Namespaced [] [all] ALL status(get,patch,update)",
    "certificates.k8s.io v1 certificatesigningrequests CertificateSigningRequest certificatesigningrequest Cluster [csr] [] "
    "ALL approval(get,patch,update) status(get,patch,update)",
    "networking.k8s.io v1 ingressclasses IngressClass ingressclass Cluster [] [] ALL",
    "networking.k8s.io v1 ingresses Ingress ingress Namespaced [ing] [] ALL status(get,patch,update)",
    "networking.k8s.io v1 networkpolicies NetworkPolicy networkpolicy Namespaced [netpol] [] ALL",
    "policy v1 poddisruptionbudgets PodDisruptionBudget poddisruptionbudget Namespaced [pdb] [] ALL "
    "status(get,patch,update)",
    "rbac.authorization.k8s.io v1 clusterrolebindings ClusterRoleBinding clusterrolebinding Cluster [] [] ALL",
    "rbac.authorization.k8s.io v1 clusterroles ClusterRole clusterrole Cluster [] [] ALL",
    "rbac.authorization.k8s.io v1 rolebindings RoleBinding rolebinding Namespaced [] [] ALL",
    "rbac.authorization.k8s.io v1 roles Role role Namespaced [] [] ALL",
    "storage.k8s.io v1 storageclasses StorageClass storageclass Cluster [sc] [] ALL",
    "apiextensions.k8s.io v1 customresourcedefinitions CustomResourceDefinition customresourcedefinition Cluster [crd,crds] "
    "[api-extensions] ALL status(get,patch,update)",
    "scheduling.k8s.io v1 priorityclasses PriorityClass priorityclass Cluster [pc] [] ALL",
    "coordination.k8s.io v1 leases Lease lease Namespaced [] [] ALL",
    "node.k8s.io v1 runtimeclasses RuntimeClass runtimeclass Cluster [] [] ALL",
    "discovery.k8s.io v1 endpointslices EndpointSlice endpointslice Namespaced [] [] ALL",
};

static void add_verbs(struct buf *b, unsigned verbs)
{
    if (verbs == VERBS_ALL) {
        buf_add_str(b, S("ALL"));
        return;
    }
    bool first = true;
    for (unsigned bit = 1; bit <= VERB_WATCH; bit <<= 1)
        if (verbs & bit) {
            buf_fmt(b, "%s%s", first ? "" : ",", verb_name(bit));
            first = false;
        }
}

static void add_list(struct buf *b, const char *const *list)
{
    buf_add_str(b, S(" ["));
    for (size_t i = 0; list && list[i]; i++)
        buf_fmt(b, "%s%s", i ? "," : "", list[i]);
    buf_add_char(b, ']');
}

static str describe(struct arena *a, const struct kind *k)
{
    struct buf b = {.arena = a};
    buf_fmt(&b, "%s %s %s %s %s %s", k->group, k->version, k->plural, k->kind, k->singular,
            k->namespaced ? "Namespaced" : "Cluster");
    add_list(&b, k->short_names);
    add_list(&b, k->categories);
    buf_add_char(&b, ' ');
    add_verbs(&b, k->verbs);
    for (size_t i = 0; i < k->n_subresources; i++) {
        const struct kind_subresource *s = &k->subresources[i];
        buf_fmt(&b, " %s", s->name);
        if (s->kind)
            buf_fmt(&b, "=%s/%s/%s", s->group, s->version, s->kind);
        buf_add_char(&b, '(');
        add_verbs(&b, s->verbs);
        buf_add_char(&b, ')');
    }
    return buf_str(&b);
}

static void assert_text(str got, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    assert_string_equal(str_cstr(&a, got), want);
}

/* JSON with ' for ". */
static struct json parse(struct arena *a, const char *text)
{
    char *p = str_cstr(a, str_of(text));
    for (size_t i = 0; p[i]; i++)
        p[i] = p[i] == '\'' ? '"' : p[i];
    struct json v;
    struct err err;
    assert_int_equal(json_decode(a, str_of(p), NULL, NULL, &v, &err), 0);
    return v;
}

static const char widgets[] =
    "{'metadata': {'name': 'widgets.example.com'}, 'spec': {'group': 'example.com', 'scope': 'Namespaced',"
    " 'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList',"
    "  'shortNames': ['wd'], 'categories': ['all', 'things']},"
    " 'versions': [{'name': 'v1beta1', 'served': true, 'storage': false, 'deprecated': true},"
    "  {'name': 'v1alpha1', 'served': false, 'storage': false},"
    "  {'name': 'v2', 'served': true, 'storage': false, 'deprecated': true, 'deprecationWarning': 'soon gone'},"
    "  {'name': 'v1', 'served': true, 'storage': true,"
    "   'subresources': {'status': {}, 'scale': {'specReplicasPath': '.spec.replicas',"
    "    'statusReplicasPath': '.status.replicas', 'labelSelectorPath': '.status.selector'}},"
    "   'selectableFields': [{'jsonPath': '.spec.color'}],"
    "   'additionalPrinterColumns': [{'name': 'Size', 'type': 'integer', 'jsonPath': '.spec.size'}]}]},"
    " 'status': {'acceptedNames': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget',"
    "   'listKind': 'WidgetList', 'shortNames': ['wd'], 'categories': ['all', 'things']},"
    "  'conditions': [{'type': 'Established', 'status': 'True'}]}}";

static struct registry *with_widgets(struct arena *a)
{
    struct registry *r = registry_new();
    struct json crd = parse(a, widgets);
    struct err err;
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    return r;
}

/* ---- Built-in kinds. ---- */

/* A CRD of another group and plural never shares a table with a built-in kind. */
static void test_tables_are_named_after_builtin_resources(void **state)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++) {
        if (k->flags & KIND_NO_PATH)
            continue;
        const struct kind *stored = strategy_storage_kind(k);
        assert_true(kind_is_builtin_resource(str_of(k->group), str_of(k->plural)));
        assert_true(kind_is_builtin_resource(str_of(stored->group), str_of(stored->plural)));
    }
    assert_false(kind_is_builtin_resource(S("example.com"), S("configmaps")));
    assert_false(kind_is_builtin_resource(S("rbac.authorization.k8s.io"), S("configmaps")));
    assert_false(kind_is_builtin_resource(S("authentication.k8s.io"), S("tokenrequests"))); /* has no path */
}

static void test_builtin_kinds_are_those_of_discovery(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    size_t n = 0;
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++) {
        if (k->flags & KIND_NO_PATH)
            continue;
        assert_true(n < COUNT(expected));
        assert_text(describe(&a, k), expected[n++]);
    }
    assert_int_equal(n, COUNT(expected));
}

static void test_write_rules_follow_the_kind(void **state)
{
    static const struct {
        const char *group, *plural;
        unsigned flags;
    } rules[] = {
        {"", "configmaps", KIND_UNCONDITIONAL},
        {"", "namespaces", KIND_UNCONDITIONAL | KIND_DELETE_OBJECT},
        {"", "secrets", KIND_UNCONDITIONAL},
        {"", "serviceaccounts", KIND_UNCONDITIONAL | KIND_DELETE_OBJECT},
        {"", "events", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT},
        {"", "services", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT | KIND_DELETE_OBJECT},
        {"", "pods", KIND_UNCONDITIONAL | KIND_DELETE_OBJECT},
        {"", "nodes", KIND_UNCONDITIONAL},
        {"", "resourcequotas", KIND_UNCONDITIONAL | KIND_DELETE_OBJECT},
        {"", "limitranges", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT},
        {"apps", "deployments", KIND_UNCONDITIONAL | KIND_GENERATION | KIND_GENERATION_NOTES},
        {"apps", "replicasets", KIND_UNCONDITIONAL | KIND_GENERATION},
        {"batch", "jobs", KIND_UNCONDITIONAL | KIND_GENERATION | KIND_ORPHANS},
        {"coordination.k8s.io", "leases", KIND_CREATE_ON_PUT},
        {"events.k8s.io", "events", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT},
        {"rbac.authorization.k8s.io", "roles", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT},
        {"rbac.authorization.k8s.io", "clusterroles", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT},
        {"rbac.authorization.k8s.io", "rolebindings", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT},
        {"rbac.authorization.k8s.io", "clusterrolebindings", KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT},
        {"apiextensions.k8s.io", "customresourcedefinitions", KIND_GENERATION},
        {"certificates.k8s.io", "certificatesigningrequests", KIND_UNCONDITIONAL},
        {"authorization.k8s.io", "subjectaccessreviews", KIND_NOT_STORED},
        {"authentication.k8s.io", "tokenreviews", KIND_NOT_STORED},
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        const struct kind *k = kind_builtin_by_path(str_of(rules[i].group), S("v1"), str_of(rules[i].plural));
        assert_non_null(k);
        assert_int_equal(k->flags, rules[i].flags);
    }
}

static void test_bodies_find_their_kind(void **state)
{
    assert_string_equal(kind_builtin_by_body(S("v1"), S("Pod"))->plural, "pods");
    assert_string_equal(kind_builtin_by_body(S("apps/v1"), S("Deployment"))->plural, "deployments");
    assert_string_equal(kind_builtin_by_body(S("events.k8s.io/v1"), S("Event"))->group, "events.k8s.io");
    assert_string_equal(kind_builtin_by_body(S("v1"), S("Event"))->group, "");
    assert_string_equal(kind_builtin_by_body(S("autoscaling/v1"), S("Scale"))->kind, "Scale");
    assert_string_equal(kind_builtin_by_body(S("authentication.k8s.io/v1"), S("TokenRequest"))->kind, "TokenRequest");
    assert_string_equal(kind_builtin_by_body(S("meta.k8s.io/v1"), S("Table"))->kind, "Table");
    assert_null(kind_builtin_by_body(S("v2"), S("Pod")));
    assert_null(kind_builtin_by_body(S("apps/v1"), S("Pod")));
    assert_null(kind_builtin_by_body(S("a/b/v1"), S("Pod")));
    assert_null(kind_builtin_by_path(S(""), S("v1"), S("")));
    /* In every group. */
    assert_string_equal(kind_builtin_by_body(S("apps/v1"), S("DeleteOptions"))->kind, "DeleteOptions");
    assert_string_equal(kind_builtin_by_body(S("v1"), S("Status"))->kind, "Status");
}

/* Every number, within its message, and every name stands in a table once; keys name fields that exist. */
static void check_shape(const struct shape *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct shape_field *f = &s->fields[i];
        assert_ptr_equal(shape_find(s, str_of(f->name)), f);
        if (f->number)
            assert_ptr_equal(shape_find_number(s, f->within, f->number), f);
        if (f->within)
            assert_null(shape_find_number(s, 0, f->within));
        assert_int_equal(f->type == SHAPE_RECORD, f->record && f->type < SHAPE_JSON_OR_BOOL);
        assert_int_equal(f->merge == SHAPE_KEYED, f->keys != NULL);
        str rest = str_of(f->keys), key;
        while (rest.n) {
            str_cut(rest, ',', &key, &rest);
            assert_non_null(shape_find(f->record, key));
        }
        if (f->smp_key)
            assert_non_null(shape_find(f->record, str_of(f->smp_key)));
        if (f->record && f->record != s) /* schemas nest themselves */
            check_shape(f->record);
    }
}

static void test_tables_hold_together(void **state)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++) {
        check_shape(k->shape);
        assert_non_null(shape_find(k->shape, S("apiVersion")));
        assert_string_equal(k->shape->name, k->kind);
    }
}

static void test_version_order(void **state)
{
    static const char *const order[] = {"v10",     "v2",      "v1",        "v12beta1",
                                        "v2beta2", "v2beta1", "v1alpha11", "v1alpha2",
                                        "foo10",   "foo3",    "v1gamma1",  "v99999999999999999999"};
    for (size_t i = 0; i < COUNT(order); i++)
        for (size_t j = 0; j < COUNT(order); j++) {
            int cmp = kind_version_order(str_of(order[i]), str_of(order[j]));
            assert_true(i < j ? cmp < 0 : i > j ? cmp > 0 : cmp == 0);
        }
}

/* ---- Kinds of CRDs. ---- */

static void test_crd_becomes_kinds(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    const struct kind *k = registry_by_path(r, S("example.com"), S("v1"), S("widgets"));
    assert_non_null(k);
    assert_text(describe(&a, k), "example.com v1 widgets Widget widget Namespaced [wd] [all,things] ALL "
                                 "scale=autoscaling/v1/Scale(get,patch,update) status(get,patch,update)");
    assert_int_equal(k->flags, KIND_CUSTOM | KIND_GENERATION);
    assert_string_equal(k->list_kind, "WidgetList");
    assert_string_equal(k->crd, "widgets.example.com");
    assert_string_equal(k->storage_version, "v1");
    assert_string_equal(k->selectable[0], "spec.color");
    assert_null(k->selectable[1]);
    assert_string_equal(k->scale->spec_replicas, ".spec.replicas");
    assert_string_equal(k->scale->selector, ".status.selector");
    assert_null(k->shape);
    assert_int_equal(k->columns->n, 2);
    assert_string_equal(k->columns->list[1].name, "Size");

    k = registry_by_path(r, S("example.com"), S("v1beta1"), S("widgets"));
    assert_int_equal(k->flags, KIND_CUSTOM | KIND_GENERATION | KIND_DEPRECATED);
    assert_string_equal(k->deprecation_warning, "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget");
    assert_string_equal(k->columns->list[1].name, "Age");
    assert_int_equal(k->n_subresources, 0);
    k = registry_by_path(r, S("example.com"), S("v2"), S("widgets"));
    assert_string_equal(k->deprecation_warning, "soon gone");
    assert_null(registry_by_path(r, S("example.com"), S("v1alpha1"), S("widgets"))); /* not served */
    registry_free(r);
}

static void test_kinds_are_found_by_all_their_names(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    assert_string_equal(registry_by_body(r, S("example.com/v1"), S("Widget"))->version, "v1");
    assert_null(registry_by_body(r, S("example.com/v3"), S("Widget")));
    assert_string_equal(registry_by_body(r, S("v1"), S("Pod"))->plural, "pods");
    assert_string_equal(registry_by_body(r, S("example.com/v1"), S("DeleteOptions"))->kind, "DeleteOptions");
    assert_string_equal(registry_by_kind(r, S("example.com"), S("Widget"))->version, "v2");
    assert_string_equal(registry_by_kind(r, S("apps"), S("Deployment"))->version, "v1");
    assert_null(registry_by_kind(r, S(""), S("Widget")));
    static const char *const words[] = {"widgets", "widget", "wd", "widgets.example.com", "wd.example.com"};
    for (size_t i = 0; i < COUNT(words); i++)
        assert_string_equal(registry_by_word(r, str_of(words[i]))->kind, "Widget");
    assert_string_equal(registry_by_word(r, S("cm"))->kind, "ConfigMap");
    assert_string_equal(registry_by_word(r, S("deploy.apps"))->kind, "Deployment");
    assert_string_equal(registry_by_word(r, S("events"))->group, "");
    assert_null(registry_by_word(r, S("")));
    assert_null(registry_by_word(r, S("scale")));
    registry_free(r);
}

static void test_crd_that_is_not_established_claims_names_only(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = registry_new();
    struct json crd = parse(&a, widgets);
    struct err err;
    json_set(&a, json_get_mut(&crd, S("status")), S("conditions"), json_arr());
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    assert_null(registry_by_path(r, S("example.com"), S("v1"), S("widgets")));
    registry_free(r);
}

static void test_terminating_crd_takes_no_new_objects(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = registry_new();
    struct json crd = parse(&a, widgets), terminating = parse(&a, "{'type': 'Terminating', 'status': 'True'}");
    struct err err;
    json_push(&a, json_get_mut(json_get_mut(&crd, S("status")), S("conditions")), terminating);
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    struct buf b = {.arena = &a};
    add_verbs(&b, registry_by_path(r, S("example.com"), S("v1"), S("widgets"))->verbs);
    assert_text(buf_str(&b), "delete,deletecollection,get,list,watch");
    registry_free(r);
}

static void test_changes_are_counted_and_complete(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    struct err err;
    uint64_t before = registry_generation(r);
    struct json crd = parse(&a, widgets);
    struct json *versions = json_get_mut(json_get_mut(&crd, S("spec")), S("versions"));
    while (versions->n > 1)
        json_erase(versions, versions->n - 1); /* only v1beta1 is left */
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    assert_true(registry_generation(r) > before);
    assert_null(registry_by_path(r, S("example.com"), S("v1"), S("widgets")));
    assert_string_equal(registry_by_kind(r, S("example.com"), S("Widget"))->version, "v1beta1");
    before = registry_generation(r);
    assert_false(registry_remove_crd(r, S("others.example.com")));
    assert_int_equal(registry_generation(r), before);
    assert_true(registry_remove_crd(r, S("widgets.example.com")));
    assert_null(registry_by_kind(r, S("example.com"), S("Widget")));
    assert_null(registry_by_word(r, S("wd")));
    assert_true(registry_generation(r) > before);
    registry_free(r);
}

static void test_held_kind_outlives_its_crd(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    const struct kind *k = registry_hold(registry_by_path(r, S("example.com"), S("v1"), S("widgets")));
    const struct kind *pod = registry_hold(registry_by_body(r, S("v1"), S("Pod"))); /* static: nothing to hold */
    registry_remove_crd(r, S("widgets.example.com"));
    registry_free(r);
    assert_string_equal(k->plural, "widgets");
    assert_string_equal(k->columns->list[1].name, "Size");
    registry_release(k);
    registry_release(pod);
    registry_release(NULL);
}

static void test_builtin_kinds_cannot_be_replaced(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = registry_new();
    struct err err;
    struct json crd = parse(
        &a,
        "{'metadata': {'name': 'roles.rbac.authorization.k8s.io'}, 'spec': {'group': 'rbac.authorization.k8s.io',"
        " 'names': {'plural': 'roles', 'kind': 'Role'}, 'versions': [{'name': 'v1', 'served': true, 'storage': true},"
        "  {'name': 'v2', 'served': true, 'storage': false}]},"
        " 'status': {'acceptedNames': {'plural': 'roles', 'kind': 'Role'},"
        "  'conditions': [{'type': 'Established', 'status': 'True'}]}}");
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    assert_int_equal(registry_by_path(r, S("rbac.authorization.k8s.io"), S("v1"), S("roles"))->flags & KIND_CUSTOM, 0);
    assert_int_equal(registry_by_body(r, S("rbac.authorization.k8s.io/v1"), S("Role"))->flags & KIND_CUSTOM, 0);
    assert_null(registry_by_path(r, S("rbac.authorization.k8s.io"), S("v2"), S("roles")));
    registry_remove_crd(r, S("roles.rbac.authorization.k8s.io"));
    assert_non_null(registry_by_path(r, S("rbac.authorization.k8s.io"), S("v1"), S("roles")));
    registry_free(r);
}

static void test_crd_without_name_is_refused(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = registry_new();
    struct json crd = parse(&a, "{'spec': {'group': 'example.com'}}");
    struct err err;
    assert_int_equal(registry_put_crd(r, &crd, &err), ERR_INVALID);
    assert_int_equal(registry_generation(r), 0);
    registry_free(r);
}

/* ---- Names. ---- */

static void accept(struct registry *r, struct arena *a, const char *crd_text, const char *want_names,
                   const char *want_condition)
{
    struct json crd = parse(a, crd_text), names, expected_names = parse(a, want_names);
    struct condition c;
    registry_accept_names(a, r, &crd, &names, &c);
    assert_true(json_equal(&names, &expected_names));
    assert_text(str_fmt(a, "%.*s %.*s %.*s %.*s", STR(c.type), STR(c.status), STR(c.reason), STR(c.message)),
                want_condition);
}

static void test_free_names_are_accepted(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    accept(r, &a,
           "{'spec': {'group': 'other.com', 'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget',"
           " 'listKind': 'WidgetList', 'shortNames': ['wd'], 'categories': ['all']}}}",
           "{'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList',"
           " 'shortNames': ['wd'], 'categories': ['all']}",
           "NamesAccepted True NoConflicts no conflicts found");
    accept(r, &a, widgets, /* its own names are no conflict */
           "{'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList',"
           " 'shortNames': ['wd'], 'categories': ['all', 'things']}",
           "NamesAccepted True NoConflicts no conflicts found");
    registry_free(r);
}

static void test_names_in_use_are_refused_one_by_one(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    accept(r, &a,
           "{'spec': {'group': 'example.com', 'names': {'plural': 'foos', 'kind': 'Foo', 'listKind': 'WidgetList'}}}",
           "{'plural': 'foos', 'kind': 'Foo'}",
           "NamesAccepted False ListKindConflict \"WidgetList\" is already in use");
    accept(r, &a, "{'spec': {'group': 'example.com', 'names': {'plural': 'foos', 'kind': 'Widget', 'listKind': 'L'}}}",
           "{'plural': 'foos', 'listKind': 'L'}", "NamesAccepted False KindConflict \"Widget\" is already in use");
    accept(r, &a, "{'spec': {'group': 'example.com', 'names': {'plural': 'wd', 'kind': 'Foo', 'listKind': 'L'}}}",
           "{'kind': 'Foo', 'listKind': 'L'}", "NamesAccepted False PluralConflict \"wd\" is already in use");
    accept(r, &a,
           "{'spec': {'group': 'example.com', 'names': {'plural': 'foos', 'singular': 'widget', 'kind': 'Foo'}}}",
           "{'plural': 'foos', 'kind': 'Foo'}", "NamesAccepted False SingularConflict \"widget\" is already in use");
    accept(r, &a,
           "{'spec': {'group': 'example.com', 'names': {'plural': 'foos', 'kind': 'Foo', 'shortNames': ['a', 'wd']}}}",
           "{'plural': 'foos', 'kind': 'Foo'}", "NamesAccepted False ShortNamesConflict \"wd\" is already in use");
    accept(r, &a,
           "{'spec': {'group': 'example.com', 'names': {'plural': 'foos', 'kind': 'Foo',"
           " 'shortNames': ['wd', 'widgets', 'wd']}}}",
           "{'plural': 'foos', 'kind': 'Foo'}",
           "NamesAccepted False ShortNamesConflict [\"wd\" is already in use, \"widgets\" is already in use]");
    accept(r, &a, "{'spec': {'group': 'apps', 'names': {'plural': 'foos', 'kind': 'Deployment', 'listKind': 'L'}}}",
           "{'plural': 'foos', 'listKind': 'L'}", "NamesAccepted False KindConflict \"Deployment\" is already in use");
    registry_free(r);
}

static void test_refused_names_keep_what_was_accepted(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    accept(
        r, &a,
        "{'spec': {'group': 'example.com', 'names': {'plural': 'foos', 'kind': 'Widget', 'shortNames': ['f', 'wd']}},"
        " 'status': {'acceptedNames': {'plural': 'foos', 'kind': 'Foo', 'shortNames': ['f'], 'categories': ['x']}}}",
        "{'plural': 'foos', 'kind': 'Foo', 'shortNames': ['f']}",
        "NamesAccepted False KindConflict \"Widget\" is already in use");
    registry_free(r);
}

/* ---- Discovery. ---- */

static void test_versions_are_there_while_a_kind_is(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    struct err err;
    assert_true(registry_has_version(r, S(""), S("v1")));
    assert_true(registry_has_version(r, S("apps"), S("v1")));
    assert_true(registry_has_version(r, S("example.com"), S("v2")));
    assert_false(registry_has_version(r, S("apps"), S("v2")));
    assert_false(registry_has_version(r, S("meta.k8s.io"), S("v1"))); /* its kinds have no paths */
    assert_false(registry_has_version(r, S("example.org"), S("v1")));
    struct json crd = parse(&a, "{'metadata': {'name': 'gears.example.com'}, 'spec': {'group': 'example.com',"
                                " 'versions': [{'name': 'v1', 'served': true, 'storage': true}]},"
                                " 'status': {'acceptedNames': {'plural': 'gears', 'kind': 'Gear'},"
                                "  'conditions': [{'type': 'Established', 'status': 'True'}]}}");
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    registry_remove_crd(r, S("widgets.example.com"));
    assert_true(registry_has_version(r, S("example.com"), S("v1")));
    assert_false(registry_has_version(r, S("example.com"), S("v2")));
    registry_remove_crd(r, S("gears.example.com"));
    assert_false(registry_has_version(r, S("example.com"), S("v1")));
    registry_free(r);
}

static void test_groups_in_order(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct registry *r = with_widgets(&a);
    struct err err;
    struct json crd = parse(&a, widgets), *spec = json_get_mut(&crd, S("spec"));
    json_set(&a, spec, S("group"), json_str(S("acme.com")));
    json_set(&a, json_get_mut(&crd, S("metadata")), S("name"), json_str(S("widgets.acme.com")));
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    size_t n;
    struct registry_group *groups = registry_groups(&a, r, &n);
    struct buf b = {.arena = &a};
    for (size_t g = 0; g < n; g++) {
        buf_fmt(&b, "%s%s:", g ? " " : "", groups[g].name);
        for (size_t v = 0; v < groups[g].n; v++)
            buf_fmt(&b, "%s%s=%zu", v ? "," : "", groups[g].versions[v].version, groups[g].versions[v].n);
    }
    assert_text(buf_str(&b),
                ":v1=15 apps:v1=5 events.k8s.io:v1=1 authentication.k8s.io:v1=2 authorization.k8s.io:v1=4 "
                "autoscaling:v2=1,v1=1 batch:v1=2 certificates.k8s.io:v1=1 networking.k8s.io:v1=3 policy:v1=1 "
                "rbac.authorization.k8s.io:v1=4 storage.k8s.io:v1=1 apiextensions.k8s.io:v1=1 scheduling.k8s.io:v1=1 "
                "coordination.k8s.io:v1=1 node.k8s.io:v1=1 discovery.k8s.io:v1=1 "
                "acme.com:v2=1,v1=1,v1beta1=1 example.com:v2=1,v1=1,v1beta1=1");
    for (size_t i = 0; i < groups[0].versions[0].n; i++)
        assert_string_equal(groups[0].versions[0].kinds[i]->group, "");
    assert_string_equal(groups[0].versions[0].kinds[0]->plural, "configmaps");
    assert_string_equal(groups[0].versions[0].kinds[14]->plural, "services");
    registry_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builtin_kinds_are_those_of_discovery),
        cmocka_unit_test(test_tables_are_named_after_builtin_resources),
        cmocka_unit_test(test_write_rules_follow_the_kind),
        cmocka_unit_test(test_bodies_find_their_kind),
        cmocka_unit_test(test_tables_hold_together),
        cmocka_unit_test(test_version_order),
        cmocka_unit_test(test_crd_becomes_kinds),
        cmocka_unit_test(test_kinds_are_found_by_all_their_names),
        cmocka_unit_test(test_crd_that_is_not_established_claims_names_only),
        cmocka_unit_test(test_terminating_crd_takes_no_new_objects),
        cmocka_unit_test(test_changes_are_counted_and_complete),
        cmocka_unit_test(test_held_kind_outlives_its_crd),
        cmocka_unit_test(test_builtin_kinds_cannot_be_replaced),
        cmocka_unit_test(test_crd_without_name_is_refused),
        cmocka_unit_test(test_free_names_are_accepted),
        cmocka_unit_test(test_names_in_use_are_refused_one_by_one),
        cmocka_unit_test(test_refused_names_keep_what_was_accepted),
        cmocka_unit_test(test_versions_are_there_while_a_kind_is),
        cmocka_unit_test(test_groups_in_order),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
