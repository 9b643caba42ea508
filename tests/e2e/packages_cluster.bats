# SPDX-License-Identifier: Apache-2.0
# A cluster package: the provider of examples/, from the ClusterPackageInstall to what its controller may do.

load packages.bash

setup_file() {
    start_packages
    namespace foo
}

teardown_file() { stop_packages; }

ROLE=package:example:provider-gcp:1.0

# The six kinds, as "kubectl get crds -o name" lists them.
crds() {
    cat <<'TEXT'
cloudsqlinstanceclasses.database.gcp.example.org
cloudsqlinstances.database.gcp.example.org
gkeclusters.compute.gcp.example.org
mysqlinstances.database.example.org
networks.compute.gcp.example.org
subnetworks.compute.gcp.example.org
TEXT
}

# people VERBS: the rules of a role for people.
people() {
    cat <<TEXT
cloudsqlinstanceclasses.database.gcp.example.org $1
cloudsqlinstances.database.gcp.example.org $1
cloudsqlinstances/status.database.gcp.example.org $1
gkeclusters.compute.gcp.example.org $1
gkeclusters/scale.compute.gcp.example.org $1
gkeclusters/status.compute.gcp.example.org $1
mysqlinstances.database.example.org $1
mysqlinstances/status.database.example.org $1
networks.compute.gcp.example.org $1
networks/status.compute.gcp.example.org $1
subnetworks.compute.gcp.example.org $1
subnetworks/status.compute.gcp.example.org $1
TEXT
}

@test "the user creates a ClusterPackageInstall that says which cluster package to install" {
    run -0 kubectl create -f - <<'YAML'
apiVersion: packages.crossplane.io/v1alpha1
kind: ClusterPackageInstall
metadata:
  name: provider
spec:
  package: example/provider-gcp:1.0
YAML
    says 'clusterpackageinstall.packages.crossplane.io/provider created'
    installed cpi provider
    eventually shows True look cpi provider -o 'jsonpath={.status.conditions[?(@.type=="Synced")].status}'
}

@test "all CRDs of the package are in the cluster, labelled crossplane.io/scope: environment" {
    for crd in $(crds); do
        run -0 labels crd "$crd"
        says crossplane.io/scope=environment
        kubectl wait "crd/$crd" --for=condition=Established --timeout=60s
        shows 1 parents "$crd"
    done
}

@test "an environment admin fetches the CRDs of the environment: kubectl get crds --selector crossplane.io/scope=environment" {
    run -0 kubectl get crds --selector crossplane.io/scope=environment -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}'
    says "$(crds)"
}

@test "a namespace admin of foo does not find them: kubectl get crds --selector crossplane.io/scope=namespace,namespace.crossplane.io/foo=true" {
    run -0 kubectl get crds --selector crossplane.io/scope=namespace,namespace.crossplane.io/foo=true
    says 'No resources found'
}

@test "CRDs tell about themselves in annotations" {
    note() { look crd "$1" -o json | jq -r --arg key "packages.crossplane.io/$2" '.metadata.annotations[$key]'; }
    shows 'Example Cloud' note networks.compute.gcp.example.org package-title
    shows Compute note networks.compute.gcp.example.org group-title
    shows Databases note mysqlinstances.database.example.org group-title
    shows 'MySQL database' note mysqlinstances.database.example.org resource-title
    shows 'MySQL databases' note mysqlinstances.database.example.org resource-title-plural
    [[ $(note networks.compute.gcp.example.org icon-data-uri) == data:image/svg+xml\;base64,* ]]
    [[ $(note mysqlinstances.database.example.org ui-schema) == *'path: .spec.engineVersion'* ]]
    shows null note networks.compute.gcp.example.org ui-schema
}

