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
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ann}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: widget-users}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: widget-viewers}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: vic}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: devs, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: widget-users}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}
- {kind: ServiceAccount, name: robot, namespace: ci}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: wanda, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web-user}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: wanda}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: bob, namespace: ops}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: widget-users}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: lost, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ghost}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
YAML
    eventually kubectl auth can-i use widgets -n shop --as ann
}
