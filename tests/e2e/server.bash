# SPDX-License-Identifier: Apache-2.0
# Shared by the end-to-end suites: starts a server of one's own for a file of tests, and checks what kubectl says.
#
#   REEVE               the binary under test
#   REEVE_KUBECONFIG    instead of starting one: the kubeconfig of a server that runs already. The suites say what any
#                       Kubernetes API server does, so this is how to see that they are right.
#   REEVE_MODE          "manager": the server runs no controllers, a "reeve manager" beside it does.
#
# A suite may say which controllers that manager has, in CONTROLLERS.

bats_require_minimum_version 1.5.0

start_server() {
    export SCRATCH HOME NS
    SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/reeve-e2e.XXXXXX")
    HOME=$SCRATCH # kubectl keeps caches there
    NS=e2e-$$-$RANDOM
    if [ -n "${REEVE_KUBECONFIG-}" ]; then
        export KUBECONFIG=$REEVE_KUBECONFIG
    else
        export KUBECONFIG=$SCRATCH/kubeconfig
        case ${REEVE_MODE-} in
        manager) launch_server --no-controllers && launch_manager ;;
        '') launch_server ;;
        *) echo "REEVE_MODE=$REEVE_MODE?" >&2 && return 1 ;;
        esac
    fi
    export SERVER CA
    SERVER=$(kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
    CA=$SCRATCH/ca.crt
    kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$CA"
    [ -s "$CA" ] || cp "$(kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority}')" "$CA"
    kubectl create namespace "$NS"
}

# launch_server [FLAG...]: starts it on a free port, or the one it had, and waits until it is ready.
launch_server() {
    rm -f "$KUBECONFIG"
    "$REEVE" up --data-dir "$SCRATCH/data" --listen "127.0.0.1:${PORT:-0}" --kubeconfig "$KUBECONFIG" "$@" \
        >"$SCRATCH/out" 2>>"$SCRATCH/log" 3>&- &
    echo $! >"$SCRATCH/pid"
    until [ -s "$KUBECONFIG" ]; do
        kill -0 "$(cat "$SCRATCH/pid")" 2>/dev/null || { cat "$SCRATCH/log" >&2; return 1; }
        sleep 0.02
    done
}

# launch_manager: the controllers of the server, in a process of their own, with the rights that they say they need.
launch_manager() {
    local controllers=${CONTROLLERS:-namespaces,garbage,aggregation} account=$SCRATCH/manager.kubeconfig namespace=reeve-system
    kubectl create namespace $namespace
    kubectl create serviceaccount reeve-manager --namespace $namespace
    [ -z "${CONTROLLERS-}" ] || "$REEVE" manager --print-crds | kubectl create -f -
    "$REEVE" manager --print-rbac --controllers="$controllers" | kubectl create -f -
    cp "$KUBECONFIG" "$account"
    kubectl config --kubeconfig "$account" set-credentials manager \
        --token="$(kubectl create token reeve-manager --namespace $namespace --duration=24h)"
    kubectl config --kubeconfig "$account" set-context --current --user=manager
    "$REEVE" manager --kubeconfig "$account" --controllers="$controllers" --lease-namespace=$namespace --listen=127.0.0.1:0 \
        --package-store="$SCRATCH/data/packages/store" --package-cache="$SCRATCH/cache" >>"$SCRATCH/log" 2>&1 3>&- &
    echo $! >"$SCRATCH/manager.pid"
}

server_pid() { cat "$SCRATCH/pid"; }

# stop_process PID
stop_process() {
    kill -TERM "$1" 2>/dev/null || true
    while kill -0 "$1" 2>/dev/null; do sleep 0.02; done
}

stop_server() {
    local gone=
    stop_courier || gone='the courier complained'
    if [ -f "$SCRATCH/pid" ]; then
        if [ -f "$SCRATCH/manager.pid" ]; then
            kill -0 "$(cat "$SCRATCH/manager.pid")" 2>/dev/null || gone='the manager did not last'
            stop_process "$(cat "$SCRATCH/manager.pid")"
        fi
        stop_process "$(server_pid)"
        [ -z "$gone" ] || { cat "$SCRATCH/log" >&2 && echo "$gone" >&2 && return 1; }
        # The sanitizers speak up at the end of the process.
        if grep -qE 'ERROR: (Address|Leak|Thread)Sanitizer|runtime error:' "$SCRATCH/log"; then
            cat "$SCRATCH/log" >&2
            return 1
        fi
    else
        kubectl delete namespace "$NS" --wait=false >/dev/null || true
        [ -z "$gone" ] || return 1
    fi
    rm -rf "$SCRATCH"
}

# k ARGUMENT...: kubectl in the namespace of this file of tests.
k() { kubectl --namespace "$NS" "$@"; }

# look ARGUMENT...: what "kubectl get ARGUMENT..." prints, by a courier that keeps its connections: for questions to the server. Where
# the point is what kubectl makes of the answer, say kubectl. What courier.py does not know of kubectl is an error.
look() { tell_courier get "$@"; }

# create [--namespace NAMESPACE]: the YAML on standard input, by the same way.
create() {
    local text
    IFS= read -r -d '' text || true
    tell_courier create "$text" "$@"
}

