# SPDX-License-Identifier: Apache-2.0
# reeve package: what authors see, byte for byte, and a package from its first line to an install by a server, through a registry.
#
# The texts are in golden/package; UPDATE=1 writes them anew, for somebody to read before they are committed.

load packages.bash

setup_file() {
    export REEVE_DATA_DIR REGISTRY LC_ALL=C.UTF-8
    start_packages
    REEVE_DATA_DIR=$SCRATCH/mine
    "$ROOT/examples/package" wordpress 1.1 a "$SCRATCH/wordpress"
    "$ROOT/examples/package" provider 1.0 b "$SCRATCH/provider"
    thing_crd things.made.example.org Namespaced >"$SCRATCH/things.yaml"
    thing_crd places.made.example.org Cluster >"$SCRATCH/places.yaml"
    start_registry
}

teardown_file() {
    stop_process "$(cat "$SCRATCH/registry.pid")"
    stop_packages
}

setup() { cd "$SCRATCH" || return; }

start_registry() {
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    REGISTRY=127.0.0.1:$port
    cat >"$SCRATCH/registry.yml" <<YAML
version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $SCRATCH/registry}}
http: {addr: "$REGISTRY", secret: x}
YAML
    docker-registry serve "$SCRATCH/registry.yml" >"$SCRATCH/registry.log" 2>&1 3>&- &
    echo $! >"$SCRATCH/registry.pid"
    until curl -so /dev/null "http://$REGISTRY/v2/"; do
        kill -0 "$(cat "$SCRATCH/registry.pid")" || { cat "$SCRATCH/registry.log" >&2; return 1; }
    done
}

package() { "$REEVE" package "$@"; }

# masked: without what depends on the machine and its zlib.
masked() {
    sed -E -e 's/sha256:[0-9a-f]{64}/sha256:DIGEST/g' -e 's/sha256:[0-9a-f]{12}$/sha256:DIGITS/g' -e "s|$SCRATCH|SCRATCH|g" -e "s|${REGISTRY//./\\.}|REGISTRY|g" \
        -e 's/^(Size +).*/\1SIZE/' -e 's/^(  "size": )[0-9]+/\1SIZE/' -e 's/(layers [0-9]+\/[0-9]+ )[0-9.]+ k?B/\1SIZE/'
}

# same NAME: standard input is the file.
same() {
    local file=$BATS_TEST_DIRNAME/golden/package/$1.txt
    masked >"$BATS_TEST_TMPDIR/got"
    [ -z "${UPDATE-}" ] || cp "$BATS_TEST_TMPDIR/got" "$file"
    diff -u "$file" "$BATS_TEST_TMPDIR/got"
}

# golden NAME VERB ARGUMENT...: output, talk and exit code are those of the file.
golden() {
    local code=0 talk=$BATS_TEST_TMPDIR/talk
    {
        package "${@:2}" 2>"$talk" || code=$?
        sed 's/^/stderr: /' "$talk"
        echo "exit $code"
    } | same "$1"
}

# contents DIR: all files of it, with their names.
contents() { (cd "$1" && find . -type f | LC_ALL=C sort | while read -r file; do printf '== %s\n' "$file" && cat "$file"; done); }

# refuses TEXT VERB ARGUMENT...: with exit code 1, and so.
refuses() {
    run -1 --separate-stderr package "${@:2}"
    [[ "$output$stderr" == *"$1"* ]] || { printf '%s\n%s\n' "$output" "$stderr" >&2; return 1; }
}

# ---- init ----

@test "init writes a package to begin with" {
    golden init init blog
    contents blog | same init-files
    golden init-xpkg init sql --format xpkg --image registry.example.org/sql:1
    contents sql | same init-xpkg-files
}

@test "what init writes passes, however it is asked for" {
    local n=0 flags
    for flags in '' '--scope Cluster' '--image a.example.org/b:1' '--format xpkg' '--format xpkg --image x/y' \
        '--crd things.yaml' '--crd things.yaml --crd places.yaml --scope Cluster' \
        '--crd things.yaml --crd places.yaml --format xpkg --scope Cluster' '--name my-blog-2'; do
        n=$((n + 1))
        package init "made-$n" $flags >/dev/null
        run -0 --separate-stderr package lint --strict "made-$n"
        [ -z "$output" ]
        package build "made-$n" -q -t "made/made-$n:1"
    done
    run -0 package inspect made/made-7:1
    [[ "$output" == *'Place'*'Cluster'*'Thing'*'Namespaced'* ]]
}

