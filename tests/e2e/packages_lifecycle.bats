# SPDX-License-Identifier: Apache-2.0
# What happens to an install between its first and its last day: refusals, upgrades, drift, dependencies that come later.

load packages.bash

setup_file() {
    start_packages
    publish provider 1.1 a example/provider-gcp:1.1
    thing_crd bars.bar.example.org Namespaced >"$SCRATCH/bar"
    APP='version: "1.0"' made_up acme/bar:1.0 Namespaced "$SCRATCH/bar"
    namespace one
    namespace two
}

teardown_file() { stop_packages; }

WP=package:wordpressinc:wordpress

# state: all objects that installs make, and in which version; to compare. (What aggregated roles hold follows from the others.)
state() {
    look crds,clusterroles,clusterrolebindings,namespaces -o json |
        jq -cS '[.items[] | select(.aggregationRule == null) | [.kind, .metadata.name, .metadata.resourceVersion]]'
    look roles,rolebindings,serviceaccounts,deployments,packages,stacks --all-namespaces -o json |
        jq -cS '[.items[] | [.kind, .metadata.namespace, .metadata.name, .metadata.uid, (.metadata.generation // .metadata.resourceVersion)]]'
    look clusterpackages,clusterstacks -o json | jq -cS '[.items[] | [.kind, .metadata.name, .metadata.resourceVersion]]'
}

# set_package KIND NAME NAMESPACE REFERENCE: edits spec.package.
set_package() { kubectl patch "$1" "$2" ${3:+-n "$3"} --type=merge -p "{\"spec\":{\"package\":\"$4\"}}"; }

# ---- The wrong kind of install. ----

@test "a cluster package asked for by a PackageInstall: an error status, and the installation does not proceed" {
    local before
    before=$(state)
    namespace_install one provider example/provider-gcp:1.0
    refused ScopeMismatch pi provider -n one
    run -0 message Ready pi provider -n one
    mentions ClusterPackageInstall
    shows False look pi provider -n one -o 'jsonpath={.status.conditions[?(@.type=="Synced")].status}'
    [ "$(state)" = "$before" ]
    uninstall pi provider -n one
}

@test "a namespace package asked for by a ClusterPackageInstall: likewise" {
    local before
    before=$(state)
    cluster_install wordpress wordpressinc/wordpress:1.0
    refused ScopeMismatch cpi wordpress
    run -0 message Ready cpi wordpress
    mentions 'PackageInstall'
    [ "$(state)" = "$before" ]
    uninstall cpi wordpress
}

# ---- What packages may not. ----

@test "a namespace package with a cluster-scoped CRD is refused" {
    thing_crd wides.wide.example.org Cluster >"$SCRATCH/wide"
    made_up acme/wide:1.0 Namespaced "$SCRATCH/wide"
    local before
    before=$(state)
    namespace_install one wide acme/wide:1.0
    refused InvalidPackage pi wide -n one
    run -0 message Ready pi wide -n one
    mentions wides.wide.example.org
    [ "$(state)" = "$before" ]
    uninstall pi wide -n one
}

@test "CRDs in groups of Kubernetes and of Reeve are refused, all of them at once" {
    for group in apps batch.k8s.io x.kubernetes.io packages.crossplane.io; do thing_crd "grabs.$group" Namespaced >"$SCRATCH/grab.$group"; done
    made_up acme/grab:1.0 Cluster "$SCRATCH"/grab.*
    local before
    before=$(state)
    cluster_install grab acme/grab:1.0
    refused InvalidPackage cpi grab
    run -0 message Ready cpi grab
    for group in apps batch.k8s.io x.kubernetes.io packages.crossplane.io; do mentions "grabs.$group"; done
    [ "$(state)" = "$before" ]
    uninstall cpi grab
}