@test "the system ClusterRole: the allowed core kinds and the package's owned CRDs" {
    run -0 rules "$ROLE:system"
    says 'cloudsqlinstanceclasses.database.gcp.example.org *
cloudsqlinstanceclasses/finalizers.database.gcp.example.org *
cloudsqlinstances.database.gcp.example.org *
cloudsqlinstances/finalizers.database.gcp.example.org *
cloudsqlinstances/status.database.gcp.example.org *
configmaps *
events *
gkeclusters.compute.gcp.example.org *
gkeclusters/finalizers.compute.gcp.example.org *
gkeclusters/scale.compute.gcp.example.org *
gkeclusters/status.compute.gcp.example.org *
mysqlinstances.database.example.org *
mysqlinstances/finalizers.database.example.org *
mysqlinstances/status.database.example.org *
networks.compute.gcp.example.org *
networks/finalizers.compute.gcp.example.org *
networks/status.compute.gcp.example.org *
secrets *
subnetworks.compute.gcp.example.org *
subnetworks/finalizers.compute.gcp.example.org *
subnetworks/status.compute.gcp.example.org *'
}

@test "the system ClusterRole is aggregated to nobody" {
    run -0 labels clusterrole "$ROLE:system"
    lacks aggregate-to
}

@test "ClusterRoles for admin, edit, and view for the package's owned CRDs" {
    run -0 rules "$ROLE:admin"
    says "$(people create,delete,deletecollection,get,list,patch,update,watch)"
    run -0 rules "$ROLE:edit"
    says "$(people create,delete,deletecollection,get,list,patch,update,watch)"
    run -0 rules "$ROLE:view"
    says "$(people get,list,watch)"
    for role in edit view; do shows "rbac.crossplane.io/aggregate-to-environment-$role=true" labels clusterrole "$ROLE:$role"; done
    shows 'rbac.crossplane.io/aggregate-to-crossplane-admin=true
rbac.crossplane.io/aggregate-to-environment-admin=true' labels clusterrole "$ROLE:admin"
}

@test "a ServiceAccount in the namespace that the package's controller runs in, which was made" {
    run -0 kubectl get serviceaccount provider -n crossplane-system
}

@test "a ClusterRoleBinding binds the system ClusterRole to the ServiceAccount" {
    holds '.roleRef == {apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "package:example:provider-gcp:1.0:system"}
        and .subjects == [{kind: "ServiceAccount", name: "provider", namespace: "crossplane-system"}]' clusterrolebinding "$ROLE:system"
}

@test "a Deployment in the namespace of the spec, for the pod that hosts the controllers" {
    local digest
    digest=$(look cpi provider -o jsonpath='{.status.resolvedPackage}')
    run -0 look deployment provider-controller -n crossplane-system -o json
    pod() { jq -ec ".spec.template.spec$1" <<<"$output"; }
    [ "$(pod .serviceAccountName)" = '"provider"' ]
    [ "$(pod .containers[0].image)" = "\"example/provider-gcp:1.0@$digest\"" ]
    [ "$(pod .containers[0].command)" = '["/controller.sh"]' ]
    [ "$(jq -c .spec.selector.matchLabels <<<"$output")" = '{"app":"provider-controller"}' ]
    [ "$(jq -cS .spec.template.metadata.labels <<<"$output")" = '{"app":"provider-controller","app.kubernetes.io/instance":"provider","app.kubernetes.io/managed-by":"package-manager","app.kubernetes.io/name":"provider-gcp","app.kubernetes.io/version":"1.0","compute.gcp.example.org/tier":"infrastructure"}' ]
}

@test "its security contexts satisfy Pod Security restricted; the fsGroup of the author is kept" {
    run -0 look deployment provider-controller -n crossplane-system -o json
    [ "$(jq -cS .spec.template.spec.securityContext <<<"$output")" = '{"fsGroup":65534,"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}' ]
    [ "$(jq -cS .spec.template.spec.containers[0].securityContext <<<"$output")" = \
        '{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"privileged":false,"runAsNonRoot":true}' ]
}

