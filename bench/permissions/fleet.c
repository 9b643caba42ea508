/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet.h"

#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

#define CLUSTERS "/apis/cluster.open-cluster-management.io/v1/managedclusters"
#define PERMISSION "{\"apiVersion\":\"rbac.open-cluster-management.io/v1alpha1\",\"kind\":\"ClusterPermission\","
#define SELECTOR "\"namespaceSelector\":{\"matchLabels\":{\"%.*s\":\"true\"}}"

str fleet_cluster(struct arena *a, size_t i)
{
    return str_fmt(a, "cluster-%04zu", i);
}

str fleet_team(struct arena *a, size_t i)
{
    return str_fmt(a, "team-%02zu", i);
}

str fleet_permissions(struct arena *a, size_t cluster)
{
    return str_fmt(a, "/apis/rbac.open-cluster-management.io/v1alpha1/namespaces/%.*s/clusterpermissions",
                   STR(fleet_cluster(a, cluster)));
}

struct question fleet_make_cluster(struct arena *a, size_t cluster)
{
    return (struct question){
        .method = S("POST"),
        .target = S(CLUSTERS),
        .body = str_fmt(a,
                        "{\"apiVersion\":\"cluster.open-cluster-management.io/v1\",\"kind\":\"ManagedCluster\","
                        "\"metadata\":{\"name\":\"%.*s\",\"labels\":{\"region\":\"r%zu\"}},"
                        "\"spec\":{\"hubAcceptsClient\":true,\"leaseDurationSeconds\":60}}",
                        STR(fleet_cluster(a, cluster)), cluster % 7)};
}

struct question fleet_make_permission(struct arena *a, size_t cluster, size_t team)
{
    str name = fleet_team(a, team);
    str where = team % FLEET_SELECTS == FLEET_SELECTS - 1 ? str_fmt(a, SELECTOR, STR(name))
                                                          : str_fmt(a, "\"namespace\":\"%.*s\"", STR(name));
    return (struct question){
        .method = S("POST"),
        .target = fleet_permissions(a, cluster),
        .body = str_fmt(a,
                        PERMISSION
                        "\"metadata\":{\"name\":\"%.*s\"},\"spec\":{"
                        "\"clusterRole\":{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"namespaces\",\"nodes\"],"
                        "\"verbs\":[\"get\",\"list\",\"watch\"]}]},"
                        "\"clusterRoleBinding\":{\"subject\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
                        "\"kind\":\"Group\",\"name\":\"%.*s\"}},"
                        "\"roles\":[{%.*s,\"rules\":[{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\","
                        "\"statefulsets\"],\"verbs\":[\"get\",\"list\",\"watch\",\"create\",\"update\",\"patch\","
                        "\"delete\"]},{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\",\"pods\",\"pods/log\","
                        "\"services\"],\"verbs\":[\"get\",\"list\",\"watch\"]}]}],"
                        "\"roleBindings\":[{%.*s,\"roleRef\":{\"kind\":\"Role\"},\"subject\":{"
                        "\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\","
                        "\"name\":\"lead-of-%.*s@example.com\"}}]}}",
                        STR(name), STR(name), STR(where), STR(where), STR(name))};
}

struct question fleet_change_permission(struct arena *a, size_t cluster, size_t team, size_t turn)
{
    return (struct question){
        .method = S("PATCH"),
        .target = str_fmt(a, "%.*s/%.*s", STR(fleet_permissions(a, cluster)), STR(fleet_team(a, team))),
        .content_type = S("application/merge-patch+json"),
        .body = str_fmt(a,
                        "{\"spec\":{\"clusterRole\":{\"rules\":[{\"apiGroups\":[\"turn-%zu.example.com\"],"
                        "\"resources\":[\"things\"],\"verbs\":[\"get\"]}]}}}",
                        turn)};
}

struct question fleet_make_selector(struct arena *a, size_t cluster, size_t team, str label)
{
    return (struct question){
        .method = S("POST"),
        .target = fleet_permissions(a, cluster),
        .body = str_fmt(a,
                        PERMISSION "\"metadata\":{\"name\":\"%.*s\"},\"spec\":{\"roles\":[{" SELECTOR
                                   ",\"rules\":[{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\"],"
                                   "\"verbs\":[\"get\",\"list\",\"watch\"]}]}],"
                                   "\"roleBindings\":[{" SELECTOR ",\"roleRef\":{\"kind\":\"Role\"},\"subject\":{"
                                   "\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Group\","
                                   "\"name\":\"%.*s\"}}]}}",
                        STR(fleet_team(a, team)), STR(label), STR(label), STR(fleet_team(a, team)))};
}

bool fleet_is_available(const struct json *cluster)
{
    return condition_is(cluster, S("ManagedClusterConditionAvailable"), S("True")) &&
           str_eq(object_label(cluster, S(FLEET_LABEL_AGENT)), S("true"));
}

bool fleet_is_delivered(const struct json *permission)
{
    int64_t generation = 0;
    const struct json *conditions = json_dig(permission, "status.conditions");
    const struct json *ready = condition_find(conditions, S("Ready"));
    return condition_is(permission, S("Ready"), S("True")) &&
           condition_is(permission, S("AppliedRBACManifestWork"), S("True")) &&
           json_to_int(json_get(ready, S("observedGeneration")), &generation) &&
           generation == object_generation(permission);
}

str fleet_token(struct links *l, struct arena *a, size_t cluster)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    struct json answer;
    str text = links_ask(
        l, &scratch,
        &(struct question){.method = S("POST"),
                           .target = str_fmt(&scratch, "/api/v1/namespaces/%.*s/serviceaccounts/" FLEET_AGENT "/token",
                                             STR(fleet_cluster(&scratch, cluster))),
                           .body = S("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{"
                                     "\"expirationSeconds\":86400}}")});
    bench_must(json_decode(&scratch, text, NULL, NULL, &answer, &err) == 0, err.msg);
    str token = json_text(json_dig(&answer, "status.token"));
    bench_must(token.n != 0, "a token");
    return str_dup(a, token);
}
