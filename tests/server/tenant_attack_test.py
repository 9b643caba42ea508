#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tenant who holds nothing but the admin persona of her own namespace tries to reach beyond it. One function per attack.

usage: tenant_attack_test.py REEVE [TEST…]

team-a and team-b are other tenants, mallory attacks from the namespace "mallory". What she does is done as herself; what the others
and the administrator do is done as they would.
"""
import copy
import os
import shutil
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from package_work import (CRDS, MERGE, RBAC, Layout, Packages, condition, crd, deployment, files, image, is_ready,  # noqa: E402
                          path_of, wait_for)
from reeve_server import Server, Tap  # noqa: E402

PI, CPI = 'PackageInstall', 'ClusterPackageInstall'
GENUINE, EVIL = 'registry.example.org/acme', 'evil.example.org/acme'
AS_MALLORY = {'Impersonate-User': 'mallory'}
GROUP = 'rbac.authorization.k8s.io'
APPROVED = 'packages.crossplane.io/approved'


class World(Packages):
    """A server with three tenants. Images are in its local store, under the names of registries."""

    def begin(self):
        for name in ('team-a', 'team-b', 'mallory'):
            self.namespace(name, {'rbac.crossplane.io/managed-roles': 'true'})
            user = name if name == 'mallory' else 'user-of-' + name
            self.must('POST', '%snamespaces/%s/rolebindings' % (RBAC, name), {
                'metadata': {'name': 'admin'}, 'subjects': [{'kind': 'User', 'name': user, 'apiGroup': GROUP}],
                'roleRef': {'kind': 'ClusterRole', 'name': 'crossplane:ns:%s:admin' % name, 'apiGroup': GROUP}})

    def package(self, source, version, *definitions, **more):
        """source: registry/repo/name"""
        self.layout.add('%s:%s' % (source, version), image(files(list(definitions), version=version, **more)))

    def reconnect(self):
        self.connection = self.server.connect(120)

    def attack(self, kind, name, package, **spec):
        """mallory installs something in her namespace, as herself."""
        return self.must('POST', path_of(kind, 'mallory'), {
            'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': kind, 'metadata': {'name': name},
            'spec': {'package': package, **spec}}, AS_MALLORY)

    def change(self, name, package):
        """mallory changes her install, as herself."""
        return self.must('PATCH', path_of(PI, 'mallory', name), {'spec': {'package': package}}, {**MERGE, **AS_MALLORY})

    def forbidden(self, method, path, body=None):
        """mallory may not."""
        headers = {**(MERGE if method == 'PATCH' else {}), **AS_MALLORY}
        code, answer = self.ask(method, path, body, headers)
        assert code == 403, (method, path, code, answer)

    def refused(self, namespace, name, reason, kind=PI):
        """The install waits or was refused for this reason, which is returned with its message."""
        install = self.wait(kind, namespace, name, lambda one: condition(one, 'Synced')['reason'] == reason or
                            condition(one, 'Ready')['reason'] == reason, 'never ' + reason)
        assert condition(install, 'Ready')['status'] != 'True', install
        return condition(install, 'Ready')['message']

    def definition(self, name):
        """What clients of a CRD see of it, without what changes when installs come and go."""
        one = self.must('GET', CRDS + '/' + name)
        keep = {key: value for key, value in one['metadata'].get('labels', {}).items() if key == 'crossplane.io/scope'}
        return copy.deepcopy([one['spec'], keep])

    def type_of(self, name, field):
        """Of a field of spec in the first version."""
        return spec_of({'spec': self.definition(name)[0]})['properties'][field]['type']

    def leave(self, *installs):
        for kind, namespace, name in installs:
            self.remove(kind, namespace, name)
        for kind, namespace, name in installs:
            self.gone(kind, namespace, name)


def spec_of(definition):
    return definition['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['spec']


def site(**fields):
    """The CRD of a made-up blog package; fields: properties of spec."""
    one = crd('sites', 'blog.example.org')
    root = one['spec']['versions'][0]['schema']['openAPIV3Schema']
    root.setdefault('properties', {})['spec'] = {'type': 'object', 'properties': {
        'size': {'type': 'string', 'pattern': '^[SML]$'}, **fields}}
    return one


# ---- The name of a package. ----


def the_name_of_another_tenants_package_is_taken(world):
    """A package from her own registry with the name of one that is installed: refused, naming both sources and nobody's namespace."""
    takeover = site(injected={'type': 'string', 'default': 'gotcha'})
    del spec_of(takeover)['properties']['size']['pattern']
    world.package(GENUINE + '/blog', '1.0', site())
    world.package(EVIL + '/blog', '2.1', takeover)
    world.install(PI, 'team-a', 'blog', GENUINE + '/blog:1.0')
    world.ready(PI, 'team-a', 'blog')
    before = world.definition('sites.blog.example.org')
    world.attack(PI, 'mine', EVIL + '/blog:2.1')
    message = world.refused('mallory', 'mine', 'NameConflict')
    assert GENUINE + '/blog' in message and EVIL + '/blog' in message and 'team-a' not in message, message
    assert world.definition('sites.blog.example.org') == before
    world.ready(PI, 'team-a', 'blog')
    world.leave((PI, 'mallory', 'mine'), (PI, 'team-a', 'blog'))


def the_name_of_a_cluster_package_is_taken(world):
    """The same for a package of the environment; it may be named, because everybody can see it."""
    world.package(GENUINE + '/cloud', '1.0', crd('regions', 'cloud.example.org', cluster=True), cluster=True)
    world.package(EVIL + '/cloud', '1.1', crd('zones', 'cloud.evil.example.org'))
    world.install(CPI, '', 'cloud', GENUINE + '/cloud:1.0')
    world.ready(CPI, '', 'cloud')
    world.attack(PI, 'cloud-too', EVIL + '/cloud:1.1')
    message = world.refused('mallory', 'cloud-too', 'NameConflict')
    assert 'ClusterPackageInstall cloud' in message, message
    assert world.ask('GET', CRDS + '/zones.cloud.evil.example.org')[0] == 404
    world.leave((PI, 'mallory', 'cloud-too'), (CPI, '', 'cloud'))


