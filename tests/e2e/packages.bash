# SPDX-License-Identifier: Apache-2.0
# Shared by the suites of packages: a store of images that installs are served from, and questions about what came of them.
#
#   REEVE_STORE    with REEVE_KUBECONFIG: the local store of the "reeve manager" that works there
#
# The packages are those of examples/, and small ones that a test makes up.

load controllers.bash

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

# start_packages: a server whose store has the examples.
start_packages() {
    export STORE
    CONTROLLERS=namespaces,garbage,aggregation,installs,personas start_server
    STORE=${REEVE_STORE:-$SCRATCH/data/packages/store}
    publish provider 1.0 a example/provider-gcp:1.0
    publish wordpress 1.0 a wordpressinc/wordpress:1.0
    publish wordpress 1.1 a wordpressinc/wordpress:1.1
    eventually look clusterpackageinstalls,packageinstalls,clusterstackinstalls,stackinstalls --all-namespaces
}

stop_packages() {
    local pid
    for pid in $(cat "$SCRATCH/controllers" 2>/dev/null); do stop_controller "$pid"; done
    [ -z "${REEVE_KUBECONFIG-}" ] || leave_packages >/dev/null 2>&1
    stop_server
}

# leave_packages: on a server that is not ours, all that a suite installed.
leave_packages() {
    local all=clusterpackageinstalls,packageinstalls,clusterstackinstalls,stackinstalls
    kubectl annotate "$all" --all --all-namespaces packages.crossplane.io/delete-instances=true --overwrite
    kubectl delete "$all" --all --all-namespaces --wait=false
    kubectl delete namespaces -l e2e=packages --timeout=120s # with the objects that an install elsewhere may not delete
    kubectl delete "$all" --all --all-namespaces --timeout=120s
}

# namespace NAME [LABEL...]
namespace() {
    kubectl create namespace "$1"
    kubectl label namespace "$1" e2e=packages "${@:2}"
}

# ---- Images. ----

# pack FOLDER REFERENCE: says its digest.
pack() { python3 -B "$ROOT/tests/packages/image.py" pack "$1" "$2" "$STORE"; }

# publish EXAMPLE VERSION FORMAT REFERENCE
publish() {
    local folder
    folder=$(mktemp -d "$SCRATCH/package.XXXXXX")
    "$ROOT/examples/package" "$1" "$2" "$3" "$folder/tree"
    pack "$folder/tree" "$4"
}

# thing_crd PLURAL.GROUP SCOPE [PROPERTY OF SPEC]...: a CRD on one line for each part; the kind is the plural with capitals.
thing_crd() {
    local plural=${1%%.*} group=${1#*.} properties
    printf -v properties ', %s' 'size: {type: integer}' "${@:3}"
    cat <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: $1}
spec:
  group: $group
  scope: $2
  names: {plural: $plural, singular: ${plural%s}, kind: ${plural^}, listKind: ${plural^}List}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {${properties:2}}}}}}
YAML
}

# made_up REFERENCE SCOPE CRD...: a package without a Deployment; CRDs as the files that thing_crd wrote; $APP is more of app.yaml,
# $INSTALL is install.yaml.
made_up() {
    local folder crd
    folder=$(mktemp -d "$SCRATCH/package.XXXXXX")
    mkdir "$folder/.registry"
    printf 'title: Made up\npermissionScope: %s\n%s\n' "$2" "${APP-}" >"$folder/.registry/app.yaml"
    [ -z "${INSTALL-}" ] || printf '%s\n' "$INSTALL" >"$folder/.registry/install.yaml"
    for crd in "${@:3}"; do cp "$crd" "$folder/.registry/$(basename "$crd").crd.yaml"; done
    pack "$folder" "$1"
}

# ---- Installs. ----

# install_of KIND NAME REFERENCE [LINE OF SPEC]...: KIND is one of the four; in the namespace of $IN if it has one.
install_of() {
    local group=packages
    case $1 in *Stack*) group=stacks ;; esac
    cat <<YAML
