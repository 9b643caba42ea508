# SPDX-License-Identifier: Apache-2.0
# From a permission on the hub to roles and bindings on a managed cluster, and back to its status: what arrives, what changes, what
# goes; and what is said of permissions that cannot be.

load fleet.bash

setup_file() {
    start_fleet
    namespace_at one team-a
    namespace_at one team-b
    permission cluster1 bystander <<'YAML'
clusterRole: {rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]}
clusterRoleBinding: {subject: {kind: User, name: bystander}}
YAML
    delivered cluster1 bystander
    export BYSTANDER
    BYSTANDER=$(bystander)
}

teardown_file() { stop_fleet; }

group=rbac.authorization.k8s.io

# bystander: all versions of a permission that nobody touches, on both sides.
bystander() {
    at hub clusterpermission bystander -n cluster1 -o 'jsonpath={.metadata.resourceVersion} '
    at hub manifestwork "$(work_of cluster1 bystander)" -n cluster1 -o 'jsonpath={.metadata.resourceVersion} '
    at one clusterrole,clusterrolebinding bystander -o 'jsonpath={.items[*].metadata.resourceVersion}'
}

# counted NAME: entries of its resourceStatus by kind, "2/1/0/0 TRUE": ClusterRoles, ClusterRoleBindings, Roles, RoleBindings, applied.
counted() {
    at hub clusterpermission "$1" -n cluster1 -o json | jq -r '.status.resourceStatus | [.clusterRoles, .clusterRoleBindings, .roles, .roleBindings]
        | "\(map(length | tostring) | join("/")) \([.[] | .[]? | .condition[] | select(.type == "Applied" and .status == "True")] | length)"'
}

remove() {
    local work
    work=$(work_of cluster1 "$1")
    hub delete clusterpermission "$1" -n cluster1
    eventually gone_at hub manifestwork "$work" -n cluster1
    rbac_is one "^$1" ''
}

# ---- What arrives. ----

@test "one of each kind: delivered, listed, and all gone when it is deleted" {
    permission cluster1 full <<'YAML'
clusterRole: {rules: [{apiGroups: [apps], resources: [deployments], verbs: [get, list]}]}
clusterRoleBinding: {subject: {kind: ServiceAccount, name: robot, namespace: team-a}}
roles: [{namespace: team-a, rules: [{apiGroups: [""], resources: [secrets], resourceNames: [own], verbs: [get]}]}]
roleBindings: [{namespace: team-a, roleRef: {kind: Role}, subject: {kind: User, apiGroup: rbac.authorization.k8s.io, name: alice}}]
YAML
    delivered cluster1 full
    local work of
    work=$(work_of cluster1 full)
    of=$(of "$work")
    rbac_is one ^full "ClusterRole full: apps/deployments get,list $of
ClusterRoleBinding full: ClusterRole full <- ServiceAccount team-a/robot $of
Role team-a/full: /secrets[own] get $of
RoleBinding team-a/full: Role full <- User.$group alice $of"
    eventually shows '1/1/1/1 4' counted full
    shows 'ClusterRole ClusterRoleBinding Role RoleBinding' \
        at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.spec.workload.manifests[*].kind}'
    shows '' at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.spec.manifestConfigs}'
    shows 'ClusterPermission full' at hub manifestwork "$work" -n cluster1 \
        -o 'jsonpath={.metadata.ownerReferences[*].kind} {.metadata.ownerReferences[*].name}'
    local message="Apply manifest work complete
Run the following command to check the ManifestWork status:
kubectl -n cluster1 get ManifestWork $work -o yaml"
    shows "$message" message AppliedRBACManifestWork clusterpermission full -n cluster1
    remove full
}

@test "several of each in two namespaces" {
    permission cluster1 several <<'YAML'
clusterRole: {rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}
clusterRoleBindings:
- {name: several-1, subject: {kind: User, name: alice}}
- {name: several-2, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: Group, name: viewers}]}
roles:
- {namespace: team-a, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
- {namespace: team-b, rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]}
roleBindings:
- {namespace: team-a, roleRef: {kind: Role}, subject: {kind: User, name: alice}}
- {namespace: team-b, name: several-edit, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}, subject: {kind: User, name: bob}}
YAML
    delivered cluster1 several
    local of
    of=$(of "$(work_of cluster1 several)")
    rbac_is one ^several "ClusterRole several: //metrics get $of
