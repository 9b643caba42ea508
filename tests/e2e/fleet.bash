# SPDX-License-Identifier: Apache-2.0
# Shared by the suites of the fleet: a hub and two managed clusters, each a process of its own, and an agent beside each cluster.
#
#   hub, one, two ARGUMENT...    kubectl there; in the namespace "default" if nothing else is said
#   cluster1, cluster2           what the hub calls the two
#
# A suite starts them in setup_file and stops them in teardown_file; each test has permissions, works and namespaces of its own.
#
#   REEVE_HUB_KUBECONFIG         instead of starting a hub: the kubeconfig of a server where "reeve manager" has the controllers
#                                permissions and clusters
#   REEVE_MANAGED_KUBECONFIG     instead of starting the first managed cluster: that of a server. Its agent gets an account with
#                                the rights that it says it needs, and those to what else works of these suites deliver.

load controllers.bash

# start_fleet [FLAG OF THE AGENTS...]
start_fleet() {
    export SCRATCH HOME HUB ONE TWO
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reeve-fleet.XXXXXX")
    HOME=$SCRATCH # kubectl keeps caches there
    HUB=${REEVE_HUB_KUBECONFIG:-$SCRATCH/hub.kubeconfig}
    ONE=${REEVE_MANAGED_KUBECONFIG:-$SCRATCH/one.kubeconfig}
    TWO=$SCRATCH/two.kubeconfig
    [ -n "${REEVE_HUB_KUBECONFIG-}" ] || launch_up hub
    [ -n "${REEVE_MANAGED_KUBECONFIG-}" ] || launch_up one
    launch_up two
    join one cluster1 "$@"
    join two cluster2 "$@"
}

# all_joined: the hub has heard of both agents, and knows whose they are.
all_joined() {
    eventually joined cluster1
    eventually joined cluster2
}

# launch_up NAME [FLAG...]: a server on a free port; returns when it is ready.
launch_up() {
    local name=$1 kubeconfig=$SCRATCH/$1.kubeconfig
    rm -f "$kubeconfig"
    "$REEVE" up --data-dir "$SCRATCH/$name" --listen "127.0.0.1:0" --kubeconfig "$kubeconfig" "${@:2}" \
        >/dev/null 2>>"$SCRATCH/$name.log" 3>&- &
    echo $! >"$SCRATCH/$name.pid"
    until [ -s "$kubeconfig" ]; do
        kill -0 "$(cat "$SCRATCH/$name.pid")" 2>/dev/null || { cat "$SCRATCH/$name.log" >&2; return 1; }
        sleep 0.02
    done
}

# join WHERE CLUSTER [FLAG...]: the hub gets to know the cluster, and its agent starts.
join() {
    KUBECONFIG=$HUB "$REEVE" clusters add "$2" --join-file "$SCRATCH/$2.join"
    launch_agent "$@"
}

# launch_agent WHERE CLUSTER [FLAG...]
launch_agent() {
    local account=$SCRATCH/$1.kubeconfig
    [ "$1" != one ] || [ -z "${REEVE_MANAGED_KUBECONFIG-}" ] || account=$(agent_account)
    "$REEVE" agent --cluster "$2" --hub-kubeconfig "$SCRATCH/$2.join" --kubeconfig "$account" "${@:3}" \
        >/dev/null 2>>"$SCRATCH/$2.log" 3>&- &
    echo $! >"$SCRATCH/$2.pid"
    disown # bash has nothing to say when it is killed
}

# agent_account: the kubeconfig of an account on a managed cluster that is not ours, with the rights that the agent asks for. They do
# for permissions; who has works deliver other kinds gives it rights to these.
agent_account() {
    local account=$SCRATCH/agent.kubeconfig namespace=reeve-system
    one create namespace $namespace --dry-run=client -o yaml | one apply -f - >/dev/null
    one create serviceaccount reeve-agent -n $namespace --dry-run=client -o yaml | one apply -f - >/dev/null
    "$REEVE" agent --print-rbac --managed | one apply -f - >/dev/null
    one create clusterrole e2e-delivers --verb=get,list,watch,create,patch,update,delete \
        --resource=configmaps,serviceaccounts,namespaces,deployments.apps --dry-run=client -o yaml | one apply -f - >/dev/null
    one create clusterrolebinding e2e-delivers --clusterrole=e2e-delivers --serviceaccount=$namespace:reeve-agent \
        --dry-run=client -o yaml | one apply -f - >/dev/null
    cp "$ONE" "$account"
    kubectl config --kubeconfig "$account" set-credentials agent \
        --token="$(one create token reeve-agent -n $namespace --duration=24h)" >/dev/null
    kubectl config --kubeconfig "$account" set-context --current --user=agent >/dev/null
    echo "$account"
}

