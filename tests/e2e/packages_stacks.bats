# SPDX-License-Identifier: Apache-2.0
# The dialect of before: stacks.crossplane.io, revision 1.0 of the design. The same packages, other kinds, names and rules.

load packages.bash

setup_file() {
    start_packages
    thing_crd bars.bar.example.org Namespaced >"$SCRATCH/bar"
    APP='version: "1.0"' INSTALL='apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec: {template: {spec: {containers: [{name: c}]}}}' made_up acme/bar:1.0 Cluster "$SCRATCH/bar"
    namespace one rbac.crossplane.io/managed-roles=true
    namespace two
}

teardown_file() { stop_packages; }

CRD=wordpressinstances.wordpress.example.org

stack_install() { IN=$1 install_of StackInstall "${@:2}" | kubectl create -f -; }
cluster_stack_install() { IN='' install_of ClusterStackInstall "$@" | kubectl create -f -; }

@test "the user creates a StackInstall and specifies the WordPress stack" {
    run -0 kubectl create -f - <<'YAML'
apiVersion: stacks.crossplane.io/v1alpha1
kind: StackInstall
metadata:
  name: wordpress
  namespace: one
spec:
  package: wordpressinc/wordpress:1.0
YAML
    installed stackinstall wordpress -n one
}

@test "a single CRD is installed, without labels of scope" {
    run -0 labels crd $CRD
    says ''
    shows 1 parents $CRD
}

@test "a Role in the target namespace: core kinds, owned CRDs, and those that it depends on once they are there" {
    shows 'configmaps *
events *
secrets *
wordpressinstances.wordpress.example.org *
wordpressinstances/finalizers.wordpress.example.org *
wordpressinstances/status.wordpress.example.org *' rules wordpress role -n one
}

@test "a ServiceAccount, and a RoleBinding of the Role to it, named after the stack" {
    is_there serviceaccount wordpress -n one
    shows 'Role wordpress' look rolebinding wordpress -n one -o 'jsonpath={.roleRef.kind} {.roleRef.name}'
    shows '[{"kind":"ServiceAccount","name":"wordpress","namespace":"one"}]' look rolebinding wordpress -n one -o 'jsonpath={.subjects}'
}

@test "a Deployment in the same namespace as the stack" {
    shows wordpress look deployment wordpress-controller -n one -o 'jsonpath={.spec.template.spec.serviceAccountName}'
}

@test "no roles for people, and none of the cluster" {
    run -0 look clusterroles,clusterrolebindings -o name
    lacks stack:
    lacks wordpress
}

@test "only the given namespace: nothing anywhere else" {
    local stack
    stack=$(account one wordpress)
    may "$stack" list secrets one
    may "$stack" update wordpressinstances.wordpress.example.org/status one
    may_not "$stack" list secrets two
    may_not "$stack" list wordpressinstances.wordpress.example.org two
    may_not "$stack" list wordpressinstances.wordpress.example.org
}

@test "a package install of the same image in the same place is AlreadyInstalled" {
    namespace_install one wp wordpressinc/wordpress:1.0
    refused AlreadyInstalled pi wp -n one
    uninstall pi wp -n one
}

@test "a cluster stack: a ClusterRole and a ClusterRoleBinding, named after the stack; a Deployment in the namespace of the spec" {
    cluster_stack_install bar acme/bar:1.0 'namespace: two'
    installed clusterstackinstall bar
    shows 'bars.bar.example.org *
bars/finalizers.bar.example.org *
configmaps *
events *
secrets *' rules bar
    shows 'ClusterRole bar' look clusterrolebinding bar -o 'jsonpath={.roleRef.kind} {.roleRef.name}'
    shows '[{"kind":"ServiceAccount","name":"bar","namespace":"two"}]' look clusterrolebinding bar -o 'jsonpath={.subjects}'
    shows bar look deployment bar-controller -n two -o 'jsonpath={.spec.template.spec.serviceAccountName}'
    run -0 labels crd bars.bar.example.org
    says ''
    may "$(account two bar)" list secrets
    may "$(account two bar)" delete bars.bar.example.org one
}

@test "only one instance of each cluster stack" {
    cluster_stack_install again acme/bar:1.0
    refused AlreadyInstalled clusterstackinstall again
    uninstall clusterstackinstall again
    cluster_install again acme/bar:1.0
    refused AlreadyInstalled cpi again
    uninstall cpi again
}

@test "access to cluster scoped CRDs is not granted, even for cluster stacks" {
    cluster_stack_install provider example/provider-gcp:1.0
    refused InvalidPackage clusterstackinstall provider
    run -0 message Ready clusterstackinstall provider
    mentions cloudsqlinstanceclasses.database.gcp.example.org
    run -0 look crds -o name
    lacks gcp.example.org
    uninstall clusterstackinstall provider
}

@test "scope mismatch: an error status should be set on the install resource, both ways" {
    stack_install two small acme/bar:1.0
    refused ScopeMismatch stackinstall small -n two
    run -0 message Ready stackinstall small -n two
    mentions ClusterStackInstall
    uninstall stackinstall small -n two
    cluster_stack_install wordpress wordpressinc/wordpress:1.1
    refused ScopeMismatch clusterstackinstall wordpress
    run -0 message Ready clusterstackinstall wordpress
    mentions StackInstall
    uninstall clusterstackinstall wordpress
}

@test "a name that another install has in that place is not taken over" {
    stack_install two bar wordpressinc/wordpress:1.0
    refused Conflict stackinstall bar -n two
    run -0 message Ready stackinstall bar -n two
    mentions 'ClusterStackInstall bar'
    uninstall stackinstall bar -n two
    is_there serviceaccount bar -n two
}

@test "two versions of a namespace stack, in two namespaces" {
    stack_install two wordpress wordpressinc/wordpress:1.1
    refused ApprovalRequired stackinstall wordpress -n two # the new field has a default, which objects of others would get
    kubectl annotate stackinstall wordpress -n two \
        "stacks.crossplane.io/approved=$(look stackinstall wordpress -n two -o 'jsonpath={.status.pendingApproval.id}')"
    installed stackinstall wordpress -n two
    shows 2 parents $CRD
    holds '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties | has("theme")' crd $CRD
    may "$(account two wordpress)" list secrets two
    may_not "$(account two wordpress)" list secrets one
}

@test "uninstalled, all of it is gone" {
    uninstall stackinstall wordpress -n one
    shows 1 parents $CRD
    uninstall stackinstall wordpress -n two
    uninstall clusterstackinstall bar
    eventually is_gone crd $CRD
    eventually is_gone crd bars.bar.example.org
    is_gone clusterrole bar
    is_gone clusterrolebinding bar
    for object in 'role wordpress' 'rolebinding wordpress' 'serviceaccount wordpress' 'deployment wordpress-controller'; do is_gone $object -n one; done
    shows '' look clusterstacks,stacks --all-namespaces -o name
}
