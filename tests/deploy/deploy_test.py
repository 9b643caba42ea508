#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What deploy/ installs: it says what the binary says, a cluster takes it, and the rights in it are enough and not more.

usage: deploy_test.py PATH-OF-REEVE DEPLOY-FOLDER
"""
import os
import re
import shutil
import sys

import yaml

sys.dont_write_bytecode = True
from deployed import DEPLOY, REEVE, Server, Tap, documents, end, is_restricted, kubeconfig_of, output, read, start, wait_for  # noqa: E402

KUSTOMIZE = os.path.join(DEPLOY, 'manager', 'kustomize')
CHART = os.path.join(DEPLOY, 'manager', 'helm')
CONTROLLERS = ('aggregation', 'clusters', 'garbage', 'installs', 'namespaces', 'permissions', 'personas')
ACCOUNT = 'system:serviceaccount:reeve-system:reeve-manager'


def print_rbac(*flags):
    return output(REEVE, 'manager', '--print-rbac', *flags)


# ---- Texts. ----

def rbac_is_printed():
    text = read(KUSTOMIZE, 'rbac.yaml')
    assert text.split('\n', 1)[1] == print_rbac()


def chart_has_the_rights():
    for name in CONTROLLERS:
        printed = documents(print_rbac('--controllers=' + name))
        assert yaml.safe_load(read(CHART, 'rights', name + '.yaml')) == printed['ClusterRole', 'reeve-manager']['rules'], name
        assert yaml.safe_load(read(CHART, 'rights', 'lease.yaml')) == printed['Role', 'reeve-manager']['rules']
        agent = yaml.safe_load(read(CHART, 'rights', 'agent.yaml')) if name == 'clusters' else None
        assert printed.get(('ClusterRole', 'reeve:agent'), {'rules': None})['rules'] == agent, name
    assert sorted(os.listdir(os.path.join(CHART, 'rights'))) == sorted(n + '.yaml' for n in CONTROLLERS + ('agent', 'lease'))


def pod_is_restricted():
    """What the Pod Security Standard "restricted" asks for, and a root file system that cannot be written."""
    is_restricted(KUSTOMIZE, CHART)
    pod = documents(output('kubectl', 'kustomize', KUSTOMIZE))['Deployment', 'reeve-manager']['spec']['template']['spec']
    assert pod['securityContext']['runAsUser'] > 0 and not pod.get('hostNetwork')
    assert [set(volume) for volume in pod['volumes']] == [{'name', 'emptyDir'}]


def chart_is_kustomize():
    """The same objects, but for the namespace, which Helm makes."""
    rendered = documents(output('helm', 'template', 'reeve', CHART, '--namespace', 'reeve-system', '--include-crds'))
    base = documents(output('kubectl', 'kustomize', KUSTOMIZE))
    base.pop(('Namespace', 'reeve-system'))
    rendered['Deployment', 'reeve-manager']['spec']['template']['spec']['containers'][0].pop('imagePullPolicy')
    assert rendered == base


# ---- On a cluster. ----

class Cluster:
    """A server that leaves the work to the manager, and the manager with the rights of deploy/."""

    def __init__(self):
        self.server = Server(REEVE)
        self.server.start(None, '--no-controllers', '--verbose')
        self.env = {**os.environ, 'KUBECONFIG': self.server.kubeconfig, 'HOME': self.server.folder}
        self.log = os.path.join(self.server.folder, 'manager-log')
        self.manager = None

    def kubectl(self, *words, stdin=None):
        return output('kubectl', *words, env=self.env, input=stdin)

    def install(self, controllers):
        self.kubectl('apply', '-k', KUSTOMIZE)
        self.kubectl('apply', '-f', '-', stdin=print_rbac('--controllers=' + controllers))
        token = self.kubectl('create', 'token', 'reeve-manager', '-n', 'reeve-system').strip()
        path = kubeconfig_of(self.server, token, 'manager-kubeconfig')
        self.manager = start([REEVE, 'manager', '--kubeconfig', path, '--controllers=' + controllers, '--listen=127.0.0.1:0',
                              '--lease-namespace=reeve-system', '--verbose',
                              '--package-cache', os.path.join(self.server.folder, 'cache')], self.log, self.env)

    def requests(self):
        """(method, path, status) of what the manager has asked."""
        pattern = re.compile(r'msg=request .*method=(\S+) path=(\S+) user=%s status=(\d+)' % re.escape(ACCOUNT))
        with open(self.server.log, encoding='utf-8', errors='replace') as file:
            return [match.groups() for match in map(pattern.search, file) if match]

    def end(self):
        if self.manager:
            end(self.manager, self.log)
        self.server.stop()
        self.server.remove()


def leaf(name, label):
    return yaml.safe_dump({'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole',
                           'metadata': {'name': name, 'labels': {label: 'true'}},
                           'rules': [{'apiGroups': ['leaf.example.com'], 'resources': ['leaves'], 'verbs': ['get']}]})


def personas_at_work(cluster):
    """All that the controller does: makes, repairs, reports and removes."""
    label = 'rbac.crossplane.io/managed-roles'

    def roles():
        return cluster.kubectl('get', 'clusterroles', '-o', 'name')
    cluster.kubectl('create', 'clusterrole', 'crossplane:ns:app:edit', '--verb=get', '--resource=pods')
    cluster.kubectl('create', 'namespace', 'app')
    cluster.kubectl('label', 'namespace', 'app', label + '=true')
    wait_for(lambda: 'crossplane:ns:app:view' in roles(), 'personas of a namespace')
    wait_for(lambda: 'PersonaConflict' in cluster.kubectl('get', 'events', '-A'), 'an Event')
    wait_for(lambda: 'crossplane:masters' in cluster.kubectl('get', 'clusterrolebinding', '-o', 'yaml'), 'crossplane-admin')
    cluster.kubectl('patch', 'clusterrolebinding', 'crossplane-admin', '--type=merge', '-p', '{"subjects":[]}')
    wait_for(lambda: 'crossplane:masters' in cluster.kubectl('get', 'clusterrolebinding', '-o', 'yaml'), 'a repair')
    cluster.kubectl('label', 'namespace', 'app', label + '-')
    wait_for(lambda: 'crossplane:ns:app:view' not in roles(), 'personas are gone')


def personas_use_their_rights():
    cluster = Cluster()
    try:
        cluster.install('personas')
        personas_at_work(cluster)
        used = {(r[0], '/'.join(part for part in r[1].split('/')[1:] if part in
                                ('namespaces', 'clusterroles', 'clusterrolebindings', 'events', 'leases')))
                for r in cluster.requests() if r[0] != 'GET'}  # a watch is told when it ends
        refused = [r for r in cluster.requests() if r[2] in ('401', '403')]
        assert not refused, refused
        used.discard(('PATCH', 'namespaces/events'))  # only when the conflict is met twice
        assert {u for u in used if not u[1].endswith('leases')} == {
            ('PATCH', 'clusterroles'), ('DELETE', 'clusterroles'), ('PATCH', 'clusterrolebindings'),
            ('POST', 'namespaces/events')}, used
    finally:
        cluster.end()


FLEET = """
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: cluster1}
spec: {hubAcceptsClient: true}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.open-cluster-management.io/v1alpha1
kind: ClusterPermission
metadata: {name: team, namespace: cluster1}
spec:
  clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
  clusterRoleBinding: {subject: {apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}}
  roleRefs: [{apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader, namespace: default}]