@test "its permissions to the allowed resources are across all namespaces, also those that come later" {
    namespace later
    local controller
    controller=$(account crossplane-system provider)
    for namespace in foo later crossplane-system kube-system; do
        may "$controller" delete secrets $namespace
        may "$controller" create events $namespace
        may "$controller" update mysqlinstances.database.example.org/status $namespace
        may "$controller" update gkeclusters.compute.gcp.example.org/finalizers $namespace
    done
    may "$controller" list cloudsqlinstanceclasses.database.gcp.example.org
    may "$controller" watch configmaps
}

@test "and it may do nothing else, of all verbs, kinds and namespaces" {
    ours='(cloudsqlinstances|cloudsqlinstanceclasses|gkeclusters|networks|subnetworks)(/[a-z]+)?\.(database|compute)\.gcp\.example\.org'
    run -0 allowed "$(account crossplane-system provider)" system:serviceaccounts system:serviceaccounts:crossplane-system
    # What everybody may, and what it should.
    run grep -vE "^[a-z0-9-]+ ($ours|mysqlinstances(/[a-z]+)?\.database\.example\.org|secrets|configmaps|events) create,delete,deletecollection,get,list,patch,update,watch\$|^- self[a-z]+\.auth[a-z]+\.k8s\.io create\$|^- customresourcedefinitions\.apiextensions\.k8s\.io get,list,watch\$" <<<"$output"
    says ''
}

@test "kubectl get shows how it is" {
    run -0 kubectl get cpi
    matches 'NAME +INSTALLED +HEALTHY +PACKAGE +VERSION +DELETING +AGE'
    matches 'provider +True +(True|False|Unknown) +example/provider-gcp:1\.0 +1\.0 +.*'
    run -0 kubectl get cpi provider -o wide
    matches 'NAME +INSTALLED +HEALTHY +PACKAGE +VERSION +DELETING +AGE +DIGEST +REASON'
    matches "provider .* sha256:[0-9a-f]{64} +[A-Za-z]+"
    shows '{"established":6,"wanted":6}' look cpi provider -o 'jsonpath={.status.crds}'
    run -0 kubectl get crossplane -o name
    mentions clusterpackageinstall.packages.crossplane.io/provider
    mentions clusterpackage.packages.crossplane.io/
}

@test "a ClusterPackage records what was installed" {
    run -0 look cpi provider -o 'jsonpath={.status.packageRecord.kind} {.status.packageRecord.name}'
    [[ $output == 'ClusterPackage '* ]]
    holds '[.. | strings] | any(. == "Example Cloud") and any(test("^sha256:[0-9a-f]{64}$"))' clusterpackage "${output#* }"
}

@test "Events of the install tell of each step" {
    local uid
    uid=$(look cpi provider -o 'jsonpath={.metadata.uid}')
    eventually holds '[.items[] | select(.involvedObject.uid == "'"$uid"'").type]
        | length > 0 and all(. == "Normal")' events --all-namespaces
    eventually holds '[.items[] | select(.involvedObject.uid == "'"$uid"'" and .reason == "Granted").message] | length > 0
        and all(startswith("the package: * on configmaps, events, secrets everywhere; the package: * on ") and test(" everywhere; and [0-9]+ more$"))' \
        events --all-namespaces
}

@test "objects of its kinds are served, checked and counted" {
    run -0 kubectl create -f - <<'YAML'
apiVersion: database.gcp.example.org/v1alpha1
kind: CloudSQLInstanceClass
metadata: {name: standard}
spec: {default: true, tier: small, region: north}
---
apiVersion: database.example.org/v1alpha1
kind: MySQLInstance
metadata: {name: orders, namespace: foo}
spec: {writeConnectionSecretToRef: {name: orders}}
YAML
    run -1 kubectl create -f - <<'YAML'
apiVersion: compute.gcp.example.org/v1alpha1
kind: GKECluster
metadata: {name: bad, namespace: foo}
spec: {zone: north, nodes: 0}
YAML
    mentions 'spec.nodes'
}

