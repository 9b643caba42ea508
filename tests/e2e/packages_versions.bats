# SPDX-License-Identifier: Apache-2.0
# Several versions of a namespace package side by side: the example of the design, foo-v1.0 and foo-v1.1, whose CRD has a new field
# and no new version. Whatever the order in which they come and go, one CRD serves those that are there.

load packages.bash

setup_file() {
    start_packages
    thing_crd foos.foo.example.org Namespaced >"$SCRATCH/foo-1.0"
    thing_crd foos.foo.example.org Namespaced 'color: {type: string}' >"$SCRATCH/foo-1.1"
    sed 's/size: {type: integer}/size: {type: string}/' "$SCRATCH/foo-1.0" >"$SCRATCH/foo-2.0"
    for version in 1.0 1.1 2.0; do APP="version: \"$version\"" made_up acme/foo:$version Namespaced "$SCRATCH/foo-$version"; done
    namespace one
    namespace two
    namespace three
}

teardown_file() { stop_packages; }

CRD=foos.foo.example.org

# schema: the fields that objects may have now.
schema() { look crd $CRD -o json | jq -r '.spec.versions[] | "\(.name): \(.schema.openAPIV3Schema.properties.spec.properties | keys | join(" "))"'; }

# roles: those of all versions, each with the namespaces it is for.
roles() {
    look clusterroles -o json | jq -r '.items[].metadata | select(.name | startswith("package:acme:foo:"))
        | "\(.name) \([.labels | keys[] | select(startswith("namespace.crossplane.io/")) | sub(".*/"; "")] | join(" "))"' | sed 's/ $//' | sort
}

roles_of() { # VERSION NAMESPACE
    printf 'package:acme:foo:%s:%s\n' "$1" "admin $2" "$1" "edit $2" "$1" "system $2" "$1" "view $2"
}

# foo NAMESPACE NAME [FIELD OF SPEC]: an object.
foo() { printf 'apiVersion: foo.example.org/v1beta1\nkind: Foos\nmetadata: {name: %s, namespace: %s}\nspec: {size: 1%s}\n' "$2" "$1" "${3:+, $3}" | kubectl create -f -; }

fields() { look foos "$2" -n "$1" -o json | jq -cS .spec; }

# both FIRST SECOND: two versions are installed, one after the other, in namespaces one (1.0) and two (1.1).
where() { if [ "$1" = 1.0 ]; then echo one; else echo two; fi; }
both() {
    local first=$1 second=$2
    namespace_install "$(where "$first")" foo "acme/foo:$first"
    installed pi foo -n "$(where "$first")"
    if [ "$first" = 1.0 ]; then shows 'v1beta1: size' schema; else shows 'v1beta1: color size' schema; fi
    shows "$(roles_of "$first" "$(where "$first")")" roles
    foo "$(where "$first")" early
    namespace_install "$(where "$second")" foo "acme/foo:$second"
    installed pi foo -n "$(where "$second")"
    installed pi foo -n "$(where "$first")" # still
    shows 'v1beta1: color size' schema
    shows 2 parents $CRD
    shows 'crossplane.io/scope=namespace
namespace.crossplane.io/one=true
namespace.crossplane.io/two=true' labels crd $CRD
    shows "$(roles_of 1.0 one && roles_of 1.1 two)" roles
    foo one old
    foo two new 'color: red'
    shows '{"size":1}' fields "$(where "$first")" early
    shows '{"size":1}' fields one old
    shows '{"color":"red","size":1}' fields two new
}

# last VERSION: the only one left is uninstalled, and nothing stays.
last() {
    kubectl delete foos --all -n one
    kubectl delete foos --all -n two
    uninstall pi foo -n "$(where "$1")"
    eventually is_gone crd $CRD
    shows '' roles
}

without_1_1() {
    kubectl delete foos --all -n two
    uninstall pi foo -n two
    shows 'v1beta1: size' schema
    shows 1 parents $CRD
    shows 'crossplane.io/scope=namespace
namespace.crossplane.io/one=true' labels crd $CRD
    shows "$(roles_of 1.0 one)" roles
    shows '{"size":1}' fields one old
    may "$(account one foo)" update foos.foo.example.org one
    may_not "$(account two foo)" get foos.foo.example.org two
}

without_1_0() {
    kubectl delete foos --all -n one
    uninstall pi foo -n one
    shows 'v1beta1: color size' schema
    shows 1 parents $CRD
    shows 'crossplane.io/scope=namespace
namespace.crossplane.io/two=true' labels crd $CRD
    shows "$(roles_of 1.1 two)" roles
    shows '{"color":"red","size":1}' fields two new
    may "$(account two foo)" update foos.foo.example.org two
    may_not "$(account one foo)" get foos.foo.example.org one
}

@test "foo-v1.0, then foo-v1.1 beside it; foo-v1.1 goes first" {
    both 1.0 1.1
    without_1_1
    last 1.0
}

@test "foo-v1.0, then foo-v1.1 beside it; foo-v1.0 goes first" {
    both 1.0 1.1
    without_1_0
    last 1.1
}

@test "foo-v1.1, then foo-v1.0 beside it; foo-v1.1 goes first" {
    both 1.1 1.0
    without_1_1
    last 1.0
}

@test "foo-v1.1, then foo-v1.0 beside it; foo-v1.0 goes first" {
    both 1.1 1.0
    without_1_0
    last 1.1
}

@test "a version whose CRD takes something back is refused, and nothing changes" {
    both 1.0 1.1
    local before
    before=$(look crd $CRD -o json | jq -c '[.metadata.resourceVersion, .spec]')
    namespace_install three foo acme/foo:2.0
    refused ApprovalRequired pi foo -n three
    run -0 message Ready pi foo -n three
    mentions $CRD
    mentions spec.size
    [ "$(look crd $CRD -o json | jq -c '[.metadata.resourceVersion, .spec]')" = "$before" ]
    shows "$(roles_of 1.0 one && roles_of 1.1 two)" roles
    shows 'default' look serviceaccounts -n three -o 'jsonpath={.items[*].metadata.name}'
    shows '' look deployments,rolebindings,packages -n three -o name
}

@test "it goes without a trace, and they stay" {
    uninstall pi foo -n three
    shows "$(roles_of 1.0 one && roles_of 1.1 two)" roles
    kubectl delete foos --all -n one
    kubectl delete foos --all -n two
    uninstall pi foo -n one
    uninstall pi foo -n two
    eventually is_gone crd $CRD
    shows '' roles
}

@test "a version that was refused goes ahead when those in its way are gone" {
    namespace_install one foo acme/foo:1.0
    installed pi foo -n one
    namespace_install three foo acme/foo:2.0
    refused ApprovalRequired pi foo -n three
    uninstall pi foo -n one
    installed pi foo -n three
    holds '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size.type == "string"' crd $CRD
    shows "$(roles_of 2.0 three)" roles
    uninstall pi foo -n three
    eventually is_gone crd $CRD
}

@test "two packages that claim the same name and version: the second is refused" {
    APP='version: "1.0"' made_up acme/foo:another Namespaced "$SCRATCH/foo-1.1"
    namespace_install one foo acme/foo:1.0
    installed pi foo -n one
    namespace_install two foo acme/foo:another
    refused AlreadyInstalled pi foo -n two
    shows 'v1beta1: size' schema
    uninstall pi foo -n one
    installed pi foo -n two # now there is one
    shows 'v1beta1: color size' schema
    uninstall pi foo -n two
    eventually is_gone crd $CRD
}