@test "a CRD that is there already, and not by Reeve, is not taken over" {
    kubectl create -f "$SCRATCH/bar"
    kubectl wait --for=condition=Established crd/bars.bar.example.org # its status is written a moment later, and is part of the state
    local before
    before=$(state)
    namespace_install one bar acme/bar:1.0
    refused CRDConflict pi bar -n one
    run -0 message Ready pi bar -n one
    mentions bars.bar.example.org
    [ "$(state)" = "$before" ]
    uninstall pi bar -n one
    is_there crd bars.bar.example.org
}

@test "once it is gone, the install goes ahead" {
    namespace_install one bar acme/bar:1.0
    refused CRDConflict pi bar -n one
    kubectl delete -f "$SCRATCH/bar" --wait=false
    installed pi bar -n one
    shows 1 parents bars.bar.example.org
    uninstall pi bar -n one
    eventually is_gone crd bars.bar.example.org
}

# deployment SPEC OF THE POD AS YAML
deployment() { printf 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x%s}\nspec: {template: {spec: %s}}\n' "${2-}" "$1"; }

@test "a Deployment with access to the host, another ServiceAccount or another namespace is refused" {
    local n=0 container='name: c, image: x'
    for pod in "{hostNetwork: true, containers: [{$container}]}" "{hostPID: true, containers: [{$container}]}" "{hostIPC: true, containers: [{$container}]}" \
        "{containers: [{$container}], volumes: [{name: v, hostPath: {path: /}}]}" "{containers: [{$container, ports: [{containerPort: 1, hostPort: 1}]}]}" \
        "{containers: [{$container, securityContext: {privileged: true}}]}" "{containers: [{$container, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}" \
        "{containers: [{$container}], initContainers: [{$container, securityContext: {privileged: true}}]}" \
        "{serviceAccountName: default, containers: [{$container}]}"; do
        n=$((n + 1))
        APP='version: "1.0"' INSTALL=$(deployment "$pod") made_up "acme/greedy-$n:1" Namespaced "$SCRATCH/bar"
        namespace_install one "greedy-$n" "acme/greedy-$n:1"
    done
    INSTALL=$(deployment "{containers: [{$container}]}" ', namespace: kube-system') made_up acme/greedy-elsewhere:1 Namespaced "$SCRATCH/bar"
    namespace_install one greedy-elsewhere acme/greedy-elsewhere:1
    local before install words=(hostNetwork hostPID hostIPC hostPath hostPort privileged capabilities privileged serviceAccountName)
    for install in $(seq $n) elsewhere; do refused InvalidPackage pi "greedy-$install" -n one; done
    for install in $(seq $n); do
        run -0 message Ready pi "greedy-$install" -n one
        mentions "${words[install - 1]}"
    done
    shows '' look deployments,rolebindings,packages -n one -o name
    eventually is_gone crd bars.bar.example.org
    kubectl delete pi --all -n one
}

@test "of the author's security contexts stricter settings are kept; root is not" {
    INSTALL=$(deployment '{securityContext: {fsGroup: 0, runAsUser: 0}, initContainers: [{name: i, image: registry.example.org/i:1, securityContext: {runAsUser: 0}}],
        containers: [{name: c, securityContext: {runAsNonRoot: false, readOnlyRootFilesystem: true}}]}') made_up acme/modest:1.0 Namespaced "$SCRATCH/bar"
    namespace_install one modest acme/modest:1.0
    installed pi modest -n one
    run -0 look deployment modest-controller -n one -o json
    [ "$(jq -cS '.spec.template.spec.securityContext' <<<"$output")" = '{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}' ]
    [ "$(jq -cS ".spec.template.spec.containers[0].securityContext" <<<"$output")" = '{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"privileged":false,"readOnlyRootFilesystem":true,"runAsNonRoot":true}' ]
    [ "$(jq -cS ".spec.template.spec.initContainers[0].securityContext" <<<"$output")" = '{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"privileged":false,"runAsNonRoot":true}' ]
    [ "$(jq -r '.spec.template.spec | .containers[0].image, .initContainers[0].image' <<<"$output" | sed 's/@sha256:[0-9a-f]\{64\}$/@DIGEST/' | tr '\n' ' ')" = 'acme/modest:1.0@DIGEST registry.example.org/i:1 ' ]
    uninstall pi modest -n one
}

