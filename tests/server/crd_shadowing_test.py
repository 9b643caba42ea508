#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user who may create and delete CustomResourceDefinitions, and nothing else, tries to reach objects that are not his: those of
built-in kinds, and those of other CRDs.

usage: crd_shadowing_test.py REEVE"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
PATIENCE = 60
OBJECTS = 400  # of the CRD that is deleted while the server is killed
CYCLES = 30 if os.environ.get('REEVE_TEST_ALL') else 5


def crd(plural, group, version='v2', scope='Cluster', **names):
    return {'metadata': {'name': '%s.%s' % (plural, group), 'annotations': {'api-approved.kubernetes.io': 'unapproved'}},
            'spec': {'group': group, 'scope': scope, 'names': {'plural': plural, 'kind': 'Shadow', **names},
                     'versions': [{'name': version, 'served': True, 'storage': True,
                                   'schema': {'openAPIV3Schema': {'type': 'object'}}}]}}


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, 'timed out waiting until ' + what
        time.sleep(0.01)


class Attack:
    def __init__(self, server):
        self.server = server
        self.token = None

    def admin(self, method, path, body=None, code=None):
        status, answer = self.server.ask(method, path, body, connection=self.server.kept())
        assert code is None or status == code, (method, path, status, answer)
        return answer if code else (status, answer)

    def attacker(self, method, path, body=None):
        connection = self.server.connect(certificate=False)
        try:
            return self.server.ask(method, path, body, connection, {'Authorization': 'Bearer ' + self.token})
        finally:
            connection.close()

    def prepare(self):
        """The attacker is a ServiceAccount with two permissions."""
        self.admin('POST', '/api/v1/namespaces/default/serviceaccounts', {'metadata': {'name': 'mallory'}}, 201)
        self.admin('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles',
                   {'metadata': {'name': 'define'}, 'rules': [{'apiGroups': ['apiextensions.k8s.io'], 'verbs': [
                       'create', 'delete'], 'resources': ['customresourcedefinitions']}]}, 201)
        self.admin('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
                   {'metadata': {'name': 'define'},
                    'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'define'},
                    'subjects': [{'kind': 'ServiceAccount', 'namespace': 'default', 'name': 'mallory'}]}, 201)
        answer = self.admin('POST', '/api/v1/namespaces/default/serviceaccounts/mallory/token', {'spec': {}}, 201)
        self.token = answer['status']['token']
        for path, body in (('/api/v1/namespaces/default/configmaps', {'metadata': {'name': 'victim'}}),
                           ('/api/v1/namespaces/default/secrets', {'metadata': {'name': 'victim'}}),
                           ('/apis/coordination.k8s.io/v1/namespaces/default/leases', {'metadata': {'name': 'victim'}}),
                           ('/apis/networking.k8s.io/v1/ingressclasses', {'metadata': {'name': 'victim'}, 'spec': {
                               'controller': 'example.com/x'}}),
                           ('/api/v1/namespaces/default/events', {'metadata': {'name': 'victim'}, 'involvedObject': {
                               'namespace': 'default', 'name': 'victim'}, 'reason': 'r', 'type': 'Normal'})):
            self.admin('POST', path, body, 201)
        status, answer = self.attacker('GET', '/api/v1/namespaces/default/secrets/victim')
        assert status == 403, answer

    def resources(self):
        """(group, version, plural, is listable) of everything that is served."""
        found = [('', 'v1', r) for r in self.admin('GET', '/api/v1', code=200)['resources']]
        for group in self.admin('GET', '/apis', code=200)['groups']:
            for version in group['versions']:
                listed = self.admin('GET', '/apis/' + version['groupVersion'], code=200)
                found += [(group['name'], version['version'], r) for r in listed['resources']]
        return [(g, v, r['name'], 'list' in r['verbs']) for g, v, r in found if '/' not in r['name']]

    def objects(self):
        """What exists: path and uid, but for Leases and Events, which come and go by themselves, and CRDs."""
        found = set()
        for group, version, plural, is_listable in self.resources():
            if not is_listable or (plural in ('events', 'leases', 'customresourcedefinitions')):
                continue
            prefix = '/apis/%s/%s/' % (group, version) if group else '/api/%s/' % version
            for item in self.admin('GET', prefix + plural, code=200)['items']:
                found.add((prefix + plural, item['metadata']['name'], item['metadata']['uid']))
        assert len(found) > 100, found
        return found

    def nothing_is_lost(self, before):
        lost = before - self.objects()
        assert not lost, sorted(lost)[:10]
        for path in ('/api/v1/namespaces/default/events/victim', '/apis/coordination.k8s.io/v1/namespaces/default/leases/victim'):
            self.admin('GET', path, code=200)

    # ---- Attacks. ----

    def shadow_every_builtin(self):
        before = self.objects()
        tried = 0
        builtin = [r for r in self.resources() if not r[0].endswith(('crossplane.io', 'open-cluster-management.io'))]
        assert len({(g, p) for g, _, p, _ in builtin}) > 40, builtin
        for group, version, plural, _ in builtin:
            for served in {version, 'v9'}:
                for where in {group, group or 'core', 'extensions'}:
                    status, answer = self.attacker('POST', CRDS, crd(plural, where, served))
                    assert status == 422, (plural, where, status, answer)
                    if where == group and '.' in group:
                        fields = [c['field'] for c in answer['details']['causes'] if c['reason'] == 'FieldValueForbidden']
                        assert fields == ['spec.names.plural'], answer
                    self.attacker('DELETE', '%s/%s.%s' % (CRDS, plural, where))
                    tried += 1
        assert tried > 100, tried
        self.nothing_is_lost(before)

    def shadow_names(self):
        """Plurals that are free, in groups of built-in kinds, with names that are not: never established, harmless when deleted."""
        before = self.objects()
        group = 'rbac.authorization.k8s.io'
        for names in ({'kind': 'ClusterRoleBinding'}, {'singular': 'clusterrolebindings'}, {'shortNames': ['clusterroles']},
                      {'kind': 'ClusterRoleBindingList', 'listKind': 'ClusterRoleBinding'}):
            status, answer = self.attacker('POST', CRDS, crd('shadows', group, 'v1', **names))
            assert status == 201, answer
            states = {c['type']: c['status'] for c in answer['status']['conditions']}
            assert states == {'NamesAccepted': 'False', 'Established': 'False'}, states
            self.attacker_deletes('shadows.' + group)
        self.nothing_is_lost(before)

    def attacker_deletes(self, name):
        status, answer = self.attacker('DELETE', '%s/%s' % (CRDS, name))
        assert status == 200, answer
        wait_for(name + ' is deleted', lambda: self.admin('GET', '%s/%s' % (CRDS, name))[0] == 404)

    def shadow_other_crds(self):
        """CRDs that claim names of the CRD of somebody else, again and again."""
        self.admin('POST', CRDS, crd('widgets', 'example.com', 'v1', kind='Widget', shortNames=['wd']), 201)
        for i in range(20):
            self.admin('POST', '/apis/example.com/v1/widgets', {
                'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'w%d' % i}}, 201)
        before = self.objects()
        for _ in range(CYCLES):
            for plural, names in (('gadgets', {'kind': 'Widget'}), ('wd', {}), ('widget', {}),
                                  ('gadgets', {'singular': 'widgets'}), ('gadgets', {'shortNames': ['widgets', 'wd']})):
                status, answer = self.attacker('POST', CRDS, crd(plural, 'example.com', 'v1', **names))
                assert status == 201, answer
                self.attacker_deletes(plural + '.example.com')
        self.nothing_is_lost(before)
        self.nothing_is_lost({o for o in before if o[0].endswith('/widgets')})

    def recreate(self):
        """The same name with another uid has none of the objects of before, and loses none of its own."""
        path, before = '/apis/example.org/v1/parts', self.objects()
        uids = set()
        for cycle in range(CYCLES):
            answer = self.admin('POST', CRDS, crd('parts', 'example.org', 'v1', kind='Part'), 201)
            uids.add(answer['metadata']['uid'])
            assert self.admin('GET', path, code=200)['items'] == [], cycle
            for i in range(70):  # more than are deleted at once
                self.admin('POST', path, {'apiVersion': 'example.org/v1', 'kind': 'Part', 'metadata': {'name': 'p%d' % i}}, 201)
            self.attacker_deletes('parts.example.org')
        assert len(uids) == CYCLES
        self.nothing_is_lost(before)

    def killed_during_cleanup(self):
        path = '/apis/example.net/v1/tiles'
        before = self.objects()
        self.admin('POST', CRDS, crd('tiles', 'example.net', 'v1', kind='Tile'), 201)
        body = {'apiVersion': 'example.net/v1', 'kind': 'Tile', 'metadata': {'generateName': 't-'}}
        for _ in range(OBJECTS):
            self.admin('POST', path, body, 201)
        # One that is held keeps the clean-up going, however fast it is.
        self.admin('POST', path, {**body, 'metadata': {'name': 'held', 'finalizers': ['example.net/held']}}, 201)
        status, answer = self.attacker('DELETE', CRDS + '/tiles.example.net')
        assert status == 200, answer
        self.server.kill()
        for _ in range(2):
            self.server.start()
            left = self.admin('GET', path, code=200)['items']
            assert 1 <= len(left) <= OBJECTS + 1, len(left)
            self.server.kill()
        self.server.start()
        wait_for('only the held one is left', lambda: len(self.admin('GET', path, code=200)['items']) == 1)
        answer = self.admin('POST', path, body)
        assert answer[0] == 405, answer
        status, answer = self.server.ask('PATCH', path + '/held', json.dumps({'metadata': {'finalizers': None}}),
                                         headers={'Content-Type': 'application/merge-patch+json'})
        assert status == 200, answer
        wait_for('the CRD is deleted', lambda: self.admin('GET', CRDS + '/tiles.example.net')[0] == 404)
        self.nothing_is_lost(before)


def main():
    server = Server(sys.argv[1])
    tap = Tap()
    try:
        server.start()
        attack = Attack(server)
        attack.prepare()
        for name in ('shadow_every_builtin', 'shadow_names', 'shadow_other_crds', 'recreate', 'killed_during_cleanup'):
            tap.run(name, getattr(attack, name))
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