ClusterRoleBinding several-1: ClusterRole several <- User.$group alice $of
ClusterRoleBinding several-2: ClusterRole view <- Group.$group viewers $of
Role team-a/several: /pods get $of
Role team-b/several: /pods list $of
RoleBinding team-a/several: Role several <- User.$group alice $of
RoleBinding team-b/several-edit: ClusterRole edit <- User.$group bob $of"
    eventually shows '1/2/2/2 7' counted several
    remove several
}

@test "what is taken out of a permission goes from the cluster and from the status, the rest stays as it is" {
    permission cluster1 shrinks <<'YAML'
clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
clusterRoleBindings:
- {name: shrinks-1, subject: {kind: User, name: alice}}
- {name: shrinks-2, subject: {kind: User, name: bob}}
YAML
    delivered cluster1 shrinks
    eventually shows '1/2/0/0 3' counted shrinks
    local version
    version=$(at one clusterrolebinding shrinks-1 -o 'jsonpath={.metadata.uid} {.metadata.resourceVersion}')
    hub patch clusterpermission shrinks -n cluster1 --type=json -p '[{"op":"remove","path":"/spec/clusterRoleBindings/1"}]'
    eventually gone_at one clusterrolebinding shrinks-2
    delivered cluster1 shrinks
    eventually shows '1/1/0/0 2' counted shrinks
    shows shrinks-1 at hub clusterpermission shrinks -n cluster1 -o 'jsonpath={.status.resourceStatus.clusterRoleBindings[*].name}'
    shows "$version" at one clusterrolebinding shrinks-1 -o 'jsonpath={.metadata.uid} {.metadata.resourceVersion}'
    remove shrinks
}

@test "a list of subjects counts, and a single one beside it does not" {
    permission cluster1 subjects <<'YAML'
roleBindings:
- namespace: team-a
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
  subject: {kind: User, name: mallory}
  subjects:
  - {kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}
  - {kind: Group, name: team, apiGroup: rbac.authorization.k8s.io}
  - {kind: ServiceAccount, name: robot, namespace: team-b}
YAML
    delivered cluster1 subjects
    rbac_is one ^subjects "RoleBinding team-a/subjects: ClusterRole view <- User.$group alice, Group.$group team, ServiceAccount team-b/robot $(of "$(work_of cluster1 subjects)")"
    remove subjects
}

@test "what is granted is what one may do" {
    run -1 one auth can-i get pods -n team-a --as=carol
    permission cluster1 rights <<'YAML'
roles: [{namespace: team-a, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}]
roleBindings: [{namespace: team-a, roleRef: {kind: Role}, subject: {kind: User, name: carol}}]
YAML
    delivered cluster1 rights
    one auth can-i get pods -n team-a --as=carol
    run -1 one auth can-i get pods -n team-b --as=carol
    run -1 two auth can-i get pods -n team-a --as=carol
    remove rights
    run -1 one auth can-i get pods -n team-a --as=carol
}

