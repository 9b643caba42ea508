# SPDX-License-Identifier: Apache-2.0
# What reeve install and uninstall show on a terminal, and how Ctrl-C ends them. Nobody works on installs here: the tests play the
# controller, so that every moment can be looked at.

load server.bash

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

# A server without controllers, whatever others run on.
setup_file() {
    export SCRATCH HOME KUBECONFIG LC_ALL=C.UTF-8
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reeve-e2e.XXXXXX")
    HOME=$SCRATCH KUBECONFIG=$SCRATCH/kubeconfig
    launch_server --no-controllers
    kubectl create namespace sea
}

with_kinds() {
    kubectl get crd packageinstalls.packages.crossplane.io >/dev/null 2>&1 || "$REEVE" manager --print-crds | kubectl create -f -
    eventually kubectl get packageinstalls -n sea
}

teardown_file() { stop_server; }

# golden FILE: the output of the last run is what that file has; REEVE_GOLDEN=write writes it, to be read by whoever changed it.
golden() {
    [ "${REEVE_GOLDEN-}" != write ] || printf '%s\n' "$output" >"$BATS_TEST_DIRNAME/golden/$1"
    diff -u "$BATS_TEST_DIRNAME/golden/$1" <(printf '%s\n' "$output")
}

terminal() { python3 -B "$BATS_TEST_DIRNAME/terminal.py" "$@"; }

# play: a command that gives an install a status, as JSON; %G stands for its generation.
play() {
    cat >"$SCRATCH/play" <<'SH'
name=$1 generation=$(kubectl get pi "$1" -n sea -o 'jsonpath={.metadata.generation}')
printf '{"status": %s}' "$2" | sed "s/%G/$generation/g" >"$0.status"
kubectl patch pi "$name" -n sea --subresource=status --type=merge --patch-file "$0.status"
SH
    echo "sh $SCRATCH/play"
}

# looked_at NAME: an install that a controller has looked at: whatever time a test takes, nobody misses one.
looked_at() {
    "$REEVE" install "acme/$1:1.0" -n sea -q
    $(play) "$1" '{"observedGeneration": %G, "conditions": []}'
}

# condition TYPE STATUS REASON MESSAGE
condition() {
    printf '{"type": "%s", "status": "%s", "reason": "%s", "message": "%s", "observedGeneration": %%G, "lastTransitionTime": "2026-01-01T00:00:00Z"}' "$@"
}

@test "a server that knows no such kinds: it is told how they get there" {
    run -1 "$REEVE" install acme/wordpress:1.0 -n sea
    says 'reeve install: this server knows no packageinstalls.packages.crossplane.io: "reeve up" has them; on another Kubernetes they come with
  reeve manager --print-crds | kubectl apply -f -
and somebody has to run "reeve manager" there'
    run -1 "$REEVE" uninstall wordpress -n sea
    mentions 'this server knows no packageinstalls.packages.crossplane.io'
}

@test "on a terminal each step is drawn as it comes" {
    with_kinds
    looked_at wordpress
    local act unpacked crds
    act=$(play)
    unpacked=$(condition Unpacked True Unpacked "sha256:0123456789abcdef, 40 CRDs")
    crds=$(condition Installed False WaitingForCRDs '12 of 40 CRDs are established')
    run -0 terminal --columns 70 \
        --when 'Deployment' "$act wordpress '{\"observedGeneration\": %G, \"conditions\": [$(condition Unpacked False Pulling 'pulling acme/wordpress:1.0')]}'" \
        --when 'pulling' "$act wordpress '{\"observedGeneration\": %G, \"crds\": {\"wanted\": 40, \"established\": 12}, \"conditions\": [$unpacked, $crds]}'" \
        --when '12/40' "$act wordpress '{\"crds\": {\"wanted\": 40, \"established\": 40}, \"conditions\": [$unpacked, $(condition Installed False WaitingForRights 'not yet')]}'" \
        --when '40/40' "$act wordpress '{\"conditions\": [$unpacked, $(condition Installed True Installed 'acme:wordpress 1.0'), $(condition Healthy False Unavailable 'no pod')]}'" \
        --when 'not available' "$act wordpress '{\"version\": \"1.0\", \"conditions\": [$unpacked, $(condition Installed True Installed 'acme:wordpress 1.0'), $(condition Healthy True Available ''), $(condition Synced True ReconcileSuccess ''), $(condition Ready True Available '')]}'" \
        -- "$REEVE" install acme/wordpress:1.0 -n sea --wait
    golden install/terminal.txt
}

