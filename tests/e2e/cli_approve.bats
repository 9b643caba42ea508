# SPDX-License-Identifier: Apache-2.0
# reeve approve, and what install and plan say of approvals, against a server with controllers.

load packages.bash

setup_file() {
    start_packages
    kubectl create -f "$ROOT/examples/tour/3-team.yaml" -f "$ROOT/examples/tour/people.yaml"
    eventually may jane create packageinstalls.packages.crossplane.io app-team-1
    reeve install example/provider-gcp:1.0 --cluster --name provider --wait -q
    APP='version: "1.0"
dependsOn: [{crd: cloudsqlinstanceclasses.database.gcp.example.org}]' made_up acme/chooser:1.0 Namespaced
    mkdir -p "$SCRATCH/chooser/.registry"
    printf 'title: Made up\npermissionScope: Namespaced\nversion: "1.0"\ndependsOn: [{crd: %s}]\n' \
        cloudsqlinstanceclasses.database.gcp.example.org >"$SCRATCH/chooser/.registry/app.yaml"
    kubectl create -f - <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: classes}
rules:
- {apiGroups: [database.gcp.example.org], resources: [cloudsqlinstanceclasses], verbs: ["*"]}
- {apiGroups: [packages.crossplane.io], resources: [packageinstalls], verbs: [get, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: classes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: classes}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carla}]
YAML
}

teardown_file() { stop_packages; }

reeve() { "$REEVE" "$@" 2>&1; }

@test "plan says who will wait and who will not" {
    run -1 reeve plan "$SCRATCH/chooser" --tag acme/chooser:1.0 -n app-team-1 --as jane
    [[ ${output//[[:space:]]/} == *'theinstallwillwaitforapproval,becauseyoudonotholdcluster-wideaccesstocloudsqlinstanceclasses.database.gcp.example.org;'*'reeveapprovechooser-napp-team-1'* ]]
    run -1 reeve plan "$SCRATCH/chooser" --tag acme/chooser:1.0 -n app-team-1
    [[ ${output//[[:space:]]/} == *'theinstallwillnotwaitforapproval'* ]]
}

@test "install says what it waits for, and who can approve it" {
    run -1 reeve install acme/chooser:1.0 -n app-team-1 --wait --as jane --timeout 30s
    [[ $output == *'cluster-wide access to cloudsqlinstanceclasses.database.gcp.example.org'* ]]
    [[ $output == *'reeve approve packageinstall/chooser -n app-team-1'* ]]
    may_not "$(account app-team-1 chooser)" list cloudsqlinstanceclasses.database.gcp.example.org
}

@test "a dry run shows it and changes nothing" {
    run -0 reeve approve chooser -n app-team-1 --dry-run
    says 'PackageInstall app-team-1/chooser waits for approval:
  ServiceAccount app-team-1/chooser would get cluster-wide access to cloudsqlinstanceclasses.database.gcp.example.org
Approving it takes this access, cluster-wide:
  * on cloudsqlinstanceclasses.database.gcp.example.org
packageinstall.packages.crossplane.io/chooser approved (dry run)'
    holds '.metadata.annotations["packages.crossplane.io/approved"] == null' pi chooser -n app-team-1
}

@test "the administrator of the namespace may not approve it" {
    run -1 reeve approve chooser -n app-team-1 --as jane
    [[ $output == *'approving this install takes the access that it needs: user "jane" cannot * resource "cloudsqlinstanceclasses"'* ]]
    run -1 reeve approve chooser -n app-team-1 --as jane --dry-run=server
}

@test "a user who holds the access approves it, once" {
    run -0 reeve approve packageinstall/chooser -n app-team-1 --as carla -q
    says 'packageinstall.packages.crossplane.io/chooser approved'
    installed pi chooser -n app-team-1
    eventually may "$(account app-team-1 chooser)" list cloudsqlinstanceclasses.database.gcp.example.org
    run -0 reeve approve pi/chooser -n app-team-1 --as carla
    says 'packageinstall.packages.crossplane.io/chooser approved already'
}

@test "what does not wait, is not there or makes no sense is refused" {
    run -1 reeve approve cpi/provider
    says 'reeve approve: ClusterPackageInstall provider does not wait for approval'
    run -1 reeve approve nothing -n app-team-1
    says 'reeve approve: no install or ClusterPermission "nothing" found in the cluster or in namespace app-team-1'
    run -0 reeve approve nothing -n app-team-1 --ignore-not-found
    says ''
    run -1 reeve approve chooser -n app-team-1 --as nobody
    [[ $output == *'lacks these rights'* ]]
    run -2 reeve approve pods/x
    run -2 reeve approve
    run -2 reeve approve a b
}
