# SPDX-License-Identifier: Apache-2.0
# reeve why, on a server with the people of rights.bash. Every command it tells is run, and helps.

load rights.bash

setup_file() { start_rights; }

teardown_file() { stop_server; }

why() { "$REEVE" why "$@"; }

# heal ARGUMENT...: the answer of why is no; the command it tells ($told) is run; then it is a yes.
heal() {
    run -1 --separate-stderr why "$@"
    told=$(sed -n '/^This would make it a yes:$/{n;s/^  //p}' <<<"$output")
    run -0 bash -c "cd '$SCRATCH' && $told"
    run -0 why "$@"
}

# fixes COMMAND ARGUMENT...: and the command is this one.
fixes() {
    local expected=$1 told
    shift
    heal "$@"
    [ "$told" = "$expected" ] || { printf 'expected:\n%s\ngot:\n%s\n' "$expected" "$told" >&2 && return 1; }
}

@test "yes: from the binding to the package" {
    golden why/yes.txt why ann use widgets -n shop
    golden why/yes-verbose.txt why ann use widgets -n shop -v
    LOCALE=C golden why/yes-ascii.txt why ann use widgets -n shop
    golden why/yes-group.txt why carl use wd/web -n shop --group devs --group others
    golden why/yes-account.txt why sa/ci/robot use wd -n shop
    golden why/yes-account.txt why system:serviceaccount:ci:robot use wd -n shop
    golden why/yes-role.txt why user/wanda use wd/web -n shop
}

@test "on a narrow terminal lines go on below, but for the command" {
    golden why/yes-narrow.txt terminal 50 why sa/ci/robot use widgets -n shop
    EXIT=1 golden why/no-narrow.txt terminal 50 why bob use widgets -n shop
}

@test "yes: masters need no binding" {
    golden why/yes-masters.txt why carl delete nodes --group system:masters
}

@test "no: what comes near" {
    EXIT=1 golden why/no-elsewhere.txt why bob use widgets -n shop
    EXIT=1 golden why/no-name.txt why wanda use widgets/db -n shop
    EXIT=1 golden why/no-verb.txt why vic use widgets -n shop
    EXIT=1 golden why/no-part.txt why ann get widgets --subresource=status -n shop
    EXIT=1 golden why/no-path.txt why bob get /nowhere
}

@test "as a document" {
    golden why/yes.json why ann use widgets -n shop -o json
    EXIT=1 golden why/no.json why bob use widgets -n shop -o json
    EXIT=1 golden why/no.yaml why bob use widgets -n shop -o yaml
}

@test "quiet: the exit code alone" {
    run -0 why ann use widgets -n shop -q
    says ''
    run -1 why bob use widgets -n shop -q
    says ''
}

@test "the command binds the role that fits, or makes one" {
    fixes 'kubectl create rolebinding db-user-widget-users --clusterrole=widget-users --user=db-user --namespace=shop' \
        db-user use widgets -n shop
    fixes 'kubectl create clusterrolebinding wide-widget-viewers --clusterrole=widget-viewers --user=wide' \
        wide get widgets -A
    fixes 'kubectl create rolebinding web-widget-users --clusterrole=widget-users --serviceaccount=shop:web --namespace=shop' \
        sa/shop/web use widgets -n shop
    fixes 'kubectl create rolebinding ops-widget-viewers --clusterrole=widget-viewers --group=ops --namespace=shop' \
        group/ops list widgets -n shop
    fixes 'kubectl create role carl-delete-widgets --verb=delete --resource=widgets.acme.example.com --resource-name=web --namespace=shop && kubectl create rolebinding carl-delete-widgets --role=carl-delete-widgets --user=carl --namespace=shop' \
        carl delete widgets/web -n shop
    fixes 'kubectl create role carl-update-widgets --verb=update --resource=widgets.acme.example.com/status --namespace=shop && kubectl create rolebinding carl-update-widgets --role=carl-update-widgets --user=carl --namespace=shop' \
        carl update widgets --subresource=status -n shop
    fixes 'kubectl create clusterrole carl-get-nowhere --verb=get --non-resource-url=/nowhere && kubectl create clusterrolebinding carl-get-nowhere --clusterrole=carl-get-nowhere --user=carl' \
        carl get /nowhere
}

@test "the command works for what kubectl has no flags for, and for names that a shell would read" {
    for question in "carl use things.nowhere.example.com -n shop" "carl frobnicate widgets -n shop" "carl impersonate users/ann" \
        "carl * widgets -n ops" "carl create /post" "carl approve signers.certificates.k8s.io/example.com%2Fx"; do
        read -ra words <<<"$question"
        heal "${words[@]}"
    done
    # shellcheck disable=SC2016 # that is the point
    for user in "o'hara" 'a b' '$(touch x)' 'http://issuer/#7' '-n' 'ä'; do
        heal "user/$user" use widgets -n shop
        [ "$(kubectl auth can-i use widgets -n shop --as "$user")" = yes ]
    done
    [ ! -e "$SCRATCH/x" ]
    kubectl get clusterrole carl-approve-signers carl-impersonate-users # of the cluster, though nothing serves them
}

