# SPDX-License-Identifier: Apache-2.0
# reeve agent: how it starts, with which rights, and what it says when something is missing. What it delivers is told in fleet_*.

load fleet.bash

setup_file() {
    export SCRATCH HOME HUB ONE
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reeve-fleet.XXXXXX")
    HOME=$SCRATCH
    HUB=$SCRATCH/hub.kubeconfig
    ONE=$SCRATCH/one.kubeconfig
    launch_up hub --verbose
    launch_up one --no-controllers --verbose # a Kubernetes that knows nothing of us
    one create namespace reeve-system
    one create serviceaccount reeve-agent -n reeve-system
    KUBECONFIG=$HUB "$REEVE" clusters add cluster1 --join-file "$SCRATCH/cluster1.join"
}

teardown_file() { stop_fleet; }

setup() { cd "$SCRATCH" || return; }

# What a test has started ends with it, also when it fails.
teardown() {
    local name
    for name in agent self; do
        [ ! -f "$SCRATCH/$name.pid" ] || stop_process "$(cat "$SCRATCH/$name.pid")"
        rm -f "$SCRATCH/$name.pid"
    done
}

# agent_as KUBECONFIG [FLAG...]: in the background, with probes; its log is $SCRATCH/agent.log
agent_as() {
    : >"$SCRATCH/agent.log"
    "$REEVE" agent --cluster cluster1 --kubeconfig "$1" --listen 127.0.0.1:0 "${@:2}" >/dev/null 2>>"$SCRATCH/agent.log" 3>&- &
    echo $! >"$SCRATCH/agent.pid"
    eventually grep -q 'msg=listening' "$SCRATCH/agent.log"
    PROBES=$(sed -n 's/.*msg=listening address=//p' "$SCRATCH/agent.log")
}

readyz() { curl -sS "http://$PROBES/readyz"; }
is_ready() { [ "$(readyz)" = ok ]; }
unready() { [[ "$(readyz)" == *"$1"* ]]; }

# account_of_agent: a kubeconfig of the account on the managed cluster.
account_of_agent() {
    cp "$ONE" "$SCRATCH/account.kubeconfig"
    kubectl config --kubeconfig "$SCRATCH/account.kubeconfig" set-credentials agent --token="$(one create token reeve-agent -n reeve-system)" >/dev/null
    kubectl config --kubeconfig "$SCRATCH/account.kubeconfig" set-context --current --user=agent >/dev/null
    echo "$SCRATCH/account.kubeconfig"
}

# refused_nothing LOG USER: there are requests of it in the log, and all were allowed.
refused_nothing() {
    grep -qE "msg=request .*user=$2 status=20[01]" "$SCRATCH/$1.log"
    ! grep -E "msg=request .*user=$2 status=(401|403)" "$SCRATCH/$1.log"
}

role_work() { # NAME
    work cluster1 "$1" <<YAML
workload:
  manifests:
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: $1}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
YAML
}

@test "it says what is missing, before anything starts" {
    run -2 "$REEVE" agent
    mentions 'say --cluster NAME: what is this cluster called on the hub?'
    run -2 "$REEVE" agent --cluster cluster1
    mentions 'say --hub-kubeconfig FILE, which "reeve clusters add cluster1" on the hub writes'
    run -1 "$REEVE" agent --cluster cluster1 --hub-kubeconfig nowhere --kubeconfig "$ONE"
    says 'reeve agent: read the join kubeconfig from the file nowhere: open nowhere: No such file or directory'
    run -1 "$REEVE" agent --cluster cluster1 --hub-kubeconfig cluster1.join --kubeconfig nowhere
    says 'reeve agent: find this cluster: open nowhere: No such file or directory'
    run -1 "$REEVE" agent --cluster other --hub-kubeconfig cluster1.join --kubeconfig "$ONE"
    says 'reeve agent: the join kubeconfig is that of cluster "cluster1", and this is "other"'
    echo '{' >broken
    run -1 "$REEVE" agent --cluster cluster1 --hub-kubeconfig broken --kubeconfig "$ONE"
    mentions 'read the join kubeconfig from the file broken'
    run -0 "$REEVE" agent --help
    mentions 'Usage: reeve agent --cluster NAME --hub-kubeconfig FILE'
}

