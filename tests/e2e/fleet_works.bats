# SPDX-License-Identifier: Apache-2.0
# ManifestWorks that people write by hand, as for Open Cluster Management: strategies, what stays when they go, in whose name, and
# what is told back.

load fleet.bash

setup_file() {
    start_fleet
    namespace_at one team
}

teardown_file() { stop_fleet; }

# value NAME: what a ConfigMap of the managed cluster says.
value() { at one configmap "$1" -n team -o 'jsonpath={.data.value}'; }

# owners KIND NAME: the works that an object belongs to.
owners() { at one "$@" -n team -o json | jq -r '[.metadata.ownerReferences[]? | select(.kind == "AppliedManifestWork") | .name | sub("^[0-9a-f]{64}-"; "")] | sort | join(" ")'; }

# states WORK: of each manifest, in order: "KIND NAME TYPE=STATUS REASON, ..."
states() {
    at hub manifestwork "$1" -n cluster1 -o json | jq -r '.status.resourceStatus.manifests[]? | "\(.resourceMeta.kind) \(.resourceMeta.name) "
        + ([.conditions[] | select(.type == "Applied" or .type == "Available") | "\(.type)=\(.status) \(.reason)"] | sort | join(", "))'
}

# manifest_message WORK N
manifest_message() { at hub manifestwork "$1" -n cluster1 -o "jsonpath={.status.resourceStatus.manifests[$2].conditions[?(@.type==\"Applied\")].message}"; }

# drop WORK: deletes it, and waits until that is done.
drop() { hub delete manifestwork "$1" -n cluster1 --timeout=60s; }

fine='Applied=True AppliedManifestComplete, Available=True ResourceAvailable'

# ---- Life. ----

@test "a namespace and what is in it, in whatever order; conditions on both levels; owned; gone with the work" {
    work cluster1 whole <<YAML
workload:
  manifests:
  - $(configmap_manifest whole a 1)
  - {apiVersion: v1, kind: Namespace, metadata: {name: whole, labels: {e2e: fleet}}}
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: whole}}
YAML
    gets Applied True manifestwork whole -n cluster1
    gets Available True manifestwork whole -n cluster1
    shows AppliedManifestWorkComplete reason Applied manifestwork whole -n cluster1
    shows 'Apply manifest work complete' message Applied manifestwork whole -n cluster1
    shows ResourcesAvailable reason Available manifestwork whole -n cluster1
    shows 'All resources are available' message Available manifestwork whole -n cluster1
    shows "ConfigMap a $fine
Namespace whole $fine
ServiceAccount robot $fine" states whole
    shows '0  v1 ConfigMap configmaps whole a' at hub manifestwork whole -n cluster1 -o 'jsonpath={range .status.resourceStatus.manifests[0].resourceMeta}{.ordinal} {.group} {.version} {.kind} {.resource} {.namespace} {.name}{end}'
    shows cluster.open-cluster-management.io/manifest-work-cleanup at hub manifestwork whole -n cluster1 -o 'jsonpath={.metadata.finalizers[*]}'
    local applied
    applied=$(at one appliedmanifestworks -o 'jsonpath={.items[?(@.spec.manifestWorkName=="whole")].metadata.name}')
    [ "$applied" = "$(hub_hash)-whole" ]
    shows cluster.open-cluster-management.io/applied-manifest-work-cleanup at one appliedmanifestwork "$applied" -o 'jsonpath={.metadata.finalizers[*]}'
    shows 'configmaps namespaces serviceaccounts' recorded "$applied"
    shows 'AppliedManifestWork false' one get configmap a -n whole -o json --template '{{range .metadata.ownerReferences}}{{.kind}} {{or .controller false}}{{end}}' -o go-template
    drop whole
    eventually gone_at one namespace whole
    gone_at one appliedmanifestwork "$applied"
}

# hub_hash: of the hub's address as the agent knows it.
hub_hash() { printf %s "$(kubectl config view --kubeconfig "$SCRATCH/cluster1.join" --raw -o 'jsonpath={.clusters[0].cluster.server}')" | sha256sum | cut -d' ' -f1; }

