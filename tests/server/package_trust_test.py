#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs among people who do not trust each other: nobody loses data, rights or a turn by what somebody else asks for.

usage: package_trust_test.py REEVE [TEST…]
"""
import os
import shutil
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from package_work import CRDS, MANAGED, MERGE, RBAC, Packages, condition, crd, deployment, files, image, path_of, wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

PI, CPI = 'PackageInstall', 'ClusterPackageInstall'
DELETE = {'metadata': {'annotations': {'packages.crossplane.io/delete-instances': 'true'}}}


class World(Packages):
    """Packages that people make up as they go, each with one kind of its own."""

    def package(self, name, version='1.0', definitions=None, **more):
        definitions = [crd(name + 's', name + '.example.org')] if definitions is None else definitions
        self.layout.add('acme/%s:%s' % (name, version), image(files(definitions, version=version, **more)))

    def instance(self, plural, namespace, name, version='v1alpha1'):
        group = plural[:-1] + '.example.org'
        self.must('POST', '/apis/%s/%s/namespaces/%s/%s' % (group, version, namespace, plural), {
            'apiVersion': '%s/%s' % (group, version), 'kind': plural[:-1].title(), 'metadata': {'name': name}})

    def reconnect(self):
        self.connection = self.server.connect(120)

    def has(self, path):
        return self.ask('GET', path)[0] == 200

    def has_instance(self, plural, namespace, name):
        return self.has('/apis/%s.example.org/v1alpha1/namespaces/%s/%s/%s' % (plural[:-1], namespace, plural, name))

    def reason(self, kind, namespace, name, reason, of='Ready'):
        return self.wait(kind, namespace, name, lambda one: condition(one, of)['reason'] == reason, 'never ' + reason)


def editors_delete_only_their_own(world):
    """Whoever may delete an install of her namespace has no rights to objects of others."""
    for namespace in ('mine', 'theirs'):
        world.namespace(namespace)
    world.package('note')
    for namespace in ('mine', 'theirs'):
        world.install(PI, namespace, 'note', 'acme/note:1.0')
    world.namespace('nobodys')
    for namespace in ('mine', 'theirs'):
        world.ready(PI, namespace, 'note')
    for namespace in ('mine', 'theirs', 'nobodys'):
        world.instance('notes', namespace, 'one')
    world.must('PATCH', path_of(PI, 'theirs', 'note'), DELETE, MERGE)
    world.remove(PI, 'theirs', 'note')
    world.gone(PI, 'theirs', 'note')
    assert not world.has_instance('notes', 'theirs', 'one')
    assert world.has_instance('notes', 'mine', 'one') and world.has_instance('notes', 'nobodys', 'one')
    world.must('PATCH', path_of(PI, 'mine', 'note'), DELETE, MERGE)
    world.remove(PI, 'mine', 'note')
    wait_for('mine to go', lambda: not world.has_instance('notes', 'mine', 'one'))
    install = world.wait(PI, 'mine', 'note', lambda one: condition(one, 'Synced')['reason'] == 'InUse', 'never InUse')
    assert '1 in nobodys' in condition(install, 'Synced')['message'], install
    assert world.has_instance('notes', 'nobodys', 'one')


def who_holds_a_package_keeps_it(world):
    """An install that is older, and has something else, does not take the place of one that has the package."""
    world.package('first', cluster=True)
    world.package('second', cluster=True)
    world.install(CPI, '', 'older', 'acme/first:1.0')
    world.ready(CPI, '', 'older')
    world.install(CPI, '', 'younger', 'acme/second:1.0')
    world.ready(CPI, '', 'younger')
    world.upgrade(CPI, '', 'older', 'acme/second:1.0')
    install = world.reason(CPI, '', 'older', 'Blocked')
    assert 'AlreadyInstalled' in condition(install, 'Ready')['message'], install
    assert world.get(CPI, '', 'younger')['status']['installedPackage'] == 'acme/second:1.0'
    assert condition(world.get(CPI, '', 'younger'), 'Ready')['reason'] == 'Available'


def kinds_that_no_version_serves_are_not_taken_for_empty(world):
    """Somebody stopped serving a kind while Reeve was not looking; its objects are still in the store."""
    world.namespace('shop')
    world.package('order')
    world.install(PI, 'shop', 'order', 'acme/order:1.0')
    world.ready(PI, 'shop', 'order')
    world.instance('orders', 'shop', 'one')
    world.server.stop()
    world.server.start(None, '--no-controllers')
    world.reconnect()
    world.must('PATCH', CRDS + '/orders.order.example.org', [
        {'op': 'replace', 'path': '/spec/versions/0/served', 'value': False}], {'Content-Type': 'application/json-patch+json'})
    world.remove(PI, 'shop', 'order')
    world.server.stop()
    world.layout.remove('acme/order:1.0')  # so that nobody can put the kind right,
    for blob in os.scandir(os.path.join(world.server.data, 'packages', 'store', 'blobs', 'sha256')):
        os.unlink(blob.path)  # not even by the digest that it had
    shutil.rmtree(os.path.join(world.server.data, 'packages', 'cache'))
    world.server.start()
    world.reconnect()
    install = world.reason(PI, 'shop', 'order', 'InUse', 'Synced')
    assert 'orders that no version serves' in condition(install, 'Synced')['message'], install
    assert world.has(CRDS + '/orders.order.example.org')


def who_asks_for_much_holds_up_nobody(world):
    """One namespace wants many packages of several registries that never answer; the package of another is in the store."""
    listeners = [socket.create_server(('127.0.0.1', 0), backlog=100) for _ in range(6)]
    world.namespace('stuck')
    world.namespace('quick')
    world.package('quick')
    for i in range(48):
        registry = 'localhost:%d' % listeners[i % len(listeners)].getsockname()[1]
        world.install(PI, 'stuck', 'bad%d' % i, '%s/evil/bad%d:1' % (registry, i))
    world.reason(PI, 'stuck', 'bad47', 'Pulling')
    world.install(PI, 'quick', 'good', 'acme/quick:1.0')
    world.ready(PI, 'quick', 'good')
    assert all(condition(world.get(PI, 'stuck', 'bad%d' % i), 'Ready')['reason'] == 'Pulling' for i in range(48)), 'one gave up'


def status_is_not_for_people(world):
    world.namespace('forged')
    world.must('POST', path_of(PI, 'forged'), {
        'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': PI, 'metadata': {'name': 'x'},
        'spec': {'package': 'acme/nothing:1'},
        'status': {'installedPackage': 'acme/note:1.0', 'resolvedPackage': 'sha256:' + 'a' * 64}})
    install = world.reason(PI, 'forged', 'x', 'PullFailed')
    assert 'installedPackage' not in install['status'], install


def what_an_upgrade_leaves_goes_with_the_install(world):
    """The new package was to run in a namespace that is being deleted, so that the old one was never left."""
    world.must('POST', '/api/v1/namespaces', {'metadata': {'name': 'going', 'finalizers': ['example.org/wait']}})
    world.must('DELETE', '/api/v1/namespaces/going')
    world.package('from', cluster=True)
    world.package('into', cluster=True)
    world.install(CPI, '', 'it', 'acme/from:1.0')
    world.ready(CPI, '', 'it')
    world.must('PATCH', path_of(CPI, '', 'it'), {'spec': {'package': 'acme/into:1.0', 'namespace': 'going'}}, MERGE)
    install = world.reason(CPI, '', 'it', 'ReconcileError', 'Synced')
    assert install['status']['replaces']['package'] == 'acme/from:1.0', install
    world.remove(CPI, '', 'it')
    world.gone(CPI, '', 'it')
    for name in ('from', 'into'):
        assert not world.has(RBAC + 'clusterroles/package:acme:%s:1.0:admin' % name), name
        assert not world.has(CRDS + '/%ss.%s.example.org' % (name, name)), name
    world.must('PATCH', '/api/v1/namespaces/going', {'metadata': {'finalizers': None}}, MERGE)


def a_record_that_is_deleted_comes_back(world):
    world.namespace('shelf')
    world.package('book', install=deployment())
    world.install(PI, 'shelf', 'book', 'acme/book:1.0')
    world.ready(PI, 'shelf', 'book')
    record = '/apis/packages.crossplane.io/v1alpha1/namespaces/shelf/packages/book'
    uid = world.must('GET', record)['metadata']['uid']
    world.must('DELETE', record)
    wait_for('a new record', lambda: world.ask('GET', record)[1].get('metadata', {}).get('uid') not in (uid, None))
    account = '/api/v1/namespaces/shelf/serviceaccounts/book'
    wait_for('objects of the new record', lambda: world.ask('GET', account)[1].get('metadata', {}).get(
        'labels', {}).get('packages.crossplane.io/record') == world.must('GET', record)['metadata']['uid'])
    world.ready(PI, 'shelf', 'book')


def an_upgrade_that_does_not_fit_is_refused(world):
    """Objects of the version that is installed are there: one that gives their fields other types cannot take its place."""
    world.namespace('narrow')
    world.package('thing')
    narrow = crd('things', 'thing.example.org')
    narrow['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['spec']['properties']['size']['type'] = 'string'
    world.package('thing', '2.0', [narrow])
    world.install(PI, 'narrow', 'thing', 'acme/thing:1.0')
    world.ready(PI, 'narrow', 'thing')
    world.upgrade(PI, 'narrow', 'thing', 'acme/thing:2.0')
    install = world.reason(PI, 'narrow', 'thing', 'Blocked')
    assert 'CRDConflict' in condition(install, 'Ready')['message'] and 'size' in condition(install, 'Ready')['message'], install
    assert install['status']['installedPackage'] == 'acme/thing:1.0', install
    world.upgrade(PI, 'narrow', 'thing', 'acme/thing:1.0')
    world.reason(PI, 'narrow', 'thing', 'Available')


def the_same_image_by_another_name_is_another_package(world):
    """Roles are named after the package: those of one are of no use to the other."""
    world.namespace('renamed')
    for name, definitions in ('label', [crd('labels', 'label.example.org')]), ('empty', []):
        contents = image(files(definitions))
        for owner in ('acme', 'other'):
            world.layout.add('%s/%s:1.0' % (owner, name), contents)
        world.install(PI, 'renamed', name, 'acme/%s:1.0' % name)
        world.ready(PI, 'renamed', name)
        world.upgrade(PI, 'renamed', name, 'other/%s:1.0' % name)
    install = world.reason(PI, 'renamed', 'label', 'Blocked')
    assert 'belongs to package acme:label' in condition(install, 'Ready')['message'], install
    world.wait(PI, 'renamed', 'empty', lambda one: one['status']['installedPackage'] == 'other/empty:1.0')
    world.ready(PI, 'renamed', 'empty')
    assert world.has(RBAC + 'clusterroles/package:other:empty:1.0:system')
    wait_for('roles of acme/empty to go', lambda: not world.has(RBAC + 'clusterroles/package:acme:empty:1.0:system'))


def somebody_new_by_an_old_name(world):
    """The finalizer was taken off by hand, and another install took the name at once."""
    world.namespace('reborn')
    world.package('phoenix')
    world.install(PI, 'reborn', 'it', 'acme/phoenix:1.0')
    world.ready(PI, 'reborn', 'it')
    path = path_of(PI, 'reborn', 'it')
    world.package('ash')
    for _ in range(5):
        world.remove(PI, 'reborn', 'it')
        world.ask('PATCH', path, {'metadata': {'finalizers': None}}, MERGE)
        world.install(PI, 'reborn', 'it', 'acme/ash:1.0')
        world.ready(PI, 'reborn', 'it')
        wait_for('roles of acme/phoenix to go', lambda: not world.has(RBAC + 'clusterroles/package:acme:phoenix:1.0:admin'))
        world.upgrade(PI, 'reborn', 'it', 'acme/phoenix:1.0')
        world.ready(PI, 'reborn', 'it')


# ---- Cluster-scoped objects of namespaced installs. ----

BINDINGS, WIDE = RBAC + 'clusterrolebindings', RBAC + 'clusterrolebindings/package:acme:%s:1.0:system-cluster:%s'
APPLY = {'Content-Type': 'application/apply-patch+yaml'}


def apply(world, path, body):
    """As the controller writes."""
    world.must('PATCH', path + '?fieldManager=reeve-packages&force=true', body, APPLY)


def restart(world, *flags):
    world.server.stop()
    world.server.start(None, *flags)
    world.reconnect()


def chooser(world, namespace, name='chooser'):
    """An install whose package depends on a cluster-scoped kind; returns its ClusterRoleBinding."""
    if not world.has(CRDS + '/classes.class.example.org'):
        world.define(crd('classes', 'class.example.org', cluster=True))
    if not world.has('/api/v1/namespaces/' + namespace):
        world.namespace(namespace)
    world.package(name, depends=('classes.class.example.org',))
    world.install(PI, namespace, name, 'acme/%s:1.0' % name)
    world.ready(PI, namespace, name)
    return world.must('GET', WIDE % (name, namespace))


def no_binding(world, namespace, name='chooser'):
    for path in WIDE, RBAC + 'clusterroles/package:acme:%s:1.0:system-cluster:%s':
        wait_for(path % (name, namespace) + ' to go', lambda path=path: not world.has(path % (name, namespace)))


def cluster_bindings_go_with_their_install(world):
    binding = chooser(world, 'wide')
    install = world.get(PI, 'wide', 'chooser')
    labels = binding['metadata']['labels']
    assert 'ownerReferences' not in binding['metadata'], binding
    assert labels['packages.crossplane.io/install'] == install['metadata']['uid'], labels
    assert labels['packages.crossplane.io/install-namespace'] == 'wide' and labels['packages.crossplane.io/install-name'] == 'chooser'
    record = '/apis/packages.crossplane.io/v1alpha1/namespaces/wide/packages/chooser'
    uid = world.must('GET', record)['metadata']['uid']
    world.must('DELETE', record)
    wait_for('a new record', lambda: world.ask('GET', record)[1].get('metadata', {}).get('uid') not in (uid, None))
    world.reason(PI, 'wide', 'chooser', 'ReconcileSuccess', 'Synced')
    assert world.has(WIDE % ('chooser', 'wide'))
    world.must('PATCH', WIDE % ('chooser', 'wide'), {'metadata': {'labels': {'packages.crossplane.io/install': None}}}, MERGE)
    wait_for('its label', lambda: world.must('GET', WIDE % ('chooser', 'wide'))['metadata']['labels'].get(
        'packages.crossplane.io/install') == install['metadata']['uid'])
    world.remove(PI, 'wide', 'chooser')
    world.gone(PI, 'wide', 'chooser')
    no_binding(world, 'wide')
    events = world.must('GET', '/api/v1/events')['items']
    assert not [one for one in events if one['reason'] == 'OwnerRefInvalidNamespace'], events


def cluster_bindings_go_though_nobody_uninstalled(world):
    """The finalizer was removed by hand, with a controller running and without."""
    chooser(world, 'forced')
    path = path_of(PI, 'forced', 'chooser')
    world.must('PATCH', path, {'metadata': {'finalizers': None}}, MERGE)
    world.remove(PI, 'forced', 'chooser')
    world.ask('PATCH', path, {'metadata': {'finalizers': None}}, MERGE)
    no_binding(world, 'forced')
    chooser(world, 'asleep')
    restart(world, '--no-controllers')
    world.must('PATCH', path_of(PI, 'asleep', 'chooser'), {'metadata': {'finalizers': None}}, MERGE)
    world.remove(PI, 'asleep', 'chooser')
    assert world.has(WIDE % ('chooser', 'asleep'))
    restart(world)
    no_binding(world, 'asleep')


def cluster_bindings_of_the_first_release_are_migrated(world):
    """They had the uid of the record as their label, and a reference to it, which is invalid."""
    binding, left = chooser(world, 'legacy'), chooser(world, 'legacy', 'gone')
    record = world.must('GET', '/apis/packages.crossplane.io/v1alpha1/namespaces/legacy/packages/chooser')
    restart(world, '--no-controllers')
    shared = 'package:acme:%s:1.0:system-cluster'  # the role that they were bound to
    for one, uid in (binding, record['metadata']['uid']), (left, '00000000-0000-4000-8000-000000000000'):
        package = one['metadata']['name'].split(':')[2]
        world.must('DELETE', BINDINGS + '/' + one['metadata']['name'])
        world.must('DELETE', RBAC + 'clusterroles/' + one['metadata']['name'])
        apply(world, BINDINGS + '/' + one['metadata']['name'], {
            'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRoleBinding',
            'roleRef': {**one['roleRef'], 'name': shared % package},
            'subjects': one['subjects'], 'metadata': {
                'name': one['metadata']['name'],
                'annotations': {'packages.crossplane.io/applied': 'old'},
                'labels': {'app.kubernetes.io/managed-by': 'package-manager', 'packages.crossplane.io/record': uid},
                'ownerReferences': [{'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': 'Package', 'name': 'chooser',
                                     'uid': uid, 'controller': True, 'blockOwnerDeletion': True}]}})
    world.must('PATCH', path_of(PI, 'legacy', 'gone'), {'metadata': {'finalizers': None}}, MERGE)
    world.remove(PI, 'legacy', 'gone')  # so that nobody has the second one any more
    restart(world)
    no_binding(world, 'legacy', 'gone')

    def metadata():
        return world.must('GET', WIDE % ('chooser', 'legacy'))['metadata']
    wait_for('a binding without an owner', lambda: world.has(WIDE % ('chooser', 'legacy')) and 'ownerReferences' not in metadata())
    assert 'packages.crossplane.io/record' not in metadata()['labels'], metadata()
    assert metadata()['labels']['packages.crossplane.io/install'] == world.get(PI, 'legacy', 'chooser')['metadata']['uid']
    world.remove(PI, 'legacy', 'chooser')
    no_binding(world, 'legacy')


def labels_by_hand_delete_nothing(world):
    """Whoever may label an object, but not delete it, has Reeve delete nothing."""
    role = {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'view'}
    kinds = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRoleBinding', 'roleRef': role, 'subjects': []}
    chooser(world, 'marked')
    install, absent = world.get(PI, 'marked', 'chooser'), '00000000-0000-4000-8000-000000000001'
    record = install['status']['packageRecord']['uid']
    labels = {'app.kubernetes.io/managed-by': 'package-manager', 'packages.crossplane.io/record': record,
              'packages.crossplane.io/family': 'acme..chooser'}
    foreign = []
    for name, uid in ('auditors', absent), ('package:acme:chooser:1.0:system-cluster:other', absent), ('guests', install['metadata']['uid']):
        foreign.append(BINDINGS + '/' + name)
        apply(world, foreign[-1], {**kinds, 'metadata': {'name': name, 'labels': {**labels, 'packages.crossplane.io/install': uid}}})
    hand = 'package:acme:chooser:1.0:system-cluster:hand'  # of the right form, but not made by Reeve
    meta = {'name': hand, 'labels': {**labels, 'packages.crossplane.io/install': absent}}
    foreign += [BINDINGS + '/' + hand, RBAC + 'clusterroles/' + hand]
    world.must('POST', BINDINGS, {**kinds, 'roleRef': {**role, 'name': hand}, 'metadata': meta})
    world.must('POST', RBAC + 'clusterroles', {'metadata': meta, 'rules': []})
    foreign.append(RBAC + 'clusterroles/auditor')
    apply(world, foreign[-1], {'apiVersion': kinds['apiVersion'], 'kind': 'ClusterRole', 'rules': [],
                               'metadata': {'name': 'auditor', 'labels': labels}})
    foreign.append(RBAC + 'namespaces/marked/rolebindings/guests')
    apply(world, foreign[-1], {**kinds, 'kind': 'RoleBinding', 'metadata': {'name': 'guests', 'labels': labels}})
    chooser(world, 'witness')
    for namespace in ('marked', 'witness'):
        path = path_of(PI, namespace, 'chooser')
        world.remove(PI, namespace, 'chooser')
        if namespace == 'witness':
            world.ask('PATCH', path, {'metadata': {'finalizers': None}}, MERGE)
        world.gone(PI, namespace, 'chooser')
        no_binding(world, namespace)  # which came later than the others
    restart(world)
    chooser(world, 'witness')  # after the first look at all of them
    for path in foreign:
        assert world.has(path), path


# ---- Uninstalling beside others of the family. ----

SAR = '/apis/authorization.k8s.io/v1/subjectaccessreviews'


def managed(world, *namespaces):
    """Namespaces with the roles of personas, each with an admin who is called like it."""
    for name in namespaces:
        world.namespace(name, MANAGED)
        world.must('POST', RBAC + 'namespaces/%s/rolebindings' % name, {
            'metadata': {'name': 'admins'}, 'subjects': [{'kind': 'User', 'name': name, 'apiGroup': 'rbac.authorization.k8s.io'}],
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'crossplane:ns:%s:admin' % name}})


def may_delete(world, user, plural, namespace=None, group=None):
    return world.must('POST', SAR, {'spec': {'user': user, 'resourceAttributes': {
        'verb': 'delete', 'group': group or plural[:-1] + '.example.org', 'resource': plural,
        'namespace': namespace or user}}})['status']['allowed']


def delete_instance(world, plural, namespace, name, group=None):
    world.must('DELETE', '/apis/%s/v1alpha1/namespaces/%s/%s/%s' % (group or plural[:-1] + '.example.org', namespace, plural, name))


def uninstalls_of_one_family_at_once(world):
    """With an instance in one namespace: that install waits, is the last of its family, and takes the CRD with it."""
    names = ['crowd%d' % i for i in range(7)]
    managed(world, *names)
    world.package('song')
    for turn in range(3):
        for name in names:
            world.install(PI, name, 'song', 'acme/song:1.0')
        for name in names:
            world.ready(PI, name, 'song')
        keeper = names[2 * turn]
        world.instance('songs', keeper, 'one')
        for name in names:
            world.remove(PI, name, 'song')
        for name in names:
            if name != keeper:
                world.gone(PI, name, 'song')
        install = world.reason(PI, keeper, 'song', 'InUse', 'Synced')
        assert '1 songs (1 in %s)' % keeper in condition(install, 'Synced')['message'], install
        assert may_delete(world, keeper, 'songs')
        delete_instance(world, 'songs', keeper, 'one')
        world.gone(PI, keeper, 'song')
        wait_for('the CRD to go', lambda: not world.has(CRDS + '/songs.song.example.org'))
        assert not world.has(RBAC + 'clusterroles/package:acme:song:1.0:admin')


def instances_of_this_namespace_count(world):
    """Another namespace uses the CRD: that keeps nobody's objects here reachable."""
    managed(world, 'leaves', 'stays')
    world.package('poem')
    for name in ('leaves', 'stays'):
        world.install(PI, name, 'poem', 'acme/poem:1.0')
    for name in ('leaves', 'stays'):
        world.ready(PI, name, 'poem')
    world.instance('poems', 'leaves', 'one')
    for name in ('one', 'two'):
        world.instance('poems', 'stays', name)
    world.remove(PI, 'leaves', 'poem')
    install = world.reason(PI, 'leaves', 'poem', 'InUse', 'Synced')
    assert '1 poems (1 in leaves)' in condition(install, 'Synced')['message'], install
    assert may_delete(world, 'leaves', 'poems')
    delete_instance(world, 'poems', 'leaves', 'one')
    world.gone(PI, 'leaves', 'poem')
    wait_for('the access to go', lambda: not may_delete(world, 'leaves', 'poems'))
    assert may_delete(world, 'stays', 'poems') and world.has_instance('poems', 'stays', 'two')


