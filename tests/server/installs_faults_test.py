#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packages are installed, upgraded and uninstalled while everything that this needs misbehaves: the API server, reeve-fetch, the
cache, the store, another manager. When that is over, all is as if nothing had happened.

usage: installs_faults_test.py REEVE [--all] [WORD]...   (--all: every fault of the server; with words: tests whose names have them)"""
import concurrent.futures
import json
import os
import resource
import shutil
import signal
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fault_proxy import Answer, HttpProxy, status  # noqa: E402
from install_world import CONTROLLERS, PACKAGE, Packages, Story, condition, is_point  # noqa: E402
from manager_faults_test import HTTP_FAULTS  # noqa: E402
from picture import picture  # noqa: E402
from reeve_manager import Manager, wait_for  # noqa: E402
from reeve_server import Tap, raise_files  # noqa: E402

A, B = 'team-a', 'team-b'
BLOG_A, BLOG_B, OTHER = PACKAGE.path(A, 'blog'), PACKAGE.path(B, 'blog'), PACKAGE.path(A, 'other')
OK = 'NoWorkloads'  # of Ready: nothing runs Deployments here
# How long a fault lasts at least.
LASTS = 2
USUAL = ['429 with Retry-After', '500', 'JSON of another shape', 'watches cut in the middle of the second event', '410 as an event',
         'writes: 409', 'writes: 404 of a path, not of an object', 'writes: done, but the answer is lost']


def change(world):
    """One goes up, one comes, one goes."""
    world.edit(PACKAGE, A, 'blog', '1.1')
    world.create(PACKAGE, B, 'blog')
    world.delete(PACKAGE, A, 'other')


GIVEN = [(lambda world: world.create(PACKAGE, A, 'blog'), {BLOG_A: OK}), (lambda world: world.create(PACKAGE, A, 'other'), {OTHER: OK})]
THEN = {BLOG_A: OK, BLOG_B: OK, OTHER: None}


class Faults:
    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.packages = Packages()
        self.story = Story(self.binary, self.packages, (GIVEN, change, THEN))

    def prepare(self):
        self.story.prepare()
        self.story.undisturbed()

    def remove(self):
        self.story.remove()
        self.packages.remove()

    def run(self, name, *arguments):
        world = self.story.begin()
        try:
            getattr(self, name)(world, *arguments)
            world.stop()
        finally:
            world.remove()

    # ---- The server. ----

    def server_fault(self, world, faults):
        start = time.monotonic()
        world.proxy.faults = faults
        world.proxy.cut()
        change(world)
        wait_for(lambda: world.proxy.since(start, lambda request: request.was_faulted), 'the fault to happen')
        while time.monotonic() < start + LASTS:
            world.manager.check_alive()
            time.sleep(0.05)
        world.proxy.faults = None
        world.proxy.cut()
        self.story.converge(world, 'when the fault is over')

    def killed_leader(self, world, last):
        """Of two managers the one that leads is killed at a write; the other takes over."""
        flags = ['--lease-duration', '3s', '--renew-deadline', '2s', '--retry-period', '500ms', '--package-store', self.packages.store,
                 '--controllers', CONTROLLERS]
        world.manager.stop()
        world.start_manager(*flags, '--package-cache', world.cache)
        world.manager.wait_ready()
        proxy = HttpProxy(world.server)
        second = Manager(world.server.binary, world.server.folder, proxy, 'second')
        count = [0]
        lock = threading.Lock()

        def at_last(request):
            if is_point(request):
                with lock:
                    count[0] += 1
                    if count[0] == last:
                        os.kill(world.manager.process.pid, signal.SIGKILL)
            return None
        try:
            second.start(*flags, '--package-cache', os.path.join(world.server.folder, 'cache of the second'))
            world.proxy.faults = at_last
            change(world)
            wait_for(lambda: not world.manager.is_alive(), 'the first to be killed')
            world.proxy.close()
            first, world.manager, world.proxy = world.manager, second, proxy
            first.process.wait()
            self.story.converge(world, 'when the second has taken over')
        finally:
            proxy.close()
            second.remove()

    # ---- reeve-fetch. ----

    def other_fetch(self, world, script):
        """Something else in place of reeve-fetch, then the real one. script: of a shell; None: nothing is there."""
        beside = os.path.join(world.server.folder, 'bin')
        os.mkdir(beside)
        binary, fetch = os.path.join(beside, 'reeve'), os.path.join(beside, 'reeve-fetch')
        shutil.copy(world.server.binary, binary)
        if script is not None:
            with open(fetch, 'w', encoding='ascii') as file:
                file.write('#!/bin/sh\n' + script)
            os.chmod(fetch, 0o755)
        world.manager.stop()
        world.manager.binary = binary
        world.start_manager()
        change(world)
        wait_for(lambda: condition(world.must('GET', BLOG_B), 'Unpacked')['reason'] == 'PullFailed', 'it to say so')
        world.wait(OTHER, None)  # others are not held up
        assert world.must('GET', BLOG_A)['status']['version'] == '1.0'
        shutil.copy(os.path.join(os.path.dirname(world.server.binary), 'reeve-fetch'), fetch + '.new')
        os.replace(fetch + '.new', fetch)
        self.story.converge(world, 'with reeve-fetch')

    def hanging_fetch(self, world):
        """One pull hangs; what needs no other goes on, and the manager ends in peace all the same."""
        beside = os.path.join(world.server.folder, 'bin')
        os.mkdir(beside)
        shutil.copy(world.server.binary, os.path.join(beside, 'reeve'))
        fetch = os.path.join(beside, 'reeve-fetch')
        with open(fetch, 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\nread -r line\ncase $line in *blog:1.1*) exec sleep 3600;; esac\nprintf "%%s" "$line" | exec %s\n' %
                       os.path.join(os.path.dirname(world.server.binary), 'reeve-fetch'))
        os.chmod(fetch, os.stat(fetch).st_mode | stat.S_IXUSR)
        world.manager.stop()
        shutil.rmtree(world.cache)
        world.manager.binary = os.path.join(beside, 'reeve')
        world.start_manager()
        change(world)
        world.wait(BLOG_B, OK)
        world.wait(OTHER, None)
        assert world.must('GET', BLOG_A)['status']['version'] == '1.0'
        world.manager.stop()
        world.manager.binary = world.server.binary
        world.start_manager()
        self.story.converge(world, 'with another reeve-fetch')

    # ---- Cache and store. ----

    def cache_removed(self, world):
        shutil.rmtree(world.cache)
        change(world)
        self.story.converge(world, 'without its cache')

    def cache_damaged(self, world):
        """Found at the next start."""
        world.manager.stop()
        for name in os.listdir(world.cache):
            with open(os.path.join(world.cache, name), 'r+b') as file:
                file.seek(100)
                file.write(b'XXXX')
        start = time.monotonic()
        world.start_manager()
        world.manager.wait_ready()
        world.wait_quiet(1)
        assert not world.proxy.writes(start), world.proxy.writes(start)
        change(world)
        self.story.converge(world, 'with a damaged cache')

    def cache_full(self, world):
        """For this process alone, by a limit on the size of its files."""
        with open(world.manager.log, 'rb') as file:
            size = len(file.read())
        for name in os.listdir(world.cache):
            os.unlink(os.path.join(world.cache, name))
        resource.prlimit(world.manager.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        change(world)
        wait_for(lambda: 'PullFailed' in json.dumps(world.must('GET', BLOG_A)['status']), 'it to say so')
        world.manager.check_alive()
        resource.prlimit(world.manager.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.story.converge(world, 'with room in the cache')

    def cache_of_others(self, world):
        """A file where the cache should be: said at once, not at the first pull."""
        world.manager.stop()
        shutil.rmtree(world.cache)
        with open(world.cache, 'w', encoding='ascii'):
            pass
        world.start_manager()
        assert world.manager.process.wait(60) == 1, world.manager.read_log()
        assert world.cache in world.manager.read_log(), world.manager.read_log()
        os.unlink(world.cache)
        world.start_manager()
        change(world)
        self.story.converge(world, 'with a cache')

    def all_lost(self, world):
        """Neither cache nor store: what is installed stays as it is, and can be uninstalled."""
        world.manager.stop()
        shutil.rmtree(world.cache)
        before = without_status(picture(world.server))
        store, world.packages = world.packages, Nowhere(world.server.folder)
        world.start_manager()
        world.manager.wait_ready()
        wait_for(lambda: 'PullFailed' in json.dumps(world.must('GET', BLOG_A)['status']), 'it to say so')
        assert condition(world.must('GET', BLOG_A), 'Ready')['status'] == 'True'
        assert without_status(picture(world.server)) == before
        world.delete(PACKAGE, A, 'other')
        world.wait(OTHER, None)
        assert world.ask('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/others.other.example.org')[0] == 404
        world.edit(PACKAGE, A, 'blog', '1.1')
        world.create(PACKAGE, B, 'blog')
        world.manager.stop()
        world.packages = store
        world.start_manager()
        self.story.converge(world, 'with the store')

    # ---- Objects. ----

    def late_secret(self, world):
        world.must('POST', PACKAGE.path(B), {'apiVersion': PACKAGE.api_version, 'kind': PACKAGE.kind, 'metadata': {'name': 'blog'}, 'spec': {
            'package': 'acme/blog:1.0', 'imagePullSecrets': [{'name': 'login'}]}})
        wait_for(lambda: condition(world.must('GET', BLOG_B), 'Unpacked')['reason'] == 'PullFailed', 'it to miss the secret')
        world.must('POST', '/api/v1/namespaces/%s/secrets' % B, {
            'metadata': {'name': 'login'}, 'type': 'kubernetes.io/dockerconfigjson',
            'data': {'.dockerconfigjson': 'eyJhdXRocyI6e319'}})
        world.wait(BLOG_B, OK)

    def in_the_way(self, world):
        """A ServiceAccount of somebody else's has the name; once it is gone the install goes on by itself."""
        account = '/api/v1/namespaces/%s/serviceaccounts' % B
        world.must('POST', account, {'metadata': {'name': 'blog'}})
        change(world)
        world.wait(BLOG_B, 'Conflict')
        world.must('DELETE', account + '/blog')
        self.story.converge(world, 'with nothing in the way')

    def without_its_finalizer(self, world):
        """Somebody takes our finalizer away and makes the install anew at once: nothing of the first is left."""
        parent = 'parent.packages.crossplane.io/'
        crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/blogs.press.example.org'
        world.proxy.faults = lambda request: Answer(500, status(500, 'InternalError')) if request.is_write else None  # we come first
        world.must('DELETE', BLOG_A)
        world.must('PATCH', BLOG_A, {'metadata': {'finalizers': None}}, {'Content-Type': 'application/merge-patch+json'})
        for path in ('/api/v1/namespaces/%s/serviceaccounts/blog' % A, '/apis/apps/v1/namespaces/%s/deployments/blog-controller' % A,
                     '/apis/packages.crossplane.io/v1alpha1/namespaces/%s/packages/blog' % A):
            world.ask('DELETE', path)  # as the garbage collector would
        bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings' % A
        for one in world.must('GET', bindings)['items']:
            if one['metadata']['name'].startswith('package:acme:blog'):
                world.ask('DELETE', bindings + '/' + one['metadata']['name'])
        world.create(PACKAGE, A, 'blog')
        world.proxy.faults = None
        world.wait(BLOG_A, OK)

        def parents():
            record = world.must('GET', '/apis/packages.crossplane.io/v1alpha1/namespaces/%s/packages/blog' % A)['metadata']['uid']
            labels = world.must('GET', crd)['metadata']['labels']
            return [key for key in labels if key.startswith(parent)] == [parent + record]
        wait_for(parents, 'the CRD to belong to the new record alone')


