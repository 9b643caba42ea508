#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packages that mean harm, in the local store, all at once with good ones among them: each ends in a condition that says what is
wrong with it, the good ones get Ready, memory stays bounded, and no child is left. Registries that mean harm are elsewhere:
hostile_registry_test.py.

usage: hostile_packages_test.py REEVE"""
import glob
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package_work import (INSTALLS, MANAGED, Packages, condition, crd, deployment, files, image, is_ready, path_of,  # noqa: E402
                          wait_for)
from image import (TYPES, Blob, Device, Entry, File, HardLink, Image, Index, Layer, Link, digest_of, json_bytes, tar)  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

MIB = 1024 * 1024
HOME = 'team-a'
# Of the server, beyond what it had before; of a child. A sanitizer keeps what was freed for a while, and shadows of everything.
GROWTH, CHILD = 150 * MIB, 400 * MIB
GROWTH_SANITIZED, CHILD_SANITIZED = 600 * MIB, 1600 * MIB


def good(number, **more):
    """The files of a package that is fine; each has a CRD of its own."""
    return files([crd('things', 'h%d.example.org' % number)], **more)


def entries(contents):
    return [File(path, text) for path, text in sorted(contents.items())]


# ---- Layers. ----


def bomb(compression, size, before):
    """An archive that ends in a file of so many zeros; never whole in memory."""
    head = tar(before + [Entry('.registry/zeros.yaml', size=size)], end=False)
    zeros = bytes(4 * MIB)
    if compression == 'gzip':
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        raw = packer.compress(head)
        raw += b''.join(packer.compress(zeros) for _ in range(size // len(zeros)))
        raw += packer.compress(bytes(1024)) + packer.flush()
    else:
        with subprocess.Popen(['zstd', '-q', '-3', '-c'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as packer:
            reader = []
            thread = threading.Thread(target=lambda: reader.append(packer.stdout.read()))
            thread.start()
            packer.stdin.write(head)
            for _ in range(size // len(zeros)):
                packer.stdin.write(zeros)
            packer.stdin.write(bytes(1024))
            packer.stdin.close()
            thread.join()
        raw = reader[0]
    return Image([Layer(raw=raw, compression=compression, diff_id=digest_of(b''))])


def crowd(before, count=1000000):
    """So many files, with a thousand names."""
    some = b''.join(File('.registry/resources/f%d.txt' % i).bytes() for i in range(1000))
    with subprocess.Popen(['zstd', '-q', '-1', '-c'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as packer:
        reader = []
        thread = threading.Thread(target=lambda: reader.append(packer.stdout.read()))
        thread.start()
        packer.stdin.write(tar(before, end=False))
        for _ in range(count // 1000):
            packer.stdin.write(some)
        packer.stdin.write(bytes(1024))
        packer.stdin.close()
        thread.join()
    return Image([Layer(raw=reader[0], compression='zstd', diff_id=digest_of(b''))])


def nested(inner, depth):
    for _ in range(depth):
        inner = Index([inner])
    return inner


def cycle():
    """Two indexes, each of which has the other: that takes digests that are lies."""
    one, two = 'sha256:' + '1' * 64, 'sha256:' + '2' * 64

    def index(of):
        return json_bytes({'schemaVersion': 2, 'mediaType': TYPES['oci']['index'], 'manifests': [
            {'mediaType': TYPES['oci']['index'], 'digest': of, 'size': 200}]})
    first, second = Blob(index(two), TYPES['oci']['index'], digest=one), Blob(index(one), TYPES['oci']['index'], digest=two)
    first.blobs = lambda: [first, second]
    return first


# ---- YAML and CRDs. ----

LAUGHS = 'a: &a [x, x, x, x, x, x, x, x, x, x]\n' + ''.join(
    '%s: &%s [%s]\n' % (name, name, ', '.join(['*' + before] * 10)) for before, name in zip('abcdefghi', 'bcdefghij'))


def old_crd(number):
    """v1beta1, with pruning off and no schema: that cannot be said in v1 without a change."""
    return {'apiVersion': 'apiextensions.k8s.io/v1beta1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': 'things.h%d.example.org' % number},
            'spec': {'group': 'h%d.example.org' % number, 'scope': 'Namespaced', 'version': 'v1',
                     'names': {'plural': 'things', 'kind': 'Thing'}, 'preserveUnknownFields': True,
                     'validation': {'openAPIV3Schema': {'properties': {
                         'spec': {'items': [{'type': 'string'}, {'type': 'integer'}]}}}}}}


def converting(number):
    made = crd('things', 'h%d.example.org' % number)
    made['spec']['conversion'] = {'strategy': 'Webhook', 'webhook': {
        'conversionReviewVersions': ['v1'], 'clientConfig': {'service': {'namespace': 'kube-system', 'name': 'spy'}}}}
    return made


class Hostile:
    def __init__(self, server):
        self.server = server
        self.packages = Packages(server)
        with open(server.binary, 'rb') as file:
            self.is_sanitized = b'__asan_init' in file.read()
        self.before = server.rss()
        self.peak, self.child_peak = 0, 0
        self.cases = []   # (name of the install, kind, title, reason, words)
        self.good = []    # (name of the install, kind)
        self.over = threading.Event()

    # ---- Making them. ----

    def add(self, title, what, reason, words='', kind='PackageInstall'):
        name = 'h%d' % len(self.cases)
        self.packages.layout.add('acme/%s:1.0' % name, what)
        self.cases.append((name, kind, title, reason, words))

    def add_files(self, title, contents, words, **more):
        self.add(title, image(contents), 'InvalidPackage', words, **more)

    def number(self):
        return len(self.cases)

    def archives(self):
        fine = lambda: entries(good(self.number()))  # noqa: E731
        for title, extra, words in (
                ('a path that leads out', [File('.registry/../../../etc/reeve-was-here', 'x')], 'leads out'),
                ('an absolute path', [File('/.registry/../etc/reeve-was-here', 'x')], 'leads out'),
                ('a device', [Device('.registry/resources/null.crd.yaml')], 'a device'),
                ('a block device', [Device('.registry/resources/disk.crd.yaml', tarfile.BLKTYPE)], 'a device'),
                ('a pipe', [Device('.registry/resources/pipe.crd.yaml', tarfile.FIFOTYPE)], 'a pipe'),
                ('a name with a NUL byte', [File('.registry/a.txt', headers={'path': '.registry/a\0.crd.yaml'})], 'NUL'),
                ('a file that says it has a terabyte', [File('.registry/resources/big.crd.yaml', 'x', size=10**12)], 'larger')):
            self.add(title, Image([Layer(fine() + extra)]), 'InvalidPackage', words)
        without = [one for one in fine() if one.info.name != '.registry/app.yaml']
        for title, link in (('app.yaml is a link to a file of the machine', Link), ('app.yaml is a hard link to one', HardLink)):
            self.add(title, Image([Layer(without + [link('.registry/app.yaml', '/etc/hostname')])]), 'InvalidPackage', 'app.yaml')
        self.add('a gzip bomb', bomb('gzip', 400 * MIB, fine()), 'InvalidPackage', 'larger')
        self.add('a zstd bomb', bomb('zstd', 2048 * MIB, fine()), 'InvalidPackage', 'larger')
        self.add('a million files', crowd(fine()), 'InvalidPackage', '20000 files')
        self.add('an archive that ends in the middle', Image([Layer(raw=Layer(fine()).data[:-40])]), 'InvalidPackage', 'cut off')
        self.add('no archive at all', Image([Layer(raw=b'\x1f\x8b' + b'\xee' * 5000)]), 'InvalidPackage', 'gzip')

    def images(self):
        fine = lambda **more: Layer(entries(good(self.number())), **more)  # noqa: E731
        self.add('a layer of another digest', Image([fine(digest='sha256:' + '0' * 64)]), 'InvalidPackage', 'digest')
        self.add('a layer that says it is smaller', Image([fine(size=10)]), 'InvalidPackage', '10 bytes')
        self.add('a layer that says it is larger', Image([fine(size=10**15)]), 'InvalidPackage', 'size')
        self.add('a negative size', Image([fine(size=-1)]), 'InvalidPackage', 'size')
        self.add('a manifest of another digest', Image([fine()], digest='sha256:' + '3' * 64), 'InvalidPackage', 'digest')
        self.add('indexes that have each other', cycle(), 'InvalidPackage', 'digest')
        self.add('an index in an index, fifty times', nested(Image([fine()]), 50), 'InvalidPackage', 'indexes')
        self.add('three hundred layers', Image([fine()] * 300), 'InvalidPackage', '300 layers')
        self.add('a manifest that is no manifest', Image([fine()], manifest={'layers': 'many'}), 'InvalidPackage', 'layers')
        self.add('a manifest of ten megabytes', Image([fine()], annotations={'x': 'y' * 10 * MIB}), 'InvalidPackage', 'larger')

    def documents(self):
        for title, text in (('a YAML bomb', LAUGHS), ('YAML with NUL bytes', 'a: "b\0c"\n'),
                            ('YAML with a NUL byte at the end', 'a: b\n\0'),
                            ('YAML that goes deep', '[' * 20000 + ']' * 20000), ('YAML that is no YAML', 'a: [}\n'),
                            ('YAML in bytes that are no text', b'a: \xff\xfe\xfd\n')):
            self.add_files(title, {**good(self.number()), '.registry/resources/x.crd.yaml': text}, 'x.crd.yaml')
        self.add_files('app.yaml is a YAML bomb', {**good(self.number()), '.registry/app.yaml': LAUGHS}, 'app.yaml')
        missing = good(self.number())
        del missing['.registry/app.yaml']
        self.add_files('app.yaml is missing', missing, 'app.yaml')
        big = crd('things', 'h%d.example.org' % self.number())
        big['spec']['versions'][0]['schema']['openAPIV3Schema']['description'] = 'x' * 3 * MIB
        self.add_files('a CRD of three megabytes', files([big]), '2097152')
        self.add_files('many findings', files([crd('things', 'g%d.k8s.io' % i) for i in range(500)]), 'protected')

    def kinds(self):
        number = self.number
        self.add_files('a CRD in a protected group', files([crd('secrets', 'apps.k8s.io')]), 'protected')
        self.add('a CRD of another package', image(files([crd('things', 'fine.example.org')])), 'CRDConflict', 'acme:fine')
        self.add_files('v1beta1 that cannot be said in v1', files([old_crd(number())]), 'things.h')
        self.add_files('a conversion webhook of somebody else', files([converting(number())]), 'conversion')
        self.add('a package for the cluster in a namespace', image(good(number(), cluster=True)), 'ScopeMismatch',
                 'ClusterPackageInstall')
        self.add('a package for namespaces in the cluster', image(good(number())), 'ScopeMismatch', 'PackageInstall',
                 kind='ClusterPackageInstall')
        wide = crd('things', 'h%d.example.org' % number(), cluster=True)
        self.add_files('a CRD of the cluster in a package for namespaces', files([wide]), 'namespace scope')
        self.add_files('a pod that wants the node', good(number(), install=deployment(hostNetwork=True)), 'hostNetwork')
        self.add_files("somebody else's account", good(number(), install=deployment(serviceAccountName='default')),
                       'serviceAccountName')

    def limits(self):
        """Names that are as long as they may be, which is fine, and one letter longer."""
        domain = lambda n: '.'.join(['d' * 60] * 3 + ['e' * n])  # noqa: E731
        for title, made, words in (
                ('a plural of 64 letters', lambda n: files([crd('t' * 64, 'h%d.example.org' % n, 'Thing')]), 'plural'),
                ('a kind whose list has 64 letters', lambda n: files([crd('things', 'h%d.example.org' % n, 'T' * 60)]), 'listKind'),
                ('a CRD whose name has 254 letters', lambda n: files([crd('t' * 20, domain(50), 'Thing')]), '253'),
                ('a version of 129 letters', lambda n: good(n, version='1' * 129), 'version'),
                ('a dependency on a name of 64 letters', lambda n: good(n, depends=['t' * 64 + '.example.org']), 'dependsOn')):
            self.add_files(title, made(self.number()), words)

    def good_ones(self):
        domain = '.'.join(['d' * 60] * 3 + ['e' * 49])
        for name, made in (
                ('fine', files([crd('things', 'fine.example.org')], install=deployment())),
                ('long', files([crd('t' * 63, 'long.example.org', 'T' * 59)], version='1' * 128)),
                ('longest', files([crd('t' * 20, domain, 'Thing')])),
                ('n' * 253, good(9999, install=deployment()))):
            assert name != 'longest' or len('t' * 20 + '.' + domain) == 253
            self.packages.layout.add('acme/%s:1.0' % name[:20], image(made))
            self.good.append((name, 'PackageInstall'))

    def make(self):
        self.packages.namespace(HOME, MANAGED)
        self.good_ones()
        self.install(*self.good[0], 'acme/fine:1.0')
        self.packages.ready('PackageInstall', HOME, 'fine')
        for part in (self.archives, self.images, self.documents, self.kinds, self.limits):
            part()
        print('# %d packages that mean harm, %d MiB' % (len(self.cases), sum(
            os.path.getsize(path) for path in glob.glob(self.packages.layout.blobs + '/*')) / MIB))

    # ---- Watching. ----

    def children(self):
        found = []
        for path in glob.glob('/proc/%d/task/*/children' % self.server.process.pid):
            try:
                with open(path, encoding='ascii') as file:
                    found += file.read().split()
            except OSError:
                pass  # the thread has ended
        return found

    def watch(self):
        while not self.over.wait(0.01):
            self.peak = max(self.peak, self.server.rss())
            for child in self.children():
                try:
                    with open('/proc/%s/status' % child, encoding='ascii') as file:
                        found = re.search(r'VmRSS:\s+(\d+)', file.read())
                    self.child_peak = max(self.child_peak, int(found.group(1)) * 1024 if found else 0)
                except OSError:
                    pass  # it has ended

    # ---- Installing them. ----

    def install(self, name, kind, package):
        self.packages.install(kind, '' if INSTALLS[kind][2] else HOME, name, package, imagePullPolicy='Never')

    def get(self, name, kind):
        return self.packages.get(kind, '' if INSTALLS[kind][2] else HOME, name)

    def all_at_once(self):
        """The hostile ones first: the good ones have to get past them."""
        for name, kind, *_ in self.cases:
            self.install(name, kind, 'acme/%s:1.0' % name)
        for name, kind in self.good[1:]:
            self.install(name, kind, 'acme/%s:1.0' % name[:20])
        for name, kind in self.good:
            self.packages.wait(kind, HOME, name, is_ready, 'never Ready among hostile ones')
        settled = sum(condition(self.get(name, kind), 'Synced')['status'] == 'False' for name, kind, *_ in self.cases)
        print('# %d of %d hostile ones were through when the good ones were Ready' % (settled, len(self.cases)))

    def judged(self, name, kind, reason, words):
        it = self.packages.wait(kind, '' if INSTALLS[kind][2] else HOME, name,
                                lambda it: condition(it, 'Synced')['status'] == 'False', 'never refused')
        told = condition(it, 'Ready')
        print('#   %s: %s' % (told['reason'], told['message'][:160].replace('\n', ' ')))
        assert told['status'] == 'False' and told['reason'] == reason, told
        assert words in told['message'] and told['message'].isprintable() and len(told['message']) < 32768, told['message'][:2000]
        assert 'finalizers' not in it['metadata'] and 'installedPackage' not in it['status']

    def is_bounded(self):
        grown = self.peak - self.before
        print('# the server grew by %d MiB to %d MiB at most, a child had %d MiB at most' % (
            grown / MIB, self.peak / MIB, self.child_peak / MIB))
        assert grown < (GROWTH_SANITIZED if self.is_sanitized else GROWTH)
        assert 0 < self.child_peak < (CHILD_SANITIZED if self.is_sanitized else CHILD)

    def nothing_is_left(self):
        wait_for(lambda: 'children %s are left' % self.children(), lambda: not self.children())
        assert not os.path.exists('/etc/reeve-was-here')
        names = {one['metadata']['name'] for one in self.packages.must(
            'GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions')['items'] if one['metadata']['name'].endswith('.org')}
        assert len(names) == 3, names  # of the good ones; the longest ends otherwise
        for name, kind, *_ in self.cases:
            self.packages.must('DELETE', path_of(kind, HOME, name))
        for name, kind, *_ in self.cases:
            self.packages.gone(kind, HOME, name)
        for name, kind in self.good:
            assert is_ready(self.get(name, kind))
        assert self.server.is_alive()


def main():
    tap = Tap()
    server = Server(sys.argv[1])
    try:
        server.start()
        hostile = Hostile(server)
        watcher = threading.Thread(target=hostile.watch)
        watcher.start()
        try:
            tap.run('packages are made, and a good one is installed', hostile.make)
            tap.run('good ones get Ready among hostile ones', hostile.all_at_once)
            for name, kind, title, reason, words in hostile.cases:
                tap.run(title, hostile.judged, name, kind, reason, words)
        finally:
            hostile.over.set()
            watcher.join()
        tap.run('memory is bounded', hostile.is_bounded)
        tap.run('nothing of them is left', hostile.nothing_is_left)
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