def two_kinds(world, name, **more):
    """acme/NAME:1.0 with pages and posts, 2.0 without pages."""
    group = name + '.example.org'
    world.package(name, '1.0', [crd('pages', group), crd('posts', group)], **more)
    world.package(name, '2.0', [crd('posts', group)], **more)
    return group


def page(world, namespace, group):
    world.must('POST', '/apis/%s/v1alpha1/namespaces/%s/pages' % (group, namespace), {
        'apiVersion': group + '/v1alpha1', 'kind': 'Page', 'metadata': {'name': 'one'}})


def retained(world, kind, namespace, name, status):
    return world.wait(kind, namespace, name, lambda one: condition(one, 'CRDsRetained')['status'] == status, 'CRDsRetained')


def a_dropped_crd_goes_with_its_last_instance(world):
    managed(world, 'drops')
    group = two_kinds(world, 'site')
    world.install(PI, 'drops', 'site', 'acme/site:1.0')
    world.ready(PI, 'drops', 'site')
    page(world, 'drops', group)
    world.upgrade(PI, 'drops', 'site', 'acme/site:2.0')
    install = retained(world, PI, 'drops', 'site', 'True')
    assert '1 pages.' + group in condition(install, 'CRDsRetained')['message'], install
    assert condition(install, 'Ready')['status'] == 'True', install
    assert may_delete(world, 'drops', 'pages', group=group)
    delete_instance(world, 'pages', 'drops', 'one', group)
    retained(world, PI, 'drops', 'site', 'False')
    wait_for('the CRD to go', lambda: not world.has(CRDS + '/pages.' + group))
    assert not may_delete(world, 'drops', 'pages', group=group) and may_delete(world, 'drops', 'posts', group=group)
    assert not world.has(RBAC + 'clusterroles/package:retained:pages.%s:admin' % group)