class Nowhere:
    """A store that is not there."""

    def __init__(self, folder):
        self.store = os.path.join(folder, 'nowhere')


def without_status(objects):
    """And without who wrote it when."""
    for one in objects.values():
        one.pop('status', None)
        one['metadata'].pop('managedFields', None)
    return objects


TESTS = [('the server: ' + name, 'server_fault', fault) for name, fault in HTTP_FAULTS] + [
    ('the leader is killed at its first write', 'killed_leader', 1),
    ('the leader is killed at its tenth write', 'killed_leader', 10),
    ('the leader is killed at its thirtieth write', 'killed_leader', 30),
    ('reeve-fetch is not there', 'other_fetch', None),
    ('reeve-fetch is killed', 'other_fetch', 'kill -9 $$\n'),
    ('reeve-fetch says nothing', 'other_fetch', 'exit 0\n'),
    ('reeve-fetch talks nonsense', 'other_fetch', 'echo nonsense\n'),
    ('reeve-fetch says the half of it', 'other_fetch', 'echo \'{"manifest":{"digest":"sha256:%s"}}\'\n' % ('0' * 64)),
    ('reeve-fetch hangs', 'hanging_fetch'),
    ('the cache is removed', 'cache_removed'),
    ('the cache is damaged', 'cache_damaged'),
    ('the cache is full', 'cache_full'),
    ('the cache cannot be made', 'cache_of_others'),
    ('cache and store are lost', 'all_lost'),
    ('a pull secret comes later', 'late_secret'),
    ('a ServiceAccount is in the way', 'in_the_way'),
    ('an install loses its finalizer', 'without_its_finalizer'),
]


def main():
    words = [word for word in sys.argv[2:] if word != '--all']
    chosen = [test for test in TESTS if all(word in test[0] for word in words) and (
        test[1] != 'server_fault' or words or '--all' in sys.argv or test[0].partition(': ')[2] in USUAL)]
    raise_files()
    tap = Tap()
    faults = Faults(sys.argv[1])
    try:
        tap.run('undisturbed', faults.prepare)
        if not tap.failed:
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                running = [(test[0], pool.submit(faults.run, *test[1:])) for test in chosen]
                for name, future in running:
                    tap.run(name, future.result)
    finally:
        faults.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
