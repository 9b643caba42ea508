# SPDX-License-Identifier: Apache-2.0
# Owner references: what goes when its owners are gone, in which order, and what stays.

load controllers.bash

setup_file() {
    start_server
    export GROUP=$NS.example.com
    install_crds "$GROUP"
}

teardown_file() {
    leave >/dev/null 2>&1
    stop_server
}

held='finalizers: [example.com/hold]'
nowhere=11111111-2222-3333-4444-555555555555

# ref KIND NAME [MORE]: an owner reference to an object that is there, as YAML.
ref() {
    local at
    at=$(l "$1" "$2" -o "jsonpath={.apiVersion}, kind: {.kind}, name: '{.metadata.name}', uid: {.metadata.uid}")
    printf '{apiVersion: %s%s}' "$at" "${3:+, $3}"
}

blocking() { ref "$1" "$2" 'blockOwnerDeletion: true'; }

# absent NAME: a reference to a ConfigMap that never was.
absent() { printf '{apiVersion: v1, kind: ConfigMap, name: %s, uid: %s}' "$1" "$nowhere"; }

# owned_by REF...: the field of metadata.
owned_by() {
    local refs
    printf -v refs ', %s' "$@"
    printf 'ownerReferences: [%s]' "${refs:2}"
}

make() { create --namespace "$NS" <<<"$1"; }

# owner NAME [FIELD OF METADATA]...
owner() { make "$(configmap "$@")"; }

# part NAME REF...: a ConfigMap that has these owners.
part() { make "$(configmap "$1" "$(owned_by "${@:2}")")"; }

# names_of_owners KIND NAME
names_of_owners() { field '.metadata.ownerReferences[*].name' "$@"; }

# all_seen: the collector has looked at everything that was there.
all_seen() {
    part "seen-$BATS_TEST_NUMBER" "$(absent none)"
    eventually is_gone configmap "seen-$BATS_TEST_NUMBER"
}

drop() { k delete "$@" --wait=false; }

# --- Background ---

@test "background: the owner goes at once, what it owns follows" {
    owner bg
    part bg-1 "$(ref configmap bg)"
    part bg-2 "$(ref configmap bg)"
    make "$(printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: bg-3, %s}\n' "$(owned_by "$(blocking configmap bg)")")"
    owner bg-other
    run -0 k delete configmap bg --wait=false
    is_gone configmap bg
    eventually is_gone configmap bg-1
    eventually is_gone configmap bg-2
    eventually is_gone secret bg-3
    is_there configmap bg-other
}

@test "background: an owner with a finalizer keeps what it owns until it is gone" {
    owner late "$held"
    part late-1 "$(ref configmap late)"
    drop configmap late
    all_seen
    is_there configmap late-1
    run -0 field .metadata.deletionTimestamp configmap late-1
    says ''
    free configmap late
    eventually is_gone configmap late-1
}

@test "background: a chain of three" {
    owner chain
    part chain-1 "$(ref configmap chain)"
    part chain-2 "$(ref configmap chain-1)"
    part chain-3 "$(ref configmap chain-2)"
    drop configmap chain
    eventually is_gone configmap chain-3
    is_gone configmap chain-1
    is_gone configmap chain-2
}

@test "background: a hundred at once" {
    owner fan
    owners=$(owned_by "$(ref configmap fan)")
    for n in $(seq 100); do configmap "fan-$n" "$owners" 'labels: {of: fan}'; done | k create -f - >"$SCRATCH/created"
    drop configmap fan
    eventually shows '' l configmaps -l of=fan -o name
}

@test "background: the owner's own orders in the body of the request" {
    owner body
    part body-1 "$(ref configmap body)"
    run -0 request DELETE "/api/v1/namespaces/$NS/configmaps/body" -H 'Content-Type: application/json' \
        -d '{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}'
    mentions '"status":"Success"'
    eventually is_gone configmap body-1
}

@test "background: deletecollection" {
    owner dc-1 'labels: {dc: x}'
    owner dc-2 'labels: {dc: x}'
    part dc-of-1 "$(ref configmap dc-1)"
    part dc-of-2 "$(ref configmap dc-2)"
    run -0 request DELETE "/api/v1/namespaces/$NS/configmaps?labelSelector=dc%3Dx"
    eventually is_gone configmap dc-of-1
    eventually is_gone configmap dc-of-2
}

