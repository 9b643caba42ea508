#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller of WordPress: every WordPressInstance of its namespace gets a database and settings.
#
# It knows the API server by what a container is given: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and the folder
# of its ServiceAccount with token, ca.crt and namespace. Elsewhere SERVICE_ACCOUNT names that folder, and WATCH_NAMESPACE
# another namespace to work in, as far as one is let. Needs curl and jq. It is a group of processes: end it as one.
# shellcheck disable=SC2016 # what looks like variables between single quotes is those of jq
set -u
account=${SERVICE_ACCOUNT:-/var/run/secrets/kubernetes.io/serviceaccount}
server=https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT
namespace=${WATCH_NAMESPACE:-$(cat "$account/namespace")}
blogs=/apis/wordpress.example.org/v1beta1/namespaces/$namespace/wordpressinstances
claims=/apis/database.example.org/v1alpha1/namespaces/$namespace/mysqlinstances
core=/api/v1/namespaces/$namespace

# ---- The API. ----

# request METHOD PATH [CURL ARGUMENT...]: the answer on stdout, whatever it is. The token is on no command line.
request() {
    method=$1 path=$2
    shift 2
    curl -sN --fail-with-body --cacert "$account/ca.crt" -X "$method" -H @/dev/fd/3 "$@" "$server$path" 3<<HEADERS
Authorization: Bearer $(cat "$account/token")
HEADERS
}

# call METHOD PATH [CURL ARGUMENT...]: the answer on stdout if it is a good one; otherwise says why on stderr, and fails.
call() {
    if answer=$(request "$@"); then
        printf '%s\n' "$answer"
    else
        echo "$1 $2: $(printf '%s\n' "${answer:-null}" | jq -r '.message // "no answer"')" >&2
        return 1
    fi
}

# lookup PATH: the object, or nothing if there is none.
lookup() {
    if answer=$(request GET "$1") || [ "$(printf '%s\n' "$answer" | jq .code)" = 404 ]; then
        printf '%s\n' "$answer" | jq -c 'select(.kind != "Status")'
    else
        call GET "$1"
    fi
}

# apply PATH: the object on stdin is as it says there. Nothing is written if it is so already.
apply() {
    call PATCH "$1?fieldManager=wordpress&force=true" -H 'Content-Type: application/apply-patch+yaml' --data-binary @- >/dev/null
}

# patch PATH: part of the object is as it says on stdin; if that is empty, it is so already.
patch() {
    merge=$(cat)
    [ -z "$merge" ] || printf '%s\n' "$merge" |
        call PATCH "$1" -H 'Content-Type: application/merge-patch+json' --data-binary @- >/dev/null
}

# names PATH FILTER: what the jq filter makes of every object there, and then of each one that changes.
names() {
    while :; do
        if list=$(call GET "$1"); then
            printf '%s\n' "$list" | jq -r ".items[] | $2"
            version=$(printf '%s\n' "$list" | jq -r .metadata.resourceVersion)
            request GET "$1?watch=true&resourceVersion=$version&timeoutSeconds=300" |
                jq --unbuffered -r "select(.type != \"ERROR\").object | $2"
        fi
        sleep 1
    done
}

# ---- What should be, given a blog, its claim and the Secret of that (null: not there yet). Pure. ----

world='. as [$blog, $claim, $secret]
    | ($blog.metadata.name + "-mysql") as $database
    | ($blog.spec.hostname // "\($blog.metadata.name).\($blog.metadata.namespace).blogs.example.org") as $hostname
    | ($claim.status.phase == "Bound" and $secret != null) as $bound
    | def owned: .metadata.ownerReferences = [$blog | {apiVersion, kind, name: .metadata.name, uid: .metadata.uid, controller: true}];
    def wanted_claim: owned
        | .apiVersion = "database.example.org/v1alpha1" | .kind = "MySQLInstance" | .metadata.name = $database
        | .spec = {engineVersion: $blog.spec.mysqlVersion, writeConnectionSecretToRef: {name: $database}};
    def wanted_settings: owned
        | .apiVersion = "v1" | .kind = "ConfigMap" | .metadata.name = $blog.metadata.name + "-settings"
        | .data = {title: $blog.spec.title, hostname: $hostname, database: ($secret.data.endpoint | @base64d), credentials: $database}
        | if $blog.spec.theme then .data.theme = $blog.spec.theme else . end;
    def wanted_status:
        if $bound then {phase: "Running", message: null, url: "https://\($hostname)/", database: $database}
        else {phase: "Waiting", message: "\($database) is not bound", url: null, database: $database} end;
    null |'

# render EXPRESSION
render() { printf '%s\n' "$blog" "${claim:-null}" "${secret:-null}" | jq -cs "$world $1"; }

# ---- Making it so. ----

reconcile() {
    claim='' secret=''
    blog=$(lookup "$blogs/$1") || return
    [ "$(printf '%s\n' "${blog:-null}" | jq '. == null or .metadata.deletionTimestamp != null')" = false ] || return 0
    render wanted_claim | apply "$claims/$1-mysql" || return
    claim=$(lookup "$claims/$1-mysql") || return
    secret=$(lookup "$core/secrets/$1-mysql") || return
    if [ "$(render '$bound')" = true ]; then
        render wanted_settings | apply "$core/configmaps/$1-settings" || return
    fi
    render 'wanted_status | select(. != ($blog.status | {phase, message, url, database})) | {status: .}' | patch "$blogs/$1/status"
}

# A queue of names: of blogs that changed, and of blogs whose databases did.
folder=$(mktemp -d) && mkfifo "$folder/queue" && exec 4<>"$folder/queue" && rm -r "$folder" || exit 1
names "$blogs" .metadata.name >&4 &
names "$claims" '.metadata.ownerReferences[]? | select(.kind == "WordPressInstance").name' >&4 &
while read -r name <&4; do
    if ! reconcile "$name"; then
        { sleep 1 && echo "$name" >&4; } & # another time
    fi
done
