# SPDX-License-Identifier: Apache-2.0
# create, apply, patch, label, edit, replace, diff, delete, wait, scale: what kubectl does to change things.

load server.bash

setup_file() { start_server; }
teardown_file() { stop_server; }

configmap() { # NAME VALUE
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {v: "%s"}\n' "$1" "$2"
}

data_of() { k get configmap "$1" -o 'jsonpath={.data.v}'; }

@test "create -f" {
    run -0 k create -f - <<<"$(configmap made 1)"
    says 'configmap/made created'
    run -1 k create -f - <<<"$(configmap made 1)"
    says 'Error from server (AlreadyExists): error when creating "STDIN": configmaps "made" already exists'
}

@test "create with generateName" {
    run -0 k create -o name -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {generateName: gen-}
YAML
    matches 'configmap/gen-[bcdfghjklmnpqrstvwxz2456789]{5}'
}

@test "create of each kind that has a command of its own" {
    run -0 kubectl create namespace "$NS-x"
    says "namespace/$NS-x created"
    run -0 k create serviceaccount bot
    says 'serviceaccount/bot created'
    run -0 k create role reader --verb=get,list --resource=configmaps
    says 'role.rbac.authorization.k8s.io/reader created'
    run -0 k create rolebinding readers --role=reader --serviceaccount="$NS:bot" --user=jane
    says 'rolebinding.rbac.authorization.k8s.io/readers created'
    run -0 kubectl create clusterrole "$NS-cr" --verb=get --resource=nodes
    run -0 kubectl create clusterrolebinding "$NS-crb" --clusterrole="$NS-cr" --group=g
    run -0 k create secret generic s --from-literal=a=b
    says 'secret/s created'
    run -0 k create deployment web --image=img --replicas=2
    says 'deployment.apps/web created'
    run -0 k create quota q --hard=pods=3
    says 'resourcequota/q created'
    run -0 k create job j --image=img
    says 'job.batch/j created'
    run -0 k create cronjob cj --image=img --schedule='* * * * *'
    says 'cronjob.batch/cj created'
    run -0 k create ingress in --rule=h/p=svc:80
    says 'ingress.networking.k8s.io/in created'
    run -0 k create poddisruptionbudget pdb --selector=a=b --min-available=1
    says 'poddisruptionbudget.policy/pdb created'
    run -0 k create service clusterip svc --tcp=80:8080
    says 'service/svc created'
    kubectl delete clusterrole "$NS-cr"
    kubectl delete clusterrolebinding "$NS-crb"
    kubectl delete namespace "$NS-x" --wait=false
}

@test "bad objects are refused in the words of Kubernetes" {
    run -1 k create -f - <<<"$(configmap Bad_Name 1)"
    mentions "The ConfigMap \"Bad_Name\" is invalid: metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
    run -1 k create -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: x, nmae: y}
data: {a: "1"}
zz: 1
YAML
    mentions 'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.nmae", unknown field "zz"'
    run -1 k create -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
data: {a: 1}
YAML
    mentions 'json: cannot unmarshal number into Go struct field ConfigMap.data of type string'
    run -1 kubectl create -n no-such-namespace -f - <<<"$(configmap x 1)"
    mentions 'Error from server (NotFound): error when creating "STDIN": namespaces "no-such-namespace" not found'
}

@test "--validate=warn says it and goes on" {
    run -0 k create --validate=warn -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: warned}
zz: 1
YAML
    matches 'Warning: unknown field "zz"'
    matches 'configmap/warned created'
}

@test "apply creates, changes, and leaves alone what is the same" {
    run -0 k apply -f - <<<"$(configmap app 1)"
    says 'configmap/app created'
    run -0 k apply -f - <<<"$(configmap app 1)"
    says 'configmap/app unchanged'
    run -0 k apply -f - <<<"$(configmap app 2)"
    says 'configmap/app configured'
    [ "$(data_of app)" = 2 ]
}

@test "apply --server-side: ownership, conflicts, force, removal" {
    run -0 k apply --server-side --field-manager=one -f - <<<"$(configmap ssa 1)"
    says 'configmap/ssa serverside-applied'
    run -1 k apply --server-side --field-manager=two -f - <<<"$(configmap ssa 2)"
    mentions 'Apply failed with 1 conflict: conflict with "one": .data.v'
    run -0 k apply --server-side --field-manager=two --force-conflicts -f - <<<"$(configmap ssa 2)"
    [ "$(data_of ssa)" = 2 ]
    run -0 k get configmap ssa --show-managed-fields -o 'jsonpath={.metadata.managedFields[*].manager} {.metadata.managedFields[0].fieldsV1}'
    says 'two {"f:data":{"f:v":{}}}'
    run -0 k apply --server-side --field-manager=two -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: ssa}
YAML
    [ -z "$(data_of ssa)" ]
}

@test "apply --server-side takes over what client-side apply made" {
    k apply -f - <<<"$(configmap over 1)"
    run -0 k apply --server-side -f - <<<"$(configmap over 2)"
    says 'configmap/over serverside-applied'
    [ "$(data_of over)" = 2 ]
}

