# SPDX-License-Identifier: Apache-2.0
"""A hub, clusters that it manages, and what is between them, each a process of its own.

    hub: reeve up ◄──── proxy ◄── reeve manager                (or the hub's own controllers)
       ▲
       └─ proxy, which passes the agent's token on ◄── reeve agent ──► proxy ──► cluster1: reeve up

    fleet = Fleet(reeve, ['cluster1', 'cluster2'])
    fleet.start()                                # joined, and their agents are at work
    fleet.hub.ask(…), fleet['cluster1'].server.ask(…)
    fleet['cluster1'].agent.kill()
"""
import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from fault_proxy import HttpProxy  # noqa: E402
from picture import difference, picture  # noqa: E402
from reeve_manager import Manager, wait_for  # noqa: E402
from reeve_server import Server  # noqa: E402

MERGE = {'Content-Type': 'application/merge-patch+json'}
MANAGER = 'permissions,clusters,namespaces,garbage,aggregation'
ADDON_NAMESPACE = 'open-cluster-management-agent-addon'
CLUSTERS = '/apis/cluster.open-cluster-management.io/v1/managedclusters'
APPLIED = '/apis/work.open-cluster-management.io/v1/appliedmanifestworks'
RBAC = '/apis/rbac.authorization.k8s.io/v1'
PLACES = {'CustomResourceDefinition': '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'ClusterRole': RBAC + '/clusterroles'}


def permissions(cluster, name=''):
    return '/apis/rbac.open-cluster-management.io/v1alpha1/namespaces/%s/clusterpermissions%s' % (cluster, name and '/' + name)


def works(cluster, name=''):
    return '/apis/work.open-cluster-management.io/v1/namespaces/%s/manifestworks%s' % (cluster, name and '/' + name)


def accounts(cluster, name=''):
    return '/apis/authentication.open-cluster-management.io/v1beta1/namespaces/%s/managedserviceaccounts%s' % (
        cluster, name and '/' + name)


def is_point(request):
    """A write of an object: neither a question, an Event nor a heartbeat, which are nobody's state."""
    return (request.is_write and not request.is_lease and '/leases' not in request.path and
            not request.path.endswith(('reviews', '/events')))


def condition(one, kind):
    for each in one.get('status', {}).get('conditions', []):
        if each['type'] == kind:
            return each
    return {'status': '', 'reason': '', 'message': ''}


# ---- Servers and agents. ----

class Cluster(Server):
    """A server that insists: what it is asked for must work."""

    def must(self, method, path, body=None, headers=None):
        code, answer = self.ask(method, path, body, self.kept(), headers)
        assert code in (200, 201, 202), (method, path, code, answer)
        return answer

    def get(self, path):
        """None: it is not there."""
        code, answer = self.ask('GET', path, None, self.kept())
        assert code in (200, 404), (path, code, answer)
        return answer if code == 200 else None

    def namespace(self, name, labels=None):
        self.must('POST', '/api/v1/namespaces', {'metadata': {'name': name, 'labels': labels or {}}})

    def token(self, namespace, name, seconds=3600):
        path = '/api/v1/namespaces/%s/serviceaccounts/%s/token' % (namespace, name)
        answer = self.must('POST', path, {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenRequest',
                                          'spec': {'expirationSeconds': seconds}})
        return answer['status']['token']

    def ask_as(self, token, method, path, body=None):
        """With a token instead of the administrator's certificate."""
        connection = self.connect(certificate=False)
        try:
            return self.ask(method, path, body, connection, {'Authorization': 'Bearer ' + token})
        finally:
            connection.close()


class Agent(Manager):
    """A "reeve agent" under test, between two proxies."""

    def __init__(self, binary, folder, cluster, proxies):
        self.hub_proxy, proxy = proxies
        super().__init__(binary, folder, proxy, 'agent')
        self.cluster = cluster
        self.hub_kubeconfig = os.path.join(folder, 'hub.kubeconfig')

    def start(self, *flags):
        self.proxy.write_kubeconfig(self.kubeconfig)
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(
                [self.binary, 'agent', '--cluster', self.cluster, '--hub-kubeconfig', self.hub_kubeconfig, '--kubeconfig',
                 self.kubeconfig, '--listen', '127.0.0.1:0', *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log)


class Member:
    """One managed cluster, its agent, and the proxies on both sides of that."""

    def __init__(self, binary, name, hub, hub_proxy=None):
        self.name = name
        self.server = Cluster(binary)
        self.owns_proxy = hub_proxy is None
        self.hub_proxy = hub_proxy or HttpProxy(hub, passes_tokens=True)
        self.proxy = self.agent = None
        self.binary = binary

    def start(self, *flags):
        self.server.start(None, *flags)
        self.proxy = self.proxy or HttpProxy(self.server)
        self.agent = Agent(self.binary, self.server.folder, self.name, (self.hub_proxy, self.proxy))

    def remove(self):
        if self.agent:
            self.agent.remove()
        for proxy in ([self.hub_proxy] if self.owns_proxy else []) + ([self.proxy] if self.proxy else []):
            proxy.close()
        self.server.remove()

    def hub_url(self):
        return 'https://127.0.0.1:%d' % self.hub_proxy.port

    def applied_name(self, work):
        return '%s-%s' % (hashlib.sha256(self.hub_url().encode()).hexdigest(), work)


# ---- The fleet. ----

class Fleet:
    """has_manager: the hub's controllers are a process of their own, behind a proxy. hub_proxies: {cluster: proxy} that outlive it;
    snapshot: a folder that keep() made, of a fleet with the same proxies."""

    def __init__(self, binary, names, has_manager=False, hub_proxies=None, snapshot=None):
        self.binary, self.has_manager, self.snapshot = binary, has_manager, snapshot
        self.agent_flags = []
        self.hub = Cluster(binary)
        self.manager = self.manager_proxy = None
        proxies = hub_proxies or {}
        for proxy in proxies.values():
            proxy.server = self.hub
            proxy.faults = None
        self.members = {name: Member(binary, name, self.hub, proxies.get(name)) for name in names}

    def __getitem__(self, name):
        return self.members[name]

    def all(self):
        return self.members.values()

    # ---- Beginning and end. ----

    def start(self):
        """Joined, and every agent has said so."""
        try:
            self.start_servers()
            if not self.snapshot:
                self.join()
            for member in self.all():
                member.agent.start(*self.agent_flags)
            self.wait_joined()
        except BaseException:
            self.remove()
            raise

    def start_servers(self):
        for server, name in [(self.hub, 'hub')] + [(member.server, member.name) for member in self.all()]:
            if self.snapshot:
                shutil.copytree(os.path.join(self.snapshot, name), server.data)
        self.start_hub()
        if self.has_manager and not self.snapshot:
            self.add_own_kinds()
        if self.has_manager:
            self.manager_proxy = HttpProxy(self.hub)
            self.manager = Manager(self.binary, self.hub.folder, self.manager_proxy)
            self.start_manager()
        for member in self.all():
            member.start()
            if self.snapshot:
                shutil.copy(os.path.join(self.snapshot, member.name + '.kubeconfig'), member.agent.hub_kubeconfig)

    def add_own_kinds(self):
        """As deploy/ does on other servers."""
        for flag in ('--print-crds', '--print-rbac'):
            text = subprocess.run([self.binary, 'manager', flag, '--controllers', MANAGER], stdout=subprocess.PIPE, check=True).stdout
            for one in yaml.safe_load_all(text):
                if one and one['kind'] in PLACES:
                    self.hub.must('POST', PLACES[one['kind']], one)

    def start_hub(self):
        self.hub.start(None, *(['--no-controllers'] if self.has_manager else []))

    def start_manager(self):
        self.manager.start('--controllers', MANAGER, '--no-leader-election')

    def join(self):
        for member in self.all():
            self.hub.must('POST', CLUSTERS, {
                'apiVersion': 'cluster.open-cluster-management.io/v1', 'kind': 'ManagedCluster',
                'metadata': {'name': member.name}, 'spec': {'hubAcceptsClient': True}})
        for member in self.all():
            self.write_join_kubeconfig(member)

    def write_join_kubeconfig(self, member):
        where = '/api/v1/namespaces/%s/serviceaccounts/reeve-agent' % member.name
        wait_for(lambda: self.hub.get(where), lambda: 'the account of the agent' + self.log())
        member.hub_proxy.write_kubeconfig(member.agent.hub_kubeconfig, self.hub.token(member.name, 'reeve-agent'))

    def wait_joined(self):
        for member in self.all():
            wait_for(lambda: self.is_joined(member), lambda: '%s to join: %s%s' % (
                member.name, json.dumps(self.hub.get(CLUSTERS + '/' + member.name)), self.log()))

    def is_joined(self, member):
        member.agent.check_alive()
        one = self.hub.get(CLUSTERS + '/' + member.name)
        labels = one['metadata'].get('labels', {})
        is_available = condition(one, 'ManagedClusterConditionAvailable')['status'] == 'True'
        return is_available and labels.get('agent.reeve.dev/present') == 'true' and member.agent.ask('/readyz')[0] == 200

    def keep(self, folder):
        """Stops all, and keeps what is on their disks."""
        self.stop()
        os.makedirs(folder)
        shutil.copytree(self.hub.data, os.path.join(folder, 'hub'))
        for member in self.all():
            shutil.copytree(member.server.data, os.path.join(folder, member.name))
            shutil.copy(member.agent.hub_kubeconfig, os.path.join(folder, member.name + '.kubeconfig'))

    def stop(self):
        """In peace, so that what sanitizers say at the end is heard."""
        for one in [member.agent for member in self.all()] + [self.manager]:
            if one and one.is_alive():
                one.stop()
        for server in [member.server for member in self.all()] + [self.hub]:
            if server.process and server.is_alive():
                server.stop()

    def remove(self):
        for member in self.all():
            member.remove()
        if self.manager:
            self.manager.remove()
        if self.manager_proxy:
            self.manager_proxy.close()
        self.hub.remove()

    # ---- What comes of it. ----

    def proxies(self):
        found = [proxy for member in self.all() for proxy in (member.hub_proxy, member.proxy)]
        return found + ([self.manager_proxy] if self.manager_proxy else [])

    def writes(self, start=0):
        """Of agents and manager, in the order in which they came."""
        found = [request for proxy in self.proxies() for request in proxy.since(start, is_point)]
        return sorted(found, key=lambda request: request.time)

    def wait_quiet(self, seconds, limit=120):
        """Until so many seconds have passed without a write."""
        wait_for(lambda: not self.writes(time.monotonic() - seconds),
                 lambda: 'quiet; writes: %r%s' % (self.writes(time.monotonic() - seconds), self.log()), limit)

    def wait(self, check, seconds=120):
        """Until check(fleet) has no complaint."""
        wait_for(lambda: not check(self), lambda: check(self) + self.log(), seconds)

    def check_alive(self):
        for one in [member.agent for member in self.all()] + [self.manager]:
            if one and one.process:
                one.check_alive()

    def log(self):
        texts = [(member.name, member.agent.read_log()) for member in self.all() if member.agent and member.agent.process]
        if self.manager:
            texts.append(('manager', self.manager.read_log()))
        return ''.join('\n---- %s\n%s' % (name, text[-2500:]) for name, text in texts)

    def picture(self):
        """{'hub', and each cluster: picture}"""
        words = {}
        for one in self.hub.must('GET', '/apis/rbac.open-cluster-management.io/v1alpha1/clusterpermissions')['items']:
            meta = one['metadata']
            words['%s-%s' % (meta['name'], meta['uid'][:5])] = meta['name'] + '-<uid5>'
        for member in self.all():
            words[hashlib.sha256(member.hub_url().encode()).hexdigest()] = '<hub>'
        found = {'hub': picture(self.hub, clean, words)}
        for member in self.all():
            found[member.name] = picture(member.server, clean, words)
        return found


def clean(one):
    """Takes away what tokens, certificates of proxies and moments leave in objects."""
    status = one.get('status', {})
    for key in ('token', 'ca.crt'):
        if isinstance(one.get('data'), dict) and key in one['data']:
            one['data'][key] = '<%s>' % key
    if 'expirationTimestamp' in status:
        status['expirationTimestamp'] = '<time>'
    if 'lastRefreshTimestamp' in status.get('tokenSecretRef', {}):
        status['tokenSecretRef']['lastRefreshTimestamp'] = '<time>'
    if status.get('evictionStartTime'):
        status['evictionStartTime'] = '<time>'
    for taint in one.get('spec', {}).get('taints', []) if one.get('kind') == 'ManagedCluster' else []:
        taint.pop('timeAdded', None)


def fleet_difference(want, have):
    lines = []
    for name in sorted(want):
        text = difference(want[name], have[name])
        lines += ['on %s: %s' % (name, line) for line in text.splitlines()]
    return '\n'.join(lines[:40])


# ---- What people ask for. ----

GROUP = 'rbac.authorization.k8s.io'
READ = {'apiGroups': [''], 'resources': ['pods'], 'verbs': ['get', 'list']}
WRITE = {'apiGroups': ['apps'], 'resources': ['deployments'], 'verbs': ['update']}
JANE = {'apiGroup': GROUP, 'kind': 'User', 'name': 'jane'}
JOHN = {'apiGroup': GROUP, 'kind': 'User', 'name': 'john'}
ROBOT = {'apiGroup': 'authentication.open-cluster-management.io', 'kind': 'ManagedServiceAccount', 'name': 'robot'}
SELECTED = {'matchLabels': {'team': 'blue'}}

FULL = {
    'clusterRole': {'rules': [READ]},
    'clusterRoleBindings': [{'name': 'first', 'subject': JANE}, {'name': 'second', 'subjects': [JANE, JOHN]}],
    'roles': [{'namespace': 'default', 'rules': [WRITE]}, {'namespaceSelector': SELECTED, 'rules': [READ]}],
    'roleBindings': [{'namespace': 'default', 'roleRef': {'kind': 'Role'}, 'subject': JANE},
                     {'namespaceSelector': SELECTED, 'roleRef': {'kind': 'Role'}, 'subject': JOHN}],
}


def permission(name, spec):
    return {'apiVersion': 'rbac.open-cluster-management.io/v1alpha1', 'kind': 'ClusterPermission', 'metadata': {'name': name},
            'spec': copy.deepcopy(spec)}


def account(name):
    return {'apiVersion': 'authentication.open-cluster-management.io/v1beta1', 'kind': 'ManagedServiceAccount',
            'metadata': {'name': name}, 'spec': {'rotation': {'enabled': True, 'validity': '8640h0m0s'}}}


def is_applied(cluster, name):
    """A check for Fleet.wait: the permission is carried out as it is written now."""
    def check(fleet):
        one = fleet.hub.get(permissions(cluster, name))
        if not one:
            return 'there is no permission %s' % name
        told = condition(one, 'AppliedRBACManifestWork')
        is_new = condition(one, 'Ready').get('observedGeneration') == one['metadata']['generation']
        if told['status'] == 'True' and condition(one, 'Ready')['status'] == 'True' and is_new:
            return ''
        return '%s: %s' % (name, json.dumps(one.get('status')))
    return check


def is_gone(cluster, name):
    """A check for Fleet.wait: the permission, its works and what they delivered are gone."""
    def check(fleet):
        if fleet.hub.get(permissions(cluster, name)):
            return '%s is still there' % name
        left = [one['metadata']['name'] for one in fleet.hub.must('GET', works(cluster))['items']
                if one['metadata']['name'].startswith(name + '-')]
        applied = [one['metadata']['name'] for one in fleet[cluster].server.must('GET', APPLIED)['items']
                   if one['spec']['manifestWorkName'].startswith(name + '-')]
        return 'left: %r %r' % (left, applied) if left or applied else ''
    return check


def temporary_folder():
    return tempfile.mkdtemp(prefix='reeve-fleet-')
