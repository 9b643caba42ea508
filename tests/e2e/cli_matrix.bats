# SPDX-License-Identifier: Apache-2.0
# reeve matrix, on a server where the two example packages are installed.

load cli.bash

setup_file() {
    start_packages
    tour
    kubectl create namespace other
    kubectl label namespace other e2e=packages
}

teardown_file() { stop_packages; }

matrix() { "$REEVE" matrix "$@"; }

# rows: of a matrix as JSON, one line a resource: "RESOURCE[.GROUP] VERB,VERB", verbs by name.
rows() {
    jq -r '.resources[] | "\(.resource)\(if .group == "" then "" else "." + .group end) \(.allowed | sort | join(","))"' | sort
}

@test "oneself: everybody may ask" {
    golden matrix/jane.txt matrix --as jane -n app-team-1
    LOCALE=C golden matrix/jane-ascii.txt matrix --as jane -n app-team-1
}

@test "a legend says what marks and columns mean, on standard error" {
    run -0 --separate-stderr env LC_ALL=C.UTF-8 COLUMNS=80 "$REEVE" matrix --as jane -n app-team-1
    [ "$stderr" = '✔ allowed, ~ allowed for some names, ✖ not allowed, empty: no such verb
LIS list, WAT watch, CRE create, UPD update, PAT patch, DEL delete,
COL deletecollection' ]
    run -0 --separate-stderr env LC_ALL=C COLUMNS=80 "$REEVE" matrix --as jane -n app-team-1 -o wide
    [ "$stderr" = 'Y allowed, ~ allowed for some names, - not allowed, empty: no such verb' ]
    run -0 --separate-stderr "$REEVE" matrix --as jane -n app-team-1 -q
    [ -z "$stderr" ]
}

@test "somebody else: the same answer, from roles and bindings" {
    golden matrix/jane.txt matrix jane -n app-team-1
    golden matrix/account.txt matrix system:serviceaccount:app-team-1:wordpress -n app-team-1
    golden matrix/account.txt matrix serviceaccount/app-team-1/wordpress -n app-team-1
}

@test "what it says is what the server does, asked one by one" {
    allowed jane | awk '($1 == "app-team-1" || $1 == "-") && $2 !~ /\// {print $2, $3}' | sort -u >"$SCRATCH/asked"
    [ -s "$SCRATCH/asked" ]
    matrix jane -n app-team-1 -o json | rows | diff "$SCRATCH/asked" -
    matrix --as jane -n app-team-1 -o json | rows | diff "$SCRATCH/asked" -
}

@test "a ServiceAccount without any rights, with its own token, sees what everybody may" {
    kubectl create serviceaccount nobody -n other
    kubectl config view --raw >"$SCRATCH/nobody"
    kubectl config --kubeconfig "$SCRATCH/nobody" set-credentials nobody --token="$(kubectl create token nobody -n other)"
    kubectl config --kubeconfig "$SCRATCH/nobody" set-context --current --user=nobody --namespace=other
    golden matrix/nobody.txt matrix --kubeconfig "$SCRATCH/nobody"
    [ "$(head -n 1 "$SCRATCH/talk")" = 'Note: this is about the namespace "other"; -n names another.' ]
    run -0 matrix --kubeconfig "$SCRATCH/nobody" -o json
    [ "$(jq -r .user <<<"$output")" = system:serviceaccount:other:nobody ]
    [ "$(jq -r .namespace <<<"$output")" = other ]
}

@test "rights of one namespace are none elsewhere" {
    golden matrix/nobody.txt matrix jane -n other
    ! grep -q Note "$SCRATCH/talk"
    golden matrix/nobody.txt matrix jane -A
    ! grep -q Note "$SCRATCH/talk"
    golden matrix/nobody.txt matrix -A --as jane
}

@test "for some objects, by name" {
    kubectl create role named -n other --verb=get,delete --resource=secrets --resource-name=one --resource-name=two
    kubectl create rolebinding named -n other --role named --user bob
    golden matrix/names.txt matrix bob -n other
    LOCALE=C golden matrix/names-ascii.txt matrix bob -n other
    run -0 matrix bob -n other -o json
    [ "$(jq -c '.resources[] | select(.resource == "secrets") | [.allowed, .allowedForNames]' <<<"$output")" = '[[],["get","delete"]]' ]
}

@test "a RoleBinding gives no right to what is not in its namespace" {
    kubectl create clusterrole sees-nodes --verb=get --resource=nodes,pods
    kubectl create rolebinding sees-nodes -n other --clusterrole sees-nodes --user eve
    run -0 matrix eve -n other
    matches 'pods +✔ .*'
    lacks nodes
    run -0 matrix --as eve -n other
    lacks nodes
    kubectl create clusterrolebinding sees-nodes --clusterrole sees-nodes --user eve
    run -0 matrix --as eve -n other
    matches 'nodes +✔ .*'
    run -0 matrix eve -A
    matches 'nodes +✔ .*'
}

@test "groups: those that are said, and those that everybody has" {
    kubectl create rolebinding devs -n other --clusterrole view --group devs
    kubectl create rolebinding accounts -n other --clusterrole sees-nodes --group system:serviceaccounts:app-team-1
    run -0 matrix carol -n other
    lacks pods
    run -0 matrix carol --group devs -n other
    matches 'pods +✔ .*'
    run -0 matrix group/devs -n other
    matches 'pods +✔ .*'
    run -0 matrix system:serviceaccount:app-team-1:wordpress -n other
    matches 'pods +✔ .*'
    run -0 matrix carol --group system:masters -n other
    matches 'secrets( +✔)+'
}

@test "wide: whole words, and verbs that are not of every day" {
    kubectl create clusterrole odd --verb=get,bind,escalate --resource=clusterroles.rbac.authorization.k8s.io
    kubectl create clusterrolebinding odd --clusterrole odd --user odd
    golden matrix/wide.txt matrix odd -A -o wide
    run -0 matrix odd -A
    lacks BIND
}

@test "as a document" {
    golden matrix/jane.json matrix jane -n app-team-1 -o json
    matrix jane -n app-team-1 -o yaml | python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' >"$SCRATCH/from-yaml"
    diff <(jq -S . "$SCRATCH/from-yaml") <(jq -S . "$BATS_TEST_DIRNAME/golden/matrix/jane.json")
}

@test "--all: every resource of the server, in 80 columns" {
    LC_ALL=C matrix jane -n app-team-1 --all >"$SCRATCH/all"
    kubectl api-resources -o name | sed 's/\.$//' | sort >"$SCRATCH/known"
    awk 'NR > 1 {print $1}' "$SCRATCH/all" | sort | diff "$SCRATCH/known" -
    run -0 awk 'length($0) > 80' "$SCRATCH/all"
    says ''
}

@test "--subresources" {
    run -0 matrix --as jane -n app-team-1 --subresources
    matches 'wordpressinstances.wordpress.example.org/status( +✔)+'
    run -0 matrix --subresources
    matches 'pods/status( +✔)+'
}

@test "a role that is bound and does not exist is told" {
    kubectl create rolebinding ghost -n other --role ghost --user mary
    run -0 --separate-stderr matrix mary -n other
    [[ $stderr == 'This may not be all: role.rbac.authorization.k8s.io "ghost" not found'* ]]
    run -0 --separate-stderr matrix mary -n other -o json
    [ "$(jq -c '[.incomplete, .message]' <<<"$output")" = '[true,"role.rbac.authorization.k8s.io \"ghost\" not found"]' ]
}

@test "without rights to look at others all that are missing are told" {
    run -1 matrix bob -n app-team-1 --as jane
    for kind in 'clusterroles.rbac.authorization.k8s.io at the cluster scope' 'clusterrolebindings.rbac.authorization.k8s.io at the cluster scope' \
        'roles.rbac.authorization.k8s.io in the namespace "app-team-1"' 'rolebindings.rbac.authorization.k8s.io in the namespace "app-team-1"'; do
        mentions "list $kind"
    done
}

@test "a namespace that is not there is warned about, and shown all the same" {
    run -0 --separate-stderr matrix -n nowhere
    mentions configmaps
    [ "${stderr_lines[0]}" = 'Warning: there is no namespace "nowhere"' ]
}

@test "what makes no sense" {
    run -2 matrix one two
    run -2 matrix --group devs
    run -2 matrix -o dot
    run -2 matrix serviceaccount/wordpress
}