@test "its controller serves the claims of every namespace, with its token and nothing else" {
    start_controller provider crossplane-system provider
    kubectl wait mysqlinstance/orders -n foo --for=jsonpath='{.status.phase}'=Bound --timeout=60s
    shows RUNNABLE look cloudsqlinstance orders -n foo -o 'jsonpath={.status.state}'
    shows 'endpoint password username ' kubectl get secret orders -n foo -o 'go-template={{range $k, $v := .data}}{{$k}} {{end}}'
}

@test "while there are instances it cannot be uninstalled: InUse, with their number" {
    kubectl delete cpi provider --wait=false
    eventually shows InUse reason Ready cpi provider
    run -0 message Ready cpi provider
    mentions 'mysqlinstances (1 in foo)'
    mentions cloudsqlinstanceclasses
    mentions foo
    # All of it is still there, and works.
    run -0 look clusterrolebinding "$ROLE:system" -o name
    run -0 look deployment provider-controller -n crossplane-system -o name
    run -0 look mysqlinstance orders -n foo -o name
}

@test "when the last one is gone everything goes: Deployment, binding, roles, ServiceAccount, CRDs, record" {
    kubectl delete mysqlinstance orders -n foo
    eventually is_gone cloudsqlinstance orders -n foo # garbage collection
    kubectl delete cloudsqlinstanceclass standard
    eventually is_gone cpi provider
    for object in "clusterrolebinding $ROLE:system" "clusterrole $ROLE:system" "clusterrole $ROLE:admin" "clusterrole $ROLE:edit" \
        "clusterrole $ROLE:view" 'serviceaccount provider -n crossplane-system' 'deployment provider-controller -n crossplane-system'; do
        is_gone $object # shellcheck disable=SC2086
    done
    run -0 kubectl get crds --selector crossplane.io/scope=environment
    says 'No resources found'
    run -0 kubectl get clusterpackages
    says 'No resources found'
}

@test "the namespace of the spec, if there is one" {
    cluster_install provider example/provider-gcp:1.0 'namespace: gcp-system' 'serviceAccount: {annotations: {cloud.example.org/identity: robot}}'
    installed cpi provider
    shows robot look serviceaccount provider -n gcp-system -o 'jsonpath={.metadata.annotations.cloud\.example\.org/identity}'
    shows provider look deployment provider-controller -n gcp-system -o 'jsonpath={.spec.template.spec.serviceAccountName}'
    shows gcp-system look clusterrolebinding "$ROLE:system" -o 'jsonpath={.subjects[0].namespace}'
    is_gone serviceaccount provider -n crossplane-system
}

@test "another namespace in the spec moves the controller, and leaves the old namespace without it" {
    kubectl patch cpi provider --type=merge -p '{"spec":{"namespace":"gcp-new"}}'
    eventually look deployment provider-controller -n gcp-new
    eventually is_gone deployment provider-controller -n gcp-system
    eventually is_gone serviceaccount provider -n gcp-system
    eventually shows gcp-new look clusterrolebinding "$ROLE:system" -o 'jsonpath={.subjects[*].namespace}'
    run -0 look namespace gcp-system -o name
    installed cpi provider
    uninstall cpi provider
}

@test "the same package in the other format has the same CRDs and rights" {
    publish provider 1.0 b example/provider-gcp:1.0-b
    cluster_install provider example/provider-gcp:1.0-b
    installed cpi provider
    run -0 kubectl get crds --selector crossplane.io/scope=environment -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}'
    says "$(crds)"
    run -0 rules package:example:provider-gcp:1.0-b:view
    says "$(people get,list,watch)"
    shows package:example:provider-gcp:1.0-b:system look clusterrolebinding package:example:provider-gcp:1.0-b:system -o 'jsonpath={.roleRef.name}'
    uninstall cpi provider
    run -0 kubectl get crds --selector crossplane.io/scope=environment
    says 'No resources found'
}