def a_local_name_is_not_that_of_a_registry(world):
    """An image of the local store is not the one of that name in a registry, though both are written alike."""
    world.package('acme/local', '1.0', crd('locals', 'local.example.org'))
    world.package('docker.io/acme/remote', '1.0', crd('remotes', 'remote.example.org'))
    world.install(PI, 'team-a', 'local', 'acme/local:1.0')
    world.ready(PI, 'team-a', 'local')
    world.package('docker.io/acme/local', '2.0', crd('locals', 'local.example.org'))
    world.attack(PI, 'local', 'docker.io/acme/local:2.0')
    world.refused('mallory', 'local', 'NameConflict')
    world.leave((PI, 'mallory', 'local'), (PI, 'team-a', 'local'))


def a_tag_beside_a_digest_takes_no_version(world):
    """A version that only a tag gives cannot be occupied by another image that is pinned behind it."""
    plain = {'version': None}
    old = world.layout.add(GENUINE + '/pin:1.0', image(files([crd('pins', 'pin.example.org')], app=plain)))
    world.layout.add(GENUINE + '/pin:2.0', image(files([crd('pins', 'pin.example.org'), crd('needles', 'pin.example.org')], app=plain)))
    world.attack(PI, 'pin', '%s/pin:2.0@%s' % (GENUINE, old))
    world.ready(PI, 'mallory', 'pin')
    world.install(PI, 'team-a', 'pin', GENUINE + '/pin:2.0')
    world.ready(PI, 'team-a', 'pin')
    world.leave((PI, 'team-a', 'pin'), (PI, 'mallory', 'pin'))


def two_sources_of_before_keep_working(world):
    """Installs that have one name from two sources, as the first release allowed it, both go on after a restart."""
    for source in GENUINE, EVIL:
        world.package(source + '/legacy', '1.0', crd('legacies', 'legacy.example.org'))
    for team in 'team-a', 'team-b':
        world.install(PI, team, 'legacy', GENUINE + '/legacy:1.0')
        world.ready(PI, team, 'legacy')
    world.upgrade(PI, 'team-b', 'legacy', EVIL + '/legacy:1.0')
    world.wait(PI, 'team-b', 'legacy', lambda one: 'is in use by' in condition(one, 'Synced')['message'], 'never NameConflict')
    world.must('PATCH', path_of(PI, 'team-b', 'legacy') + '/status', {'status': {'installedPackage': EVIL + '/legacy:1.0'}}, MERGE)
    world.server.stop()
    world.server.start()
    world.reconnect()
    for team in 'team-a', 'team-b':
        world.wait(PI, team, 'legacy', lambda one: is_ready(one) and condition(one, 'Synced')['status'] == 'True', 'refused')
    labels = world.must('GET', CRDS + '/legacies.legacy.example.org')['metadata']['labels']
    assert {'namespace.crossplane.io/team-a', 'namespace.crossplane.io/team-b'} <= set(labels), labels
    world.leave((PI, 'team-b', 'legacy'), (PI, 'team-a', 'legacy'))


def her_install_waits_for_that_of_another_tenant(world):
    """A package that cannot be read after a restart holds its family up; whose it is, is not hers to know."""
    store = world.layout.folder
    world.package(GENUINE + '/lost', '1.0', crd('losts', 'lost.example.org'))
    world.install(PI, 'team-a', 'lost', GENUINE + '/lost:1.0')
    world.ready(PI, 'team-a', 'lost')
    world.server.stop()
    os.rename(store, store + '.away')
    shutil.rmtree(os.path.join(world.server.data, 'packages', 'cache'))
    world.layout = Layout(store)
    world.package(GENUINE + '/lost', '1.1', crd('losts', 'lost.example.org'))
    world.server.start()
    world.reconnect()
    world.attack(PI, 'lost', GENUINE + '/lost:1.1')
    message = world.refused('mallory', 'lost', 'WaitingForOthers')
    assert 'an install in another namespace' in message and 'team-a' not in message, message
    world.server.stop()
    shutil.rmtree(store)
    os.rename(store + '.away', store)
    world.layout = Layout(store)
    world.package(GENUINE + '/lost', '1.1', crd('losts', 'lost.example.org'))
    world.server.start()
    world.reconnect()
    world.ready(PI, 'team-a', 'lost')
    world.ready(PI, 'mallory', 'lost')
    world.leave((PI, 'mallory', 'lost'), (PI, 'team-a', 'lost'))


# ---- CRDs that tenants share. ----


SITES = 'sites.blog.example.org'


def hostile_versions():
    """Versions of the genuine package that change something for others: what, the definition, a word of the message."""
    dropped, renamed, stored, columns = site(), site(), site(), site()
    del spec_of(dropped)['properties']['size']['pattern']
    renamed['spec']['names'].update(shortNames=['po'], categories=['all'])
    columns['spec']['versions'][0]['additionalPrinterColumns'] = [{'name': 'Age', 'type': 'string', 'jsonPath': '.spec.size'}]
    stored['spec']['versions'][0]['storage'] = False
    stored['spec']['versions'].append({**copy.deepcopy(stored['spec']['versions'][0]), 'name': 'v2', 'storage': True})
    tightened = site()
    spec_of(tightened)['required'] = ['size']
    return (('dropped', dropped, 'pattern'), ('tightened', tightened, 'required'), ('renamed', renamed, 'shortNames'),
            ('stored', stored, 'storage'), ('columns', columns, 'additionalPrinterColumns'),
            ('injected', site(injected={'type': 'string', 'default': 'gotcha'}), 'injected'),
            ('typed', site(size={'type': 'integer'}), 'size'))


