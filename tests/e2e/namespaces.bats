# SPDX-License-Identifier: Apache-2.0
# The life of a namespace: what appears in a new one by itself, and how one ends.

load controllers.bash

setup_file() {
    start_server
    export GROUP=$NS.example.com
    install_crds "$GROUP"
}

teardown_file() {
    leave >/dev/null 2>&1
    stop_server
}

# make NAME: a namespace of this suite. Its full name is "$NS-NAME", and k speaks to it from here on.
make() {
    NS=$NS-$1
    kubectl create namespace "$NS"
}

held='finalizers: [example.com/hold]'

# conditions: of the namespace, one per line.
conditions() {
    look namespace "$NS" -o 'jsonpath={range .status.conditions[*]}{.type} {.status} {.reason}: {.message}{"\n"}{end}'
}

# wait_for_condition TYPE TEXT: the condition says exactly this.
wait_for_condition() {
    eventually shows "$2" look namespace "$NS" -o "jsonpath={.status.conditions[?(@.type==\"$1\")].message}"
}

root_ca() { field '.data.ca\.crt' configmap kube-root-ca.crt; }

# --- What a new namespace has. ---

@test "a new namespace gets the ServiceAccount default" {
    make sa
    eventually is_there serviceaccount default
    run -0 l serviceaccount default -o 'jsonpath={.metadata.labels}{.metadata.annotations}{.metadata.ownerReferences}{.metadata.finalizers}{.secrets}'
    says ''
}

@test "a new namespace gets the certificate of the cluster" {
    make ca
    eventually is_there configmap kube-root-ca.crt
    diff <(root_ca) "$CA"
    run -0 field .data configmap kube-root-ca.crt
    matches '\{"ca.crt":"[^"]*"\}'
    run -0 l configmap kube-root-ca.crt -o 'jsonpath={.metadata.annotations}'
    says '{"kubernetes.io/description":"Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."}'
}

@test "the namespaces that are there from the start have both" {
    for NS in default kube-system kube-public kube-node-lease; do
        eventually is_there serviceaccount default
        eventually is_there configmap kube-root-ca.crt
    done
}

@test "a pod can be created in a new namespace" {
    make pod
    eventually k run p --image=img --restart=Never
    run -0 field .spec.serviceAccountName pod p
    says default
}

@test "ServiceAccount default comes back when it is deleted" {
    make back-sa
    eventually is_there serviceaccount default
    old=$(uid_of serviceaccount default)
    k delete serviceaccount default
    another() { [ -n "$(uid_of serviceaccount default)" ] && [ "$(uid_of serviceaccount default)" != "$old" ]; }
    eventually another
}

@test "kube-root-ca.crt comes back when it is deleted" {
    make back-ca
    eventually is_there configmap kube-root-ca.crt
    k delete configmap kube-root-ca.crt
    eventually is_there configmap kube-root-ca.crt
    diff <(root_ca) "$CA"
}

@test "kube-root-ca.crt is put right when somebody edits it" {
    make edit-ca
    eventually is_there configmap kube-root-ca.crt
    right() { shows "$(cat "$CA")" root_ca && l configmap kube-root-ca.crt -o 'jsonpath={.data}' | grep -q '^{"ca.crt":"[^"]*"}$'; }
    k patch configmap kube-root-ca.crt -p '{"data":{"ca.crt":"of another"}}'
    eventually right
    k patch configmap kube-root-ca.crt -p '{"data":{"more":"than there should be"}}'
    eventually right
    k patch configmap kube-root-ca.crt --type=merge -p '{"data":null}'
    eventually right
    k annotate configmap kube-root-ca.crt kubernetes.io/description-
    eventually shows 'Contains a CA bundle' eval "field '.metadata.annotations.kubernetes\.io/description' configmap kube-root-ca.crt | cut -c1-20"
    right
}

@test "what else is in the two is the business of their users" {
    make users
    eventually is_there serviceaccount default
    eventually is_there configmap kube-root-ca.crt
    k label serviceaccount default mine=yes
    k patch serviceaccount default -p '{"imagePullSecrets":[{"name":"s"}]}'
    k label configmap kube-root-ca.crt mine=yes
    k annotate configmap kube-root-ca.crt kubernetes.io/description=other --overwrite
    k patch configmap kube-root-ca.crt -p '{"data":{"ca.crt":"of another"}}' # a sign that it was seen
    eventually shows "$(cat "$CA")" root_ca
    run -0 l serviceaccount default -o 'jsonpath={.metadata.labels.mine} {.imagePullSecrets[0].name}'
    says 'yes s'
    run -0 field .metadata.labels.mine configmap kube-root-ca.crt
    says yes
}

