#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many installs of one package at once, by "reeve manager": how many requests each costs, and that nobody who leaves waits for those
who come.

usage: install_burst_test.py REEVE [TEST…]
"""
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from fault_proxy import CutWatch, Hold  # noqa: E402
from install_world import CRDS, MERGE, PACKAGE, Layout, World, condition, crd, package  # noqa: E402
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Tap  # noqa: E402

RBAC = '/apis/rbac.authorization.k8s.io/v1/'
REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
FAMILY = 'packages.crossplane.io/family'
PERSONAS = ('admin', 'edit', 'view')
NOTES, TASKS = 'notes.note.example.org', 'tasks.task.example.org'
INSTALLS = 40
MOST_REQUESTS = 60  # of the manager, for each install
MOST_REVIEWS = 10


class Burst(World):
    """Without --controllers=aggregation, as on a Kubernetes, where kube-controller-manager aggregates."""

    def __init__(self, binary, packages, controllers, faults=None):
        super().__init__(binary, packages)
        self.proxy.faults = faults
        self.manager.start('--controllers', controllers, '--package-store', packages.store, '--package-cache', self.cache,
                           '--no-leader-election')
        self.manager.wait_ready()

    def plain_namespace(self, name):
        self.must('POST', '/api/v1/namespaces', {'metadata': {'name': name}})

    def own_objects(self, namespace):
        """What an install has alone, by path."""
        found = []
        for path in ('/api/v1/namespaces/%s/serviceaccounts', RBAC + 'namespaces/%s/rolebindings',
                     '/apis/apps/v1/namespaces/%s/deployments'):
            items = self.must('GET', path % namespace + '?labelSelector=packages.crossplane.io%2Frecord')['items']
            found += [path.rsplit('/', 1)[1] for _ in items]
        return found

    def has(self, path):
        return self.ask('GET', path)[0] == 200

    def install_of(self, namespace, name='note'):
        return self.must('GET', PACKAGE.path(namespace, name))

    def installed(self, namespaces, name='note'):
        """Every one of them."""
        for namespace in namespaces:
            wait_for(lambda at=namespace: condition(self.install_of(at, name), 'Installed')['status'] == 'True',
                     lambda at=namespace: 'install in %s: %r%s' % (at, self.install_of(at, name).get('status'), self.log()))

    def may(self, namespace, verb, crd_name):
        """Whether the account of an install may do this there."""
        plural, _, group = crd_name.partition('.')
        return self.must('POST', REVIEWS, {'spec': {
            'user': 'system:serviceaccount:%s:%s' % (namespace, plural[:-1]),
            'resourceAttributes': {'namespace': namespace, 'verb': verb, 'group': group, 'resource': plural}}})['status']['allowed']

    def persona_rules(self, namespace, who):
        return self.must('GET', RBAC + 'clusterroles/crossplane:ns:%s:%s' % (namespace, who)).get('rules') or []


def grants(rules, crd_name):
    plural, _, group = crd_name.partition('.')
    return any(group in rule.get('apiGroups', ()) and plural in rule.get('resources', ()) for rule in rules)


def labels_of(world, namespace):
    """The shared objects that are labelled for a namespace."""
    selector = '?labelSelector=namespace.crossplane.io%%2F%s' % namespace
    roles = world.must('GET', RBAC + 'clusterroles' + selector)['items']
    crds = world.must('GET', CRDS + selector)['items']
    return sorted(one['metadata']['name'] for one in roles + crds if not one['metadata']['name'].startswith('crossplane:'))


# ---- Requests. ----

def installs_that_wait_for_roles_of_people_ask_for_nothing(binary, packages):
    """Those roles follow one after another, as slowly as somebody else writes them."""
    world = Burst(binary, packages, 'installs')
    names = ['team-%02d' % i for i in range(INSTALLS)]
    try:
        for name in names:
            world.plain_namespace(name)
            for who in PERSONAS:
                world.must('POST', RBAC + 'clusterroles', {'metadata': {'name': 'crossplane:ns:%s:%s' % (name, who)}, 'rules': []})
        start = time.monotonic()
        for name in names:
            world.create(PACKAGE, name, 'note')
        for name in names:
            world.wait(PACKAGE.path(name, 'note'), 'WaitingForRights')
        for name in names:
            assert 'deployments' not in world.own_objects(name), 'it runs before people may use it'
            for who in PERSONAS:
                world.must('PATCH', RBAC + 'clusterroles/crossplane:ns:%s:%s' % (name, who), {
                    'rules': [{'verbs': ['*'], 'apiGroups': ['*'], 'resources': ['*']}]}, MERGE)
            world.installed([name])
            assert 'deployments' in world.own_objects(name)
        asked = world.proxy.since(start)
        reviews = [one for one in asked if one.path == REVIEWS]
        assert len(asked) < MOST_REQUESTS * INSTALLS, '%d requests; most often %r' % (len(asked), world.proxy.busiest(start))
        assert INSTALLS <= len(reviews) < MOST_REVIEWS * INSTALLS, '%d reviews' % len(reviews)
        print('# each install: %.1f requests, %.1f reviews' % (len(asked) / INSTALLS, len(reviews) / INSTALLS))
        world.stop()
    finally:
        world.remove()


def roles_of_people_have_rules_before_another_process_aggregates(binary, packages):
    """The manager writes the rules of its own personas; roles of others it leaves alone."""
    world = Burst(binary, packages, 'installs,personas')
    names = ['team-%02d' % i for i in range(INSTALLS)]
    try:
        selects = {'clusterRoleSelectors': [{'matchLabels': {'rbac.crossplane.io/aggregate-to-namespace-view': 'true'}}]}
        world.must('POST', RBAC + 'clusterroles', {'metadata': {'name': 'foreign'}, 'aggregationRule': selects})
        start = time.monotonic()
        for name in names:
            world.namespace(name)
            world.create(PACKAGE, name, 'note')
        world.installed(names)
        for name in names:
            for who in PERSONAS:
                assert grants(world.persona_rules(name, who), NOTES), (name, who)
        assert not world.must('GET', RBAC + 'clusterroles/foreign').get('rules')
        asked = world.proxy.since(start)
        assert len(asked) < MOST_REQUESTS * INSTALLS, '%d requests; most often %r' % (len(asked), world.proxy.busiest(start))
        print('# each install with its namespace: %.1f requests' % (len(asked) / INSTALLS))
        world.stop()
    finally:
        world.remove()


# ---- Leaving. ----

def who_leaves_does_not_wait_for_those_who_come(binary, packages):
    """Installs are added until the one that leaves is gone, and what it had with it."""
    world = Burst(binary, packages, 'installs,personas')
    most = 300
    try:
        for name, what in (('leaver', 'note'), ('alone', 'task')):
            world.namespace(name)
            world.create(PACKAGE, name, what)
            world.installed([name], what)
        assert world.may('leaver', 'list', NOTES) and world.may('alone', 'list', TASKS)
        for name in ('leaver', 'alone'):
            assert len(world.own_objects(name)) == 3 and labels_of(world, name), (world.own_objects(name), labels_of(world, name))
        added = []

        def add_one():
            assert len(added) < most, 'it waits until nobody comes any more: %r' % world.install_of('leaver').get('status')
            added.append('team-%03d' % len(added))
            world.plain_namespace(added[-1])
            world.create(PACKAGE, added[-1], 'note')
        for _ in range(INSTALLS):
            add_one()
        world.delete(PACKAGE, 'leaver', 'note')
        world.delete(PACKAGE, 'alone', 'task')
        for name, what in (('leaver', 'note'), ('alone', 'task')):
            while world.has(PACKAGE.path(name, what)):
                add_one()
            assert not labels_of(world, name), labels_of(world, name)
            assert not world.own_objects(name), world.own_objects(name)
        assert not world.may('leaver', 'list', NOTES) and not world.may('alone', 'list', TASKS)
        assert not world.has(CRDS + '/' + TASKS), 'nobody has it any more'
        assert not [one for one in world.must('GET', RBAC + 'clusterroles')['items'] if ':task:' in one['metadata']['name']]
        for name, crd_name in (('leaver', NOTES), ('alone', TASKS)):
            for who in PERSONAS:
                wait_for(lambda at=name, it=crd_name, by=who: not grants(world.persona_rules(at, by), it), 'access of %s' % who)
        world.installed(added)
        for name in added:
            assert world.may(name, 'list', NOTES)
        assert world.has(CRDS + '/' + NOTES)
        print('# %d came meanwhile' % len(added))
        world.stop()
    finally:
        world.remove()


def who_leaves_takes_its_labels_along_though_the_cache_is_behind(binary, packages):
    """The watch of shared roles ends before somebody comes, and is not answered until she has left."""
    watch, hold = CutWatch(after=1 << 30), Hold()

    def faults(request):
        if not request.is_watch or not request.path.endswith('/clusterroles') or FAMILY not in str(request.query.get('labelSelector')):
            return None
        return watch if watch.after else hold
    world = Burst(binary, packages, 'installs,personas', faults)
    try:
        for name in ('stays', 'leaver'):
            world.plain_namespace(name)
        world.create(PACKAGE, 'stays', 'note')
        world.installed(['stays'])
        world.wait_quiet(1)
        watch.after = 0
        world.create(PACKAGE, 'leaver', 'note')
        world.installed(['leaver'])
        assert len(labels_of(world, 'leaver')) == len(labels_of(world, 'stays')) > 1
        world.delete(PACKAGE, 'leaver', 'note')
        world.wait(PACKAGE.path('leaver', 'note'), None)
        assert not labels_of(world, 'leaver'), labels_of(world, 'leaver')
        assert not hold.release.is_set() and world.proxy.since(0, lambda request: faults(request) is hold)
        hold.release.set()
        world.stop()
    finally:
        hold.release.set()
        world.remove()


TESTS = [installs_that_wait_for_roles_of_people_ask_for_nothing, roles_of_people_have_rules_before_another_process_aggregates,
         who_leaves_does_not_wait_for_those_who_come, who_leaves_takes_its_labels_along_though_the_cache_is_behind]


class Store:
    """note and task, of a namespace, with one CRD each."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='reeve-packages-')
        layout = Layout(os.path.join(self.folder, 'store'))
        self.store = layout.folder
        for name, kind in (('note', NOTES), ('task', TASKS)):
            layout.add('acme/%s:1.0' % name, package('Namespaced', '1.0', [crd(kind, 'text: {type: string}')]))

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    tap = Tap()
    packages = Store()
    try:
        for test in TESTS:
            if len(sys.argv) < 3 or test.__name__ in sys.argv[2:]:
                tap.run(test.__name__.replace('_', ' '), test, sys.argv[1], packages)
    finally:
        packages.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
