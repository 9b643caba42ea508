# SPDX-License-Identifier: Apache-2.0
# What was delivered stays delivered: edited, deleted, re-created on the managed cluster. What is somebody else's stays theirs.

load fleet.bash

setup_file() {
    start_fleet
    all_joined
    namespace_at one team
    permission cluster1 guarded <<'YAML'
clusterRole: {rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]}
clusterRoleBinding: {subject: {kind: User, name: alice}}
roles: [{namespace: team, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]
roleBindings: [{namespace: team, roleRef: {kind: Role}, subject: {kind: User, name: alice}}]
YAML
    delivered cluster1 guarded
}

teardown_file() { stop_fleet; }

group=rbac.authorization.k8s.io

# guarded_is_whole: all four, as the permission wants them, and nothing else of that name.
guarded_is_whole() {
    local of
    of=$(of "$(work_of cluster1 guarded)")
    rbac_is one ^guarded "ClusterRole guarded: /nodes get $of
ClusterRoleBinding guarded: ClusterRole guarded <- User.$group alice $of
Role team/guarded: /pods get $of
RoleBinding team/guarded: Role guarded <- User.$group alice $of"
}

kinds=(clusterrole/guarded clusterrolebinding/guarded role/guarded rolebinding/guarded)

# ---- Ours. ----

@test "rules and subjects that somebody edits" {
    guarded_is_whole
    local since work
    work=$(work_of cluster1 guarded)
    gets Applied True manifestwork "$work" -n cluster1
    gets Available True manifestwork "$work" -n cluster1
    since=$(at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.status.conditions}')
    one patch clusterrole guarded --type=merge -p '{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}'
    one patch role guarded -n team --type=json -p '[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}}]'
    one patch clusterrolebinding guarded --type=merge -p '{"subjects":[{"kind":"User","name":"mallory","apiGroup":"rbac.authorization.k8s.io"}]}'
    one patch rolebinding guarded -n team --type=json -p '[{"op":"add","path":"/subjects/-","value":{"kind":"User","name":"mallory","apiGroup":"rbac.authorization.k8s.io"}}]'
    guarded_is_whole
    run -1 one auth can-i get secrets -n team --as=mallory
    condition Applied True manifestwork "$work" -n cluster1
    eventually shows "$since" at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.status.conditions}'
}

@test "an aggregation rule that somebody adds" {
    one patch clusterrole guarded --type=merge -p '{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-admin":"true"}}]}}'
    eventually holds_at one '.aggregationRule == null' clusterrole guarded
    guarded_is_whole
}

@test "labels and owners that somebody takes away; those that somebody adds stay" {
    local kind
    for kind in "${kinds[@]}"; do
        one patch "$kind" -n team --type=merge -p '{"metadata":{"labels":{"agent.reeve.dev/delivered":null},"ownerReferences":null}}'
    done
    guarded_is_whole
    one label clusterrole guarded mine=yes
    one annotate clusterrole guarded note=kept
    one patch clusterrole guarded --type=merge -p '{"rules":[]}'
    eventually holds_at one '.metadata.labels.mine == "yes" and .metadata.annotations.note == "kept" and (.rules | length) == 1' clusterrole guarded
    one label clusterrole guarded mine-
    guarded_is_whole
}

@test "objects that somebody deletes, one by one and all at once" {
    local kind
    for kind in "${kinds[@]}"; do
        one delete "$kind" -n team --wait=false
        guarded_is_whole
    done
    one delete clusterrole,clusterrolebinding guarded --wait=false
    one delete role,rolebinding guarded -n team --wait=false
    guarded_is_whole
    eventually condition Available True manifestwork "$(work_of cluster1 guarded)" -n cluster1
}

@test "objects that somebody deletes and makes anew, with other content" {
    made_anew clusterrole '.rules = [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]'
    made_anew clusterrolebinding '.subjects = [{apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "mallory"}]'
    made_anew role '.rules = [] | del(.metadata.labels)'
    made_anew rolebinding '.roleRef = {apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin"}'
}

