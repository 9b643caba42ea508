#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What packages and people may do is exactly what the files of the packages say, neither less nor more.

The expectation is computed here, from the files alone and from which CRDs there are; the answer is the server's, to
SubjectAccessReviews: nobody's roles or records are read. Asked are

    the examples       once, with both installed, every verb and place of what is precious and of what packages bring, for the
                       packages and for all personas; after every other step of their lives as much as of
    50 made up ones    which come in rounds, several at once: every kind of the package and of its dependencies with every verb
                       where it is installed, and with some verbs somewhere else; what is precious (Secrets, roles, installs,
                       nodes, ...) with some verbs somewhere; every other kind with one verb somewhere. Personas: what is precious
                       with one verb everywhere, every other kind with one verb somewhere. A seed decides where and with which.

usage: exactness_test.py REEVE EXAMPLES [--seed N] [--packages N] [--all]
With REEVE_TEST_ALL in the environment there are 200 of them, and of the examples every kind there is is asked for, once. --all asks
every question of everybody; that takes half an hour."""
import argparse
import copy
import os
import random
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package_work import (CRDS, INSTALLS, MANAGED, RBAC, SYSTEM, Packages, Reviews, crd, deployment, differences, files,  # noqa: E402
                          image, is_ready, wait_for, xpkg)
from image import package_image  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

ROUND = 25  # packages at once
HOMES = ('team-a', 'team-b', 'plain')  # the last has no personas
OWNED = '.example.org'  # ends the groups of CRDs that packages bring
PLACES = HOMES + ('',)
WRITE = ('create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch')
READ = ('get', 'list', 'watch')
VERBS = WRITE + ('bind', 'escalate', 'impersonate', 'use', 'frobnicate')
ANY = None  # every verb, made up ones, too
SOME = 5  # verbs, where not all are asked
PRECIOUS = (
    ('', 'configmaps'), ('', 'events'), ('', 'secrets'), ('', 'pods'), ('', 'pods/exec'), ('', 'nodes'), ('', 'namespaces'),
    ('', 'serviceaccounts'), ('', 'serviceaccounts/token'), ('', 'users'), ('', 'groups'), ('apps', 'deployments'),
    ('rbac.authorization.k8s.io', 'roles'), ('rbac.authorization.k8s.io', 'rolebindings'),
    ('rbac.authorization.k8s.io', 'clusterroles'), ('rbac.authorization.k8s.io', 'clusterrolebindings'),
    ('apiextensions.k8s.io', 'customresourcedefinitions'), ('packages.crossplane.io', 'packageinstalls'),
    ('packages.crossplane.io', 'clusterpackageinstalls'), ('packages.crossplane.io', 'packages'),
    ('stacks.crossplane.io', 'stackinstalls'), ('stacks.crossplane.io', 'clusterstacks'))


# ---- What should be allowed. A grant: (verbs or ANY, group, resources, namespace or None for everywhere). ----

EVERYBODY = [(('create',), 'authorization.k8s.io', {'selfsubjectaccessreviews', 'selfsubjectrulesreviews'}, None),
             (('create',), 'authentication.k8s.io', {'selfsubjectreviews'}, None),
             (('get', 'list', 'watch'), 'apiextensions.k8s.io', {'customresourcedefinitions'}, None)]


def is_granted(grants, verb, group, resource, namespace):
    return any((verbs is ANY or verb in verbs) and group == of and resource in resources and place in (None, namespace)
               for verbs, of, resources, place in grants)


class Package:
    """What its files say."""

    def __init__(self, crds, cluster, depends):
        self.crds, self.cluster, self.depends = crds, cluster, list(depends)

    def names(self):
        return {one['metadata']['name'] for one in self.crds}

    @staticmethod
    def declared(one):
        """Its plural and the subresources it declares."""
        plural, found = one['spec']['names']['plural'], set()
        for version in one['spec']['versions']:
            found |= {'%s/%s' % (plural, name) for name in version.get('subresources') or {}}
        return {plural} | found

    def controller(self, namespace, definitions):
        """Core, what it owns, what it depends on of what exists: in its namespace, or everywhere."""
        place = None if self.cluster else namespace
        grants = [(ANY, '', {'configmaps', 'events', 'secrets'}, place)]
        for one in self.crds:
            plural, group = one['spec']['names']['plural'], one['spec']['group']
            grants.append((ANY, group, self.declared(one) | {plural + '/finalizers'}, place))
        for text in self.depends:
            plural, group = text.split('/')[0].split('.', 1)
            for one in definitions:
                spec = one['spec']
                if spec['group'] == group and plural in ('*', spec['names']['plural']) and \
                        one['metadata']['name'] not in self.names():
                    grants.append((ANY, group, {spec['names']['plural']}, None if spec['scope'] == 'Cluster' else place))
        return grants

    def named(self):
        """The kinds that it speaks of, whether they are there or not."""
        owned = {(one['spec']['group'], plural) for one in self.crds for plural in self.declared(one)}
        return owned | {(group, plural) for plural, group in (text.split('/')[0].split('.', 1) for text in self.depends)}

    def people(self, verbs, place):
        return [(verbs, one['spec']['group'], self.declared(one), place) for one in self.crds]


PACKAGES, STACKS = 'packages.crossplane.io', 'stacks.crossplane.io'
SEES = [(READ, 'apiextensions.k8s.io', {'customresourcedefinitions'}, None), (READ, '', {'namespaces'}, None)]


def environment_defaults(verbs):
    return SEES + [(READ, '', {'events'}, None),
                   (verbs, PACKAGES, {'clusterpackageinstalls'}, None), (READ, PACKAGES, {'clusterpackages'}, None),
                   (verbs, STACKS, {'clusterstackinstalls'}, None), (READ, STACKS, {'clusterstacks'}, None)]


def namespace_defaults(role, place):
    """The seed's table; records are only ever read, and Secrets are not for viewers."""
    verbs = READ if role == 'view' else WRITE
    grants = [(verbs, PACKAGES, {'packageinstalls'}, place), (verbs, STACKS, {'stackinstalls'}, place),
              (READ, '', {'events'}, place)]
    if role != 'view':
        grants.append((verbs, '', {'configmaps', 'secrets'}, place))
    if role == 'admin':
        grants += [(READ, PACKAGES, {'packages'}, place), (READ, STACKS, {'stacks'}, place)]
    return grants


