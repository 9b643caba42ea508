# SPDX-License-Identifier: Apache-2.0
# reeve plan: what it prints, byte for byte, and that the server then allows just that. The tests follow each other: first nothing is
# installed, then the provider, then WordPress, then packages that a test made up.
#
# The texts are in golden/plan; UPDATE=1 writes them anew, for somebody to read before they are committed.

load packages.bash

setup_file() {
    export REEVE_DATA_DIR PLANS LC_ALL=C.UTF-8
    start_packages
    REEVE_DATA_DIR=$SCRATCH/data
    PLANS=$SCRATCH/plans
    mkdir "$PLANS"
    kubectl create -f "$ROOT/examples/tour/3-team.yaml"
    eventually kubectl get clusterrole crossplane:ns:app-team-1:view
    "$ROOT/examples/package" wordpress 1.1 a "$SCRATCH/wordpress"
}

teardown_file() { stop_packages; }

setup() { cd "$SCRATCH" || return; }

plan() { "$REEVE" plan "$@"; }

# golden NAME ARGUMENT...: output, talk and exit code of reeve plan are those of the file. Digests depend on the zlib there is.
golden() {
    local file=$BATS_TEST_DIRNAME/golden/plan/$1.txt got=$PLANS/$1 code=0
    "$REEVE" plan "${@:2}" >"$got.out" 2>"$got.err" || code=$?
    {
        cat "$got.out"
        sed 's/^/stderr: /' "$got.err"
        echo "exit $code"
    } | sed -E -e 's/sha256:[0-9a-f]{64}/sha256:DIGEST/g' -e 's/after [0-9]+ ms/after N ms/' -e "s|$SCRATCH|SCRATCH|g" -e "s|${SERVER//./\\.}|SERVER|g" >"$got"
    [ -z "${UPDATE-}" ] || cp "$got" "$file"
    diff -u "$file" "$got"
}

# made_up_dir NAME SCOPE CRD...: as made_up, but a directory; says its path.
made_up_dir() {
    local folder=$SCRATCH/$1 crd
    mkdir -p "$folder/.registry"
    printf 'title: Made up\npermissionScope: %s\n%s\n' "$2" "${APP-}" >"$folder/.registry/app.yaml"
    for crd in "${@:3}"; do cp "$crd" "$folder/.registry/$(basename "$crd").crd.yaml"; done
    echo "$folder"
}

# What is asked about: all that packages bring, and what is precious. tests/server/exactness asks about everything.
ASKED='(configmaps|events|secrets|pods|pods/exec|nodes|namespaces|serviceaccounts.*|deployments\.apps|customresourcedefinitions\..*'
ASKED+='|.*\.example\.org|.*\.rbac\.authorization\.k8s\.io|.*install.*\.crossplane\.io)'

# planned gains|losses NAME WHO: of a plan, in the words of "allowed".
planned() { python3 -B "$ROOT/tests/packages/planned.py" "$1" "$3" "$ASKED" <"$PLANS/$2.json" | LC_ALL=C sort; }

# remember NAME WHO USER [GROUP...]: what the user may do before the plan of that name is carried out, without what it is to lose.
remember() {
    allowed "${@:3}" --only "$ASKED" | LC_ALL=C sort | LC_ALL=C comm -23 - <(planned losses "$1" "$2") >"$PLANS/$1-$2.before"
}

# is_as_planned NAME WHO USER [GROUP...]: what the user may do now is that, and what the plan says it is to gain.
is_as_planned() {
    allowed "${@:3}" --only "$ASKED" | LC_ALL=C sort >"$PLANS/$1-$2.allowed"
    planned gains "$1" "$2" | LC_ALL=C sort - "$PLANS/$1-$2.before" | diff -u - "$PLANS/$1-$2.allowed"
}

# ---- Without a server. ----

@test "a directory, offline" { golden offline-directory ./wordpress --offline --kubeconfig /nowhere; }

@test "an image, offline: the package says that it is for the cluster" { golden offline-cluster example/provider-gcp:1.0 --offline; }

