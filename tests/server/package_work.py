# SPDX-License-Identifier: Apache-2.0
"""Packages on a server under test: images for its store, installs, what became of them, and who may do what."""
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'packages'))
from image import File, Image, Layer, Layout  # noqa: E402 # pylint: disable=wrong-import-position

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
RBAC = '/apis/rbac.authorization.k8s.io/v1/'
SYSTEM = 'crossplane-system'
MANAGED = {'rbac.crossplane.io/managed-roles': 'true'}
MERGE = {'Content-Type': 'application/merge-patch+json'}
# kind of install: where it is served, whether it is for the whole cluster
INSTALLS = {
    'PackageInstall': ('packages.crossplane.io', 'packageinstalls', False),
    'ClusterPackageInstall': ('packages.crossplane.io', 'clusterpackageinstalls', True),
    'StackInstall': ('stacks.crossplane.io', 'stackinstalls', False),
    'ClusterStackInstall': ('stacks.crossplane.io', 'clusterstackinstalls', True),
}
PATIENCE = 90  # seconds, on a busy machine; what takes that long has failed
IDLE = 30  # seconds; after some minutes servers close connections that nobody uses


# ---- Packages. ----


def crd(plural, group, kind=None, *, cluster=False, status=False, scale=False, fields=('size',), versions=('v1alpha1',)):
    """A CustomResourceDefinition with fields of type integer; replicas among them if it can be scaled."""
    names = set(fields) | ({'replicas'} if scale else set())
    number = {'type': 'integer'}
    schema = {'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {name: number for name in sorted(names)}}}}
    subresources = {}
    if status or scale:
        schema['properties']['status'] = {'type': 'object', 'properties': {'replicas': number, 'state': {'type': 'string'}}}
    if status:
        subresources['status'] = {}
    if scale:
        subresources['scale'] = {'specReplicasPath': '.spec.replicas', 'statusReplicasPath': '.status.replicas'}
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': '%s.%s' % (plural, group)},
            'spec': {'group': group, 'scope': 'Cluster' if cluster else 'Namespaced',
                     'names': {'plural': plural, 'singular': plural[:-1], 'kind': kind or plural[:-1].title()},
                     'versions': [{'name': version, 'served': True, 'storage': version == versions[-1],
                                   'schema': {'openAPIV3Schema': schema}, 'subresources': subresources}
                                  for version in versions]}}


def deployment(**pod):
    """install.yaml; pod: fields of the pod's spec."""
    return {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'controller'},
            'spec': {'selector': {'matchLabels': {'app': 'controller'}},
                     'template': {'metadata': {'labels': {'app': 'controller'}},
                                  'spec': {'containers': [{'name': 'controller', 'image': 'example.org/acme/controller:1'}], **pod}}}}


def files(crds, *, cluster=False, depends=(), version='1.0', install=None, app=None):
    """Of format A. JSON is YAML."""
    about = {'title': 'A package', 'version': version, 'permissionScope': 'Cluster' if cluster else 'Namespaced',
             'dependsOn': [{'crd': text} for text in depends], **(app or {})}
    made = {'.registry/app.yaml': json.dumps(about)}
    if install:
        made['.registry/install.yaml'] = json.dumps(install)
    for one in crds:
        made['.registry/resources/%s.crd.yaml' % one['metadata']['name']] = json.dumps(one)
    return made


def image(contents, **more):
    return Image([Layer([File(path, text) for path, text in sorted(contents.items())], **more)])


def xpkg(crds, depends=()):
    """Of format B: one stream; depends: packages and versions."""
    about = {'apiVersion': 'meta.pkg.crossplane.io/v1', 'kind': 'Provider', 'metadata': {'name': 'made'},
             'spec': {'dependsOn': [{'provider': name, 'version': version} for name, version in depends]}}
    text = ''.join('---\n' + json.dumps(document) + '\n' for document in [about, *crds])
    layer = Layer([File('package.yaml', text)], annotations={'io.crossplane.xpkg': 'base'})
    return Image([layer], labels={'io.crossplane.xpkg:' + layer.digest: 'base'})


# ---- A server that has them. ----


def path_of(kind, namespace='', name=''):
    group, plural, is_cluster = INSTALLS[kind]
    where = '' if is_cluster else '/namespaces/' + namespace
    return '/apis/%s/v1alpha1%s/%s%s' % (group, where, plural, '/' + name if name else '')