class Life:
    """An install and the files of what it has."""

    def __init__(self, kind, namespace, name, package):
        self.kind, self.name, self.package = kind, name, package
        self.namespace = namespace  # of the controller
        self.home = '' if INSTALLS[kind][2] else namespace  # of the install
        self.user = ('system:serviceaccount:%s:%s' % (namespace, name),
                     ['system:serviceaccounts', 'system:serviceaccounts:' + namespace, 'system:authenticated'])

    def key(self):
        return self.kind, self.home, self.name


def personas(lives):
    """{user: grants} with these installed."""
    packages = [one for one in lives if INSTALLS[one.kind][0] == PACKAGES]  # the other dialect has no personas
    found = {}
    for role in ('admin', 'edit', 'view'):
        verbs = READ if role == 'view' else WRITE
        found['env-' + role] = environment_defaults(verbs) + [
            grant for one in packages if one.package.cluster for grant in one.package.people(verbs, None)]
        for home in HOMES[:2]:
            found['%s-%s' % (home, role)] = namespace_defaults(role, home) + [
                grant for one in packages if one.home == home for grant in one.package.people(verbs, home)]
    rbac = (WRITE, 'rbac.authorization.k8s.io', {'clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'}, None)
    found['crossplane-admin'] = [rbac, (WRITE, '', {'namespaces'}, None)] + environment_defaults(WRITE) + \
        namespace_defaults('admin', None) + [grant for one in packages for grant in one.package.people(WRITE, None)]
    return found


# ---- Asking. ----


