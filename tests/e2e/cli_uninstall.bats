# SPDX-License-Identifier: Apache-2.0
# reeve uninstall, against a server with controllers: what it prints is compared byte for byte.

load packages.bash

setup_file() {
    start_packages
    kubectl create -f "$ROOT/examples/tour/3-team.yaml" -f "$ROOT/examples/tour/people.yaml"
    eventually may jane create packageinstalls.packages.crossplane.io app-team-1
    reeve install example/provider-gcp:1.0 --cluster --name provider --wait -q
}

teardown_file() { stop_packages; }

reeve() { "$REEVE" "$@" 2>&1; }
wordpress() { reeve install wordpressinc/wordpress:1.1 -n app-team-1 --wait -q; }

# Nothing of it is left.
gone() {
    run -1 kubectl get crd wordpressinstances.wordpress.example.org
    run -1 kubectl get clusterrole package:wordpressinc:wordpress:1.1:admin
    run -1 kubectl get serviceaccount wordpress -n app-team-1
}

@test "it goes with all it had" {
    wordpress
    run -0 reeve uninstall wordpress -n app-team-1 --as jane
    says 'instances none left
package taken back
packageinstall.packages.crossplane.io/wordpress uninstalled'
    gone
}

in_use='reeve uninstall: PackageInstall app-team-1/wordpress is in use: 1 wordpressinstances (1 in app-team-1). Nothing was changed.
To uninstall it once they are deleted:
  reeve uninstall wordpress -n app-team-1 --as jane --when-unused
To delete them as well:
  reeve uninstall wordpress -n app-team-1 --as jane --delete-instances'

@test "while it is in use nothing is changed, and both ways forward are printed" {
    wordpress
    kubectl create -f "$ROOT/examples/tour/5-blog.yaml"
    local before
    before=$(kubectl get pi wordpress -n app-team-1 -o jsonpath='{.metadata.resourceVersion}')
    run -1 reeve uninstall wordpress -n app-team-1 --as jane
    says "$in_use"
    run -1 reeve uninstall wordpress -n app-team-1 --as jane --dry-run=server
    says "$in_use"
    shows "$before" kubectl get pi wordpress -n app-team-1 -o jsonpath='{.metadata.resourceVersion}'
    run -0 kubectl get wordpressinstance blog -n app-team-1
}

@test "who may not count them changes nothing, either" {
    kubectl create role uninstaller -n app-team-1 --verb=get,delete --resource=packageinstalls.packages.crossplane.io
    kubectl create rolebinding uninstaller -n app-team-1 --role=uninstaller --user=ursula
    run -1 reeve uninstall wordpress -n app-team-1 --as ursula
    matches '.*cannot count the instances of PackageInstall app-team-1/wordpress.*'
    matches 'hint: --when-unused leaves the counting to the controller'
    shows '' kubectl get pi wordpress -n app-team-1 -o jsonpath='{.metadata.deletionTimestamp}'
}

@test "--when-unused deletes the install, which waits, with everything in place, and shows it" {
    run -1 reeve uninstall wordpress -n app-team-1 --as jane --when-unused --timeout 2s
    matches '.*in use, still there: 1 wordpressinstances \(1 in app-team-1\)'
    run -0 kubectl get clusterrole package:wordpressinc:wordpress:1.1:admin
    run -0 kubectl get pi wordpress -n app-team-1
    matches 'NAME +INSTALLED +HEALTHY +PACKAGE +VERSION +DELETING +AGE'
    matches 'wordpress +True +[A-Za-z]+ +wordpressinc/wordpress:1.1 +1.1 +[0-9]+[sm].* +[0-9]+[sm].*'
    shows 'True InUse' kubectl get pi wordpress -n app-team-1 -o \
        'jsonpath={.status.conditions[?(@.type=="Terminating")].status} {.status.conditions[?(@.type=="Terminating")].reason}'
}

@test "who asks again is told what it waits for" {
    run -1 reeve uninstall wordpress -n app-team-1 --as jane --timeout 1s
    matches 'reeve uninstall: PackageInstall app-team-1/wordpress is in use, still there: 1 wordpressinstances \(1 in app-team-1\)'
}

