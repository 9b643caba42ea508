# SPDX-License-Identifier: Apache-2.0
# reeve clusters: who belongs to a hub. One hub; clusters of it come and go, most of them without an agent.

load fleet.bash

setup_file() {
    export SCRATCH HOME HUB KUBECONFIG
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reeve-fleet.XXXXXX")
    HOME=$SCRATCH
    HUB=$SCRATCH/hub.kubeconfig
    launch_up hub
    KUBECONFIG=$HUB
}

teardown_file() { stop_fleet; }

setup() { cd "$SCRATCH" || return; }

teardown() {
    [ ! -f "$SCRATCH/bare.pid" ] || stop_process "$(cat "$SCRATCH/bare.pid")"
    rm -f "$SCRATCH/bare.pid"
}

clusters() { "$REEVE" clusters "$@"; }

# stranded CLUSTER NAME: a ManifestWork with a finalizer, as if its agent had delivered two objects, and was gone since.
stranded() {
    hub create -f - <<YAML
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: $2
  namespace: $1
  finalizers: [cluster.open-cluster-management.io/manifest-work-cleanup]
spec: {workload: {manifests: []}}
YAML
    hub patch manifestwork "$2" -n "$1" --subresource=status --type=merge -p '{"status": {
        "conditions": [{"type": "Applied", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        "resourceStatus": {"manifests": ['"$(manifest ClusterRole '' reader True)"','"$(manifest RoleBinding shop readers True)"','"$(manifest Role shop lost False)"']}}}'
}

manifest() { # KIND NAMESPACE NAME APPLIED
    printf '{"resourceMeta": {"ordinal": 0, "group": "rbac.authorization.k8s.io", "version": "v1", "kind": "%s", "resource": "x", "name": "%s", "namespace": "%s"},
        "conditions": [{"type": "Applied", "status": "%s", "reason": "r", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}' "$1" "$3" "$2" "$4"
}

@test "no clusters yet" {
    run -0 --separate-stderr clusters list
    says ''
    # shellcheck disable=SC2154
    [ "$stderr" = 'No clusters yet: "reeve clusters add NAME" adds one.' ]
    run -0 clusters list -o name
    says ''
}

@test "add writes a join kubeconfig that lets the agent into its namespace and nowhere else" {
    run -0 clusters add alpha
    mentions 'ManagedCluster alpha is accepted. The join kubeconfig alpha.kubeconfig lets its agent in until '
    mentions 'for agents elsewhere say --hub-server URL'
    mentions '  reeve agent --cluster alpha --hub-kubeconfig alpha.kubeconfig'
    [ "$(stat -c %a alpha.kubeconfig)" = 600 ]
    KUBECONFIG=alpha.kubeconfig run -0 kubectl auth whoami -o 'jsonpath={.status.userInfo.username}'
    says system:serviceaccount:alpha:reeve-agent
    KUBECONFIG=alpha.kubeconfig run -0 kubectl get manifestworks
    mentions 'No resources found in alpha namespace.'
    hub create namespace beta
    KUBECONFIG=alpha.kubeconfig run -1 kubectl get manifestworks -n beta
    mentions Forbidden
    KUBECONFIG=alpha.kubeconfig run -1 kubectl get managedclusters
    mentions Forbidden
    run -0 hub get managedcluster alpha -o 'jsonpath={.spec.hubAcceptsClient}'
    says true
}

@test "add again writes a fresh one, and changes nothing else" {
    local version token
    version=$(hub get managedcluster alpha -o 'jsonpath={.metadata.generation} {.metadata.uid}')
    token=$(sed -n 's/.*token: //p' alpha.kubeconfig)
    run -0 clusters add alpha
    [ "$version" = "$(hub get managedcluster alpha -o 'jsonpath={.metadata.generation} {.metadata.uid}')" ]
    [ "$token" != "$(sed -n 's/.*token: //p' alpha.kubeconfig)" ]
}

@test "add accepts a cluster that was denied" {
    hub create -f - <<YAML
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: denied}
spec: {hubAcceptsClient: false}
YAML
    run -0 clusters add denied --join-file other.kubeconfig
    run -0 hub get managedcluster denied -o 'jsonpath={.spec.hubAcceptsClient}'
    says true
    run -0 clusters remove denied
}

@test "add to standard output, for another server, for a while" {
    run -0 --separate-stderr clusters add alpha --join-file - --hub-server https://hub.example.com --lifetime 1h
    mentions 'server: https://hub.example.com'
    lacks 127.0.0.1
    [[ "$stderr" != *127.0.0.1* ]]
    [[ "$stderr" == *'reeve agent --cluster alpha --hub-kubeconfig FILE'* ]]
    local claims
    claims=$(sed -n 's/.*token: [^.]*\.\([^.]*\)\..*/\1/p' <<<"$output" | tr _- /+)
    claims=$(base64 -d <<<"$claims===" 2>/dev/null || true)
    [ "$(jq '.exp - .iat' <<<"$claims")" = 3600 ]
}

