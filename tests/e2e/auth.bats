# SPDX-License-Identifier: Apache-2.0
# Who may do what: can-i, whoami, impersonation, tokens, reconcile, escalation, certificates, anonymous requests.

load server.bash

setup_file() {
    start_server
    k create serviceaccount bot
    k create role reader --verb=get,list --resource=configmaps
    k create rolebinding readers --role=reader --serviceaccount="$NS:bot" --user=jane
    k create configmap data --from-literal=a=1
}

teardown_file() {
    [ -n "${REEVE_KUBECONFIG-}" ] && kubectl delete clusterrole,clusterrolebinding -l "e2e=$NS" >/dev/null
    stop_server
}

token() { k create token bot "$@"; }

# as_bot TOKEN ARGUMENT...
as_bot() {
    local token=$1
    shift
    kubectl --kubeconfig /dev/null --server "$SERVER" --certificate-authority "$CA" --token "$token" -n "$NS" "$@"
}

is_refused() { ! as_bot "$1" auth whoami 2>"$SCRATCH/refusal" && grep -q Unauthorized "$SCRATCH/refusal"; }

@test "can-i" {
    run -0 k auth can-i get configmaps
    says yes
    run -0 k auth can-i get configmaps --as jane
    says yes
    run -1 k auth can-i delete configmaps --as jane
    says no
    run -1 k auth can-i get configmaps --as jane -A
    says no
    run -0 k auth can-i list configmaps --as "system:serviceaccount:$NS:bot"
    run -0 kubectl auth can-i get /healthz --as jane --as-group system:authenticated
}

@test "can-i --list" {
    run -0 k auth can-i --list --as jane
    matches 'configmaps +\[\] +\[\] +\[get list\]'
    matches 'selfsubjectreviews.authentication.k8s.io +\[\] +\[\] +\[create\]'
}

@test "whoami" {
    run -0 kubectl auth whoami -o 'jsonpath={.status.userInfo.groups}'
    mentions 'system:authenticated'
    run -0 kubectl auth whoami --as jane --as-group devs --as-uid 7 -o 'jsonpath={.status.userInfo}'
    mentions '"username":"jane"'
    mentions '"devs"'
    mentions '"uid":"7"'
}

@test "what is not allowed is forbidden, and says who, what and where" {
    run -1 k get secrets --as jane
    says "Error from server (Forbidden): secrets is forbidden: User \"jane\" cannot list resource \"secrets\" in API group \"\" in the namespace \"$NS\""
    run -1 kubectl get configmaps -A --as jane
    says 'Error from server (Forbidden): configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" at the cluster scope'
    run -1 k delete configmap data --as jane
    says "Error from server (Forbidden): configmaps \"data\" is forbidden: User \"jane\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"$NS\""
    run -1 kubectl get --raw /metrics --as jane
    says 'Error from server (Forbidden): forbidden: User "jane" cannot get path "/metrics"'
}

@test "impersonation needs the right to it" {
    local bot
    bot=$(token)
    run -1 as_bot "$bot" get configmaps --as eve
    says "Error from server (Forbidden): users \"eve\" is forbidden: User \"system:serviceaccount:$NS:bot\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
}

@test "impersonating groups without a user is a mistake, told as plain text" {
    run -0 request GET '/api?x=<' -H 'Impersonate-Group: dev' -H 'Impersonate-Uid: 1'
    says 'Internal Server Error: "/api?x=&lt;": requested [{Group  dev    } {UID  1  authentication.k8s.io/v1  }] without impersonating a user'
}

@test "a token of a ServiceAccount is that account" {
    local bot
    bot=$(token)
    run -0 as_bot "$bot" get configmap data -o name
    says configmap/data
    run -0 as_bot "$bot" auth whoami -o 'jsonpath={.status.userInfo.username} {.status.userInfo.groups}'
    says "system:serviceaccount:$NS:bot [\"system:serviceaccounts\",\"system:serviceaccounts:$NS\",\"system:authenticated\"]"
    run -1 as_bot "$bot" get secrets
    mentions 'cannot list resource "secrets"'
    run -1 as_bot "${bot}x" get configmaps
    says 'error: You must be logged in to the server (Unauthorized)'
}

@test "a token dies with its account" {
    k create serviceaccount brief
    local brief
    brief=$(k create token brief)
    run -0 as_bot "$brief" auth whoami
    k delete serviceaccount brief
    k create serviceaccount brief
    at_once is_refused "$brief"
}

