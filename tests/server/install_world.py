# SPDX-License-Identifier: Apache-2.0
"""Packages, a server to install them on, and a picture of everything that is on it.

    packages = Packages()                       # a store of small images, in several versions
    world = World(reeve, packages, snapshot)    # a server, a proxy, a manager that installs
    world.create(WORDPRESS, 'team-a', '1.0')
    picture_of(world)                           # see picture.py
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, '..', 'packages'))
from fault_proxy import HttpProxy  # noqa: E402
from image import File, Image, Layer, Layout  # noqa: E402
from picture import difference, picture  # noqa: E402
from reeve_manager import Manager, wait_for  # noqa: E402
from reeve_server import Server  # noqa: E402

CONTROLLERS = 'installs,personas,aggregation'
MERGE = {'Content-Type': 'application/merge-patch+json'}
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

# ---- Packages. ----

DEPLOYMENT = '''apiVersion: apps/v1
kind: Deployment
metadata: {name: controller}
spec: {template: {spec: {containers: [{name: controller, args: ["%s"]}]}}}
'''


def crd(name, fields, scope='Namespaced'):
    plural, _, group = name.partition('.')
    kind = plural[:-1].capitalize()
    return '''apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s}
spec:
  group: %s
  scope: %s
  names: {plural: %s, singular: %s, kind: %s, listKind: %sList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}}}}
''' % (name, group, scope, plural, plural[:-1], kind, kind, fields)


def package(scope, version, crds, depends=()):
    app = 'title: "%s"\nversion: "%s"\npermissionScope: %s\n' % (version, version, scope)
    if depends:
        app += 'dependsOn:\n' + ''.join('- crd: %s\n' % name for name in depends)
    files = [File('.registry/app.yaml', app), File('.registry/install.yaml', DEPLOYMENT % version)]
    files += [File('.registry/resources/%d.crd.yaml' % i, text) for i, text in enumerate(crds)]
    return Image([Layer(files)])


TITLE, THEME = 'title: {type: string}', 'theme: {type: string}'
BLOGS, DATABASES, CLASSES = 'blogs.press.example.org', 'databases.db.example.org', 'classes.db.example.org'
PAGES, QUEUES = 'pages.press.example.org', 'queues.line.example.org'


class Packages:
    """A store with: blog, of a namespace (1.1 adds a field and a CRD, 2.0 cannot live beside them; it needs databases); database, of
    the cluster; queue, of the cluster, without a CRD of the cluster, as stacks must be."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='reeve-packages-')
        layout = Layout(os.path.join(self.folder, 'store'))
        self.store = layout.folder
        blog = (DATABASES + '/v1',)
        images = {
            'acme/blog:1.0': package('Namespaced', '1.0', [crd(BLOGS, TITLE)], blog),
            'acme/blog:1.1': package('Namespaced', '1.1', [crd(BLOGS, TITLE + ', ' + THEME), crd(PAGES, TITLE)], blog),
            'acme/blog:2.0': package('Namespaced', '2.0', [crd(BLOGS, 'title: {type: integer}')], blog),
            'acme/database:1.0': package('Cluster', '1.0', [crd(DATABASES, 'size: {type: integer}'), crd(CLASSES, '', 'Cluster')]),
            'acme/database:1.1': package('Cluster', '1.1', [crd(DATABASES, 'size: {type: integer}, ' + THEME),
                                                            crd(CLASSES, '', 'Cluster')]),
            'acme/queue:1.0': package('Cluster', '1.0', [crd(QUEUES, TITLE)]),
            'acme/other:1.0': package('Namespaced', '1.0', [crd('others.other.example.org', TITLE)]),
        }
        for reference, image in images.items():
            layout.add(reference, image)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- Installs. ----

class Kind:
    def __init__(self, group, kind, is_cluster=False):
        self.api_version, self.kind, self.is_cluster = group + '/v1alpha1', kind, is_cluster
        self.plural = kind.lower() + 's'

    def path(self, namespace, name=''):
        where = '' if self.is_cluster else 'namespaces/%s/' % namespace
        return '/apis/%s/%s%s%s' % (self.api_version, where, self.plural, '/' + name if name else '')


PACKAGE = Kind('packages.crossplane.io', 'PackageInstall')
CLUSTER_PACKAGE = Kind('packages.crossplane.io', 'ClusterPackageInstall', True)
STACK = Kind('stacks.crossplane.io', 'StackInstall')
CLUSTER_STACK = Kind('stacks.crossplane.io', 'ClusterStackInstall', True)