@test "list" {
    stranded alpha delivered
    run -0 clusters list
    matches 'NAME    ACCEPTED   JOINED   AVAILABLE   HEARTBEAT   WORKS\(APPLIED/FAILED\)   AGE'
    matches 'alpha   True       <none>   <none>      <none>      1/0                     [0-9]+s'
    run -0 clusters list -o wide
    matches 'NAME .* AGE +AGENT +KUBERNETES'
    run -0 clusters list -o name
    says managedcluster.cluster.open-cluster-management.io/alpha
    run -0 --separate-stderr clusters list -l region=north -o name
    says ''
    run -0 --separate-stderr clusters list -l region=north
    says ''
    [ "$stderr" = 'No clusters with such labels.' ]
    hub label managedcluster alpha region=north
    run -0 clusters list --selector 'region in (north, south)' -o name
    says managedcluster.cluster.open-cluster-management.io/alpha
    run -1 clusters list -l 'region in'
    mentions 'reeve clusters list: list ManagedClusters: '
    run -0 clusters list -o json
    [ "$(jq -r '.items[0].metadata.name, .kind' <<<"$output" | xargs)" = 'alpha List' ]
    run -0 clusters list -o yaml
    mentions 'kind: ManagedCluster'
    lacks managedFields
}

@test "who may not is told what is missing" {
    run -1 clusters list --as ada
    says 'reeve clusters list: list ManagedClusters: managedclusters.cluster.open-cluster-management.io is forbidden: User "ada" cannot list resource "managedclusters" in API group "cluster.open-cluster-management.io" at the cluster scope
User "ada" lacks these rights:
  list managedclusters.cluster.open-cluster-management.io at the cluster scope
Somebody who may grant them can say:
  kubectl create clusterrole reeve-clusters-list --verb=list --resource=managedclusters.cluster.open-cluster-management.io && kubectl create clusterrolebinding reeve-clusters-list --clusterrole=reeve-clusters-list --user=ada'
    run -1 clusters add gamma --as ada --as-group crew
    mentions 'User "ada" cannot get resource "managedclusters" in API group "cluster.open-cluster-management.io" at the cluster scope'
    mentions '
  get managedclusters.cluster.open-cluster-management.io "gamma" at the cluster scope
  create managedclusters.cluster.open-cluster-management.io at the cluster scope
  create serviceaccounts/token "reeve-agent" in the namespace "gamma"
'
    hub create clusterrole cluster-lister --verb=list,get --resource=managedclusters.cluster.open-cluster-management.io
    hub create clusterrolebinding cluster-listers --clusterrole=cluster-lister --group=crew
    run -0 --separate-stderr clusters list --as ada --as-group crew
    matches 'alpha +True .* <unknown> +<unknown> .*'
    [[ "$stderr" == *'cannot list manifestworks: manifestworks.work.open-cluster-management.io is forbidden: User "ada" cannot list'* ]]
    run -1 clusters add alpha --as ada --as-group crew
    mentions 'get a token for the agent: serviceaccounts "reeve-agent" is forbidden: User "ada" cannot create resource "serviceaccounts/token" in API group "" in the namespace "alpha"'
}

@test "remove waits for the agent, and says what is left when it does not come" {
    run -1 clusters remove alpha --timeout 1s
    mentions 'The agent of alpha has not removed what these works delivered:
  ManifestWork delivered, with 2 objects on the managed cluster
    ClusterRole reader
    RoleBinding shop/readers'
    mentions 'With --force the works are forgotten here'
    mentions 'reeve clusters remove: ManagedCluster alpha is not gone yet: The resource manifestworks is remaining'
    run -1 clusters add alpha
    mentions 'ManagedCluster "alpha" is being removed'
}

@test "remove --force lets go of what is left, and tells it" {
    run -0 clusters remove alpha --force
    mentions 'Nobody takes this away from the managed cluster any more:
  ManifestWork delivered, with 2 objects on the managed cluster
    ClusterRole reader
    RoleBinding shop/readers'
    mentions 'ManagedCluster alpha is gone; its namespace and ClusterPermissions in it stay.'
    run -0 clusters list -o name
    lacks alpha
    run -1 hub get manifestwork delivered -n alpha
    KUBECONFIG=alpha.kubeconfig run -1 kubectl get manifestworks
    lacks 'No resources found'
    hub get namespace alpha
    run -1 clusters remove alpha
    says 'reeve clusters remove: there is no ManagedCluster alpha'
}

