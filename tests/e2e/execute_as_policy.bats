# SPDX-License-Identifier: Apache-2.0
# deploy/execute-as on a real Kubernetes, which is the only one that has such policies: what the server of "reeve up" refuses by itself
# (cases/api/work_executor) is refused there, too. See tools/test-kubernetes.

load server.bash

group=work.open-cluster-management.io

setup_file() {
    export POLICY=$BATS_TEST_DIRNAME/../../deploy/execute-as
    start_server
    kubectl apply -k "$POLICY"
    kubectl create clusterrole "$NS" --verb=create,get,update,patch,delete --resource=manifestworks.$group,manifestworks.$group/status
    kubectl create clusterrolebinding "$NS" --clusterrole="$NS" --user=jane --user=boss
    executes jane system:serviceaccount:team:doer
    executes boss system:serviceaccount::klusterlet-work-sa
    # Servers take a while to learn of policies and roles.
    until [[ $(work probe | as jane create --dry-run=server -f - 2>&1) == *'execute-as'* ]] && work probe | as boss create --dry-run=server -f -; do
        sleep 0.2
    done
}

teardown_file() {
    kubectl delete -k "$POLICY"
    kubectl delete clusterrole,clusterrolebinding "$NS"
    stop_server
}

# executes USER EXECUTOR
executes() {
    kubectl -n "$NS" create role "$1" --verb=execute-as --resource=manifestworks.$group --resource-name="$2"
    kubectl -n "$NS" create rolebinding "$1" --role="$1" --user="$1"
}

# work NAME [ACCOUNT]: run by that account of the namespace "team", or by the agent.
work() {
    local executor=
    [ -z "${2-}" ] || executor="executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: team, name: $2}}}, "
    printf -- '---\n{apiVersion: %s/v1, kind: ManifestWork, metadata: {name: %s, namespace: %s}, spec: {%sworkload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team}}]}}}\n' \
        $group "$1" "$NS" "$executor"
}

as() { kubectl --as="$1" -n "$NS" "${@:2}"; }

# refused EXECUTOR COMMAND...
refused() {
    run ! "${@:2}"
    [[ $output == *"is forbidden: ValidatingAdmissionPolicy 'execute-as.reeve.dev'"*"with executor \"$1\""* ]]
}

agent=system:serviceaccount::klusterlet-work-sa doer=system:serviceaccount:team:doer
add_label='{"metadata":{"labels":{"a":"b"}}}' orphan='{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}'

@test "to create a work takes execute-as on its executor" {
    refused $agent as jane create -f <(work plain)
    refused system:serviceaccount:team:other as jane create -f <(work other other)
    refused $doer as boss create -f <(work doer doer)
    refused $agent as jane apply --server-side -f <(work plain)
    work hers doer | as jane create -f -
    work theirs | as boss create -f -
}

@test "to change its spec takes execute-as on its executor, before and after" {
    work changes doer | as jane create -f -
    work agents | as boss create -f -
    as jane patch manifestwork changes --type=merge -p "$orphan"
    refused $doer as boss patch manifestwork changes --type=merge -p '{"spec":{"deleteOption":null}}'
    refused $agent as jane patch manifestwork changes --type=merge -p '{"spec":{"executor":null}}'
    refused $agent as jane patch manifestwork agents --type=merge -p "$orphan"
    refused $agent as jane patch manifestwork agents --type=merge -p '{"spec":{"executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"team","name":"doer"}}}}}'
}

@test "what is not in the spec, and deletion, take no executor" {
    work labelled | as boss create -f -
    as jane patch manifestwork labelled --type=merge -p "$add_label"
    as jane patch manifestwork labelled --subresource=status --type=merge -p '{"status":{"conditions":[]}}'
    as jane delete manifestwork labelled
}