joined() { condition ManagedClusterJoined True managedcluster "$1"; }

# stop_fleet: each by its own id. All of them lived until now, and no sanitizer has anything to say.
stop_fleet() {
    local name pid bad=
    stop_courier || bad='The courier complained. '
    if [ -n "${REEVE_HUB_KUBECONFIG-}" ]; then leave_fleet >/dev/null 2>&1 || true; fi
    for name in cluster1 cluster2 one two hub; do
        [ -f "$SCRATCH/$name.pid" ] || continue
        pid=$(cat "$SCRATCH/$name.pid")
        kill -0 "$pid" 2>/dev/null || bad+="$name did not last. "
        stop_process "$pid"
        ! grep -E 'ERROR: (Address|Leak|Thread)Sanitizer|runtime error:|Assertion .* failed' "$SCRATCH/$name.log" >&2 || bad+="$name is broken. "
    done
    [ -z "$bad" ] || { tail -n 200 "$SCRATCH"/*.log >&2 && echo "$bad" >&2 && return 1; }
    rm -rf "$SCRATCH"
}

# leave_fleet: on servers that are not ours, all that a suite made.
leave_fleet() {
    hub delete clusterpermissions,managedserviceaccounts,manifestworks --all --all-namespaces --timeout=60s
    local cluster
    for cluster in cluster1 cluster2; do
        hub delete managedcluster "$cluster" --timeout=60s
        hub delete namespace "$cluster" --timeout=60s
    done
    hub delete clusterroles,clusterrolebindings,roles,rolebindings --all-namespaces -l e2e=fleet
    hub delete namespaces -l e2e=fleet --wait=false
    one delete clusterroles,clusterrolebindings,roles,rolebindings,configmaps,serviceaccounts --all-namespaces -l e2e=fleet
    one delete namespaces -l e2e=fleet --timeout=60s
}

# ---- Who is spoken to. ----

hub() { KUBECONFIG=$HUB kubectl "$@"; }
one() { KUBECONFIG=$ONE kubectl "$@"; }
two() { KUBECONFIG=$TWO kubectl "$@"; }

# at WHERE ARGUMENT...: look there.
at() {
    local where=${1^^}
    KUBECONFIG=${!where} look "${@:2}"
}

# both COMMAND...: on either managed cluster.
both() { one "$@" && two "$@"; }

# namespace_at WHERE NAME [LABEL...]
namespace_at() {
    local labels
    printf -v labels ', %s' 'e2e: fleet' "${@:3}"
    printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {%s}}\n' "$2" "${labels:2}" | "$1" create -f -
}

# ---- Questions. ----

# holds_at WHERE FILTER KIND NAME [FLAG...]: the jq filter says true of the object. (jq -e is content with nothing at all.)
holds_at() { [ "$(at "$1" "${@:3}" -o json | jq "$2")" = true ]; }

# gone_at WHERE KIND NAME [FLAG...]: no such object; an error is no answer.
gone_at() {
    local found
    found=$(at "$@" -o name --ignore-not-found) && [ -z "$found" ]
}

# condition TYPE STATUS KIND NAME [FLAG...]: of an object of the hub, about what it says now.
condition() {
    local now status about
    read -r now status about < <(at hub "${@:3}" -o \
        "jsonpath={.metadata.generation} {range .status.conditions[?(@.type==\"$1\")]}{.status} {.observedGeneration}{end}{\"\n\"}") || return
    [ "$status" = "$2" ] && [ "${about:-$now}" = "$now" ]
}

# gets TYPE STATUS KIND NAME [FLAG...]: the condition comes to say so, about what the object says now.
gets() { eventually condition "$@" || { hub get "${@:3}" -o yaml >&2; return 1; }; }

reason() { at hub "${@:2}" -o "jsonpath={.status.conditions[?(@.type==\"$1\")].reason}"; }
message() { at hub "${@:2}" -o "jsonpath={.status.conditions[?(@.type==\"$1\")].message}"; }

# delivered CLUSTER PERMISSION: all of it, as it is asked for now.
delivered() { gets AppliedRBACManifestWork True clusterpermission "$2" -n "$1"; }

# refused CLUSTER PERMISSION TYPE REASON MESSAGE: the condition is False, with exactly these words.
refused() {
    gets "$3" False clusterpermission "$2" -n "$1"
    eventually shows "$4: $5" told "$3" clusterpermission "$2" -n "$1"
}
told() { at hub "${@:2}" -o "jsonpath={range .status.conditions[?(@.type==\"$1\")]}{.reason}: {.message}{end}"; }

# work_of CLUSTER PERMISSION: the name of the first ManifestWork of a permission, which follows from its uid.
work_of() {
    local uid
    uid=$(at hub clusterpermission "$2" -n "$1" -o 'jsonpath={.metadata.uid}')
    echo "$2-${uid:0:5}"
}

# ---- What there is on a managed cluster. ----

# rbac WHERE: every role and binding there that the cluster does not have of itself, one a line, all that it says:
#
#   ClusterRole name: apps/deployments update,get; /pods get
#   RoleBinding namespace/name: Role name <- User alice, ServiceAccount namespace/name
#
# and, for what was delivered, a line " of WORK" with its labels and owners. What other tests made is left out by $ONLY, a regular
# expression for names.
rbac() {
    at "$1" clusterroles,clusterrolebindings,roles,rolebindings --all-namespaces -o json | jq -r --arg only "${ONLY:-.}" '
        def list: (. // []) | join(",");
        def rule: "\(.apiGroups | list)/\(.resources | list)\(if .resourceNames then "[\(.resourceNames | list)]" else "" end)\(.nonResourceURLs | list) \(.verbs | list)";
        def subject: "\(.kind)\(if .apiGroup then "." + .apiGroup else "" end) \(if .namespace then .namespace + "/" else "" end)\(.name)";
        def text: if .roleRef then "\(.roleRef.kind) \(.roleRef.name) <- \([.subjects[]? | subject] | join(", "))" else [.rules[]? | rule] | join("; ") end;
        .items[] | select(.metadata.name | test($only)) | select(.metadata.labels["kubernetes.io/bootstrapping"] == null)
        | select(.metadata.name | test("^(system:|reeve|crossplane)") | not)
        | "\(.kind) \(if .metadata.namespace then .metadata.namespace + "/" else "" end)\(.metadata.name): \(text)"
          + " {\(.metadata.labels // {} | to_entries | map("\(.key)=\(.value)") | sort | join(","))}"
          + " [\([.metadata.ownerReferences[]? | "\(.kind) \(.name | sub("^[0-9a-f]{64}-"; ""))\(if .controller then " controller" else "" end)"] | sort | join(","))]"
        ' | LC_ALL=C sort
}

# of WORK: how lines of rbac end for what a work has delivered.
of() { echo "{agent.reeve.dev/delivered=true} [AppliedManifestWork $1]"; }

# rbac_is WHERE NAMES LINES: exactly these are there, among those whose name matches; in time.
rbac_is() { ONLY=$2 eventually shows "$(LC_ALL=C sort <<<"$3")" rbac "$1"; }

# ---- Objects. ----

# permission CLUSTER NAME: a ClusterPermission; its spec, as YAML, comes on standard input.
permission() {
    { printf 'apiVersion: rbac.open-cluster-management.io/v1alpha1\nkind: ClusterPermission\nmetadata: {name: %s, namespace: %s}\nspec:\n' "$2" "$1"
      sed 's/^/  /'; } | hub apply -f -
}

# work CLUSTER NAME: a ManifestWork; its spec, as YAML, comes on standard input.
work() {
    { printf 'apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: %s, namespace: %s}\nspec:\n' "$2" "$1"
      sed 's/^/  /'; } | hub apply -f -
}

# account CLUSTER NAME [LINE OF SPEC]...: a ManagedServiceAccount.
account() {
    { printf 'apiVersion: authentication.open-cluster-management.io/v1beta1\nkind: ManagedServiceAccount\n'
      printf 'metadata: {name: %s, namespace: %s}\nspec:\n  rotation: {}\n' "$2" "$1"
      [ $# -lt 3 ] || printf '  %s\n' "${@:3}"; } | hub apply -f -
}

# configmap_manifest NAMESPACE NAME VALUE: on one line, for works.
configmap_manifest() { printf '{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {value: "%s"}}' "$2" "$1" "$3"; }