recorded() { at one appliedmanifestwork "$1" -o json | jq -r '[.status.appliedResources[] | select(.uid != "" and .uid != null) | .resource] | sort | join(" ")'; }

@test "another content, another object, one less" {
    work cluster1 changes <<<"workload: {manifests: [$(configmap_manifest team a 1), $(configmap_manifest team b 1)]}"
    gets Applied True manifestwork changes -n cluster1
    shows 1 value a
    work cluster1 changes <<<"workload: {manifests: [$(configmap_manifest team a 2), $(configmap_manifest team c 1)]}"
    gets Applied True manifestwork changes -n cluster1
    eventually shows 2 value a
    shows 1 value c
    eventually gone_at one configmap b -n team
    drop changes
    gone_at one configmap a -n team
    gone_at one configmap c -n team
}

@test "it waits for what takes its time to go" {
    work cluster1 slow <<<"workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: slow, namespace: team, finalizers: [example.com/hold]}}]}"
    gets Applied True manifestwork slow -n cluster1
    hub delete manifestwork slow -n cluster1 --wait=false
    eventually holds_at one '.metadata.deletionTimestamp != null' configmap slow -n team
    gets Deleting True manifestwork slow -n cluster1
    shows WorkDeleting reason Deleting manifestwork slow -n cluster1
    one patch configmap slow -n team --type=merge -p '{"metadata":{"finalizers":null}}'
    eventually gone_at hub manifestwork slow -n cluster1
    gone_at one configmap slow -n team
}

@test "one object in two works: it goes with the last of them" {
    work cluster1 left <<<"workload: {manifests: [$(configmap_manifest team shared 1)]}"
    gets Applied True manifestwork left -n cluster1
    work cluster1 right <<<"workload: {manifests: [$(configmap_manifest team shared 1)]}"
    gets Applied True manifestwork right -n cluster1
    eventually shows 'left right' owners configmap shared
    local uid
    uid=$(at one configmap shared -n team -o 'jsonpath={.metadata.uid}')
    drop left
    eventually shows right owners configmap shared
    shows "$uid" at one configmap shared -n team -o 'jsonpath={.metadata.uid}'
    drop right
    gone_at one configmap shared -n team
}

@test "what is wrong with one manifest is said of it; the others are applied" {
    work cluster1 mixed <<YAML
workload:
  manifests:
  - {apiVersion: example.com/v1, kind: Nonsense, metadata: {name: x, namespace: team}}
  - $(configmap_manifest team mixed 1)
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name, namespace: team}}
YAML
    gets Applied False manifestwork mixed -n cluster1
    shows AppliedManifestWorkFailed reason Applied manifestwork mixed -n cluster1
    shows 'Failed to apply manifest work' message Applied manifestwork mixed -n cluster1
    eventually shows 1 value mixed
    run -0 at hub manifestwork mixed -n cluster1 -o json
    shows 'False True False' jq -r '[.status.resourceStatus.manifests[] | .conditions[] | select(.type == "Applied") | .status] | join(" ")' <<<"$output"
    shows 'AppliedManifestFailed AppliedManifestFailed' jq -r '[.status.resourceStatus.manifests[] | .conditions[] | select(.type == "Applied" and .status == "False") | .reason] | join(" ")' <<<"$output"
    drop mixed
    gone_at one configmap mixed -n team
}

@test "works of another cluster are none of its business" {
    work cluster2 elsewhere <<<"workload: {manifests: [$(configmap_manifest default elsewhere 1)]}"
    gets Applied True manifestwork elsewhere -n cluster2
    at two configmap elsewhere -n default
    gone_at one configmap elsewhere -n default
    hub delete manifestwork elsewhere -n cluster2 --timeout=60s
    gone_at two configmap elsewhere -n default
}