@test "--dry-run=server changes nothing" {
    run -0 k apply --dry-run=server -f - <<<"$(configmap dry 1)"
    says 'configmap/dry created (server dry run)'
    run -1 k get configmap dry
    k create -f - <<<"$(configmap dry 1)"
    run -0 k delete configmap dry --dry-run=server
    says 'configmap "dry" deleted (server dry run)'
    run -0 k get configmap dry
    run -0 k patch configmap dry --dry-run=server -p '{"data":{"v":"9"}}' -o 'jsonpath={.data.v}'
    says 9
    [ "$(data_of dry)" = 1 ]
}

@test "diff" {
    k apply -f - <<<"$(configmap dif 1)"
    run -0 k diff -f - <<<"$(configmap dif 1)"
    run -1 k diff -f - <<<"$(configmap dif 2)"
    matches '\+  v: "2"'
    run -1 k diff --server-side --force-conflicts -f - <<<"$(configmap dif 3)"
    matches '\+  v: "3"'
}

@test "patch: strategic, merge, JSON" {
    k create -f - <<<"$(configmap pat 1)"
    run -0 k patch configmap pat -p '{"data":{"v":"2"}}'
    says 'configmap/pat patched'
    run -0 k patch configmap pat -p '{"data":{"v":"2"}}'
    says 'configmap/pat patched (no change)'
    run -0 k patch configmap pat --type=merge -p '{"data":{"v":null,"w":"3"}}'
    run -0 k patch configmap pat --type=json -p '[{"op":"add","path":"/data/x","value":"4"}]'
    run -0 k get configmap pat -o 'jsonpath={.data}'
    says '{"w":"3","x":"4"}'
    run -1 k patch configmap pat --type=json -p '[{"op":"test","path":"/data/x","value":"5"}]'
    mentions 'The request is invalid: the server rejected our request due to an error in our request'
    run -1 k patch configmap ghost -p '{"data":{"v":"2"}}'
    says 'Error from server (NotFound): configmaps "ghost" not found'
}

@test "label and annotate" {
    k create -f - <<<"$(configmap lab 1)"
    run -0 k label configmap lab a=b
    says 'configmap/lab labeled'
    run -1 k label configmap lab a=c
    mentions "'a' already has a value (b), and --overwrite is false"
    run -0 k label configmap lab a=c --overwrite
    run -0 k annotate configmap lab note='hello there'
    says 'configmap/lab annotated'
    run -0 k label configmap lab a-
    says 'configmap/lab unlabeled'
    run -0 k get configmap lab -o 'jsonpath={.metadata.labels} {.metadata.annotations.note}'
    says ' hello there'
    run -1 k label configmap lab 'a=not valid'
    mentions "a valid label must be an empty string or consist of alphanumeric characters"
}

@test "edit" {
    k create -f - <<<"$(configmap edi 1)"
    printf '#!/bin/sh\nsed -i "s/v: \\"1\\"/v: \\"7\\"/" "$1"\n' >"$SCRATCH/editor"
    chmod +x "$SCRATCH/editor"
    KUBE_EDITOR=$SCRATCH/editor run -0 k edit configmap edi
    says 'configmap/edi edited'
    [ "$(data_of edi)" = 7 ]
}

@test "replace, with and without the version it replaces" {
    k create -f - <<<"$(configmap rep 1)"
    k get configmap rep -o yaml >"$SCRATCH/old.yaml"
    run -0 k replace -f - <<<"$(configmap rep 2)"
    says 'configmap/rep replaced'
    run -1 k replace -f "$SCRATCH/old.yaml"
    mentions 'Operation cannot be fulfilled on configmaps "rep": the object has been modified; please apply your changes to the latest version and try again'
    run -1 k replace -f - <<<"$(configmap ghost 2)"
    mentions 'configmaps "ghost" not found'
    run -0 k replace --force -f - <<<"$(configmap rep 3)"
    mentions 'configmap "rep" deleted'
    mentions 'configmap/rep replaced'
}

@test "delete, one, many, by label" {
    for n in d1 d2 d3 d4; do configmap $n 1; echo ---; done | k create -f - >/dev/null
    k label configmap d3 d4 gone=soon
    run -0 k delete configmap d1
    says 'configmap "d1" deleted'
    run -0 k delete configmap d2 --wait=false
    run -0 k delete configmap -l gone=soon
    mentions 'configmap "d3" deleted'
    mentions 'configmap "d4" deleted'
    run -1 k delete configmap d1
    says 'Error from server (NotFound): configmaps "d1" not found'
    run -0 k delete configmap d1 --ignore-not-found
}

@test "a finalizer holds an object back" {
    k create -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/hold]}