@test "no server is an error, and not the end" {
    sed 's|server: .*|server: https://127.0.0.1:1|' "$KUBECONFIG" >"$SCRATCH/gone.kubeconfig"
    golden no-server wordpressinc/wordpress:1.0 --kubeconfig "$SCRATCH/gone.kubeconfig"
}

@test "an image that is nowhere" { golden no-image 127.0.0.1:1/acme/nothing:1.0 --offline; }

@test "what makes no sense on a command line" {
    run -2 plan
    run -2 plan one two
    run -2 plan wordpressinc/wordpress:1.0 --cluster -n app-team-1
    run -2 plan wordpressinc/wordpress:1.0 --tag a/b:1
    run -2 plan 'Not A Reference' --offline
    run -2 plan wordpressinc/wordpress:1.0 --offline --name 'Not_A_Name'
    run -2 plan wordpressinc/wordpress:1.0 -o name
    run -2 plan wordpressinc/wordpress:1.0 --offline --timeout 2562047h
}

# ---- Fresh. ----

@test "a package of the cluster: what reaches furthest comes first" {
    kubectl create clusterrolebinding ops --clusterrole=crossplane-env-edit --group=ops --serviceaccount=default:robot
    golden cluster-fresh example/provider-gcp:1.0 --name provider
}

@test "a package of a namespace that has no roles for people" {
    namespace bare
    golden namespace-bare wordpressinc/wordpress:1.0 -n bare
}

@test "what the plan says of the provider, its account may do, and nothing else" {
    plan example/provider-gcp:1.0 --name provider -o json >"$PLANS/provider.json" || [ $? = 1 ]
    remember provider controller "$(account crossplane-system provider)" system:serviceaccounts system:serviceaccounts:crossplane-system
    kubectl create -f "$ROOT/examples/tour/1-provider.yaml"
    installed cpi provider
    is_as_planned provider controller "$(account crossplane-system provider)" system:serviceaccounts system:serviceaccounts:crossplane-system
}

@test "installed: nothing changes" {
    golden cluster-same example/provider-gcp:1.0
    [ "$(plan example/provider-gcp:1.0 -o json | jq -r .outcome)" = NoChanges ]
}

@test "a package of a namespace" { golden namespace-fresh wordpressinc/wordpress:1.0 -n app-team-1; }

@test "the same in colours" {
    golden namespace-colors wordpressinc/wordpress:1.0 -n app-team-1 --color always
    NO_COLOR=1 golden namespace-fresh wordpressinc/wordpress:1.0 -n app-team-1
}

@test "for programs" {
    golden namespace-json wordpressinc/wordpress:1.0 -n app-team-1 -o json
    plan wordpressinc/wordpress:1.0 -n app-team-1 -o yaml >"$PLANS/yaml" || [ $? = 1 ]
    [ "$(python3 -c 'import json,sys,yaml; print(json.dumps(yaml.safe_load(sys.stdin), sort_keys=True))' <"$PLANS/yaml")" = \
        "$(python3 -c 'import json,sys; print(json.dumps(json.load(sys.stdin), sort_keys=True))' <"$PLANS/namespace-json.out")" ]
}

@test "rights that wait for the account, people elsewhere, and a name that would hide the next ones" {
    kubectl create clusterrole waiting --verb=get --resource=pods
    kubectl create rolebinding waiting -n app-team-1 --clusterrole=waiting --serviceaccount=app-team-1:wordpress
    kubectl create clusterrolebinding waiting --clusterrole=waiting --group=system:serviceaccounts:app-team-1
    kubectl create clusterrolebinding again --clusterrole=waiting --serviceaccount=app-team-1:wordpress # the same right: counted once
    kubectl create rolebinding elsewhere -n bare --clusterrole=crossplane:ns:app-team-1:admin --user=nomad
    kubectl create -f - <<'JSON'
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "hidden", "namespace": "app-team-1"},
 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "crossplane:ns:app-team-1:admin"},
 "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "a\u0000b\u202e\u001b[2K"}]}
JSON
    golden namespace-waiting wordpressinc/wordpress:1.0 -n app-team-1
    kubectl delete clusterrole,clusterrolebinding waiting
    kubectl delete clusterrolebinding again
    kubectl delete rolebinding waiting hidden -n app-team-1
    kubectl delete rolebinding elsewhere -n bare
}

