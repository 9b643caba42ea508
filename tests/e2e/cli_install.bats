# SPDX-License-Identifier: Apache-2.0
# reeve install, against a server with controllers: what it prints is compared byte for byte, but for digests.

load packages.bash

setup_file() {
    start_packages
    kubectl create -f "$ROOT/examples/tour/3-team.yaml" -f "$ROOT/examples/tour/people.yaml"
    eventually may jane create packageinstalls.packages.crossplane.io app-team-1
    thing_crd things.made.example.org Namespaced >"$SCRATCH/things"
    made_up acme/tool:1.0 Namespaced "$SCRATCH/things"
    made_up acme/tool:2.0 Cluster "$SCRATCH/things"
}

teardown_file() { stop_packages; }

reeve() { "$REEVE" "$@" 2>&1 | sed -E 's/sha256:[0-9a-f]+/sha256:…/' && return "${PIPESTATUS[0]}"; }

# spec KIND NAME [FLAG...]: of an install.
spec() { look "$@" -o json | jq -Sc .spec; }

@test "a package is asked for, and it is told how to see it through" {
    run -0 reeve install wordpressinc/wordpress:1.0 -n app-team-1 --as jane
    says 'packageinstall.packages.crossplane.io/wordpress created
See it through:  reeve install wordpressinc/wordpress:1.0 -n app-team-1 --as jane --wait'
}

@test "the same again changes nothing, and picks the waiting up" {
    run -0 reeve install wordpressinc/wordpress:1.0 -n app-team-1 --as jane --wait
    says 'packageinstall.packages.crossplane.io/wordpress unchanged
package sha256:…
CRDs 1/1 established
rights in force
Deployment written; nothing here runs it
wordpress 1.0 is ready in namespace app-team-1, and brought
  wordpressinstances.wordpress.example.org
Of its dependencies: not there yet: mysqlinstances.database.example.org; rights to them follow when they are.
Roles crossplane:ns:app-team-1:{admin,edit} may use that now, {view} may see it.
By name:  reeve who-can create wordpressinstances.wordpress.example.org -n app-team-1'
    may jane create wordpressinstances.wordpress.example.org app-team-1
}

@test "a package for the cluster" {
    run -0 reeve install example/provider-gcp:1.0 --cluster --name provider --as olivia --wait
    says 'clusterpackageinstall.packages.crossplane.io/provider created
package sha256:…
CRDs 6/6 established
rights in force
Deployment written; nothing here runs it
provider 1.0 is ready for the whole cluster, and brought
  cloudsqlinstanceclasses.database.gcp.example.org
  cloudsqlinstances.database.gcp.example.org
  gkeclusters.compute.gcp.example.org
  and 3 more
Roles crossplane-env-{admin,edit} may use that now, {view} may see it.
By name:  reeve who-can create cloudsqlinstanceclasses.database.gcp.example.org -A'
}

@test "another version is an upgrade, and back a downgrade; with -q only data is printed" {
    run -0 reeve install wordpressinc/wordpress:1.1 -n app-team-1 --as jane --wait
    says 'packageinstall.packages.crossplane.io/wordpress configured
Upgrade from 1.0 to 1.1.
package sha256:…
CRDs 1/1 established
rights in force
Deployment written; nothing here runs it
wordpress 1.1 is ready in namespace app-team-1, and brought
  wordpressinstances.wordpress.example.org
Roles crossplane:ns:app-team-1:{admin,edit} may use that now, {view} may see it.
By name:  reeve who-can create wordpressinstances.wordpress.example.org -n app-team-1'
    run -0 reeve install wordpressinc/wordpress:1.0 -n app-team-1 --dry-run=server
    says 'packageinstall.packages.crossplane.io/wordpress configured (server dry run)
Downgrade from 1.1 to 1.0.'
    shows '{"package":"wordpressinc/wordpress:1.1"}' spec pi wordpress -n app-team-1
    run -0 reeve install wordpressinc/wordpress:1.0 -n app-team-1 --wait -q
    says 'packageinstall.packages.crossplane.io/wordpress configured'
}

@test "to a version without a number it is neither an upgrade nor a downgrade" {
    run -0 reeve install wordpressinc/wordpress -n app-team-1 --dry-run=server
    says 'packageinstall.packages.crossplane.io/wordpress configured (server dry run)
Change from 1.0 to latest.'
}