@test "create token takes a duration and an audience" {
    run -1 token --duration=1s
    mentions 'may not specify a duration less than 10 minutes'
    local other
    other=$(token --audience=elsewhere --duration=20m)
    run -1 as_bot "$other" get configmaps
    mentions 'Unauthorized'
    run -0 kubectl create -o 'jsonpath={.status.authenticated} {.status.audiences}' -f - <<YAML
apiVersion: authentication.k8s.io/v1
kind: TokenReview
spec: {token: "$other", audiences: [elsewhere]}
YAML
    says 'true ["elsewhere"]'
}

@test "TokenReview of rubbish" {
    run -0 kubectl create -o 'jsonpath={.status}' -f - <<YAML
apiVersion: authentication.k8s.io/v1
kind: TokenReview
spec: {token: rubbish}
YAML
    mentions '"error":"invalid bearer token'
    lacks '"authenticated":true'
}

@test "SubjectAccessReview gives the reason" {
    run -0 kubectl create -o 'jsonpath={.status.allowed} {.status.reason}' -f - <<YAML
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec: {user: jane, resourceAttributes: {namespace: "$NS", verb: get, resource: configmaps}}
YAML
    says "true RBAC: allowed by RoleBinding \"readers/$NS\" of Role \"reader\" to User \"jane\""
}

@test "nobody gives what they do not have" {
    k create role keeper --verb=get,create,update --resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io
    k create rolebinding keepers --role=keeper --user=eve
    run -1 k create role more --verb=delete --resource=configmaps --as eve
    mentions "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"eve\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:"
    mentions '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}'
    run -1 k create rolebinding more --clusterrole=admin --user=eve --as eve
    mentions 'is attempting to grant RBAC permissions not currently held'
    run -0 k create rolebinding more --role=keeper --user=mallory --as eve
}

@test "a role works for the very next request, and its removal too" {
    local n
    for n in 1 2 3; do
        k create role "r$n" --verb=get --resource=secrets
        k create rolebinding "b$n" --role="r$n" --user="u$n"
        run -1 k get secret ghost --as "u$n"
        mentions NotFound
        k delete rolebinding "b$n"
        run -1 k get secret ghost --as "u$n"
        mentions Forbidden
    done
}

@test "auth reconcile" {
    cat >"$SCRATCH/rbac.yaml" <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: rec, namespace: $NS}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rec, namespace: $NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rec}
subjects: [{kind: User, name: rita, apiGroup: rbac.authorization.k8s.io}]
YAML
    run -0 kubectl auth reconcile -f "$SCRATCH/rbac.yaml"
    mentions 'role.rbac.authorization.k8s.io/rec reconciled'
    sed -i 's/verbs: \[get\]/verbs: [get, list]/' "$SCRATCH/rbac.yaml"
    run -0 kubectl auth reconcile -f "$SCRATCH/rbac.yaml"
    run -0 k auth can-i list configmaps --as rita
    says yes
}

@test "aggregated roles follow their sources" {
    kubectl create -f - <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: $NS-sum, labels: {e2e: $NS}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: $NS}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: $NS-part, labels: {e2e: $NS, part-of: $NS}}
rules: [{apiGroups: [x.example.com], resources: [things], verbs: [get]}]
YAML
    eventually sh -c "kubectl get clusterrole $NS-sum -o jsonpath={.rules} | grep -q things"
    run -0 kubectl get clusterrole "$NS-sum" -o 'jsonpath={.rules}'
    says '[{"apiGroups":["x.example.com"],"resources":["things"],"verbs":["get"]}]'
    kubectl delete clusterrole "$NS-part"
    eventually sh -c "! kubectl get clusterrole $NS-sum -o jsonpath={.rules} | grep -q things"
}

@test "the personas have rules from the start" {
    run -0 kubectl get clusterrole view -o 'jsonpath={.rules[*].resources}'
    mentions configmaps
    k create rolebinding editors --clusterrole=edit --user=ed
    run -0 k auth can-i create deployments.apps --as ed
    run -1 k auth can-i create roles.rbac.authorization.k8s.io --as ed
}

@test "without credentials there is health and nothing else" {
    run -0 anonymous GET /healthz
    says ok
    run -0 anonymous GET /version
    mentions '"major": "1"'
    run -0 anonymous GET /api
    mentions 'forbidden: User \"system:anonymous\" cannot get path \"/api\"'
    run -0 anonymous GET /readyz -H 'Authorization: Bearer rubbish' -o /dev/null -w '%{http_code}'
    says 401
}

@test "a certificate of another CA is no certificate" {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$SCRATCH/bad.key" -out "$SCRATCH/bad.crt" \
        -days 1 -subj '/O=system:masters/CN=mallory' 2>/dev/null
    run anonymous GET /api --cert "$SCRATCH/bad.crt" --key "$SCRATCH/bad.key" -o /dev/null -w '%{http_code}'
    [ "$status" -ne 0 ] || [ "$output" = 401 ] || [ "$output" = 403 ]
    lacks 200
}