@test "validate: whether the roles exist over there, as it is now" {
    permission cluster1 checked <<'YAML'
validate: true
clusterRoleBinding: {roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}
roleBindings: [{namespace: team-a, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: absent}, subject: {kind: User, name: alice}}]
YAML
    gets ValidateClusterRolesExist True clusterpermission checked -n cluster1
    shows AllClusterRolesFound reason ValidateClusterRolesExist clusterpermission checked -n cluster1
    shows 'All referenced cluster roles were found' message ValidateClusterRolesExist clusterpermission checked -n cluster1
    refused cluster1 checked ValidateRolesExist RolesNotFound 'The following roles were not found: team-a/absent'
    local version work
    work=$(work_of cluster1 checked)
    run -0 at hub manifestwork "$work" -n cluster1 -o json
    shows 'ReadOnly' jq -r '[.spec.manifestConfigs[].updateStrategy.type] | unique | join(" ")' <<<"$output"
    one create role absent -n team-a --verb=get --resource=pods
    one label role absent -n team-a e2e=fleet
    gets ValidateRolesExist True clusterpermission checked -n cluster1
    shows 'All referenced roles were found' message ValidateRolesExist clusterpermission checked -n cluster1
    hub patch clusterpermission checked -n cluster1 --type=merge -p '{"spec":{"validate":false}}'
    eventually holds_at hub 'all(.status.conditions[]; .type | startswith("Validate") | not)' clusterpermission checked -n cluster1
    remove checked
    at one role absent -n team-a # it was only looked at
    one delete role absent -n team-a
}

@test "who deletes the work by hand, or edits it, finds it again as it was" {
    permission cluster1 kept <<'YAML'
clusterRoleBinding: {roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}
YAML
    delivered cluster1 kept
    local work spec uid
    work=$(work_of cluster1 kept)
    spec=$(at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.spec}')
    uid=$(at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.metadata.uid}')
    hub patch manifestwork "$work" -n cluster1 --type=json \
        -p '[{"op":"replace","path":"/spec/workload/manifests/0/subjects/0/name","value":"mallory"}]'
    eventually shows "$spec" at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.spec}'
    rbac_is one ^kept "ClusterRoleBinding kept: ClusterRole view <- User.$group alice $(of "$work")"
    hub delete manifestwork "$work" -n cluster1 --wait=false
    anew() { local now; now=$(at hub manifestwork "$work" -n cluster1 -o 'jsonpath={.metadata.uid}') && [ -n "$now" ] && [ "$now" != "$uid" ]; }
    eventually anew
    rbac_is one ^kept "ClusterRoleBinding kept: ClusterRole view <- User.$group alice $(of "$work")"
    remove kept
}

# ---- What cannot be. ----

@test "a binding without subject and subjects: the API server refuses it" {
    local spec
    for spec in 'clusterRoleBinding: {name: x}' 'clusterRoleBindings: [{name: x}]' 'roleBindings: [{namespace: team-a, roleRef: {kind: Role}}]'; do
        run -1 permission cluster1 refused <<<"$spec"
        mentions 'is invalid'
        mentions subject
    done
    gone_at hub clusterpermission refused -n cluster1
}

@test "neither roles nor bindings" {
    permission cluster1 empty <<<'validate: true'
    refused cluster1 empty Validation FailedValidationNoBindingsDefined 'no bindings defined'
    gone_at hub manifestwork "$(work_of cluster1 empty)" -n cluster1
    permission cluster1 empty <<<'clusterRoleBinding: {roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}'
    delivered cluster1 empty
    eventually holds_at hub 'all(.status.conditions[]; .type != "Validation" or .status == "True")' clusterpermission empty -n cluster1
    hub patch clusterpermission empty -n cluster1 --type=merge -p '{"spec":{"clusterRoleBinding":null}}'
    refused cluster1 empty Validation FailedValidationNoBindingsDefined 'no bindings defined'
    eventually gone_at one clusterrolebinding empty # an emptied permission grants nothing
    remove empty
}

@test "in a namespace that is no managed cluster" {
    permission default lost <<<'clusterRoleBinding: {subject: {kind: User, name: alice}}'
    refused default lost Validation FailedValidationNotInManagedClusterNamespace 'namespace value is not a managed cluster'
    run -0 at hub manifestworks -n default -o name
    says ''
    hub delete clusterpermission lost -n default
}