@test "another package of that name is refused, with both ways to have it" {
    run -1 reeve install acme/tool:1.0 -n app-team-1 --name wordpress
    says 'reeve install: PackageInstall app-team-1/wordpress is another package: wordpressinc/wordpress:1.0
Beside it, under another name:
  reeve install acme/tool:1.0 --name NAME -n app-team-1
In its place, when nothing that people made of it is left:
  reeve uninstall wordpress -n app-team-1 && reeve install acme/tool:1.0 --name wordpress -n app-team-1'
    shows '{"package":"wordpressinc/wordpress:1.0"}' spec pi wordpress -n app-team-1
}

@test "an install of the wrong kind is refused at once, with the command that is right" {
    run -1 reeve install example/provider-gcp:1.0 -n app-team-1 --wait
    says 'packageinstall.packages.crossplane.io/provider-gcp created
package sha256:…
reeve install: PackageInstall app-team-1/provider-gcp is refused, and nothing was changed: ScopeMismatch: example:provider-gcp is a package for the whole cluster (permissionScope: Cluster): ask for it with a ClusterPackageInstall, not with a PackageInstall
instead:  reeve uninstall provider-gcp -n app-team-1 && reeve install example/provider-gcp:1.0 --cluster'
    run -1 reeve install acme/tool:1.0 --cluster --wait
    matches 'instead:  reeve uninstall tool --cluster && reeve install acme/tool:1.0 -n default'
}