# --- Owners that are not there ---

@test "an owner that never was" {
    part lost "$(absent none)"
    eventually is_gone configmap lost
}

@test "an owner that is gone when its part comes" {
    owner before
    gone=$(ref configmap before)
    k delete configmap before
    part after "$gone"
    eventually is_gone configmap after
}

@test "an owner that is given later, and is not there" {
    owner later
    all_seen
    is_there configmap later
    k patch configmap later --type=merge -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"none\",\"uid\":\"$nowhere\"}]}}"
    eventually is_gone configmap later
}

@test "an owner of the same name is not the same owner" {
    owner same
    part same-old "$(ref configmap same)"
    drop configmap same
    owner same
    part same-new "$(ref configmap same)"
    eventually is_gone configmap same-old
    all_seen
    is_there configmap same-new
}

@test "the uid is right but the name is not" {
    owner right
    part misnamed "$(ref configmap right | sed 's/right/wrong/')"
    eventually is_gone configmap misnamed
    is_there configmap right
}

@test "an owner in another namespace is not there" {
    kubectl create namespace "$NS-far"
    kubectl create configmap far -n "$NS-far"
    part near "$(NS=$NS-far ref configmap far)"
    eventually is_gone configmap near
    run -0 kubectl get configmap far -n "$NS-far" -o name
}

@test "an owner of a kind that nobody knows: no reason to delete anything" {
    part unknown "{apiVersion: nowhere.example.com/v1, kind: Nothing, name: thing, uid: $nowhere}"
    part half-known "$(absent none)" "{apiVersion: nowhere.example.com/v1, kind: Nothing, name: thing, uid: $nowhere}"
    all_seen
    all_seen
    run -0 field .metadata.deletionTimestamp configmap unknown
    says ''
    run -0 names_of_owners configmap half-known
    says 'none thing'
    k delete configmap unknown half-known
}

@test "a reference that is taken away in time saves the object" {
    owner taken
    part saved "$(ref configmap taken)"
    k patch configmap saved --type=merge -p '{"metadata":{"ownerReferences":null}}'
    drop configmap taken
    all_seen
    is_there configmap saved
}

# --- Several owners ---

@test "two owners, one goes: its reference goes, the object stays for the other" {
    owner two-a
    owner two-b
    part two "$(ref configmap two-a)" "$(ref configmap two-b)"
    drop configmap two-a
    eventually shows two-b names_of_owners configmap two
    run -0 field .metadata.deletionTimestamp configmap two
    says ''
    drop configmap two-b
    eventually is_gone configmap two
}

@test "two owners, one never was" {
    owner real
    part half "$(absent none)" "$(ref configmap real)"
    eventually shows real names_of_owners configmap half
}

@test "two owners, both go" {
    owner both-a
    owner both-b
    part both "$(ref configmap both-a)" "$(ref configmap both-b)"
    drop configmap both-a both-b
    eventually is_gone configmap both
}

@test "two owners, one goes in the foreground: the object stays for the other" {
    owner fg-a
    owner fg-b
    part fg-two "$(blocking configmap fg-a)" "$(blocking configmap fg-b)"
    run -0 k delete configmap fg-a --cascade=foreground
    is_gone configmap fg-a
    run -0 names_of_owners configmap fg-two
    says fg-b
    run -0 field '.metadata.ownerReferences[0].blockOwnerDeletion' configmap fg-two
    says true
}

# --- Foreground ---

@test "foreground: the owner waits for what blocks it" {
    owner fg
    make "$(configmap fg-1 "$held" "$(owned_by "$(blocking configmap fg)")")"
    drop configmap fg --cascade=foreground
    eventually being_deleted configmap fg-1
    all_seen
    run -0 field .metadata.finalizers configmap fg
    says '["foregroundDeletion"]'
    being_deleted configmap fg
    free configmap fg-1
    eventually is_gone configmap fg
    is_gone configmap fg-1
}

