# SPDX-License-Identifier: Apache-2.0
# Jane is the administrator of a namespace, and of nothing else. The two objects of the design are enough for self-service: she
# installs, uses and removes WordPress with kubectl.

load packages.bash

setup_file() {
    start_packages
    namespace app-team-2 rbac.crossplane.io/managed-roles=true
    kubectl create -f "$ROOT/examples/tour/1-provider.yaml"
    installed cpi provider
    start_controller provider crossplane-system provider
    kubectl create -f "$ROOT/examples/tour/2-class.yaml"
    kubectl create secret generic theirs --from-literal=a=b -n app-team-2
    kubectl create configmap theirs --from-literal=a=b -n app-team-2
}

teardown_file() { stop_packages; }

jane() { kubectl --as=jane "$@"; }

ALL=create,delete,deletecollection,get,list,patch,update,watch

# rights: all that she may do, but for what every user may: ask what she may do, and read CRDs.
rights() {
    allowed jane | sed -E -e '/^- self[a-z]+\.auth[a-z]+\.k8s\.io create$/d' -e '/^- customresourcedefinitions\.apiextensions\.k8s\.io get,list,watch$/d'
}

# What the role of a namespace has before anything is installed.
first_rights() {
    printf 'app-team-1 %s\n' "configmaps $ALL" 'events get,list,watch' "secrets $ALL" "packageinstalls.packages.crossplane.io $ALL" 'packages.packages.crossplane.io get,list,watch' \
        "stackinstalls.stacks.crossplane.io $ALL" 'stacks.stacks.crossplane.io get,list,watch'
}

@test "nobody knows jane" {
    shows '' rights
}

@test "the environment administrator sets up a namespace where Jane is the administrator" {
    run -0 kubectl create -f - <<'YAML'
apiVersion: v1
kind: Namespace
metadata:
  creationTimestamp: 2019-10-16T18:25:10Z
  name: app-team-1
  labels:
    rbac.crossplane.io/managed-roles: "true" # Package manager creates and will manage namespace specific ClusterRoles when it see's this.
---
apiVersion: rbac.authorization.k8s.io/v1
# This role binding allows "jane" to admin the Crossplane app-team-1 namespace.
kind: RoleBinding
metadata:
  name: admin-namespace
  namespace: app-team-1
subjects:
- kind: User
  name: jane # Name is case sensitive
  apiGroup: rbac.authorization.k8s.io
roleRef:
  kind: ClusterRole
  name: crossplane:ns:app-team-1:admin
  apiGroup: rbac.authorization.k8s.io
YAML
    kubectl label namespace app-team-1 e2e=packages
    eventually may jane create packageinstalls.packages.crossplane.io app-team-1
}

@test "that is all that she may do, of all verbs, kinds and namespaces" {
    run -0 rights
    says "$(first_rights)"
}

@test "kubectl auth can-i --list tells her the same" {
    run -0 jane auth can-i --list -n app-team-1
    matches 'packageinstalls\.packages\.crossplane\.io +\[\] +\[\] +\[.*create.*\]'
    matches 'secrets +\[\] +\[\] +\[.*create.*\]'
    lacks wordpressinstances
    run -0 jane auth can-i --list -n app-team-2
    lacks secrets
    lacks packageinstalls
}

@test "jane installs WordPress" {
    run -0 jane create -f "$ROOT/examples/tour/4-wordpress.yaml"
    run -0 jane wait packageinstall/wordpress -n app-team-1 --for=condition=Installed --timeout=60s
    run -0 jane get packageinstalls -n app-team-1
    matches 'wordpress +True .*'
    run -0 jane get packages -n app-team-1 -o name
    mentions package.packages.crossplane.io/
}

@test "her role has grown by the kind of the package, and by nothing else" {
    eventually may jane create wordpressinstances.wordpress.example.org app-team-1
    run -0 rights
    says "$(first_rights && printf 'app-team-1 %s\n' "wordpressinstances.wordpress.example.org $ALL" "wordpressinstances/status.wordpress.example.org $ALL")"
}

@test "she uses it: the blog gets its database from the environment" {
    run -0 jane create -f "$ROOT/examples/tour/5-blog.yaml"
    start_controller wordpress app-team-1 wordpress
    run -0 jane wait wordpressinstance/blog -n app-team-1 --for=jsonpath='{.status.phase}'=Running --timeout=60s
    run -0 jane get wordpressinstances -n app-team-1
    matches 'blog +Running +https://blog\.app-team-1\.blogs\.example\.org/ +.*'
    run -0 jane get configmap blog-settings -n app-team-1 -o 'jsonpath={.data.title}'
    says "Jane's"
    run -0 jane get secret blog-mysql -n app-team-1 -o 'jsonpath={.data.username}'
    says YWRtaW4=
    run -0 jane patch wordpressinstance blog -n app-team-1 --type=merge -p '{"spec":{"theme":"dark"}}'
}

@test "she can do nothing anywhere else" {
    for command in 'get secret theirs -n app-team-2' 'get configmaps -n app-team-2' 'get packageinstalls -n app-team-2' 'get packageinstalls --all-namespaces' \
        'get clusterpackageinstalls' 'get secrets -n crossplane-system' 'get namespaces' 'delete crd wordpressinstances.wordpress.example.org' 'get clusterroles' 'get nodes' \
        'delete namespace app-team-1' 'get pods -n app-team-1' 'get rolebindings -n app-team-1' 'get serviceaccounts -n app-team-1' \
        'create token wordpress -n app-team-1' 'create rolebinding x -n app-team-1 --clusterrole=crossplane:ns:app-team-1:admin --user=x' \
        'get mysqlinstances -n app-team-1' 'get secret theirs -n app-team-2 --as-group=app-team-2' \
        'patch clusterrole crossplane:ns:app-team-1:admin --type=merge -p {}' \
        'patch packageinstall wordpress -n app-team-1 --subresource=status --type=merge -p {}'; do
        run -1 jane $command
        mentions orbidden
    done
    run -1 jane create -n app-team-2 -f - <<<"$(IN='' install_of PackageInstall wordpress wordpressinc/wordpress:1.1)"
    mentions orbidden
    run -1 jane create -f - <<<"$(IN='' install_of ClusterPackageInstall mine example/provider-gcp:1.0)"
    mentions orbidden
}

@test "a cluster package is refused in her namespace" {
    run -0 jane create -n app-team-1 -f - <<<"$(IN='' install_of PackageInstall provider example/provider-gcp:1.0)"
    refused ScopeMismatch packageinstall provider -n app-team-1 --as=jane
    run -0 jane delete packageinstall provider -n app-team-1
    is_gone serviceaccount provider -n app-team-1
}

@test "she cannot remove it while her blog is there" {
    run -0 jane delete packageinstall wordpress -n app-team-1 --wait=false
    eventually shows InUse reason Ready packageinstall wordpress -n app-team-1 --as=jane
    run -0 message Ready packageinstall wordpress -n app-team-1 --as=jane
    mentions '1 wordpressinstances (1 in app-team-1)'
}

@test "she removes it with all that is hers" {
    run -0 jane annotate packageinstall wordpress -n app-team-1 packages.crossplane.io/delete-instances=true
    eventually is_gone packageinstall wordpress -n app-team-1
    eventually is_gone crd wordpressinstances.wordpress.example.org
    eventually shows "$(first_rights)" rights
}
