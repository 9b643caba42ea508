# SPDX-License-Identifier: Apache-2.0
# The two examples of the proposal that ClusterPermissions come from, as they are written there, for two managed clusters. What comes
# of them is compared object by object.

load fleet.bash

setup_file() {
    start_fleet
    all_joined
}
teardown_file() { stop_fleet; }

# sample CLUSTER
sample() {
    sed "s/namespace: cluster1/namespace: $1/" <<'YAML'
apiVersion: rbac.open-cluster-management.io/v1alpha1
kind: ClusterPermission
metadata:
  name: my-managed-rbac
  namespace: cluster1
spec:
  clusterRole:
    rules:
    - apiGroups: ["apps"]
      resources: ["deployments"]
      verbs: ["update"]
  clusterRoleBinding:
    subject:
      apiGroup: rbac.authorization.k8s.io
      kind: Group
      name: system:serviceaccounts:qa
  roles:
  - namespace: default
    rules:
    - apiGroups: ["apps"]
      resources: ["deployments"]
      verbs: ["update"]
  - namespaceSelector:
      matchExpressions:
      - key: foo.com/managed-state
        operator: In
        values:
        - managed
    rules:
    - apiGroups: [""]
      resources: ["configmaps"]
      verbs: ["update"]
  roleBindings:
  - namespace: kube-system
    roleRef:
      kind: ClusterRole
    subject:
      apiGroup: authentication.open-cluster-management.io
      kind: ManagedServiceAccount
      name: managed-sa-sample
  - namespace: default
    roleRef:
      kind: Role
    subject:
      apiGroup: rbac.authorization.k8s.io
      kind: Group
      name: system:serviceaccounts
  - namespaceSelector:
      matchExpressions:
      - key: foo.com/managed-state
        operator: In
        values:
        - managed
    roleRef:
      kind: Role
    subject:
      apiGroup: rbac.authorization.k8s.io
      kind: User
      name: "alice@example.com"
status:
  conditions:
    - type: RBACManifestWorkCreated
      status: True
    - type: SubjectPresent
      status: True
YAML
}

# sample_with_refs CLUSTER
sample_with_refs() {
    sed "s/namespace: cluster1/namespace: $1/" <<'YAML'
apiVersion: rbac.open-cluster-management.io/v1alpha1
kind: ClusterPermission
metadata:
  name: my-managed-rbac-with-refs
  namespace: cluster1
spec:
  roleRefs:
  - kind: Role
    name: pod-reader
    namespace: default
    apiGroup: rbac.authorization.k8s.io
  - kind: ClusterRole
    name: secret-reader
    apiGroup: rbac.authorization.k8s.io
...
YAML
}

group=rbac.authorization.k8s.io

# granted CLUSTER NAMESPACE...: what the first example makes there, where these namespaces match its selectors.
granted() {
    local name=my-managed-rbac of namespace
    of=$(of "$(work_of "$1" $name)")
    cat <<EOF
ClusterRole $name: apps/deployments update $of
ClusterRoleBinding $name: ClusterRole $name <- Group.$group system:serviceaccounts:qa $of
Role default/$name: apps/deployments update $of
RoleBinding default/$name: Role $name <- Group.$group system:serviceaccounts $of
RoleBinding kube-system/$name: ClusterRole $name <- ServiceAccount open-cluster-management-agent-addon/managed-sa-sample $of
EOF
    for namespace in "${@:2}"; do
        cat <<EOF
Role $namespace/$name: /configmaps update $of
RoleBinding $namespace/$name: Role $name <- User.$group alice@example.com $of
EOF
    done
}

# listed CLUSTER: what the status of the first example says of each object, "KIND [NAMESPACE/]NAME CONDITION".
listed() {
    at hub clusterpermission my-managed-rbac -n "$1" -o json | jq -r '.status.resourceStatus | to_entries[] | .key as $kind | .value[]
        | "\($kind) \(if .namespace then .namespace + "/" else "" end)\(.name) \([.condition[] | "\(.type)=\(.status) \(.reason)"] | join(","))"' | LC_ALL=C sort
}

@test "before its ManagedServiceAccount is there nothing is delivered, and the status says why" {
    local cluster
    for cluster in cluster1 cluster2; do
        sample $cluster | hub apply -f -
        gets SubjectPresent False clusterpermission my-managed-rbac -n $cluster
        gets AppliedRBACManifestWork False clusterpermission my-managed-rbac -n $cluster
        shows FailedBuildManifestWork reason AppliedRBACManifestWork clusterpermission my-managed-rbac -n $cluster
        run -0 message SubjectPresent clusterpermission my-managed-rbac -n $cluster
        mentions managed-sa-sample
        run -0 at hub manifestworks -n $cluster -o name
        says ''
    done
}