# --- How one ends. ---

@test "kubectl delete waits until the namespace is gone" {
    make empty
    run -0 kubectl delete namespace "$NS"
    says "namespace \"$NS\" deleted"
    run -1 kubectl get namespace "$NS"
    says "Error from server (NotFound): namespaces \"$NS\" not found"
}

everything() {
    configmap c1
    configmap c2
    custom "$GROUP" Gear g1
    custom "$GROUP" Gear g2
    cat <<'YAML'
{apiVersion: v1, kind: Secret, metadata: {name: x}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: x}}
---
{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {clusterIP: None, selector: {a: b}}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: x1}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: x}, spec: {limits: [{type: Pod, max: {cpu: 9}}]}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: x}, spec: {hard: {services.nodeports: 3}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PodTemplate, metadata: {name: x}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: x}, spec: {replicas: 0, selector: {a: rc}, template: {metadata: {labels: {a: rc}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: 0, selector: {matchLabels: {a: d}}, template: {metadata: {labels: {a: d}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x}, spec: {replicas: 0, selector: {matchLabels: {a: r}}, template: {metadata: {labels: {a: r}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {replicas: 0, serviceName: x, selector: {matchLabels: {a: s}}, template: {metadata: {labels: {a: s}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}, spec: {selector: {matchLabels: {a: e}}, template: {metadata: {labels: {a: e}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: x}, revision: 1, data: {a: b}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {suspend: true, schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x}, spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: {podSelector: {}}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x}, addressType: IPv4, endpoints: []}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: x}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x}, rules: []}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: x}}
---
YAML
    cat <<YAML
{apiVersion: v1, kind: Event, metadata: {name: x}, involvedObject: {kind: ConfigMap, namespace: $NS, name: c1}, reason: Made, message: m, type: Normal, firstTimestamp: "2026-01-01T00:00:00Z", lastTimestamp: "2026-01-01T00:00:00Z"}
YAML
}

@test "a namespace takes its contents with it: every kind, custom ones as well" {
    make all
    eventually is_there serviceaccount default
    everything | k apply -f - >"$SCRATCH/applied"
    kinds=$(kubectl api-resources --namespaced --verbs=delete,list -o name | grep -vF pods.metrics | paste -sd,)
    # All kinds of the server but what other suites may have left there: if one is missing above, it is missing here.
    run -0 k get "$kinds" -o 'jsonpath={range .items[*]}{.kind}{"\n"}{end}'
    for kind in $(kubectl api-resources --namespaced --verbs=delete --no-headers | awk '{print $NF}' | sort -u); do
        case $kind in CSIStorageCapacity | *[Ww]idget | Axle) continue ;; esac
        case $kind in Package | PackageInstall | Stack | StackInstall) continue ;; esac # custom ones, as Gear is; and so are
        case $kind in ClusterPermission | ManifestWork | ManagedServiceAccount | ManagedClusterAddOn) continue ;; esac
        matches "$kind"
    done
    kubectl delete namespace "$NS"
    kubectl create namespace "$NS"
    eventually is_there serviceaccount default
    eventually is_there configmap kube-root-ca.crt
    run -0 k get "$kinds" -o name
    says 'configmap/kube-root-ca.crt
serviceaccount/default'
}

@test "nothing outside of it is touched" {
    make outside
    other=$NS-other
    kubectl create namespace "$other"
    { configmap c; custom "$GROUP" Gear g; } | kubectl apply -n "$other" -f -
    { configmap c; custom "$GROUP" Gear g; } | k apply -f -
    custom "$GROUP" Axle "$NS" | kubectl apply -f -
    kubectl delete namespace "$NS"
    run -0 kubectl get -n "$other" configmap/c "gears.$GROUP/g" -o name
    says "configmap/c
gear.$GROUP/g"
    run -0 look axles.$GROUP "$NS" -o name
    run -0 look namespace "$other" -o 'jsonpath={.status.phase} {.status.conditions}'
    says 'Active '
    kubectl delete axles.$GROUP "$NS"
}