# Pod Security is enforced by Kubernetes alone; the fields are compared everywhere.
@test "pods of packages are accepted where Pod Security restricted is enforced" {
    namespace strict
    kubectl label namespace strict pod-security.kubernetes.io/enforce=restricted
    INSTALL=$(deployment '{initContainers: [{name: i}], containers: [{name: c, ports: [{containerPort: 8080}]}], volumes: [{name: v, emptyDir: {}}]}') \
        made_up acme/strict:1.0 Namespaced "$SCRATCH/bar"
    namespace_install strict strict acme/strict:1.0
    installed pi strict -n strict
    run -0 look deployment strict-controller -n strict -o json
    jq -e '.spec.template.spec | .securityContext.seccompProfile.type == "RuntimeDefault" and .securityContext.runAsNonRoot
        and all(.containers[], .initContainers[]; .securityContext | .allowPrivilegeEscalation == false and .capabilities == {drop: ["ALL"]})' <<<"$output"
    jq '{apiVersion: "v1", kind: "Pod", metadata: {name: "p", namespace: "strict", labels: .spec.template.metadata.labels}, spec: .spec.template.spec}' <<<"$output" |
        kubectl create --dry-run=server -f -
    uninstall pi strict -n strict
}

@test "an image that is nowhere: PullFailed" {
    IN=one install_of PackageInstall absent acme/absent:1.0 'imagePullPolicy: Never' | kubectl create -f -
    refused PullFailed pi absent -n one
    uninstall pi absent -n one
}

# ---- One of each. ----

@test "one install of a cluster package: the second is AlreadyInstalled, and names the first" {
    cluster_install provider example/provider-gcp:1.0
    installed cpi provider
    local before
    before=$(state)
    cluster_install provider-two example/provider-gcp:1.1
    refused AlreadyInstalled cpi provider-two
    run -0 message Ready cpi provider-two
    mentions provider
    [ "$(state)" = "$before" ]
    uninstall cpi provider-two
    installed cpi provider
}

@test "once the first is gone, the second goes ahead" {
    cluster_install provider-two example/provider-gcp:1.1
    refused AlreadyInstalled cpi provider-two
    kubectl delete cpi provider --wait=false
    installed cpi provider-two
    is_gone cpi provider
    is_gone clusterrole package:example:provider-gcp:1.0:system
    uninstall cpi provider-two
}

@test "records made by hand grant nothing" {
    local before
    before=$(look clusterroles,clusterrolebindings -o name)
    kubectl create -f - <<'YAML'
apiVersion: packages.crossplane.io/v1alpha1
kind: Package
metadata: {name: forged, namespace: one}
spec:
  permissionScope: Cluster
  permissions: {rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}
---
apiVersion: packages.crossplane.io/v1alpha1
kind: ClusterPackage
metadata: {name: forged}
spec:
  permissionScope: Cluster
YAML
    # Another install comes and goes meanwhile, so the records were seen.
    namespace_install two bar acme/bar:1.0
    installed pi bar -n two
    uninstall pi bar -n two
    is_gone serviceaccount forged -n one
    is_gone deployment forged-controller -n one
    [ "$(look clusterroles,clusterrolebindings -o name)" = "$before" ]
    kubectl delete clusterpackage forged --ignore-not-found
    kubectl delete package forged -n one --ignore-not-found
}

# ---- The order of things. ----

# made SINCE COLLECTION NAME: the revision in which it came to be.
made() {
    kubectl get --raw "$2?watch=true&resourceVersion=$1&timeoutSeconds=1" |
        jq -r --arg name "$3" 'select(.type == "ADDED" and .object.metadata.name == $name).object.metadata.resourceVersion'
}

