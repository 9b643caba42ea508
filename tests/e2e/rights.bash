# SPDX-License-Identifier: Apache-2.0
# Shared by the suites of who-can and why: a server with a few people and what they may do with widgets.
#
#   ann    everything with widgets, everywhere, by a role that is aggregated from what a package brought
#   devs   the same in shop; and so does the ServiceAccount ci/robot
#   bob    the same in ops; and refers to a role that does not exist in shop
#   wanda  may use the widget "web" in shop
#   vic    may only look, everywhere
#
# The verb "use" is one that the roles of no server mention.

load cli.bash

# binding [NAMESPACE/]NAME ROLE-KIND/ROLE SUBJECT...: a RoleBinding, or without a namespace a ClusterRoleBinding, as YAML.
binding() {
    local kind=ClusterRoleBinding meta="name: ${1#*/}" subjects IFS=,
    subjects="${*:3}"
    case $1 in */*) kind=RoleBinding meta+=", namespace: ${1%/*}" ;; esac
    cat <<YAML
---
apiVersion: rbac.authorization.k8s.io/v1
kind: $kind
metadata: {$meta}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ${2%/*}, name: ${2#*/}}
subjects: [$subjects]
YAML
}

start_rights() {
    start_server
    kubectl apply -f - <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.acme.example.com}
spec:
  group: acme.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd]}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ops}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "package:acme:widgets:1.0:edit", labels: {example.com/to-widget-users: "true"}}
rules: [{apiGroups: [acme.example.com], resources: [widgets], verbs: [get, list, use]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widget-users}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {example.com/to-widget-users: "true"}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widget-viewers}
rules: [{apiGroups: [acme.example.com], resources: [widgets], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web-user, namespace: shop}
rules: [{apiGroups: [acme.example.com], resources: [widgets], resourceNames: [web], verbs: [use]}]
YAML
    {
        binding ann ClusterRole/widget-users '{kind: User, name: ann}'
        binding viewers ClusterRole/widget-viewers '{kind: User, name: vic}'
        binding shop/devs ClusterRole/widget-users '{kind: Group, name: devs}' '{kind: ServiceAccount, name: robot, namespace: ci}'
        binding shop/wanda Role/web-user '{kind: User, name: wanda}'
        binding ops/bob ClusterRole/widget-users '{kind: User, name: bob}'
        binding shop/lost ClusterRole/ghost '{kind: User, name: bob}'
    } | kubectl apply -f -
    eventually kubectl auth can-i use widgets -n shop --as ann
}