@test "finalizers of others are left to them" {
    clusters add alpha
    stranded alpha mine
    hub patch manifestwork mine -n alpha --type=json -p '[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/mine"}]'
    run -0 clusters remove alpha --force --timeout 1s
    mentions 'ManagedCluster alpha is not gone yet: The resource manifestworks is remaining'
    mentions 'The hub has not finished in time: its part is done from here.'
    KUBECONFIG=alpha.kubeconfig run -1 kubectl get manifestworks
    lacks 'No resources found'
    run -0 hub get manifestwork mine -n alpha -o 'jsonpath={.metadata.finalizers}'
    says '["example.com/mine"]'
    hub patch manifestwork mine -n alpha --type=merge -p '{"metadata": {"finalizers": null}}'
}

@test "a server that is no hub says so" {
    launch_up bare --no-controllers
    KUBECONFIG=$SCRATCH/bare.kubeconfig run -1 clusters list
    mentions 'has no ManagedClusters, so it is no hub'
    KUBECONFIG=$SCRATCH/bare.kubeconfig run -1 clusters add alpha
    mentions 'has no ManagedClusters, so it is no hub'
    "$REEVE" manager --print-crds | KUBECONFIG=$SCRATCH/bare.kubeconfig kubectl create -f -
    KUBECONFIG=$SCRATCH/bare.kubeconfig eventually clusters list
    KUBECONFIG=$SCRATCH/bare.kubeconfig run -1 clusters add alpha --timeout 200ms
    mentions 'nothing was heard of the controller clusters, which "reeve up" and "reeve manager" run'
}

@test "command lines that make no sense" {
    run -2 clusters
    mentions 'say add, list or remove'
    run -2 clusters ad alpha
    mentions 'unknown command "ad", did you mean "add"?'
    run -2 clusters add
    mentions 'add needs the name of one cluster'
    run -2 clusters add ../etc
    mentions '"../etc" cannot be the name of a cluster'
    run -2 clusters add alpha --lifetime 1m
    mentions 'shorter than the ten minutes'
    run -2 clusters list --force
    mentions '--force does not go with list'
    run -2 clusters remove alpha -o x
    mentions '--output does not go with remove'
    run -2 clusters add alpha -l x=y
    mentions '--selector does not go with add'
    run -2 clusters list -o xml
    mentions 'use table, wide, json, yaml or name'
    run -1 clusters add alpha --hub-server http://hub.example.com
    mentions '--hub-server: '
    run -1 clusters list --kubeconfig nowhere
    mentions 'open nowhere: No such file or directory'
    run -0 clusters --help
    mentions 'Usage: reeve clusters add NAME'
}

@test "what an agent says does not reach the terminal as it is" {
    clusters add sly
    hub wait lease managed-cluster-lease -n sly --for=create --timeout=60s
    hub annotate lease managed-cluster-lease -n sly "agent.reeve.dev/version=$(printf 'v1\033]0;owned\a\nNAME')"
    run -0 --separate-stderr clusters list -o wide
    matches 'sly .* v1\\x1b\]0;owned\\x07\\x0aNAME +<none>'
    hub create -f - <<YAML
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: trick, namespace: sly, finalizers: [cluster.open-cluster-management.io/manifest-work-cleanup]}
spec: {workload: {manifests: []}}
YAML
    hub patch manifestwork trick -n sly --subresource=status --type=merge \
        -p '{"status": {"resourceStatus": {"manifests": ['"$(manifest Role shop 'a\u001b[2J\nb' True)"']}}}'
    run -0 clusters remove sly --force
    mentions '    Role shop/a\x1b[2J\x0ab'
}

@test "a join kubeconfig is put in the place of files alone" {
    mkfifo pipe
    run -1 clusters add devices --join-file pipe
    says 'reeve clusters add: pipe is no regular file: - is standard output'
    [ -p pipe ]
    run -1 clusters add devices --join-file /dev/stdout
    says 'reeve clusters add: /dev/stdout is no regular file: - is standard output'
    run -1 hub get managedcluster devices
    ln -s elsewhere link
    run -1 clusters add devices --join-file link
    says 'reeve clusters add: link is no regular file: - is standard output'
}

@test "remove names the accounts whose tokens stay" {
    clusters add crew
    account crew pilot
    run -0 clusters remove crew
    mentions 'ManagedCluster crew is gone; its namespace and ClusterPermissions in it stay.'
    mentions '  pilot'
    mentions 'Before another cluster gets this name: kubectl delete managedserviceaccounts --all -n crew'
}