@test "rights are in force before the controller starts, and gone when the uninstall is done" {
    local since started part rbac=/apis/rbac.authorization.k8s.io/v1
    since=$(kubectl get namespaces -o 'jsonpath={.metadata.resourceVersion}')
    namespace_install two wordpress wordpressinc/wordpress:1.0
    installed pi wordpress -n two
    may "$(account two wordpress)" list secrets two
    started=$(made "$since" /apis/apps/v1/namespaces/two/deployments wordpress-controller)
    for part in "/api/v1/namespaces/two/serviceaccounts wordpress" "$rbac/clusterroles $WP:1.0:system" "$rbac/namespaces/two/rolebindings $WP:1.0:system"; do
        # shellcheck disable=SC2086 # a collection and a name
        [ "$(made "$since" $part)" -lt "$started" ]
    done
    uninstall pi wordpress -n two
    may_not "$(account two wordpress)" list secrets two
    is_gone clusterrole $WP:1.0:system
    is_gone deployment wordpress-controller -n two
}

# ---- Dependencies that come later. ----

@test "WordPress without a provider: it is installed, and waits for its dependency" {
    namespace_install one wordpress wordpressinc/wordpress:1.0
    eventually holds 'any(.status.conditions[]; .reason == "WaitingForDependencies" and (.message | contains("mysqlinstances.database.example.org")))' pi wordpress -n one
    is_there deployment wordpress-controller -n one
    shows 'configmaps *
events *
secrets *
wordpressinstances.wordpress.example.org *
wordpressinstances/finalizers.wordpress.example.org *
wordpressinstances/status.wordpress.example.org *' rules $WP:1.0:system
    may_not "$(account one wordpress)" list mysqlinstances.database.example.org one
}

@test "the provider comes: rights are granted, and nothing waits" {
    cluster_install provider example/provider-gcp:1.0
    installed cpi provider
    eventually may "$(account one wordpress)" create mysqlinstances.database.example.org one
    may_not "$(account one wordpress)" create mysqlinstances.database.example.org two
    eventually holds 'all(.status.conditions[]; .reason != "WaitingForDependencies")' pi wordpress -n one
    installed pi wordpress -n one
}

@test "a namespace package that depends on a cluster-scoped kind gets that one cluster-wide, and no more" {
    APP='version: "1.0"
dependsOn: [{crd: cloudsqlinstanceclasses.database.gcp.example.org}, {crd: networks.compute.gcp.example.org}]' made_up acme/chooser:1.0 Namespaced
    namespace_install two chooser acme/chooser:1.0
    approve_pending pi chooser -n two
    installed pi chooser -n two
    local chooser
    chooser=$(account two chooser)
    shows 'cloudsqlinstanceclasses.database.gcp.example.org *' rules package:acme:chooser:1.0:system-cluster:two
    shows package:acme:chooser:1.0:system-cluster:two look clusterrolebinding package:acme:chooser:1.0:system-cluster:two -o 'jsonpath={.roleRef.name}'
    eventually may "$chooser" list cloudsqlinstanceclasses.database.gcp.example.org
    may "$chooser" list networks.compute.gcp.example.org two
    may_not "$chooser" list networks.compute.gcp.example.org one
    may_not "$chooser" list secrets
    uninstall pi chooser -n two
    is_gone clusterrolebinding package:acme:chooser:1.0:system-cluster:two
    is_gone clusterrole package:acme:chooser:1.0:system-cluster:two
    may_not "$chooser" list cloudsqlinstanceclasses.database.gcp.example.org
}

# ---- Other versions. ----

# runs_image REFERENCE: the Deployment of wordpress in one has it, by the digest that was checked.
runs_image() {
    shows "$1@$(look pi wordpress -n one -o jsonpath='{.status.resolvedPackage}')" \
        look deployment wordpress-controller -n one -o 'jsonpath={.spec.template.spec.containers[0].image}'
}

@test "upgrade by editing spec.package: new roles and binding, the Deployment rolled, the old ones gone" {
    set_package pi wordpress one wordpressinc/wordpress:1.1
    installed pi wordpress -n one
    shows 1.1 look pi wordpress -n one -o 'jsonpath={.status.version}'
    eventually runs_image wordpressinc/wordpress:1.1
    for role in system admin edit view; do
        is_there clusterrole $WP:1.1:$role
        eventually is_gone clusterrole $WP:1.0:$role
    done
    is_there rolebinding $WP:1.1:system -n one
    eventually is_gone rolebinding $WP:1.0:system -n one
    holds '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties | has("theme")' crd wordpressinstances.wordpress.example.org
    may "$(account one wordpress)" create mysqlinstances.database.example.org one
}

