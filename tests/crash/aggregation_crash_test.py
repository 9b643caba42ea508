#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A crash between the write of a role and those of the aggregates that select it, as the store shows it: the role is there, the
aggregates are as before. The next start makes up for it, whoever writes first: what they grant holds from the first request on,
and what is stored follows.

usage: aggregation_crash_test.py REEVE"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

RBAC = '/apis/rbac.authorization.k8s.io/v1/'
RULE = {'apiGroups': ['press.example.org'], 'resources': ['blogs'], 'verbs': ['get']}
GROUP = 'rbac.authorization.k8s.io'


class Test:
    def __init__(self, binary):
        self.server = Server(binary)

    def must(self, method, path, body=None):
        code, answer = self.server.ask(method, path, body)
        assert code in (200, 201), (method, path, code, answer)
        return answer

    def aggregate(self, name, label):
        """Selects what has the label, and has the label of who selects it itself."""
        self.must('POST', RBAC + 'clusterroles', {
            'metadata': {'name': name, 'labels': {'selected-by': name + '-parent'}}, 'rules': [],
            'aggregationRule': {'clusterRoleSelectors': [{'matchLabels': {'selected-by': label}}]}})

    def given(self):
        """Nobody keeps aggregates, so they stay behind. What a first start writes is there already."""
        self.server.start()
        wait_for(lambda: self.rules('admin'), 'the roles of a new server')
        self.server.stop()
        self.server.start(None, '--no-controllers')
        self.aggregate('one', 'one')
        self.aggregate('two', 'one-parent')
        self.must('POST', RBAC + 'clusterroles', {'metadata': {'name': 'leaf', 'labels': {'selected-by': 'one'}}, 'rules': [RULE]})
        self.must('POST', RBAC + 'clusterrolebindings', {
            'metadata': {'name': 'jane'}, 'roleRef': {'apiGroup': GROUP, 'kind': 'ClusterRole', 'name': 'two'},
            'subjects': [{'apiGroup': GROUP, 'kind': 'User', 'name': 'jane'}]})
        assert not self.is_allowed() and not self.rules('one')
        self.server.kill()

    def is_allowed(self):
        return self.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {'spec': {
            'user': 'jane', 'resourceAttributes': {'verb': 'get', 'group': 'press.example.org', 'resource': 'blogs'}}})['status']['allowed']

    def rules(self, name):
        return self.must('GET', RBAC + 'clusterroles/' + name).get('rules')

    def granted(self):
        self.server.start()
        assert self.is_allowed(), 'what the role grants does not hold yet'

    def stored(self):
        for name in ('one', 'two'):
            wait_for(lambda name=name: self.rules(name) == [RULE], lambda name=name: 'rules of %s: %s' % (name, self.rules(name)))
        self.server.stop()


def main():
    tap = Tap()
    test = Test(sys.argv[1])
    try:
        tap.run('a role, and aggregates that do not have it yet', test.given)
        tap.run('after the start it is granted through them', test.granted)
        tap.run('and they come to have it', test.stored)
    finally:
        test.server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