@test "without rights it says which, and goes on when it has them" {
    agent_as "$(account_of_agent)" --hub-kubeconfig cluster1.join
    eventually unready 'User "system:serviceaccount:reeve-system:reeve-agent" cannot get resource "customresourcedefinitions"'
    run -0 cat agent.log
    mentions 'msg="no way to the hub"'
    mentions 'make the kind AppliedManifestWork on this cluster'
    "$REEVE" agent --print-rbac --managed | one apply -f -
    eventually is_ready
    one get crd appliedmanifestworks.work.open-cluster-management.io
}

@test "the rights that it prints are enough, on both sides" {
    "$REEVE" agent --print-rbac --managed | one apply -f -
    : >hub.log && : >one.log # what was refused before is history
    agent_as "$(account_of_agent)" --hub-kubeconfig cluster1.join
    eventually is_ready
    role_work enough
    gets Applied True manifestwork enough -n cluster1
    one delete clusterrole enough
    eventually one get clusterrole enough
    account cluster1 pilot
    gets TokenReported True managedserviceaccount pilot -n cluster1
    eventually joined cluster1
    hub delete managedserviceaccount pilot -n cluster1
    hub delete manifestwork enough -n cluster1
    one wait --for=delete clusterrole/enough --timeout=60s
    refused_nothing one system:serviceaccount:reeve-system:reeve-agent
    refused_nothing hub system:serviceaccount:cluster1:reeve-agent
    KUBECONFIG=$HUB run -0 "$REEVE" clusters list
    matches 'cluster1 +True +True +True +[0-9]+s +0/0 +[0-9]+[smh0-9]*'
}

@test "the rights on the hub are those that it prints" {
    diff <("$REEVE" agent --print-rbac --hub | yq_rules) <(hub get clusterrole reeve:agent -o yaml | yq_rules)
    diff <("$REEVE" agent --print-rbac --hub --cluster cluster1 | grep -A99 'kind: RoleBinding' | grep -A9 '^roleRef') \
        <(hub get rolebinding reeve-agent -n cluster1 -o yaml | grep -A9 '^roleRef')
}

yq_rules() { sed -n '/^rules:/,/^---/p' | sed '/^---/d'; }

@test "the join kubeconfig may be a Secret, and may come later" {
    "$REEVE" agent --print-rbac --managed --hub-kubeconfig-secret reeve-system/hub-join | one apply -f -
    agent_as "$(account_of_agent)" --hub-kubeconfig-secret reeve-system/hub-join
    eventually unready 'read the join kubeconfig from the Secret reeve-system/hub-join: secrets "hub-join" not found'
    one create secret generic hub-join -n reeve-system --from-file=kubeconfig=cluster1.join
    eventually is_ready
    role_work secretly
    gets Applied True manifestwork secretly -n cluster1
    KUBECONFIG=account.kubeconfig run -1 kubectl get secrets -n reeve-system
    KUBECONFIG=account.kubeconfig run -0 kubectl auth can-i get secrets/hub-join -n reeve-system
    hub delete manifestwork secretly -n cluster1
}

@test "a token that the hub does not take is told, and a fresh join is taken up" {
    sed 's/token: .*/token: nonsense/' cluster1.join >stale.join
    agent_as "$ONE" --hub-kubeconfig stale.join
    eventually unready 'does not accept the token of the file stale.join: get another join kubeconfig with "reeve clusters add cluster1" on the hub'
    KUBECONFIG=$HUB "$REEVE" clusters add cluster1 --join-file stale.join
    eventually is_ready
    run -0 cat agent.log
    mentions 'msg="the way to the hub is open again"'
    lacks nonsense
    lacks "$(sed -n 's/.*token: //p' stale.join)"
}

@test "a hub that is away at the start is waited for" {
    local port
    port=$(sed -n 's|.*server: *"*https://127.0.0.1:\([0-9]*\).*|\1|p' "$HUB")
    stop_process "$(cat hub.pid)"
    agent_as "$ONE" --hub-kubeconfig cluster1.join
    eventually unready 'does not answer, what is here stays: connect to'
    rm -f "$HUB"
    "$REEVE" up --data-dir "$SCRATCH/hub" --listen "127.0.0.1:$port" --kubeconfig "$HUB" --verbose >/dev/null 2>>"$SCRATCH/hub.log" 3>&- &
    echo $! >hub.pid
    eventually test -s "$HUB"
    eventually is_ready
    role_work later
    gets Applied True manifestwork later -n cluster1
    hub delete manifestwork later -n cluster1
}