@test "two hundred objects go too" {
    make many
    for n in $(seq 200); do configmap "c$n"; done | k create -f - >"$SCRATCH/created"
    kubectl delete namespace "$NS"
    run -1 kubectl get namespace "$NS"
    mentions NotFound
}

@test "several namespaces at once" {
    base=$NS
    for n in 1 2 3 4 5; do
        kubectl create namespace "$base-s$n"
        { configmap c; custom "$GROUP" Gear g; } | kubectl apply -n "$base-s$n" -f -
    done
    kubectl delete namespace "$base"-s{1,2,3,4,5}
    run -0 kubectl get namespace --no-headers "$base"-s{1,2,3,4,5} --ignore-not-found
    says ''
}

@test "an object with a finalizer holds it, and the conditions say so" {
    make held
    { configmap kept "$held"; configmap other; custom "$GROUP" Gear g; } | k apply -f -
    kubectl delete namespace "$NS" --wait=false
    wait_for_condition NamespaceFinalizersRemaining 'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances'
    run -0 conditions
    says 'NamespaceDeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered
NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed
NamespaceDeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on finalization
NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances
NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances'
    run -0 look namespace "$NS" -o 'jsonpath={.status.conditions[*].lastTransitionTime}'
    matches '(20[0-9-]{8}T[0-9:]{8}Z ?){5}'
    run -0 kubectl get namespace "$NS" --no-headers
    matches "$NS +Terminating +[0-9a-z]+"
    being_deleted configmap kept
    is_gone configmap other
    is_gone "gears.$GROUP" g
    is_gone configmap kube-root-ca.crt
    is_gone serviceaccount default
    run -0 look namespace "$NS" -o 'jsonpath={.spec.finalizers}'
    says '["kubernetes"]'
    free configmap kept
    kubectl wait --for=delete "namespace/$NS" --timeout=120s
}

@test "the conditions count by resource and by finalizer, in order" {
    make count
    {
        configmap a "$held"
        configmap b 'finalizers: [example.com/hold, a.example.com/first]'
        configmap c "$held"
        custom "$GROUP" Gear g 'finalizers: [z.example.com/last]'
        printf '{apiVersion: v1, kind: Secret, metadata: {name: s, %s}}\n' "$held"
    } | k apply -f -
    kubectl delete namespace "$NS" --wait=false
    wait_for_condition NamespaceContentRemaining "Some resources are remaining: configmaps. has 3 resource instances, gears.$GROUP has 1 resource instances, secrets. has 1 resource instances"
    wait_for_condition NamespaceFinalizersRemaining 'Some content in the namespace has finalizers remaining: a.example.com/first in 1 resource instances, example.com/hold in 4 resource instances, z.example.com/last in 1 resource instances'
    free configmap a
    free configmap b
    free secret s
    wait_for_condition NamespaceContentRemaining "Some resources are remaining: configmaps. has 1 resource instances, gears.$GROUP has 1 resource instances"
    wait_for_condition NamespaceFinalizersRemaining 'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances, z.example.com/last in 1 resource instances'
    free "gears.$GROUP" g
    free configmap c
    kubectl wait --for=delete "namespace/$NS" --timeout=120s
}

@test "nothing new gets into a namespace that ends, what is there can be changed" {
    make closed
    configmap kept "$held" | k apply -f -
    kubectl delete namespace "$NS" --wait=false
    run -1 k create configmap late
    says "error: failed to create configmap: configmaps \"late\" is forbidden: unable to create new content in namespace $NS because it is being terminated"
    run -1 k create -f - <<<"$(custom "$GROUP" Gear late)"
    mentions "gears.$GROUP \"late\" is forbidden: unable to create new content in namespace $NS because it is being terminated"
    run -0 request POST "/api/v1/namespaces/$NS/configmaps" -H 'Content-Type: application/json' -d '{"metadata":{"name":"late"}}'
    mentions '"reason":"NamespaceTerminating","message":"namespace '"$NS"' is being terminated","field":"metadata.namespace"'
    run -0 k label configmap kept still=mine
    wait_for_condition NamespaceContentRemaining 'Some resources are remaining: configmaps. has 1 resource instances'
    run -0 field '.data' configmap kept
    says '{"a":"b"}'
    # What belongs into every namespace does not come back into this one.
    is_gone serviceaccount default
    is_gone configmap kube-root-ca.crt
    free configmap kept
    kubectl wait --for=delete "namespace/$NS" --timeout=120s
}

