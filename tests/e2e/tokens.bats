# SPDX-License-Identifier: Apache-2.0
# Tokens where Reeve differs from Kubernetes: a limit by default, the end of a permission, keys that are replaced.

load server.bash

setup_file() {
    start_server
    k create serviceaccount bot
}

teardown_file() { stop_server; }

token() { k create token bot "$@"; }

# as_bot TOKEN ARGUMENT...
as_bot() {
    local token=$1
    shift
    kubectl --kubeconfig /dev/null --server "$SERVER" --certificate-authority "$CA" --token "$token" -n "$NS" "$@"
}

is_refused() { ! as_bot "$1" auth whoami 2>"$SCRATCH/refusal" && grep -q Unauthorized "$SCRATCH/refusal"; }

# life TOKEN: in seconds, as the token says.
life() { jq -R 'split(".")[1] | gsub("-"; "+") | gsub("_"; "/") | @base64d | fromjson | .exp - .iat' <<<"$1"; }

# restart: after kill -9, on the same port.
restart() {
    kill -KILL "$(server_pid)"
    while kill -0 "$(server_pid)" 2>/dev/null; do sleep 0.02; done
    PORT=${SERVER##*:} launch_server
}

@test "create token gives a day at most, and says so" {
    run -0 --separate-stderr token --duration=48h
    # shellcheck disable=SC2154 # run sets stderr
    [ "$stderr" = 'Warning: requested expiration of 172800 seconds shortened to 86400 seconds' ]
    [ "$(life "$output")" = 86400 ]
    run -0 as_bot "$output" auth whoami
    run -0 --separate-stderr token --duration=24h
    [ -z "$stderr" ]
    [ "$(life "$output")" = 86400 ]
}

@test "a token that was requested with a token ends with the permission" {
    local bot second
    k create role minter --verb=create --resource=serviceaccounts/token --resource-name=bot
    k create rolebinding minter --role=minter --serviceaccount="$NS:bot"
    bot=$(token)
    second=$(as_bot "$bot" create token bot --duration=24h)
    run -0 as_bot "$second" auth whoami
    k delete rolebinding minter
    is_refused "$second"
    run -0 as_bot "$bot" auth whoami
}

@test "a key is replaced: old tokens stay good until it is removed" {
    local old new
    old=$(token --duration=24h)
    mv "$SCRATCH/data/pki/sa.key" "$SCRATCH/data/pki/sa-old.key"
    restart
    run -0 as_bot "$old" auth whoami
    new=$(token --duration=24h)
    [ "${new%%.*}" != "${old%%.*}" ] # another key
    rm "$SCRATCH/data/pki/sa-old.key"
    run -0 as_bot "$old" auth whoami # until it starts anew
    restart
    is_refused "$old"
    run -0 as_bot "$new" auth whoami
}
