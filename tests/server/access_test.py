#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cluster-wide access of namespaced installs: who holds it installs without waiting, all others wait until a user who holds it
approves, and nobody gets around it.

usage: access_test.py REEVE [TEST…]"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from package_work import MERGE, RBAC, Packages, condition, crd, files, image, is_ready, path_of, wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

PI = 'PackageInstall'
APPROVED = 'packages.crossplane.io/approved'
GROUP = 'net.example.org'
NETWORKS = 'networks.' + GROUP
NAMESPACE_ROLE = 'crossplane:ns:%s:admin'


class World(Packages):
    """Namespaces with an administrator each, networks that are cluster-scoped, and a user who has access to them."""

    def begin(self):
        self.define(crd('networks', GROUP, cluster=True))
        self.bind_cluster('netadmin', 'netadmin', [
            {'apiGroups': [GROUP], 'resources': ['*'], 'verbs': ['*']},
            {'apiGroups': ['packages.crossplane.io'], 'resources': ['packageinstalls'], 'verbs': ['get', 'create', 'patch', 'update']}])
        for version in ('1.0', '1.1'):
            self.layout.add('acme/shop:' + version, image(files([crd('shops', 'shop.example.org')], version=version, depends=[NETWORKS])))
        self.layout.add('acme/group:1.0', image(files([crd('groups', 'group.example.org')], depends=['*.' + GROUP])))
        self.layout.add('acme/plain:1.0', image(files([crd('plains', 'plain.example.org')], version='1.0')))
        self.layout.add('acme/plain:2.0', image(files([crd('plains', 'plain.example.org')], version='2.0', depends=[NETWORKS])))
        self.layout.add('acme/later:1.0', image(files([crd('laters', 'later.example.org')], depends=['futures.future.example.org'])))

    def bind_cluster(self, name, user, rules):
        self.must('POST', RBAC + 'clusterroles', {'metadata': {'name': name}, 'rules': rules})
        self.must('POST', RBAC + 'clusterrolebindings', {
            'metadata': {'name': name}, 'subjects': [{'kind': 'User', 'name': user}],
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': name}})

    def tenant(self, namespace):
        """A namespace, whose administrator is NAMESPACE-admin."""
        self.namespace(namespace, {'rbac.crossplane.io/managed-roles': 'true'})
        self.must('POST', RBAC + 'namespaces/%s/rolebindings' % namespace, {
            'metadata': {'name': 'admin'}, 'subjects': [{'kind': 'User', 'name': namespace + '-admin'}],
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': NAMESPACE_ROLE % namespace}})

    def ask_as(self, user, method, path, body=None, patch=False):
        return self.ask(method, path, body, {'Impersonate-User': user, **(MERGE if patch else {})})

    def install_as(self, user, namespace, name, package, **annotations):
        return self.ask_as(user, 'POST', path_of(PI, namespace), {
            'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': PI, 'metadata': {'name': name, 'annotations': annotations},
            'spec': {'package': package}})

    def patch_as(self, user, namespace, name, body):
        return self.ask_as(user, 'PATCH', path_of(PI, namespace, name), body, True)

    def approve(self, user, namespace, name, value):
        return self.patch_as(user, namespace, name, {'metadata': {'annotations': {APPROVED: value}}})

    def waiting(self, namespace, name):
        """It waits for approval, as of its generation; returns it."""
        def waits(one):
            return ('pendingApproval' in one.get('status', {}) and
                    condition(one, 'Synced')['status'] == 'False' and
                    condition(one, 'Ready').get('observedGeneration') == one['metadata']['generation'])
        return self.wait(PI, namespace, name, waits, 'never waits')

    def may(self, namespace, name, resource=NETWORKS):
        """Whether the ServiceAccount of this install may write them, in the whole cluster."""
        plural, _, group = resource.partition('.')
        return self.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {'spec': {
            'user': 'system:serviceaccount:%s:%s' % (namespace, name),
            'resourceAttributes': {'verb': 'update', 'group': group, 'resource': plural}}})['status']['allowed']

    def has(self, path):
        return self.ask('GET', path)[0] == 200


def pending_id(install):
    return install['status']['pendingApproval']['id']


def who_does_not_hold_it_waits(world):
    world.tenant('wait')
    assert world.install_as('wait-admin', 'wait', 'shop', 'acme/shop:1.0')[0] == 201
    install = world.waiting('wait', 'shop')
    ready = condition(install, 'Ready')
    assert ready['reason'] == 'ApprovalRequired', ready
    assert 'wait-admin' in ready['message'] and NETWORKS in ready['message'], ready
    assert 'reeve approve packageinstall/shop -n wait' in ready['message'], ready
    assert install['status']['pendingApproval']['access'] == [{'verb': '*', 'group': GROUP, 'resource': 'networks'}], install
    assert not world.may('wait', 'shop')
    assert not world.has('/api/v1/namespaces/wait/serviceaccounts/shop')
    assert not world.has(RBAC + 'clusterroles/package:acme:shop:1.0:system')
    code, answer = world.approve('netadmin', 'wait', 'shop', pending_id(install))
    assert code == 200, answer
    install = world.ready(PI, 'wait', 'shop')
    assert world.may('wait', 'shop')
    assert 'pendingApproval' not in install['status'], install
    assert install['status']['approval']['id'].startswith('1-'), install


def who_holds_it_installs_at_once(world):
    world.tenant('held')
    assert world.install_as('netadmin', 'held', 'shop', 'acme/shop:1.0')[0] == 201
    install = world.ready(PI, 'held', 'shop')
    assert install['status']['approval']['requester'] == 'netadmin', install
    assert world.may('held', 'shop')


def tenants_cannot_approve(world):
    world.tenant('trick')
    user = 'trick-admin'
    assert world.install_as(user, 'trick', 'early', 'acme/shop:1.0', **{APPROVED: '1'})[0] == 403
    assert world.install_as(user, 'trick', 'shop', 'acme/shop:1.0')[0] == 201
    install = world.waiting('trick', 'shop')
    for value in (pending_id(install), '1', 'true', ''):
        code, answer = world.approve(user, 'trick', 'shop', value)
        assert code == 403, (value, answer)
    # by replacing the object, by its status, and by naming another requester
    body = dict(install, metadata=dict(install['metadata'], annotations={APPROVED: pending_id(install)}))
    assert world.ask_as(user, 'PUT', path_of(PI, 'trick', 'shop'), body)[0] == 403
    for part in ({'approval': {'id': pending_id(install), 'requester': 'x'}}, {'pendingApproval': {'id': 'x', 'access': []}}):
        assert world.ask_as(user, 'PATCH', path_of(PI, 'trick', 'shop') + '/status', {'status': part}, True)[0] == 403
    note = json.dumps({'user': 'netadmin', 'groups': ['system:masters']})
    assert world.patch_as(user, 'trick', 'shop', {'metadata': {'annotations': {'packages.crossplane.io/requester': note}}})[0] == 200
    assert world.patch_as(user, 'trick', 'shop', {'metadata': {'labels': {'touched': 'true'}}})[0] == 200
    # a user who holds the access cannot approve what is not pending
    for value in ('2' + pending_id(install)[1:], '1-0123456789abcdef'):
        assert world.approve('netadmin', 'trick', 'shop', value)[0] == 403
    install = world.waiting('trick', 'shop')
    assert 'trick-admin' in condition(install, 'Ready')['message'], install
    assert not world.may('trick', 'shop')


def an_approval_is_of_one_generation(world):
    """After an approved install its tenant asks for another version: it waits again, and the old one keeps running."""
    world.tenant('again')
    assert world.install_as('again-admin', 'again', 'shop', 'acme/shop:1.0')[0] == 201
    first = pending_id(world.waiting('again', 'shop'))
    assert world.approve('netadmin', 'again', 'shop', first)[0] == 200
    world.ready(PI, 'again', 'shop')
    assert world.patch_as('again-admin', 'again', 'shop', {'spec': {'package': 'acme/shop:1.1'}})[0] == 200
    install = world.waiting('again', 'shop')
    assert pending_id(install) != first
    assert 'ApprovalRequired' in condition(install, 'Synced')['message'], install
    assert install['status']['installedPackage'] == 'acme/shop:1.0', install
    assert world.may('again', 'shop')  # as approved, for what is installed
    assert world.approve('again-admin', 'again', 'shop', pending_id(install))[0] == 403
    assert world.approve('netadmin', 'again', 'shop', pending_id(install))[0] == 200
    wait_for('the upgrade', lambda: world.get(PI, 'again', 'shop')['status'].get('version') == '1.1')
    world.ready(PI, 'again', 'shop')
    assert world.may('again', 'shop')


def an_upgrade_does_not_bring_it_in(world):
    """Version 1.0 needs nothing, 2.0 needs networks."""
    world.tenant('sneak')
    assert world.install_as('sneak-admin', 'sneak', 'plain', 'acme/plain:1.0')[0] == 201
    world.ready(PI, 'sneak', 'plain')
    assert world.patch_as('sneak-admin', 'sneak', 'plain', {'spec': {'package': 'acme/plain:2.0'}})[0] == 200
    install = world.waiting('sneak', 'plain')
    assert install['status']['version'] == '1.0' and not world.may('sneak', 'plain'), install


def more_access_later_waits(world):
    """The group gets another cluster-scoped kind, a dependency that was missing appears as a cluster-scoped one: neither is granted
    because something else was approved; what was approved stays."""
    world.tenant('grow')
    assert world.install_as('grow-admin', 'grow', 'group', 'acme/group:1.0')[0] == 201
    assert world.approve('netadmin', 'grow', 'group', pending_id(world.waiting('grow', 'group')))[0] == 200
    world.ready(PI, 'grow', 'group')
    assert world.install_as('grow-admin', 'grow', 'later', 'acme/later:1.0')[0] == 201
    world.ready(PI, 'grow', 'later')
    world.define(crd('routes', GROUP, cluster=True), crd('futures', 'future.example.org', cluster=True))
    for name, resource in (('group', 'routes.' + GROUP), ('later', 'futures.future.example.org')):
        install = world.waiting('grow', name)
        assert condition(install, 'Ready')['reason'] == 'ApprovalRequired', install
        assert condition(install, 'Installed')['status'] == 'True', install
        assert not world.may('grow', name, resource)
    assert world.may('grow', 'group')
    world.server.kill()
    world.server.start()
    world.connection = world.server.connect(120)
    world.waiting('grow', 'group')
    assert world.may('grow', 'group') and not world.may('grow', 'group', 'routes.' + GROUP)
    assert world.approve('netadmin', 'grow', 'group', pending_id(world.waiting('grow', 'group')))[0] == 200
    world.ready(PI, 'grow', 'group')
    assert world.may('grow', 'group', 'routes.' + GROUP)
    world.undefine('routes.' + GROUP, 'futures.future.example.org')
    world.ready(PI, 'grow', 'group')


def an_approval_can_be_withdrawn(world):
    world.tenant('back')
    assert world.install_as('back-admin', 'back', 'shop', 'acme/shop:1.0')[0] == 201
    approval = pending_id(world.waiting('back', 'shop'))
    assert world.approve('netadmin', 'back', 'shop', approval)[0] == 200
    world.ready(PI, 'back', 'shop')
    assert world.approve('netadmin', 'back', 'shop', None)[0] == 200
    world.waiting('back', 'shop')
    wait_for('the access to go', lambda: not world.may('back', 'shop'))


def who_gets_the_access_need_not_wait(world):
    world.tenant('gain')
    assert world.install_as('gain-admin', 'gain', 'shop', 'acme/shop:1.0')[0] == 201
    world.waiting('gain', 'shop')
    world.bind_cluster('gain-networks', 'gain-admin', [{'apiGroups': [GROUP], 'resources': ['networks'], 'verbs': ['*']}])
    world.patch_as('gain-admin', 'gain', 'shop', {'metadata': {'labels': {'look': 'again'}}})
    world.ready(PI, 'gain', 'shop')


def the_flag_grants_at_once(world):
    """Last: the server is started anew."""
    world.server.kill()
    world.server.start(None, '--allow-cluster-dependencies')
    world.connection = world.server.connect(120)
    world.tenant('free')
    assert world.install_as('free-admin', 'free', 'shop', 'acme/shop:1.0')[0] == 201
    world.ready(PI, 'free', 'shop')
    assert world.may('free', 'shop')
    assert wait_for('those who waited', lambda: is_ready(world.get(PI, 'trick', 'shop')))


TESTS = [who_does_not_hold_it_waits, who_holds_it_installs_at_once, tenants_cannot_approve, an_approval_is_of_one_generation,
         an_upgrade_does_not_bring_it_in, more_access_later_waits, an_approval_can_be_withdrawn, who_gets_the_access_need_not_wait,
         the_flag_grants_at_once]


def main():
    tap = Tap()
    server = Server(sys.argv[1])
    server.start()
    try:
        world = World(server)
        world.begin()
        for test in TESTS:
            if len(sys.argv) < 3 or test.__name__ in sys.argv[2:]:
                tap.run(test.__name__.replace('_', ' '), test, world)
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