@test "init writes all or nothing, and over nothing" {
    package init twice >/dev/null
    local before
    before=$(contents twice)
    refuses 'twice is a package already: it has .registry' init twice
    refuses 'twice is a package already: it has .registry' init twice --format xpkg
    [ "$(contents twice)" = "$before" ]
    mkdir -p full/crds && echo mine >full/crds/x && echo mine >full/README
    refuses 'full/crds is there already, and stays as it is' init full --format xpkg
    [ "$(cd full && find . | LC_ALL=C sort | tr '\n' ' ')" = '. ./README ./crds ./crds/x ' ]
    package init full >/dev/null # which does not clash
    [ "$(ls -A full | tr '\n' ' ')" = '.registry README crds ' ]
    echo x >file
    refuses 'file: Not a directory' init file
    refuses 'No such file' init nowhere/at/all
}

@test "init takes no CRD that a package may not bring" {
    sed 's/made.example.org/apps.k8s.io/' things.yaml >protected.yaml
    refuses 'is a protected group' init refused --crd protected.yaml
    refuses 'CRD places.made.example.org is of cluster scope: say --scope Cluster' init refused --crd places.yaml
    refuses 'is there twice' init refused --crd things.yaml --crd things.yaml
    refuses 'document 1' init refused --crd "$ROOT/examples/fleet.yaml"
    refuses 'No such file' init refused --crd nowhere.yaml
    [ ! -e refused ]
    run -2 package init refused --format xpkg --scope Namespaced
    run -2 package init 7up
    [[ "$output" == *'say --name'* ]]
    run -2 package init refused --image 'NO IMAGE'
    [ ! -e refused ] && [ ! -e 7up ]
}

# ---- lint ----

# a package with one mistake of each kind
make_wrong() {
    rm -rf wrong && mkdir -p wrong/.registry/resources
    cat >wrong/.registry/app.yaml <<'YAML'
permissionScope: Everywhere
packageType: Thing
version: "1 0"
colour: blue
dependsOn:
- crd: pods.k8s.io
- crd: nonsense
permissions: [{verbs: ["*"]}]
YAML
    cat >wrong/.registry/install.yaml <<'YAML'
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      hostNetwork: true
      serviceAccountName: somebody
      colour: blue
      containers:
      - name: a
        image: b
        securityContext: {privileged: true}
      volumes:
      - name: root
        hostPath: {path: /}
YAML
    sed -e 's/type: integer/type: number-ish/' things.yaml >wrong/.registry/resources/things.crd.yaml
    cp places.yaml wrong/.registry/resources/places.crd.yaml
    cp places.yaml wrong/.registry/resources/again.crd.yaml
    echo 'rules: []' >wrong/.registry/rbac.yaml
}

@test "lint says everything at once, with the file it is in" {
    make_wrong
    golden lint-wrong lint wrong
    golden lint-wrong-json lint wrong -o json
    golden lint-wrong-inner lint wrong/.registry
}

@test "build refuses what lint rejects, and builds nothing" {
    make_wrong
    golden build-wrong build wrong -t made/refused:1
    refuses 'made/refused:1' inspect made/refused:1 --mirror docker.io=127.0.0.1:1
    # a Deployment that controllers refuse by default
    package init privileged >/dev/null
    sed -i 's/^    spec:$/    spec:\n      hostNetwork: true/' privileged/.registry/install.yaml
    run -1 package lint privileged
    mentions hostNetwork
    run -1 package build privileged -t made/privileged:1
    mentions hostNetwork
    run -0 package lint privileged --insecure-pass-full-deployment
    run -0 package build privileged -q -t made/privileged:1 --insecure-pass-full-deployment
    # warnings do not count
    mkdir -p plain/.registry && echo 'colour: blue' >plain/.registry/app.yaml
    run -0 package build plain -q -t made/plain:1
}

@test "the same is wrong with the image" {
    make_wrong
    python3 -B "$ROOT/tests/packages/image.py" pack wrong made/wrong:1 "$REEVE_DATA_DIR/packages/store"
    golden lint-wrong-image lint made/wrong:1
}

