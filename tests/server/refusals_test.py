#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is refused changes nothing: for every reason the whole store is compared before and after, but for the install itself.

usage: refusals_test.py REEVE"""
import copy
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package_work import (CRDS, INSTALLS, MANAGED, RBAC, SYSTEM, Packages, condition, crd, deployment, differences,  # noqa: E402
                          files, image, is_ready, path_of, wait_for)
from reeve_server import Server, Tap  # noqa: E402
from registry_world import Registry, htpasswd  # noqa: E402

HOME = 'team-a'
GROUP = 'things.example.org'
MINE = crd('things', GROUP)


def container(**fields):
    return {'containers': [{'name': 'c', 'image': 'example.org/acme/c:1', **fields}]}


class Refusals:
    def __init__(self, server):
        self.packages = Packages(server)
        self.count = 0
        self.leftover = []

    def begin(self):
        for name in (HOME, 'team-b', SYSTEM):
            self.packages.namespace(name, MANAGED)

    def add(self, contents, name=None, version='1.0'):
        """An image with these files; returns its reference. A name of its own, unless one is given."""
        self.count += 1
        reference = 'acme/%s:%s' % (name or 'r%d' % self.count, version)
        self.packages.layout.add(reference, image(contents))
        return reference

    def put(self, path, body):
        """Something that is in the way; it goes when the case is over."""
        self.packages.must('POST', path, body)
        self.leftover.append(path + '/' + body['metadata']['name'])

    def clean(self):
        for path in self.leftover:
            self.packages.ask('DELETE', path)
        for path in self.leftover:
            wait_for(path, lambda path=path: self.packages.ask('GET', path)[0] == 404)
        self.leftover = []

    def installed(self, kind, home, name, package, **spec):
        """Another install, which is fine."""
        self.packages.install(kind, home, name, package, **spec)
        self.packages.ready(kind, home, name)

    def removed(self, kind, home, name):
        self.packages.remove(kind, home, name)
        self.packages.gone(kind, home, name)

    def store(self, but):
        """All there is, but the install."""
        kind, home, name = but
        found = self.packages.everything()
        found.pop((INSTALLS[kind][0], INSTALLS[kind][1], home, name), None)
        return found

    def refused(self, reason, words, kind, home, package, name='refused', unsaid=(), **spec):
        """It is, for this reason, which is told in words; nothing changed, and the install can be deleted at once."""
        key = (kind, home, name)
        before = self.store(key)
        self.packages.install(*key, package, **spec)
        try:
            self.check_refusal(key, reason, (words,) if isinstance(words, str) else words, unsaid)
            changed = differences(before, self.store(key))
            assert not changed, '\n'.join(changed)
        finally:
            self.removed(*key)
        changed = differences(before, self.store(key))
        assert not changed, '\n'.join(changed)

    def check_refusal(self, key, reason, words, unsaid=()):
        it = self.packages.wait(*key, lambda it: condition(it, 'Synced')['status'] == 'False', 'never refused')
        for kind in ('Synced', 'Installed', 'Ready'):
            told = condition(it, kind)
            assert (told['status'], told['reason']) == ('False', reason), json.dumps(it['status'], indent=1)
            assert told['observedGeneration'] == it['metadata']['generation']
        message = condition(it, 'Synced')['message']
        assert all(word in message for word in words), message
        assert not any(word in message for word in unsaid), message
        print('# %s: %s' % (reason, message[:200].replace('\n', '; ')))
        assert 'installedPackage' not in it['status'] and 'finalizers' not in it['metadata'], it

    def package(self, reason, words, contents, kind='PackageInstall', **spec):
        """One that is wrong by itself."""
        home = '' if INSTALLS[kind][2] else HOME
        self.refused(reason, words, kind, home, self.add(contents), **spec)

    # ---- The wrong kind of install. ----

    def scope(self):
        for kind, right, cluster in (('PackageInstall', 'ClusterPackageInstall', True), ('ClusterPackageInstall', 'PackageInstall', False),
                                     ('StackInstall', 'ClusterStackInstall', True), ('ClusterStackInstall', 'StackInstall', False)):
            self.package('ScopeMismatch', 'with a %s, not with a %s' % (right, kind), files([MINE], cluster=cluster), kind)

    # ---- CRDs that are somebody else's. ----

    def foreign_crd(self):
        self.packages.define(MINE)
        self.leftover.append(CRDS + '/' + MINE['metadata']['name'])
        self.package('CRDConflict', 'things.things.example.org: exists already, and no package brought it', files([MINE]))
        self.package('CRDConflict', 'no package brought it', files([MINE], cluster=True), 'ClusterPackageInstall')
        self.package('CRDConflict', 'its kind Thing is that of CRD things.things.example.org',
                     files([crd('thingies', GROUP, 'Thing')]))

    def another_package(self):
        self.installed('PackageInstall', 'team-b', 'first', self.add(files([MINE]), 'first'))
        self.package('CRDConflict', 'belongs to package acme:first', files([MINE]))
        self.package('CRDConflict', 'belongs to package acme:first', files([MINE], cluster=True), 'ClusterStackInstall')
        self.removed('PackageInstall', 'team-b', 'first')

    def incompatible(self):
        narrow, other = crd('things', GROUP, fields=('size', 'colour')), crd('things', GROUP, fields=('size', 'colour'))
        properties = other['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['spec']['properties']
        properties['colour'] = {'type': 'string'}
        self.installed('PackageInstall', 'team-b', 'first', self.add(files([narrow]), 'versions', '1.0'))
        for version, body in (('2.0', other), ('3.0', crd('things', GROUP, fields=('size',), versions=('v1',)))):
            self.refused('ApprovalRequired', 'things.things.example.org', 'PackageInstall', HOME,
                         self.add(files([body], version=version), 'versions', version))
        self.removed('PackageInstall', 'team-b', 'first')

    # ---- Only one in one place. ----

    def twice(self):
        space, cluster = self.add(files([MINE]), 'space'), self.add(files([crd('stars', GROUP)], cluster=True), 'cluster')
        self.installed('PackageInstall', HOME, 'first', space)
        self.installed('ClusterPackageInstall', '', 'first', cluster)
        for kind in ('PackageInstall', 'StackInstall'):
            self.refused('AlreadyInstalled', 'PackageInstall team-a/first', kind, HOME, space)
        for kind in ('ClusterPackageInstall', 'ClusterStackInstall'):
            self.refused('AlreadyInstalled', 'ClusterPackageInstall first', kind, '', cluster)
        self.refused('AlreadyInstalled', 'ClusterPackageInstall first', 'ClusterPackageInstall', '',
                     self.add(files([crd('stars', GROUP)], cluster=True, version='2.0'), 'cluster', '2.0'))
        self.removed('PackageInstall', HOME, 'first')
        self.removed('ClusterPackageInstall', '', 'first')

    def another_digest(self):
        self.installed('PackageInstall', 'team-b', 'first', self.add(files([MINE]), 'digests'))
        self.refused('AlreadyInstalled', 'acme:digests', 'PackageInstall', HOME,
                     self.add(files([MINE], app={'title': 'the same, they say'}), 'digests', 'again'))
        self.removed('PackageInstall', 'team-b', 'first')

    # ---- Packages that are wrong. ----

    def invalid(self):
        good = files([MINE], install=deployment())
        without = dict(good)
        del without['.registry/app.yaml']
        renamed = copy.deepcopy(MINE)
        renamed['metadata']['name'] = 'others.things.example.org'
        typeless = copy.deepcopy(MINE)
        typeless['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['spec']['type'] = 'thing'
        for words, contents in (
                ('app.yaml', without),
                ('permissionScope', files([MINE], app={'permissionScope': 'Galaxy'})),
                ('permissions', files([MINE], app={'permissions': {'rules': []}})),
                ('dependsOn[0].crd', files([MINE], depends=['mysql'])),
                ('protected', files([MINE], depends=['*.apps.k8s.io'])),
                ('version', files([MINE], version='1.0/evil')),
                ('CRD ', {**good, '.registry/resources/x.crd.yaml': '[]'}),
                ('others.things.example.org', files([renamed])),
                ('type', files([typeless])),
                ('rbac.yaml', {**good, '.registry/rbac.yaml': json.dumps({'rules': []})}),
                ('Deployment', {**good, '.registry/install.yaml': json.dumps({'apiVersion': 'v1', 'kind': 'Pod'})}),
                ('one install.yaml with one document', {**good, '.registry/install.yaml': '\n---\n'.join([json.dumps(deployment())] * 2)})):
            self.package('InvalidPackage', words, contents)

    def protected(self):
        for group in ('apps.k8s.io', 'k8s.io', 'x.kubernetes.io', 'packages.crossplane.io', 'stacks.crossplane.io'):
            self.package('InvalidPackage', 'protected', files([crd('things', group)]))
            self.package('InvalidPackage', 'protected', files([crd('things', group)], cluster=True), 'ClusterPackageInstall')

    def cluster_crds(self):
        wide = crd('things', GROUP, cluster=True)
        self.package('InvalidPackage', 'things.things.example.org', files([wide]))
        self.package('InvalidPackage', 'must be of namespace scope', files([wide], cluster=True), 'ClusterStackInstall')
        self.packages.define(crd('skies', 'wide.example.com', cluster=True))
        self.leftover.append(CRDS + '/skies.wide.example.com')
        self.package('InvalidPackage', 'dependsOn: CRD skies.wide.example.com must be of namespace scope',
                     files([MINE], depends=['skies.wide.example.com']), 'StackInstall')

    def all_at_once(self):
        self.package('InvalidPackage', ('hostNetwork', 'hostPID', 'dependsOn[0].crd', 'permissionScope: Cluster'), files(
            [crd('things', GROUP)], cluster=True, depends=['x'], install=deployment(hostNetwork=True, hostPID=True)))

    def reaching_out(self):
        for words, pod in (
                ('hostNetwork', {'hostNetwork': True}), ('hostPID', {'hostPID': True}), ('hostIPC', {'hostIPC': True}),
                ('hostPath', {'volumes': [{'name': 'v', 'hostPath': {'path': '/'}}]}),
                ('hostPort', container(ports=[{'containerPort': 1, 'hostPort': 1}])),
                ('privileged', container(securityContext={'privileged': True})),
                ('capabilities', container(securityContext={'capabilities': {'add': ['SYS_ADMIN']}})),
                ('privileged', {'initContainers': [{'name': 'i', 'image': 'x', 'securityContext': {'privileged': True}}], **container()}),
                ('serviceAccountName', {'serviceAccountName': 'default'}),
                ('serviceAccount', {'serviceAccount': 'default'})):
            self.package('InvalidPackage', words, files([MINE], install=deployment(**pod)))
        elsewhere = deployment()
        elsewhere['metadata']['namespace'] = 'kube-system'
        self.package('InvalidPackage', 'namespace', files([MINE], install=elsewhere))

    # ---- What cannot be had. ----

    def pull(self):
        self.refused('PullFailed', 'acme/nobody:1.0', 'PackageInstall', HOME, 'acme/nobody:1.0', imagePullPolicy='Never')
        self.refused('PullFailed', 'pull secret team-a/nobody', 'PackageInstall', HOME, self.add(files([MINE])),
                     imagePullSecrets=[{'name': 'nobody'}])

    def locked_registry(self):
        """Who installs learns that a Secret is missing, not only what the registry says."""
        folder = self.packages.server.folder
        registry = Registry(folder, htpasswd(folder, 'robot', 'top$ecret'))
        try:
            self.refused('PullFailed', 'no pull secret is named in spec.imagePullSecrets', 'PackageInstall', HOME,
                         registry.host + '/acme/things:1.0')
        finally:
            registry.stop()

    def forbidden_registry(self):
        """No Secret helps there, so none is spoken of."""
        self.refused('PullFailed', 'is at an address that may not be connected to', 'PackageInstall', HOME,
                     '169.254.1.1/acme/things:1.0', unsaid=['pull secret'])

    def install_itself(self):
        """What the schema of the kind lets through, at least."""
        path = path_of('PackageInstall', HOME)
        for spec in ({'package': ''}, {'package': 'Acme/Things:1.0'}, {'package': 'acme/things:1.0', 'imagePullPolicy': 'Sometimes'},
                     {'package': 'acme/things:1.0', 'imagePullSecrets': [{'name': 'Not A Name'}]}, {'package': 'a' * 3000},
                     {}, {'package': ['acme/things:1.0']}):
            before = self.packages.everything()
            code, answer = self.packages.ask('POST', path, {
                'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': 'PackageInstall', 'metadata': {'name': 'refused'}, 'spec': spec})
            if code == 422:
                assert not differences(before, self.packages.everything())
                continue
            assert code == 201, answer
            self.packages.remove('PackageInstall', HOME, 'refused')
            self.packages.gone('PackageInstall', HOME, 'refused')
            self.refused('InvalidInstall', 'spec.', 'PackageInstall', HOME, spec.pop('package'), **spec)

    # ---- Somebody else's objects of the same names. ----

    def in_the_way(self, kind, reference, path, body):
        home = '' if INSTALLS[kind][2] else HOME
        self.put(path, body)
        self.refused('Conflict', '%s "%s"' % (body['kind'], body['metadata']['name']), kind, home, reference)
        self.clean()

    def names(self):
        space, cluster = self.add(files([MINE], install=deployment()), 'names'), self.add(files([MINE], cluster=True), 'wide')
        account = '/api/v1/namespaces/%s/serviceaccounts'
        role = {'rules': []}

        def bound(kind, name):
            return {'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': kind, 'name': name}, 'subjects': []}
        for kind, reference, path, what, name, fields in (
                ('PackageInstall', space, account % HOME, 'ServiceAccount', 'refused', {}),
                ('ClusterPackageInstall', cluster, account % SYSTEM, 'ServiceAccount', 'refused', {}),
                ('PackageInstall', space, '/apis/apps/v1/namespaces/%s/deployments' % HOME, 'Deployment', 'refused-controller',
                 deployment()),
                ('PackageInstall', space, RBAC + 'clusterroles', 'ClusterRole', 'package:acme:names:1.0:system', role),
                ('PackageInstall', space, RBAC + 'clusterroles', 'ClusterRole', 'package:acme:names:1.0:view', role),
                ('PackageInstall', space, RBAC + 'namespaces/%s/rolebindings' % HOME, 'RoleBinding', 'package:acme:names:1.0:system',
                 bound('ClusterRole', 'view')),
                ('ClusterPackageInstall', cluster, RBAC + 'clusterrolebindings', 'ClusterRoleBinding', 'package:acme:wide:1.0:system',
                 bound('ClusterRole', 'view')),
                ('StackInstall', space, RBAC + 'namespaces/%s/roles' % HOME, 'Role', 'refused', role),
                ('StackInstall', space, RBAC + 'namespaces/%s/rolebindings' % HOME, 'RoleBinding', 'refused', bound('Role', 'view')),
                ('ClusterStackInstall', cluster, RBAC + 'clusterroles', 'ClusterRole', 'refused', role)):
            self.in_the_way(kind, reference, path, {**fields, 'kind': what, 'metadata': {'name': name}})

    def namesakes(self):
        """Installs of one name whose controllers would share an account, and with it their rights."""
        space, cluster = self.add(files([MINE]), 'space'), self.add(files([crd('stars', GROUP)], cluster=True), 'cluster')
        self.installed('PackageInstall', HOME, 'refused', space)
        other = self.add(files([crd('moons', GROUP)]), 'other')
        self.refused('Conflict', 'is that of PackageInstall team-a/refused', 'StackInstall', HOME, other)
        self.refused('Conflict', 'is that of PackageInstall team-a/refused', 'ClusterPackageInstall', '', cluster, namespace=HOME)
        self.removed('PackageInstall', HOME, 'refused')
        self.packages.install('StackInstall', HOME, 'refused', self.add(files([MINE], depends=['x'])))  # keeps nobody out
        self.packages.wait('StackInstall', HOME, 'refused', lambda it: condition(it, 'Ready')['reason'] == 'InvalidPackage')
        self.installed('PackageInstall', HOME, 'refused', space)
        self.removed('PackageInstall', HOME, 'refused')
        self.removed('StackInstall', HOME, 'refused')
        self.installed('ClusterStackInstall', '', 'refused', cluster, namespace=HOME)
        self.refused('Conflict', 'is that of ClusterStackInstall refused', 'PackageInstall', HOME, space)
        self.removed('ClusterStackInstall', '', 'refused')

    # ---- What was in the way goes. ----

    def passes(self):
        """Refused is not for ever: what stood in the way is gone, and the install goes on by itself."""
        account = '/api/v1/namespaces/%s/serviceaccounts' % HOME
        self.packages.define(MINE)
        self.packages.must('POST', account, {'metadata': {'name': 'second'}})
        self.packages.install('PackageInstall', HOME, 'first', self.add(files([MINE]), 'passing'))
        self.packages.install('PackageInstall', HOME, 'second', self.add(files([crd('others', 'others.example.org')]), 'passing2'))
        for name, reason in (('first', 'CRDConflict'), ('second', 'Conflict')):
            self.packages.wait('PackageInstall', HOME, name, lambda it, reason=reason: condition(it, 'Ready')['reason'] == reason)
        self.packages.undefine(MINE['metadata']['name'])
        self.packages.must('DELETE', account + '/second')
        for name in ('first', 'second'):
            self.packages.ready('PackageInstall', HOME, name)
            self.removed('PackageInstall', HOME, name)

    # ---- Upgrades that are refused. ----

    def blocked(self):
        """The old version keeps running, and what is changed of it is still put back."""
        bare = deployment()
        del bare['spec']['template']['spec']['containers'][0]['image']  # that of the package
        good = self.add(files([MINE], install=bare), 'running')
        key = ('PackageInstall', HOME, 'running')
        self.installed(*key, good, imagePullPolicy='Never')
        self.packages.define(crd('alien', 'alien.example.com'))
        before = self.store(key)
        for number, (reason, contents) in enumerate((
                ('InvalidPackage', files([MINE], install=deployment(hostPID=True), version='2.0')),
                ('ScopeMismatch', files([MINE], cluster=True, version='2.0')),
                ('CRDConflict', files([MINE, crd('alien', 'alien.example.com')], version='2.0')),
                ('PullFailed', None))):
            package = self.add(contents, 'running', '2.%d' % number) if contents else 'acme/running:none'
            self.packages.upgrade(*key, package)
            it = self.packages.wait(*key, lambda it: condition(it, 'Synced')['reason'] == 'Blocked' and
                                    condition(it, 'Synced')['observedGeneration'] == it['metadata']['generation'])
            told = condition(it, 'Synced')['message']
            assert told.startswith(reason + ': ') and '1.0 keeps running' in told, told
            print('# Blocked: %s' % told[:200].replace('\n', '; '))
            ready = condition(it, 'Ready')
            assert (ready['status'], ready['reason'], ready['message']) == ('False', 'Blocked', told), ready
            # The old version's health is in conditions of its own.
            assert condition(it, 'Installed')['status'] == 'True' and condition(it, 'Healthy')['status'] != 'False', it['status']
            assert it['status']['version'] == '1.0', it['status']
            changed = differences(before, self.store(key))
            assert not changed, '\n'.join(changed)
            self.repaired()
            before = self.store(key)
        self.packages.upgrade(*key, good)
        self.packages.wait(*key, lambda it: is_ready(it) and condition(it, 'Synced')['status'] == 'True', 'still Blocked')
        self.removed(*key)
        self.packages.undefine('alien.alien.example.com')

    def repaired(self):
        role = 'package:acme:running:1.0:system'
        for path in ('/api/v1/namespaces/%s/serviceaccounts/running' % HOME, RBAC + 'namespaces/%s/rolebindings/%s' % (HOME, role),
                     RBAC + 'clusterroles/' + role, '/apis/apps/v1/namespaces/%s/deployments/running-controller' % HOME):
            was = self.packages.must('GET', path)
            self.packages.must('DELETE', path)
            wait_for(lambda path=path: path + ' is not put back', lambda path=path, was=was: self.packages.ask(
                'GET', path)[1].get('metadata', {}).get('uid') not in (None, was['metadata']['uid']))
        self.packages.must('PATCH', RBAC + 'clusterroles/' + role, {'rules': []}, {'Content-Type': 'application/merge-patch+json'})
        wait_for('rules are not put back', lambda: self.packages.must('GET', RBAC + 'clusterroles/' + role)['rules'])


def main():
    tap = Tap()
    server = Server(sys.argv[1])
    try:
        server.start()
        refusals = Refusals(server)
        refusals.begin()
        store = refusals.packages.everything()
        for name, case in (
                ('an install of the wrong scope', refusals.scope),
                ('a CRD that people brought', refusals.foreign_crd),
                ('a CRD of another package', refusals.another_package),
                ('a version that does not go with the others', refusals.incompatible),
                ('the same package twice in one place', refusals.twice),
                ('two images that say they are the same version', refusals.another_digest),
                ('packages that are wrong', refusals.invalid),
                ('CRDs in groups that are protected', refusals.protected),
                ('CRDs of the cluster where they must not be', refusals.cluster_crds),
                ('everything that is wrong is told at once', refusals.all_at_once),
                ('pods that reach for the node or for other accounts', refusals.reaching_out),
                ('images that cannot be had', refusals.pull),
                ('a registry that wants credentials', refusals.locked_registry),
                ('a registry where we do not go', refusals.forbidden_registry),
                ('installs that make no sense', refusals.install_itself),
                ("somebody else's objects of the same name", refusals.names),
                ('installs of the same name in one place', refusals.namesakes),
                ('what is refused goes on when nothing is in the way any more', refusals.passes),
                ('an upgrade that is refused', refusals.blocked)):
            tap.run(name, case)
            refusals.clean()

        def nothing_is_left():
            wait_for(lambda: '\n'.join(differences(store, refusals.packages.everything()))[:1500], lambda: not [
                one for one in differences(store, refusals.packages.everything()) if ' changed: .metadata.' not in one])
        tap.run('nothing of all this is left', nothing_is_left)
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
