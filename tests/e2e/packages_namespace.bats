# SPDX-License-Identifier: Apache-2.0
# A namespace package: WordPress of examples/, in the six steps of its installation flow, with the real controllers.

load packages.bash

setup_file() {
    start_packages
    namespace app-a
    namespace app-b
    cluster_install provider example/provider-gcp:1.0
    installed cpi provider
    start_controller provider crossplane-system provider
    kubectl create -f - <<'YAML'
apiVersion: database.gcp.example.org/v1alpha1
kind: CloudSQLInstanceClass
metadata: {name: standard}
spec: {default: true, tier: small, region: north}
YAML
    kubectl create secret generic private --from-literal=a=b -n app-b
}

teardown_file() { stop_packages; }

ROLE=package:wordpressinc:wordpress:1.1
CRD=wordpressinstances.wordpress.example.org

@test "1. the user creates a PackageInstall and specifies the WordPress package" {
    run -0 kubectl create -f - <<'YAML'
apiVersion: packages.crossplane.io/v1alpha1
kind: PackageInstall
metadata:
  name: wordpress
  namespace: app-a
spec:
  package: wordpressinc/wordpress:1.1
YAML
    installed pi wordpress -n app-a
}

@test "2. a single CRD is installed, WordPressInstance, labelled for namespaces and for this one" {
    run -0 labels crd $CRD
    says 'crossplane.io/scope=namespace
namespace.crossplane.io/app-a=true'
    run -0 look crds --selector crossplane.io/scope=namespace,namespace.crossplane.io/app-a=true -o name
    says "customresourcedefinition.apiextensions.k8s.io/$CRD"
    run -0 kubectl get crds --selector crossplane.io/scope=namespace,namespace.crossplane.io/app-b=true
    says 'No resources found'
}

@test "2. the system ClusterRole: core kinds, owned CRDs, and the CRDs that it depends on" {
    run -0 rules $ROLE:system
    says 'configmaps *
events *
mysqlinstances.database.example.org *
secrets *
wordpressinstances.wordpress.example.org *
wordpressinstances/finalizers.wordpress.example.org *
wordpressinstances/status.wordpress.example.org *'
    run -0 labels clusterrole $ROLE:system
    lacks aggregate-to
}

@test "2. ClusterRoles for admin, edit, and view: the owned CRDs, not those it depends on" {
    for role in admin edit; do
        run -0 rules $ROLE:$role
        says 'wordpressinstances.wordpress.example.org create,delete,deletecollection,get,list,patch,update,watch
wordpressinstances/status.wordpress.example.org create,delete,deletecollection,get,list,patch,update,watch'
    done
    run -0 rules $ROLE:view
    says 'wordpressinstances.wordpress.example.org get,list,watch
wordpressinstances/status.wordpress.example.org get,list,watch'
    for role in edit view; do
        shows "namespace.crossplane.io/app-a=true
rbac.crossplane.io/aggregate-to-namespace-$role=true" labels clusterrole $ROLE:$role
    done
    shows 'namespace.crossplane.io/app-a=true
rbac.crossplane.io/aggregate-to-crossplane-admin=true
rbac.crossplane.io/aggregate-to-namespace-admin=true' labels clusterrole $ROLE:admin
}

@test "2. a ServiceAccount, and a RoleBinding in the target namespace to the system ClusterRole" {
    run -0 look serviceaccount wordpress -n app-a -o name
    shows "ClusterRole $ROLE:system" look rolebinding $ROLE:system -n app-a -o 'jsonpath={.roleRef.kind} {.roleRef.name}'
    shows '[{"kind":"ServiceAccount","name":"wordpress","namespace":"app-a"}]' look rolebinding $ROLE:system -n app-a -o 'jsonpath={.subjects}'
    is_gone clusterrolebinding $ROLE:system
    is_gone clusterrole $ROLE:system-cluster
}

@test "2. a Deployment in the same namespace as the package" {
    shows wordpress look deployment wordpress-controller -n app-a -o 'jsonpath={.spec.template.spec.serviceAccountName}'
    shows "wordpressinc/wordpress:1.1@$(look pi wordpress -n app-a -o jsonpath='{.status.resolvedPackage}')" look deployment wordpress-controller -n app-a -o 'jsonpath={.spec.template.spec.containers[0].image}'
}

@test "3. the user creates a WordPressInstance in the same namespace" {
    run -0 kubectl create -f - <<'YAML'
apiVersion: wordpress.example.org/v1beta1
kind: WordPressInstance
metadata: {name: blog, namespace: app-a}
spec: {title: Notes, theme: dark}
YAML
}

@test "4. the WordPress controller sees it, 5. and creates a claim for a database" {
    start_controller wordpress app-a wordpress
    eventually is_there mysqlinstance blog-mysql -n app-a
    shows WordPressInstance/blog look mysqlinstance blog-mysql -n app-a -o 'jsonpath={.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}'
}