YAML
    run -0 k delete configmap held --wait=false
    says 'configmap "held" deleted'
    run -0 k get configmap held -o 'jsonpath={.metadata.deletionGracePeriodSeconds}'
    says 0
    run -1 k patch configmap held --type=merge -p '{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}'
    mentions 'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}'
    run -0 k patch configmap held --type=merge -p '{"metadata":{"finalizers":null}}'
    run -1 k get configmap held
}

@test "delete waits until the object is gone" {
    k create -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: slow, finalizers: [example.com/hold]}
YAML
    k delete configmap slow >"$SCRATCH/deleted" 3>&- &
    local waiter=$!
    eventually k get configmap slow -o 'jsonpath={.metadata.deletionTimestamp}'
    kill -0 $waiter
    k patch configmap slow --type=merge -p '{"metadata":{"finalizers":[]}}'
    wait $waiter
}

@test "wait for a condition, a value, and a deletion" {
    k create deployment waited --image=img
    run -1 k wait deployment/waited --for=condition=Available --timeout=1s
    mentions 'timed out waiting for the condition on deployments/waited'
    k patch deployment waited --subresource=status --type=merge \
        -p '{"status":{"conditions":[{"type":"Available","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","lastUpdateTime":"2026-01-01T00:00:00Z","reason":"r","message":"m"}]}}'
    run -0 k wait deployment/waited --for=condition=Available --timeout=10s
    says 'deployment.apps/waited condition met'
    run -0 k wait deployment/waited --for=jsonpath='{.spec.replicas}'=1 --timeout=10s
    k wait deployment/waited --for=delete --timeout=20s >"$SCRATCH/waited" 3>&- &
    local waiter=$!
    k delete deployment waited
    wait $waiter
}

@test "scale and set" {
    k create deployment sc --image=img
    run -0 k scale deployment sc --replicas=5
    says 'deployment.apps/sc scaled'
    run -0 k get deployment sc -o 'jsonpath={.spec.replicas} {.metadata.generation}'
    says '5 2'
    run -1 k scale deployment sc --current-replicas=9 --replicas=1
    mentions 'Expected replicas to be 9, was 5'
    run -0 k get deployment sc --subresource=scale -o 'jsonpath={.kind} {.spec.replicas} {.status.selector}'
    says 'Scale 5 app=sc'
    run -0 k set image deployment/sc img=other
    says 'deployment.apps/sc image updated'
    run -0 k get deployment sc -o 'jsonpath={.spec.template.spec.containers[0].image}'
    says other
}

@test "rollout status reads generation and status" {
    k create deployment ro --image=img
    run -1 k rollout status deployment/ro --timeout=1s
    mentions 'Waiting for deployment'
    k patch deployment ro --subresource=status --type=merge \
        -p '{"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1,"readyReplicas":1}}'
    run -0 k rollout status deployment/ro --timeout=10s
    mentions 'deployment "ro" successfully rolled out'
}

@test "expose, autoscale, run" {
    k create deployment ex --image=img --port=80
    run -0 k expose deployment ex
    says 'service/ex exposed'
    run -0 k autoscale deployment ex --max=3
    says 'horizontalpodautoscaler.autoscaling/ex autoscaled'
}

@test "apply --prune deletes what is no longer in the set" {
    for n in p1 p2; do configmap $n 1 | sed 's/{name: \(..\)}/{name: \1, labels: {set: pr}}/'; echo ---; done >"$SCRATCH/set.yaml"
    k apply --prune -l set=pr -f "$SCRATCH/set.yaml"
    configmap p1 1 | sed 's/{name: \(..\)}/{name: \1, labels: {set: pr}}/' >"$SCRATCH/set.yaml"
    run -0 k apply --prune -l set=pr -f "$SCRATCH/set.yaml"
    mentions 'configmap/p2 pruned'
    run -1 k get configmap p2
}

@test "secrets: stringData, type, immutability" {
    run -0 k create -f - <<'YAML'
apiVersion: v1
kind: Secret
metadata: {name: sec}
stringData: {a: hello}
immutable: true
YAML
    run -0 k get secret sec -o 'jsonpath={.type} {.data.a} {.stringData}'
    says 'Opaque aGVsbG8= '
    run -1 k patch secret sec -p '{"stringData":{"a":"x"}}'
    mentions 'data: Forbidden: field is immutable when `immutable` is set'
    run -1 k patch secret sec -p '{"type":"other"}'
    mentions 'type: Invalid value: "other": field is immutable'
}

@test "a namespace that goes away takes nothing new" {
    kubectl create namespace "$NS-t"
    kubectl patch namespace "$NS-t" --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'
    kubectl delete namespace "$NS-t" --wait=false
    run -1 kubectl create configmap late -n "$NS-t"
    mentions "error: failed to create configmap: configmaps \"late\" is forbidden: unable to create new content in namespace $NS-t because it is being terminated"
    run -1 kubectl delete namespace kube-system
    mentions 'Error from server (Forbidden): namespaces "kube-system" is forbidden: this namespace may not be deleted'
    kubectl patch namespace "$NS-t" --type=merge -p '{"metadata":{"finalizers":null}}'
}