tell_courier() {
    [ -s "$SCRATCH/courier" ] || launch_courier
    local port secret peer status
    read -r port secret <"$SCRATCH/courier"
    exec {peer}<>"/dev/tcp/127.0.0.1/$port" || return
    printf '%s\0' "$secret" $(($# + 1)) "$KUBECONFIG" "$@" >&"$peer"
    read -r status <&"$peer" || { echo 'the courier said nothing' >&2 && status=1; }
    if [ "$status" -eq 0 ]; then cat <&"$peer"; else cat <&"$peer" >&2; fi
    exec {peer}>&-
    return "$status"
}

# l ARGUMENT...: look in the namespace of this file of tests.
l() { look --namespace "$NS" "$@"; }

# launch_courier: or wait for the one that somebody else is just launching.
launch_courier() {
    mkdir "$SCRATCH/couriers" 2>/dev/null || { eventually [ -s "$SCRATCH/courier" ] && return; }
    python3 -B "$BATS_TEST_DIRNAME/courier.py" "$SCRATCH/courier" </dev/null >/dev/null 2>>"$SCRATCH/courier.log" 3>&- &
    echo $! >"$SCRATCH/courier.pid"
    disown
    until [ -s "$SCRATCH/courier" ]; do
        kill -0 "$(cat "$SCRATCH/courier.pid")" 2>/dev/null || { cat "$SCRATCH/courier.log" >&2; return 1; }
        sleep 0.02
    done
}

# stop_courier: it had nothing to complain of.
stop_courier() {
    [ -f "$SCRATCH/courier.pid" ] || return 0
    stop_process "$(cat "$SCRATCH/courier.pid")"
    [ ! -s "$SCRATCH/courier.log" ] || { cat "$SCRATCH/courier.log" >&2 && return 1; }
}

# says TEXT: the output of the last run is exactly this.
says() {
    [ "$output" = "$1" ] || {
        printf 'expected:\n%s\ngot (status %s):\n%s\n' "$1" "$status" "$output" >&2
        return 1
    }
}

# mentions TEXT: the output of the last run has this in it.
mentions() {
    [[ "$output" == *"$1"* ]] || {
        printf 'expected to find:\n%s\nin (status %s):\n%s\n' "$1" "$status" "$output" >&2
        return 1
    }
}

# lacks TEXT
lacks() {
    [[ "$output" != *"$1"* ]] || {
        printf 'expected not to find:\n%s\nin (status %s):\n%s\n' "$1" "$status" "$output" >&2
        return 1
    }
}

# matches REGEX: some line of the output of the last run does, as a whole.
matches() {
    grep -qE "^$1\$" <<<"$output" || {
        printf 'expected a line like:\n%s\nin (status %s):\n%s\n' "$1" "$status" "$output" >&2
        return 1
    }
}

# eventually COMMAND...: it succeeds before we lose patience: a minute, more where the controllers of others are at work. What takes
# longer is asked for less often: asking is most of the work here.
eventually() {
    local patience=60 tries pause
    [ -z "${REEVE_KUBECONFIG-}" ] || patience=180
    local end=$((SECONDS + patience))
    for ((tries = 1; SECONDS < end; tries++)); do
        "$@" >/dev/null 2>&1 && return 0
        printf -v pause '0.%02d' $((tries < 8 ? 5 * tries : 40))
        sleep "$pause"
    done
    "$@"
}

# at_once COMMAND...: it succeeds now; a server that was not started here may take its time.
at_once() { if [ -n "${REEVE_KUBECONFIG-}" ]; then eventually "$@"; else "$@"; fi; }

# request METHOD PATH [CURL ARGUMENT...]: with the admin's certificate; body on stdout.
request() {
    local method=$1 path=$2
    shift 2
    admin_files
    curl -sS --cacert "$CA" --cert "$SCRATCH/admin.crt" --key "$SCRATCH/admin.key" -A e2e -X "$method" "$SERVER$path" "$@"
}

# anonymous METHOD PATH [CURL ARGUMENT...]
anonymous() {
    local method=$1 path=$2
    shift 2
    curl -sS --cacert "$CA" -A e2e -X "$method" "$SERVER$path" "$@"
}

admin_files() {
    [ -s "$SCRATCH/admin.key" ] && return
    local user='{.users[0].user.client-'
    kubectl config view --raw -o "jsonpath=${user}certificate-data}" | base64 -d >"$SCRATCH/admin.crt"
    kubectl config view --raw -o "jsonpath=${user}key-data}" | base64 -d >"$SCRATCH/admin.key"
    [ -s "$SCRATCH/admin.key" ] && return
    cp "$(kubectl config view --raw -o "jsonpath=${user}certificate}")" "$SCRATCH/admin.crt"
    cp "$(kubectl config view --raw -o "jsonpath=${user}key}")" "$SCRATCH/admin.key"
}

widget_crd() {
    cat <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.e2e.example.com
spec:
  group: e2e.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all, gadgets]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Note, type: string, jsonPath: .spec.note, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: A widget is something to turn.
        type: object
        properties:
          spec:
            description: What is wanted.
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How big it is.}
              color: {type: string, enum: [red, green], default: red}
              note: {type: string, maxLength: 5}
              replicas: {type: integer}
          status:
            type: object
            properties:
              replicas: {type: integer}
              phase: {type: string}
YAML
}

widget() { # NAME SIZE [EXTRA LINE OF SPEC]
    cat <<YAML
apiVersion: e2e.example.com/v1
kind: Widget
metadata:
  name: $1
spec:
  size: $2
  ${3-}
YAML
}
