# SPDX-License-Identifier: Apache-2.0
# reeve tree, on a server where the two example packages are installed.

load cli.bash

setup_file() {
    start_packages
    tour
}

teardown_file() { stop_packages; }

tree() { "$REEVE" tree "$@"; }

@test "everything: from the roles on that no other selects" {
    golden tree/all.txt tree
}

@test "without UTF-8 the lines are drawn in ASCII" {
    LOCALE=C golden tree/all-ascii.txt tree
}

@test "a role: what it is made of, and what it goes into" {
    golden tree/role-view.txt tree view
    golden tree/role-view.txt tree role/view
    golden tree/role-view-wide.txt tree view -o wide
}

@test "a package, by its name with or without version and registry, or by the name of its install" {
    for name in wordpressinc/wordpress wordpressinc/wordpress:1.1 docker.io/wordpressinc/wordpress wordpress package/wordpress; do
        golden tree/package-wordpress.txt tree "$name"
    done
    golden tree/package-provider.txt tree provider
    run -1 tree wordpressinc/wordpress:9
}

@test "a namespace: its personas, and who is bound to them" {
    golden tree/namespace.txt tree app-team-1
    golden tree/namespace.txt tree namespace/app-team-1
}

@test "as a document" {
    golden tree/package-wordpress.json tree wordpress -o json
    tree wordpress -o yaml | python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' >"$SCRATCH/from-yaml"
    diff <(jq -S . "$SCRATCH/from-yaml") <(jq -S . "$BATS_TEST_DIRNAME/golden/tree/package-wordpress.json")
}

@test "what a drawing has fits on a terminal" {
    run -0 awk 'length($0) > 80' "$BATS_TEST_DIRNAME"/golden/tree/{all-ascii,namespace,package-provider,package-wordpress,role-view}.txt
    says ''
}

# Pictures are drawn by a program that not everybody has.
needs_dot() { [ -x "$(type -P dot)" ] || skip 'not installed: dot'; }

@test "as text for Graphviz, which has no complaints" {
    golden tree/package-wordpress.dot tree wordpress -o dot
    needs_dot
    run -0 dot -Tplain "$BATS_TEST_DIRNAME/golden/tree/package-wordpress.dot"
    [ "$(grep -c ^node <<<"$output")" -eq "$(grep -c '\[.*label=.*\];$' <(grep -E '^  [rs][0-9]+ \[' "$BATS_TEST_DIRNAME/golden/tree/package-wordpress.dot"))" ]
}

# texts FILE: all texts of an SVG file, one a line.
texts() {
    python3 - "$1" <<'PY'
import sys
import xml.etree.ElementTree as tree
for text in tree.parse(sys.argv[1]).iter('{http://www.w3.org/2000/svg}text'):
    print(text.text)
PY
}

@test "as a picture: an SVG file with every role and everybody in it" {
    needs_dot
    tree wordpress -o svg >"$SCRATCH/roles.svg"
    run -0 texts "$SCRATCH/roles.svg"
    for text in package:wordpressinc:wordpress:1.1:admin crossplane:ns:app-team-1:view 'User jane' 'ServiceAccount app-team-1/wordpress'; do
        mentions "$text"
    done
}

@test "as a page: complete in itself, with picture and drawing" {
    needs_dot
    run -0 tree app-team-1 -o html
    mentions '<svg'
    mentions '└── package:wordpressinc:wordpress:1.1:view'
    lacks '<script'
    lacks 'src='
    lacks 'href='
    mentions "default-src 'none'"
}

@test "names of others are text, whatever they look like" {
    needs_dot
    local name='<img src=x onerror=alert(1)>"];\' user='</pre><script>alert(&amp;)</script>'
    jq -n --arg name "$name" '{apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: {name: $name, labels: {
        "namespace.crossplane.io/app-team-1": "true", "rbac.crossplane.io/aggregate-to-namespace-view": "true"}}, rules: []}' |
        kubectl create -f -
    kubectl create rolebinding odd -n app-team-1 --clusterrole crossplane:ns:app-team-1:view --user "$user"
    tree app-team-1 -o svg >"$SCRATCH/odd.svg"
    run -0 texts "$SCRATCH/odd.svg"
    mentions "$name"
    mentions "User $user"
    run -0 tree app-team-1 -o html
    lacks '<script'
    lacks '<img'
    mentions '&lt;img src=x onerror=alert(1)&gt;&quot;];\'
    run -0 tree "$name"
    kubectl delete clusterrole "$name"
    kubectl delete rolebinding odd -n app-team-1
}