@test "foreground: what does not block is deleted, but not waited for" {
    owner loose
    make "$(configmap loose-1 "$held" "$(owned_by "$(ref configmap loose)")")"
    make "$(configmap loose-2 "$held" "$(owned_by "$(ref configmap loose 'blockOwnerDeletion: false')")")"
    run -0 k delete configmap loose --cascade=foreground
    is_gone configmap loose
    eventually being_deleted configmap loose-1
    eventually being_deleted configmap loose-2
    free configmap loose-1
    free configmap loose-2
    is_gone configmap loose-1
    is_gone configmap loose-2
}

@test "foreground: nothing is owned" {
    owner alone
    run -0 k delete configmap alone --cascade=foreground
    is_gone configmap alone
}

@test "foreground: the last of a chain goes first" {
    owner deep
    part deep-1 "$(blocking configmap deep)"
    part deep-2 "$(blocking configmap deep-1)"
    make "$(configmap deep-3 "$held" "$(owned_by "$(blocking configmap deep-2)")")"
    drop configmap deep --cascade=foreground
    eventually being_deleted configmap deep-3
    all_seen
    for name in deep deep-1 deep-2; do
        run -0 field .metadata.finalizers configmap "$name"
        says '["foregroundDeletion"]'
    done
    free configmap deep-3
    eventually is_gone configmap deep
    is_gone configmap deep-1
    is_gone configmap deep-2
}

@test "foreground: the owner's own finalizer stays" {
    owner mine "$held"
    part mine-1 "$(blocking configmap mine)"
    drop configmap mine --cascade=foreground
    eventually is_gone configmap mine-1
    eventually shows '["example.com/hold"]' field .metadata.finalizers configmap mine
    free configmap mine
    eventually is_gone configmap mine
}

@test "foreground: many block" {
    owner crowd
    owners=$(owned_by "$(blocking configmap crowd)")
    for n in $(seq 30); do configmap "crowd-$n" "$owners" 'labels: {of: crowd}'; done | k create -f - >"$SCRATCH/created"
    run -0 k delete configmap crowd --cascade=foreground
    run -0 k get configmaps -l of=crowd -o name
    says ''
}

@test "foreground: a part that comes while its owner waits" {
    owner slow
    make "$(configmap slow-1 "$held" "$(owned_by "$(blocking configmap slow)")")"
    drop configmap slow --cascade=foreground
    eventually being_deleted configmap slow-1
    part slow-2 "$(blocking configmap slow)"
    free configmap slow-1
    eventually is_gone configmap slow
    is_gone configmap slow-2
}

# --- Orphan ---

@test "orphan: the parts stay, without the reference" {
    owner left
    owner left-b
    part left-1 "$(ref configmap left)"
    part left-2 "$(ref configmap left-b)" "$(blocking configmap left)"
    run -0 k delete configmap left --cascade=orphan
    is_gone configmap left
    run -0 field .metadata.ownerReferences configmap left-1
    says ''
    run -0 names_of_owners configmap left-2
    says left-b
    all_seen
    is_there configmap left-1
    is_there configmap left-2
}

@test "orphan: nothing is owned" {
    owner single
    run -0 k delete configmap single --cascade=orphan
    is_gone configmap single
}

@test "orphan: the owner's own finalizer stays" {
    owner keeps "$held"
    part keeps-1 "$(ref configmap keeps)"
    drop configmap keeps --cascade=orphan
    eventually shows '["example.com/hold"]' field .metadata.finalizers configmap keeps
    run -0 field .metadata.ownerReferences configmap keeps-1
    says ''
    free configmap keeps
    eventually is_gone configmap keeps
    is_there configmap keeps-1
}

@test "orphan: as older clients ask for it" {
    owner older
    part older-1 "$(ref configmap older)"
    request DELETE "/api/v1/namespaces/$NS/configmaps/older?orphanDependents=true"
    eventually is_gone configmap older
    run -0 field .metadata.ownerReferences configmap older-1
    says ''
}

@test "orphan: only the first step of a chain is cut" {
    owner top
    part middle "$(ref configmap top)"
    part bottom "$(ref configmap middle)"
    k delete configmap top --cascade=orphan
    run -0 names_of_owners configmap bottom
    says middle
    run -0 field .metadata.ownerReferences configmap middle
    says ''
}