@test "a second delete changes nothing" {
    make twice
    configmap kept "$held" | k apply -f -
    kubectl delete namespace "$NS" --wait=false
    wait_for_condition NamespaceContentRemaining 'Some resources are remaining: configmaps. has 1 resource instances'
    before=$(look namespace "$NS" -o 'jsonpath={.metadata.deletionTimestamp} {.metadata.resourceVersion}')
    kubectl delete namespace "$NS" --wait=false
    run -0 look namespace "$NS" -o 'jsonpath={.metadata.deletionTimestamp} {.metadata.resourceVersion}'
    says "$before"
    free configmap kept
    kubectl wait --for=delete "namespace/$NS" --timeout=120s
}

@test "spec.finalizers of one's own: the contents go, the namespace waits" {
    NS=$NS-own
    printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\nspec: {finalizers: [example.com/own]}\n' "$NS" | kubectl create -f -
    run -0 look namespace "$NS" -o 'jsonpath={.spec.finalizers}'
    says '["example.com/own","kubernetes"]'
    configmap c | k apply -f -
    kubectl delete namespace "$NS" --wait=false
    eventually shows '["example.com/own"]' look namespace "$NS" -o 'jsonpath={.spec.finalizers}'
    run -0 l configmaps -o name
    says ''
    run -0 conditions
    says 'NamespaceDeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered
NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed
NamespaceDeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on finalization
NamespaceContentRemaining False ContentRemoved: All content successfully removed
NamespaceFinalizersRemaining False ContentHasNoFinalizers: All content-preserving finalizers finished'
    run -0 kubectl patch namespace "$NS" --type=merge -p '{"spec":{"finalizers":null}}'
    run -0 look namespace "$NS" -o 'jsonpath={.spec.finalizers} {.status.phase}'
    says '["example.com/own"] Terminating'
    run -0 finalize "$NS"
    kubectl wait --for=delete "namespace/$NS" --timeout=120s
}

@test "metadata.finalizers of a namespace hold it after its contents are gone" {
    NS=$NS-meta
    printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, %s}\n' "$NS" "$held" | kubectl create -f -
    configmap c | k apply -f -
    kubectl delete namespace "$NS" --wait=false
    eventually shows '' look namespace "$NS" -o 'jsonpath={.spec.finalizers}'
    run -0 look namespace "$NS" -o 'jsonpath={.status.phase}'
    says Terminating
    run -0 l configmaps -o name
    says ''
    free namespace "$NS"
    kubectl wait --for=delete "namespace/$NS" --timeout=120s
}

@test "the name can be given again, to a namespace that has nothing of the old one" {
    make again
    configmap c | k apply -f -
    old=$(look namespace "$NS" -o 'jsonpath={.metadata.uid}')
    kubectl delete namespace "$NS"
    kubectl create namespace "$NS"
    run -0 look namespace "$NS" -o 'jsonpath={.metadata.uid}'
    lacks "$old"
    eventually is_there serviceaccount default
    eventually is_there configmap kube-root-ca.crt
    is_gone configmap c
    configmap c | k apply -f -
}

@test "a namespace of a custom kind whose CRD went first" {
    make crdless
    sed 's/gears/cogs/; s/gear/cog/; s/Gear/Cog/' <(gear_crd "cogs-$GROUP" Namespaced) | sed 's/^\( *names:\).*/\1 {plural: cogs, singular: cog, kind: Cog}/' | kubectl apply -f -
    kubectl wait --for=condition=Established "crd/cogs.cogs-$GROUP" --timeout=60s
    eventually l "cogs.cogs-$GROUP"
    custom "cogs-$GROUP" Cog c | k apply -f -
    kubectl delete crd "cogs.cogs-$GROUP"
    kubectl delete namespace "$NS"
    run -1 kubectl get namespace "$NS"
    mentions NotFound
}

@test "namespaces that the cluster cannot do without are not deleted" {
    for name in default kube-system kube-public; do
        run -1 kubectl delete namespace "$name" --wait=false
        says "Error from server (Forbidden): namespaces \"$name\" is forbidden: this namespace may not be deleted"
    done
}