@test "of two with leader election one acts, and SIGTERM lets the other in" {
    agent_as "$ONE" --hub-kubeconfig cluster1.join --leader-election
    eventually is_ready
    local first=$PROBES pid
    pid=$(cat agent.pid)
    run -0 one get lease reeve-agent -n kube-system -o 'jsonpath={.spec.holderIdentity}'
    agent_as "$ONE" --hub-kubeconfig cluster1.join --leader-election
    eventually is_ready
    lacks_line agent.log 'msg=acting'
    stop_process "$pid"
    eventually grep -q 'msg=acting' agent.log
    eventually is_ready
    [ "$first" != "$PROBES" ]
}

lacks_line() { ! grep -q "$2" "$1"; }

@test "a cluster that is removed takes away what was delivered" {
    agent_as "$ONE" --hub-kubeconfig cluster1.join
    eventually is_ready
    role_work going
    gets Applied True manifestwork going -n cluster1
    KUBECONFIG=$HUB run -0 "$REEVE" clusters remove cluster1
    run -1 one get clusterrole going
    eventually unready 'the hub '
}

@test "reeve up --managed is its own managed cluster" {
    launch_up self --managed self
    HUB=$SCRATCH/self.kubeconfig ONE=$SCRATCH/self.kubeconfig
    eventually joined self
    permission self readers <<YAML
clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
clusterRoleBinding: {subject: {kind: Group, apiGroup: rbac.authorization.k8s.io, name: readers}}
YAML
    delivered self readers
    one auth can-i get pods --as ada --as-group readers
    hub delete clusterpermission readers -n self
    eventually cannot get pods --as ada --as-group readers
    KUBECONFIG=$HUB run -0 "$REEVE" clusters list
    matches 'self +True +True +True .*'
    local account=system:serviceaccount:kube-system:reeve-agent
    hub auth can-i create clusterroles --as "$account"
    cannot get secrets -n kube-system --as "$account"
    cannot delete namespaces --as "$account"
    account self pilot
    gets TokenReported True managedserviceaccount pilot -n self
    hub auth can-i create serviceaccounts/token -n open-cluster-management-agent-addon --as "$account"
    cannot create serviceaccounts/token -n kube-system --as "$account"
    # Other kinds than roles and bindings: what a cluster lets works deliver.
    work self settings <<YAML
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {a: b}}
YAML
    gets Applied False manifestwork settings -n self
    hub get manifestwork settings -n self -o yaml | grep -q 'cannot .* resource "configmaps"'
    hub create clusterrole settings-of-works --verb=create,delete,get,list,patch,watch --resource=configmaps
    hub label clusterrole settings-of-works open-cluster-management.io/aggregate-to-work=true
    gets Applied True manifestwork settings -n self
    hub delete manifestwork settings -n self
    # It starts all the same when what it needs cannot be put into a namespace that goes.
    hub apply -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: stuck, namespace: open-cluster-management-agent-addon, finalizers: [e2e/stuck]}
YAML
    hub delete namespace open-cluster-management-agent-addon --wait=false
    gone_role() { gone_at one role reeve:managed:agent -n open-cluster-management-agent-addon; }
    eventually gone_role
    stop_process "$(cat self.pid)"
    launch_up self --managed self
    hub patch configmap stuck -n open-cluster-management-agent-addon --type=merge -p '{"metadata": {"finalizers": null}}'
    hub wait --for=delete namespace/open-cluster-management-agent-addon --timeout=60s
    stop_process "$(cat self.pid)"
    launch_up self --managed self
    eventually one get serviceaccount pilot -n open-cluster-management-agent-addon
    run -2 "$REEVE" up --managed self --no-controllers
    mentions '--managed needs the controllers'
    run -2 "$REEVE" up --managed 'not a name'
    mentions '--managed "not a name" is no name'
}

cannot() { [ "$(one auth can-i "$@")" = no ]; }