@test "an upgrade that is refused: Blocked, the old version keeps running" {
    local role
    role=$(look rolebinding $WP:1.1:system -n one -o 'jsonpath={.metadata.uid}')
    set_package pi wordpress one example/provider-gcp:1.0
    eventually shows 'False Blocked' ready_of pi wordpress -n one
    run -0 message Ready pi wordpress -n one
    mentions ClusterPackageInstall
    shows True look pi wordpress -n one -o 'jsonpath={.status.conditions[?(@.type=="Installed")].status}'
    shows NoWorkloads reason Healthy pi wordpress -n one
    shows "$role" look rolebinding $WP:1.1:system -n one -o 'jsonpath={.metadata.uid}'
    runs_image wordpressinc/wordpress:1.1
    may "$(account one wordpress)" list secrets one
}

@test "Ready follows the current generation of the Deployment" {
    # status OBSERVED REPLICAS UPDATED AVAILABLE [CONDITION]...: what a Deployment controller would write
    status() {
        local conditions
        conditions=$(IFS=, && echo "${*:5}")
        kubectl patch deployment wordpress-controller -n one --subresource=status --type=merge -p \
            "{\"status\":{\"observedGeneration\":$1,\"replicas\":$2,\"updatedReplicas\":$3,\"readyReplicas\":$4,\"availableReplicas\":$4,\"conditions\":[$conditions]}}"
    }
    condition_of() { printf '{"type":"%s","status":"%s","reason":"%s","message":"%s"}' "$@"; }
    local generation
    set_package pi wordpress one wordpressinc/wordpress:1.1
    eventually shows 'True NoWorkloads' ready_of pi wordpress -n one
    generation=$(look deployment wordpress-controller -n one -o 'jsonpath={.metadata.generation}')
    status "$generation" 1 0 0 "$(condition_of Available False MinimumReplicasUnavailable '')"
    eventually shows 'False WaitingForDeployment' ready_of pi wordpress -n one
    status "$generation" 0 0 0 "$(condition_of Available False MinimumReplicasUnavailable '')" \
        "$(condition_of ReplicaFailure True FailedCreate 'pods are forbidden: violates PodSecurity')"
    eventually shows 'False PodsRefused' ready_of pi wordpress -n one
    run -0 message Ready pi wordpress -n one
    mentions 'Deployment wordpress-controller cannot create pods: pods are forbidden: violates PodSecurity'
    status "$generation" 1 1 1 "$(condition_of Available True MinimumReplicasAvailable '')" "$(condition_of Progressing True NewReplicaSetAvailable '')"
    eventually shows 'True Available' ready_of pi wordpress -n one
    # Of the next version no pod is available yet.
    set_package pi wordpress one wordpressinc/wordpress:1.0
    eventually shows 'False WaitingForDeployment' ready_of pi wordpress -n one
    shows True look pi wordpress -n one -o 'jsonpath={.status.conditions[?(@.type=="Installed")].status}'
    generation=$(look deployment wordpress-controller -n one -o 'jsonpath={.metadata.generation}')
    status "$generation" 1 1 1 "$(condition_of Available True MinimumReplicasAvailable '')" "$(condition_of Progressing True NewReplicaSetAvailable '')"
    eventually shows 'True Available' ready_of pi wordpress -n one
    set_package pi wordpress one wordpressinc/wordpress:1.1
    eventually shows 1.1 look pi wordpress -n one -o 'jsonpath={.status.version}'
}