@test "the command that was told works as it stands" {
    run -1 reeve install example/provider-gcp:1.0 -n app-team-1 --wait
    local command=${lines[-1]#instead:  }
    run bash -c "PATH=$(dirname "$REEVE"):\$PATH; $command --wait"
    mentions 'AlreadyInstalled: example:provider-gcp is installed already, by ClusterPackageInstall provider'
    run -0 reeve uninstall provider-gcp --cluster
}

@test "a refused upgrade tells how to go back to what keeps running" {
    run -0 reeve install acme/tool:1.0 -n app-team-1 --wait -q
    run -1 reeve install acme/tool:2.0 -n app-team-1 --wait
    mentions 'is refused, and nothing was changed: Blocked: ScopeMismatch: '
    matches 'back to what runs:  reeve install acme/tool:1.0 -n app-team-1'
    run -0 bash -c "PATH=$(dirname "$REEVE"):\$PATH; ${lines[-1]#back to what runs:  } --wait -q"
    shows '{"package":"acme/tool:1.0"}' spec pi tool -n app-team-1
}

@test "an upgrade that cannot be pulled yet is waited for, and what runs is offered" {
    run -1 reeve install reg.invalid/acme/tool:3.0 -n app-team-1 --wait --timeout 1s
    says 'packageinstall.packages.crossplane.io/tool configured
Upgrade from 1.0 to 3.0.
Blocked: PullFailed: resolve reg.invalid: Name or service not known; 1.0 keeps running; it is tried again
reeve install: PackageInstall app-team-1/tool is not ready in time: Blocked: PullFailed: resolve reg.invalid: Name or service not known; 1.0 keeps running
It goes on by itself.
wait for it:        reeve install reg.invalid/acme/tool:3.0 -n app-team-1 --wait
back to what runs:  reeve install acme/tool:1.0 -n app-team-1'
    run -0 reeve install acme/tool:1.0 -n app-team-1
    mentions 'Back to 1.0.'
}

@test "what cannot be pulled is told in its own words, and is not ready in time" {
    run -1 reeve install reg.invalid/acme/none:1.0 -n app-team-1 --wait --timeout 1s
    says 'packageinstall.packages.crossplane.io/none created
PullFailed: resolve reg.invalid: Name or service not known; it is tried again
reeve install: PackageInstall app-team-1/none is not ready in time: PullFailed: resolve reg.invalid: Name or service not known
It goes on by itself.
wait for it:   reeve install reg.invalid/acme/none:1.0 -n app-team-1 --wait
take it back:  reeve uninstall none -n app-team-1'
}

@test "all settings of the command line are in the object, which is changed by them alone" {
    run -0 reeve install acme/more:1 -n app-team-1 --source reg.invalid/x --pull-policy Never --pull-secret a --pull-secret b -q
    shows '{"imagePullPolicy":"Never","imagePullSecrets":[{"name":"a"},{"name":"b"}],"package":"acme/more:1","source":"reg.invalid/x"}' \
        spec pi more -n app-team-1
    run -0 reeve install acme/more:1 -n app-team-1 --pull-policy Always
    says 'packageinstall.packages.crossplane.io/more configured
See it through:  reeve install acme/more:1 -n app-team-1 --wait'
    shows '{"imagePullPolicy":"Always","imagePullSecrets":[{"name":"a"},{"name":"b"}],"package":"acme/more:1","source":"reg.invalid/x"}' \
        spec pi more -n app-team-1
}

@test "a stack" {
    run -0 reeve install acme/tool:1.0 -n "$NS" --stack --name tool-stack
    says "stackinstall.stacks.crossplane.io/tool-stack created
See it through:  reeve install acme/tool:1.0 --name tool-stack -n $NS --stack --wait"
    run -0 reeve uninstall tool-stack -n "$NS" --stack -q
    says 'stackinstall.stacks.crossplane.io/tool-stack uninstalled'
}

@test "a dry run asks nobody, and shows the object" {
    run -0 env KUBECONFIG="$KUBECONFIG" "$REEVE" install acme/blog:2 --dry-run -o yaml -n sea
    says 'apiVersion: packages.crossplane.io/v1alpha1
kind: PackageInstall
metadata:
  name: blog
  namespace: sea
spec:
  package: acme/blog:2'
    run -0 reeve install acme/blog:2 --dry-run=client -n sea
    says 'packageinstall.packages.crossplane.io/blog created (dry run)'
    run -1 kubectl get pi blog -n sea
}

@test "json has the object as the server has it, name its name" {
    run -0 --separate-stderr "$REEVE" install wordpressinc/wordpress:1.0 -n app-team-1 --wait -o json
    shows '["wordpress","True"]' jq -c '[.metadata.name, (.status.conditions[] | select(.type == "Ready") | .status)]' <<<"$output"
    run -0 --separate-stderr "$REEVE" install wordpressinc/wordpress:1.0 -n app-team-1 -o name
    says packageinstall.packages.crossplane.io/wordpress
}

@test "who lacks rights is told all of them" {
    run -1 reeve install wordpressinc/wordpress:1.0 -n "$NS" --as vic
    mentions 'User "vic" lacks these rights:'
    matches "  get packageinstalls.packages.crossplane.io \"wordpress\" in the namespace \"$NS\""
    matches "  create packageinstalls.packages.crossplane.io in the namespace \"$NS\""
    run -1 reeve install wordpressinc/wordpress:1.1 -n app-team-1 --as vic
    matches '  patch packageinstalls.packages.crossplane.io "wordpress" in the namespace "app-team-1"'
    lacks '  create packageinstalls'
}

@test "a namespace that is not there" {
    run -1 reeve install acme/tool:1.0 -n nowhere
    says 'reeve install: there is no namespace nowhere:
  kubectl create namespace nowhere'
}

@test "a namespace without roles for people" {
    run -0 reeve install acme/tool:1.0 -n "$NS" --wait
    says "packageinstall.packages.crossplane.io/tool created
package sha256:…
CRDs 1/1 established
rights in force
Deployment none
tool 1.0 is ready in namespace $NS, and brought
  things.made.example.org
That namespace has no roles for people yet who could use this. It gets them by:
  kubectl label namespace $NS rbac.crossplane.io/managed-roles=true"
}

@test "a command line that makes no sense" {
    run -2 reeve install
    says 'reeve install: which package?
Run "reeve install --help".'
    run -2 reeve install a/b c/d
    run -2 reeve install 'a/b:c:d'
    run -2 reeve install a/b --cluster -n x
    mentions '-n and --cluster contradict each other'
    run -2 reeve install a/b_c
    mentions '"b_c" cannot be the name of an install'
    run -2 reeve install a/b --wait --dry-run
    run -2 reeve install a/b --pull-policy Sometimes
    says 'reeve install: --pull-policy "Sometimes": say Always, IfNotPresent or Never
Run "reeve install --help".'
    cd "$SCRATCH" && mkdir -p wp/.registry
    run -2 reeve install wp
    says 'reeve install: wp is a directory. Make an image of it first, and install that:
  reeve package build wp -t NAME:VERSION
  reeve install NAME:VERSION
Run "reeve install --help".'
}