def another_version_changes_what_others_use(world):
    """Whatever existing objects and clients of others would notice waits for who may update CRDs."""
    world.package(GENUINE + '/blog', '1.0', site())
    world.install(PI, 'team-a', 'blog', GENUINE + '/blog:1.0')
    world.ready(PI, 'team-a', 'blog')
    before = world.definition(SITES)
    for number, (name, definition, word) in enumerate(hostile_versions()):
        version = '1.%d' % (number + 1)
        world.package(GENUINE + '/blog', version, definition)
        world.attack(PI, name, '%s/blog:%s' % (GENUINE, version))
        message = world.refused('mallory', name, 'ApprovalRequired')
        assert SITES in message and word in message, (name, message)
        assert world.definition(SITES) == before, name
        world.forbidden('PATCH', path_of(PI, 'mallory', name), {'metadata': {'annotations': {
            APPROVED: world.get(PI, 'mallory', name)['status']['pendingApproval']['id']}}})
        world.leave((PI, 'mallory', name))
    world.leave((PI, 'team-a', 'blog'))


def her_upgrade_changes_what_others_use(world):
    """The same by a version that she upgrades to: the one that she has keeps running."""
    world.package(GENUINE + '/blog', '1.0', site())
    world.install(PI, 'team-a', 'blog', GENUINE + '/blog:1.0')
    world.ready(PI, 'team-a', 'blog')
    before = world.definition(SITES)
    world.attack(PI, 'blog', GENUINE + '/blog:1.0')
    world.ready(PI, 'mallory', 'blog')
    for number, (name, definition, word) in enumerate(hostile_versions()):
        version = '1.%d' % (number + 1)
        world.package(GENUINE + '/blog', version, definition)
        world.change('blog', '%s/blog:%s' % (GENUINE, version))
        install = world.wait(PI, 'mallory', 'blog', lambda one, word=word: condition(one, 'Ready')['reason'] == 'Blocked' and
                             word in condition(one, 'Ready')['message'], 'never Blocked for ' + name)
        assert install['status']['version'] == '1.0', install
        assert world.definition(SITES) == before, name
    world.ready(PI, 'team-a', 'blog')
    world.leave((PI, 'mallory', 'blog'), (PI, 'team-a', 'blog'))


def what_adds_and_nothing_more_is_free(world):
    """A new optional field and a new version are hers to add; both go with her."""
    more = site(zone={'type': 'string'})
    more['spec']['versions'].append({**copy.deepcopy(more['spec']['versions'][0]), 'name': 'v2', 'storage': False})
    world.package(GENUINE + '/blog', '2.0', more)
    world.package(GENUINE + '/blog', '1.0', site())
    world.install(PI, 'team-a', 'blog', GENUINE + '/blog:1.0')
    world.ready(PI, 'team-a', 'blog')
    before = world.definition(SITES)
    world.attack(PI, 'blog', GENUINE + '/blog:2.0')
    world.ready(PI, 'mallory', 'blog')
    spec = world.definition(SITES)[0]
    assert [one['name'] for one in spec['versions']] == ['v1alpha1', 'v2'], spec
    assert 'zone' in spec['versions'][0]['schema']['openAPIV3Schema']['properties']['spec']['properties']
    world.leave((PI, 'mallory', 'blog'))
    wait_for('the definition of before', lambda: world.definition(SITES) == before)
    world.leave((PI, 'team-a', 'blog'))


def a_cluster_package_is_extended(world):
    """Nothing of a CRD of the environment is hers to change, and its scope label stays."""
    world.package(GENUINE + '/env', '1.0', crd('envs', 'env.example.org'), cluster=True)
    world.package(GENUINE + '/env', '1.1', crd('envs', 'env.example.org', fields=('size', 'zone')))
    world.package(GENUINE + '/env', '1.2', crd('envs', 'env.example.org'))
    world.install(CPI, '', 'env', GENUINE + '/env:1.0')
    world.ready(CPI, '', 'env')
    before = world.definition('envs.env.example.org')
    world.attack(PI, 'env', GENUINE + '/env:1.1')
    world.refused('mallory', 'env', 'CRDConflict')
    assert world.definition('envs.env.example.org') == before
    world.change('env', GENUINE + '/env:1.2')
    world.ready(PI, 'mallory', 'env')
    assert world.definition('envs.env.example.org') == before
    world.leave((PI, 'mallory', 'env'), (CPI, '', 'env'))


def her_version_keeps_others_from_an_upgrade(world):
    """What she added later gives way to who was there first; what both have is for an administrator to decide, and not for her."""
    world.package(GENUINE + '/blog', '1.0', site())
    world.package(GENUINE + '/blog', '2.0', site(zone={'type': 'integer'}))
    world.package(GENUINE + '/blog', '3.0', site(zone={'type': 'string'}))
    world.package(GENUINE + '/blog', '4.0', site(size={'type': 'integer'}))
    world.install(PI, 'team-a', 'blog', GENUINE + '/blog:1.0')
    world.ready(PI, 'team-a', 'blog')
    world.attack(PI, 'blog', GENUINE + '/blog:3.0')  # in the same second, and her namespace is the first by name
    world.ready(PI, 'mallory', 'blog')
    world.upgrade(PI, 'team-a', 'blog', GENUINE + '/blog:2.0')
    world.ready(PI, 'team-a', 'blog')
    wait_for('her field to give way', lambda: world.type_of(SITES, 'zone') == 'integer')
    message = world.refused('mallory', 'blog', 'Conflict')
    assert 'spec.zone' in message, message
    world.upgrade(PI, 'team-a', 'blog', GENUINE + '/blog:4.0')
    world.wait(PI, 'team-a', 'blog', lambda one: 'pendingApproval' in one['status'], 'never pending')
    approve(world, 'team-a', 'blog')
    world.wait(PI, 'team-a', 'blog', lambda one: one['status']['version'] == '4.0' and is_ready(one), 'never 4.0')
    wait_for('what was approved', lambda: world.type_of(SITES, 'size') == 'integer')
    world.leave((PI, 'mallory', 'blog'), (PI, 'team-a', 'blog'))


