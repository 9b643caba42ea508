# SPDX-License-Identifier: Apache-2.0
# Roles for people: those of the environment, those of namespaces, and what packages add to them.

load packages.bash

setup_file() {
    start_packages
    namespace foo rbac.crossplane.io/managed-roles=true
    namespace baz rbac.crossplane.io/managed-roles=true
    namespace plain
    for role in admin edit view; do
        kubectl create clusterrolebinding "e2e-env-$role" --clusterrole="crossplane-env-$role" --user="env-$role"
        kubectl create rolebinding "e2e-$role" --clusterrole="crossplane:ns:foo:$role" --user="foo-$role" -n foo
    done
    eventually kubectl get clusterrole crossplane:ns:foo:view crossplane:ns:baz:admin
}

teardown_file() {
    kubectl delete clusterrolebinding e2e-env-admin e2e-env-edit e2e-env-view >/dev/null 2>&1
    stop_packages
}

# selectors ROLE: of its aggregation rule, one a line, "key=value" sorted
selectors() { look clusterrole "$1" -o json | jq -r '.aggregationRule.clusterRoleSelectors[] | [.matchLabels | to_entries[] | "\(.key)=\(.value)"] | sort | join(",")'; }

READ='get list watch'
WRITE='create update patch delete deletecollection'
CPI=clusterpackageinstalls.packages.crossplane.io
PI=packageinstalls.packages.crossplane.io

# ---- The examples of the design. ----

@test "crossplane-admin: scope system, aggregates aggregate-to-crossplane-admin" {
    shows crossplane.io/scope=system labels clusterrole crossplane-admin
    shows rbac.crossplane.io/aggregate-to-crossplane-admin=true selectors crossplane-admin
}

@test "crossplane-env-{admin,edit,view}: scope environment, aggregate aggregate-to-environment-{role}" {
    for role in admin edit view; do
        run -0 labels clusterrole crossplane-env-$role
        mentions crossplane.io/scope=environment
        run -0 selectors crossplane-env-$role
        mentions rbac.crossplane.io/aggregate-to-environment-$role=true
    done
}

@test "crossplane:ns:foo:{admin,edit,view}: scope namespace and its namespace, aggregate what is for it" {
    for role in admin edit view; do
        run -0 labels clusterrole crossplane:ns:foo:$role
        mentions crossplane.io/scope=namespace
        mentions namespace.crossplane.io/foo=true
        shows "namespace.crossplane.io/foo=true,rbac.crossplane.io/aggregate-to-namespace-$role=true" selectors crossplane:ns:foo:$role
    done
}

@test "the defaults of the package manager: labelled for the environment, and for each namespace with roles" {
    for role in admin edit view; do
        run -0 labels clusterrole crossplane:package-manager:env:default:$role
        mentions rbac.crossplane.io/aggregate-to-environment-$role=true
        run -0 labels clusterrole crossplane:package-manager:ns:default:$role
        mentions rbac.crossplane.io/aggregate-to-namespace-$role=true
        eventually_mentions() { labels clusterrole crossplane:package-manager:ns:default:$role | grep -qx "namespace.crossplane.io/$1=true"; }
        eventually eventually_mentions foo
        eventually eventually_mentions baz
        lacks namespace.crossplane.io/plain
    done
}

@test "a namespace without the label rbac.crossplane.io/managed-roles has no roles" {
    for role in admin edit view; do is_gone clusterrole crossplane:ns:plain:$role; done
}

# ---- Who may what before any package is there. ----

@test "kubectl {any crossplane-admin operation} --as-group=crossplane:masters" {
    shows 'Group crossplane:masters' look clusterrolebinding crossplane-admin -o 'jsonpath={.subjects[0].kind} {.subjects[0].name}'
    master() { kubectl "$@" --as=somebody --as-group=crossplane:masters; }
    run -0 master create namespace e2e-made
    run -0 master delete namespace e2e-made --wait=false
    run -0 master get clusterpackageinstalls,clusterpackages
    run -0 master get clusterroles,clusterrolebindings
    run -0 master create rolebinding e2e -n plain --clusterrole=crossplane-env-view --user=x
    run -0 master delete rolebinding e2e -n plain
    run -1 kubectl get clusterpackageinstalls --as=somebody --as-group=crossplane:others
    mentions Forbidden
    run -1 kubectl get nodes --as=somebody --as-group=crossplane:masters
    mentions Forbidden
}

