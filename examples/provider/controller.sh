#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller of the provider: every MySQLInstance, in whatever namespace, gets a CloudSQLInstance and a Secret.
#
# It knows the API server by what a container is given: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and the folder
# of its ServiceAccount with token and ca.crt. Elsewhere SERVICE_ACCOUNT names that folder. Needs curl and jq. It is a group
# of processes: end it as one.
# shellcheck disable=SC2016 # what looks like variables between single quotes is those of jq
set -u
account=${SERVICE_ACCOUNT:-/var/run/secrets/kubernetes.io/serviceaccount}
server=https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT
claims=/apis/database.example.org/v1alpha1
databases=/apis/database.gcp.example.org/v1alpha1
core=/api/v1

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
    call PATCH "$1?fieldManager=provider&force=true" -H 'Content-Type: application/apply-patch+yaml' --data-binary @- >/dev/null
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

# ---- What should be, given a claim, the classes there are, its database and its Secret (null: not there yet). Pure. ----

world='. as [$claim, $classes, $database, $secret]
    | ($claim.spec.classRef.name as $name
        | [$classes.items[] | select(if $name then .metadata.name == $name else .spec.default end)] | sort_by(.metadata.name) | first) as $class
    | $claim.spec.writeConnectionSecretToRef.name as $credentials
    | ($secret == null or any($secret.metadata.ownerReferences[]?; .uid == $claim.metadata.uid)) as $free
    | "\($claim.metadata.name).\($claim.metadata.namespace).sql.example.org" as $endpoint
    | def owned: .metadata.ownerReferences = [$claim | {apiVersion, kind, name: .metadata.name, uid: .metadata.uid, controller: true}];
    def wanted_database: owned
        | .apiVersion = "database.gcp.example.org/v1alpha1" | .kind = "CloudSQLInstance" | .metadata.name = $claim.metadata.name
        | .spec = ($class.spec | {tier, region, storageGB: ($claim.spec.storageGB // .storageGB)})
        | .spec.databaseVersion = "MYSQL_" + ($claim.spec.engineVersion | sub("[.]"; "_"))
        | .spec.classRef.name = $class.metadata.name | .spec.claimRef.name = $claim.metadata.name;
    def wanted_database_status: {state: "RUNNABLE", endpoint: $endpoint};
    def wanted_secret: owned
        | .apiVersion = "v1" | .kind = "Secret" | .metadata.name = $credentials
        | .stringData = {endpoint: $endpoint, username: "admin", password: $ENV.PASSWORD};
    def wanted_status:
        if $class == null then {phase: "Pending", message: "no CloudSQLInstanceClass \($claim.spec.classRef.name // "is the default")"}
        elif $free then {phase: "Bound", class: $class.metadata.name, resource: $claim.metadata.name}
        else {phase: "Pending", message: "Secret \($credentials) belongs to somebody else"} end
        | {phase, message, class, resource};
    null |'

# render EXPRESSION
render() { printf '%s\n' "$claim" "$classes" "${database:-null}" "${secret:-null}" | jq -cs "$world $1"; }

# ---- Making it so. The cloud is imaginary: a database runs as soon as it is asked for. ----

# bind NAMESPACE NAME
bind() {
    render wanted_database | apply "$databases/namespaces/$1/cloudsqlinstances/$2" || return
    database=$(lookup "$databases/namespaces/$1/cloudsqlinstances/$2") || return
    render 'wanted_database_status | select(. != $database.status) | {status: .}' |
        patch "$databases/namespaces/$1/cloudsqlinstances/$2/status" || return
    [ -z "$secret" ] || return 0
    PASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') || return
    export PASSWORD
    render wanted_secret |
        call POST "$core/namespaces/$1/secrets" -H 'Content-Type: application/json' --data-binary @- >/dev/null
}

# reconcile NAMESPACE NAME
reconcile() {
    database='' secret=''
    claim=$(lookup "$claims/namespaces/$1/mysqlinstances/$2") || return
    [ "$(printf '%s\n' "${claim:-null}" | jq '. == null or .metadata.deletionTimestamp != null')" = false ] || return 0
    classes=$(call GET "$databases/cloudsqlinstanceclasses") || return
    secret=$(lookup "$core/namespaces/$1/secrets/$(render '$credentials' | jq -r .)") || return
    if [ "$(render '$class != null and $free')" = true ]; then
        bind "$1" "$2" || return
    fi
    render 'wanted_status | select(. != ($claim.status | {phase, message, class, resource})) | {status: .}' |
        patch "$claims/namespaces/$1/mysqlinstances/$2/status"
}

# all: every claim there is, because a class changed.
all() { call GET "$claims/mysqlinstances" | jq -r '.items[].metadata | "\(.namespace) \(.name)"'; }

# A queue of "NAMESPACE NAME" of claims that changed, or whose databases did, and of lines "* *".
folder=$(mktemp -d) && mkfifo "$folder/queue" && exec 4<>"$folder/queue" && rm -r "$folder" || exit 1
names "$claims/mysqlinstances" '.metadata | "\(.namespace) \(.name)"' >&4 &
names "$databases/cloudsqlinstances" '"\(.metadata.namespace) \(.spec.claimRef.name // empty)"' >&4 &
names "$databases/cloudsqlinstanceclasses" '"* *"' >&4 &
while read -r namespace name <&4; do
    if [ "$name" = '*' ]; then
        all >&4 &
    elif ! reconcile "$namespace" "$name"; then
        { sleep 1 && echo "$namespace $name" >&4; } & # another time
    fi
done