def a_dropped_crd_that_others_use(world):
    """Its namespace keeps access, and the install, as long as it has instances; after a restart, too."""
    managed(world, 'drops2', 'keeps2')
    group = two_kinds(world, 'forum')
    for name in ('drops2', 'keeps2'):
        world.install(PI, name, 'forum', 'acme/forum:1.0')
        world.ready(PI, name, 'forum')
        page(world, name, group)
    world.upgrade(PI, 'drops2', 'forum', 'acme/forum:2.0')
    retained(world, PI, 'drops2', 'forum', 'True')
    restart(world)
    assert may_delete(world, 'drops2', 'pages', group=group)
    world.remove(PI, 'drops2', 'forum')
    install = world.reason(PI, 'drops2', 'forum', 'InUse', 'Synced')
    assert '1 pages (1 in drops2)' in condition(install, 'Terminating')['message'], install
    assert may_delete(world, 'drops2', 'pages', group=group)
    delete_instance(world, 'pages', 'drops2', 'one', group)
    world.gone(PI, 'drops2', 'forum')
    wait_for('the access to go', lambda: not may_delete(world, 'drops2', 'pages', group=group))
    assert may_delete(world, 'keeps2', 'pages', group=group)


def a_crd_of_the_environment_that_is_dropped(world):
    world.namespace('city')
    group = two_kinds(world, 'town', cluster=True)
    world.install(CPI, '', 'town', 'acme/town:1.0')
    world.ready(CPI, '', 'town')
    page(world, 'city', group)
    world.upgrade(CPI, '', 'town', 'acme/town:2.0')
    retained(world, CPI, '', 'town', 'True')
    rules = world.must('GET', RBAC + 'clusterroles/crossplane-env-view')['rules']
    assert [one for one in rules if group in one['apiGroups'] and 'pages' in one['resources']], rules
    delete_instance(world, 'pages', 'city', 'one', group)
    wait_for('the CRD to go', lambda: not world.has(CRDS + '/pages.' + group))


