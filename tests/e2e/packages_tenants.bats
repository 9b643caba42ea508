# SPDX-License-Identifier: Apache-2.0
# Tenants who do not trust each other, on any server: mallory has the admin role of her namespace and nothing else. tests/server
# tenant_attack tries more of it, on "reeve up" alone.

load packages.bash

A=registry.example.org/acme B=evil.example.org/acme
NOTES=notes.note.example.org
DELETE=packages.crossplane.io/delete-instances=true

setup_file() {
    start_packages
    local team
    for team in team-a team-b mallory; do
        namespace "$team" rbac.crossplane.io/managed-roles=true
        eventually is_there clusterrole "crossplane:ns:$team:admin"
        kubectl create rolebinding admin -n "$team" --clusterrole="crossplane:ns:$team:admin" --user="$team"
        eventually may "$team" create packageinstalls.packages.crossplane.io "$team"
    done
    thing_crd $NOTES Namespaced >"$SCRATCH/note"
    thing_crd $NOTES Namespaced 'zone: {type: string, default: evil}' >"$SCRATCH/note-default"
    thing_crd $NOTES Namespaced 'color: {type: string}' >"$SCRATCH/note-color"
    thing_crd pages.note.example.org Namespaced >"$SCRATCH/page"
    APP='version: "1.0"' made_up $A/note:1.0 Namespaced "$SCRATCH/note"
    APP='version: "1.1"' made_up $A/note:1.1 Namespaced "$SCRATCH/note-default"
    APP='version: "1.2"' made_up $A/note:1.2 Namespaced "$SCRATCH/note-color"
    APP='version: "2.0"' made_up $A/note:2.0 Namespaced "$SCRATCH/note" "$SCRATCH/page"
    APP='version: "9.0"' made_up $B/note:9.0 Namespaced "$SCRATCH/note-default"
}

teardown_file() { stop_packages; }

# attack NAME REFERENCE: mallory installs something in her namespace, as herself.
attack() { IN=mallory install_of PackageInstall "$@" | kubectl create --as=mallory -f -; }
mallory() { kubectl --as=mallory -n mallory "$@"; }
# install_in NAMESPACE REFERENCE: of the package note, and wait for it.
install_in() { namespace_install "$1" note "$2" && installed pi note -n "$1"; }
change() { kubectl patch pi note -n "$1" --type=merge -p "{\"spec\":{\"package\":\"$2\"}}"; }
definition() { look crd "${1:-$NOTES}" -o json | jq -cS '[.spec, .metadata.labels["crossplane.io/scope"]]'; }
# instance NAMESPACE [PLURAL]
instance() {
    local plural=${2:-notes}
    create --namespace "$1" <<<"{apiVersion: note.example.org/v1beta1, kind: ${plural^}, metadata: {name: one}, spec: {size: 1}}"
}
clean() {
    kubectl delete notes --all -A --ignore-not-found
    kubectl delete pi --all -A --timeout=120s
    eventually is_gone crd $NOTES
}

# ---- The name of a package, and the CRD that it shares. ----

@test "the same name from another registry: NameConflict, and the definition of others stays" {
    install_in team-a $A/note:1.0
    local before
    before=$(definition)
    attack note $B/note:9.0
    refused NameConflict pi note -n mallory
    run -0 message Ready pi note -n mallory
    mentions $A/note
    mentions $B/note
    [[ $output != *team-a* ]]
    [ "$(definition)" = "$before" ]
    mallory delete pi note
}

@test "a default in a version of hers waits for approval, and is not hers to approve; a new field is" {
    local before
    before=$(definition)
    attack note $A/note:1.1
    refused ApprovalRequired pi note -n mallory
    [ "$(definition)" = "$before" ]
    run -1 mallory annotate pi note "packages.crossplane.io/approved=$(field .status.pendingApproval.id pi note -n mallory)"
    run -1 mallory patch pi note --subresource=status --type=merge -p '{"status":{"acceptedAt":"2020-01-01T00:00:00Z"}}'
    mallory patch pi note --type=merge -p "{\"spec\":{\"package\":\"$A/note:1.2\"}}"
    installed pi note -n mallory
    eventually holds '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties | keys == ["color", "size"]' crd $NOTES
    holds '.status.acceptedAt > "2025"' pi note -n mallory
    [[ "$(field .status.acceptedAt pi note -n team-a)" < "$(field .status.acceptedAt pi note -n mallory)" ]]
    uninstall pi note -n mallory
    eventually holds '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties | keys == ["size"]' crd $NOTES
    clean
}

# ---- CRDs of an administrator. ----

@test "a group that an administrator uses is not hers" {
    thing_crd lamps.office.example.org Namespaced | kubectl create -f -
    thing_crd chairs.office.example.org Namespaced >"$SCRATCH/chair"
    APP='version: "1.0"' made_up $B/chairs:1.0 Namespaced "$SCRATCH/chair"
    attack chairs $B/chairs:1.0
    refused GroupNotAllowed pi chairs -n mallory
    is_gone crd chairs.office.example.org
    mallory delete pi chairs
    kubectl delete crd lamps.office.example.org
}

@test "what an administrator writes into a CRD that she brought stays, and so does the CRD when she leaves" {
    attack note $A/note:1.0
    installed pi note -n mallory
    run -1 mallory annotate crd $NOTES packages.crossplane.io/release=true
    kubectl patch crd $NOTES --type=merge -p '{"spec":{"names":{"shortNames":["nt"]}}}'
    eventually shows Conflict reason Synced pi note -n mallory
    shows '["nt"]' field .spec.names.shortNames crd $NOTES
    uninstall pi note -n mallory
    shows '["nt"]' field .spec.names.shortNames crd $NOTES
    shows '' field '.metadata.annotations.packages\.crossplane\.io/family' crd $NOTES
    kubectl delete crd $NOTES
}