"""


def permissions_use_their_rights():
    cluster = Cluster()
    try:
        cluster.install('permissions')
        cluster.kubectl('create', 'namespace', 'cluster1')
        cluster.kubectl('apply', '-f', '-', stdin=FLEET)

        def works():
            return cluster.kubectl('get', 'manifestworks', '-n', 'cluster1', '-o', 'yaml')

        def change(spec):
            cluster.kubectl('patch', 'clusterpermission', 'team', '-n', 'cluster1', '--type=merge', '-p', spec)
        wait_for(lambda: 'reader' in works(), 'a work')
        change('{"spec":{"clusterRoleBinding":{"subject":{"name":"john"}}}}')
        wait_for(lambda: 'john' in works(), 'another work')
        change('{"spec":{"roles":[{"rules":[]}]}}')
        wait_for(lambda: 'FailedBuildManifestWork' in cluster.kubectl('get', 'events', '-A'), 'an Event')
        change('{"spec":{"roles":null,"roleRefs":null,"clusterRole":null,"clusterRoleBinding":null}}')
        wait_for(lambda: 'john' not in works(), 'no work')
        refused = [r for r in cluster.requests() if r[2] in ('401', '403')]
        assert not refused, refused
        kinds = ('manifestworks', 'clusterpermissions', 'status', 'events', 'roles', 'leases')
        used = {(r[0], '/'.join(part for part in r[1].split('/') if part in kinds)) for r in cluster.requests()}
        used = {u for u in used if u[0] != 'PATCH' and u[1] not in ('', 'leases')}  # an Event is told twice, or is not
        assert used >= {('GET', 'clusterpermissions'), ('GET', 'roles'), ('GET', 'manifestworks')}, used
        assert {u for u in used if u[0] != 'GET'} == {
            ('POST', 'manifestworks'), ('PUT', 'manifestworks'), ('DELETE', 'manifestworks'),
            ('PUT', 'clusterpermissions/status'), ('POST', 'events')}, used
    finally:
        cluster.end()


def rights_are_enough():
    cluster = Cluster()
    try:
        cluster.install(','.join(CONTROLLERS))
        cluster.kubectl('apply', '-f', '-', stdin=leaf('leaf', 'rbac.authorization.k8s.io/aggregate-to-view'))
        wait_for(lambda: 'leaf.example.com' in cluster.kubectl('get', 'clusterrole', 'admin', '-o', 'yaml'), 'aggregation')
        cluster.kubectl('create', 'namespace', 'full')
        wait_for(lambda: 'kube-root-ca.crt' in cluster.kubectl('get', 'configmaps', '-n', 'full', '-o', 'name'), 'the CA')
        wait_for(lambda: 'default' in cluster.kubectl('get', 'serviceaccounts', '-n', 'full', '-o', 'name'), 'the account')
        cluster.kubectl('create', 'configmap', 'owner', '-n', 'full')
        uid = cluster.kubectl('get', 'configmap', 'owner', '-n', 'full', '-o', 'jsonpath={.metadata.uid}')
        owners = [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'owner', 'uid': uid}]
        owned = {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'owned', 'ownerReferences': owners}}
        cluster.kubectl('create', '-n', 'full', '-f', '-', stdin=yaml.safe_dump(owned))
        cluster.kubectl('delete', 'configmap', 'owner', '-n', 'full')
        wait_for(lambda: 'owned' not in cluster.kubectl('get', 'secrets', '-n', 'full', '-o', 'name'), 'garbage')
        cluster.kubectl('delete', 'namespace', 'full')
        personas_at_work(cluster)
        refused = [r for r in cluster.requests() if r[2] in ('401', '403')]
        assert not refused, refused
    finally:
        cluster.end()


def rights_are_not_more():
    """The aggregation controller uses all it is given, but for escalate, which is no request of its own."""
    cluster = Cluster()
    try:
        cluster.install('aggregation')
        cluster.kubectl('apply', '-f', '-', stdin=leaf('leaf', 'rbac.authorization.k8s.io/aggregate-to-view'))
        wait_for(lambda: 'leaf.example.com' in cluster.kubectl('get', 'clusterrole', 'admin', '-o', 'yaml'), 'aggregation')
        cluster.kubectl('delete', 'lease', 'reeve-manager', '-n', 'reeve-system')
        wait_for(lambda: 'reeve-manager' in cluster.kubectl('get', 'leases', '-n', 'reeve-system', '-o', 'name'), 'a lease')
        roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
        leases = '/apis/coordination.k8s.io/v1/namespaces/reeve-system/leases'
        others = [r for r in cluster.requests()
                  if not r[1].startswith((roles, leases)) or r[2] in ('401', '403')]
        assert not others, others
    finally:
        cluster.end()
    rules = documents(print_rbac('--controllers=aggregation'))['ClusterRole', 'reeve-manager']['rules']
    assert rules == [{'apiGroups': ['rbac.authorization.k8s.io'], 'resources': ['clusterroles'],
                      'verbs': ['escalate', 'list', 'patch', 'watch']}], rules


def main():
    checks = Tap()
    checks.run('rbac.yaml is what the binary prints', rbac_is_printed)
    checks.run('the chart has the rights that the binary prints', chart_has_the_rights)
    checks.run('the pod has no privileges', pod_is_restricted)
    checks.run('the rights are enough for all controllers', rights_are_enough)
    checks.run('the personas use their rights', personas_use_their_rights)
    checks.run('the permissions use their rights', permissions_use_their_rights)
    checks.run('the rights of aggregation are not more than it uses', rights_are_not_more)
    if shutil.which('helm'):
        checks.run('the chart makes the same objects', chart_is_kustomize)
    else:
        checks.skip('the chart makes the same objects', 'there is no helm')
    sys.exit(checks.end())


if __name__ == '__main__':
    main()