class Exactness:
    def __init__(self, server, options):
        self.packages = Packages(server)
        self.reviews = Reviews(server)
        self.random = random.Random(options.seed)
        self.all = options.all
        self.is_close_look = False  # every verb and place of what is precious, and of what packages bring

    def begin(self):
        self.prepare()
        self.check([])

    def store(self):
        """All there is, but for when it was written."""
        found = self.packages.everything()
        for one in found.values():
            for field in ('resourceVersion', 'managedFields', 'generation'):
                one['metadata'].pop(field, None)
        return found

    def prepare(self):
        for home in HOMES:
            self.packages.namespace(home, MANAGED if home != 'plain' else None)
        self.packages.namespace(SYSTEM)
        for user in personas([]):
            group = {'apiGroup': 'rbac.authorization.k8s.io'}
            home, _, role = user.rpartition('-')
            name = 'crossplane:ns:%s:%s' % (home, role) if home in HOMES else \
                'crossplane-admin' if user == 'crossplane-admin' else 'crossplane-' + user
            where = 'namespaces/%s/rolebindings' % home if home in HOMES else 'clusterrolebindings'
            self.packages.must('POST', RBAC + where, {
                'metadata': {'name': 'test-' + user}, 'roleRef': {**group, 'kind': 'ClusterRole', 'name': name},
                'subjects': [{**group, 'kind': 'User', 'name': user}]})

    def universe(self, definitions, more):
        """Every kind there is, and what might be mistaken for one."""
        found = set(self.packages.resources()) | set(PRECIOUS) | set(more) | {('', 'frobs'), ('example.org', 'frobs')}
        for one in definitions:
            plural = one['spec']['names']['plural']
            found |= {(one['spec']['group'], plural + sub) for sub in ('', '/status', '/scale', '/finalizers')}
        return sorted(found)

    def questions_of(self, user, grants, kinds, home=None, close=frozenset()):
        """[(question, answer)]; close: kinds of which every verb is asked, at home and elsewhere. Who has no home is asked less."""
        name, groups = user
        for kind in kinds:
            if self.all or self.is_close_look and (kind in PRECIOUS or kind[0].endswith(OWNED)):
                pairs = [(verb, place) for verb in VERBS for place in PLACES]
            elif kind in close:
                elsewhere = [place for place in PLACES if place != home]
                pairs = [(verb, home) for verb in VERBS] + \
                    [(verb, self.random.choice(elsewhere)) for verb in self.random.sample(VERBS, SOME)]
            elif kind in PRECIOUS and home is not None:
                pairs = [(verb, self.random.choice(PLACES)) for verb in self.random.sample(VERBS, SOME)]
            elif kind in PRECIOUS:
                pairs = [(self.random.choice(VERBS), place) for place in PLACES]
            else:
                pairs = [(self.random.choice(VERBS), self.random.choice(PLACES))]
            for verb, place in pairs:
                yield (name, groups, verb, *kind, place), is_granted(grants, verb, *kind, place)

    def compare(self, asked):
        """All answers are as expected, or become so: what is taken away follows at once, but not in the same instant."""
        asked = list(asked)
        wrong = []

        def settled():
            nonlocal asked, wrong
            answers = self.reviews.ask([question for question, _ in asked])
            wrong = [(question, expected) for (question, expected), answer in zip(asked, answers) if answer != expected]
            asked = wrong
            return not wrong
        assert asked
        wait_for(lambda: '%d answers are wrong, such as:\n%s' % (len(wrong), '\n'.join(
            '%s: %s' % (question, 'should be allowed' if expected else 'must not be allowed')
            for question, expected in wrong[:8])), settled, 30)

    def settled_definitions(self, lives):
        """The CRDs there are, once those of packages are the ones that the packages have."""
        wanted = {name for one in lives for name in one.package.names()}
        found = []

        def look():
            nonlocal found
            found = self.packages.must('GET', CRDS)['items']
            return {one['metadata']['name'] for one in found if one['spec']['group'].endswith(OWNED)} == wanted
        wait_for(lambda: 'CRDs %s instead of %s' % (sorted(one['metadata']['name'] for one in found), sorted(wanted)), look)
        return found

    def check(self, lives, focus=None, gone=()):
        """lives: all that is installed; focus: those of them to ask about, all if not said; gone: who has nothing any more."""
        definitions = self.settled_definitions(lives)
        kinds = self.universe(definitions, [kind for one in [*lives, *gone] for kind in one.package.named()])
        asked = []
        for one in lives if focus is None else focus:
            grants = EVERYBODY + one.package.controller(one.namespace, definitions)
            asked += self.questions_of(one.user, grants, kinds, one.namespace, self.near(one, kinds))
        for one in gone:
            asked += self.questions_of(one.user, EVERYBODY, sorted(self.near(one, kinds) | set(PRECIOUS)))
        for user, grants in personas(lives).items():
            asked += self.questions_of((user, ['system:authenticated']), EVERYBODY + grants, kinds)
        self.compare(asked)

    @staticmethod
    def near(life, kinds):
        """Those of the package and of its dependencies."""
        wanted = {text.split('/')[0] for text in life.package.depends}
        mine = life.package.names() | wanted
        return {(group, resource) for group, resource in kinds
                if '%s.%s' % (resource.split('/')[0], group) in mine or '*.' + group in wanted}


