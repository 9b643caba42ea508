#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tour.sh [--once]: a control plane on this machine, two packages on it, and who may do what then; each command is shown before it runs.
# The control plane serves until Ctrl-C; with --once it ends with the tour. Run it again at any time: what is done already stays so.
#
#   REEVE             the program: build/reeve if that was built, or reeve of the PATH
#   REEVE_DATA_DIR    where everything is kept, and a log beside it: $XDG_DATA_HOME/reeve-tour, or ~/.local/share/reeve-tour
#   REEVE_LISTEN      127.0.0.1:6443; port 0 is any that is free
set -eu

cd "$(dirname "$0")/.."
once=
case $#:${1-} in
0:) ;;
1:--once) once=yes ;;
*) sed -n '3,8s/^# \{0,1\}//p' examples/tour.sh >&2 && exit 2 ;;
esac
[ -n "${REEVE-}" ] || { REEVE=build/reeve && [ -x $REEVE ]; } || REEVE=$(command -v reeve) ||
    { echo 'tour: there is no reeve: "make build" makes build/reeve' >&2 && exit 1; }
command -v kubectl >/dev/null || { echo 'tour: kubectl is missing: "make setup" installs it' >&2 && exit 1; }
export REEVE_DATA_DIR="${REEVE_DATA_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/reeve-tour}"
export KUBECONFIG="$REEVE_DATA_DIR/admin.kubeconfig"
PATH=$(cd "$(dirname "$REEVE")" && pwd):$PATH
listen=${REEVE_LISTEN:-127.0.0.1:6443}
unset REEVE_KUBECONFIG REEVE_LISTEN

# ---- Telling. ----

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ] && [ "${TERM-dumb}" != dumb ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[m')
fi

title() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
# quote PATH: as one types it.
quote() { case $1 in *[!a-zA-Z0-9_./:@%+=,~-]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;; *) printf %s "$1" ;; esac; }
show() { printf '%s$ %s%s\n' "$bold" "$1" "$plain"; }
# run COMMAND: shown, and must work.
run() { show "$1" && eval "$1"; }
# ask COMMAND: shown, and may answer no.
ask() { show "$1" && { eval "$1" || [ $? -eq 1 ]; }; }
# refused COMMAND: shown, and must not work: the server is in charge, not this script.
refused() {
    show "$1"
    ! eval "$1" || { echo 'tour: this should have been refused' >&2 && exit 1; }
}

# ---- The control plane. ----

server=
stop() {
    [ -n "$server" ] || return 0
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# is_up: somebody serves these data already.
is_up() { [ -s "$KUBECONFIG" ] && kubectl get --raw /readyz --request-timeout=5s >/dev/null 2>&1; }

start() {
    log=$REEVE_DATA_DIR.log
    mkdir -p "$(dirname "$log")"
    : >"$log" # not what the last one said
    reeve up --listen "$listen" >"$log" 2>&1 &
    server=$!
    until grep -q '^Reeve is ready' "$log"; do
        kill -0 $server 2>/dev/null || {
            wait $server || true
            server=
            cat "$log" >&2
            ! grep -q 'port [0-9]* is taken' "$log" || echo 'tour: with REEVE_LISTEN=127.0.0.1:0 it takes any port that is free' >&2
            exit 1
        }
        sleep 0.1
    done
    sed -n '/^Reeve is ready/p' "$log"
}

# ---- The tour. ----

title 'A control plane, in one process'
if is_up; then
    echo "One serves $REEVE_DATA_DIR already."
else
    show "reeve up --data-dir $(quote "$REEVE_DATA_DIR") --listen $listen &"
    start
fi
run 'kubectl apply -f examples/tour/3-team.yaml -f examples/tour/people.yaml'

title 'Two packages: CRDs and a controller each. None says which rights it wants'
rm -rf "$REEVE_DATA_DIR/tour" && mkdir "$REEVE_DATA_DIR/tour"
# shellcheck disable=SC2016 # shown as it stands, and then evaluated
run 'examples/package provider 1.0 a "$REEVE_DATA_DIR/tour/provider"'
# shellcheck disable=SC2016
run 'reeve package build "$REEVE_DATA_DIR/tour/provider" -t example/provider-gcp:1.0 -q'
# shellcheck disable=SC2016
run 'examples/package wordpress 1.1 a "$REEVE_DATA_DIR/tour/wordpress"'
# shellcheck disable=SC2016
run 'reeve package build "$REEVE_DATA_DIR/tour/wordpress" -t wordpressinc/wordpress:1.1 -q'

title 'What would the provider be able to do? The plan says so before anything happens'
ask 'reeve plan example/provider-gcp:1.0 --cluster --name provider'

title 'Olivia runs the environment. She installs it for everybody'
run 'reeve install example/provider-gcp:1.0 --cluster --name provider --as olivia --wait'

title 'Jane has her namespace and nothing else. WordPress would get this there'
ask 'reeve plan wordpressinc/wordpress:1.1 -n app-team-1'

title 'She installs it by herself'
run 'reeve install wordpressinc/wordpress:1.1 -n app-team-1 --as jane --wait'

title 'What was granted to whom'
run 'reeve tree wordpress -n app-team-1'
run 'reeve who-can create wordpressinstances -n app-team-1'
run 'reeve why jane create wordpressinstances -n app-team-1'
ask 'reeve why vic create wordpressinstances -n app-team-1'

title 'Olivia may use what the provider brought, and has no business in the Secrets of others'
run 'kubectl apply -f examples/tour/2-class.yaml --as olivia'
refused 'kubectl get secrets -n app-team-1 --as olivia'

title 'Jane has a blog at once, in her namespace'
run 'kubectl apply -f examples/tour/5-blog.yaml --as jane'
refused 'kubectl get wordpressinstances -n default --as jane'

title 'Erin edits'
run "kubectl patch wordpressinstance blog -n app-team-1 --type merge -p '{\"spec\":{\"theme\":\"dark\"}}' --as erin"
refused 'kubectl delete namespace app-team-1 --as erin'

title 'Vic looks, and never sees a Secret'
run 'kubectl get wordpressinstances -n app-team-1 -o name --as vic'
refused 'kubectl get secrets -n app-team-1 --as vic'

title 'The controller of WordPress works in that namespace, and nowhere else'
run 'kubectl get wordpressinstances -n app-team-1 -o name --as system:serviceaccount:app-team-1:wordpress'
refused 'kubectl get secrets -n kube-system --as system:serviceaccount:app-team-1:wordpress'

title 'Go on'
# shellcheck disable=SC2016
printf '  export PATH=%s:$PATH\n' "$(quote "$(cd "$(dirname "$REEVE")" && pwd)")"
printf '  export KUBECONFIG=%s\n' "$(quote "$KUBECONFIG")"
printf '  %s\n' 'kubectl get packageinstalls,clusterpackageinstalls -A' 'reeve matrix jane -n app-team-1' \
    'reeve uninstall wordpress -n app-team-1 --delete-instances'
[ -n "$server" ] && [ -z "$once" ] || exit 0
printf '\nCtrl-C ends the control plane; everything is there again at the next start.\n'
trap '[ ! -t 1 ] || echo; exit 0' INT # what was asked for is done; ^C has a line to itself
trap 'exit 0' TERM
wait "$server"