@test "crossplane-admin | Admin: ClusterPackages, Crossplane CRDs, Namespaces, (Cluster)RoleBindings, (Cluster)Roles" {
    kubectl create clusterrolebinding e2e-admin --clusterrole=crossplane-admin --user=crossplane-admin-user
    for resource in $CPI namespaces clusterrolebindings.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io \
        clusterroles.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io; do
        may_all crossplane-admin-user $resource '' $READ create update patch delete
    done
    may_all crossplane-admin-user clusterpackages.packages.crossplane.io '' $READ
    may_none crossplane-admin-user clusterroles.rbac.authorization.k8s.io '' escalate bind
    may_none crossplane-admin-user pods plain $READ $WRITE
    may_none crossplane-admin-user customresourcedefinitions.apiextensions.k8s.io '' $WRITE
    kubectl delete clusterrolebinding e2e-admin
}

@test "crossplane-env-admin | Admin: ClusterPackages; crossplane-env-edit | Edit: ClusterPackages; crossplane-env-view: none of it to write, no Secrets" {
    may_all env-admin $CPI '' $READ $WRITE
    may_all env-edit $CPI '' $READ $WRITE
    may_none env-view $CPI '' $WRITE
    may_none env-view secrets '' $READ $WRITE
    may_none env-view secrets foo $READ $WRITE
    may_none env-edit namespaces '' $WRITE
    may_none env-admin clusterroles.rbac.authorization.k8s.io '' $WRITE
}

@test "crossplane:ns:{ns-name}:admin | Admin: PackageInstalls, Packages, ConfigMaps, Secrets" {
    eventually may foo-admin create $PI foo
    may_all foo-admin $PI foo $READ $WRITE
    may_all foo-admin packages.packages.crossplane.io foo $READ
    may_all foo-admin configmaps foo $READ $WRITE
    may_all foo-admin secrets foo $READ $WRITE
}

@test "crossplane:ns:{ns-name}:edit | Edit: PackageInstalls, ConfigMaps, Secrets" {
    eventually may foo-edit create $PI foo
    may_all foo-edit $PI foo $READ $WRITE
    may_all foo-edit configmaps foo $READ $WRITE
    may_all foo-edit secrets foo $READ $WRITE
}

@test "crossplane:ns:{ns-name}:view | View: PackageInstalls, Not permitted: secrets" {
    eventually may foo-view get $PI foo
    may_all foo-view $PI foo $READ
    may_none foo-view $PI foo $WRITE
    may_none foo-view secrets foo $READ $WRITE
}

@test "roles of a namespace, bound there, reach no other, and nothing of the environment" {
    for who in foo-admin foo-edit foo-view; do
        for resource in $PI secrets configmaps; do may_none $who $resource baz $READ $WRITE; done
        may_none $who $CPI '' $READ $WRITE
        may_none $who rolebindings.rbac.authorization.k8s.io foo create update patch
        may_none $who serviceaccounts/token foo create
    done
}

# ---- What packages add. ----

# now COMMAND...: what somebody may when the install is Ready. Kubernetes decides by copies of roles, which come a little later.
now() {
    if [ -n "${REEVE_KUBECONFIG-}" ]; then eventually "$@"; else "$@"; fi
}

@test "a cluster package adds its types to the roles of the environment: admin and edit write, view reads" {
    may_none env-admin mysqlinstances.database.example.org '' get create
    cluster_install provider example/provider-gcp:1.0
    becomes_true Ready cpi provider
    for resource in mysqlinstances.database.example.org cloudsqlinstanceclasses.database.gcp.example.org gkeclusters.compute.gcp.example.org; do
        now may env-view get $resource
        now may env-edit create $resource
        now may env-admin create $resource
        may_all env-admin $resource '' $READ $WRITE
        may_all env-edit $resource '' $READ $WRITE
        may_all env-view $resource '' $READ
        may_none env-view $resource '' $WRITE
    done
    may_none env-view secrets '' $READ $WRITE
}

@test "and full access to crossplane-admin" {
    can() { kubectl auth can-i "$1" mysqlinstances.database.example.org --all-namespaces --as=x --as-group=crossplane:masters; }
    eventually can create
    for verb in $READ $WRITE; do can "$verb"; done
}