@test "the first example: each managed cluster has exactly its objects" {
    namespace_at one shop 'foo.com/managed-state: managed'
    namespace_at two shop 'foo.com/managed-state: unmanaged'
    namespace_at two market 'foo.com/managed-state: managed'
    namespace_at two harbour 'foo.com/managed-state: managed'
    account cluster1 managed-sa-sample
    account cluster2 managed-sa-sample
    delivered cluster1 my-managed-rbac
    delivered cluster2 my-managed-rbac
    rbac_is one my-managed-rbac "$(granted cluster1 shop)"
    rbac_is two my-managed-rbac "$(granted cluster2 market harbour)"
}

@test "its status: all conditions, and one entry for each object" {
    local cluster type
    for cluster in cluster1 cluster2; do
        for type in RBACManifestWorkCreated SubjectPresent AppliedRBACManifestWork Ready; do
            gets $type True clusterpermission my-managed-rbac -n $cluster
        done
    done
    local ok='Applied=True AppliedManifestComplete'
    eventually shows "$(LC_ALL=C sort <<EOF
clusterRoleBindings my-managed-rbac $ok
clusterRoles my-managed-rbac $ok
roleBindings default/my-managed-rbac $ok
roleBindings kube-system/my-managed-rbac $ok
roleBindings shop/my-managed-rbac $ok
roles default/my-managed-rbac $ok
roles shop/my-managed-rbac $ok
EOF
)" listed cluster1
    run -0 hub get clusterpermission my-managed-rbac -n cluster1
    matches 'NAME +APPLIED +VALID +CLUSTER +AGE'
    matches 'my-managed-rbac +True +(True)? +cluster1 +[0-9]+[smh].*'
}

@test "its work is one that any agent of Open Cluster Management can carry out" {
    run -0 at hub manifestwork "$(work_of cluster1 my-managed-rbac)" -n cluster1 -o json
    shows 'ClusterPermission my-managed-rbac true true' jq -r '.metadata.ownerReferences[] | "\(.kind) \(.name) \(.controller) \(.blockOwnerDeletion)"' <<<"$output"
    shows '["ClusterRole","ClusterRoleBinding","Role","Role","RoleBinding","RoleBinding","RoleBinding"]' \
        jq -c '[.spec.workload.manifests[].kind]' <<<"$output"
    shows 'null null null' jq -r '"\(.spec.executor) \(.spec.deleteOption) \(.spec.manifestConfigs)"' <<<"$output"
    shows 7 jq '[.spec.workload.manifests[] | "\(.kind) \(.metadata.namespace) \(.metadata.name) \(.metadata.annotations)"] | unique | length' <<<"$output"
}

@test "the second example: roles of the hub, under their own names, and as they change" {
    hub create clusterrole secret-reader --verb=get,list --resource=secrets
    hub create role pod-reader -n default --verb=get --resource=pods,pods/log
    hub label clusterrole/secret-reader role/pod-reader e2e=fleet
    local cluster where
    for cluster in cluster1 cluster2; do
        sample_with_refs $cluster | hub apply -f -
        delivered $cluster my-managed-rbac-with-refs
    done
    for cluster in cluster1 cluster2; do
        where=one
        [ $cluster = cluster1 ] || where=two
        local of
        of=$(of "$(work_of $cluster my-managed-rbac-with-refs)")
        rbac_is $where '^(pod|secret)-reader' "Role default/pod-reader: /pods,pods/log get $of
ClusterRole secret-reader: /secrets get,list $of"
    done
    hub create clusterrole secret-reader --verb=get --resource=secrets --resource-name=one --dry-run=client -o yaml | hub replace -f -
    for cluster in cluster1 cluster2; do
        where=one
        [ $cluster = cluster1 ] || where=two
        rbac_is $where '^secret-reader' "ClusterRole secret-reader: /secrets[one] get $(of "$(work_of $cluster my-managed-rbac-with-refs)")"
    done
}

@test "deleted on one cluster: its objects go there, and nowhere else" {
    local two_had work
    two_had=$(ONLY=. rbac two)
    work=$(work_of cluster1 my-managed-rbac)
    hub delete clusterpermission my-managed-rbac -n cluster1
    eventually gone_at hub manifestwork "$work" -n cluster1
    rbac_is one my-managed-rbac ''
    shows "$two_had" rbac two
    run -0 at one appliedmanifestworks -o 'jsonpath={.items[*].spec.manifestWorkName}'
    says "$(work_of cluster1 my-managed-rbac-with-refs)"
}