def an_older_install_of_hers_changes_its_package(world):
    """An install counts since it has this package, not since it was created; restarts do not change that."""
    world.package(GENUINE + '/blog', '1.0', site())
    world.package(GENUINE + '/blog', '2.0', site(zone={'type': 'integer'}))
    world.package(GENUINE + '/blog', '3.0', site(zone={'type': 'string'}))
    world.package(EVIL + '/early', '1.0', crd('birds', 'early.example.org'))
    world.attack(PI, 'early', EVIL + '/early:1.0')
    early = world.ready(PI, 'mallory', 'early')['status']['acceptedAt']
    world.install(PI, 'team-a', 'blog', GENUINE + '/blog:1.0')
    first = world.ready(PI, 'team-a', 'blog')['status']['acceptedAt']
    world.change('early', GENUINE + '/blog:3.0')
    later = world.wait(PI, 'mallory', 'early', lambda one: is_ready(one) and one['status']['version'] == '3.0', 'never 3.0')
    assert early < first < later['status']['acceptedAt'], (early, first, later['status'])
    world.forbidden('PATCH', path_of(PI, 'mallory', 'early') + '/status', {'status': {'acceptedAt': early}})
    world.server.stop()
    world.server.start()
    world.reconnect()
    world.upgrade(PI, 'team-a', 'blog', GENUINE + '/blog:2.0')
    world.wait(PI, 'team-a', 'blog', lambda one: is_ready(one) and one['status']['version'] == '2.0', 'kept from 2.0')
    wait_for('her field to give way', lambda: world.type_of(SITES, 'zone') == 'integer')
    for team, name, time in (('team-a', 'blog', first), ('mallory', 'early', later['status']['acceptedAt'])):
        assert world.get(PI, team, name)['status']['acceptedAt'] == time, (team, time)
    world.leave((PI, 'mallory', 'early'), (PI, 'team-a', 'blog'))


def approve(world, namespace, name):
    """As an administrator does."""
    pending = world.get(PI, namespace, name)['status']['pendingApproval']
    world.must('PATCH', path_of(PI, namespace, name), {'metadata': {'annotations': {
        APPROVED: pending['id']}}}, MERGE)


# ---- Uninstalling. ----


def note(world, namespace):
    """An instance; returns its path."""
    path = '/apis/note.example.org/v1alpha1/namespaces/%s/notes' % namespace
    world.must('POST', path, {'apiVersion': 'note.example.org/v1alpha1', 'kind': 'Note', 'metadata': {'name': 'one'}})
    return path + '/one'


def may_delete_notes(world, user, namespace):
    return world.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {'spec': {'user': user, 'resourceAttributes': {
        'verb': 'delete', 'group': 'note.example.org', 'resource': 'notes', 'namespace': namespace}}})['status']['allowed']


def she_uninstalls_what_others_use(world):
    """With her instances, and by force: CRD, access and objects of others stay, and so does the access to what she leaves."""
    world.package(GENUINE + '/note', '1.0', crd('notes', 'note.example.org'))
    for team in 'team-a', 'mallory':
        world.install(PI, team, 'note', GENUINE + '/note:1.0')
        world.ready(PI, team, 'note')
    theirs, hers = note(world, 'team-a'), note(world, 'mallory')
    uid = world.must('GET', CRDS + '/notes.note.example.org')['metadata']['uid']
    mine = path_of(PI, 'mallory', 'note')
    # its instances count though others have the CRD
    world.must('DELETE', mine, None, AS_MALLORY)
    install = world.wait(PI, 'mallory', 'note', lambda one: condition(one, 'Synced')['reason'] == 'InUse', 'never InUse')
    message = condition(install, 'Synced')['message']
    assert '1 notes (1 in mallory)' in message and 'team-a' not in message, message
    assert may_delete_notes(world, 'mallory', 'mallory')
    # by force: the finalizer is hers to remove
    world.must('PATCH', mine, {'metadata': {'finalizers': None}}, {**MERGE, **AS_MALLORY})
    world.gone(PI, 'mallory', 'note')
    assert world.ask('GET', hers)[0] == 200 and may_delete_notes(world, 'mallory', 'mallory')
    # once more, with all instances
    world.attack(PI, 'note', GENUINE + '/note:1.0')
    world.ready(PI, 'mallory', 'note')
    world.must('PATCH', mine, {'metadata': {'annotations': {'packages.crossplane.io/delete-instances': 'true'}}},
               {**MERGE, **AS_MALLORY})
    world.must('DELETE', mine, None, AS_MALLORY)
    world.gone(PI, 'mallory', 'note')
    assert world.ask('GET', hers)[0] == 404
    wait_for('her access to go', lambda: not may_delete_notes(world, 'mallory', 'mallory'))
    assert world.ask('GET', theirs)[0] == 200 and may_delete_notes(world, 'user-of-team-a', 'team-a')
    assert world.must('GET', CRDS + '/notes.note.example.org')['metadata']['uid'] == uid
    world.ready(PI, 'team-a', 'note')
    world.must('DELETE', theirs)
    world.leave((PI, 'team-a', 'note'))
    wait_for('the CRD to go with the last', lambda: world.ask('GET', CRDS + '/notes.note.example.org')[0] == 404)


# ---- What runs. ----


def deployment_of(world, name):
    return world.must('GET', '/apis/apps/v1/namespaces/mallory/deployments/%s-controller' % name)


