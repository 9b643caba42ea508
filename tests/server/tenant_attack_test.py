#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tenant who holds nothing but the admin persona of her own namespace tries to reach beyond it. One function per attack.

usage: tenant_attack_test.py REEVE [TEST…]

team-a and team-b are other tenants, mallory attacks from the namespace "mallory". What she does is done as herself; what the others
and the administrator do is done as they would.
"""
import copy
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from package_work import CRDS, MERGE, RBAC, Packages, condition, crd, files, image, is_ready, path_of, wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

PI, CPI = 'PackageInstall', 'ClusterPackageInstall'
GENUINE, EVIL = 'registry.example.org/acme', 'evil.example.org/acme'
AS_MALLORY = {'Impersonate-User': 'mallory'}
GROUP = 'rbac.authorization.k8s.io'


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
        code, answer = world.ask('PATCH', path_of(PI, 'mallory', name), {'metadata': {'annotations': {
            'packages.crossplane.io/approved': world.get(PI, 'mallory', name)['status']['pendingApproval']['id']}}},
            {**MERGE, **AS_MALLORY})
        assert code == 403, (code, answer)
        world.leave((PI, 'mallory', name))
    world.leave((PI, 'team-a', 'blog'))


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
    first = world.ready(PI, 'team-a', 'blog')['metadata']['creationTimestamp']
    wait_for('the next second, as times of creation have no parts of it',
             lambda: time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()) > first)
    world.attack(PI, 'blog', GENUINE + '/blog:3.0')
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


def approve(world, namespace, name):
    """As an administrator does."""
    pending = world.get(PI, namespace, name)['status']['pendingApproval']
    world.must('PATCH', path_of(PI, namespace, name), {'metadata': {'annotations': {
        'packages.crossplane.io/approved': pending['id']}}}, MERGE)


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
    approved = 'packages.crossplane.io/approved'
    world.define(crd('links', 'wire.example.org', cluster=True))
    world.package(EVIL + '/tapper', '1.0', crd('taps', 'tap.example.org'), depends=['links.wire.example.org'])
    world.attack(PI, 'tapper', EVIL + '/tapper:1.0')
    message = world.refused('mallory', 'tapper', 'ApprovalRequired')
    assert 'links.wire.example.org' in message, message
    pending = world.get(PI, 'mallory', 'tapper')['status']['pendingApproval']['id']
    code, answer = world.ask('PATCH', path_of(PI, 'mallory', 'tapper'), {'metadata': {'annotations': {approved: pending}}},
                             {**MERGE, **AS_MALLORY})
    assert code == 403, answer
    assert not allowed(world, 'mallory', 'tapper', 'list', 'wire.example.org', 'links')
    world.leave((PI, 'mallory', 'tapper'))
    world.undefine('links.wire.example.org')


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
         a_tag_beside_a_digest_takes_no_version, two_sources_of_before_keep_working, another_version_changes_what_others_use, what_adds_and_nothing_more_is_free,
         a_cluster_package_is_extended, her_version_keeps_others_from_an_upgrade, her_kinds_in_the_group_of_others, she_brings_the_crd_first,
         an_administrator_replaces_the_crd, a_crd_is_released,
         a_dependency_brings_cluster_wide_access, a_system_controller_is_impersonated, a_bound_account_is_occupied)


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