def condition(install, kind):
    found = [one for one in install.get('status', {}).get('conditions', []) if one['type'] == kind]
    return found[0] if found else {'status': '', 'reason': '', 'message': ''}


def is_ready(install):
    ready = condition(install, 'Ready')
    return ready['status'] == 'True' and ready.get('observedGeneration') == install['metadata']['generation']


def wait_for(what, question, patience=PATIENCE):
    """The first answer that is true."""
    until = time.monotonic() + patience
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > until:
            raise AssertionError('in vain: ' + (what() if callable(what) else what))
        time.sleep(0.02)


class Packages:
    """The store and the installs of a server that runs."""

    def __init__(self, server):
        self.server = server
        self.connection = server.connect(120)
        self.used = time.monotonic()
        self.layout = Layout(os.path.join(server.data, 'packages', 'store'))

    def ask(self, method, path, body=None, headers=None):
        if time.monotonic() - self.used > IDLE:
            self.connection.close()  # the next request opens it again
        try:
            return self.server.ask(method, path, body, self.connection, headers)
        finally:
            self.used = time.monotonic()

    def must(self, method, path, body=None, headers=None):
        code, answer = self.ask(method, path, body, headers)
        assert code in (200, 201, 202), (method, path, code, answer)
        return answer

    def namespace(self, name, labels=None):
        """It is made, and all that others put into a new one is in it."""
        self.must('POST', '/api/v1/namespaces', {'metadata': {'name': name, 'labels': labels or {}}})
        inside = '/api/v1/namespaces/%s/' % name
        for path in ('serviceaccounts/default', 'configmaps/kube-root-ca.crt'):
            wait_for(path, lambda path=path: self.ask('GET', inside + path)[0] == 200)
        for role in ('admin', 'edit', 'view') if labels else ():
            wait_for('roles of ' + name, lambda role=role: self.ask(
                'GET', RBAC + 'clusterroles/crossplane:ns:%s:%s' % (name, role))[1].get('rules'))

    def define(self, *definitions):
        """CRDs that nobody but people brought."""
        for one in definitions:
            self.must('POST', CRDS, one)
        for one in definitions:
            wait_for(one['metadata']['name'], lambda one=one: any(
                c['type'] == 'Established' and c['status'] == 'True'
                for c in self.must('GET', CRDS + '/' + one['metadata']['name']).get('status', {}).get('conditions', [])))

    def undefine(self, *names):
        for name in names:
            self.must('DELETE', CRDS + '/' + name)
        for name in names:
            wait_for(name + ' to go', lambda name=name: self.ask('GET', CRDS + '/' + name)[0] == 404)

    def install(self, kind, home, name, package, /, **spec):
        group = INSTALLS[kind][0]
        return self.must('POST', path_of(kind, home), {
            'apiVersion': group + '/v1alpha1', 'kind': kind, 'metadata': {'name': name}, 'spec': {'package': package, **spec}})

    def upgrade(self, kind, namespace, name, package):
        return self.must('PATCH', path_of(kind, namespace, name), {'spec': {'package': package}}, MERGE)

    def get(self, kind, namespace, name):
        return self.must('GET', path_of(kind, namespace, name))

    def approve(self, kind, namespace, name, install):
        """As an administrator, what it waits for, if it does."""
        pending = install.get('status', {}).get('pendingApproval', {}).get('id')
        annotation = install['apiVersion'].split('/')[0] + '/approved'
        if pending and install['metadata'].get('annotations', {}).get(annotation) != pending:
            self.must('PATCH', path_of(kind, namespace, name), {'metadata': {'annotations': {annotation: pending}}}, MERGE)

    def wait(self, kind, namespace, name, wanted, what='it', approves=False):
        """Until the install is as wanted; returns it."""
        def look():
            install = self.get(kind, namespace, name)
            if approves:
                self.approve(kind, namespace, name, install)
            return install if wanted(install) else None
        return wait_for(lambda: '%s %s/%s: %s\n%s' % (kind, namespace, name, what, json.dumps(
            self.get(kind, namespace, name).get('status'), indent=1)), look)

    def ready(self, kind, namespace, name, approves=False):
        return self.wait(kind, namespace, name, is_ready, 'never Ready', approves)

    def remove(self, kind, namespace, name):
        self.must('DELETE', path_of(kind, namespace, name))

    def gone(self, kind, namespace, name):
        wait_for(lambda: '%s %s/%s stays: %s' % (kind, namespace, name, self.ask('GET', path_of(kind, namespace, name))),
                 lambda: self.ask('GET', path_of(kind, namespace, name))[0] == 404)

    # ---- All there is. ----

    def resources(self):
        """{(group, resource[/subresource]): (path of its version, whether it is in namespaces, its verbs)}"""
        found = {}
        versions = ['/api/v1'] + ['/apis/' + group['preferredVersion']['groupVersion']
                                  for group in self.must('GET', '/apis')['groups']]
        for version in versions:
            group = '' if version == '/api/v1' else version.split('/')[2]
            code, answer = self.ask('GET', version)
            for one in answer['resources'] if code == 200 else ():  # a group may go meanwhile
                found[one.get('group', group), one['name']] = (version, one['namespaced'], one['verbs'])
        return found

    def everything(self, but=('events', 'leases')):
        """{(group, resource, namespace, name): object} of the whole store. Events tell of changes, leases of time."""
        found = {}
        for (group, resource), (version, _, verbs) in self.resources().items():
            if 'list' not in verbs or resource in but:
                continue
            code, answer = self.ask('GET', version + '/' + resource)
            for one in answer['items'] if code == 200 else ():
                found[group, resource, one['metadata'].get('namespace', ''), one['metadata']['name']] = one
        return found