def a_tag_moves_after_the_check(world):
    """The image that was checked runs, whatever its tag stands for afterwards."""
    plain = deployment(containers=[{'name': 'controller'}])
    definition = crd('mills', 'mill.example.org')
    checked = world.layout.add(EVIL + '/mill:1.0', image(files([definition], install=plain)))
    world.attack(PI, 'mill', EVIL + '/mill:1.0')
    world.ready(PI, 'mallory', 'mill')
    runs = '%s/mill:1.0@%s' % (EVIL, checked)
    assert deployment_of(world, 'mill')['spec']['template']['spec']['containers'][0]['image'] == runs
    world.layout.add(EVIL + '/mill:1.0', image(files([definition], install=deployment(hostNetwork=True))))
    world.server.stop()
    world.server.start()
    world.reconnect()
    world.must('PATCH', path_of(PI, 'mallory', 'mill'), {'metadata': {'labels': {'poke': 'it'}}}, {**MERGE, **AS_MALLORY})
    world.must('DELETE', '/apis/apps/v1/namespaces/mallory/deployments/mill-controller')
    wait_for('another Deployment', lambda: world.ask('GET', '/apis/apps/v1/namespaces/mallory/deployments/mill-controller')[0] == 200)
    pod = deployment_of(world, 'mill')['spec']['template']['spec']
    assert pod['containers'][0]['image'] == runs and not pod.get('hostNetwork'), pod
    world.leave((PI, 'mallory', 'mill'))


def readiness_is_not_hers_to_report(world):
    """Neither of the install nor of its Deployment, nor can she change what runs."""
    world.package(EVIL + '/mill', '2.0', crd('mills', 'mill.example.org'), install=deployment())
    world.attack(PI, 'mill', EVIL + '/mill:2.0')
    world.ready(PI, 'mallory', 'mill')
    mine, runs = path_of(PI, 'mallory', 'mill'), '/apis/apps/v1/namespaces/mallory/deployments/mill-controller'
    for path in mine + '/status', runs + '/status':
        world.forbidden('PATCH', path, {'status': {'observedGeneration': 99}})
    world.forbidden('PATCH', runs, {'spec': {'replicas': 9}})
    # what is in status of a create or an update is left out
    world.must('PATCH', mine, {'status': {'version': '99'}, 'metadata': {'labels': {'poke': 'it'}}}, {**MERGE, **AS_MALLORY})
    assert world.get(PI, 'mallory', 'mill')['status']['version'] == '2.0'
    world.leave((PI, 'mallory', 'mill'))


def her_pod_asks_for_more(world):
    """Whatever Pod Security "restricted" refuses is refused before anything is written."""
    bad = {'hostNetwork': {'hostNetwork': True}, 'hostPID': {'hostPID': True},
           'hostPath': {'volumes': [{'name': 'v', 'hostPath': {'path': '/'}}]},
           'persistentVolumeClaim': {'volumes': [{'name': 'v', 'persistentVolumeClaim': {'claimName': 'of-others'}}]},
           'csi': {'volumes': [{'name': 'v', 'csi': {'driver': 'secrets'}}]},
           'serviceAccountName': {'serviceAccountName': 'default'}, 'nodeName': {'nodeName': 'control-plane'},
           'priorityClassName': {'priorityClassName': 'system-node-critical'},
           'privileged': {'containers': [{'name': 'c', 'securityContext': {'privileged': True}}]},
           'capabilities': {'containers': [{'name': 'c', 'securityContext': {'capabilities': {'add': ['SYS_ADMIN']}}}]}}
    for number, (word, pod) in enumerate(sorted(bad.items())):
        world.package(EVIL + '/pod', '1.%d' % number, crd('pods', 'pod.example.org'), install=deployment(**pod))
        world.attack(PI, 'pod', '%s/pod:1.%d' % (EVIL, number))
        message = world.refused('mallory', 'pod', 'InvalidPackage')
        assert word in message, (word, message)
        assert world.ask('GET', '/apis/apps/v1/namespaces/mallory/deployments/pod-controller')[0] == 404, word
        world.leave((PI, 'mallory', 'pod'))
    world.package(EVIL + '/pod', '2.0', crd('pods', 'pod.example.org'), install=deployment())
    world.attack(PI, 'pod', EVIL + '/pod:2.0')
    world.ready(PI, 'mallory', 'pod')
    pod = deployment_of(world, 'pod')['spec']['template']['spec']
    inside = pod['containers'][0]['securityContext']
    assert pod['securityContext']['seccompProfile']['type'] == 'RuntimeDefault', pod
    assert inside['capabilities'] == {'drop': ['ALL']} and inside['allowPrivilegeEscalation'] is False, inside
    world.leave((PI, 'mallory', 'pod'))


def she_asks_for_much(world):
    """Dozens of installs that wait for registries which never answer: another tenant's is served meanwhile."""
    listeners = [socket.create_server(('127.0.0.1', 0), backlog=100) for _ in range(4)]
    for i in range(32):
        world.attack(PI, 'slow%d' % i, 'localhost:%d/evil/slow%d:1' % (listeners[i % 4].getsockname()[1], i))
    world.wait(PI, 'mallory', 'slow31', lambda one: condition(one, 'Ready')['reason'] == 'Pulling', 'never Pulling')
    world.package(GENUINE + '/quick', '1.0', crd('quicks', 'quick.example.org'))
    world.install(PI, 'team-a', 'quick', GENUINE + '/quick:1.0')
    world.ready(PI, 'team-a', 'quick')
    assert all(condition(world.get(PI, 'mallory', 'slow%d' % i), 'Ready')['reason'] == 'Pulling' for i in range(32)), 'one gave up'
    for listener in listeners:
        listener.close()
    world.leave((PI, 'team-a', 'quick'), *[(PI, 'mallory', 'slow%d' % i) for i in range(32)])


# ---- CRDs that an administrator wants to have. ----


def her_kinds_in_the_group_of_others(world):
    """A group that an administrator or another tenant uses is not hers."""
    world.define(crd('lamps', 'office.example.org'))
    world.package(EVIL + '/chairs', '1.0', crd('chairs', 'office.example.org'))
    world.attack(PI, 'chairs', EVIL + '/chairs:1.0')
    message = world.refused('mallory', 'chairs', 'GroupNotAllowed')
    assert 'lamps.office.example.org' in message, message
    assert world.ask('GET', CRDS + '/chairs.office.example.org')[0] == 404
    world.leave((PI, 'mallory', 'chairs'))
    world.undefine('lamps.office.example.org')