@test "the credential of an agent reads and writes nothing of another cluster" {
    local resource
    for resource in manifestworks clusterpermissions managedserviceaccounts managedclusteraddons secrets leases serviceaccounts; do
        run -1 kubectl --kubeconfig "$SCRATCH/cluster1.join" get $resource -n cluster2
        mentions Forbidden
    done
    for resource in managedclusters namespaces nodes clusterroles; do
        run -1 kubectl --kubeconfig "$SCRATCH/cluster1.join" get $resource
        mentions Forbidden
    done
    run -1 kubectl --kubeconfig "$SCRATCH/cluster1.join" create token reeve-agent -n cluster2
    mentions forbidden
    kubectl --kubeconfig "$SCRATCH/cluster1.join" get manifestworks -n cluster1
    run -1 kubectl --kubeconfig "$SCRATCH/cluster1.join" create -n cluster1 -f - <<<$'---\n{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: own}}'
    mentions forbidden
}

# ---- Strategies. ----

# config KIND NAME [MORE]: a manifestConfig for an object in "team".
config() { printf '{resourceIdentifier: {resource: %s, name: %s, namespace: team}%s}' "$1" "$2" "${3:+, $3}"; }

@test "Update: as a whole, again whenever it differs" {
    work cluster1 update <<<"workload: {manifests: [$(configmap_manifest team update 1)]}"
    gets Applied True manifestwork update -n cluster1
    one patch configmap update -n team --type=merge -p '{"data":{"value":"other"}}'
    eventually shows 1 value update
    one delete configmap update -n team --wait=false
    eventually shows 1 value update
    drop update
}

@test "CreateOnly: made when it is missing, never changed" {
    work cluster1 create <<<"{workload: {manifests: [$(configmap_manifest team create 1)]}, manifestConfigs: [$(config configmaps create 'updateStrategy: {type: CreateOnly}')]}"
    gets Applied True manifestwork create -n cluster1
    one patch configmap create -n team --type=merge -p '{"data":{"value":"theirs"}}'
    work cluster1 create <<<"{workload: {manifests: [$(configmap_manifest team create 2)]}, manifestConfigs: [$(config configmaps create 'updateStrategy: {type: CreateOnly}')]}"
    gets Applied True manifestwork create -n cluster1
    shows theirs value create
    shows create owners configmap create
    drop create
    gone_at one configmap create -n team
}

@test "ServerSideApply: its own fields; another manager's only by force" {
    one apply --server-side --field-manager=somebody -f - <<<$'---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: ssa, namespace: team}, data: {value: theirs, more: kept}}'
    local apply='updateStrategy: {type: ServerSideApply}' force='updateStrategy: {type: ServerSideApply, serverSideApply: {force: true, fieldManager: work-agent-x}}'
    work cluster1 ssa <<<"{workload: {manifests: [$(configmap_manifest team ssa ours)]}, manifestConfigs: [$(config configmaps ssa "$apply")]}"
    gets Applied False manifestwork ssa -n cluster1
    run -0 manifest_message ssa 0
    mentions 'reeve.dev/adopt'
    one annotate configmap ssa -n team reeve.dev/adopt=true
    touch_work ssa
    eventually said_of_first ssa 'conflict with "somebody"'
    shows theirs value ssa
    work cluster1 ssa <<<"{workload: {manifests: [$(configmap_manifest team ssa ours)]}, manifestConfigs: [$(config configmaps ssa "$force")]}"
    gets Applied True manifestwork ssa -n cluster1
    eventually shows ours value ssa
    shows kept at one configmap ssa -n team -o 'jsonpath={.data.more}'
    holds_at one 'any(.metadata.managedFields[]; .manager == "work-agent-x" and .operation == "Apply")' configmap ssa -n team
    drop ssa
    shows ours value ssa
    one delete configmap ssa -n team
}

# said_of_first WORK TEXT: the condition Applied of the first manifest contains it.
said_of_first() { [[ $(manifest_message "$1" 0) == *"$2"* ]]; }

