# SPDX-License-Identifier: Apache-2.0
# reeve who-can, on a server with the people of rights.bash.

load rights.bash

setup_file() { start_rights; }

teardown_file() { stop_server; }

who_can() { "$REEVE" who-can "$@"; }

# system:masters have one row, and this note says why.
MASTERS='Note: members of the group system:masters may do everything; no role or binding limits them.'

@test "in a namespace: by its bindings, and by those of the cluster" {
    golden who-can/namespace.txt who_can use widgets -n shop
    golden who-can/wide.txt who_can use widgets -n shop -o wide
}

@test "resources are named as kubectl takes them" {
    for type in wd widget Widgets widgets.acme.example.com wd.acme widgets.v1.acme.example.com; do
        golden who-can/namespace.txt who_can use "$type" -n shop
        [ "$(cat "$SCRATCH/talk")" = "$MASTERS" ]
    done
}

@test "one object: who may use it by name, too" {
    golden who-can/named.txt who_can use widgets/web -n shop
}

@test "in any namespace" {
    golden who-can/everywhere.txt who_can use widgets -A
}

@test "without -n it is the namespace of the context" {
    cp "$KUBECONFIG" "$SCRATCH/shop"
    kubectl --kubeconfig "$SCRATCH/shop" config set-context --current --namespace=shop
    golden who-can/namespace.txt who_can use widgets --kubeconfig "$SCRATCH/shop"
}

@test "a table says which namespace it is about, if nobody named one" {
    run -0 --separate-stderr who_can use widgets --kubeconfig "$SCRATCH/shop"
    [ "$stderr" = 'Note: this is about the namespace "shop"; -A asks about all of them.
'"$MASTERS" ]
    for words in 'use widgets -n shop' 'use widgets -A' 'use widgets -q' 'use widgets -o json' 'use crd' 'get namespaces/shop' 'get /healthz'; do
        # shellcheck disable=SC2086 # words
        run -0 --separate-stderr who_can $words
        [[ -z $stderr || $stderr == "$MASTERS" ]]
    done
}

@test "what is in no namespace is granted by the kinds of the cluster alone, whatever -n says" {
    golden who-can/cluster.txt who_can use customresourcedefinitions -n shop
    grep -q 'Warning: customresourcedefinitions are not in namespaces, so -n does not count' "$SCRATCH/talk"
    golden who-can/cluster.txt who_can use crd -A
}

@test "a path" {
    run -0 who_can get /healthz -o name
    matches group/system:masters
    matches group/system:authenticated
}

@test "a part of a resource" {
    run -0 --separate-stderr who_can use widgets --subresource=status -n shop -o name
    says group/system:masters
    [ -z "$stderr" ]
    run -0 --separate-stderr who_can use widgets/status -n shop -o name
    [ "$stderr" = 'Note: this asks about the widget named "status"; use --subresource=status for the subresource' ]
    run -0 --separate-stderr who_can use widgets --subresource=lgo -n shop -o name
    [ "$stderr" = 'Warning: the server says of no subresource "lgo" of widgets' ]
}

@test "names, as reeve why takes them" {
    golden who-can/names.txt who_can use widgets -n shop -o name
    while read -r name; do
        run -0 "$REEVE" why "$name" use widgets -n shop
    done <"$BATS_TEST_DIRNAME/golden/who-can/names.txt"
}

@test "as a document" {
    golden who-can/namespace.json who_can use widgets -n shop -o json
    who_can use widgets -n shop -o yaml | python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' >"$SCRATCH/from-yaml"
    diff <(jq -S . "$SCRATCH/from-yaml") <(jq -S . "$BATS_TEST_DIRNAME/golden/who-can/namespace.json")
}

@test "everybody that is listed can, and nobody else of those who are known" {
    for user in ann bob vic wanda system:serviceaccount:ci:robot; do
        name=user/$user
        [ "$user" != system:serviceaccount:ci:robot ] || name=serviceaccount/ci/robot
        listed=no
        ! grep -qxF "$name" "$BATS_TEST_DIRNAME/golden/who-can/names.txt" || listed=yes
        run kubectl auth can-i use widgets -n shop --as "$user"
        [ "${output%% *}" = "$listed" ] # and perhaps why not
    done
}

@test "what the server does not know is warned about, and asked for" {
    run -0 --separate-stderr who_can usee widgetz -n shop -o name
    says group/system:masters
    [ "$stderr" = 'Warning: verb "usee" is not a known verb, did you mean "use"?
Warning: the server has no resource "widgetz", did you mean "widgets"?' ]
    run -0 --separate-stderr who_can get xylophones.nowhere.example.com -n shop -o name
    [ "$stderr" = 'Warning: the server has no resource "xylophones" in the group "nowhere.example.com"' ]
    run -0 --separate-stderr who_can get secretz.nowhere.example.com -n shop -o name
    [ "$stderr" = 'Warning: the server has no resource "secretz" in the group "nowhere.example.com"' ]
    run -0 --separate-stderr who_can get widgetz.acme.example.com -n shop -o name
    [[ $stderr == *'did you mean "widgets.acme.example.com"?' ]]
    run -0 --separate-stderr who_can get deployments.nowhere -n shop -o name
    [[ $stderr == *'did you mean "deployments.apps"?' ]]
}

@test "on a narrow terminal the last columns stand below, and nothing is cut" {
    golden who-can/narrow.txt terminal 60 who-can use widgets -n shop
}

@test "a command line that makes no sense" {
    run -2 who_can use
    run -2 who_can use widgets shop
    run -2 who_can use widgets/ -n shop
    mentions '"widgets/" is not TYPE, TYPE/NAME or a path that begins with /'
    run -2 who_can get /healthz --subresource=x
    run -2 who_can use widgets -o tree
}

@test "whoever may not read roles is told which rights are missing" {
    run -1 --separate-stderr who_can use widgets -n shop --as wanda
    [ -z "$output" ]
    for right in 'list clusterroles.rbac.authorization.k8s.io at the cluster scope' \
        'list clusterrolebindings.rbac.authorization.k8s.io at the cluster scope' \
        'list roles.rbac.authorization.k8s.io in the namespace "shop"' \
        'list rolebindings.rbac.authorization.k8s.io in the namespace "shop"'; do
        grep -qF "  $right" <<<"$stderr"
    done
}

@test "colours are for those who want them, control characters for nobody" {
    run -0 who_can use widgets -n shop --color=always
    mentions $'\e[33mcluster\e[0m'
    kubectl create rolebinding odd -n ops --clusterrole=widget-users --user=$'e\e[31mvil'
    run -0 who_can use widgets -n ops
    mentions 'e\x1b[31mvil'
    lacks $'\e'
    kubectl delete rolebinding odd -n ops
}

@test "a namespace that is not there is warned about, and asked about all the same" {
    run -0 --separate-stderr who_can use widgets -n nowhere
    mentions ann
    [ "$stderr" = 'Warning: there is no namespace "nowhere"
'"$MASTERS" ]
}