def she_brings_the_crd_first(world):
    """An administrator's definition is never changed back, and stays when she goes."""
    world.package(EVIL + '/squat', '1.0', crd('squats', 'squat.example.org'))
    world.attack(PI, 'squat', EVIL + '/squat:1.0')
    world.ready(PI, 'mallory', 'squat')
    path = CRDS + '/squats.squat.example.org'
    real = world.must('PATCH', path, {'spec': {'names': {'shortNames': ['sq']}}}, MERGE)
    install = world.wait(PI, 'mallory', 'squat', lambda one: condition(one, 'Synced')['reason'] == 'Conflict', 'never told')
    assert condition(install, 'Ready')['status'] == 'True', install  # it is still served
    assert 'squats.squat.example.org' in condition(install, 'Synced')['message'], install
    assert world.must('GET', path)['spec'] == real['spec']
    world.server.stop()
    world.server.start()
    world.reconnect()
    world.must('PATCH', path_of(PI, 'mallory', 'squat'), {'metadata': {'labels': {'poke': 'it'}}}, MERGE)
    world.wait(PI, 'mallory', 'squat', lambda one: condition(one, 'Synced')['reason'] == 'Conflict', 'forgotten')
    assert world.must('GET', path)['spec'] == real['spec']
    world.leave((PI, 'mallory', 'squat'))
    left = world.must('GET', path)
    assert left['spec'] == real['spec'] and 'packages.crossplane.io/family' not in left['metadata'].get('annotations', {}), left
    assert not any('crossplane.io' in key for key in left['metadata'].get('labels', {})), left
    world.undefine('squats.squat.example.org')


def an_administrator_replaces_the_crd(world):
    """The same with a definition that has none of Reeve's marks, and that lacks what her package needs."""
    world.package(EVIL + '/squat', '1.0', crd('squats', 'squat.example.org'))
    world.attack(PI, 'squat', EVIL + '/squat:1.0')
    world.ready(PI, 'mallory', 'squat')
    path = CRDS + '/squats.squat.example.org'
    real = crd('squats', 'squat.example.org', fields=())
    real['metadata']['resourceVersion'] = world.must('GET', path)['metadata']['resourceVersion']
    spec = world.must('PUT', path, real)['spec']
    message = world.refused('mallory', 'squat', 'Conflict')
    assert 'squats.squat.example.org' in message, message
    left = world.must('GET', path)
    assert left['spec'] == spec and 'packages.crossplane.io/family' not in left['metadata'].get('annotations', {}), left
    world.leave((PI, 'mallory', 'squat'))
    assert world.must('GET', path)['spec'] == spec
    world.undefine('squats.squat.example.org')


def crds_are_not_hers_to_write(world):
    """Only her packages bring CRDs: she can neither release, label, change, create nor delete one."""
    world.package(GENUINE + '/squat', '1.0', crd('squats', 'squat.example.org'))
    world.install(PI, 'team-a', 'squat', GENUINE + '/squat:1.0')
    world.ready(PI, 'team-a', 'squat')
    path = CRDS + '/squats.squat.example.org'
    for change in ({'metadata': {'annotations': {'packages.crossplane.io/release': 'true'}}},
                   {'metadata': {'labels': {'namespace.crossplane.io/mallory': 'true'}}}, {'spec': {'names': {'shortNames': ['po']}}}):
        world.forbidden('PATCH', path, change)
    world.forbidden('DELETE', path)
    world.forbidden('POST', CRDS, crd('mines', 'mine.example.org'))
    world.forbidden('PATCH', path + '/status', {'status': {'conditions': []}})
    world.leave((PI, 'team-a', 'squat'))


def a_crd_is_released(world):
    """With the annotation it is given up, as it is."""
    world.package(EVIL + '/squat', '1.0', crd('squats', 'squat.example.org'))
    world.attack(PI, 'squat', EVIL + '/squat:1.0')
    world.ready(PI, 'mallory', 'squat')
    path = CRDS + '/squats.squat.example.org'
    before = world.must('GET', path)['spec']
    world.must('PATCH', path, {'metadata': {'annotations': {'packages.crossplane.io/release': 'true'}}}, MERGE)
    wait_for('marks to go', lambda: 'packages.crossplane.io/family' not in world.must('GET', path)['metadata']['annotations'])
    install = world.wait(PI, 'mallory', 'squat', lambda one: condition(one, 'Synced')['reason'] == 'Conflict', 'never told')
    assert condition(install, 'Ready')['status'] == 'True', install
    world.leave((PI, 'mallory', 'squat'))
    assert world.must('GET', path)['spec'] == before
    world.undefine('squats.squat.example.org')


# ---- Access beyond the namespace. ----


def allowed(world, namespace, name, verb, group, resource):
    """Whether the ServiceAccount may, in the whole cluster."""
    return world.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {'spec': {
        'user': 'system:serviceaccount:%s:%s' % (namespace, name),
        'resourceAttributes': {'verb': verb, 'group': group, 'resource': resource}}})['status']['allowed']


def a_dependency_brings_cluster_wide_access(world):
    """Her package depends on a cluster-scoped kind: she gets nothing, and cannot approve it herself. server/access has the rest."""
    world.define(crd('links', 'wire.example.org', cluster=True))
    world.package(EVIL + '/tapper', '1.0', crd('taps', 'tap.example.org'), depends=['links.wire.example.org'])
    world.attack(PI, 'tapper', EVIL + '/tapper:1.0')
    message = world.refused('mallory', 'tapper', 'ApprovalRequired')
    assert 'links.wire.example.org' in message, message
    pending = world.get(PI, 'mallory', 'tapper')['status']['pendingApproval']['id']
    world.forbidden('PATCH', path_of(PI, 'mallory', 'tapper'), {'metadata': {'annotations': {APPROVED: pending}}})
    assert not allowed(world, 'mallory', 'tapper', 'list', 'wire.example.org', 'links')
    world.leave((PI, 'mallory', 'tapper'))
    world.undefine('links.wire.example.org')


