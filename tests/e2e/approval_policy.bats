# SPDX-License-Identifier: Apache-2.0
# deploy/approval on a real Kubernetes, which is the only one that has such policies: what the server of "reeve up" refuses by itself
# (cases/api/permission_approval) is refused there, too. See tools/test-kubernetes.

load packages.bash

setup_file() {
    export POLICY=$BATS_TEST_DIRNAME/../../deploy/approval
    start_server
    kubectl apply -k "$POLICY"
    kubectl create clusterrole "$NS" --verb=create,get,update,patch \
        --resource=clusterpermissions.rbac.open-cluster-management.io,clusterpermissions.rbac.open-cluster-management.io/status
    kubectl create clusterrolebinding "$NS" --clusterrole="$NS" --user=jane --user=boss
    kubectl -n "$NS" create role boss --verb=approve --resource=clusterpermissions.rbac.open-cluster-management.io
    kubectl -n "$NS" create rolebinding boss --role=boss --user=boss
    permission first | kubectl apply -f -
    # Servers take a while to learn of policies and roles.
    until [[ $(kubectl --as=jane -n "$NS" annotate clusterpermission first reeve.dev/requested-by=x --dry-run=server 2>&1) == *'nobody but the server'* ]]; do
        sleep 0.2
    done
}

teardown_file() {
    kubectl delete -k "$POLICY"
    kubectl delete clusterrole,clusterrolebinding "$NS"
    stop_server
}

# permission NAME [ANNOTATION]
permission() {
    cat <<END
apiVersion: rbac.open-cluster-management.io/v1alpha1
kind: ClusterPermission
metadata: {name: $1, namespace: $NS, annotations: {note: mine${2:+, $2}}}
spec:
  clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
  clusterRoleBinding: {subject: {apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}}
END
}

as() {
    local who=$1
    shift
    kubectl --as="$who" -n "$NS" "$@"
}

# verdict TYPE
verdict() {
    echo '{"status":{"conditions":[{"type":"'"$1"'","status":"True","reason":"X","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}'
}

refused() {
    run ! "$@"
    [[ $output == *"is forbidden: ValidatingAdmissionPolicy 'approval.reeve.dev'"*"$why"* ]]
}

@test "who writes permissions does not approve them" {
    why='to change its approval takes the right to approve'
    permission mine | as jane apply -f -
    refused as jane annotate clusterpermission mine reeve.dev/approved-generation=1
    refused as jane create -f <(permission other 'reeve.dev/approved-generation: "1"')
    run ! as jane get clusterpermission other
}

@test "nobody says who asked for a permission" {
    why='nobody but the server tells who asked'
    permission asked | as jane apply -f -
    refused as jane annotate clusterpermission asked reeve.dev/requested-by='{"user":"admin"}'
    refused as boss annotate clusterpermission asked reeve.dev/requested-by='{"user":"admin"}'
    refused as jane create -f <(permission other "reeve.dev/requested-by: '{}'")
}

@test "who may approves, and nobody else takes it back" {
    why='to change its approval takes the right to approve'
    permission good | as jane apply -f -
    as boss annotate clusterpermission good reeve.dev/approved-generation=1
    refused as jane annotate clusterpermission good reeve.dev/approved-generation-
    as jane patch clusterpermission good --type=merge -p '{"spec":{"clusterRole":{"rules":[]}}}'
    [ "$(as jane get clusterpermission good -o 'jsonpath={.metadata.generation} {.metadata.annotations.reeve\.dev/approved-generation}')" = '2 1' ]
}

@test "the status tells of an approval only by who may approve" {
    why='to tell of its approval takes the right to approve'
    permission told | as jane apply -f -
    refused as jane patch clusterpermission told --subresource=status --type=merge -p "$(verdict Approved)"
    as jane patch clusterpermission told --subresource=status --type=merge -p "$(verdict Other)"
    as boss patch clusterpermission told --subresource=status --type=merge -p "$(verdict Approved)"
    refused as jane patch clusterpermission told --subresource=status --type=merge -p "$(verdict Other)"
}

@test "names that the server makes up are no way around it" {
    why='to change its approval takes the right to approve'
    refused as jane create -f <(permission x 'reeve.dev/approved-generation: "1"' | sed 's/{name: x/{generateName: x/')
    permission x | sed 's/{name: x/{generateName: x/' | as jane create -f -
}

# ---- Installs: deploy/approval/installs.yaml. ----

# waiting NAME ACCESS: an install that waits for approval of this access, a list in JSON. No such image can be pulled.
waiting() {
    kubectl apply -f - <<END
apiVersion: packages.crossplane.io/v1alpha1
kind: PackageInstall
metadata: {name: $1, namespace: $NS}
spec: {package: "registry.invalid/none/$1:1.0"}
END
    kubectl -n "$NS" patch pi "$1" --subresource=status --type=merge -p '{"status":{"pendingApproval":{"id":"1-abc","access":'"$2"'}}}'
}