def condition(install, kind):
    for one in install.get('status', {}).get('conditions', []):
        if one['type'] == kind:
            return one
    return {'status': '', 'reason': '', 'observedGeneration': 0}


# ---- The world. ----

class World:
    """A server with a data directory of its own, copied from a snapshot if there is one; a proxy before it; a manager behind that.
    With is_embedded the server installs by itself."""

    def __init__(self, binary, packages, snapshot=None, is_embedded=False):
        self.packages, self.is_embedded = packages, is_embedded
        self.server = Server(binary)
        self.cache = os.path.join(self.server.folder, 'cache')
        self.proxy = self.manager = None
        if snapshot:
            shutil.copytree(snapshot, self.server.data)
        if is_embedded:
            os.makedirs(os.path.join(self.server.data, 'packages'), mode=0o700, exist_ok=True)
            store = os.path.join(self.server.data, 'packages', 'store')
            if not os.path.lexists(store):
                shutil.copytree(packages.store, store)
        try:
            self.start_server()
            if not is_embedded:
                self.proxy = HttpProxy(self.server)
                self.manager = Manager(binary, self.server.folder, self.proxy)
                if not snapshot:
                    self.add_own_kinds()
        except BaseException:
            self.remove()
            raise

    def start_server(self):
        self.server.start(None, *([] if self.is_embedded else ['--no-controllers']))

    def add_own_kinds(self):
        """As deploy/ does on other servers."""
        text = subprocess.run([self.server.binary, 'manager', '--print-crds'], stdout=subprocess.PIPE, check=True).stdout
        for one in yaml.safe_load_all(text):
            if one:
                self.must('POST', CRDS, one)

    def start_manager(self, *flags):
        self.manager.start('--controllers', CONTROLLERS, '--package-store', self.packages.store, '--package-cache', self.cache,
                           *(flags or ['--no-leader-election']))

    def stop(self):
        """In peace, so that what sanitizers say at the end is heard."""
        if self.manager and self.manager.is_alive():
            self.manager.stop()
        self.server.stop()

    def remove(self):
        if self.manager:
            self.manager.remove()
        if self.proxy:
            self.proxy.close()
        self.server.remove()

    # ---- What people do. ----

    def ask(self, method, path, body=None, headers=None):
        return self.server.ask(method, path, body, self.server.kept(), headers)

    def must(self, method, path, body=None, headers=None):
        code, answer = self.ask(method, path, body, headers)
        assert code in (200, 201, 202), (method, path, code, answer)
        return answer

    def namespace(self, name):
        self.must('POST', '/api/v1/namespaces', {'metadata': {'name': name, 'labels': {'rbac.crossplane.io/managed-roles': 'true'}}})

    def create(self, kind, namespace, package_name, version='1.0', **spec):
        """An install by the name of the package."""
        self.must('POST', kind.path(namespace), {
            'apiVersion': kind.api_version, 'kind': kind.kind, 'metadata': {'name': package_name},
            'spec': {'package': 'acme/%s:%s' % (package_name, version), **spec}})

    def edit(self, kind, namespace, name, version):
        self.must('PATCH', kind.path(namespace, name), {'spec': {'package': 'acme/%s:%s' % (name, version)}}, MERGE)

    def annotate(self, kind, namespace, name, key, value):
        self.must('PATCH', kind.path(namespace, name), {'metadata': {'annotations': {key: value}}}, MERGE)

    def delete(self, kind, namespace, name):
        self.must('DELETE', kind.path(namespace, name))

    def instance(self, crd_name, namespace, name, spec=None):
        plural, _, group = crd_name.partition('.')
        self.must('POST', '/apis/%s/v1/namespaces/%s/%s' % (group, namespace, plural), {
            'apiVersion': group + '/v1', 'kind': plural[:-1].capitalize(), 'metadata': {'name': name}, 'spec': spec or {}})

    # ---- What comes of it. ----

    def complaint(self, path, reason):
        """'' if this is the reason that the install is Ready or not, or not Synced; reason None: it is gone."""
        code, install = self.ask('GET', path)
        if reason is None:
            return '' if code == 404 else '%s is still there: %s' % (path, json.dumps(install.get('status')))
        if code != 200:
            return '%s: %d' % (path, code)
        for kind in ('Ready', 'Synced'):
            said = condition(install, kind)
            if said['reason'] == reason and said['observedGeneration'] == install['metadata']['generation']:
                return ''
        return '%s: %s' % (path, json.dumps(install.get('status')))

    def wait(self, path, reason, seconds=120):
        wait_for(lambda: not self.complaint(path, reason), lambda: self.complaint(path, reason) + self.log(), seconds)

    def log(self):
        return '\n' + (self.manager.read_log() if self.manager else self.server.read_log())[-3000:]

    def settle(self, then):
        for path, reason in then.items():
            self.wait(path, reason)

    def wait_quiet(self, seconds, limit=120):
        """Until so many seconds have passed without a write."""
        if self.proxy:
            wait_for(lambda: not self.proxy.writes(time.monotonic() - seconds), lambda: 'quiet; writes: %r' % self.proxy.writes(
                time.monotonic() - seconds), limit)
            return
        last, since, end = None, 0, time.monotonic() + limit
        while last is None or time.monotonic() - since < seconds:
            time.sleep(0.05)
            now = self.must('GET', '/api/v1/namespaces?limit=1')['metadata']['resourceVersion']
            if now != last:
                last, since = now, time.monotonic()
            assert time.monotonic() < end, 'it writes all the time'