@test "in a C locale and a narrow window, too" {
    export LC_ALL=C
    looked_at narrow
    local act
    act=$(play)
    run -130 terminal --columns 40 \
        --when 'Deployment' "$act narrow '{\"observedGeneration\": %G, \"conditions\": [$(condition Unpacked False PullFailed 'resolve registry.example.org: no such host'), $(condition Synced False PullFailed 'resolve registry.example.org: no such host')]}'" \
        --when 'tried again' ^C -- "$REEVE" install acme/narrow:1.0 -n sea --wait
    golden install/narrow.txt
}

@test "nobody works on it: that is said, and Ctrl-C says how to go on" {
    run -130 terminal --when 'nobody seems' ^C -- "$REEVE" install acme/idle:1.0 -n sea --wait
    golden install/idle.txt
    run -0 kubectl get packageinstall idle -n sea
}

@test "with -v its Events are told, each once and above the progress" {
    local uid event
    looked_at idle
    uid=$(kubectl get packageinstall idle -n sea -o 'jsonpath={.metadata.uid}')
    event='{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "idle.%s"}, "involvedObject": {"kind": "PackageInstall", "namespace": "sea", "name": "idle", "uid": "'$uid'"}, "reason": "Granted", "message": "%s", "type": "Normal"}'
    printf "$event" 1 'admins: get on blogs' | kubectl create -n sea -f -
    printf "$event" 2 'viewers: list on blogs' >"$SCRATCH/event"
    run -130 terminal --when 'admins' "kubectl create -n sea -f $SCRATCH/event; kubectl annotate pi idle -n sea a=b" --when 'viewers' ^C \
        -- "$REEVE" install acme/idle:1.0 -n sea --wait -v
    golden install/events.txt
}

@test "the server may go away and come back meanwhile" {
    cat >"$SCRATCH/restart" <<'SH'
bats_require_minimum_version() { :; }
. "$1/server.bash"
PORT=$(sed -n 's|.*server: *"*https://127.0.0.1:\([0-9]*\).*|\1|p' "$KUBECONFIG")
stop_process "$(server_pid)"
launch_server --no-controllers
SH
    looked_at patient
    run -1 terminal --when 'Deployment' "bash $SCRATCH/restart $BATS_TEST_DIRNAME" \
        --when 'Deployment' "$(play) patient '{\"conditions\": [$(condition Synced False CRDConflict 'CRD blogs.acme: exists already')]}'" \
        -- "$REEVE" install acme/patient:1.0 -n sea --wait
    golden install/restart.txt
}

@test "in time it must be ready" {
    kubectl delete packageinstall idle -n sea
    run -1 "$REEVE" install acme/idle:1.0 -n sea --wait --timeout 100ms
    says 'packageinstall.packages.crossplane.io/idle created
reeve install: PackageInstall sea/idle is not ready in time: nobody seems to work on it
It goes on by itself.
wait for it:   reeve install acme/idle:1.0 -n sea --wait
take it back:  reeve uninstall idle -n sea'
}

@test "somebody else takes it away" {
    run -1 terminal --when 'Deployment' 'kubectl delete pi idle -n sea' -- "$REEVE" install acme/idle:1.0 -n sea --wait
    [ "${lines[-1]}" = 'reeve install: PackageInstall sea/idle was deleted by somebody' ]
}

@test "an uninstall is drawn, too, and Ctrl-C ends only the waiting" {
    local act
    act=$(play)
    kubectl create -f - <<'YAML'
apiVersion: packages.crossplane.io/v1alpha1
kind: PackageInstall
metadata: {name: old, namespace: sea, finalizers: [packages.crossplane.io/uninstall]}
spec: {package: 'acme/old:1.0'}
YAML
    $act old "{\"conditions\": [$(condition Synced False Uninstalling 'deleting 3 blogs (3 in sea)')]}"
    run -130 terminal --columns 60 --when '3 blogs' ^C -- "$REEVE" uninstall old -n sea --delete-instances
    golden uninstall/interrupted.txt
    run -0 terminal --columns 60 \
        --when '3 blogs' "$act old '{\"conditions\": [$(condition Synced False Uninstalling 'taking back CRDs and roles')]}'" \
        --when 'taking back' "kubectl patch pi old -n sea --type=merge -p '{\"metadata\": {\"finalizers\": null}}'" \
        -- "$REEVE" uninstall old -n sea
    golden uninstall/terminal.txt
}

@test "nobody listens: standard error is closed" {
    run -1 bash -c '"$REEVE" install acme/idle:1.0 -n sea --wait --timeout 1s 2>&-'
    says 'packageinstall.packages.crossplane.io/idle created'
}