# ---- Accounts and access. ----

@test "an account that a binding names already is not hers to run as" {
    kubectl create clusterrolebinding robots --clusterrole=view --serviceaccount=mallory:note
    attack note $A/note:1.0
    refused ServiceAccountConflict pi note -n mallory
    run -0 message Ready pi note -n mallory
    mentions '"robots"'
    is_gone serviceaccount note -n mallory
    kubectl delete clusterrolebinding robots
    installed pi note -n mallory
    clean
}

@test "a cluster install in kube-system waits, and never becomes a controller of Kubernetes" {
    APP='version: "1.0"' made_up $A/wide:1.0 Cluster "$SCRATCH/page"
    cluster_install unknown-controller $A/wide:1.0 'namespace: kube-system'
    # "reeve up" records that a user with all access asked for it; elsewhere it is not known who did
    [ -z "${REEVE_KUBECONFIG-}${REEVE_MODE-}" ] || refused ApprovalRequired cpi unknown-controller
    kubectl delete cpi unknown-controller
    kubectl create clusterrolebinding route --clusterrole=view --serviceaccount=kube-system:route-controller
    cluster_install route-controller $A/wide:1.0 'namespace: kube-system'
    refused ServiceAccountConflict cpi route-controller
    kubectl delete cpi route-controller
    kubectl delete clusterrolebinding route
}

# binding: of the install chooser in mallory
binding() { echo package:acme:chooser:1.0:system-cluster:mallory; }

@test "a cluster-wide binding goes with its install, uninstalled or by force, and the next of that name inherits nothing" {
    thing_crd links.wire.example.org Cluster | kubectl create -f -
    APP='version: "1.0"
dependsOn: [{crd: links.wire.example.org}]' made_up $B/chooser:1.0 Namespaced
    local way
    for way in uninstall force; do
        attack chooser $B/chooser:1.0
        refused ApprovalRequired pi chooser -n mallory
        is_gone clusterrolebinding "$(binding)"
        approve_pending pi chooser -n mallory
        installed pi chooser -n mallory
        shows '' field .metadata.ownerReferences clusterrolebinding "$(binding)"
        eventually may "$(account mallory chooser)" list links.wire.example.org
        mallory delete pi chooser --wait=false
        [ $way = uninstall ] || mallory patch pi chooser --type=merge -p '{"metadata":{"finalizers":null}}' || is_gone pi chooser -n mallory
        eventually is_gone pi chooser -n mallory
        eventually is_gone clusterrolebinding "$(binding)"
        eventually may_not "$(account mallory chooser)" list links.wire.example.org
    done
    kubectl delete crd links.wire.example.org
}

# ---- Uninstalling. ----

@test "uninstalls of one package at once, with an instance: that one waits, and the CRD goes with the last" {
    local team
    for team in team-a team-b mallory; do namespace_install "$team" note $A/note:1.0; done
    for team in team-a team-b mallory; do installed pi note -n "$team"; done
    instance team-a
    kubectl delete pi --all -A --wait=false
    for team in team-b mallory; do eventually is_gone pi note -n "$team"; done
    eventually shows InUse reason Synced pi note -n team-a
    run -0 message Synced pi note -n team-a
    mentions '1 notes (1 in team-a)'
    may team-a delete $NOTES team-a
    kubectl delete notes one -n team-a
    eventually is_gone pi note -n team-a
    eventually is_gone crd $NOTES
}

@test "she uninstalls while others use the CRD: her instances count, those of others stay" {
    local team
    for team in team-a mallory; do install_in "$team" $A/note:1.0 && instance "$team"; done
    mallory delete pi note --wait=false
    eventually shows InUse reason Synced pi note -n mallory
    run -0 message Synced pi note -n mallory
    mentions '1 notes (1 in mallory)'
    may mallory delete $NOTES mallory
    mallory annotate pi note $DELETE
    eventually is_gone pi note -n mallory
    is_gone notes one -n mallory
    is_there notes one -n team-a
    eventually may_not mallory delete $NOTES mallory
    may team-a delete $NOTES team-a
    clean
}

@test "reeve uninstall changes nothing while there are instances, and says so" {
    [ -n "${REEVE-}" ]
    install_in team-a $A/note:1.0
    instance team-a
    run -1 "$REEVE" uninstall note -n team-a --as team-a
    mentions 'is in use: 1 notes (1 in team-a). Nothing was changed.'
    mentions --when-unused
    mentions --delete-instances
    shows '' field .metadata.deletionTimestamp pi note -n team-a
    clean
}

@test "a CRD that an upgrade drops stays with its instances, and goes with the last one without a restart" {
    install_in team-a $A/note:2.0
    eventually may team-a delete pages.note.example.org team-a
    instance team-a pages
    change team-a $A/note:1.0
    eventually holds '.status.version == "1.0"' pi note -n team-a
    eventually holds 'any(.status.conditions[]; .type == "CRDsRetained" and .status == "True" and (.message | contains("pages")))' pi note -n team-a
    is_there crd pages.note.example.org
    may team-a delete pages.note.example.org team-a
    kubectl delete pages one -n team-a
    eventually is_gone crd pages.note.example.org
    eventually holds 'all(.status.conditions[]; .type != "CRDsRetained" or .status != "True")' pi note -n team-a
    clean
}