# made_anew KIND FILTER: while the agent looks away, as it would be quicker; then it looks.
made_anew() {
    kill -STOP "$(cat "$SCRATCH/cluster1.pid")"
    one get "$1" guarded -n team -o json | jq "del(.metadata.uid, .metadata.resourceVersion) | $2" | one replace --force -f -
    kill -CONT "$(cat "$SCRATCH/cluster1.pid")"
    guarded_is_whole
}

@test "the namespace of some of them, deleted and made anew" {
    permission cluster1 housed <<<'roles: [{namespace: house, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]'
    gets AppliedRBACManifestWork False clusterpermission housed -n cluster1
    namespace_at one house
    delivered cluster1 housed
    one delete namespace house
    gets AppliedRBACManifestWork False clusterpermission housed -n cluster1
    namespace_at one house
    delivered cluster1 housed
    rbac_is one ^housed "Role house/housed: /pods get $(of "$(work_of cluster1 housed)")"
    hub delete clusterpermission housed -n cluster1
    rbac_is one ^housed ''
}

@test "what changed while the agent was away is repaired when it is back; what was taken back goes" {
    permission cluster1 brief <<<'clusterRoleBinding: {roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}'
    delivered cluster1 brief
    kill -KILL "$(cat "$SCRATCH/cluster1.pid")"
    while kill -0 "$(cat "$SCRATCH/cluster1.pid")" 2>/dev/null; do sleep 0.02; done
    one delete clusterrole guarded
    one patch rolebinding guarded -n team --type=merge -p '{"subjects":[]}'
    hub delete clusterpermission brief -n cluster1 --wait=false
    launch_agent one cluster1
    guarded_is_whole
    rbac_is one ^brief ''
    eventually shows '' at hub manifestworks -n cluster1 -o 'jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}'
}

@test "a reference to another role: the binding is made anew, and says the new one" {
    permission cluster1 turns <<<'roleBindings: [{name: turns, namespace: team, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}]'
    delivered cluster1 turns
    local before of
    before=$(at one rolebinding turns -n team -o 'jsonpath={.metadata.uid}')
    hub patch clusterpermission turns -n cluster1 --type=json -p '[{"op":"replace","path":"/spec/roleBindings/0/roleRef/name","value":"edit"}]'
    of=$(of "$(work_of cluster1 turns)")
    rbac_is one ^turns "RoleBinding team/turns: ClusterRole edit <- User.$group alice $of"
    [ "$(at one rolebinding turns -n team -o 'jsonpath={.metadata.uid}')" != "$before" ]
    delivered cluster1 turns
    gets Ready True clusterpermission turns -n cluster1
    hub delete clusterpermission turns -n cluster1
    rbac_is one ^turns ''
}

# ---- Others'. ----

@test "a role of that name that is somebody else's is not touched, and the status says so" {
    one create clusterrole taken --verb=get --resource=secrets
    one label clusterrole taken e2e=fleet
    local theirs
    theirs=$(at one clusterrole taken -o json)
    permission cluster1 taken <<'YAML'
clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
clusterRoleBinding: {subject: {kind: User, name: alice}}
YAML
    gets AppliedRBACManifestWork False clusterpermission taken -n cluster1
    local work
    work=$(work_of cluster1 taken)
    eventually holds_at hub '[.status.resourceStatus.manifests[] | "\(.resourceMeta.kind) " + (.conditions[] | select(.type == "Applied") | "\(.status) \(.reason)")]
        | sort == ["ClusterRole False Conflict", "ClusterRoleBinding False Conflict"]' manifestwork "$work" -n cluster1
    shows "$theirs" at one clusterrole taken -o json
    gone_at one clusterrolebinding taken # alice gets nothing of what is theirs
    hub delete clusterpermission taken -n cluster1
    eventually gone_at hub manifestwork "$work" -n cluster1
    shows "$theirs" at one clusterrole taken -o json
    one delete clusterrole taken
}