@test "meanwhile it cannot be installed anew, and plans say so" {
    run -1 reeve install wordpressinc/wordpress:1.1 -n app-team-1 --wait
    matches 'reeve install: PackageInstall app-team-1/wordpress is being uninstalled: still there: 1 wordpressinstances .*'
    matches 'hint: wait for it with "reeve uninstall wordpress -n app-team-1"'
    run reeve plan wordpressinc/wordpress:1.0 -n app-team-1 --store "$STORE"
    [ "$status" -ne 0 ]
    matches ' +Terminating: PackageInstall app-team-1/wordpress is being uninstalled: still'
}

@test "--delete-instances works, also for what is being uninstalled already" {
    run -0 reeve uninstall wordpress -n app-team-1 --as jane --delete-instances
    mentions 'packageinstall.packages.crossplane.io/wordpress uninstalled'
    gone
}

@test "--when-unused goes on when the instances are deleted" {
    wordpress
    kubectl create -f "$ROOT/examples/tour/5-blog.yaml"
    run -0 reeve uninstall wordpress -n app-team-1 --when-unused --wait=false
    kubectl delete wordpressinstance blog -n app-team-1
    run -0 reeve uninstall wordpress -n app-team-1 --ignore-not-found
    gone
}

@test "once the instances are deleted it goes" {
    wordpress
    kubectl create -f "$ROOT/examples/tour/5-blog.yaml"
    run -1 reeve uninstall wordpress -n app-team-1
    kubectl delete wordpressinstance blog -n app-team-1
    run -0 reeve uninstall wordpress -n app-team-1
    gone
}

@test "without waiting" {
    wordpress
    run -0 reeve uninstall wordpress -n app-team-1 --wait=false
    says 'packageinstall.packages.crossplane.io/wordpress uninstalling'
    eventually gone
}

@test "dry runs delete nothing" {
    run -0 reeve uninstall provider --cluster --dry-run
    says 'clusterpackageinstall.packages.crossplane.io/provider uninstalled (dry run)'
    run -0 reeve uninstall provider --cluster --dry-run=server --delete-instances -o name
    says 'clusterpackageinstall.packages.crossplane.io/provider'
    shows '[null,null]' bash -c "kubectl get cpi provider -o json | jq -c '[.metadata.deletionTimestamp, .metadata.annotations[\"packages.crossplane.io/delete-instances\"]]'"
}

@test "what is not there: where one of that name is instead is told" {
    run -1 reeve uninstall nothing -n app-team-1
    says 'reeve uninstall: there is no PackageInstall app-team-1/nothing'
    run -1 reeve uninstall provider -n app-team-1
    says 'reeve uninstall: there is no PackageInstall app-team-1/provider
ClusterPackageInstall provider is another:  reeve uninstall provider --cluster'
    wordpress
    run -1 reeve uninstall wordpress
    says 'reeve uninstall: there is no PackageInstall default/wordpress
PackageInstall app-team-1/wordpress is another:  reeve uninstall wordpress -n app-team-1'
    run -0 reeve uninstall nothing -n app-team-1 --ignore-not-found
    says ''
}

@test "who lacks rights is told all of them" {
    wordpress
    run -1 reeve uninstall wordpress -n app-team-1 --as vic --delete-instances
    matches '  patch packageinstalls.packages.crossplane.io "wordpress" in the namespace "app-team-1"'
    matches '  delete packageinstalls.packages.crossplane.io "wordpress" in the namespace "app-team-1"'
    shows '[null,null]' bash -c "kubectl get pi wordpress -n app-team-1 -o json | jq -c '[.metadata.deletionTimestamp, .metadata.annotations[\"packages.crossplane.io/delete-instances\"]]'"
}

@test "a command line that makes no sense" {
    run -2 reeve uninstall
    says 'reeve uninstall: which install?
Run "reeve uninstall --help".'
    run -2 reeve uninstall a b
    run -2 reeve uninstall a --cluster -n x
    run -2 reeve uninstall a --when-unused --delete-instances
}