@test "warnings fail nobody who does not ask for it" {
    mkdir -p plain/.registry && echo 'colour: blue' >plain/.registry/app.yaml
    golden lint-warnings lint plain
    golden lint-strict lint plain --strict -q
}

@test "the examples are fine" {
    run -0 --separate-stderr package lint --strict wordpress
    [ -z "$output" ]
    run -0 --separate-stderr package lint --strict provider
    [ -z "$output" ]
}

@test "files of an xpkg are called as their author calls them" {
    package init parts --format xpkg --crd things.yaml >/dev/null
    sed -i 's/scope: Namespaced/scope: Nowhere/' parts/crds/things.yaml
    sed -i 's/kind: Provider/kind: Function/' parts/crossplane.yaml
    golden lint-xpkg lint parts
    printf 'a: [\n' >parts/crds/broken.yaml
    golden lint-xpkg-broken lint parts
}

@test "what is no package at all is said in words" {
    mkdir -p hostile/.registry && echo 'title: x' >hostile/.registry/app.yaml
    ln -s /etc/passwd hostile/.registry/out.crd.yaml
    refuses 'hostile/.registry/out.crd.yaml: is a link: a package has none' lint hostile
    refuses 'hostile: .registry/out.crd.yaml: is a link: a package has none' build hostile -t made/hostile:1
    refuses 'hostile: .registry/out.crd.yaml: is a link: a package has none' inspect hostile
    rm hostile/.registry/out.crd.yaml
    ln -s /dev hostile/.registry/devices
    refuses 'hostile/.registry/devices: is a link' lint hostile
    rm hostile/.registry/devices
    mkfifo hostile/.registry/pipe.crd.yaml
    refuses 'hostile/.registry/pipe.crd.yaml: is not a file: a package has nothing else' lint hostile
    rm hostile/.registry/pipe.crd.yaml
    truncate -s 17M hostile/.registry/large.crd.yaml
    refuses 'hostile/.registry/large.crd.yaml: it, or all files together, are larger than a package may be' lint hostile
    rm hostile/.registry/large.crd.yaml
    mkdir hostile/.registry/many
    (cd hostile/.registry/many && seq -f 'f%.0f' 20001 | xargs touch)
    refuses 'hostile: there are more than 20000 files' lint hostile
    rm -r hostile/.registry
    ln -s / hostile/.registry
    refuses '.registry: must be a directory, and no link' lint hostile
    refuses 'there is nothing to build a package from' lint "$(mktemp -d empty.XXXXXX)"
    refuses 'No such file or directory' lint ./nowhere
    run -2 package lint 'NO NAME'
    [[ "$output" == *'is neither a directory nor an image'* ]]
}

@test "control characters of others are shown, not sent" {
    mkdir -p colours/.registry
    printf 'title: "\\e[31mred"\npermissionScope: "\\e[2J"\n' >colours/.registry/app.yaml
    run -1 --separate-stderr package lint colours
    [[ "$output" != *$'\e'* ]]
    run -0 --separate-stderr package inspect colours
    [[ "$output" != *$'\e'* ]]
}

# ---- inspect ----

@test "inspect shows what a package is, and what it will be allowed" {
    golden inspect inspect wordpress
    golden inspect-json inspect wordpress -o json
    golden inspect-cluster inspect provider --tag example/provider-gcp:1.0
}

