# SPDX-License-Identifier: Apache-2.0
# Shared by the suites of commands: what they print is compared byte by byte with files of golden/.
#
#   REEVE_GOLDEN=write    writes these files anew instead; look at what git says of it.

load packages.bash

# terminal COLUMNS ARGUMENT...: what reeve shows on a terminal of that width, as a person sees it, without colours.
terminal() { NO_COLOR=1 python3 -B "$BATS_TEST_DIRNAME/terminal.py" --columns "$1" -- "$REEVE" "${@:2}"; }

# golden FILE COMMAND...: it succeeds (or exits with $EXIT) and its standard output is that file; its talk is in $SCRATCH/talk.
golden() {
    local want=$BATS_TEST_DIRNAME/golden/$1 got=$SCRATCH/got code=0
    shift
    LC_ALL=${LOCALE:-C.UTF-8} COLUMNS='' "$@" >"$got" 2>"$SCRATCH/talk" || code=$?
    [ "$code" -eq "${EXIT:-0}" ] || { echo "exit code $code:" && cat "$SCRATCH/talk"; } >&2
    [ "$code" -eq "${EXIT:-0}" ]
    if [ "${REEVE_GOLDEN-}" = write ]; then
        mkdir -p "$(dirname "$want")"
        cp "$got" "$want"
    fi
    diff -u "$want" "$got" >&2
}

# tour: what the tour installs: the provider for all, a namespace for jane, and her WordPress.
tour() {
    kubectl create -f "$ROOT/examples/tour/1-provider.yaml"
    kubectl create -f "$ROOT/examples/tour/3-team.yaml"
    kubectl label namespace app-team-1 e2e=packages
    installed clusterpackageinstall provider
    eventually kubectl auth can-i create packageinstalls -n app-team-1 --as jane
    kubectl create -f "$ROOT/examples/tour/4-wordpress.yaml" --as jane
    installed packageinstall wordpress -n app-team-1
}
