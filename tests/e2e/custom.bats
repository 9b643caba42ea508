# SPDX-License-Identifier: Apache-2.0
# CustomResourceDefinitions and their objects, as kubectl sees them.

load server.bash

setup_file() {
    start_server
    widget_crd | kubectl create -f -
    kubectl wait --for=condition=Established crd/widgets.e2e.example.com --timeout=30s
    [ -z "${REEVE_KUBECONFIG-}" ] || eventually served
}

teardown_file() {
    [ -z "${REEVE_KUBECONFIG-}" ] || kubectl delete crd widgets.e2e.example.com --ignore-not-found >/dev/null
    stop_server
}

served() { kubectl get --raw /openapi/v3 | grep -q e2e.example.com && k get widgets; }

@test "a CRD is established, and discovery knows its kind" {
    run -0 kubectl get crd widgets.e2e.example.com -o 'jsonpath={.status.acceptedNames.kind} {.status.storedVersions}'
    says 'Widget ["v1"]'
    run -0 kubectl api-resources --api-group=e2e.example.com --no-headers
    matches 'widgets +wd +e2e.example.com/v1 +true +Widget'
    run -0 kubectl get crds
    matches 'widgets.e2e.example.com +20[0-9T:-]+Z'
}

@test "create, default, prune, table" {
    run -0 k create -f - <<<"$(widget w1 3)"
    says 'widget.e2e.example.com/w1 created'
    run -0 k get widget w1 -o 'jsonpath={.spec} {.metadata.generation}'
    says '{"color":"red","size":3} 1'
    run -0 k get wd
    matches 'NAME +SIZE +AGE'
    matches 'w1 +3 +[0-9]+s'
    run -0 k get widgets -o wide
    matches 'NAME +SIZE +NOTE +AGE'
    run -0 k get gadgets -o name
    says widget.e2e.example.com/w1
    run -0 kubectl explain widget.spec
    matches '  size[[:space:]]+<integer> -required-'
    mentions 'What is wanted.'
}

@test "what the schema forbids, all of it at once" {
    run -1 k create -f - <<<"$(widget bad 0 $'color: blue\n  note: too-long')"
    mentions 'The Widget "bad" is invalid'
    mentions 'spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1'
    mentions 'spec.color: Unsupported value: "blue": supported values: "red", "green"'
    mentions 'spec.note: Too long: may not be more than 5 bytes'
    run -1 k create -f - <<<"$(widget bad 1 'bogus: 1')"
    mentions 'Error from server (BadRequest): error when creating "STDIN": Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.bogus"'
    run -1 k create -f - <<<"$(widget bad x)"
    mentions 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'
}

@test "apply, patch, edit of custom resources" {
    run -0 k apply -f - <<<"$(widget ap 1)"
    says 'widget.e2e.example.com/ap created'
    run -0 k apply -f - <<<"$(widget ap 2)"
    says 'widget.e2e.example.com/ap configured'
    run -0 k apply -f - <<<"$(widget ap 2)"
    says 'widget.e2e.example.com/ap unchanged'
    run -0 k get widget ap -o 'jsonpath={.spec.size} {.metadata.generation}'
    says '2 2'
    run -0 k apply --server-side --field-manager=other --force-conflicts -f - <<<"$(widget ap 4)"
    says 'widget.e2e.example.com/ap serverside-applied'
    run -0 k patch widget ap --type=merge -p '{"spec":{"note":"x"}}'
    says 'widget.e2e.example.com/ap patched'
    run -1 k patch widget ap -p '{"spec":{"note":"x"}}'
    mentions 'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'
    run -0 request PUT "/apis/e2e.example.com/v1/namespaces/$NS/widgets/ap" -H 'Content-Type: application/yaml' --data-binary "$(widget ap 5)"
    mentions 'metadata.resourceVersion: Invalid value: 0x0: must be specified for an update'
}

@test "status is apart from the rest" {
    k apply -f - <<<"$(widget st 1)"
    run -0 k patch widget st --subresource=status --type=merge -p '{"status":{"phase":"Good"},"spec":{"size":9}}'
    run -0 k get widget st -o 'jsonpath={.status.phase} {.spec.size} {.metadata.generation}'
    says 'Good 1 1'
    run -0 k patch widget st --type=merge -p '{"status":{"phase":"Bad"},"spec":{"size":2}}'
    run -0 k get widget st -o 'jsonpath={.status.phase} {.spec.size} {.metadata.generation}'
    says 'Good 2 2'
    run -0 k wait widget/st --for=jsonpath='{.status.phase}'=Good --timeout=5s
}

@test "scale" {
    k apply -f - <<<"$(widget sc 1 'replicas: 2')"
    run -0 k scale widget sc --replicas=7
    says 'widget.e2e.example.com/sc scaled'
    run -0 k get widget sc --subresource=scale -o 'jsonpath={.spec.replicas}'
    says 7
}