@test "directory, store and registry tell the same" {
    package build wordpress -q -t "$REGISTRY/acme/wordpress:1.1"
    package inspect wordpress -t "$REGISTRY/acme/wordpress:1.1" -o json | jq 'del(.package, .from)' >from-directory
    package inspect "$REGISTRY/acme/wordpress:1.1" -o json | jq 'del(.package, .from)' | diff from-directory -
    package push -q "$REGISTRY/acme/wordpress:1.1"
    package inspect "$REGISTRY/acme/wordpress:1.1" --store "$SCRATCH/none" -o json >from-registry
    [ "$(jq -r .from from-registry)" = registry ]
    jq 'del(.package, .from)' from-registry | diff from-directory -
    diff <(package inspect wordpress -o json | jq -S .) <(package inspect wordpress -o yaml | python3 -c '
import json, sys, yaml
json.dump(yaml.safe_load(sys.stdin), sys.stdout)' | jq -S .)
}

# ---- build, push, pull ----

@test "each step is told on standard error, the digest alone on standard output" {
    package init moved >/dev/null
    golden build build moved -t "$REGISTRY/acme/moved:1"
    golden push push "$REGISTRY/acme/moved:1"
    golden push-again push "$REGISTRY/acme/moved:1"
    golden pull pull "$REGISTRY/acme/moved:1" --store pulled
    run -0 package pull "$REGISTRY/acme/moved:1" --store pulled -q
    [ "${#lines[@]}" -eq 1 ]
    golden push-nothing push "$REGISTRY/acme/nothing:1"
    golden push-no-store push acme/blog:1.0 --store "$SCRATCH/none"
    golden pull-nothing pull "$REGISTRY/acme/nothing:1"
}

@test "what was interrupted is finished by doing it again" {
    package init half >/dev/null
    package build half -q -t "$REGISTRY/acme/half:1"
    package push -q "$REGISTRY/acme/half:1"
    python3 -B "$BATS_TEST_DIRNAME/half_registry.py" "$REGISTRY" >half.address 3>&- &
    local stalled=$! pulling
    until [ -s half.address ]; do kill -0 $stalled; done
    "$REEVE" package pull "$REGISTRY/acme/half:1" --mirror "$REGISTRY=$(cat half.address)" --store halved >/dev/null 2>&1 3>&- &
    pulling=$!
    until compgen -G 'halved/.new-*' >/dev/null; do kill -0 $pulling; done
    kill -KILL $pulling
    wait $pulling || [ $? -eq 137 ]
    kill $stalled
    wait $stalled || true
    run -1 --separate-stderr package inspect acme/half:1 --store halved --mirror docker.io=127.0.0.1:1
    package pull "$REGISTRY/acme/half:1" -q --store halved
    [ -z "$(compgen -G 'halved/.new-*')" ]
    package inspect "$REGISTRY/acme/half:1" --store halved -o json | jq -e '.from == "store" and .findings == []'
}

@test "a store whose names cannot be read is an error, and nobody else is asked for the image" {
    package init kept >/dev/null
    package build kept -q -t acme/kept:1 --store damaged
    cp damaged/index.json names
    echo '{' >damaged/index.json
    run -1 --separate-stderr package inspect acme/kept:1 --store damaged --mirror docker.io=127.0.0.1:1
    [[ $stderr == *'the local store is broken: '*index.json* && $stderr != *127.0.0.1* ]]
    run -3 --separate-stderr "$REEVE" plan acme/kept:1 --offline --store damaged --mirror docker.io=127.0.0.1:1
    [[ $stderr == *'the local store is broken: '*index.json* && $stderr != *127.0.0.1* ]]
    run -1 package build kept -q -t acme/other:1 --store damaged
    [ "$(cat damaged/index.json)" = '{' ]
    cp names damaged/index.json
    package inspect acme/kept:1 --store damaged -o json | jq -e '.from == "store"'
}

@test "a word that is no directory is said to be none" {
    run -1 --separate-stderr package lint wordpres --store none --mirror docker.io=127.0.0.1:1
    [[ $stderr == *'There is no directory wordpres. The local store is none;'* ]]
    run -1 --separate-stderr package lint acme/wordpres:1 --store none --mirror docker.io=127.0.0.1:1
    [[ $stderr != *'no directory'* ]]
}

# ---- From the first line to an install. ----

@test "init, lint, build, push, pull, inspect, install" {
    local name=$REGISTRY/acme/tool:1
    package init tool --crd things.yaml --image registry.example.org/tool:1 >/dev/null
    package lint --strict -q tool
    package build -q tool -t "$name"
    package push -q "$name"
    [ "$(package pull -q "$name" --store elsewhere)" = "$(package build -q tool -t "$name")" ]
    package inspect "$name" --store elsewhere | same round-trip
    namespace tools
    "$REEVE" install "$name" -n tools --wait --timeout 60s
    kubectl auth can-i create things.made.example.org -n tools --as system:serviceaccount:tools:tool
    run -1 kubectl auth can-i create pods -n tools --as system:serviceaccount:tools:tool
}