def picture_of(world):
    def clean(one):
        annotations = one['metadata'].get('annotations', {})
        if 'packages.crossplane.io/applied' in annotations:
            annotations['packages.crossplane.io/applied'] = '<hash>'
    return picture(world.server, clean)


# ---- Something that happens, once undisturbed and then not. ----

def is_point(request):
    """A write of an object: neither a question nor an Event, which is nobody's state."""
    return request.is_write and not request.is_lease and not request.path.endswith(('/subjectaccessreviews', '/events'))


class Story:
    """given ─► when ─► then, in a world; given is kept as a data directory, so that it can be told often.

    parts: given (what was done before, each with what came of it), when (a function of the world), then (path: reason)"""

    def __init__(self, binary, packages, parts, quiet=1, is_embedded=False):
        self.binary, self.packages, self.quiet, self.is_embedded = binary, packages, quiet, is_embedded
        self.given, self.when, self.then = parts
        self.folder = tempfile.mkdtemp(prefix='reeve-given-')
        self.writes = 0
        self.want = None
        self.seconds = 0.0  # that it takes undisturbed

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def data(self, name):
        return os.path.join(self.folder, name)

    def prepare(self):
        """What is given."""
        world = World(self.binary, self.packages, None, self.is_embedded)
        try:
            if world.manager:
                world.start_manager()
                world.manager.wait_ready()
            for name in ('team-a', 'team-b'):
                world.namespace(name)
            for step, then in self.given:
                step(world)
                world.settle(then)
            world.wait_quiet(self.quiet)
            world.stop()
            shutil.copytree(world.server.data, self.data('given'))
            if world.manager:
                shutil.copytree(world.cache, self.data('cache'))
        finally:
            world.remove()

    def begin(self, binary=None):
        """A world in which this is given, and somebody at work."""
        world = World(binary or self.binary, self.packages, self.data('given'), self.is_embedded)
        try:
            if world.manager:
                shutil.copytree(self.data('cache'), world.cache)
                world.start_manager()
                world.manager.wait_ready()
        except BaseException:
            world.remove()
            raise
        return world

    def undisturbed(self):
        """What it is like when nothing goes wrong."""
        world = self.begin()
        try:
            start = time.monotonic()
            self.when(world)
            world.settle(self.then)
            self.seconds = time.monotonic() - start
            world.wait_quiet(self.quiet)
            self.want = picture_of(world)
            self.writes = len([request for request in world.proxy.writes(start) if is_point(request)]) if world.proxy else 0
            world.stop()
        finally:
            world.remove()

    def converge(self, world, what, patience=120):
        """The same as undisturbed, and quiet."""
        last = ['']

        def is_same():
            if world.manager:
                world.manager.check_alive()
            last[0] = difference(self.want, picture_of(world))
            return not last[0]
        deadline = time.monotonic() + patience
        while True:
            wait_for(is_same, lambda: 'the same as if nothing had happened, %s:\n%s%s' % (what, last[0], world.log()),
                     max(1, deadline - time.monotonic()))
            world.wait_quiet(self.quiet)
            if is_same():  # else it was so only for a moment
                return