@test "what the plan says of WordPress, its account and Jane may do, and nothing else" {
    plan wordpressinc/wordpress:1.0 -n app-team-1 -o json >"$PLANS/wordpress.json" || [ $? = 1 ]
    remember wordpress controller "$(account app-team-1 wordpress)" system:serviceaccounts system:serviceaccounts:app-team-1
    remember wordpress admins jane
    namespace_install app-team-1 wordpress wordpressinc/wordpress:1.0
    installed pi wordpress -n app-team-1
    is_as_planned wordpress controller "$(account app-team-1 wordpress)" system:serviceaccounts system:serviceaccounts:app-team-1
    is_as_planned wordpress admins jane
}

# ---- Changes. ----

@test "the same again: nothing changes, and the namespace of the environment counts" {
    golden namespace-same wordpressinc/wordpress:1.0 -n app-team-1
    REEVE_NAMESPACE=app-team-1 golden namespace-same wordpressinc/wordpress:1.0
}

@test "an upgrade, with and without the letters of all the world" {
    LC_ALL=C.UTF-8 golden upgrade wordpressinc/wordpress:1.1 -n app-team-1
    LC_ALL=C golden upgrade-c wordpressinc/wordpress:1.1 -n app-team-1
    [ -z "$(LC_ALL=C grep -P '[^\x00-\x7f]' "$PLANS/upgrade-c.out")" ]
}

@test "an upgrade from a directory, by the name it is going to have" {
    golden upgrade-directory ./wordpress -n app-team-1 --tag wordpressinc/wordpress:1.1
}

@test "a directory is packed to be compared with what others have installed, and else has no digest" {
    golden elsewhere-directory ./wordpress -n bare --tag wordpressinc/wordpress:1.1
    { plan ./wordpress -n bare --tag acme/another:1.1 -o json || true; } | jq -e '.package | .name == "another" and (has("digest") | not)'
}

# A reeve whose reeve-fetch takes note of each call: one for the directory, one for the image that is installed.
@test "a directory is read once, whatever it is compared with" {
    mkdir "$SCRATCH/once"
    cp "$REEVE" "$SCRATCH/once/reeve"
    printf '#!/bin/sh\necho call >>%q\nexec %q "$@"\n' "$SCRATCH/calls" "${REEVE%/*}/reeve-fetch" >"$SCRATCH/once/reeve-fetch"
    chmod +x "$SCRATCH/once/reeve-fetch"
    REEVE=$SCRATCH/once/reeve golden upgrade-directory ./wordpress -n app-team-1 --tag wordpressinc/wordpress:1.1
    [ "$(wc -l <"$SCRATCH/calls")" -eq 2 ]
}

@test "the administrator of a namespace may not see everything, and is told what" {
    golden upgrade-jane wordpressinc/wordpress:1.1 -n app-team-1 --as jane
}

@test "who may not even see the installs of a namespace is told the right to ask for" {
    golden forbidden wordpressinc/wordpress:1.1 -n bare --as jane
}

@test "kinds and rights that come and go, some of them everywhere" {
    thing_crd lamps.light.example.org Namespaced >lamps
    thing_crd candles.light.example.org Namespaced >candles
    thing_crd regions.earth.example.org Cluster >regions
    kubectl create -f regions
    made_up acme/light:1.0 Namespaced lamps candles
    APP=$'dependsOn:\n- crd: regions.earth.example.org/v1beta1\n- crd: suns.sky.example.org/v1' made_up acme/light:2.0 Namespaced lamps
    namespace_install app-team-1 light acme/light:1.0
    installed pi light -n app-team-1
    golden change-upgrade acme/light:2.0 -n app-team-1
    golden change-json acme/light:2.0 -n app-team-1 -o json
}