@test "orphan and foreground, by finalizers that were there before" {
    owner to-orphan 'finalizers: [orphan]'
    part to-orphan-1 "$(ref configmap to-orphan)"
    owner to-wait 'finalizers: [foregroundDeletion]'
    make "$(configmap to-wait-1 "$held" "$(owned_by "$(blocking configmap to-wait)")")"
    request DELETE "/api/v1/namespaces/$NS/configmaps/to-orphan"
    request DELETE "/api/v1/namespaces/$NS/configmaps/to-wait"
    eventually is_gone configmap to-orphan
    run -0 field .metadata.ownerReferences configmap to-orphan-1
    says ''
    eventually being_deleted configmap to-wait-1
    being_deleted configmap to-wait
    free configmap to-wait-1
    eventually is_gone configmap to-wait
}

# --- Circles ---

# ring A B: two that own each other.
ring() {
    owner "$1"
    part "$2" "$(blocking configmap "$1")"
    k patch configmap "$1" -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"$2\",\"uid\":\"$(uid_of configmap "$2")\",\"blockOwnerDeletion\":true}]}}"
}

@test "a circle that is left alone stays" {
    ring round-a round-b
    all_seen
    is_there configmap round-a
    is_there configmap round-b
}

@test "a circle that is broken goes, in the background" {
    ring bg-a bg-b
    drop configmap bg-a
    eventually is_gone configmap bg-b
    is_gone configmap bg-a
}

@test "a circle that is broken goes, in the foreground" {
    ring fore-a fore-b
    drop configmap fore-a --cascade=foreground
    eventually is_gone configmap fore-a
    eventually is_gone configmap fore-b
}

@test "one that owns itself" {
    owner self
    k patch configmap self -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"self\",\"uid\":\"$(uid_of configmap self)\",\"blockOwnerDeletion\":true}]}}"
    all_seen
    is_there configmap self
    k delete configmap self --cascade=background
    is_gone configmap self
}

# --- Scopes ---

clusterrole() { # NAME [FIELD OF METADATA]...
    local more
    printf -v more ', %s' "name: $NS-$1" "labels: {$NS: mine}" "${@:2}"
    create <<<"$(printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {%s}\nrules: []\n' "${more:2}")"
}

@test "a cluster-scoped owner of parts in several namespaces" {
    clusterrole wide
    kubectl create namespace "$NS-two"
    part wide-1 "$(ref clusterrole "$NS-wide")"
    NS=$NS-two make "$(configmap wide-2 "$(owned_by "$(ref clusterrole "$NS-wide")")")"
    clusterrole narrow "$(owned_by "$(ref clusterrole "$NS-wide")")"
    all_seen
    is_there configmap wide-1
    kubectl delete clusterrole "$NS-wide" --wait=false
    eventually is_gone configmap wide-1
    eventually is_gone clusterrole "$NS-narrow"
    NS=$NS-two eventually is_gone configmap wide-2
}

@test "a cluster-scoped owner in the foreground" {
    clusterrole front
    make "$(configmap front-1 "$held" "$(owned_by "$(blocking clusterrole "$NS-front")")")"
    kubectl delete clusterrole "$NS-front" --cascade=foreground --wait=false
    eventually being_deleted configmap front-1
    being_deleted clusterrole "$NS-front"
    free configmap front-1
    eventually is_gone clusterrole "$NS-front"
}

@test "a namespaced owner of a cluster-scoped object counts for nothing, neither way" {
    owner small
    clusterrole big "$(owned_by "$(ref configmap small)")"
    k delete configmap small
    all_seen
    is_there clusterrole "$NS-big"
    kubectl delete clusterrole "$NS-big"
}

@test "a namespace that ends takes parts and owners alike" {
    kubectl create namespace "$NS-ends"
    (
        NS=$NS-ends
        owner o
        part p "$(blocking configmap o)"
    )
    run -0 kubectl delete namespace "$NS-ends"
}

# --- Custom resources ---

