#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What deploy/agent installs: it says what the binary says, a cluster takes it, and the rights in it are enough.

usage: agent_test.py PATH-OF-REEVE DEPLOY-FOLDER
"""
import base64
import os
import re
import shutil
import subprocess
import sys

import yaml

sys.dont_write_bytecode = True
from deployed import DEPLOY, REEVE, Server, Tap, documents, end, is_restricted, kubeconfig_of, output, read, start, wait_for  # noqa: E402

KUSTOMIZE = os.path.join(DEPLOY, 'agent', 'kustomize')
CHART = os.path.join(DEPLOY, 'agent', 'helm')
CONTROLLERS = ('accounts', 'works')
SECRET = 'reeve-system/reeve-hub'


def print_rbac(*flags):
    return output(REEVE, 'agent', '--print-rbac', '--managed', *flags)


# ---- Texts. ----

def rbac_is_printed():
    text = read(KUSTOMIZE, 'rbac.yaml')
    assert text.split('\n', 1)[1] == print_rbac('--hub-kubeconfig-secret=' + SECRET)


def chart_has_the_rights():
    for name in CONTROLLERS:
        printed = documents(print_rbac('--controllers=' + name))
        assert yaml.safe_load(read(CHART, 'rights', name + '.yaml')) == printed['ClusterRole', 'reeve-agent']['rules'], name
    printed = documents(print_rbac('--controllers=accounts'))
    assert yaml.safe_load(read(CHART, 'rights', 'accounts-namespace.yaml')) == printed['Role', 'reeve-agent-accounts']['rules']
    files = sorted(n + '.yaml' for n in (*CONTROLLERS, 'accounts-namespace'))
    assert sorted(os.listdir(os.path.join(CHART, 'rights'))) == files


def tokens_are_of_one_namespace():
    """Whoever gets tokens of any ServiceAccount is everybody."""
    for place in ((), ('--account-namespace=ships',)):
        for (kind, name), o in documents(print_rbac(*place)).items():
            rules = [r for r in o.get('rules', []) for x in r.get('resources', []) if x.startswith('serviceaccounts') and
                     r['verbs'] != ['impersonate']]
            assert bool(rules) == ((kind, name) == ('Role', 'reeve-agent-accounts')), (kind, name)
            if rules:
                assert o['metadata']['namespace'] == ('ships' if place else 'open-cluster-management-agent-addon')


def pod_is_restricted():
    """What the Pod Security Standard "restricted" asks for, and a root file system that cannot be written; no volumes at all."""
    is_restricted(KUSTOMIZE, CHART, 'type: Recreate', 'replicas: 1')
    pod = documents(output('kubectl', 'kustomize', KUSTOMIZE))['Deployment', 'reeve-agent']['spec']['template']['spec']
    assert pod['securityContext']['runAsUser'] > 0 and not pod.get('hostNetwork') and not pod.get('volumes')


def chart_is_kustomize():
    """The same objects, but for the namespace, which Helm makes."""
    rendered = documents(output('helm', 'template', 'reeve-agent', CHART, '--namespace', 'reeve-system'))
    base = documents(output('kubectl', 'kustomize', KUSTOMIZE))
    base.pop(('Namespace', 'reeve-system'))
    rendered['Namespace', 'open-cluster-management-agent-addon']['metadata'].pop('annotations')
    rendered['Deployment', 'reeve-agent']['spec']['template']['spec']['containers'][0].pop('imagePullPolicy')
    assert rendered == base


# ---- On a cluster. ----

class Fleet:
    """A hub, a server that knows nothing of us, and the agent there with the rights of deploy/."""

    def __init__(self):
        self.hub, self.managed = Server(REEVE), Server(REEVE)
        self.hub.start(None, '--verbose')
        self.managed.start(None, '--no-controllers', '--verbose')
        self.log = os.path.join(self.managed.folder, 'agent-log')
        self.agent = None

    def kubectl(self, server, *words, stdin=None):
        env = {**os.environ, 'KUBECONFIG': server.kubeconfig, 'HOME': server.folder}
        return output('kubectl', *words, env=env, input=stdin)

    def on_hub(self, *words, stdin=None):
        return self.kubectl(self.hub, *words, stdin=stdin)

    def on_managed(self, *words, stdin=None):
        return self.kubectl(self.managed, *words, stdin=stdin)

    def install(self):
        """As deploy/README.md says."""
        join = os.path.join(self.hub.folder, 'join')
        output(REEVE, 'clusters', 'add', 'cluster1', '--join-file', join, '--kubeconfig', self.hub.kubeconfig)
        self.on_managed('create', 'namespace', 'reeve-system')
        self.on_managed('create', 'secret', 'generic', 'reeve-hub', '-n', 'reeve-system', '--from-file=kubeconfig=' + join,
                        '--from-literal=cluster-name=cluster1')
        self.on_managed('apply', '-k', KUSTOMIZE)
        self.start()

    def start(self):
        """The container of the Deployment, in a process instead of a pod."""
        deployment = yaml.safe_load(self.on_managed('get', 'deployment', 'reeve-agent', '-n', 'reeve-system', '-o', 'yaml'))
        container = deployment['spec']['template']['spec']['containers'][0]
        name = container['env'][0]['valueFrom']['secretKeyRef']
        secret = yaml.safe_load(self.on_managed('get', 'secret', name['name'], '-n', 'reeve-system', '-o', 'yaml'))
        token = self.on_managed('create', 'token', 'reeve-agent', '-n', 'reeve-system').strip()
        path = kubeconfig_of(self.managed, token, 'agent-kubeconfig')
        args = [arg for arg in container['args'] if not arg.startswith('--listen')]
        env = {**os.environ, 'REEVE_CLUSTER': base64.b64decode(secret['data'][name['key']]).decode(), 'REEVE_KUBECONFIG': path}
        self.agent = start([REEVE] + args + ['--listen=127.0.0.1:0'], self.log, env)

    def refused(self):
        pattern = re.compile(r'msg=request .*user=system:serviceaccount:(cluster1|reeve-system):reeve-agent status=40[13]')
        found = []
        for server in (self.hub, self.managed):
            with open(server.log, encoding='utf-8', errors='replace') as file:
                found += [line for line in file if pattern.search(line)]
        return found

    def end(self):
        if self.agent:
            end(self.agent, self.log)
        for server in (self.hub, self.managed):
            server.stop()
            server.remove()


def permission(name, group):
    subject = {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Group', 'name': group}
    return yaml.safe_dump({
        'apiVersion': 'rbac.open-cluster-management.io/v1alpha1', 'kind': 'ClusterPermission',
        'metadata': {'name': name, 'namespace': 'cluster1'},
        'spec': {'clusterRole': {'rules': [{'apiGroups': ['apps'], 'resources': ['deployments'], 'verbs': ['get']}]},
                 'clusterRoleBinding': {'subject': subject},
                 'roles': [{'namespaceSelector': {'matchLabels': {'team': 'sea'}},
                            'rules': [{'apiGroups': [''], 'resources': ['secrets'], 'verbs': ['get']}]}],
                 'roleBindings': [{'namespaceSelector': {'matchLabels': {'team': 'sea'}}, 'roleRef': {'kind': 'Role'},
                                   'subject': subject}]}})


def account(name):
    return yaml.safe_dump({'apiVersion': 'authentication.open-cluster-management.io/v1beta1', 'kind': 'ManagedServiceAccount',
                           'metadata': {'name': name, 'namespace': 'cluster1'}, 'spec': {'rotation': {}}})


def may(fleet, *words):
    """Of a person on the managed cluster, unless the words say of whom."""
    env = {**os.environ, 'KUBECONFIG': fleet.managed.kubeconfig, 'HOME': fleet.managed.folder}
    asked = subprocess.run(['kubectl', 'auth', 'can-i', '--as=ada', '--as-group=sailors', *words], check=False,
                           capture_output=True, text=True, env=env)
    return asked.stdout.strip() == 'yes'


def rights_are_enough():
    fleet = Fleet()
    try:
        fleet.install()
        wait_for(lambda: 'True' in fleet.on_hub('get', 'managedcluster', 'cluster1', '-o', 'jsonpath={.status.conditions[?('
                                                '@.type=="ManagedClusterConditionAvailable")].status}'), 'a heartbeat')
        fleet.on_hub('create', '-f', '-', stdin=permission('sailors', 'sailors'))
        wait_for(lambda: may(fleet, 'get', 'deployments.apps'), 'a grant')
        fleet.on_managed('create', 'namespace', 'north')
        fleet.on_managed('label', 'namespace', 'north', 'team=sea')
        wait_for(lambda: may(fleet, 'get', 'secrets', '-n', 'north'), 'a grant in a new namespace')
        fleet.on_hub('create', '-f', '-', stdin=account('pilot'))
        wait_for(lambda: 'pilot' in fleet.on_hub('get', 'secrets', '-n', 'cluster1', '-o', 'name'), 'a token')
        agent = '--as=system:serviceaccount:reeve-system:reeve-agent'
        assert may(fleet, 'create', 'serviceaccounts/token', '-n', 'open-cluster-management-agent-addon', agent)
        assert not may(fleet, 'create', 'serviceaccounts/token', '-n', 'kube-system', agent)
        fleet.on_hub('delete', 'clusterpermission', 'sailors', '-n', 'cluster1')
        wait_for(lambda: not may(fleet, 'get', 'deployments.apps'), 'the end of a grant')
        fleet.on_hub('delete', 'managedserviceaccount', 'pilot', '-n', 'cluster1')
        refused = fleet.refused()
        assert not refused, refused
    finally:
        fleet.end()


def main():
    checks = Tap()
    checks.run('rbac.yaml is what the binary prints', rbac_is_printed)
    checks.run('the chart has the rights that the binary prints', chart_has_the_rights)
    checks.run('tokens of ServiceAccounts are of one namespace', tokens_are_of_one_namespace)
    checks.run('the pod has no privileges', pod_is_restricted)
    checks.run('the rights are enough', rights_are_enough)
    if shutil.which('helm'):
        checks.run('the chart makes the same objects', chart_is_kustomize)
    else:
        checks.skip('the chart makes the same objects', 'there is no helm')
    sys.exit(checks.end())


if __name__ == '__main__':
    main()