# broken NAME MESSAGE: a permission that cannot be built, its spec on standard input. The message may end in an asterisk.
broken() {
    permission cluster1 "$1"
    gets AppliedRBACManifestWork False clusterpermission "$1" -n cluster1
    shows FailedBuildManifestWork reason AppliedRBACManifestWork clusterpermission "$1" -n cluster1
    local why
    why=$(message AppliedRBACManifestWork clusterpermission "$1" -n cluster1)
    # shellcheck disable=SC2053 # a pattern
    [[ $why == $2 ]] || { printf 'expected:\n%s\ngot:\n%s\n' "$2" "$why" >&2 && return 1; }
    gone_at hub manifestwork "$(work_of cluster1 "$1")" -n cluster1
    rbac_is one "^$1" ''
    hub delete clusterpermission "$1" -n cluster1
}

@test "a namespace and a selector; neither of them" {
    local to='subject: {kind: User, name: alice}' selector='namespaceSelector: {}' rules='rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]'
    broken role-both 'both Role Namespace and NamespaceSelector cannot populated at the same time' <<<"roles: [{namespace: team-a, $selector, $rules}]"
    broken role-none 'both Role Namespace and NamespaceSelector cannot be nil and empty' <<<"roles: [{$rules}]"
    broken both 'both RoleBinding Namespace and NamespaceSelector cannot populated at the same time' \
        <<<"roleBindings: [{namespace: team-a, $selector, roleRef: {kind: Role}, $to}]"
    broken none 'both RoleBinding Namespace and NamespaceSelector cannot be nil and empty' <<<"roleBindings: [{roleRef: {kind: Role}, $to}]"
}

@test "half a reference to a role" {
    local to='subject: {kind: User, name: alice}'
    broken group 'the RoleBinding for Namespace team-a missing APIGroup for the RoleRef' \
        <<<"roleBindings: [{namespace: team-a, roleRef: {kind: Role, name: x}, $to}]"
    broken name 'the RoleBinding for Namespace team-a missing Name for the RoleRef' \
        <<<"roleBindings: [{namespace: team-a, roleRef: {kind: Role, apiGroup: rbac.authorization.k8s.io}, $to}]"
}

@test "kinds that nobody knows: of subjects, of references, of roles to take along" {
    broken robots '*"Robot"*' <<<'clusterRoleBinding: {roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: Robot, name: alice}}'
    broken widgets '*"Widget"*' <<<'roleBindings: [{namespace: team-a, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Widget, name: x}, subject: {kind: User, name: alice}}]'
    broken gadgets '*"Gadget"*' <<<'roleRefs: [{apiGroup: rbac.authorization.k8s.io, kind: Gadget, name: x}]'
}

@test "roles of the hub that are not there; once they are, they are delivered" {
    permission cluster1 wants <<<'roleRefs: [{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wants-this}]'
    gets AppliedRBACManifestWork False clusterpermission wants -n cluster1
    run -0 message AppliedRBACManifestWork clusterpermission wants -n cluster1
    mentions wants-this
    hub create clusterrole wants-this --verb=get --resource=pods
    hub label clusterrole wants-this e2e=fleet
    delivered cluster1 wants
    rbac_is one ^wants "ClusterRole wants-this: /pods get $(of "$(work_of cluster1 wants)")"
    hub delete clusterrole wants-this
    gets Stale True clusterpermission wants -n cluster1 # it keeps the last good state, and says so
    rbac_is one ^wants "ClusterRole wants-this: /pods get $(of "$(work_of cluster1 wants)")"
    remove wants
}

@test "the same binding twice" {
    local to='subject: {kind: User, name: alice}'
    broken twice 'duplicate manifest for resource team-a/twice with resource type rbac.authorization.k8s.io/v1.RoleBinding' \
        <<<"roleBindings: [{namespace: team-a, roleRef: {kind: Role}, $to}, {namespace: team-a, roleRef: {kind: ClusterRole}, $to}]"
    broken again 'duplicate manifest for resource */again with resource type rbac.authorization.k8s.io/v1.ClusterRoleBinding' \
        <<<"clusterRoleBindings: [{$to}, {$to}]"
}

@test "subjects that are none: a binding without any, and the status says so" {
    permission cluster1 nobody <<<'roleBindings: [{namespace: team-a, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: []}]'
    eventually holds_at hub 'any(.status.conditions[]; .message | contains("roleBindings[0]"))' clusterpermission nobody -n cluster1
    remove nobody
}