def she_approves_beforehand(world):
    """An approval can be neither part of a new install, nor guessed, nor taken from another install; nor can she name a requester."""
    world.define(crd('links', 'wire.example.org', cluster=True))
    world.package(EVIL + '/tapper', '1.0', crd('taps', 'tap.example.org'), depends=['links.wire.example.org'])
    body = {'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': PI, 'metadata': {'name': 'tapper'},
            'spec': {'package': EVIL + '/tapper:1.0'}}
    # an administrator approves the very same for another tenant: its id is of no use to her
    world.install(PI, 'team-a', 'tapper', EVIL + '/tapper:1.0')
    world.ready(PI, 'team-a', 'tapper', approves=True)
    other = world.get(PI, 'team-a', 'tapper')
    ids = ['true', '*', ''] + [str(value) for value in other.get('status', {}).get('approval', {}).values() if isinstance(value, str)]
    for text in ids:
        world.forbidden('POST', path_of(PI, 'mallory'), {**body, 'metadata': {'name': 'tapper', 'annotations': {APPROVED: text}}})
    requester = {key: 'admin' for key in other['metadata'].get('annotations', {}) if 'requester' in key}
    world.must('POST', path_of(PI, 'mallory'), {**body, 'metadata': {'name': 'tapper', 'annotations': requester}}, AS_MALLORY)
    world.refused('mallory', 'tapper', 'ApprovalRequired')
    for text in ids:
        world.forbidden('PATCH', path_of(PI, 'mallory', 'tapper'), {'metadata': {'annotations': {APPROVED: text}}})
    world.forbidden('PATCH', path_of(PI, 'mallory', 'tapper') + '/status', {'status': {'approval': {'id': 'x'}}})
    assert not allowed(world, 'mallory', 'tapper', 'list', 'wire.example.org', 'links')
    world.leave((PI, 'mallory', 'tapper'), (PI, 'team-a', 'tapper'))
    world.undefine('links.wire.example.org')


def other_places_are_not_hers(world):
    """Installs, accounts and bindings: elsewhere none, and in her namespace no account or binding of her own making."""
    world.package(EVIL + '/far', '1.0', crd('fars', 'far.example.org'))
    for kind, namespace in ((CPI, ''), (PI, 'team-a'), (PI, 'kube-system'), (PI, 'default')):
        world.forbidden('POST', path_of(kind, namespace), {
            'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': kind, 'metadata': {'name': 'far'},
            'spec': {'package': EVIL + '/far:1.0'}})
    role = {'apiGroup': GROUP, 'kind': 'ClusterRole', 'name': 'crossplane:ns:team-a:admin'}
    subjects = [{'kind': 'User', 'name': 'mallory', 'apiGroup': GROUP}]
    for namespace in 'mallory', 'team-a', 'kube-system':
        world.forbidden('POST', '/api/v1/namespaces/%s/serviceaccounts' % namespace, {'metadata': {'name': 'route-controller'}})
        world.forbidden('POST', RBAC + 'namespaces/%s/rolebindings' % namespace, {
            'metadata': {'name': 'mine'}, 'subjects': subjects, 'roleRef': role})
    world.forbidden('POST', RBAC + 'clusterrolebindings', {'metadata': {'name': 'mine'}, 'subjects': subjects, 'roleRef': role})
    world.forbidden('PATCH', RBAC + 'clusterroles/crossplane:ns:mallory:admin', {'metadata': {'labels': {'x': 'y'}}})
    world.forbidden('PATCH', '/api/v1/namespaces/mallory', {'metadata': {'labels': {'rbac.crossplane.io/managed-roles': 'false'}}})


def the_fleet_is_not_hers(world):
    """Nothing that an agent carries out, and nothing by which the hub recognises an agent."""
    work, hub = '/apis/work.open-cluster-management.io/v1/', '/apis/cluster.open-cluster-management.io/v1/managedclusters'
    world.must('POST', hub, {'apiVersion': 'cluster.open-cluster-management.io/v1', 'kind': 'ManagedCluster',
                             'metadata': {'name': 'edge'}, 'spec': {'hubAcceptsClient': True}})
    wait_for('its namespace', lambda: world.ask('GET', '/api/v1/namespaces/edge')[0] == 200)
    manifest = {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'kube-system', 'annotations': {'reeve.dev/adopt': 'true'}}}
    for namespace in 'edge', 'mallory':
        world.forbidden('POST', work + 'namespaces/%s/manifestworks' % namespace, {
            'apiVersion': 'work.open-cluster-management.io/v1', 'kind': 'ManifestWork', 'metadata': {'name': 'mine'},
            'spec': {'workload': {'manifests': [manifest]}}})
        world.forbidden('POST', '/apis/rbac.open-cluster-management.io/v1alpha1/namespaces/%s/clusterpermissions' % namespace, {
            'apiVersion': 'rbac.open-cluster-management.io/v1alpha1', 'kind': 'ClusterPermission', 'metadata': {'name': 'mine'},
            'spec': {'clusterRoleBinding': {'subject': {'kind': 'User', 'name': 'mallory', 'apiGroup': GROUP}, 'roleRef': {
                'kind': 'ClusterRole', 'name': 'cluster-admin', 'apiGroup': GROUP}}}})
    world.forbidden('POST', '/apis/coordination.k8s.io/v1/namespaces/edge/leases', {'metadata': {'name': 'managed-cluster-lease'}})
    world.forbidden('PATCH', hub + '/edge', {'metadata': {'labels': {'agent.reeve.dev/present': 'true'}}})
    world.forbidden('PATCH', hub + '/edge/status', {'status': {'conditions': []}})
    world.forbidden('GET', '/api/v1/namespaces/edge/secrets')
    world.must('DELETE', hub + '/edge')