@test "the server agrees: kubectl auth can-i gives the same answers" {
    local n=0
    for user in ann bob wanda nobody system:serviceaccount:ci:robot system:kube-scheduler; do
        for request in 'use widgets/web -n shop' 'get widgets -n ops' 'list widgets -A' 'get pods -n shop' \
            'create selfsubjectaccessreviews.authorization.k8s.io -A' 'get /healthz' 'get /nowhere' \
            'get widgets --subresource=status -n shop' 'impersonate users/ann -A'; do
            # shellcheck disable=SC2086 # words
            expected=$(kubectl auth can-i $request --as "$user" 2>/dev/null || true)
            # shellcheck disable=SC2086
            run why "$user" $request -q
            case $status in 0) got=yes ;; 1) got=no ;; *) got=$output ;; esac
            [ "$got" = "${expected%% *}" ] || { echo "$user $request: $got, and the server says $expected" >&2 && return 1; }
            n=$((n + 1))
        done
    done
    [ $n -eq 54 ]
}

@test "whoever is known has a group that strangers have not" {
    local what=selfsubjectaccessreviews.authorization.k8s.io
    run -0 why group/devs create $what -A
    run -1 why group/system:unauthenticated create $what -A
    run -1 why system:anonymous create $what -A
    run -1 --separate-stderr why group/system:authenticated delete nodes -o json
    [ "$(jq -c .request.groups <<<"$output")" = '["system:authenticated"]' ]
}

@test "who may not read roles asks about himself" {
    golden why/own-yes.txt why wanda use widgets/web -n shop --as wanda
    grep -q 'Note: you may not read roles and bindings; this is what the server says of yourself.' "$SCRATCH/talk"
    EXIT=1 golden why/own-no.txt why wanda get widgets/web -n shop --as wanda
    run -0 --separate-stderr why wanda get /healthz --as wanda
}

@test "about others, he is told which rights are missing" {
    run -3 --separate-stderr why ann use widgets -n shop --as wanda
    [ -z "$output" ]
    grep -qF 'list clusterrolebindings.rbac.authorization.k8s.io at the cluster scope' <<<"$stderr"
    grep -qF 'list rolebindings.rbac.authorization.k8s.io in the namespace "shop"' <<<"$stderr"
}

@test "who may read one namespace only gets an answer for it" {
    kubectl create clusterrole some-roles --verb=list --resource=clusterroles,clusterrolebindings
    kubectl create clusterrolebinding some-roles --clusterrole=some-roles --user=auditor
    kubectl create role roles -n shop --verb=list --resource=roles,rolebindings
    kubectl create rolebinding roles -n shop --role=roles --user=auditor
    run -1 --separate-stderr why bob use widgets -n shop --as auditor
    mentions 'ClusterRole ghost, which does not exist'
    lacks 'another namespace'
    [ "$stderr" = 'Note: you may not read the bindings of other namespaces; near misses there are not told.' ]
}

@test "a namespace that is not there is warned about, and asked about all the same" {
    run -0 --separate-stderr why ann use widgets -n nowhere
    [ "$stderr" = 'Warning: there is no namespace "nowhere"' ]
    run -0 --separate-stderr why ann use widgets -n shop
    [ -z "$stderr" ]
    run -0 --separate-stderr why ann get /healthz -n nowhere
    [ -z "$stderr" ]
}

@test "a command line that makes no sense" {
    run -2 why ann use
    run -2 why ann use widgets shop
    run -2 why sa/robot use widgets
    mentions '"sa/robot": say sa/NAMESPACE/NAME'
    run -2 why user/ use widgets
    run -2 why $'\xff' use widgets
    run -3 why ann use widgets --kubeconfig "$SCRATCH/none"
}

@test "a long chain of aggregated roles is drawn from its beginning, with its end" {
    chain=$(for i in $(seq -w 1 40); do
        printf '%s\n' --- '{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole,' \
            " metadata: {name: chain-$i, labels: {example.com/chain: \"$i\"}}," \
            " aggregationRule: {clusterRoleSelectors: [{matchLabels: {example.com/chain: \"$(printf %02d $((10#$i + 1)))\"}}]}}"
    done)
    kubectl apply -f - <<YAML
$chain
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: chain-end, labels: {example.com/chain: "41"}}
rules: [{apiGroups: [acme.example.com], resources: [widgets], verbs: [wind]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: chain}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: chain-01}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: zoe}]
YAML
    eventually kubectl auth can-i wind widgets -n shop --as zoe
    golden why/yes-long-chain.txt why zoe wind widgets -n shop
    LOCALE=C golden why/yes-long-chain-ascii.txt why zoe wind widgets -n shop
}
