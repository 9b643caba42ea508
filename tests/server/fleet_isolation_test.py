#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an agent's credential opens, and what it does not: everything on the hub is tried. A hub that lies, a credential of another
cluster, and an account that is taken back.

usage: fleet_isolation_test.py REEVE [WORD]..."""
import base64
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fault_proxy import HOP_BY_HOP, send_chunk  # noqa: E402
from fleet_world import (ADDON_NAMESPACE, APPLIED, CLUSTERS, JANE, RBAC, READ, ROBOT, Agent, Fleet, account, accounts,  # noqa: E402
                         condition, is_applied, is_gone, permission, permissions, works)
from picture import DISCOVERY  # noqa: E402
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Tap, raise_files  # noqa: E402

ONE, TWO = 'cluster1', 'cluster2'
VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'approve', 'bind', 'escalate',
         'impersonate', 'execute-as']

# All that an agent may do, in the namespace of its cluster: (group, resource, name): verbs
RIGHTS = {
    ('work.open-cluster-management.io', 'manifestworks', ''): 'get list patch watch',
    ('work.open-cluster-management.io', 'manifestworks/status', ''): 'patch',
    ('authentication.open-cluster-management.io', 'managedserviceaccounts', ''): 'delete get list watch',
    ('authentication.open-cluster-management.io', 'managedserviceaccounts/status', ''): 'get patch update',
    ('', 'secrets', ''): 'create get list update watch',
    ('addon.open-cluster-management.io', 'managedclusteraddons', ''): 'create',
    ('addon.open-cluster-management.io', 'managedclusteraddons', 'managed-serviceaccount'): 'get list watch',
    ('addon.open-cluster-management.io', 'managedclusteraddons/status', 'managed-serviceaccount'): 'get patch update',
    ('coordination.k8s.io', 'leases', 'managed-cluster-lease'): 'get update',
    ('', 'serviceaccounts/token', 'reeve-agent'): 'create',
}


# ---- Everything there is. ----

def all_resources(server):
    """[(group, resource)], subresources too."""
    connection, found = server.connect(), set()
    for root in ('/api', '/apis'):
        code, groups = server.ask('GET', root, None, connection, DISCOVERY)
        assert code == 200, groups
        for group in groups['items']:
            for version in group['versions']:
                for one in version.get('resources', []):
                    name = group['metadata'].get('name', '')
                    found.add((name, one['resource']))
                    found |= {(name, one['resource'] + '/' + sub['subresource']) for sub in one.get('subresources', [])}
    connection.close()
    return sorted(found)


def rules(server, token, namespace):
    """{(group, resource, name): {verb}} of whose token it is, and of whoever is authenticated."""
    code, answer = server.ask_as(token, 'POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
        'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SelfSubjectRulesReview', 'spec': {'namespace': namespace}})
    assert code == 201 and not answer['status']['incomplete'], answer
    found = {}
    for rule in answer['status']['resourceRules']:
        for group in rule.get('apiGroups', []):
            for resource in rule.get('resources', []):
                for name in rule.get('resourceNames') or ['']:
                    found.setdefault((group, resource, name), set()).update(rule['verbs'])
    return found


def may(server, connection, cluster, question):
    """A SubjectAccessReview about the agent of a cluster; question: (namespace, group, resource, verb)"""
    namespace, group, resource, verb = question
    resource, _, subresource = resource.partition('/')
    code, answer = server.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SubjectAccessReview', 'spec': {
            'user': 'system:serviceaccount:%s:reeve-agent' % cluster,
            'groups': ['system:serviceaccounts', 'system:serviceaccounts:' + cluster, 'system:authenticated'],
            'resourceAttributes': {'namespace': namespace, 'group': group, 'resource': resource, 'subresource': subresource,
                                   'verb': verb}}}, connection)
    assert code == 201, answer
    return answer['status'].get('allowed', False)


def rights_are_what_is_said(fleet):
    """By the rules that a server tells: in its own namespace the table above, elsewhere what everybody has."""
    fleet.hub.must('POST', '/api/v1/namespaces/default/serviceaccounts', {'metadata': {'name': 'nobody'}})
    everybody = rules(fleet.hub, fleet.hub.token('default', 'nobody'), 'default')
    token = fleet.hub.token(ONE, 'reeve-agent')
    for namespace in (TWO, 'default', 'kube-system'):
        assert rules(fleet.hub, token, namespace) == everybody, namespace
    own = {key: verbs for key, verbs in rules(fleet.hub, token, ONE).items() if everybody.get(key) != verbs}
    assert own == {key: set(verbs.split()) for key, verbs in RIGHTS.items()}, own


def nothing_elsewhere(fleet):
    """By asking for every verb on every resource: with what is said to be everybody's, and nothing else."""
    everybodys = {('authorization.k8s.io', 'selfsubjectaccessreviews', 'create'),
                  ('authorization.k8s.io', 'selfsubjectrulesreviews', 'create'),
                  ('authentication.k8s.io', 'selfsubjectreviews', 'create')}
    everybodys |= {('apiextensions.k8s.io', 'customresourcedefinitions', verb) for verb in ('get', 'list', 'watch')}
    connection, found, asked = fleet.hub.connect(), set(), 0
    for group, resource in all_resources(fleet.hub):
        for verb in VERBS:
            for namespace in (TWO, ''):
                asked += 1
                if may(fleet.hub, connection, ONE, (namespace, group, resource, verb)):
                    found.add((group, resource, verb))
    connection.close()
    assert asked > 1000 and found == everybodys, (asked, found ^ everybodys)