refused_install() {
    run ! "$@"
    [[ $output == *"is forbidden: ValidatingAdmissionPolicy 'install-approval.reeve.dev'"*"$why"* ]]
}

@test "an install is approved by a user who holds all of the access, and by nobody else" {
    local key=packages.crossplane.io/approved classes='{"verb":"*","group":"db.example.org","resource":"classes"}'
    kubectl create clusterrole "$NS-writer" --verb=get,create,update,patch --resource=packageinstalls.packages.crossplane.io
    echo '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"'"$NS-classes"'"},"rules":[
        {"apiGroups":["db.example.org"],"resources":["classes"],"verbs":["*"]}]}' | kubectl create -f -
    kubectl create clusterrolebinding "$NS-writer" --clusterrole="$NS-writer" --user=jane --user=carla --user=wendy
    kubectl create clusterrolebinding "$NS-classes" --clusterrole="$NS-classes" --user=carla
    waiting one "[$classes]"
    why='no such approval is pending'
    until as carla annotate pi one $key=1-abc --dry-run=server && [[ $(as jane annotate pi one $key=1 --dry-run=server 2>&1) == *"$why"* ]]; do sleep 0.2; done
    refused_install as carla annotate pi one $key=2-xyz
    refused_install as jane annotate pi one $key=1
    why='approving this install takes the access that it needs'
    refused_install as jane annotate pi one $key=1-abc
    as carla annotate pi one $key=1-abc
    as jane annotate pi one $key- # an approval may be withdrawn by who may write the install
    as jane label pi one touched=true
    # of several, all have to be held
    local secrets='{"verb":"get","resource":"secrets"}' node='{"verb":"update","group":"","resource":"nodes","subresource":"status","name":"n1"}'
    waiting more "[$classes,$classes,$classes,$classes,$secrets]"
    refused_install as carla annotate pi more $key=1-abc
    waiting named "[$classes,$node]"
    refused_install as carla annotate pi named $key=1-abc
    kubectl create clusterrole "$NS-node" --verb=update --resource=nodes/status --resource-name=n1
    kubectl create clusterrolebinding "$NS-node" --clusterrole="$NS-node" --user=carla
    until as carla annotate pi named $key=1-abc; do sleep 0.2; done
    # who holds everything may always
    kubectl annotate pi more $key=1-abc -n "$NS"
    waiting many "[$(printf '%s,' $(for i in {1..17}; do echo "$classes"; done) | sed 's/,$//')]"
    why='no such approval is pending'
    refused_install as carla annotate pi many $key=1-abc
    kubectl annotate pi many $key=1-abc -n "$NS"
    refused_install as jane create -f - <<END
apiVersion: packages.crossplane.io/v1alpha1
kind: PackageInstall
metadata: {name: early, namespace: $NS, annotations: {$key: 1-abc}}
spec: {package: "registry.invalid/none/early:1.0"}
END
    kubectl -n "$NS" delete pi --all
    kubectl delete clusterrole,clusterrolebinding "$NS-writer" "$NS-classes" "$NS-node"
}

@test "an approval that is written while the policy is missing does not count, neither then nor when the policy is back" {
    local key=packages.crossplane.io/approved group=$NS.example.org binding=package:acme:early:1.0:system-cluster:$NS
    STORE=$REEVE_STORE
    kubectl create clusterrole "$NS-writer" --verb=get,patch --resource=packageinstalls.packages.crossplane.io
    kubectl create clusterrolebinding "$NS-writer" --clusterrole="$NS-writer" --user=jane
    thing_crd "links.$group" Cluster | kubectl create -f -
    APP="version: '1.0'
dependsOn: [{crd: links.$group}]" made_up acme/early:1.0 Namespaced
    namespace_install "$NS" early acme/early:1.0
    eventually holds '.status.pendingApproval != null' pi early -n "$NS"
    kubectl delete -f "$POLICY/installs.yaml"
    # the server takes a while to forget it
    until as jane annotate pi early "$key=$(field .status.pendingApproval.id pi early)" --overwrite; do sleep 0.2; done
    eventually holds '.status.conditions[] | select(.type == "Ready") | .message | contains("its approval is not accepted")' pi early -n "$NS"
    as jane annotate pi early "$key=$(field .status.pendingApproval.id pi early)" --overwrite # the id of now
    kubectl apply -f "$POLICY/installs.yaml"
    other_id() { holds ".status.pendingApproval.id != .metadata.annotations[\"$key\"]" pi early -n "$NS"; }
    eventually other_id
    eventually holds '.status.conditions[] | select(.type == "Ready") | .message | contains("its approval is not accepted") | not' pi early -n "$NS"
    other_id
    is_gone clusterrolebinding "$binding"
    # an approval of now does
    until kubectl annotate pi early -n "$NS" "$key=$(field .status.pendingApproval.id pi early)" --overwrite; do sleep 0.2; done
    eventually is_there clusterrolebinding "$binding"
    kubectl -n "$NS" delete pi early
    kubectl delete crd "links.$group"
    kubectl delete clusterrole,clusterrolebinding "$NS-writer"
}
