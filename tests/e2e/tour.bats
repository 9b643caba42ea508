# SPDX-License-Identifier: Apache-2.0
# The tour of examples/, whole: on nothing, on what it left, after it was killed in the middle, and while another one serves.

load server.bash

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

setup_file() {
    export SCRATCH HOME REEVE_DATA_DIR REEVE_LISTEN=127.0.0.1:0 LC_ALL=C.UTF-8
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reeve-e2e.XXXXXX")
    HOME=$SCRATCH REEVE_DATA_DIR=$SCRATCH/data
    unset KUBECONFIG XDG_DATA_HOME
}

teardown_file() {
    [ ! -s "$SCRATCH/pid" ] || stop_process "$(cat "$SCRATCH/pid")"
    ! grep -E 'ERROR: (Address|Leak|Thread)Sanitizer|runtime error:' "$REEVE_DATA_DIR.log"
    rm -rf "$SCRATCH"
}

tour() { "$ROOT/examples/tour.sh" "$@" 2>&1; }

# Ports, digests and where things are differ; all else is always the same.
masked() { sed -E -e "s|$SCRATCH/data|~/.local/share/reeve-tour|g" -e "s|$(dirname "$REEVE"):|~/reeve/build:|" \
    -e 's|sha256:[0-9a-f]+|sha256:…|g' -e 's|127\.0\.0\.1:[0-9]+|127.0.0.1:6443|g'; }

# golden FILE: the output of the last run is what that file has; REEVE_GOLDEN=write writes it, to be read by whoever changed it.
golden() {
    [ "${REEVE_GOLDEN-}" != write ] || masked <<<"$output" >"$BATS_TEST_DIRNAME/golden/$1"
    diff -u "$BATS_TEST_DIRNAME/golden/$1" <(masked <<<"$output")
}

terminal() { python3 -B "$BATS_TEST_DIRNAME/terminal.py" "$@"; }

# in_the_middle TEXT: begins a tour, and goes on when it has come to that.
in_the_middle() {
    "$ROOT/examples/tour.sh" >"$SCRATCH/out" 2>&1 3>&- &
    echo $! >"$SCRATCH/pid"
    eventually grep -q "$1" "$SCRATCH/out"
}

# nothing_runs: no server is left behind.
nothing_runs() { ! kubectl --kubeconfig "$REEVE_DATA_DIR/admin.kubeconfig" get --raw /readyz; }

@test "the tour is killed in the middle of an install, and nothing runs any more" {
    in_the_middle 'install example/provider-gcp'
    stop_process "$(cat "$SCRATCH/pid")"
    nothing_runs
}

@test "the next one goes through: everybody may do what he should, and nothing else" {
    run -0 tour --once
    mentions 'Go on'
    nothing_runs
    rm -rf "$REEVE_DATA_DIR"
}

@test "on nothing" {
    run -0 tour --once
    golden tour/first.txt
}

@test "on what it left: everything is unchanged, and no right is gained or lost" {
    run -0 tour --once
    golden tour/second.txt
}

@test "it serves until Ctrl-C, which is no error" {
    local end='Ctrl-C ends the control plane'
    run -0 terminal --when "$end" "kubectl get packageinstall wordpress -n app-team-1 -o name --kubeconfig $REEVE_DATA_DIR/admin.kubeconfig" \
        --when "$end" ^C -- "$ROOT/examples/tour.sh"
    nothing_runs
}

@test "Ctrl-C in the middle ends it, too" {
    run -130 terminal --when 'Two packages' ^C -- "$ROOT/examples/tour.sh"
    nothing_runs
}

@test "while one serves, another uses what is served" {
    in_the_middle 'Ctrl-C ends the control plane'
    run -0 tour
    mentions "One serves $REEVE_DATA_DIR already."
    run -0 kubectl --kubeconfig "$REEVE_DATA_DIR/admin.kubeconfig" get --raw /readyz
}

@test "the port of another is not taken: it is told how to have one's own" {
    local address
    address=$(sed -n 's|.*server: *"*https://\(127.0.0.1:[0-9]*\).*|\1|p' "$REEVE_DATA_DIR/admin.kubeconfig")
    REEVE_DATA_DIR=$SCRATCH/other REEVE_LISTEN=$address run -1 tour --once
    matches 'reeve up: port [0-9]+ is taken: .*'
    matches 'tour: with REEVE_LISTEN=127.0.0.1:0 it takes any port that is free'
}

@test "arguments that make no sense" {
    run -2 tour --twice
    mentions 'tour.sh [--once]'
}