@test "a binding in a namespace that is not there: this object fails, the others do not" {
    permission cluster1 partly <<'YAML'
roleBindings:
- {namespace: team-a, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}
- {namespace: nowhere, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}
YAML
    gets AppliedRBACManifestWork False clusterpermission partly -n cluster1
    eventually shows AppliedManifestWorkFailed reason AppliedRBACManifestWork clusterpermission partly -n cluster1
    eventually shows '0/0/0/2 1' counted partly
    rbac_is one ^partly "RoleBinding team-a/partly: ClusterRole view <- User.$group alice $(of "$(work_of cluster1 partly)")"
    namespace_at one nowhere
    delivered cluster1 partly
    eventually shows '0/0/0/2 2' counted partly
    remove partly
}

@test "a permission that breaks later keeps what was good, says so, and recovers" {
    local good='roleBindings: [{namespace: team-a, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: alice}}]'
    permission cluster1 breaks <<<"$good"
    delivered cluster1 breaks
    local line
    line="RoleBinding team-a/breaks: ClusterRole view <- User.$group alice $(of "$(work_of cluster1 breaks)")"
    rbac_is one ^breaks "$line"
    hub patch clusterpermission breaks -n cluster1 --type=json -p '[{"op":"remove","path":"/spec/roleBindings/0/namespace"}]'
    gets Stale True clusterpermission breaks -n cluster1
    refused cluster1 breaks AppliedRBACManifestWork FailedBuildManifestWork 'both RoleBinding Namespace and NamespaceSelector cannot be nil and empty'
    rbac_is one ^breaks "$line"
    permission cluster1 breaks <<<"$good"
    delivered cluster1 breaks
    eventually holds_at hub 'all(.status.conditions[]; .type != "Stale" or .status == "False")' clusterpermission breaks -n cluster1
    remove breaks
}

# many FROM TO: RoleBindings, one a line.
many() {
    local n
    for ((n = $1; n < $2; n++)); do
        echo "- {namespace: team-b, name: many-$n, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subject: {kind: User, name: user-$n-of-a-company-with-a-long-name@example.com}}"
    done
}

# parts NAME: its works, and of how many bytes each is.
parts() {
    at hub manifestworks -n cluster1 -o json | jq -r --arg name "$1" '.items[] | select(.metadata.ownerReferences[0].name == $name)
        | "\(.metadata.name) \([.spec.workload.manifests[] | tojson | length] | add)"'
}

@test "1,500 bindings: several works, none too large for the webhook of Open Cluster Management; all there, all gone" {
    { echo roleBindings: && many 0 1500; } | sed 's/^/  /' | cat <(printf 'apiVersion: rbac.open-cluster-management.io/v1alpha1\nkind: ClusterPermission\nmetadata: {name: many, namespace: cluster1}\nspec:\n') - | hub create -f -
    delivered cluster1 many
    run -0 parts many
    [ "${#lines[@]}" -ge 2 ]
    local line work
    work=$(work_of cluster1 many)
    for line in "${lines[@]}"; do
        [[ $line == "$work "* || $line =~ ^$work-[0-9]+\  ]]
        [ "${line##* }" -le 512000 ]
    done
    eventually shows '0/0/0/1500 1500' counted many
    shows 1500 bindings_of many
    one auth can-i list pods -n team-b --as=user-1499-of-a-company-with-a-long-name@example.com
    hub patch clusterpermission many -n cluster1 --type=json -p '[{"op":"remove","path":"/spec/roleBindings/0"}]'
    eventually gone_at one rolebinding many-0 -n team-b
    delivered cluster1 many
    shows 1499 bindings_of many
    hub delete clusterpermission many -n cluster1
    eventually shows 0 bindings_of many
    eventually shows '' parts many
}

bindings_of() { at one rolebindings -n team-b -o name | grep -c "/$1-" || true; }

@test "through all of this, nobody touched the one that was good all the time" {
    [ -n "$BYSTANDER" ]
    shows "$BYSTANDER" bystander
}
