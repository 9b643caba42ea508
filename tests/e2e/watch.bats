# SPDX-License-Identifier: Apache-2.0
# Watches: kubectl get -w, and the stream itself.

load server.bash

setup_file() { start_server; }
teardown_file() { stop_server; }

# watch_to FILE ARGUMENT...: kubectl in the background.
watch_to() {
    local file=$1
    shift
    k "$@" >"$file" 2>&1 3>&- &
    WATCHER=$!
}

end_watch() {
    kill "$WATCHER" 2>/dev/null || true
    wait "$WATCHER" 2>/dev/null || true
}

@test "get -w shows what is there and what comes" {
    k create configmap w0
    watch_to "$SCRATCH/w" get configmaps -w --field-selector metadata.name!=kube-root-ca.crt
    eventually grep -q w0 "$SCRATCH/w"
    k create configmap w1
    eventually grep -q w1 "$SCRATCH/w"
    k delete configmap w1
    eventually sh -c "[ \$(grep -c w1 '$SCRATCH/w') -eq 2 ]"
    end_watch
    run -0 cat "$SCRATCH/w"
    matches 'NAME +DATA +AGE'
    [ "$(grep -c NAME "$SCRATCH/w")" -eq 1 ]
}

@test "get -w of one object, --watch-only, -o json with events" {
    k create configmap one
    watch_to "$SCRATCH/o" get configmap one -w --output-watch-events -o 'jsonpath={.type} {.object.data.v}{"\n"}'
    eventually grep -q ADDED "$SCRATCH/o"
    k patch configmap one -p '{"data":{"v":"1"}}'
    eventually grep -q 'MODIFIED 1' "$SCRATCH/o"
    k delete configmap one
    eventually grep -q 'DELETED 1' "$SCRATCH/o"
    end_watch
    watch_to "$SCRATCH/p" get configmaps --watch-only -o name
    # Nothing tells when a watch without a list has begun: changes are made until one is seen.
    for n in $(seq 100); do
        k create configmap "late$n"
        grep -q configmap/late "$SCRATCH/p" && break
    done
    eventually grep -q configmap/late "$SCRATCH/p"
    end_watch
}

@test "a watch goes on from a resourceVersion without a gap" {
    local version
    version=$(kubectl get --raw "/api/v1/namespaces/$NS/configmaps?limit=1" | grep -oE '"metadata":\{"resourceVersion":"[0-9]+' | head -n 1 | grep -oE '[0-9]+$')
    k create configmap g1
    k label configmap g1 a=b
    k delete configmap g1
    run -0 kubectl get --raw "/api/v1/namespaces/$NS/configmaps?watch=true&resourceVersion=$version&timeoutSeconds=1"
    [ "$(grep -c g1 <<<"$output")" -eq 3 ]
    matches '\{"type":"ADDED","object":\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"g1",.*'
    matches '\{"type":"MODIFIED",.*"labels":\{"a":"b"\}.*'
    matches '\{"type":"DELETED",.*"labels":\{"a":"b"\}.*'
}

@test "selectors: what comes in is added, what goes out is deleted" {
    local version
    k create configmap sel
    version=$(k get configmap sel -o 'jsonpath={.metadata.resourceVersion}')
    k label configmap sel in=yes
    k label configmap sel other=1
    k label configmap sel in-
    run -0 kubectl get --raw "/api/v1/namespaces/$NS/configmaps?watch=true&labelSelector=in%3Dyes&resourceVersion=$version&timeoutSeconds=1"
    [ "$(grep -oE '"type":"[A-Z]+"' <<<"$output" | tr '\n' ' ')" = '"type":"ADDED" "type":"MODIFIED" "type":"DELETED" ' ]
}

@test "initial events, and the bookmark behind them" {
    k create configmap ie1
    run -0 kubectl get --raw "/api/v1/namespaces/$NS/configmaps?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    matches '\{"type":"ADDED",.*"name":"ie1".*'
    matches '\{"type":"BOOKMARK","object":\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{.*"k8s.io/initial-events-end":"true".*'
    run -1 kubectl get --raw "/api/v1/configmaps?watch=true&sendInitialEvents=true"
    mentions 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
}

@test "a resourceVersion from long ago is gone" {
    run -0 kubectl get --raw "/api/v1/namespaces/$NS/configmaps?watch=true&resourceVersion=1&timeoutSeconds=1"
    [ -z "${REEVE_KUBECONFIG-}" ] || matches '\{"type":"ERROR",.*"reason":"Expired","code":410\}\}'
}

@test "a table watch sends its columns once" {
    k create configmap tw1
    run -0 request GET "/api/v1/namespaces/$NS/configmaps?watch=true&timeoutSeconds=1" -H 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io'
    matches '\{"type":"ADDED","object":\{"kind":"Table","apiVersion":"meta.k8s.io/v1",.*"columnDefinitions":\[\{"name":"Name".*'
    matches '\{"type":"ADDED","object":\{"kind":"Table","apiVersion":"meta.k8s.io/v1",.*"columnDefinitions":null.*'
}

@test "metadata only" {
    run -0 request GET "/api/v1/namespaces/$NS/configmaps" -H 'Accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
    mentions '{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"'
    lacks '"data"'
}