@test "a role of ours whose name somebody takes: nobody of ours is bound to it" {
    permission cluster1 usurped <<'YAML'
clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
clusterRoleBinding: {subject: {kind: User, name: carol}}
YAML
    delivered cluster1 usurped
    kill -KILL "$(cat "$SCRATCH/cluster1.pid")"
    while kill -0 "$(cat "$SCRATCH/cluster1.pid")" 2>/dev/null; do sleep 0.02; done
    one delete clusterrole usurped
    one create clusterrole usurped --verb=get --resource=secrets
    one auth can-i get secrets --as=carol
    launch_agent one cluster1
    eventually gone_at one clusterrolebinding usurped
    run -1 one auth can-i get secrets --as=carol
    gets AppliedRBACManifestWork False clusterpermission usurped -n cluster1
    one delete clusterrole usurped
    hub delete clusterpermission usurped -n cluster1
    rbac_is one ^usurped ''
}

@test "once it is gone, ours takes its place" {
    one create role waits -n team --verb=get --resource=secrets
    permission cluster1 waits <<<'roles: [{namespace: team, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]'
    gets AppliedRBACManifestWork False clusterpermission waits -n cluster1
    one delete role waits -n team
    permission cluster1 waits <<<'roles: [{namespace: team, rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]}]' # it need not wait for the next try
    delivered cluster1 waits
    rbac_is one ^waits "Role team/waits: /pods list $(of "$(work_of cluster1 waits)")"
    hub delete clusterpermission waits -n cluster1
    rbac_is one ^waits ''
}

@test "an existing namespace and what is in it: Conflict, untouched, and still there when the work is gone" {
    # Once the agent watches these kinds, what its copy does not show need not be missing.
    work cluster1 watches <<<"workload: {manifests: [{apiVersion: v1, kind: Namespace, metadata: {name: watched}}, $(configmap_manifest watched one 1)]}"
    gets Applied True manifestwork watches -n cluster1
    namespace_at one theirs
    one create configmap theirs -n theirs --from-literal=value=1
    local before
    before=$(theirs_now)
    work cluster1 grabs <<YAML
workload:
  manifests:
  - {apiVersion: v1, kind: Namespace, metadata: {name: theirs}}
  - {apiVersion: v1, kind: Namespace, metadata: {name: default}}
  - $(configmap_manifest theirs theirs 1)
  - $(configmap_manifest theirs ours 1)
YAML
    gets Applied False manifestwork grabs -n cluster1
    eventually shows 'Conflict Conflict Conflict AppliedManifestComplete' applied_reasons grabs
    shows "$before" theirs_now
    hub delete manifestwork grabs -n cluster1 --timeout=60s
    shows "$before" theirs_now
    gone_at one configmap ours -n theirs
    one delete namespace theirs
    hub delete manifestwork watches -n cluster1 --timeout=60s
}

theirs_now() { at one namespace theirs -o json && at one namespace default -o json && at one configmap theirs -n theirs -o json; }
applied_reasons() { at hub manifestwork "$1" -n cluster1 -o json | jq -r '[.status.resourceStatus.manifests[].conditions[] | select(.type == "Applied") | .reason] | join(" ")'; }

@test "an apply with a version that no object has creates or is refused, which is how the agent creates" {
    local version='resourceVersion: "9223372036854775807"'
    one apply --server-side --field-manager=test -f - <<<$'---\n'"{apiVersion: v1, kind: ConfigMap, metadata: {name: versions, namespace: team, $version}, data: {value: first}}"
    run -1 one apply --server-side --field-manager=other -f - <<<$'---\n'"{apiVersion: v1, kind: ConfigMap, metadata: {name: versions, namespace: team, $version}, data: {more: second}}"
    mentions 'the object has been modified'
    run -1 one apply --server-side --field-manager=other -f - <<<$'---\n'"{apiVersion: v1, kind: Namespace, metadata: {name: team, $version}}"
    mentions 'the object has been modified'
    holds_at one '.data == {value: "first"}' configmap versions -n team
    one delete configmap versions -n team
}

