# SPDX-License-Identifier: Apache-2.0
# kubectl get in all its forms, describe, events, explain, discovery.

load server.bash

setup_file() {
    start_server
    k create configmap alpha --from-literal=a=1
    k create configmap beta --from-literal=b=2
    k label configmap beta tier=back
    k create secret generic pass --from-literal=word=hush
}

teardown_file() { stop_server; }

@test "version names server and client" {
    run -0 kubectl version
    matches 'Server Version: v1\.32.*'
}

@test "get prints a table" {
    run -0 k get configmaps alpha beta
    matches 'NAME +DATA +AGE'
    matches 'alpha +1 +[0-9]+s'
    matches 'beta +1 +[0-9]+s'
}

@test "get -A has a NAMESPACE column" {
    run -0 kubectl get configmaps -A
    matches "NAMESPACE +NAME +DATA +AGE"
    matches "$NS +alpha +1 +[0-9]+s"
}

@test "get --show-labels and -L" {
    run -0 k get configmap beta --show-labels
    matches 'beta +1 +[0-9]+s +tier=back'
    run -0 k get configmap beta -L tier
    matches 'NAME +DATA +AGE +TIER'
    matches 'beta +1 +[0-9]+s +back'
}

@test "get -o wide shows columns of priority 1" {
    run -0 kubectl get clusterroles view -o wide
    matches 'NAME +CREATED AT'
    run -0 kubectl get clusterrolebinding cluster-admin -o wide
    matches 'NAME +ROLE +AGE +USERS +GROUPS +SERVICEACCOUNTS'
    matches 'cluster-admin +ClusterRole/cluster-admin +[0-9a-z]+ +system:masters *'
}

@test "get -o name, json, yaml, jsonpath, custom-columns, go-template" {
    run -0 k get configmap alpha -o name
    says "configmap/alpha"
    run -0 k get configmap alpha -o jsonpath='{.kind} {.apiVersion} {.metadata.namespace} {.data.a}'
    says "ConfigMap v1 $NS 1"
    run -0 k get configmap alpha -o yaml
    matches 'apiVersion: v1'
    matches 'kind: ConfigMap'
    matches '  a: "1"'
    matches "  namespace: $NS"
    run -0 k get configmap alpha -o json
    matches '    "kind": "ConfigMap",'
    run -0 k get configmap alpha -o custom-columns=N:.metadata.name,A:.data.a
    matches 'alpha +1'
    run -0 k get configmap alpha -o 'go-template={{.data.a}}'
    says 1
}

@test "a list as JSON carries kinds and a resourceVersion" {
    run -0 k get configmaps -o jsonpath='{.kind} {.items[*].kind} {.items[*].metadata.name}'
    mentions 'List '
    mentions 'alpha beta'
    run -0 kubectl get --raw "/api/v1/namespaces/$NS/configmaps"
    mentions '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"'
}

@test "get --sort-by" {
    run -0 k get configmaps alpha beta --sort-by=.metadata.name -o name
    says "configmap/alpha
configmap/beta"
    run -0 k get configmaps -l '!none' --sort-by='{.data.b}'
    matches 'beta +1 +.*'
}

@test "get by label and by field" {
    run -0 k get configmaps -l tier=back -o name
    says configmap/beta
    run -0 k get configmaps -l 'tier notin (back),!x' --field-selector metadata.name=alpha -o name
    says configmap/alpha
    run -0 k get configmaps --field-selector metadata.name!=alpha,metadata.name!=kube-root-ca.crt -o name
    says configmap/beta
}

@test "selectors that make no sense are refused" {
    run -1 k get configmaps -l 'a b'
    mentions "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
    run -1 k get configmaps --field-selector foo=bar
    mentions 'Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "foo=bar": "foo" is not a known field selector: only "metadata.name", "metadata.namespace"'
}

@test "get in chunks gives the whole list" {
    for i in $(seq 7); do k create configmap "chunk$i" --dry-run=client -o yaml; echo ---; done | k create -f - >/dev/null
    run -0 k get configmaps --chunk-size=2 -o name
    [ "$(grep -c chunk <<<"$output")" -eq 7 ]
    run -0 kubectl get --raw "/api/v1/namespaces/$NS/configmaps?limit=2"
    mentions '"continue":"'
    mentions '"remainingItemCount":'
}

@test "what is not there is not found" {
    run -1 k get configmap ghost
    says 'Error from server (NotFound): configmaps "ghost" not found'
    run -1 kubectl get nonsense
    says "error: the server doesn't have a resource type \"nonsense\""
    run -0 kubectl get configmaps -n no-such-namespace
    says 'No resources found in no-such-namespace namespace.'
    run -1 kubectl get configmap x -n no-such-namespace
    says 'Error from server (NotFound): namespaces "no-such-namespace" not found'
}

@test "get --raw of any path" {
    run -0 kubectl get --raw /healthz
    says ok
    run -1 kubectl get --raw /no/such/path
    mentions 'Error from server (NotFound): the server could not find the requested resource'
}

@test "get --subresource=status" {
    run -0 kubectl get namespace "$NS" --subresource=status -o 'jsonpath={.status.phase}'
    says Active
}

@test "get all covers the category" {
    run -0 k get all
}

@test "describe" {
    run -0 k describe configmap alpha
    matches 'Name: +alpha'
    matches "Namespace: +$NS"
    matches '1'
    run -0 kubectl describe namespace "$NS"
    matches 'Status: +Active'
    mentions 'No resource quota.'
    run -0 kubectl describe clusterrole view
    mentions 'configmaps'
    run -0 k describe secret pass
    matches 'word: +4 bytes'
}

@test "events are empty, and can be selected by what they speak of" {
    run -0 k events
    mentions "No events found in $NS namespace."
    k create -f - <<YAML
apiVersion: v1
kind: Event
metadata: {name: e1}
involvedObject: {kind: ConfigMap, namespace: $NS, name: alpha}
reason: Tested
message: something happened
type: Normal
YAML
    run -0 k get events --field-selector involvedObject.name=alpha,type=Normal -o 'jsonpath={.items[*].reason}'
    says Tested
    run -0 k get events --field-selector involvedObject.name=beta -o name
    says ''
    run -0 k get events.v1.events.k8s.io e1 -o 'jsonpath={.regarding.name} {.note}'
    says 'alpha something happened'
}

@test "api-resources and api-versions" {
    run -0 kubectl api-resources --no-headers
    matches 'configmaps +cm +v1 +true +ConfigMap'
    matches 'clusterroles +rbac.authorization.k8s.io/v1 +false +ClusterRole'
    matches 'customresourcedefinitions +crd,crds +apiextensions.k8s.io/v1 +false +CustomResourceDefinition'
    run -0 kubectl api-resources --api-group=apps --verbs=list -o name
    matches 'deployments.apps'
    run -0 kubectl api-versions
    matches 'v1'
    matches 'rbac.authorization.k8s.io/v1'
}

@test "explain" {
    run -0 kubectl explain configmap
    matches 'KIND: +ConfigMap'
    matches 'VERSION: +v1'
    matches '  data[[:space:]]+<map\[string\]string>'
    run -0 kubectl explain clusterrole.rules
    matches 'FIELD: rules <\[\]PolicyRule>'
    matches '  verbs[[:space:]]+<\[\]string> -required-'
    run -0 kubectl explain deployment.spec.template.spec.containers --recursive
    mentions 'terminationGracePeriodSeconds'
    run -1 kubectl explain configmap.nonsense
    mentions 'field "nonsense" does not exist'
}

@test "cluster-info" {
    run -0 kubectl cluster-info
    mentions 'Kubernetes control plane'
}