@test "downgrade, the same way" {
    set_package pi wordpress one wordpressinc/wordpress:1.0
    installed pi wordpress -n one
    shows 1.0 look pi wordpress -n one -o 'jsonpath={.status.version}'
    eventually runs_image wordpressinc/wordpress:1.0
    for role in system admin edit view; do eventually is_gone clusterrole $WP:1.1:$role; done
    shows $WP:1.0:system look rolebindings -n one -o 'jsonpath={.items[*].metadata.name}'
}

@test "a cluster package is upgraded likewise" {
    set_package cpi provider '' example/provider-gcp:1.1
    installed cpi provider
    shows package:example:provider-gcp:1.1:system look clusterrolebinding package:example:provider-gcp:1.1:system -o 'jsonpath={.roleRef.name}'
    eventually is_gone clusterrolebinding package:example:provider-gcp:1.0:system
    for role in system admin edit view; do eventually is_gone clusterrole package:example:provider-gcp:1.0:$role; done
    may "$(account crossplane-system provider)" list mysqlinstances.database.example.org
}

# ---- Drift. ----

@test "whatever an install has is put back when somebody deletes it" {
    for object in "clusterrole $WP:1.0:system" "clusterrole $WP:1.0:admin" "clusterrole $WP:1.0:edit" "clusterrole $WP:1.0:view" \
        "rolebinding $WP:1.0:system -n one" 'serviceaccount wordpress -n one' 'deployment wordpress-controller -n one' \
        'crd wordpressinstances.wordpress.example.org' 'clusterrolebinding package:example:provider-gcp:1.1:system' \
        'serviceaccount provider -n crossplane-system' 'deployment provider-controller -n crossplane-system' 'crd networks.compute.gcp.example.org'; do
        comes_back $object # shellcheck disable=SC2086
    done
    installed pi wordpress -n one
    installed cpi provider
    eventually may "$(account one wordpress)" create mysqlinstances.database.example.org one
    eventually may "$(account crossplane-system provider)" list networks.compute.gcp.example.org
}

@test "records come back, too" {
    local record
    record=$(look pi wordpress -n one -o 'jsonpath={.status.packageRecord.name}')
    comes_back package "$record" -n one
    installed pi wordpress -n one
}

# How many Deployments were repaired, as the Events of one say, which are counted up when the same happens again.
repairs() {
    look events -n one -o json | jq '[.items[] | select(.reason == "DriftRepaired" and (.message | startswith("Deployment "))) | .count // .series.count // 1] | add // 0'
}

# undone OBJECT JQ-FILTER PATCH: what the filter shows is as before
undone() {
    local was
    was=$(look $1 -o json | jq -cS "$2")
    kubectl patch $1 --type=json -p "$3"
    same() { [ "$(look $1 -o json | jq -cS "$2")" = "$was" ]; }
    eventually same "$1" "$2" || { echo "$1 $2 stayed changed" >&2 && return 1; }
}

@test "whatever somebody changes is changed back" {
    undone "clusterrole $WP:1.0:system" .rules '[{"op":"add","path":"/rules/-","value":{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}}]'
    undone "clusterrole $WP:1.0:view" .rules '[{"op":"replace","path":"/rules","value":[]}]'
    undone "clusterrole $WP:1.0:view" .metadata.labels '[{"op":"remove","path":"/metadata/labels/namespace.crossplane.io~1one"}]'
    undone "clusterrole $WP:1.0:system" .metadata.labels '[{"op":"add","path":"/metadata/labels/rbac.crossplane.io~1aggregate-to-crossplane-view","value":"true"}]'
    undone "clusterrole $WP:1.0:edit" .metadata.labels '[{"op":"add","path":"/metadata/labels/rbac.crossplane.io~1aggregate-to-namespace-view","value":"true"}]'
    undone "clusterrole $WP:1.0:admin" .metadata.labels '[{"op":"add","path":"/metadata/labels/namespace.crossplane.io~1two","value":"true"}]'
    undone "rolebinding $WP:1.0:system -n one" .subjects '[{"op":"add","path":"/subjects/-","value":{"kind":"User","name":"mallory","apiGroup":"rbac.authorization.k8s.io"}}]'
    undone 'deployment wordpress-controller -n one' .spec.template.spec.serviceAccountName '[{"op":"replace","path":"/spec/template/spec/serviceAccountName","value":"default"}]'
    undone 'deployment wordpress-controller -n one' .spec.template.spec.containers '[{"op":"replace","path":"/spec/template/spec/containers/0/securityContext","value":{"privileged":true}}]'
    undone 'deployment wordpress-controller -n one' .spec.template.spec.containers '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"evil:1"}]'
    undone 'crd wordpressinstances.wordpress.example.org' .metadata.labels '[{"op":"remove","path":"/metadata/labels/crossplane.io~1scope"}]'
    may_not mallory get secrets one
}