@test "but nothing to the roles of namespaces" {
    for who in foo-admin foo-edit foo-view; do may_none $who mysqlinstances.database.example.org foo $READ $WRITE; done
}

@test "a namespace package adds its types to the roles of the namespaces that use it, and to no others" {
    kubectl create rolebinding e2e-view --clusterrole=crossplane:ns:baz:view --user=baz-view -n baz
    namespace_install foo wordpress wordpressinc/wordpress:1.1
    becomes_true Ready pi wordpress -n foo
    local types=wordpressinstances.wordpress.example.org
    now may foo-view get $types foo
    now may foo-edit create $types foo
    now may foo-admin create $types foo
    may_all foo-admin $types foo $READ $WRITE
    may_all foo-edit $types foo $READ $WRITE
    may_all foo-view $types foo $READ
    may_none foo-view $types foo $WRITE
    may_none baz-view $types baz $READ
    for who in env-admin env-edit env-view; do may_none $who $types '' $READ $WRITE; done
    # A claim is the provider's kind: people of a namespace get it by what they install, not by itself.
    for who in foo-admin foo-edit foo-view; do may_none $who mysqlinstances.database.example.org foo $READ $WRITE; done
}

@test "a WordPress view ClusterRole that is installed in both foo and baz" {
    namespace_install baz wordpress wordpressinc/wordpress:1.1
    installed pi wordpress -n baz
    shows 'namespace.crossplane.io/baz=true
namespace.crossplane.io/foo=true
rbac.crossplane.io/aggregate-to-namespace-view=true' labels clusterrole package:wordpressinc:wordpress:1.1:view
    eventually may baz-view get wordpressinstances.wordpress.example.org baz
    may_not baz-view get wordpressinstances.wordpress.example.org foo
}

@test "uninstalled in baz: its roles lose the types, those of foo keep them" {
    uninstall pi wordpress -n baz
    eventually may_not baz-view get wordpressinstances.wordpress.example.org baz
    may foo-view get wordpressinstances.wordpress.example.org foo
    eventually may baz-view get $PI baz
}

# ---- They are kept. ----

@test "what somebody deletes or changes of them comes back" {
    for role in crossplane-admin crossplane-env-view crossplane:package-manager:ns:default:edit crossplane:ns:foo:admin; do
        comes_back clusterrole "$role"
    done
    kubectl label clusterrole crossplane:package-manager:env:default:view rbac.crossplane.io/aggregate-to-environment-view-
    restored() { labels clusterrole crossplane:package-manager:env:default:view | grep -qx rbac.crossplane.io/aggregate-to-environment-view=true; }
    eventually restored
    kubectl patch clusterrole crossplane:package-manager:ns:default:view --type=json -p '[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}}]'
    no_secrets() { ! rules crossplane:package-manager:ns:default:view | grep secrets; }
    eventually no_secrets
    comes_back clusterrolebinding crossplane-admin
    eventually may foo-admin create wordpressinstances.wordpress.example.org foo
    eventually may env-view list mysqlinstances.database.example.org
}

@test "the label is taken off a namespace: its roles are gone, and nobody has rights by them" {
    kubectl label namespace foo rbac.crossplane.io/managed-roles-
    for role in admin edit view; do eventually is_gone clusterrole crossplane:ns:foo:$role; done
    eventually may_not foo-admin get $PI foo
    unlabelled() { ! labels clusterrole crossplane:package-manager:ns:default:$1 | grep -q "^namespace.crossplane.io/$2="; }
    for role in admin edit view; do eventually unlabelled $role foo; done
    # What is installed there stays installed.
    installed pi wordpress -n foo
}

@test "the label comes back, and the roles with it" {
    kubectl label namespace foo rbac.crossplane.io/managed-roles=true
    eventually may foo-view list wordpressinstances.wordpress.example.org foo
    may_none foo-view wordpressinstances.wordpress.example.org foo $WRITE
}

@test "a namespace is deleted: its roles are gone" {
    kubectl delete namespace baz
    for role in admin edit view; do eventually is_gone clusterrole crossplane:ns:baz:$role; done
    for role in admin edit view; do
        gone() { ! labels clusterrole crossplane:package-manager:ns:default:$role | grep -q '^namespace.crossplane.io/baz='; }
        eventually gone
    done
}