def requests_are_refused(fleet):
    """The same with requests."""
    token = fleet.hub.token(ONE, 'reeve-agent')
    work = {'apiVersion': 'work.open-cluster-management.io/v1', 'kind': 'ManifestWork', 'metadata': {'name': 'x'},
            'spec': {'workload': {'manifests': []}}}
    some = fleet.hub.must('GET', works(TWO))['items'][0]['metadata']['name']
    for method, path, body in [
            ('GET', works(TWO), None), ('GET', works(TWO, some), None), ('POST', works(TWO), work), ('POST', works(ONE), work),
            ('DELETE', works(TWO, some), None), ('DELETE', works(ONE, some), None), ('PUT', works(TWO, some), work),
            ('GET', '/apis/work.open-cluster-management.io/v1/manifestworks', None),
            ('GET', '/apis/work.open-cluster-management.io/v1/manifestworks?watch=true', None),
            ('GET', '/api/v1/namespaces/%s/secrets' % TWO, None), ('GET', '/api/v1/secrets', None),
            ('POST', '/api/v1/namespaces/%s/serviceaccounts/reeve-agent/token' % TWO, {'spec': {}}),
            ('POST', '/api/v1/namespaces/%s/serviceaccounts/default/token' % ONE, {'spec': {}}),
            ('GET', permissions(ONE), None), ('GET', CLUSTERS, None), ('GET', CLUSTERS + '/' + ONE, None),
            ('GET', '/api/v1/namespaces', None), ('GET', RBAC + '/clusterroles', None),
            ('PATCH', '/apis/coordination.k8s.io/v1/namespaces/%s/leases/managed-cluster-lease' % TWO, {})]:
        code, answer = fleet.hub.ask_as(token, method, path, body)
        assert code == 403, (method, path, code, answer)
    code, _ = fleet.hub.ask_as(token, 'GET', works(ONE))
    assert code == 200  # the token itself is good


# ---- A hub that lies. ----