@test "without Graphviz: its text instead of a picture, and a page without one" {
    mkdir -p "$SCRATCH/empty"
    run -1 --separate-stderr env PATH="$SCRATCH/empty" "$REEVE" tree wordpress -o svg
    says "$(cat "$BATS_TEST_DIRNAME/golden/tree/package-wordpress.dot")"
    [[ $stderr == *'no program "dot"'* ]]
    run -0 --separate-stderr env PATH="$SCRATCH/empty" "$REEVE" tree wordpress -o html
    lacks '<svg'
    mentions 'crossplane:ns:app-team-1:admin'
    [[ $stderr == *'no picture'* ]]
}

@test "a program called dot that fails is told, and nothing is printed" {
    mkdir -p "$SCRATCH/bad"
    printf '#!/bin/sh\necho half\nexit 3\n' >"$SCRATCH/bad/dot"
    chmod +x "$SCRATCH/bad/dot"
    run -1 --separate-stderr env PATH="$SCRATCH/bad:/bin" "$REEVE" tree wordpress -o svg
    says ''
    [[ $stderr == *'dot failed'* ]]
}

@test "a word that means several things: the first counts, the others are told" {
    kubectl create namespace view
    kubectl label namespace view e2e=packages rbac.crossplane.io/managed-roles=true
    eventually kubectl get clusterrole crossplane:ns:view:admin
    run -0 --separate-stderr tree view
    [[ $stderr == *'There is a namespace of that name, too: reeve tree namespace/view' ]]
    [[ $output == *'GOES INTO'* ]]
    run -0 --separate-stderr tree namespace/view
    [ "$stderr" = '' ]
    mentions crossplane:ns:view:admin
    kubectl delete namespace view
    eventually is_gone clusterrole crossplane:ns:view:admin
}

@test "several installs of one name: the same package is one, of others one has to be chosen" {
    namespace app-team-2
    namespace_install app-team-2 wordpress wordpressinc/wordpress:1.1
    installed packageinstall wordpress -n app-team-2
    run -0 tree wordpress
    mentions 'bound to ServiceAccount app-team-2/wordpress in app-team-2'
    uninstall packageinstall wordpress -n app-team-2
    namespace_install app-team-2 wordpress wordpressinc/wordpress:1.0
    installed packageinstall wordpress -n app-team-2
    run -1 tree wordpress
    mentions 'wordpress is the name of several installs: wordpressinc:wordpress:1.1 in app-team-1, wordpressinc:wordpress:1.0 in app-team-2'
    run -0 tree wordpress -n app-team-2
    mentions package:wordpressinc:wordpress:1.0:system
    lacks package:wordpressinc:wordpress:1.1
    run -0 tree wordpressinc/wordpress
    mentions package:wordpressinc:wordpress:1.0:system
    mentions package:wordpressinc:wordpress:1.1:system
    uninstall packageinstall wordpress -n app-team-2
}

@test "a stack has no personas, but a role of its own, which only its record names" {
    namespace app-team-3
    thing_crd bars.bar.example.org Namespaced >"$SCRATCH/bar"
    APP='version: "1.0"' INSTALL='apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec: {template: {spec: {containers: [{name: c}]}}}' made_up acme/bar:1.0 Namespaced "$SCRATCH/bar"
    IN=app-team-3 install_of StackInstall bars acme/bar:1.0 | kubectl create -f -
    installed stackinstall bars -n app-team-3
    golden tree/stack.txt tree bars
    uninstall stackinstall bars -n app-team-3
}

@test "what is not there: the nearest name, and what to do" {
    run -1 tree viw
    says 'reeve tree: there is no role, package or namespace "viw", did you mean "view"?'
    run -1 tree role/nosuch
    says 'reeve tree: there is no role "nosuch"'
    run -1 tree default
    says 'reeve tree: the namespace default has no persona roles. To give it some: kubectl label namespace default rbac.crossplane.io/managed-roles=true'
    run -2 tree view edit
    run -2 tree -o picture
}

@test "colours only where they are wanted" {
    run -0 tree view
    lacks $'\e'
    run -0 tree view --color=always
    mentions $'\e[36mview\e[0m'
}

@test "without rights: all that are missing are told" {
    run -1 tree --as jane
    mentions 'list clusterroles.rbac.authorization.k8s.io at the cluster scope'
    kubectl create clusterrole sees-roles --verb=list --resource=clusterroles.rbac.authorization.k8s.io
    kubectl create clusterrolebinding sees-roles --clusterrole sees-roles --user jane
    golden tree/role-view.txt tree view --as jane
    run -1 tree wordpressinc/wordpress --as jane
    mentions 'list clusterrolebindings.rbac.authorization.k8s.io at the cluster scope'
    mentions 'list rolebindings.rbac.authorization.k8s.io'
    lacks 'list clusterroles.'
    kubectl delete clusterrolebinding sees-roles
    kubectl delete clusterrole sees-roles
}