# ---- The examples. ----


def read_package(folder, cluster):
    """What the files of a folder say, of format A."""
    registry = os.path.join(folder, '.registry')
    crds = []
    for where, _, names in sorted(os.walk(registry)):
        crds += [read_yaml(os.path.join(where, name)) for name in sorted(names) if name.endswith('crd.yaml')]
    app = read_yaml(os.path.join(registry, 'app.yaml'))
    assert (app['permissionScope'] == 'Cluster') == cluster
    return Package(crds, cluster, [one['crd'] for one in app.get('dependsOn', [])])


def read_yaml(path):
    with open(path, encoding='utf-8') as file:
        return yaml.safe_load(file)


class Examples:
    def __init__(self, exactness, source, folder):
        self.exactness, self.packages = exactness, exactness.packages
        self.lives = []
        for name in ('provider', 'wordpress'):
            for version in ('1.0', '1.1'):
                made = os.path.join(folder, '%s-%s' % (name, version))
                subprocess.run([os.path.join(source, 'package'), name, version, 'a', made], check=True)
                self.packages.layout.add('acme/%s:%s' % (name, version), package_image(made))
        self.folder = folder

    def read(self, name, version):
        return read_package(os.path.join(self.folder, '%s-%s' % (name, version)), name == 'provider')

    def install(self, kind, namespace, name, version):
        life = Life(kind, namespace, name, self.read(name, version))
        self.packages.install(*life.key(), 'acme/%s:%s' % (name, version))
        self.packages.ready(*life.key(), approves=True)
        self.lives.append(life)
        self.exactness.check(self.lives)

    def ask_closely(self):
        before = self.exactness.all
        self.exactness.is_close_look = True
        self.exactness.all |= bool(os.environ.get('REEVE_TEST_ALL'))
        self.exactness.check(self.lives)
        self.exactness.all, self.exactness.is_close_look = before, False

    def upgrade(self, kind, namespace, name, version):
        life = [one for one in self.lives if (one.kind, one.namespace, one.name) == (kind, namespace, name)][0]
        self.packages.upgrade(*life.key(), 'acme/%s:%s' % (name, version))
        life.package = self.read(name, version)
        self.packages.wait(*life.key(), lambda it: is_ready(it) and it['status']['version'] == version, 'never upgraded', approves=True)
        self.exactness.check(self.lives)

    def remove(self, kind, namespace, name):
        life = [one for one in self.lives if (one.kind, one.namespace, one.name) == (kind, namespace, name)][0]
        self.packages.remove(*life.key())
        self.packages.gone(*life.key())
        self.lives.remove(life)
        self.exactness.check(self.lives, gone=[life])