# kubectl checks lists itself, with the definitions of /openapi/v2.
@test "a List is checked by kubectl and applied" {
    list() { printf 'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: l1}, %s: {a: b}}\n- {apiVersion: e2e.example.com/v1, kind: Widget, metadata: {name: l2}, spec: {%s: 2}}\n' "$1" "$2"; }
    run -1 k apply -f - <<<"$(list dota sise)"
    mentions 'ValidationError(ConfigMap): unknown field "dota" in io.k8s.api.core.v1.ConfigMap'
    mentions 'ValidationError(Widget.spec): unknown field "sise" in com.example.e2e.v1.Widget.spec'
    run -0 k apply -f - <<<"$(list data size)"
    says 'configmap/l1 created
widget.e2e.example.com/l2 created'
    run -0 kubectl explain widget.spec.size --api-version=e2e.example.com/v1 --output=plaintext-openapiv2
    mentions 'How big it is.'
}

@test "CRD and object in one go: the second time works" {
    sed -e 's/widgets/gizmos/g; s/widget/gizmo/g; s/Widget/Gizmo/g; s/\[wd\]/[gz]/' <(widget_crd) >"$SCRATCH/both.yaml"
    printf -- '---\napiVersion: e2e.example.com/v1\nkind: Gizmo\nmetadata: {name: g}\nspec: {size: 1}\n' >>"$SCRATCH/both.yaml"
    run -1 k apply -f "$SCRATCH/both.yaml"
    mentions 'ensure CRDs are installed first'
    kubectl wait --for=condition=Established crd/gizmos.e2e.example.com --timeout=30s
    at_once k apply -f "$SCRATCH/both.yaml"
    run -0 k get gizmo g -o name
    says gizmo.e2e.example.com/g
}

@test "names that are taken are not given twice, and given when they are free" {
    sed -e 's/widgets/wodgets/g; s/singular: widget/singular: wodget/' <(widget_crd) | kubectl create -f -
    eventually sh -c "kubectl get crd wodgets.e2e.example.com -o json | grep -q NamesAccepted"
    run -0 kubectl get crd wodgets.e2e.example.com -o 'jsonpath={.status.conditions[?(@.type=="NamesAccepted")].message}'
    mentions '"WidgetList" is already in use'
    run -0 kubectl get crd wodgets.e2e.example.com -o 'jsonpath={.status.conditions[?(@.type=="Established")].status}'
    says False
    kubectl delete crd wodgets.e2e.example.com
}

@test "a CRD that is broken is refused" {
    run -1 kubectl create -f - <<<"$(widget_crd | sed 's/name: widgets.e2e.example.com/name: other.e2e.example.com/')"
    mentions 'metadata.name: Invalid value: "other.e2e.example.com": must be spec.names.plural+"."+spec.group'
    run -1 kubectl patch crd widgets.e2e.example.com --type=merge -p '{"spec":{"scope":"Cluster"}}'
    mentions 'spec.scope: Invalid value: "Cluster": field is immutable'
}

@test "two versions of one kind" {
    kubectl get crd widgets.e2e.example.com -o json >"$SCRATCH/crd.json"
    python3 - "$SCRATCH/crd.json" <<'PY'
import json, sys
crd = json.load(open(sys.argv[1]))
v2 = json.loads(json.dumps(crd["spec"]["versions"][0]))
v2.update(name="v2", storage=False, deprecated=True)
crd["spec"]["versions"].append(v2)
json.dump(crd, open(sys.argv[1], "w"))
PY
    kubectl replace -f "$SCRATCH/crd.json"
    eventually k get widgets.v2.e2e.example.com
    run -0 k get widgets.v2.e2e.example.com w1 -o 'jsonpath={.apiVersion}'
    mentions 'e2e.example.com/v2'
    mentions 'Warning: e2e.example.com/v2 Widget is deprecated'
    run -0 k get widgets.v1.e2e.example.com w1 -o 'jsonpath={.apiVersion}'
    says 'e2e.example.com/v1'
}

@test "CEL rules are accepted" {
    run -0 kubectl create -f - <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ruled.e2e.example.com}
spec:
  group: e2e.example.com
  scope: Cluster
  names: {plural: ruled, kind: Rule}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: "self.a < 5"}]}
YAML
    mentions 'customresourcedefinition.apiextensions.k8s.io/ruled.e2e.example.com created'
    [ -n "${REEVE_KUBECONFIG-}" ] || matches 'Warning: .*not enforced.*'
    kubectl delete crd ruled.e2e.example.com
}

@test "deleting a CRD deletes its objects, and its kind is gone" {
    run -0 k get gizmos -o name
    says gizmo.e2e.example.com/g
    run -0 kubectl delete crd gizmos.e2e.example.com
    says 'customresourcedefinition.apiextensions.k8s.io "gizmos.e2e.example.com" deleted'
    eventually sh -c "! kubectl get --raw /apis/e2e.example.com/v1 | grep -q gizmos"
    run -1 kubectl get --raw "/apis/e2e.example.com/v1/gizmos"
    mentions 'the server could not find the requested resource'
}
