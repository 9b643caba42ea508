# SPDX-License-Identifier: Apache-2.0
# ManagedServiceAccounts: a token on the hub that is good for the managed cluster, for what a permission grants it, and for no longer.

load fleet.bash

setup_file() {
    start_fleet
    all_joined
    namespace_at one team
}

teardown_file() { stop_fleet; }

home=open-cluster-management-agent-addon

# token_of NAME: as the Secret on the hub has it.
token_of() { at hub secret "$1" -n cluster1 -o 'jsonpath={.data.token}' | base64 -d; }

# has_token NAME: there is one, and the status says so.
has_token() { gets TokenReported True managedserviceaccount "$1" -n cluster1 && [ -n "$(token_of "$1")" ]; }

# with_token NAME ARGUMENT...: kubectl on the managed cluster with nothing but what is in the Secret.
with_token() {
    local server secret=$SCRATCH/secret-$1
    server=$(KUBECONFIG=$ONE kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
    [ -s "$secret.token" ] || fetch_secret "$1"
    KUBECONFIG=/dev/null kubectl --server "$server" --certificate-authority "$secret.crt" --token "$(cat "$secret.token")" "${@:2}"
}

# is_stranger NAME: the token that with_token uses is nobody's. (A Kubernetes believes for some seconds what it believed before.)
is_stranger() { [[ "$(with_token "$1" get pods -n team 2>&1)" == *Unauthorized* ]]; }

# fetch_secret NAME: what with_token uses from now on.
fetch_secret() {
    token_of "$1" >"$SCRATCH/secret-$1.token"
    at hub secret "$1" -n cluster1 -o 'jsonpath={.data.ca\.crt}' | base64 -d >"$SCRATCH/secret-$1.crt"
}

# allowed_to NAME: all that it may do in "team" besides what everybody may.
allowed_to() {
    with_token "$1" auth can-i --list -n team --no-headers | grep -vE 'selfsubject(access|rules)?reviews|^customresourcedefinitions\.' | grep -v '^ *\[/' |
        awk '{ printf "%s", $1; for (i = 2; i <= NF; i++) printf " %s", $i; print "" }' | LC_ALL=C sort
}

@test "the add-on says where accounts live on the cluster" {
    eventually shows $home at hub managedclusteraddon managed-serviceaccount -n cluster1 -o 'jsonpath={.status.namespace}'
}

@test "an account: a ServiceAccount there, a Secret here, and the token is good" {
    account cluster1 robot
    has_token robot
    at one serviceaccount robot -n $home -o 'jsonpath={.metadata.labels}' | grep -q is-managed-serviceaccount
    run -0 at hub secret robot -n cluster1 -o json
    shows 'Opaque ca.crt,token true ManagedServiceAccount robot' jq -r '"\(.type) \(.data | keys | join(",")) \(.metadata.labels["authentication.open-cluster-management.io/is-managed-serviceaccount"]) \(.metadata.ownerReferences[0].kind) \(.metadata.ownerReferences[0].name)"' <<<"$output"
    gets SecretCreated True managedserviceaccount robot -n cluster1
    shows robot at hub managedserviceaccount robot -n cluster1 -o 'jsonpath={.status.tokenSecretRef.name}'
    [ -n "$(at hub managedserviceaccount robot -n cluster1 -o 'jsonpath={.status.expirationTimestamp}')" ]
    run -0 with_token robot auth whoami -o 'jsonpath={.status.userInfo.username}'
    says "system:serviceaccount:$home:robot"
    gone_at two serviceaccount robot -n $home
}

@test "it has no rights of its own" {
    run -1 with_token robot get pods -n team
    mentions Forbidden
    run -0 allowed_to robot
    says ''
}

@test "a permission gives it exactly what it says" {
    permission cluster1 robots <<'YAML'
roles: [{namespace: team, rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]}]
roleBindings: [{namespace: team, roleRef: {kind: Role}, subject: {apiGroup: authentication.open-cluster-management.io, kind: ManagedServiceAccount, name: robot}}]
YAML
    delivered cluster1 robots
    gets SubjectPresent True clusterpermission robots -n cluster1
    local of
    of=$(of "$(work_of cluster1 robots)")
    rbac_is one ^robots "Role team/robots: /pods get,list $of
RoleBinding team/robots: Role robots <- ServiceAccount $home/robot $of"
    with_token robot get pods -n team
    run -0 allowed_to robot
    says 'pods [] [] [get list]'
    run -1 with_token robot get secrets -n team
    run -1 with_token robot get pods -n default
    run -1 with_token robot get pods --all-namespaces
    run -1 with_token robot create configmap x -n team
}