@test "whatever somebody adds to a Deployment is removed, reported and counted" {
    local deployment='deployment wordpress-controller -n one' before
    before=$(repairs)
    undone "$deployment" .spec '[
        {"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"miner","image":"evil:1"}},
        {"op":"add","path":"/spec/template/spec/hostPID","value":true},
        {"op":"add","path":"/spec/template/spec/volumes","value":[{"name":"root","hostPath":{"path":"/"}}]},
        {"op":"add","path":"/spec/template/metadata/labels/app.kubernetes.io~1part-of","value":"payments"},
        {"op":"add","path":"/spec/template/metadata/annotations","value":{"example.org/inject":"true"}},
        {"op":"add","path":"/spec/paused","value":true}]'
    undone "$deployment" .spec '[{"op":"add","path":"/spec/template/spec/containers/0/args","value":["--insecure"]}]'
    undone "$deployment" .metadata.labels '[{"op":"add","path":"/metadata/labels/team","value":"red"}]'
    repaired() { [ "$(repairs)" -ge $((before + 3)) ]; }
    eventually repaired
    # The metrics of "reeve manager" are on its own address.
    ! kubectl get --raw /metrics | grep -q '^reeve_' || kubectl get --raw /metrics | grep -q '^reeve_drift_repairs_total{kind="Deployment"} [1-9]'
    reported() { look events -n one -o json | jq -e '[.items[] | select(.reason == "DriftRepaired" and .involvedObject.kind == "PackageInstall") | .message] | any(startswith("Deployment wordpress-controller was changed by another client (spec."))'; }
    eventually reported
    # A restart by "kubectl rollout restart" is not undone.
    kubectl rollout restart deployment wordpress-controller -n one
    kubectl annotate pi wordpress -n one restarted=yes
    undone "$deployment" .metadata.labels '[{"op":"add","path":"/metadata/labels/team","value":"blue"}]'
    look deployment wordpress-controller -n one -o json | jq -e '.spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"] != null'
}

@test "labels that would let managed roles flow into others are removed" {
    undone "clusterrole $WP:1.0:system" .metadata.labels '[{"op":"add","path":"/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-view","value":"true"}]'
    undone 'clusterrole crossplane-env-admin' .metadata.labels '[{"op":"add","path":"/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-view","value":"true"}]'
    undone 'clusterrole crossplane-env-edit' .metadata.labels '[{"op":"add","path":"/metadata/labels/rbac.crossplane.io~1aggregate-to-environment-view","value":"true"}]'
    undone "clusterrole $WP:1.0:view" .aggregationRule '[{"op":"add","path":"/aggregationRule","value":{"clusterRoleSelectors":[{"matchLabels":{"any":"thing"}}]}}]'
}

@test "an object that is changed again and again is repaired later and later" {
    local before i
    before=$(repairs)
    for i in $(seq 25); do kubectl label deployment wordpress-controller -n one --overwrite team=$i; done
    [ "$(repairs)" -lt $((before + 15)) ]
    is_clean() { look deployment wordpress-controller -n one -o json | jq -e '.metadata.labels | has("team") | not'; }
    eventually is_clean
}

# synced OBJECT: status and reason of its condition.
synced() { look "$@" -o json | jq -r '.status.conditions[] | select(.type == "Synced") | "\(.status) \(.reason)"'; }

