# SPDX-License-Identifier: Apache-2.0
# What the README shows, pasted: each line behind a dollar is run, and what follows must come out. Only the port is another one,
# so that the machine may have a server of its own.

load server.bash

setup_file() {
    export SCRATCH HOME PORT
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reeve-e2e.XXXXXX")
    HOME=$SCRATCH
    unset XDG_DATA_HOME KUBECONFIG
    "$REEVE" up --listen 127.0.0.1:0 >"$SCRATCH/out" 2>"$SCRATCH/log" 3>&- &
    echo $! >"$SCRATCH/pid"
    eventually test -s "$HOME/.local/share/reeve/admin.kubeconfig"
    PORT=$(sed -n 's|.*server: *"*https://127.0.0.1:\([0-9]*\).*|\1|p' "$HOME/.local/share/reeve/admin.kubeconfig")
}

teardown_file() { stop_server; }

@test "the minute of the README" {
    cd "$BATS_TEST_DIRNAME/../.."
    # One shell for all of it; a mark behind each command parts what they print.
    sed -n '/^## One minute/,/^## Without a server/s/^    //p' README.md | sed -n '/^\$ /,$p' | sed "s/127.0.0.1:6443/127.0.0.1:$PORT/g" >"$SCRATCH/session"
    sed -i "s|build/reeve|$REEVE|" "$SCRATCH/session"
    grep -c '^\$ ' "$SCRATCH/session"
    sed -n 's/^\$ //p' "$SCRATCH/session" | while IFS= read -r line; do printf 'echo %q\n%s\n' "\$ $line" "$line"; done >"$SCRATCH/commands"
    run -0 bash -c '. "$1" 2>&1' readme "$SCRATCH/commands"
    # shellcheck disable=SC2154
    diff -u "$SCRATCH/session" <(printf '%s\n' "$output" | sed 's/  *$//')
}