@test "custom resources own what is built in, and are owned by it" {
    make "$(custom "$GROUP" Gear g)"
    part of-gear "$(ref "gears.$GROUP" g)"
    owner builtin
    make "$(custom "$GROUP" Gear of-builtin "$(owned_by "$(ref configmap builtin)")")"
    make "$(custom "$GROUP" Gear of-gear "$(owned_by "$(ref "gears.$GROUP" g)")")"
    eventually drop "gears.$GROUP" g
    drop configmap builtin
    eventually is_gone configmap of-gear
    eventually is_gone "gears.$GROUP" of-builtin
    eventually is_gone "gears.$GROUP" of-gear
}

@test "custom resources of the cluster own custom resources of a namespace" {
    make "$(custom "$GROUP" Axle "$NS")"
    make "$(custom "$GROUP" Gear of-axle "$(owned_by "$(ref "axles.$GROUP" "$NS")")")"
    drop "axles.$GROUP" "$NS"
    eventually is_gone "gears.$GROUP" of-axle
}

@test "custom resources in the foreground" {
    make "$(custom "$GROUP" Gear fg)"
    make "$(custom "$GROUP" Gear fg-1 "$held" "$(owned_by "$(blocking "gears.$GROUP" fg)")")"
    drop "gears.$GROUP" fg --cascade=foreground
    eventually being_deleted "gears.$GROUP" fg-1
    being_deleted "gears.$GROUP" fg
    free "gears.$GROUP" fg-1
    eventually is_gone "gears.$GROUP" fg
}

@test "custom resources left behind" {
    make "$(custom "$GROUP" Gear or)"
    make "$(custom "$GROUP" Gear or-1 "$(owned_by "$(ref "gears.$GROUP" or)")")"
    part or-2 "$(ref "gears.$GROUP" or)"
    k delete "gears.$GROUP" or --cascade=orphan
    run -0 field .metadata.ownerReferences "gears.$GROUP" or-1
    says ''
    run -0 field .metadata.ownerReferences configmap or-2
    says ''
}

@test "a custom resource of two owners loses the reference to the one that goes" {
    make "$(custom "$GROUP" Gear cr-a)"
    owner cr-b
    make "$(custom "$GROUP" Gear cr "$(owned_by "$(ref "gears.$GROUP" cr-a)" "$(ref configmap cr-b)")")"
    drop "gears.$GROUP" cr-a
    eventually shows cr-b names_of_owners "gears.$GROUP" cr
}

@test "a CRD that is deleted takes its objects, and what they own" {
    cogs=cogs.cogs-$GROUP
    cog_crd() { gear_crd "cogs-$GROUP" Namespaced | sed 's/gears/cogs/g; s/gear/cog/g; s/Gear/Cog/g'; }
    cog_crd | kubectl create -f -
    kubectl wait --for=condition=Established "crd/$cogs" --timeout=60s
    eventually l "$cogs"
    make "$(custom "cogs-$GROUP" Cog c)"
    # Known to the collector, once it collects one.
    make "$(custom "cogs-$GROUP" Cog lost "$(owned_by "$(absent none)")")"
    eventually is_gone "$cogs" lost
    part of-cog "$(ref "$cogs" c)"
    run -0 kubectl delete crd "$cogs"
    eventually is_gone configmap of-cog
    cog_crd | kubectl create -f -
    kubectl wait --for=condition=Established "crd/$cogs" --timeout=60s
    eventually l "$cogs"
    run -0 k get "$cogs" -o name
    says ''
    kubectl delete crd "$cogs"
}

@test "a kind that is new since the start is collected as well" {
    sprockets=sprockets.sprockets-$GROUP
    gear_crd "sprockets-$GROUP" Namespaced | sed 's/gears/sprockets/g; s/gear/sprocket/g; s/Gear/Sprocket/g' | kubectl create -f -
    kubectl wait --for=condition=Established "crd/$sprockets" --timeout=60s
    eventually l "$sprockets"
    owner driver
    make "$(custom "sprockets-$GROUP" Sprocket s "$(owned_by "$(ref configmap driver)")")"
    drop configmap driver
    eventually is_gone "$sprockets" s
    kubectl delete crd "$sprockets"
}
