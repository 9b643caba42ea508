# SPDX-License-Identifier: Apache-2.0
# The people of the design, with kubectl: who sets a namespace up, jane who administers it, and what none of them may do.

load controllers.bash

setup_file() {
    start_server
    export TEAM=$NS-team
}

teardown_file() {
    leave >/dev/null 2>&1
    stop_server
}

masters() { kubectl "$@" --as=chief --as-group=crossplane:masters; }
jane() { kubectl "$@" --as=jane; }

team() {
    cat <<END
apiVersion: v1
kind: Namespace
metadata:
  name: $TEAM
  labels:
    rbac.crossplane.io/managed-roles: "true"
END
}

binding() { # NAME ROLE USER
    cat <<END
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: $1
  namespace: $TEAM
subjects:
- kind: User
  name: $3
  apiGroup: rbac.authorization.k8s.io
roleRef:
  kind: ClusterRole
  name: $2
  apiGroup: rbac.authorization.k8s.io
END
}

install() { # NAMESPACE: of a registry that nobody runs
    cat <<END
apiVersion: packages.crossplane.io/v1alpha1
kind: PackageInstall
metadata: {name: wordpress, namespace: $1}
spec: {package: "127.0.0.1:9/acme/wordpress:1.0"}
END
}

bound() { masters apply -f - <<<"$(binding "$@")"; }

# self_service NAMESPACE: the last example of the design, as it is printed there
self_service() {
    cat <<END
apiVersion: v1
kind: Namespace
metadata:
  creationTimestamp: 2019-10-16T18:25:10Z
  name: $1
  labels:
    rbac.crossplane.io/managed-roles: "true" # Package manager creates and will manage namespace specific ClusterRoles when it see's this.
---
apiVersion: rbac.authorization.k8s.io/v1
# This role binding allows "jane" to admin the Crossplane app-team-1 namespace.
kind: RoleBinding
metadata:
  name: admin-namespace
  namespace: $1
subjects:
- kind: User
  name: jane # Name is case sensitive
  apiGroup: rbac.authorization.k8s.io
roleRef:
  kind: ClusterRole
  name: crossplane:ns:$1:admin
  apiGroup: rbac.authorization.k8s.io
END
}

@test "the namespace and its binding in one apply, 20 times" {
    for n in $(seq 20); do
        run -0 masters apply -f - <<<"$(self_service "$NS-app-team-$n")"
    done
    eventually jane create configmap c -n "$NS-app-team-20" --from-literal=a=b
    run -0 kubectl delete namespace $(seq -f "$NS-app-team-%g" 20) --wait=false
}

@test "who may create namespaces gets roles of no other content, and none of a binding" {
    kubectl create clusterrole "$NS-namespaces" --verb=create,get,list,patch --resource=namespaces
    kubectl create clusterrolebinding "$NS-namespaces" --clusterrole="$NS-namespaces" --user=nora
    kubectl create clusterrole "crossplane:ns:$NS-taken:admin" --verb=get --resource=pods
    run -0 kubectl apply --as=nora -f - <<<"$(self_service "$NS-taken" | sed '/^---/,$d')"
    shows '[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]' field .rules clusterrole "crossplane:ns:$NS-taken:admin"
    run -1 kubectl create rolebinding mine -n "$NS-taken" --clusterrole="crossplane:ns:$NS-taken:edit" --user=nora --as=nora
    mentions 'User "nora" cannot create resource "rolebindings"'
    kubectl delete namespace "$NS-taken" --wait=false
    kubectl delete clusterrole "$NS-namespaces" "crossplane:ns:$NS-taken:admin"
    kubectl delete clusterrolebinding "$NS-namespaces"
}

@test "a role that has no rules yet cannot be bound by who does not hold what it will grant" {
    kubectl create clusterrole "$NS-binds" --verb=create,get,list,patch --resource=namespaces,rolebindings.rbac.authorization.k8s.io
    kubectl create clusterrolebinding "$NS-binds" --clusterrole="$NS-binds" --user=nora
    for n in 1 2 3; do
        run -1 kubectl apply --as=nora -f - <<<"$(self_service "$NS-nora-$n")"
        mentions "namespace/$NS-nora-$n created"
        mentions 'is attempting to grant RBAC permissions not currently held'
        mentions 'secrets'
    done
    kubectl delete namespace "$NS-nora-1" "$NS-nora-2" "$NS-nora-3" --wait=false
    kubectl delete clusterrole "$NS-binds"
    kubectl delete clusterrolebinding "$NS-binds"
}

