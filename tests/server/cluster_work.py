# SPDX-License-Identifier: Apache-2.0
"""Work for the controllers, round by round, and what must have become of it.

Each round has: a leaf role that changes and one that goes; a namespace that ends, unless there is no time for it (a manager leaves
it alone for five seconds), and one that begins; owners that are deleted in the background, in the foreground and as orphans. Beside
it stands what nobody deletes; it must outlive everything.

    prepare(n)   makes the things of round n
    change(n)    what the controllers have to react to
    complaint(n) what is not as it should be after that; '' once all is
"""
import json

from reeve_manager import wait_for

CORE = '/api/v1/namespaces/'
HOME = CORE + 'work/configmaps'
ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
MERGE = {'Content-Type': 'application/merge-patch+json'}


class Work:
    def __init__(self, server):
        self.server = server
        self.connection = server.connect()
        self.precious = []
        self.quick = set()  # rounds in which no namespace ends

    def ask(self, method, path, body=None, headers=None):
        return self.server.ask(method, path, body, self.connection, headers)

    def must(self, method, path, body=None, headers=None):
        code, answer = self.ask(method, path, body, headers)
        assert code in (200, 201, 202), (method, path, code, answer)
        return answer

    # ---- Small things. ----

    def namespace(self, name):
        self.must('POST', '/api/v1/namespaces', {'metadata': {'name': name}})

    def configmap(self, name, owner=None, block=False, where=HOME):
        meta = {'name': name}
        if owner:
            meta['ownerReferences'] = [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': owner['metadata']['name'],
                                        'uid': owner['metadata']['uid'], 'blockOwnerDeletion': block}]
        return self.must('POST', where, {'metadata': meta})

    def leaf(self, name, resource, label='work'):
        rules = [{'apiGroups': [''], 'resources': [resource], 'verbs': ['get']}]
        self.must('POST', ROLES, {'metadata': {'name': name, 'labels': {'sum': label}}, 'rules': rules})

    def sum(self, name, label='work'):
        self.must('POST', ROLES, {'metadata': {'name': name}, 'aggregationRule': {
            'clusterRoleSelectors': [{'matchLabels': {'sum': label}}]}})

    def delete(self, path, policy='Background'):
        self.must('DELETE', path + '?propagationPolicy=' + policy)

    # ---- Rounds. ----

    def start(self):
        """What is there all the time."""
        self.namespace('work')
        self.namespace('precious')
        self.sum('work-sum')
        self.leaf('work-0', 'steady')
        owner = self.configmap('precious')
        for n in range(3):
            self.configmap('precious-%d' % n, owner, block=True)
            self.configmap('in-precious-%d' % n, where=CORE + 'precious/configmaps')
        self.precious = [HOME + '/precious'] + [HOME + '/precious-%d' % n for n in range(3)] + [
            CORE + 'precious/configmaps/in-precious-%d' % n for n in range(3)] + [
            ROLES + '/work-0', ROLES + '/work-sum', CORE + 'precious', CORE + 'work', CORE + 'default']

    def prepare(self, n, size=3, is_quick=False):
        if is_quick:
            self.quick.add(n)
        else:
            self.namespace('ends-%d' % n)
            for k in range(size):
                self.configmap('c-%d' % k, where=CORE + 'ends-%d/configmaps' % n)
        for kind in ('back', 'fore', 'free'):
            owner = self.configmap('%s-%d' % (kind, n))
            for k in range(size):
                self.configmap('%s-%d-%d' % (kind, n, k), owner, block=kind == 'fore')
        self.leaf('leaf-%d' % n, 'before-%d' % n)
        self.leaf('short-%d' % n, 'short-%d' % n)

    def change(self, n):
        if n not in self.quick:
            self.delete(CORE + 'ends-%d' % n)
        self.delete(HOME + '/back-%d' % n)
        self.delete(HOME + '/fore-%d' % n, 'Foreground')
        self.delete(HOME + '/free-%d' % n, 'Orphan')
        self.delete(ROLES + '/short-%d' % n)
        self.must('PATCH', ROLES + '/leaf-%d' % n, {'rules': [
            {'apiGroups': [''], 'resources': ['after-%d' % n], 'verbs': ['get']}]}, MERGE)
        self.namespace('fresh-%d' % n)

    def complaint(self, n, size=3):
        for path in ([CORE + 'ends-%d' % n] + [HOME + '/%s-%d' % (kind, n) for kind in ('back', 'fore', 'free')] +
                     [HOME + '/%s-%d-%d' % (kind, n, k) for kind in ('back', 'fore') for k in range(size)]):
            code, answer = self.ask('GET', path)
            if code != 404:
                return '%s is still there: %s' % (path, json.dumps(answer)[:2000])
        for k in range(size):
            left = self.must('GET', HOME + '/free-%d-%d' % (n, k))
            if 'ownerReferences' in left['metadata']:
                return 'free-%d-%d still has its owner' % (n, k)
        for path in ('serviceaccounts/default', 'configmaps/kube-root-ca.crt'):
            if self.ask('GET', CORE + 'fresh-%d/%s' % (n, path))[0] != 200:
                return 'fresh-%d has no %s' % (n, path)
        return self.complaint_of_sum('work-sum') or self.complaint_of_precious()

    def complaint_of_sum(self, name, label='work'):
        roles = self.must('GET', ROLES + '?labelSelector=sum%3D' + label)['items']
        want = [rule['resources'] for role in sorted(roles, key=lambda role: role['metadata']['name'].encode())
                for rule in role['rules']]
        got = [rule['resources'] for rule in self.must('GET', ROLES + '/' + name).get('rules') or []]
        return '' if got == want else '%s has %r, not %r' % (name, got, want)

    def complaint_of_precious(self):
        for path in self.precious:
            code, answer = self.ask('GET', path)
            assert code == 200 and 'deletionTimestamp' not in answer['metadata'], 'precious %s is lost: %r' % (path, answer)
        return ''

    def settle(self, n, manager=None, size=3):
        """Waits until round n is as it should be."""
        last = ['']

        def is_settled():
            if manager:
                manager.check_alive()
            last[0] = self.complaint(n, size)
            return not last[0]
        try:
            wait_for(is_settled, lambda: last[0])
        except AssertionError as error:
            raise AssertionError('%s\nlog of the manager:\n%s' % (error, manager.read_log() if manager else '')) from error