def instances_of_an_install_that_was_removed_by_force(world):
    """Its namespace keeps access to them, and the CRD goes with the last one."""
    managed(world, 'ruin')
    world.package('tale')
    world.install(PI, 'ruin', 'tale', 'acme/tale:1.0')
    world.ready(PI, 'ruin', 'tale')
    world.instance('tales', 'ruin', 'one')
    world.remove(PI, 'ruin', 'tale')
    world.reason(PI, 'ruin', 'tale', 'InUse', 'Synced')
    world.must('PATCH', path_of(PI, 'ruin', 'tale'), {'metadata': {'finalizers': None}}, MERGE)
    world.gone(PI, 'ruin', 'tale')
    wait_for('roles of their own', lambda: world.has(RBAC + 'clusterroles/package:retained:tales.tale.example.org:admin'))
    wait_for('access', lambda: may_delete(world, 'ruin', 'tales'))
    delete_instance(world, 'tales', 'ruin', 'one')
    wait_for('the CRD to go', lambda: not world.has(CRDS + '/tales.tale.example.org'))
    assert not may_delete(world, 'ruin', 'tales')


TESTS = [a_dropped_crd_goes_with_its_last_instance, a_dropped_crd_that_others_use, a_crd_of_the_environment_that_is_dropped,
         instances_of_an_install_that_was_removed_by_force, uninstalls_of_one_family_at_once, instances_of_this_namespace_count,
         editors_delete_only_their_own, who_holds_a_package_keeps_it, kinds_that_no_version_serves_are_not_taken_for_empty,
         status_is_not_for_people, what_an_upgrade_leaves_goes_with_the_install, a_record_that_is_deleted_comes_back,
         an_upgrade_that_does_not_fit_is_refused, the_same_image_by_another_name_is_another_package, somebody_new_by_an_old_name,
         cluster_bindings_go_with_their_install, cluster_bindings_go_though_nobody_uninstalled,
         cluster_bindings_of_the_first_release_are_migrated, labels_by_hand_delete_nothing,
         who_asks_for_much_holds_up_nobody]


def main():
    tap = Tap()
    server = Server(sys.argv[1])
    server.start()
    try:
        world = World(server)
        for test in TESTS:
            if len(sys.argv) < 3 or test.__name__ in sys.argv[2:]:
                tap.run(test.__name__.replace('_', ' '), test, world)
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