def differences(before, after):
    """What of the store is not as it was, in words."""
    told = ['%s is gone' % (key,) for key in before if key not in after]
    told += ['%s is new' % (key,) for key in after if key not in before]
    told += ['%s changed: %s' % (key, first_difference(one, after[key])) for key, one in before.items()
             if key in after and after[key] != one]
    return told


def first_difference(one, other, at=''):
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(set(one) | set(other)):
            if one.get(key) != other.get(key):
                return first_difference(one.get(key), other.get(key), at + '.' + key)
    return '%s: %s -> %s' % (at, json.dumps(one)[:200], json.dumps(other)[:200])


# ---- Who may do what. ----


# All of its texts are names, which JSON writes as they are.
QUESTION = (b'{"spec":{"user":"%s","groups":["%s"],"resourceAttributes":'
            b'{"verb":"%s","group":"%s","resource":"%s","subresource":"%s","namespace":"%s"}}}')


class Reviews:
    """Asks SubjectAccessReviews, thousands at once: several connections, many questions under way on each."""

    def __init__(self, server, connections=2, under_way=48):
        self.server, self.connections, self.under_way = server, connections, under_way
        self.asked = 0

    def ask(self, questions):
        """questions: [(user, groups, verb, group, resource[/subresource], namespace)]; returns a list of bool."""
        answers = [None] * len(questions)
        share = (len(questions) + self.connections - 1) // self.connections
        failures = []
        threads = [threading.Thread(target=self.run, args=(questions, answers, at, min(at + share, len(questions)), failures))
                   for at in range(0, len(questions), max(share, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]
        self.asked += len(questions)
        return answers

    def run(self, questions, answers, begin, end, failures):
        try:
            sock = self.server.raw(timeout=120)
            stream = sock.makefile('rb', buffering=1 << 16)
            for at in range(begin, end, self.under_way):
                upto = min(at + self.under_way, end)
                sock.sendall(b''.join(self.request(questions[i]) for i in range(at, upto)))
                for i in range(at, upto):
                    answers[i] = self.answer(stream)
            sock.close()
        except Exception as error:  # pylint: disable=broad-except # told by the thread that waits
            failures.append(error)

    @staticmethod
    def request(question):
        user, groups, verb, group, resource, namespace = question
        resource, _, sub = resource.partition('/')
        body = QUESTION % (user.encode(), '","'.join(groups).encode(), verb.encode(), group.encode(), resource.encode(), sub.encode(),
                           namespace.encode())
        return (b'POST /apis/authorization.k8s.io/v1/subjectaccessreviews HTTP/1.1\r\nHost: reeve\r\n'
                b'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(body)) + body

    @staticmethod
    def answer(stream):
        status, length = stream.readline(), 0
        while True:
            line = stream.readline()
            if line in (b'\r\n', b''):
                break
            if line.lower().startswith(b'content-length:'):
                length = int(line[15:])
        body = stream.read(length)
        assert b' 201 ' in status, (status, body)
        _, is_there, decision = body.rpartition(b'"status":{"allowed":')
        assert is_there and decision.startswith((b'true', b'false')), body
        return decision.startswith(b'true')