def stolen_work(cluster):
    """A work as the hub would tell of it."""
    return {'apiVersion': 'work.open-cluster-management.io/v1', 'kind': 'ManifestWork', 'metadata': {
        'name': 'stolen', 'namespace': cluster, 'uid': '11111111-2222-3333-4444-555555555555', 'resourceVersion': '1', 'generation': 1,
        'creationTimestamp': '2026-01-01T00:00:00Z',
        'finalizers': ['cluster.open-cluster-management.io/manifest-work-cleanup']}, 'spec': {'workload': {'manifests': [
            {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole', 'metadata': {'name': 'stolen'}, 'rules': [READ]}]}}}


class Lie:
    """The hub's answer about works, with one more in it."""

    def __init__(self, work):
        self.work = work
        self.told = 0

    def __call__(self, request):
        return self if request.method == 'GET' and request.path.endswith('/manifestworks') else None

    def give(self, client, request, proxy):
        upstream = proxy.server.connect(timeout=None, certificate=False)
        upstream.connect()
        proxy.remember(upstream.sock)
        raw = upstream.sock
        try:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP | {'host'}}
            upstream.request('GET', request.target, None, headers)
            answer = upstream.getresponse()
            if request.is_watch and answer.status == 200:
                return self.lie_in_a_watch(answer, client)
            listed = json.loads(answer.read())
            listed.get('items', []).append(self.work)
            body = json.dumps(listed).encode()
            self.told += 1
            client.sendall(b'HTTP/1.1 %d Lie\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % (
                answer.status, len(body)) + body)
            return True
        finally:
            proxy.forget(raw)
            upstream.close()

    def lie_in_a_watch(self, answer, client):
        client.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n')
        send_chunk(client, json.dumps({'type': 'ADDED', 'object': self.work}).encode() + b'\n')
        self.told += 1
        while True:
            data = answer.readline()
            if not data:
                client.sendall(b'0\r\n\r\n')
                return True
            send_chunk(client, data)


def grant_and_revoke(fleet, cluster, name):
    """The agent is at work."""
    fleet.hub.must('POST', permissions(cluster), permission(name, {
        'clusterRole': {'rules': [READ]}, 'clusterRoleBinding': {'subject': JANE}}))
    fleet.wait(is_applied(cluster, name))
    fleet.hub.must('DELETE', permissions(cluster, name))
    fleet.wait(is_gone(cluster, name))


def stolen_works_are_not_carried_out(fleet):
    """A work of another cluster in the answers of the hub: whoever put it there, it is not for us. The same one for us would be."""
    member = fleet[ONE]
    role = RBAC + '/clusterroles/stolen'
    lie = Lie(stolen_work(TWO))
    member.hub_proxy.faults = lie
    member.hub_proxy.cut()
    wait_for(lambda: lie.told, 'the hub to lie')
    grant_and_revoke(fleet, ONE, 'meanwhile')
    assert not member.server.get(role), member.server.get(role)
    assert not [one for one in member.server.must('GET', APPLIED)['items'] if one['spec']['manifestWorkName'] == 'stolen']
    other = Lie(stolen_work(ONE))
    member.hub_proxy.faults = other
    member.hub_proxy.cut()
    wait_for(lambda: member.server.get(role), lambda: 'what would be its own to be carried out' + fleet.log())
    member.hub_proxy.faults = None
    member.hub_proxy.cut()
    grant_and_revoke(fleet, ONE, 'afterwards')


def credential_of_another_cluster(fleet):
    """An agent for cluster2 with the credential of cluster1 does not begin: what it would find are closed doors."""
    member = fleet[TWO]
    member.agent.stop()
    before = member.server.must('GET', APPLIED)['items']
    thief = Agent(member.binary, fleet.hub.folder, TWO, (fleet[ONE].hub_proxy, member.proxy))
    fleet[ONE].hub_proxy.write_kubeconfig(thief.hub_kubeconfig, fleet.hub.token(ONE, 'reeve-agent'))
    fleet.hub.must('POST', permissions(TWO), permission('hidden', {
        'clusterRole': {'rules': [READ]}, 'clusterRoleBinding': {'subject': JANE}}))
    try:
        thief.start()
        assert thief.process.wait(60) == 1, thief.read_log()
        assert 'the join kubeconfig is that of cluster "cluster1"' in thief.read_log(), thief.read_log()
        thief.check_log()
    finally:
        thief.remove()
    assert member.server.must('GET', APPLIED)['items'] == before
    member.agent.start()
    fleet.wait(is_applied(TWO, 'hidden'))


# ---- Accounts. ----

def deleted_accounts_have_no_access(fleet):
    """The token of a ManagedServiceAccount opens what its permission says, until the account is deleted: then it opens nothing."""
    member = fleet[ONE]
    fleet.hub.must('POST', accounts(ONE), account('robot'))
    secret_path = '/api/v1/namespaces/%s/secrets/robot' % ONE

    def is_reported():
        return condition(fleet.hub.get(accounts(ONE, 'robot')), 'TokenReported')['status'] == 'True'
    wait_for(is_reported, lambda: 'its token: %r%s' % (fleet.hub.get(accounts(ONE, 'robot')), fleet.log()))
    token = base64.b64decode(fleet.hub.must('GET', secret_path)['data']['token']).decode()
    pods = '/api/v1/namespaces/default/pods'
    assert member.server.ask_as(token, 'GET', pods)[0] == 403
    fleet.hub.must('POST', permissions(ONE), permission('robots', {
        'clusterRole': {'rules': [READ]}, 'clusterRoleBinding': {'subject': ROBOT}}))
    fleet.wait(is_applied(ONE, 'robots'))
    assert member.server.ask_as(token, 'GET', pods)[0] == 200
    assert fleet[TWO].server.ask_as(token, 'GET', pods)[0] == 401
    assert fleet.hub.ask_as(token, 'GET', pods)[0] == 401
    fleet.hub.must('DELETE', accounts(ONE, 'robot'))
    path = '/api/v1/namespaces/%s/serviceaccounts/robot' % ADDON_NAMESPACE
    wait_for(lambda: not member.server.get(path), lambda: 'its ServiceAccount to go' + fleet.log())
    assert member.server.ask_as(token, 'GET', pods)[0] == 401
    wait_for(lambda: not fleet.hub.get(secret_path), 'its Secret to go')
    wait_for(lambda: condition(fleet.hub.get(permissions(ONE, 'robots')), 'SubjectPresent')['status'] == 'False',
             lambda: 'the permission to say so: %r' % fleet.hub.get(permissions(ONE, 'robots')))


TESTS = [
    ('rights are what is said', rights_are_what_is_said),
    ('nothing elsewhere', nothing_elsewhere),
    ('requests are refused', requests_are_refused),
    ('stolen works are not carried out', stolen_works_are_not_carried_out),
    ('the credential of another cluster', credential_of_another_cluster),
    ('deleted accounts have no access', deleted_accounts_have_no_access),
]


def main():
    raise_files()
    tap = Tap()
    fleet = Fleet(os.path.abspath(sys.argv[1]), [ONE, TWO])
    try:
        tap.run('two clusters join', fleet.start)
        for name in (ONE, TWO):
            fleet.hub.must('POST', permissions(name), permission('team', {
                'clusterRole': {'rules': [READ]}, 'clusterRoleBinding': {'subject': JANE}}))
            tap.run('a permission of ' + name, fleet.wait, is_applied(name, 'team'))
        for name, test in TESTS:
            if all(word in name for word in sys.argv[2:]):
                tap.run(name, test, fleet)
        tap.run('all end in peace', fleet.stop)
    finally:
        fleet.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