def run_examples(tap, exactness, source):
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples(exactness, source, folder)
        for how, step in (
                ('wordpress before the provider that it depends on', (examples.install, 'PackageInstall', 'team-a', 'wordpress', '1.0')),
                ('the provider, and what depends on it', (examples.install, 'ClusterPackageInstall', SYSTEM, 'provider', '1.0')),
                ('wordpress in another namespace, as a newer version', (examples.install, 'PackageInstall', 'team-b', 'wordpress', '1.1')),
                ('everybody asked closely', (examples.ask_closely,)),
                ('an upgrade in one namespace', (examples.upgrade, 'PackageInstall', 'team-a', 'wordpress', '1.1')),
                ('a downgrade in the other', (examples.upgrade, 'PackageInstall', 'team-b', 'wordpress', '1.0')),
                ('an upgrade of the provider', (examples.upgrade, 'ClusterPackageInstall', SYSTEM, 'provider', '1.1')),
                ('wordpress gone from one namespace', (examples.remove, 'PackageInstall', 'team-a', 'wordpress')),
                ('the provider gone, which others depend on', (examples.remove, 'ClusterPackageInstall', SYSTEM, 'provider')),
                ('all gone', (examples.remove, 'PackageInstall', 'team-b', 'wordpress'))):
            tap.run('examples: ' + how, *step)


# ---- Packages that are made up. ----


class Maker:
    """One round of packages; the same seed makes the same ones."""

    def __init__(self, chance, number):
        self.random, self.number = chance, number
        self.there = self.foreign('there', 4)   # CRDs that nobody brought: from the beginning, or
        self.later = self.foreign('later', 3)   # after the packages
        self.taken = []                         # CRDs of the packages of this round

    def foreign(self, word, n):
        group = '%s%d.example.com' % (word, self.number)
        return [crd('%s%ds' % (word, i), group, cluster=i % 2 == 1) for i in range(n)]

    def own(self, i, may_be_cluster):
        groups = ['g%d.p%d-%d.example.org' % (k, self.number, i) for k in range(self.random.randint(1, 3))]
        flag = lambda: self.random.random() < 0.5  # noqa: E731
        return [crd('k%ds' % k, self.random.choice(groups), cluster=may_be_cluster and self.random.random() < 0.3, status=flag(),
                    scale=flag(), versions=self.random.choice((('v1',), ('v1beta1', 'v1'))))
                for k in range(self.random.randint(1, 8))]

    def depends(self, is_stack, own):
        """What is there, what comes later, what never comes, of this round's packages, of groups, and of itself."""
        found = []
        for one in self.there + self.later + self.taken[-12:]:
            if self.random.random() < 0.2 and not (is_stack and one['spec']['scope'] == 'Cluster'):
                found.append(one['metadata']['name'] + self.random.choice(('', '/v1alpha1')))
        if self.random.random() < 0.3:
            found.append('nevers.never%d.example.com' % self.number)
        if self.random.random() < 0.3 and not is_stack:
            group = self.random.choice(self.there + self.later + self.taken + own)['spec']['group']
            found.append('*.' + group)
        if self.random.random() < 0.2:
            found.append('*.never%d.example.com' % self.number)
        if self.random.random() < 0.2:
            found.append(self.random.choice(own)['metadata']['name'])
        return found

    def package(self, i):
        """(kind of install, its package, the image)"""
        kind = self.random.choice(sorted(INSTALLS))
        group, _, cluster = INSTALLS[kind]
        is_stack = group == STACKS
        own = self.own(i, cluster and not is_stack)
        if cluster and self.random.random() < 0.2:
            made, contents = Package(own, True, ()), xpkg(own)
        else:
            depends = self.depends(is_stack, own)
            made = Package(own, cluster, depends)
            contents = image(files(own, cluster=cluster, depends=depends, install=self.random.choice((None, deployment()))))
        self.taken += own
        return kind, made, contents

    def next_version(self, made):
        """Another version: some CRDs are gone, one is new, all have one field more, dependencies change."""
        group = made.crds[0]['spec']['group']
        kept = [copy.deepcopy(one) for one in made.crds if self.random.random() < 0.7]
        for one in kept:
            for version in one['spec']['versions']:
                version['schema']['openAPIV3Schema']['properties']['spec']['properties']['added'] = {'type': 'string'}
        crds = kept + [crd('news', group, status=True)]
        depends = [text for text in made.depends if self.random.random() < 0.5]
        return Package(crds, made.cluster, depends), image(files(crds, cluster=made.cluster, depends=depends, version='1.1'))


