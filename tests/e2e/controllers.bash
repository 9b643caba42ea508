# SPDX-License-Identifier: Apache-2.0
# Shared by the suites of the controllers (namespaces, garbage, aggregation): small objects, and questions to poll.
#
# What a controller does, it does in its own time, so these suites wait for what they expect. Where something must not
# happen there is nothing to wait for: they wait for another thing that the controller cannot have done before it passed
# over the first.

load server.bash

# is_gone KIND NAME [FLAG...]: no such object; an error is no answer.
is_gone() {
    local found
    found=$(l "$@" -o name --ignore-not-found) && [ -z "$found" ]
}

# is_there KIND NAME [FLAG...]
is_there() { l "$@" -o name; }

# shows TEXT COMMAND...: what it prints is exactly this.
shows() {
    local want=$1 got
    shift
    got=$("$@") && [ "$got" = "$want" ] || {
        printf 'expected:\n%s\ngot:\n%s\nfrom: %s\n' "$want" "${got-}" "$*" >&2
        return 1
    }
}

# field PATH KIND NAME [FLAG...]: one field of an object, by JSONPath without the braces.
field() {
    local path=$1
    shift
    l "$@" -o "jsonpath={$path}"
}

uid_of() { field .metadata.uid "$@"; }

# being_deleted KIND NAME: it is there and has a deletionTimestamp.
being_deleted() { [ -n "$(field .metadata.deletionTimestamp "$@")" ]; }

# free KIND NAME [FLAG...]: takes its finalizers off.
free() { k patch "$@" --type=merge -p '{"metadata":{"finalizers":null}}'; }

# leave: on a server that is not ours, what a failed test may have left.
leave() {
    [ -n "${REEVE_KUBECONFIG-}" ] || return 0
    kubectl delete clusterroles,clusterrolebindings -l "$NS=mine" --wait=false
    local namespace object
    for namespace in $(kubectl get namespaces -o name | grep "^namespace/$NS" | cut -d/ -f2); do
        for object in $(kubectl get configmaps,secrets -n "$namespace" -o name); do
            kubectl patch -n "$namespace" "$object" --type=merge -p '{"metadata":{"finalizers":null}}'
        done
        finalize "$namespace" kubernetes
        kubectl delete namespace "$namespace" --wait=false
    done
    [ -z "${GROUP-}" ] || kubectl delete crd "gears.$GROUP" "axles.$GROUP" --ignore-not-found --wait=false
}

# finalize NAMESPACE FINALIZER...: sets spec.finalizers, by the one way there is.
finalize() {
    local list
    printf -v list ',"%s"' "${@:2}"
    [ $# -gt 1 ] || list=,
    request PUT "/api/v1/namespaces/$1/finalize" -H 'Content-Type: application/json' \
        -d "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"$1\"},\"spec\":{\"finalizers\":[${list:1}]}}"
}

# configmap NAME [FIELD OF METADATA AS JSON]...
configmap() {
    local name=$1 more
    shift
    printf -v more ', %s' "name: $name" "$@"
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {%s}\ndata: {a: b}\n---\n' "${more:2}"
}

# gear_crd GROUP SCOPE: a kind of one's own with room for anything; the plural is "gears" (Namespaced), "axles" (Cluster).
gear_crd() {
    local plural=gears kind=Gear
    [ "$2" = Namespaced ] || plural=axles kind=Axle
    cat <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: $plural.$1}
spec:
  group: $1
  scope: $2
  names: {plural: $plural, singular: ${kind,,}, kind: $kind}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
YAML
}

# install_crds GROUP: both of them, served.
install_crds() {
    { gear_crd "$1" Namespaced; gear_crd "$1" Cluster; } | kubectl create -f -
    kubectl wait --for=condition=Established "crd/gears.$1" "crd/axles.$1" --timeout=60s
    eventually look "gears.$1,axles.$1" --all-namespaces
}

# custom GROUP KIND NAME [FIELD OF METADATA AS JSON]...
custom() {
    local group=$1 kind=$2 more
    shift 2
    printf -v more ', %s' "name: $1" "${@:2}"
    printf 'apiVersion: %s/v1\nkind: %s\nmetadata: {%s}\n---\n' "$group" "$kind" "${more:2}"
}