@test "what the plan of a change says is what changes" {
    plan acme/light:2.0 -n app-team-1 -o json >"$PLANS/light.json" || [ $? = 1 ]
    [ -n "$(planned losses light controller)" ]
    remember light controller "$(account app-team-1 light)"
    kubectl patch pi light -n app-team-1 --type merge -p '{"spec":{"package":"acme/light:2.0"}}'
    eventually holds '.status.version == "2.0"' pi light -n app-team-1
    installed pi light -n app-team-1
    may_none "$(account app-team-1 light)" candles.light.example.org app-team-1 get list update
    eventually is_gone crd candles.light.example.org
    is_as_planned light controller "$(account app-team-1 light)"
    golden change-downgrade acme/light:1.0 -n app-team-1
}

# ---- Refusals. ----

@test "for whom it is" {
    golden refused-scope-cluster wordpressinc/wordpress:1.0 --cluster
    golden refused-scope-namespace example/provider-gcp:1.0 -n app-team-1
}

@test "what is installed already by another" { golden refused-rival wordpressinc/wordpress:1.1 -n app-team-1 --name second; }

@test "the same version from another image" {
    made_up acme/light:2.0 Namespaced lamps candles
    golden refused-version acme/light:2.0 -n bare
}

@test "kinds of another package, and of nobody" {
    thing_crd wordpressinstances.wordpress.example.org Namespaced >taken
    made_up acme/thief:1.0 Cluster regions taken
    golden refused-crds acme/thief:1.0
    golden refused-directory "$(APP='version: "1.0"' made_up_dir thief Namespaced taken)" -n app-team-1
}

@test "a kind that is being deleted" {
    thing_crd ghosts.house.example.org Namespaced >ghosts
    kubectl create -f ghosts
    kubectl patch crd ghosts.house.example.org --type merge -p '{"metadata":{"finalizers":["example.org/wait"]}}'
    kubectl delete crd ghosts.house.example.org --wait=false
    made_up acme/ghosts:1.0 Namespaced ghosts
    golden refused-terminating acme/ghosts:1.0 -n bare
    kubectl patch crd ghosts.house.example.org --type merge -p '{"metadata":{"finalizers":null}}'
}

@test "names that somebody else has" {
    kubectl create serviceaccount light -n bare
    kubectl create clusterrole package:acme:light:3.0:system --verb=get --resource=pods
    made_up acme/light:3.0 Namespaced lamps
    golden refused-names acme/light:3.0 -n bare
}

@test "a package that is wrong, all that is wrong with it" {
    thing_crd 'pods.apps' Namespaced | sed 's/group: apps/group: ""/' >wrong
    golden refused-package "$(APP='version: "no version"' made_up_dir broken Somewhere wrong)" -n bare --tag acme/broken:1.0
}

@test "a stack, and what is none" {
    golden stack acme/light:3.0 --stack -n app-team-2
    golden refused-stack example/provider-gcp:1.0 --stack
}

# What is planned is what the controllers would do: they refuse it for the same reasons.
@test "the controllers refuse what the plan refuses" {
    cluster_install wordpress wordpressinc/wordpress:1.0
    namespace_install app-team-1 second wordpressinc/wordpress:1.1
    namespace_install bare light acme/light:3.0
    cluster_install thief acme/thief:1.0
    refused ScopeMismatch cpi wordpress
    refused AlreadyInstalled pi second -n app-team-1
    refused Conflict pi light -n bare
    refused CRDConflict cpi thief
    kubectl delete cpi wordpress thief
    kubectl delete pi second -n app-team-1
    kubectl delete pi light -n bare
}

# ---- What somebody changed by hand. ----

@test "rights that were added and taken away by hand show" {
    PORT=${SERVER##*:}
    stop_process "$(server_pid)"
    launch_server --no-controllers
    kubectl patch clusterrole package:wordpressinc:wordpress:1.0:system --type json \
        -p '[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["pods","pods/exec"],"verbs":["create","get"]}}]'
    kubectl patch clusterrole package:wordpressinc:wordpress:1.0:view --type json \
        -p '[{"op":"replace","path":"/rules/0/verbs","value":["get"]}]'
    kubectl set image deployment/wordpress-controller -n app-team-1 controller=evil/image:latest
    golden drift wordpressinc/wordpress:1.0 -n app-team-1
}
