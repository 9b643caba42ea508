#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills who installs packages with -9 after (or instead of) each of its writes, starts it again, and looks at what becomes of it:
the same as if nothing had happened, to the last label, and then no more writes.

    undisturbed   given ─► when ─────────────────────► picture of all objects; N writes
    each point    given ─► when ─► n-th write ─► kill -9 ─► start ─► the same picture, and quiet

Writes pass a proxy one by one, so that after the n-th there is none. Points of one scenario are all n from 1 to N, with the write
done and with the write lost. "reeve up" is killed at random moments.

usage: installs_crash_test.py REEVE [--all] [--jobs N] [--seed N] [--kind manager|up] [WORD]...
       (--all: every point of every scenario; else some of some, chosen by the seed. With words: scenarios whose names have them)"""
import argparse
import concurrent.futures
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from install_world import (BLOGS, CLUSTER_PACKAGE, CLUSTER_STACK, MERGE, PACKAGE, PAGES, STACK, Packages, Story,  # noqa: E402
                           is_point)
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Tap, raise_files  # noqa: E402

DELETE = 'packages.crossplane.io/delete-instances'
A, B = 'team-a', 'team-b'

# ---- Scenarios. ----


def blog(namespace):
    return PACKAGE.path(namespace, 'blog')


def install(namespace, version, kind=PACKAGE, name='blog'):
    return lambda world: world.create(kind, namespace, name, version)


def edit(namespace, version, kind=PACKAGE, name='blog'):
    return lambda world: world.edit(kind, namespace, name, version)


def uninstall(namespace, kind=PACKAGE, name='blog'):
    return lambda world: world.delete(kind, namespace, name)


def write_blog(namespace, crd=BLOGS):
    return lambda world: world.instance(crd, namespace, 'mine', {'title': 'mine'})


def wipe(namespace):
    return lambda world: world.annotate(PACKAGE, namespace, 'blog', DELETE, 'true')


def all_of(*steps):
    def run(world):
        for step in steps:
            step(world)
    return run


DATABASE = CLUSTER_PACKAGE.path('', 'database')
QUEUE = CLUSTER_STACK.path('', 'queue')
STACKED = STACK.path(A, 'blog')
OK = 'NoWorkloads'

# name: given (what was done before, each with what came of it), when, then
SCENARIOS = {
    'a cluster package': ([], install('', '1.0', CLUSTER_PACKAGE, 'database'), {DATABASE: OK}),
    'a cluster package goes up': ([(install('', '1.0', CLUSTER_PACKAGE, 'database'), {DATABASE: OK})],
                                  edit('', '1.1', CLUSTER_PACKAGE, 'database'), {DATABASE: OK}),
    'a cluster package goes': ([(install('', '1.0', CLUSTER_PACKAGE, 'database'), {DATABASE: OK})],
                               uninstall('', CLUSTER_PACKAGE, 'database'), {DATABASE: None}),
    'a package in a namespace': ([], install(A, '1.0'), {blog(A): OK}),
    'what a package needs comes later': ([(install(A, '1.0'), {blog(A): OK})],
                                         install('', '1.0', CLUSTER_PACKAGE, 'database'), {blog(A): OK, DATABASE: OK}),
    'a second namespace': ([(install(A, '1.0'), {blog(A): OK})], install(B, '1.0'), {blog(B): OK}),
    'a second namespace, newer': ([(install(A, '1.0'), {blog(A): OK})], install(B, '1.1'), {blog(B): OK}),
    'a second namespace, older': ([(install(A, '1.1'), {blog(A): OK})], install(B, '1.0'), {blog(B): OK}),
    # One version: of two that differ the one that is accepted first counts first, and a crash may change which one that is.
    'two namespaces at once': ([], all_of(install(A, '1.1'), install(B, '1.1')), {blog(A): OK, blog(B): OK}),
    'up': ([(install(A, '1.0'), {blog(A): OK})], edit(A, '1.1'), {blog(A): OK}),
    'up beside another': ([(install(A, '1.0'), {blog(A): OK}), (install(B, '1.0'), {blog(B): OK})],
                          edit(A, '1.1'), {blog(A): OK}),
    'down': ([(install(A, '1.1'), {blog(A): OK})], edit(A, '1.0'), {blog(A): OK}),
    'up, refused': ([(install(A, '1.0'), {blog(A): OK}), (install(B, '1.0'), {blog(B): OK})],
                    edit(A, '2.0'), {blog(A): 'Blocked'}),
    'up to what is not there': ([(install(A, '1.0'), {blog(A): OK})], edit(A, '9.9'), {blog(A): 'Blocked'}),
    'refused': ([(install(A, '1.0'), {blog(A): OK})], install(B, '2.0'), {blog(B): 'ApprovalRequired'}),
    'one of two goes': ([(install(A, '1.0'), {blog(A): OK}), (install(B, '1.0'), {blog(B): OK}),
                         (write_blog(B), {})], uninstall(A), {blog(A): None}),
    'the newer of two goes': ([(install(A, '1.0'), {blog(A): OK}), (install(B, '1.1'), {blog(B): OK}),
                               (write_blog(A), {})], uninstall(B), {blog(B): None}),
    'the older of two goes': ([(install(A, '1.0'), {blog(A): OK}), (install(B, '1.1'), {blog(B): OK}),
                               (write_blog(B), {})], uninstall(A), {blog(A): None}),
    'the last one goes': ([(install(A, '1.0'), {blog(A): OK})], uninstall(A), {blog(A): None}),
    'both go': ([(install(A, '1.0'), {blog(A): OK}), (install(B, '1.1'), {blog(B): OK})],
                all_of(uninstall(A), uninstall(B)), {blog(A): None, blog(B): None}),
    'in use': ([(install(A, '1.0'), {blog(A): OK}), (write_blog(A), {})], uninstall(A), {blog(A): 'InUse'}),
    'one is in use, another comes': ([(install(A, '1.0'), {blog(A): OK}), (write_blog(A), {}), (uninstall(A), {blog(A): 'InUse'})],
                                     install(B, '1.1'), {blog(B): OK, blog(A): 'InUse'}),
    'one is in use, its objects go': ([(install(A, '1.0'), {blog(A): OK}), (write_blog(A), {}), (uninstall(A), {blog(A): 'InUse'})],
                                      lambda world: world.must('DELETE', '/apis/press.example.org/v1/namespaces/%s/blogs/mine' % A),
                                      {blog(A): None}),
    'to another package': ([(install(A, '1.0'), {blog(A): OK})],
                           lambda world: world.must('PATCH', blog(A), {'spec': {'package': 'acme/other:1.0'}}, MERGE), {blog(A): OK}),
    'back to where it was': ([(install(A, '1.0'), {blog(A): OK}), (edit(A, '9.9'), {blog(A): 'Blocked'})],
                             edit(A, '1.0'), {blog(A): OK}),
    'its record goes': ([(install(A, '1.0'), {blog(A): OK})],
                        lambda world: world.must('DELETE', '/apis/packages.crossplane.io/v1alpha1/namespaces/%s/packages/blog' % A),
                        {blog(A): OK}),
    'nothing': ([(install(A, '1.0'), {blog(A): OK}), (install(B, '1.1'), {blog(B): OK})], lambda world: None, {}),
    'with all that was made of it': ([(install(A, '1.1'), {blog(A): OK}), (write_blog(A), {}),
                                      (write_blog(A, PAGES), {}), (wipe(A), {})], uninstall(A), {blog(A): None}),
    'a stack': ([], install(A, '1.0', STACK), {STACKED: OK}),
    'a stack goes up': ([(install(A, '1.0', STACK), {STACKED: OK})], edit(A, '1.1', STACK), {STACKED: OK}),
    'a stack goes': ([(install(A, '1.0', STACK), {STACKED: OK})], uninstall(A, STACK), {STACKED: None}),
    'a cluster stack': ([], install('', '1.0', CLUSTER_STACK, 'queue'), {QUEUE: OK}),
    'a cluster stack goes': ([(install('', '1.0', CLUSTER_STACK, 'queue'), {QUEUE: OK})],
                             uninstall('', CLUSTER_STACK, 'queue'), {QUEUE: None}),
}
# Of these some points are tried without --all.
USUAL = ['a cluster package', 'a second namespace, newer', 'up beside another', 'up, refused', 'the newer of two goes', 'both go',
         'one is in use, another comes', 'with all that was made of it', 'a stack goes up', 'nothing']
USUAL_EMBEDDED = ['two namespaces at once', 'up', 'both go', 'its record goes']
ROLLED = {'a cluster package goes up', 'up', 'down'}
# Where nobody collects garbage, what belonged to a record that is gone stands in the way of what belongs to the next one.
ONLY_EMBEDDED = {'its record goes'}


# ---- Points. ----

class Sink:
    """A client that is gone."""

    def sendall(self, _data):
        pass


class Point:
    """Passes writes on, one by one, and kills the manager at the n-th: done, but its answer is lost; or lost itself."""

    def __init__(self, world, last=0, is_lost=False):
        self.world, self.last, self.is_lost = world, last, is_lost
        self.lock = threading.Lock()
        self.count = 0
        self.at = None  # the write that was the last
        self.is_over = threading.Event()

    def __call__(self, request):
        return self if is_point(request) else None

    def give(self, client, request, proxy):
        with self.lock:
            if self.at:
                return False
            self.count += 1
            if self.count != self.last:
                return proxy.forward(client, request)
            self.at = request
            if not self.is_lost:
                proxy.forward(Sink(), request)
            os.kill(self.world.manager.process.pid, signal.SIGKILL)
            self.is_over.set()
            return False


# ---- One scenario. ----

class Scenario(Story):
    def __init__(self, test, name):
        super().__init__(test.binary, test.packages, SCENARIOS[name], test.quiet, test.is_embedded)
        self.name = name

    def crash_at(self, n, is_lost):
        """False: there is no n-th write."""
        world = self.begin()
        try:
            point = Point(world, n, is_lost)
            world.proxy.faults = point
            start = time.monotonic()
            self.when(world)
            wait_for(lambda: point.is_over.is_set() or is_through(world, start), 'the end')
            is_over = point.is_over.is_set()
            if is_over:
                world.manager.process.wait()
                world.manager.check_log()
                world.proxy.cut()
                world.proxy.faults = None
                world.start_manager()
            what = '%s write %d: %r' % ('instead of' if is_lost else 'after', n, point.at)
            self.converge(world, what)
            check_order(self.name, world.proxy.writes())
            world.stop()
            return is_over
        finally:
            world.remove()

    def crash_after(self, seconds):
        """The whole server."""
        world = self.begin()
        try:
            self.when(world)
            time.sleep(seconds)  # the moment of the crash
            world.server.kill()
            world.start_server()
            self.converge(world, 'after %.3f s' % seconds)
            world.stop()
        finally:
            world.remove()


def check_order(name, writes):
    """Whoever still runs the old version has its rights: they go after the Deployment was told to run the new one, also when there was
    a crash in between."""
    if name not in ROLLED:
        return
    done = [request for request in writes if request.status in (200, 201)]
    told = [i for i, request in enumerate(done) if request.method == 'PATCH' and '/deployments/' in request.path]
    lost = [i for i, request in enumerate(done) if request.method == 'DELETE' and '/clusterroles/package' in request.path]
    assert not (told and lost) or told[-1] < lost[0], '%s: rights went first: %r' % (name, done)


def is_through(world, start):
    """It has come to its end, with fewer writes than we waited for."""
    now = time.monotonic()
    return now - start > 10 and not world.proxy.writes(now - 5)


class Test:
    """All scenarios of one kind: with a manager, or with the server itself."""

    def __init__(self, options, packages, is_embedded):
        self.binary, self.packages, self.is_embedded = os.path.abspath(options.reeve), packages, is_embedded
        self.is_all, self.seed = options.all, options.seed
        self.quiet = 3 if options.all else 1  # seconds without a write

    def points(self, scenario):
        """(n, is_lost) or seconds."""
        chance = random.Random('%d %s' % (self.seed, scenario.name))
        if self.is_embedded:
            count = 24 if self.is_all else 2
            return [chance.uniform(0, scenario.seconds) for _ in range(count)]
        every = [(n, is_lost) for n in range(1, scenario.writes + 1) for is_lost in (False, True)]
        return every if self.is_all else sorted(chance.sample(every, min(2, len(every))))


def run_point(scenario, point):
    if isinstance(point, float):
        return scenario.crash_after(point)
    return scenario.crash_at(*point)


def run(tap, test, names, jobs):
    title = 'reeve up: ' if test.is_embedded else ''
    scenarios = [Scenario(test, name) for name in names]

    def prepare(scenario):
        scenario.prepare()
        scenario.undisturbed()
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            prepared = [(scenario, pool.submit(prepare, scenario)) for scenario in scenarios]
            crashes = []
            for scenario, future in prepared:
                tap.run('%s%s: undisturbed' % (title, scenario.name), future.result)
                if future.exception():
                    continue
                points = test.points(scenario)
                print('# %d writes, %.1f s; %d points' % (scenario.writes, scenario.seconds, len(points)), flush=True)
                crashes += [(scenario, point, pool.submit(run_point, scenario, point)) for point in points]
            for scenario, point, future in crashes:
                tap.run('%s%s: %s' % (title, scenario.name, tell(point)), future.result)
    finally:
        for scenario in scenarios:
            scenario.remove()


def choose(options, is_embedded):
    if options.words:
        return [name for name in SCENARIOS if all(word in name for word in options.words) and
                (is_embedded or name not in ONLY_EMBEDDED)]
    if options.all:
        return [name for name in SCENARIOS if is_embedded or name not in ONLY_EMBEDDED]
    return USUAL_EMBEDDED if is_embedded else USUAL


def tell(point):
    if isinstance(point, float):
        return 'killed after %.3f s' % point
    return 'killed %s write %d' % ('instead of' if point[1] else 'after', point[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('reeve')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--jobs', type=int, default=6)
    parser.add_argument('--seed', type=int, default=20261116)
    parser.add_argument('--kind', choices=('manager', 'up'))
    parser.add_argument('words', nargs='*')
    options = parser.parse_intermixed_args()
    raise_files()
    tap = Tap()
    packages = Packages()
    try:
        for kind in ('manager', 'up'):
            if options.kind in (None, kind):
                run(tap, Test(options, packages, kind == 'up'), choose(options, kind == 'up'), options.jobs)
    finally:
        packages.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