apiVersion: $group.crossplane.io/v1alpha1
kind: $1
metadata:
  name: $2
  ${IN:+namespace: $IN}
spec:
  package: $3
$(printf '  %s\n' "${@:4}")
YAML
}

cluster_install() { IN='' install_of ClusterPackageInstall "$@" | kubectl create -f -; }
# namespace_install NAMESPACE NAME REFERENCE [LINE OF SPEC]...
namespace_install() { IN=$1 install_of PackageInstall "${@:2}" | kubectl create -f -; }

# approve_pending KIND NAME [FLAG...]: as an administrator, where nobody records who asked for an install; else there is nothing to do.
approve_pending() {
    local id
    eventually holds '.status.pendingApproval != null or any(.status.conditions[]?; .type == "Ready" and .status == "True")' "$@"
    id=$(field .status.pendingApproval.id "$@")
    [ -z "$id" ] || kubectl annotate "$@" "packages.crossplane.io/approved=$id" --overwrite
}

# holds FILTER KIND NAME [FLAG...]: the jq filter says true of the object. (jq -e is content with nothing at all.)
holds() { [ "$(look "${@:2}" -o json | jq "$1")" = true ]; }

# becomes_true CONDITION KIND NAME [FLAG...]: of the object as it is now asked for.
becomes_true() { eventually is_true "$@" || { kubectl get "${@:2}" -o yaml >&2; return 1; }; }
is_true() {
    local now status about
    read -r now status about < <(look "${@:2}" -o \
        "jsonpath={.metadata.generation} {range .status.conditions[?(@.type==\"$1\")]}{.status} {.observedGeneration}{end}{\"\n\"}") || return
    [ "$status" = True ] && [ "$about" = "$now" ]
}

installed() { becomes_true Installed "$@"; }

# reason CONDITION KIND NAME [FLAG...]
reason() { look "${@:2}" -o "jsonpath={.status.conditions[?(@.type==\"$1\")].reason}"; }
message() { look "${@:2}" -o "jsonpath={.status.conditions[?(@.type==\"$1\")].message}"; }

ready_of() { look "$@" -o 'jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.reason}{end}'; }

# refused REASON KIND NAME [FLAG...]: it is not installed, and this is why.
refused() {
    local why=$1
    shift
    eventually shows "False $why" ready_of "$@" || { kubectl get "$@" -o yaml >&2; return 1; }
}

# uninstall KIND NAME [FLAG...]: and wait until it is gone.
uninstall() { kubectl delete "$@" --timeout=60s; }

# ---- What there is. ----

# comes_back KIND NAME [FLAG...]: it is deleted, and another is there in its place. (kubectl would wait until there is none.)
comes_back() {
    local uid
    uid=$(look "$@" -o 'jsonpath={.metadata.uid}')
    kubectl delete "$@" --wait=false
    anew() { local now; now=$(look "$@" -o 'jsonpath={.metadata.uid}') && [ -n "$now" ] && [ "$now" != "$uid" ]; }
    eventually anew "$@" || { echo "$* did not come back" >&2 && return 1; }
}

# rules NAME [KIND] [FLAG...]: one line for each resource of a role: "RESOURCE[.GROUP] VERB,VERB"
rules() {
    look "${2:-clusterrole}" "$1" "${@:3}" -o json | jq -r '[.rules[]? | (.verbs | sort | join(",")) as $verbs | .apiGroups[] as $group | .resources[]
        | "\(.)\(if $group == "" then "" else "." + $group end) \($verbs)"] | unique[]'
}

# labels KIND NAME [FLAG...]: those of crossplane.io, one "key=value" a line, but the uids of records.
labels() {
    look "$@" -o json | jq -r '.metadata.labels // {} | to_entries[] | select(.key | contains("crossplane.io/"))
        | select(.key | startswith("parent.packages.crossplane.io/") or startswith("packages.crossplane.io/") | not) | "\(.key)=\(.value)"' | sort
}