@test "a work that names Namespace default as its own, by an earlier agent: it goes, and the namespace stays" {
    work cluster1 undeletable <<<"workload: {manifests: [$(configmap_manifest team undeletable 1)]}"
    gets Applied True manifestwork undeletable -n cluster1
    local owner applied
    owner=$(at one configmap undeletable -n team -o json | jq -c '{metadata: {ownerReferences: .metadata.ownerReferences, labels: {"agent.reeve.dev/delivered": "true"}}}')
    applied=$(jq -r '.metadata.ownerReferences[0].name' <<<"$owner")
    one patch namespace default --type=merge -p "$owner"
    one patch appliedmanifestwork "$applied" --subresource=status --type=json \
        -p '[{"op":"add","path":"/status/appliedResources/-","value":{"group":"","version":"v1","resource":"namespaces","name":"default","namespace":"","uid":""}}]'
    hub delete manifestwork undeletable -n cluster1 --timeout=30s
    eventually holds_at one '.metadata.ownerReferences == null and .metadata.deletionTimestamp == null' namespace default
    one label namespace default agent.reeve.dev/delivered-
}

@test "an object whose owner consents is changed as the work says, and stays when the work goes" {
    one create clusterrole adopted --verb=get --resource=secrets
    one annotate clusterrole adopted reeve.dev/adopt=true
    work cluster1 adopts <<'YAML'
workload:
  manifests:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: adopted}
    rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
YAML
    gets Applied True manifestwork adopts -n cluster1
    rbac_is one ^adopted 'ClusterRole adopted: /pods get {agent.reeve.dev/delivered=adopted} []'
    one patch clusterrole adopted --type=merge -p '{"rules":[]}'
    rbac_is one ^adopted 'ClusterRole adopted: /pods get {agent.reeve.dev/delivered=adopted} []'
    hub delete manifestwork adopts -n cluster1 --timeout=60s
    rbac_is one ^adopted 'ClusterRole adopted: /pods get {} []'
    one delete clusterrole adopted
}

@test "a manifest cannot consent for the owner of an object" {
    one create clusterrole kept --verb=get --resource=secrets
    work cluster1 claims <<'YAML'
workload:
  manifests:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: kept, annotations: {reeve.dev/adopt: "true"}}
    rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
YAML
    gets Applied False manifestwork claims -n cluster1
    eventually shows Conflict applied_reasons claims
    hub delete manifestwork claims -n cluster1 --timeout=60s
    rbac_is one ^kept 'ClusterRole kept: /secrets get {} []'
    one delete clusterrole kept
}

@test "deleted by its permission, made anew by somebody: theirs now" {
    permission cluster1 passed <<<'clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}'
    delivered cluster1 passed
    hub delete clusterpermission passed -n cluster1
    rbac_is one ^passed ''
    one create clusterrole passed --verb=get --resource=secrets
    permission cluster1 passed <<<'clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}'
    gets AppliedRBACManifestWork False clusterpermission passed -n cluster1
    hub delete clusterpermission passed -n cluster1
    eventually shows '' at hub manifestworks -n cluster1 -o 'jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}'
    rbac_is one ^passed 'ClusterRole passed: /secrets get {} []'
    one delete clusterrole passed
}

# ---- Namespaces that come and go. ----