class Round:
    def __init__(self, exactness, number, count):
        self.exactness, self.packages = exactness, exactness.packages
        self.maker = Maker(exactness.random, number)
        self.number, self.count = number, count
        self.lives = []
        self.before = None

    def homes(self, kind):
        if INSTALLS[kind][2]:
            return [self.exactness.random.choice((SYSTEM, *HOMES))]
        return self.exactness.random.sample(HOMES, self.exactness.random.choice((1, 1, 1, 2)))

    def install(self):
        self.packages.define(*self.maker.there)
        self.before = self.exactness.store()
        for i in range(self.count):
            kind, made, contents = self.maker.package(i)
            name = 'p%d-%d' % (self.number, i)
            self.packages.layout.add('acme/%s:1.0' % name, contents)
            for home in self.homes(kind):
                life = Life(kind, home, name, made)
                spec = {'namespace': home} if INSTALLS[kind][2] else {}
                self.packages.install(*life.key(), 'acme/%s:1.0' % name, **spec)
                self.lives.append(life)
        for life in self.lives:
            self.packages.ready(*life.key(), approves=True)
        self.exactness.check(self.lives)

    def come_later(self):
        self.packages.define(*self.maker.later)
        wanting = [one for one in self.lives if any('later' in text for text in one.package.depends)]
        self.exactness.check(self.lives, focus=wanting)

    def upgrade(self):
        chosen = self.exactness.random.sample(self.lives, max(1, len(self.lives) // 5))
        newer = {}
        for life in chosen:
            if life.name not in newer:
                newer[life.name], contents = self.maker.next_version(life.package)
                self.packages.layout.add('acme/%s:1.1' % life.name, contents)
            life.package = newer[life.name]
            self.packages.upgrade(*life.key(), 'acme/%s:1.1' % life.name)
        for life in chosen:
            self.packages.wait(*life.key(), lambda it: is_ready(it) and it['status']['version'] == '1.1', 'never upgraded', approves=True)
        self.exactness.check(self.lives, focus=chosen)

    def remove(self):
        for life in self.lives:
            self.packages.remove(*life.key())
        for life in self.lives:
            self.packages.gone(*life.key())
        self.exactness.check([], gone=self.lives)
        self.packages.undefine(*(one['metadata']['name'] for one in self.maker.later))
        wait_for(lambda: '\n'.join(differences(self.before, self.exactness.store())),
                 lambda: not differences(self.before, self.exactness.store()))
        self.packages.undefine(*(one['metadata']['name'] for one in self.maker.there))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('reeve')
    parser.add_argument('examples')
    parser.add_argument('--seed', type=int, default=6)
    parser.add_argument('--packages', type=int, default=200 if os.environ.get('REEVE_TEST_ALL') else 50)
    parser.add_argument('--all', action='store_true')
    options = parser.parse_args()
    tap = Tap()
    server = Server(options.reeve)
    try:
        server.start()
        exactness = Exactness(server, options)
        tap.run('personas, before there are packages', exactness.begin)
        run_examples(tap, exactness, options.examples)
        print('# seed %d' % options.seed)
        for number in range((options.packages + ROUND - 1) // ROUND):
            count = min(ROUND, options.packages - number * ROUND)
            made = Round(exactness, number, count)
            title = 'round %d of %d packages: ' % (number + 1, count)
            tap.run(title + 'installed', made.install)
            tap.run(title + 'dependencies come later', made.come_later)
            tap.run(title + 'some upgraded', made.upgrade)
            tap.run(title + 'uninstalled, and nothing is left', made.remove)
        print('# %d questions' % exactness.reviews.asked)
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