@test "but for a definition: whoever may change CRDs has the last word, and the install says so" {
    local crd='crd wordpressinstances.wordpress.example.org' spec=.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.title
    kubectl patch $crd --type=json -p '[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/title/maxLength"}]'
    eventually shows 'False Conflict' synced pi wordpress -n one
    installed pi wordpress -n one # it is still served
    holds "$spec | has(\"maxLength\") | not" $crd
    kubectl patch $crd --type=json -p '[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/title/maxLength","value":200}]'
    eventually shows 'True ReconcileSuccess' synced pi wordpress -n one
}

@test "nothing is written when nothing differs" {
    # A change that is no one's business makes everything be looked at, and nothing be written.
    local before
    settled() { before=$(state) && [ "$(state)" = "$before" ]; }
    eventually settled
    kubectl annotate pi wordpress -n one look=again
    kubectl annotate cpi provider look=again
    namespace_install two bar acme/bar:1.0
    installed pi bar -n two
    uninstall pi bar -n two
    [ "$(state)" = "$before" ]
}

# ---- Uninstall. ----

@test "InUse counts the instances of each kind and namespace" {
    for name in a b c; do
        printf 'apiVersion: wordpress.example.org/v1beta1\nkind: WordPressInstance\nmetadata: {name: %s, namespace: one}\nspec: {title: x}\n' $name | kubectl create -f -
    done
    printf 'apiVersion: wordpress.example.org/v1beta1\nkind: WordPressInstance\nmetadata: {name: d, namespace: two}\nspec: {title: x}\n' | kubectl create -f -
    kubectl delete pi wordpress -n one --wait=false
    eventually shows InUse reason Ready pi wordpress -n one
    run -0 message Ready pi wordpress -n one
    matches '.*4 wordpressinstances.*'
    matches '.*3 in one.*'
    matches '.*1 in two.*'
    is_there deployment wordpress-controller -n one
    may "$(account one wordpress)" list secrets one
}

# tells TEXT KIND NAME [FLAG...]: the message of Ready has this in it.
tells() { [[ "$(message Ready "${@:2}")" == *"$1"* ]]; }

@test "the annotation packages.crossplane.io/delete-instances deletes those of its namespace; those elsewhere are not its to delete" {
    kubectl annotate pi wordpress -n one packages.crossplane.io/delete-instances=true
    eventually shows two/d look wordpressinstances --all-namespaces -o 'jsonpath={.items[*].metadata.namespace}/{.items[*].metadata.name}'
    eventually tells '1 wordpressinstances (1 in two)' pi wordpress -n one
    eventually shows InUse reason Ready pi wordpress -n one
    is_there deployment wordpress-controller -n one
    is_there crd wordpressinstances.wordpress.example.org
    may "$(account one wordpress)" list secrets one
}

@test "and once they are gone, so is all that the install had" {
    kubectl delete wordpressinstance d -n two
    eventually is_gone pi wordpress -n one
    eventually is_gone crd wordpressinstances.wordpress.example.org
    is_gone deployment wordpress-controller -n one
    is_gone serviceaccount wordpress -n one
    is_gone rolebinding $WP:1.0:system -n one
    for role in system admin edit view; do is_gone clusterrole $WP:1.0:$role; done
    may_not "$(account one wordpress)" list secrets one
}

@test "an install for the whole cluster may have them deleted everywhere" {
    printf 'apiVersion: compute.gcp.example.org/v1alpha1\nkind: Network\nmetadata: {name: %s, namespace: %s}\nspec: {}\n---\n' a one b two | kubectl create -f -
    kubectl delete cpi provider --wait=false
    eventually shows InUse reason Ready cpi provider
    eventually tells '2 networks (1 in one, 1 in two)' cpi provider
    kubectl annotate cpi provider packages.crossplane.io/delete-instances=true
    eventually is_gone cpi provider
    eventually is_gone crd networks.compute.gcp.example.org
    is_gone deployment provider-controller -n crossplane-system
    may_not "$(account crossplane-system provider)" list networks.compute.gcp.example.org
}