@test "another account beside it, and a user: each is what it is" {
    account cluster1 second
    has_token second
    hub patch clusterpermission robots -n cluster1 --type=merge -p '{"spec":{"roleBindings":[{"namespace":"team","roleRef":{"kind":"Role"},"subjects":[
        {"apiGroup":"authentication.open-cluster-management.io","kind":"ManagedServiceAccount","name":"robot"},
        {"apiGroup":"authentication.open-cluster-management.io","kind":"ManagedServiceAccount","name":"second"},
        {"kind":"User","name":"alice"}]}]}}'
    rbac_is one ^robots "Role team/robots: /pods get,list $(of "$(work_of cluster1 robots)")
RoleBinding team/robots: Role robots <- ServiceAccount $home/robot, ServiceAccount $home/second, User.rbac.authorization.k8s.io alice $(of "$(work_of cluster1 robots)")"
    with_token second get pods -n team
}

@test "an account that goes: its token is refused, its binding loses it, the others keep their rights" {
    with_token second get pods -n team
    hub delete managedserviceaccount second -n cluster1
    eventually gone_at one serviceaccount second -n $home
    eventually gone_at hub secret second -n cluster1
    eventually is_stranger second
    gets SubjectPresent False clusterpermission robots -n cluster1
    run -0 message SubjectPresent clusterpermission robots -n cluster1
    mentions second
    rbac_is one ^robots "Role team/robots: /pods get,list $(of "$(work_of cluster1 robots)")
RoleBinding team/robots: Role robots <- ServiceAccount $home/robot, User.rbac.authorization.k8s.io alice $(of "$(work_of cluster1 robots)")"
    with_token robot get pods -n team
}

@test "and comes back: so do its rights, with another token" {
    account cluster1 second
    has_token second
    gets SubjectPresent True clusterpermission robots -n cluster1
    eventually is_stranger second # that was the old one
    fetch_secret second
    eventually with_token second get pods -n team
}

@test "a permission that is deleted: the token is good, and for nothing" {
    hub delete clusterpermission robots -n cluster1
    rbac_is one ^robots ''
    run -1 with_token robot get pods -n team
    mentions Forbidden
    run -0 with_token robot auth whoami -o 'jsonpath={.status.userInfo.username}'
}

@test "who deletes the Secret, or the ServiceAccount over there, finds both again, and a token that is good" {
    local before
    hub delete secret robot -n cluster1
    eventually at hub secret robot -n cluster1
    fetch_secret robot
    with_token robot auth whoami
    before=$(cat "$SCRATCH/secret-robot.token")
    one delete serviceaccount robot -n $home
    eventually at one serviceaccount robot -n $home
    new_token() { local now; now=$(token_of robot) && [ -n "$now" ] && [ "$now" != "$before" ]; }
    eventually new_token
    eventually is_stranger robot
    fetch_secret robot
    with_token robot auth whoami
}

@test "who spoils the token in the Secret finds a good one again; what others put there stays" {
    hub label secret robot -n cluster1 mine=yes
    hub patch secret robot -n cluster1 --type=merge -p '{"data":{"token":"bm9uc2Vuc2U="}}'
    good_again() { fetch_secret robot && with_token robot auth whoami; }
    eventually good_again
    shows yes at hub secret robot -n cluster1 -o 'jsonpath={.metadata.labels.mine}'
}

@test "a ServiceAccount of that name that is somebody else's: no token of it is handed out" {
    one create serviceaccount theirs -n $home
    local before
    before=$(at one serviceaccount theirs -n $home -o json)
    account cluster1 theirs
    gets TokenReported False managedserviceaccount theirs -n cluster1
    run -0 message TokenReported managedserviceaccount theirs -n cluster1
    mentions theirs
    gone_at hub secret theirs -n cluster1
    hub delete managedserviceaccount theirs -n cluster1
    shows "$before" at one serviceaccount theirs -n $home -o json
    one delete serviceaccount theirs -n $home
    gone_at one serviceaccount theirs -n $home
}

@test "the older version of the kind; how long a token lives; an account for a moment" {
    hub apply -f - <<'YAML'
apiVersion: authentication.open-cluster-management.io/v1alpha1
kind: ManagedServiceAccount
metadata: {name: older, namespace: cluster1}
spec: {rotation: {validity: 20m}, ttlSecondsAfterCreation: 3600}
YAML
    has_token older
    local ends now
    ends=$(date -d "$(at hub managedserviceaccount older -n cluster1 -o 'jsonpath={.status.expirationTimestamp}')" +%s)
    now=$(date +%s)
    [ $((ends - now)) -le 1200 ]
    [ $((ends - now)) -gt 900 ]
    hub patch managedserviceaccount older -n cluster1 --type=merge -p '{"spec":{"ttlSecondsAfterCreation":1}}'
    eventually gone_at hub managedserviceaccount older -n cluster1
    eventually gone_at one serviceaccount older -n $home
}

@test "deleted: nothing of it is left, on either side" {
    hub delete managedserviceaccount robot second -n cluster1
    eventually gone_at one serviceaccount robot -n $home
    eventually gone_at one serviceaccount second -n $home
    eventually gone_at hub secret robot -n cluster1
    eventually is_stranger robot
}