@test "a selector follows the namespaces of the managed cluster" {
    permission cluster1 follows <<'YAML'
roles: [{namespaceSelector: {matchLabels: {follow: "yes"}}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]
roleBindings: [{namespaceSelector: {matchLabels: {follow: "yes"}}, roleRef: {kind: Role}, subject: {kind: User, name: alice}}]
YAML
    delivered cluster1 follows
    rbac_is one ^follows ''
    namespace_at one f1 'follow: "yes"'
    namespace_at one f2 'follow: "no"'
    namespace_at one f3 'follow: "yes"'
    namespace_at two f4 'follow: "yes"'
    followed f1 f3
    one label namespace f2 follow=yes --overwrite
    one label namespace f1 follow-
    followed f2 f3
    one delete role follows -n f2 --wait=false # drift, here as well
    followed f2 f3
    one delete namespace f3
    followed f2
    namespace_at one f3 'follow: "yes"'
    followed f2 f3
    hub patch clusterpermission follows -n cluster1 --type=json \
        -p '[{"op":"replace","path":"/spec/roles/0/rules/0/verbs","value":["get","list"]},{"op":"replace","path":"/spec/roleBindings/0/namespaceSelector","value":{"matchLabels":{"follow":"never"}}}]'
    local of
    of=$(of "$(work_of cluster1 follows)")
    rbac_is one ^follows "Role f2/follows: /pods get,list $of
Role f3/follows: /pods get,list $of"
    rbac_is two ^follows ''
    hub delete clusterpermission follows -n cluster1
    rbac_is one ^follows ''
}

# followed NAMESPACE...: role and binding are in these namespaces, and the status lists them.
followed() {
    local of namespace wanted='' listed=''
    of=$(of "$(work_of cluster1 follows)")
    for namespace in "$@"; do
        wanted+="Role $namespace/follows: /pods get $of
RoleBinding $namespace/follows: Role follows <- User.$group alice $of
"
        listed+="$namespace "
    done
    rbac_is one ^follows "${wanted%$'\n'}"
    eventually shows "${listed% }" listed_in roles
    eventually shows "${listed% }" listed_in roleBindings
}

listed_in() {
    at hub clusterpermission follows -n cluster1 -o json | jq -r "[.status.resourceStatus.$1[]? | select(any(.condition[]; .type == \"Applied\" and .status == \"True\")) | .namespace] | sort | join(\" \")"
}

@test "a selector and a name that stand in each other's way: the first one stays, the other is told" {
    namespace_at one meet 'meets: "yes"'
    permission cluster1 meets <<'YAML'
roles:
- {namespace: meet, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
- {namespaceSelector: {matchLabels: {meets: "yes"}}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}
YAML
    gets AppliedRBACManifestWork False clusterpermission meets -n cluster1
    eventually holds_one_rule meets meet
    hub delete clusterpermission meets -n cluster1
    rbac_is one ^meets ''
}

# holds_one_rule NAME NAMESPACE: either of the two, not a mixture, and it is not written to and fro.
holds_one_rule() {
    local first
    first=$(at one role "$1" -n "$2" -o 'jsonpath={.metadata.resourceVersion} {.rules[*].resources[*]}')
    [[ $first =~ ^[0-9]+\ (pods|secrets)$ ]]
    permission cluster1 "$1-later" <<<'clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}'
    delivered cluster1 "$1-later"
    hub delete clusterpermission "$1-later" -n cluster1
    [ "$(at one role "$1" -n "$2" -o 'jsonpath={.metadata.resourceVersion} {.rules[*].resources[*]}')" = "$first" ]
}

# ---- Another agent. ----

# renewed_by_another CLUSTER N: as the registration agent of Open Cluster Management does it, which leaves annotations as they are.
renewed_by_another() { hub patch lease managed-cluster-lease -n "$1" --type=merge -p '{"spec":{"renewTime":"2031-01-01T00:00:0'"$2"'.000000Z"}}'; }

# manifests_go_to CLUSTER PERMISSION TEXT: the namespaces that the hub wrote into its work; "selector" for a template.
manifests_go_to() {
    [ "$(at hub manifestwork "$(work_of "$1" "$2")" -n "$1" -o json | jq -r '[.spec.workload.manifests[] | if .metadata.annotations["agent.reeve.dev/namespace-selector"] then "selector" else .metadata.namespace end] | unique | join(" ")')" = "$3" ]
}

@test "another agent takes the place of ours: works are what it understands, until ours is back" {
    local marked='.metadata.labels["agent.reeve.dev/present"] == "true"' pid
    namespace_at hub falls 'falls: "yes"'
    eventually holds_at hub "$marked" managedcluster cluster2
    permission cluster2 falls <<<'roles: [{namespaceSelector: {matchLabels: {falls: "yes"}}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]'
    eventually manifests_go_to cluster2 falls selector
    pid=$(cat "$SCRATCH/cluster2.pid")
    kill -KILL "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    renewed_by_another cluster2 1
    renewed_by_another cluster2 2
    holds_at hub "$marked" managedcluster cluster2
    renewed_by_another cluster2 3
    eventually holds_at hub "$marked | not" managedcluster cluster2
    eventually manifests_go_to cluster2 falls falls
    eventually holds_at hub '.metadata.annotations["agent.reeve.dev/version"] == null' lease managed-cluster-lease -n cluster2
    launch_agent two cluster2
    eventually holds_at hub "$marked" managedcluster cluster2
    eventually manifests_go_to cluster2 falls selector
    hub delete clusterpermission falls -n cluster2
    hub delete namespace falls
}