@test "6. the claim is served by the default class of the environment, and the blog runs" {
    kubectl wait mysqlinstance/blog-mysql -n app-a --for=jsonpath='{.status.phase}'=Bound --timeout=60s
    shows standard look mysqlinstance blog-mysql -n app-a -o 'jsonpath={.status.class}'
    kubectl wait wordpressinstance/blog -n app-a --for=jsonpath='{.status.phase}'=Running --timeout=60s
    shows blog-mysql.app-a.sql.example.org look configmap blog-settings -n app-a -o 'jsonpath={.data.database}'
    shows dark look configmap blog-settings -n app-a -o 'jsonpath={.data.theme}'
}

@test "isolation: its token is refused in every other namespace, and everywhere at once" {
    local token
    token=$(kubectl create token wordpress -n app-a)
    answer() { curl -s -o /dev/null -w '%{http_code}' --cacert "$CA" -H "Authorization: Bearer $token" "$SERVER$1"; }
    shows 200 answer /api/v1/namespaces/app-a/secrets
    shows 403 answer /api/v1/namespaces/app-b/secrets
    shows 403 answer /api/v1/namespaces/app-b/secrets/private
    shows 403 answer /api/v1/secrets
    shows 403 answer /apis/wordpress.example.org/v1beta1/namespaces/app-b/wordpressinstances
    shows 403 answer /apis/wordpress.example.org/v1beta1/wordpressinstances
    shows 403 answer /apis/database.example.org/v1alpha1/namespaces/app-b/mysqlinstances
    shows 403 answer /api/v1/namespaces/app-a/pods
    shows 403 answer /api/v1/namespaces/app-a
}

@test "isolation: a controller that tries to work in another namespace gets nowhere" {
    start_controller wordpress app-a wordpress WATCH_NAMESPACE=app-b
    eventually grep -q 'wordpressinstances.wordpress.example.org is forbidden: User "system:serviceaccount:app-a:wordpress" cannot list resource "wordpressinstances" in API group "wordpress.example.org" in the namespace "app-b"' "$CONTROLLER_LOG"
    stop_controller "$CONTROLLER"
}

@test "isolation: all that it may do, of all verbs, kinds and namespaces" {
    run -0 allowed "$(account app-a wordpress)" system:serviceaccounts system:serviceaccounts:app-a
    run grep -vE '^- self[a-z]+\.auth[a-z]+\.k8s\.io create$|^- customresourcedefinitions\.apiextensions\.k8s\.io get,list,watch$' <<<"$output"
    all=create,delete,deletecollection,get,list,patch,update,watch
    says "app-a configmaps $all
app-a events $all
app-a secrets $all
app-a mysqlinstances.database.example.org $all
app-a wordpressinstances.wordpress.example.org $all
app-a wordpressinstances/status.wordpress.example.org $all"
}

@test "a second namespace that installs it adds one label to the roles and the CRD that are there" {
    local before after
    before=$(look clusterrole $ROLE:view -o 'jsonpath={.metadata.uid}')
    namespace_install app-b wp wordpressinc/wordpress:1.1
    installed pi wp -n app-b
    after=$(look clusterrole $ROLE:view -o 'jsonpath={.metadata.uid}')
    [ "$before" = "$after" ]
    for role in edit view; do
        shows "namespace.crossplane.io/app-a=true
namespace.crossplane.io/app-b=true
rbac.crossplane.io/aggregate-to-namespace-$role=true" labels clusterrole $ROLE:$role
    done
    for role in admin system; do
        run -0 labels clusterrole $ROLE:$role
        mentions 'namespace.crossplane.io/app-a=true
namespace.crossplane.io/app-b=true'
    done
    run -0 labels crd $CRD
    says 'crossplane.io/scope=namespace
namespace.crossplane.io/app-a=true
namespace.crossplane.io/app-b=true'
    shows 2 parents $CRD
    shows wp look rolebinding $ROLE:system -n app-b -o 'jsonpath={.subjects[0].name}'
    may_not "$(account app-b wp)" list secrets app-a
    may_not "$(account app-a wordpress)" list secrets app-b
    may "$(account app-b wp)" list secrets app-b
}

@test "when one namespace uninstalls it, the other keeps CRD, roles, rights and data" {
    uninstall pi wp -n app-b
    run -0 labels crd $CRD
    says 'crossplane.io/scope=namespace
namespace.crossplane.io/app-a=true'
    run -0 labels clusterrole $ROLE:view
    says 'namespace.crossplane.io/app-a=true
rbac.crossplane.io/aggregate-to-namespace-view=true'
    for object in "rolebinding $ROLE:system" 'serviceaccount wp' 'deployment wp-controller'; do is_gone $object -n app-b; done
    shows Running look wordpressinstance blog -n app-a -o 'jsonpath={.status.phase}'
    may_not "$(account app-b wp)" list secrets app-b
}

@test "uninstalling it with its instances: they go first, while the controller still runs" {
    kubectl annotate pi wordpress -n app-a packages.crossplane.io/delete-instances=true
    uninstall pi wordpress -n app-a
    eventually is_gone crd $CRD
    for role in system admin edit view; do is_gone clusterrole $ROLE:$role; done
    is_gone deployment wordpress-controller -n app-a
    is_gone rolebinding $ROLE:system -n app-a
    is_gone serviceaccount wordpress -n app-a
    eventually is_gone mysqlinstance blog-mysql -n app-a
    shows '' look packages -n app-a -o name
}