# ---- Accounts that have access already. ----


def bind(world, name, role, *subjects, namespace=''):
    world.must('POST', RBAC + ('namespaces/%s/rolebindings' % namespace if namespace else 'clusterrolebindings'), {
        'metadata': {'name': name}, 'subjects': list(subjects),
        'roleRef': {'apiGroup': GROUP, 'kind': 'ClusterRole', 'name': role}})


def account(namespace, name):
    return {'kind': 'ServiceAccount', 'namespace': namespace, 'name': name}


def a_system_controller_is_impersonated(world):
    """An environment admin installs a package under the name of a controller of Kubernetes, into its namespace, and elsewhere where an
    account of that name has access."""
    world.package(GENUINE + '/route', '1.0', crd('hops', 'route.example.org'), cluster=True)
    bind(world, 'oscar', 'crossplane-env-admin', {'kind': 'User', 'name': 'oscar', 'apiGroup': GROUP})
    as_oscar = {'Impersonate-User': 'oscar'}

    def ask(name, namespace):
        return world.must('POST', path_of(CPI), {
            'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': CPI, 'metadata': {'name': name},
            'spec': {'package': GENUINE + '/route:1.0', 'namespace': namespace}}, as_oscar)

    # route-controller of kube-system is bound by the server itself; a name that nobody uses is no better there
    for name, reason in (('route-controller', 'ServiceAccountConflict'), ('unknown-controller', 'ApprovalRequired')):
        ask(name, 'kube-system')
        world.refused('', name, reason, CPI)
        assert world.ask('GET', '/api/v1/namespaces/kube-system/serviceaccounts/unknown-controller')[0] == 404
        world.leave((CPI, '', name))
    bind(world, 'backup', 'cluster-admin', account('tools', 'backup'))
    ask('backup', 'tools')
    message = world.refused('', 'backup', 'ServiceAccountConflict', CPI)
    assert 'ClusterRoleBinding "backup"' in message, message
    assert world.ask('GET', '/api/v1/namespaces/tools/serviceaccounts/backup')[0] == 404
    world.must('DELETE', RBAC + 'clusterrolebindings/backup')  # it is looked at again because bindings changed
    world.ready(CPI, '', 'backup')
    world.leave((CPI, '', 'backup'))
    world.install(CPI, '', 'unknown-controller', GENUINE + '/route:1.0', namespace='kube-public')  # a cluster-admin may
    world.ready(CPI, '', 'unknown-controller')
    world.leave((CPI, '', 'unknown-controller'))


def a_bound_account_is_occupied(world):
    """An account that is not there yet has been granted something, in whatever way a binding can name it."""
    user = {'kind': 'User', 'name': 'system:serviceaccount:mallory:robot', 'apiGroup': GROUP}
    group = {'kind': 'Group', 'name': 'system:serviceaccounts:mallory', 'apiGroup': GROUP}
    world.package(EVIL + '/robot', '1.0', crd('gears', 'robot.example.org'))
    for subject, namespace in ((account('mallory', 'robot'), ''), (account('mallory', 'robot'), 'team-b'), (user, ''), (group, '')):
        bind(world, 'robots', 'view', subject, namespace=namespace)
        world.attack(PI, 'robot', EVIL + '/robot:1.0')
        message = world.refused('mallory', 'robot', 'ServiceAccountConflict')
        assert 'robots"' in message, message
        assert world.ask('GET', '/api/v1/namespaces/mallory/serviceaccounts/robot')[0] == 404
        world.leave((PI, 'mallory', 'robot'))
        world.must('DELETE', RBAC + ('namespaces/%s/rolebindings/robots' % namespace if namespace else 'clusterrolebindings/robots'))
    # what every authenticated account has, is no reason
    bind(world, 'robots', 'system:discovery', account('mallory', 'robot'))
    world.attack(PI, 'robot', EVIL + '/robot:1.0')
    world.ready(PI, 'mallory', 'robot')
    # a binding that comes later is reported; nothing is taken away
    bind(world, 'more-robots', 'view', account('mallory', 'robot'))
    install = world.wait(PI, 'mallory', 'robot', lambda one: condition(one, 'Synced')['reason'] == 'ServiceAccountConflict', 'not reported')
    assert 'more-robots' in condition(install, 'Synced')['message'], install
    assert condition(install, 'Installed')['status'] == 'True', install
    wait_for('an Event', lambda: [e for e in world.must('GET', '/api/v1/namespaces/mallory/events')['items']
                                  if e['reason'] == 'ServiceAccountConflict' and 'more-robots' in e['message']])
    world.must('DELETE', RBAC + 'clusterrolebindings/more-robots')
    world.wait(PI, 'mallory', 'robot', lambda one: condition(one, 'Synced')['status'] == 'True', 'still reported')
    world.leave((PI, 'mallory', 'robot'))


TESTS = (the_name_of_another_tenants_package_is_taken, the_name_of_a_cluster_package_is_taken, a_local_name_is_not_that_of_a_registry,
         a_tag_beside_a_digest_takes_no_version, two_sources_of_before_keep_working, her_install_waits_for_that_of_another_tenant,
         another_version_changes_what_others_use, her_upgrade_changes_what_others_use, what_adds_and_nothing_more_is_free,
         a_cluster_package_is_extended, her_version_keeps_others_from_an_upgrade, an_older_install_of_hers_changes_its_package,
         she_uninstalls_what_others_use, a_tag_moves_after_the_check, readiness_is_not_hers_to_report, her_pod_asks_for_more,
         she_asks_for_much, her_kinds_in_the_group_of_others, she_brings_the_crd_first, an_administrator_replaces_the_crd,
         crds_are_not_hers_to_write, a_crd_is_released, a_dependency_brings_cluster_wide_access, she_approves_beforehand,
         other_places_are_not_hers, the_fleet_is_not_hers, a_system_controller_is_impersonated, a_bound_account_is_occupied)


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
