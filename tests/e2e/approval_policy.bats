# SPDX-License-Identifier: Apache-2.0
# deploy/approval on a real Kubernetes, which is the only one that has such policies: what the server of "reeve up" refuses by itself
# (cases/api/permission_approval) is refused there, too. See tools/test-kubernetes.

load server.bash

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