@test "namespaces are for crossplane-admin, not for the admins of the environment" {
    kubectl create clusterrolebinding "$NS-env" --clusterrole=crossplane-env-admin --user=olivia
    run -1 kubectl apply --as=olivia -f - <<<"$(self_service "$NS-olivia")"
    mentions 'User "olivia" cannot create resource "namespaces"'
    kubectl delete clusterrolebinding "$NS-env"
}

@test "crossplane:masters sets a namespace up for jane" {
    masters apply -f - <<<"$(team)"
    run -0 bound admin-namespace "crossplane:ns:$TEAM:admin" jane
    run -0 bound view-namespace "crossplane:ns:$TEAM:view" john
    run -0 kubectl get clusterroles -l "crossplane.io/scope=namespace,namespace.crossplane.io/$TEAM=true" -o name
    says "clusterrole.rbac.authorization.k8s.io/crossplane:ns:$TEAM:admin
clusterrole.rbac.authorization.k8s.io/crossplane:ns:$TEAM:edit
clusterrole.rbac.authorization.k8s.io/crossplane:ns:$TEAM:view"
}

@test "jane asks for packages in her namespace and nowhere else" {
    # the defaults are labelled for a new namespace afterwards
    eventually jane auth can-i create packageinstalls.packages.crossplane.io -n "$TEAM"
    run -0 jane create -f - <<<"$(install "$TEAM")"
    says 'packageinstall.packages.crossplane.io/wordpress created'
    run -0 jane get packageinstalls -n "$TEAM" -o 'jsonpath={.items[*].spec.package}'
    says '127.0.0.1:9/acme/wordpress:1.0'
    run -1 jane create -f - <<<"$(install default)"
    matches '.*packageinstalls.packages.crossplane.io is forbidden: User "jane" cannot create resource.*in the namespace "default"'
    run -1 jane get packageinstalls --all-namespaces
    run -0 jane delete packageinstall wordpress -n "$TEAM"
}

@test "jane has Secrets and ConfigMaps, john who only looks has no Secrets" {
    run -0 jane create secret generic s -n "$TEAM" --from-literal=a=b
    run -0 jane create configmap c -n "$TEAM" --from-literal=a=b
    run -1 jane get secrets -n kube-system
    run -0 kubectl get packageinstalls -n "$TEAM" --as=john
    run -1 kubectl get secrets -n "$TEAM" --as=john
    run -1 kubectl create configmap d -n "$TEAM" --as=john
}

@test "records are only for reading" {
    record="{apiVersion: packages.crossplane.io/v1alpha1, kind: Package, metadata: {name: forged, namespace: $TEAM}, spec: {}}"
    run -0 jane get packages.packages.crossplane.io -n "$TEAM"
    run -1 jane create -f - <<<"$record"
    run -1 masters create -f - <<<"$record"
    run -1 jane auth can-i update packageinstalls.packages.crossplane.io --subresource=status -n "$TEAM"
}

@test "kinds are found by scope" {
    run -0 masters get crds --selector crossplane.io/scope=environment
    run -0 jane get crds --selector "crossplane.io/scope=namespace,namespace.crossplane.io/$TEAM=true"
    run -0 jane get crd packageinstalls.packages.crossplane.io
    run -1 jane delete crd packageinstalls.packages.crossplane.io
    run -1 kubectl get crds --as=system:anonymous --as-group=system:unauthenticated
    # Namespaces are another matter
    run -1 jane get namespaces
    kubectl create clusterrolebinding "$NS-sees" --clusterrole=crossplane:system:ns-persona-cluster-rights --user=jane
    run -0 jane get namespaces
    kubectl delete clusterrolebinding "$NS-sees"
}

@test "crossplane:masters cannot give what they do not have" {
    run -1 masters create clusterrolebinding "$NS-up" --clusterrole=cluster-admin --user=chief
    matches '.*is attempting to grant RBAC permissions not currently held:'
    run -1 masters create clusterrole "$NS-nodes" --verb=get --resource=nodes
    matches '.*is attempting to grant RBAC permissions not currently held:'
    run -1 masters get nodes
    run -1 masters get pods -n kube-system
}

@test "jane cannot give herself more" {
    run -1 jane create rolebinding more -n "$TEAM" --clusterrole=cluster-admin --user=jane
    run -1 jane label namespace "$TEAM" more=less
    run -1 jane patch clusterrole "crossplane:ns:$TEAM:admin" --type=merge -p '{"rules":[]}'
}

@test "without the label jane is nobody" {
    masters label namespace "$TEAM" rbac.crossplane.io/managed-roles-
    eventually is_gone clusterrole "crossplane:ns:$TEAM:admin"
    run -1 jane get configmaps -n "$TEAM"
    masters delete namespace "$TEAM"
}
