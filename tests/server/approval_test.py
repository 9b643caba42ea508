#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ClusterPermissions with --require-approval: who holds what he grants needs nobody, all others wait, and nobody gets around it.

usage: approval_test.py REEVE"""
import json
import os
import subprocess
import sys
import time

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

RBAC = '/apis/rbac.authorization.k8s.io/v1'
GROUP = 'rbac.open-cluster-management.io'
PERMISSIONS = '/apis/%s/v1alpha1/namespaces/cluster1/clusterpermissions' % GROUP
WORKS = '/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks'
APPROVED = 'reeve.dev/approved-generation'
PATIENCE = 60


def wait_for(what, question):
    end = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < end, 'it never happened: ' + what
        time.sleep(0.02)
    return answer


def rule(verb, *resources, group=''):
    return {'apiGroups': [group], 'resources': list(resources), 'verbs': [verb]}


def subject(name):
    return {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'User', 'name': name}


def grants(*rules):
    return {'clusterRole': {'rules': list(rules)}, 'clusterRoleBinding': {'subjects': [subject('jane')]}}


class Hub:
    def __init__(self, server):
        self.server = server

    def ask(self, method, path, body=None, who=None, patch=False):
        headers = {'Impersonate-User': who} if who else {}
        if patch:
            headers['Content-Type'] = 'application/merge-patch+json'
        return self.server.ask(method, path, body, headers=headers)

    def must(self, *args, **kwargs):
        status, body = self.ask(*args, **kwargs)
        assert status in (200, 201), (status, body)
        return body

    def role(self, name, who, *rules):
        self.must('POST', RBAC + '/clusterroles', {'metadata': {'name': name}, 'rules': list(rules)})
        self.must('POST', RBAC + '/clusterrolebindings', {
            'metadata': {'name': name}, 'subjects': [subject(who)],
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': name}})

    def begin(self):
        self.must('POST', '/api/v1/namespaces', {'metadata': {'name': 'cluster1'}})
        self.must('POST', '/apis/cluster.open-cluster-management.io/v1/managedclusters',
                  {'apiVersion': 'cluster.open-cluster-management.io/v1', 'kind': 'ManagedCluster',
                   'metadata': {'name': 'cluster1'}, 'spec': {'hubAcceptsClient': True}})
        write = {'apiGroups': [GROUP], 'resources': ['clusterpermissions', 'clusterpermissions/status'],
                 'verbs': ['create', 'get', 'patch', 'update']}
        self.role('jane', 'jane', write, rule('get', 'pods'))
        self.role('boss', 'boss', write, {'apiGroups': [GROUP], 'resources': ['clusterpermissions'], 'verbs': ['approve']})

    def create(self, name, spec, who='jane', **annotations):
        return self.ask('POST', PERMISSIONS, {
            'apiVersion': GROUP + '/v1alpha1', 'kind': 'ClusterPermission',
            'metadata': {'name': name, 'annotations': annotations}, 'spec': spec}, who=who)

    def patch(self, name, body, who='jane', sub=''):
        return self.ask('PATCH', '%s/%s%s' % (PERMISSIONS, name, sub), body, who=who, patch=True)

    def approve(self, name, generation, who='boss'):
        return self.patch(name, {'metadata': {'annotations': {APPROVED: str(generation)}}}, who=who)

    def verdict(self, name):
        """(generation that it is of, status, message)"""
        body = self.must('GET', PERMISSIONS + '/' + name)
        for c in body.get('status', {}).get('conditions', []):
            if c['type'] == 'Approved' and c['observedGeneration'] == body['metadata']['generation']:
                return c['observedGeneration'], c['status'], c['message']
        return None

    def decided(self, name, status):
        return wait_for('%s is %s' % (name, status), lambda: (self.verdict(name) or ('', ''))[1] == status and self.verdict(name))

    def work(self, name):
        """What its roles allow: ['get pods']; None: there is no work."""
        for work in self.must('GET', WORKS)['items']:
            if work['metadata']['ownerReferences'][0]['name'] == name:
                return ['%s %s' % (r['verbs'][0], r['resources'][0])
                        for m in work['spec']['workload']['manifests'] for r in m.get('rules', [])]
        return None


def who_holds_it_needs_nobody(hub):
    assert hub.create('held', grants(rule('get', 'pods')))[0] == 201
    assert 'jane holds' in hub.decided('held', 'True')[2]
    assert hub.work('held') == ['get pods']
    assert hub.create('admin', grants(rule('*', '*', group='*')), who=None)[0] == 201  # of system:masters
    hub.decided('admin', 'True')
    assert hub.work('admin') == ['* *']


def who_does_not_waits(hub):
    for name, spec, missing in (
            ('secrets', grants(rule('get', 'secrets')), 'get secrets'),
            ('both', grants(rule('get', 'pods'), rule('delete', 'pods')), 'delete pods'),
            ('log', grants(rule('get', 'pods/log')), 'get pods/log'),
            ('stars', grants(rule('get', '*')), 'get *'),
            ('bind', {'clusterRoleBinding': {'subjects': [subject('jane')], 'roleRef': {
                'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'cluster-admin'}}},
             'bind clusterroles.rbac.authorization.k8s.io cluster-admin'),
            # On the managed cluster there is one of that name already, which stays as it is.
            ('cluster-admin', grants(rule('get', 'pods')), 'bind clusterroles.rbac.authorization.k8s.io cluster-admin'),
            ('role', {'roles': [{'namespace': 'cluster1', 'rules': [rule('list', 'pods')]}], 'roleBindings': [
                {'namespace': 'cluster1', 'roleRef': {'kind': 'Role'}, 'subjects': [subject('jane')]}]}, 'list pods'),
            ('many', grants(*(rule('get', 'r%d' % i) for i in range(600))), 'escalate')):
        status, body = hub.create(name, spec)
        assert status == 201, body
        message = hub.decided(name, 'False')[2]
        assert 'jane may not ' + missing in message, (name, message)
        assert hub.work(name) is None, name


def approval_is_of_one_generation(hub):
    assert hub.approve('secrets', 1)[0] == 200
    hub.decided('secrets', 'True')
    wait_for('a work', lambda: hub.work('secrets') == ['get secrets'])
    assert hub.patch('secrets', {'spec': grants(rule('delete', 'secrets'))})[0] == 200
    hub.decided('secrets', 'False')
    assert hub.work('secrets') == ['get secrets']  # what was approved stays
    assert hub.patch('secrets', {'spec': grants(rule('get', 'pods'))})[0] == 200  # and less needs nobody
    hub.decided('secrets', 'True')
    wait_for('a work', lambda: hub.work('secrets') == ['get pods'])


def nobody_gets_around_it(hub):
    assert hub.create('forged', grants(rule('get', 'secrets')), **{APPROVED: '1'})[0] == 403
    assert hub.create('forged', grants(rule('get', 'secrets')), **{'reeve.dev/requested-by': json.dumps(
        {'user': 'kubernetes-admin', 'groups': ['system:masters']})})[0] == 201
    hub.decided('forged', 'False')
    assert hub.approve('forged', 1, who='jane')[0] == 403
    message = hub.verdict('forged')[2]
    lie = {'type': 'Approved', 'status': 'True', 'reason': 'Approved', 'message': 'jane holds what it grants',
           'observedGeneration': 1, 'lastTransitionTime': '2026-01-02T03:04:05Z'}
    assert hub.patch('forged', {'status': {'conditions': [lie]}}, sub='/status')[0] == 403
    # Who removes the verdict sees it again; that takes the right to approve, too.
    assert hub.patch('forged', {'status': {'conditions': []}}, sub='/status')[0] == 403
    assert hub.patch('forged', {'status': {'conditions': []}}, who='boss', sub='/status')[0] == 200
    assert hub.decided('forged', 'False')[2] == message
    assert hub.work('forged') is None


def nothing_is_written_after_a_restart(hub):
    def picture():
        return {o['metadata']['uid']: o['metadata']['resourceVersion']
                for path in (PERMISSIONS, WORKS) for o in hub.must('GET', path)['items']}
    before = picture()
    hub.server.stop()
    hub.server.start(None, '--require-approval')
    assert hub.create('last', grants(rule('get', 'pods')))[0] == 201
    hub.decided('last', 'True')  # by then all others have been visited: they were there first
    after = picture()
    assert {uid: after.get(uid) for uid in before} == before


# ---- A manager on another server, where a policy guards approvals. ----

ADMISSION = 'admissionregistration.k8s.io'
POLICY = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'deploy', 'approval', 'policy.yaml')


def policy_kind(plural, kind):
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': '%s.%s' % (plural, ADMISSION),
                         'annotations': {'api-approved.kubernetes.io': 'unapproved, stands for that of a Kubernetes'}},
            'spec': {'group': ADMISSION, 'scope': 'Cluster', 'names': {'plural': plural, 'singular': kind.lower(), 'kind': kind},
                     'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {
                         'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}}


class Manager:
    """Delivers ClusterPermissions on a server that is not its own."""

    def __init__(self, server):
        self.server = server
        self.log = os.path.join(server.folder, 'manager.log')
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(
                [server.binary, 'manager', '--kubeconfig', server.kubeconfig, '--controllers', 'permissions', '--listen',
                 '127.0.0.1:0', '--no-leader-election', '--require-approval'], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as file:
            return file.read()

    def stop(self):
        self.process.terminate()
        assert self.process.wait() == 0, self.text()


def nothing_is_delivered_without_the_policy(hub):
    """The kinds of policies of a Kubernetes are made up here: this is about what the manager makes of them."""
    assert hub.create('approved', grants(rule('get', 'secrets')), who=None, **{APPROVED: '1'})[0] == 201
    manager = Manager(hub.server)
    try:
        message = hub.decided('approved', 'False')[2]
        assert 'ValidatingAdmissionPolicy "approval.reeve.dev"' in message, message
        wait_for('a line in the log', lambda: 'approval.reeve.dev\\" is missing' in manager.text())
        assert hub.work('approved') is None
    finally:
        manager.stop()
    for plural, kind in (('validatingadmissionpolicies', 'ValidatingAdmissionPolicy'),
                         ('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding')):
        hub.must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', policy_kind(plural, kind))
    with open(POLICY, encoding='utf-8') as file:
        policy, binding = yaml.safe_load_all(file)
    base = '/apis/%s/v1/validatingadmissionpolic' % ADMISSION
    weak = dict(policy, spec=dict(policy['spec'], failurePolicy='Ignore'))
    wait_for('the kinds', lambda: hub.ask('POST', base + 'ies', weak)[0] == 201)
    wait_for('the kinds', lambda: hub.ask('POST', base + 'ybindings', binding)[0] == 201)
    manager = Manager(hub.server)
    try:
        wait_for('the weaker policy to be found', lambda: 'differs from that of this release' in hub.verdict('approved')[2])
        assert hub.work('approved') is None
        hub.must('PATCH', base + 'ies/approval.reeve.dev', {'spec': {'failurePolicy': 'Fail'}}, patch=True)
        hub.decided('approved', 'True')
        wait_for('a work', lambda: hub.work('approved') == ['get secrets'])
        assert hub.create('harmless', grants(rule('get', 'pods')))[0] == 201  # nobody knows who asked for it
        assert 'not known who asked' in hub.decided('harmless', 'False')[2]
    finally:
        manager.stop()


def main():
    server = Server(sys.argv[1])
    checks = Tap()
    try:
        server.start(None, '--require-approval')
        hub = Hub(server)
        hub.begin()
        checks.run('who holds what he grants needs nobody', who_holds_it_needs_nobody, hub)
        checks.run('who does not waits', who_does_not_waits, hub)
        checks.run('an approval is of one generation', approval_is_of_one_generation, hub)
        checks.run('nobody gets around it', nobody_gets_around_it, hub)
        checks.run('nothing is written after a restart', nothing_is_written_after_a_restart, hub)
        server.stop()
        server.start(None, '--no-controllers')
        checks.run('nothing is delivered without the policy', nothing_is_delivered_without_the_policy, hub)
        server.stop()
    finally:
        server.remove()
    sys.exit(checks.end())


if __name__ == '__main__':
    main()