@test "ReadOnly: looked at, told of, left alone" {
    one create configmap looked -n team --from-literal=value=theirs
    local before
    before=$(at one configmap looked -n team -o json)
    work cluster1 looks <<<"{workload: {manifests: [$(configmap_manifest team looked ours), $(configmap_manifest team absent ours)]}, manifestConfigs: [
        $(config configmaps '"*"' 'updateStrategy: {type: ReadOnly}, feedbackRules: [{type: JSONPaths, jsonPaths: [{name: value, path: .data.value}]}]')]}"
    gets Applied True manifestwork looks -n cluster1
    gets Available False manifestwork looks -n cluster1
    shows '1 of 2 resources are not available' message Available manifestwork looks -n cluster1
    eventually shows theirs at hub manifestwork looks -n cluster1 -o 'jsonpath={.status.resourceStatus.manifests[0].statusFeedback.values[0].fieldValue.string}'
    shows "$before" at one configmap looked -n team -o json
    gone_at one configmap absent -n team
    one patch configmap looked -n team --type=merge -p '{"data":{"value":"other"}}'
    eventually shows other at hub manifestwork looks -n cluster1 -o 'jsonpath={.status.resourceStatus.manifests[0].statusFeedback.values[0].fieldValue.string}'
    drop looks
    shows other value looked
    one delete configmap looked -n team
}

# ---- What stays. ----

@test "Orphan: all of it stays, and nobody owns it" {
    work cluster1 orphans <<<"{workload: {manifests: [$(configmap_manifest team stays 1)]}, deleteOption: {propagationPolicy: Orphan}}"
    gets Applied True manifestwork orphans -n cluster1
    shows '' owners configmap stays
    drop orphans
    shows 1 value stays
    one delete configmap stays -n team
}

@test "SelectivelyOrphan: what is named stays, the rest goes" {
    work cluster1 selects <<<"{workload: {manifests: [$(configmap_manifest team stays 1), $(configmap_manifest team goes 1)]}, deleteOption: {propagationPolicy: SelectivelyOrphan,
        selectivelyOrphans: {orphaningRules: [{resource: configmaps, name: stays, namespace: team}]}}}"
    gets Applied True manifestwork selects -n cluster1
    shows '' owners configmap stays
    shows selects owners configmap goes
    drop selects
    shows 1 value stays
    gone_at one configmap goes -n team
    one delete configmap stays -n team
}

@test "an orphan that is none any more goes with its work" {
    work cluster1 returns <<<"{workload: {manifests: [$(configmap_manifest team returns 1)]}, deleteOption: {propagationPolicy: Orphan}}"
    gets Applied True manifestwork returns -n cluster1
    shows '' owners configmap returns
    hub patch manifestwork returns -n cluster1 --type=merge -p '{"spec":{"deleteOption":null}}'
    eventually shows returns owners configmap returns
    drop returns
    gone_at one configmap returns -n team
}

# ---- In whose name. ----

executor='executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: team, name: doer}}}'

@test "an executor without rights: nothing is made; with some of them, what they are for; with all, all" {
    one create serviceaccount doer -n team
    work cluster1 does <<<"{$executor, workload: {manifests: [$(configmap_manifest team deed 1), {apiVersion: v1, kind: ServiceAccount, metadata: {name: deed, namespace: team}}]}}"
    gets Applied False manifestwork does -n cluster1
    gone_at one configmap deed -n team
    run -0 manifest_message does 0
    mentions 'not allowed to apply the resource  configmaps, team deed'
    one create role doer -n team --verb=create,update,patch,get,delete --resource=configmaps
    one create rolebinding doer -n team --role=doer --serviceaccount=team:doer
    touch_work does
    eventually shows 1 value deed
    gone_at one serviceaccount deed -n team
    eventually shows 'True False' applied_states does
    one patch role doer -n team --type=json -p '[{"op":"add","path":"/rules/0/resources/-","value":"serviceaccounts"}]'
    touch_work does
    gets Applied True manifestwork does -n cluster1
    at one serviceaccount deed -n team
    drop does
}