# parents CRD: how many installs own it.
parents() { look crd "$1" -o json | jq '[.metadata.labels | keys[] | select(startswith("parent.packages.crossplane.io/"))] | length'; }

# account NAMESPACE NAME: as the user that a ServiceAccount is.
account() { echo "system:serviceaccount:$1:$2"; }

# answers USER RESOURCE[.GROUP][/SUBRESOURCE] NAMESPACE VERB...: what the server says to each, "VERB true" or "VERB false" a line, by
# reviews over one connection. NAMESPACE may be empty: everywhere.
answers() {
    local path=${2%%/*} part='' verb next=''
    case $2 in */*) part=${2#*/} ;; esac
    local resource=${path%%.*} group=''
    case $path in *.*) group=${path#*.} ;; esac
    admin_files
    # jq takes longer to start than all of them to be answered, so their text is made without it; for curl quotes are escaped.
    for verb in "${@:4}"; do
        printf '%surl = "%s/apis/authorization.k8s.io/v1/subjectaccessreviews"\ncacert = "%s"\ncert = "%s"\nkey = "%s"\nsilent\n' \
            "$next" "$SERVER" "$CA" "$SCRATCH/admin.crt" "$SCRATCH/admin.key"
        printf 'header = "Content-Type: application/json"\ndata = "{%s,%s,\\"spec\\":{\\"user\\":\\"%s\\",%s,\\"resourceAttributes\\":{' \
            '\"apiVersion\":\"authorization.k8s.io/v1\"' '\"kind\":\"SubjectAccessReview\"' "$1" '\"groups\":[\"system:authenticated\"]'
        printf '\\"verb\\":\\"%s\\",\\"group\\":\\"%s\\",\\"resource\\":\\"%s\\",\\"subresource\\":\\"%s\\",\\"namespace\\":\\"%s\\"}}}"\n' \
            "$verb" "$group" "$resource" "$part" "$3"
        next=$'next\n'
    done | curl -K - | jq -r '"\(.spec.resourceAttributes.verb) \(.status.allowed)"'
}

# may_all USER RESOURCE[.GROUP][/SUBRESOURCE] NAMESPACE VERB...
may_all() { shows "$(printf '%s true\n' "${@:4}")" answers "$@"; }
may_none() { shows "$(printf '%s false\n' "${@:4}")" answers "$@"; }
# may USER VERB RESOURCE [NAMESPACE]
may() { may_all "$1" "$3" "${4-}" "$2"; }
may_not() { may_none "$1" "$3" "${4-}" "$2"; }

# allowed USER [GROUP...] [--only REGEX]: all that a user may do.
allowed() { python3 -B "$ROOT/tests/packages/allowed.py" "$@"; }

# ---- The controllers of the examples, which nothing runs in a pod here. ----

# start_controller EXAMPLE NAMESPACE SERVICEACCOUNT [VARIABLE=VALUE]...: with a token of that account and nothing else. $CONTROLLER
# becomes its process group, and $CONTROLLER_LOG what it complains to.
start_controller() {
    local folder
    folder=$(mktemp -d "$SCRATCH/account.XXXXXX")
    kubectl create token "$3" --namespace "$2" >"$folder/token"
    cp "$CA" "$folder/ca.crt"
    printf %s "$2" >"$folder/namespace"
    CONTROLLER_LOG=$folder/log
    local host=${SERVER#https://}
    env -i PATH="$PATH" KUBERNETES_SERVICE_HOST="${host%:*}" KUBERNETES_SERVICE_PORT="${host##*:}" SERVICE_ACCOUNT="$folder" "${@:4}" \
        setsid "$ROOT/examples/$1/controller.sh" </dev/null >/dev/null 2>"$CONTROLLER_LOG" 3>&- &
    CONTROLLER=$!
    echo "$CONTROLLER" >>"$SCRATCH/controllers"
}

# stop_controller GROUP
stop_controller() {
    kill -TERM -- "-$1" 2>/dev/null || true
    while kill -0 -- "-$1" 2>/dev/null; do sleep 0.02; done
}