# touch_work WORK: another generation, so that nobody waits for the next minute.
touch_work() { hub patch manifestwork "$1" -n cluster1 --type=merge -p "{\"spec\":{\"deleteOption\":{\"propagationPolicy\":\"Foreground\",\"ttlSecondsAfterFinished\":$((RANDOM + 1000000))}}}"; }
applied_states() { at hub manifestwork "$1" -n cluster1 -o json | jq -r '[.status.resourceStatus.manifests[] | .conditions[] | select(.type == "Applied") | .status] | join(" ")'; }

@test "an executor without the right to delete: only what is going to stay" {
    one patch role doer -n team --type=json -p '[{"op":"replace","path":"/rules/0/verbs","value":["create","update","patch","get"]}]'
    work cluster1 keeps <<<"{$executor, workload: {manifests: [$(configmap_manifest team keeps 1)]}}"
    gets Applied False manifestwork keeps -n cluster1
    gone_at one configmap keeps -n team
    hub patch manifestwork keeps -n cluster1 --type=merge -p '{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}'
    gets Applied True manifestwork keeps -n cluster1
    shows 1 value keeps
    drop keeps
    one delete configmap keeps -n team
}

@test "an executor that may write roles, but not give what it does not have" {
    one create role maker -n team --verb=create,update,patch,get,delete --resource=roles.rbac.authorization.k8s.io
    one create rolebinding maker -n team --role=maker --serviceaccount=team:doer
    work cluster1 climbs <<<"{$executor, workload: {manifests: [{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: climbs, namespace: team}, rules: [{apiGroups: [''], resources: [secrets], verbs: ['*']}]}]}}"
    gets Applied False manifestwork climbs -n cluster1
    run -0 manifest_message climbs 0
    mentions 'permission escalation'
    gone_at one role climbs -n team
    one patch role maker -n team --type=json -p '[{"op":"add","path":"/rules/0/verbs/-","value":"escalate"}]'
    touch_work climbs
    gets Applied True manifestwork climbs -n cluster1
    at one role climbs -n team
    drop climbs
    gone_at one role climbs -n team
}

# ---- What is told back. ----

@test "feedback: what is well known of a Deployment, and what one asks for" {
    work cluster1 tells <<YAML
workload:
  manifests:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: tells, namespace: team}
    spec:
      replicas: 0
      selector: {matchLabels: {app: tells}}
      template: {metadata: {labels: {app: tells}}, spec: {containers: [{name: c, image: none}]}}
manifestConfigs:
- resourceIdentifier: {group: apps, resource: deployments, name: tells, namespace: team}
  feedbackRules:
  - type: WellKnownStatus
  - type: JSONPaths
    jsonPaths:
    - {name: wanted, path: .spec.replicas}
    - {name: paused, path: .spec.paused}
    - {name: nothing, path: .status.nowhere}
YAML
    gets Applied True manifestwork tells -n cluster1
    one patch deployment tells -n team --subresource=status --type=merge -p '{"status":{"replicas":3,"readyReplicas":2,"availableReplicas":2}}'
    eventually shows 'AvailableReplicas=2 ReadyReplicas=2 Replicas=3 wanted=0' fed_back tells
    shows 'True StatusFeedbackSynced' synced tells
    hub patch manifestwork tells -n cluster1 --type=json -p '[{"op":"add","path":"/spec/manifestConfigs/0/feedbackRules/1/jsonPaths/-","value":{"name":"whole","path":".spec.template"}}]'
    eventually shows 'False StatusFeedbackSyncFailed' synced tells
    shows 'AvailableReplicas=2 ReadyReplicas=2 Replicas=3 wanted=0' fed_back tells
    drop tells
}

fed_back() { at hub manifestwork "$1" -n cluster1 -o json | jq -r '[.status.resourceStatus.manifests[0].statusFeedback.values[]? | "\(.name)=\(.fieldValue | .integer // .string // .boolean)"] | sort | join(" ")'; }
synced() { at hub manifestwork "$1" -n cluster1 -o 'jsonpath={range .status.resourceStatus.manifests[0].conditions[?(@.type=="StatusFeedbackSynced")]}{.status} {.reason}{end}'; }
