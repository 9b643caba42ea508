#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills an agent, or the hub's manager, with -9 after (or instead of) each write that either of them makes, starts it again, and looks
at what becomes of it: the same as if nothing had happened, on the hub and on the managed cluster, to the last label, and then no more
writes.

    undisturbed   given ─► when ─────────────────────► picture of all objects of both; N writes
    each point    given ─► when ─► n-th write ─► kill -9 ─► start ─► the same picture, and quiet

All writes pass proxies one by one, those to the hub and those to the managed cluster in one row, so that after the n-th there is none.
Who made a write is who is killed. Points of one scenario are all n from 1 to N, with the write done and with the write lost.

usage: fleet_crash_test.py REEVE [--all] [--jobs N] [--seed N] [WORD]...
       (--all: every point of every scenario; else some of some, chosen by the seed. With words: scenarios whose names have them)"""
import argparse
import concurrent.futures
import copy
import os
import random
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from fault_proxy import HttpProxy  # noqa: E402
from fleet_world import (ADDON_NAMESPACE, FULL, JANE, JOHN, MERGE, RBAC, READ, ROBOT, WRITE, Fleet, account, accounts,  # noqa: E402
                         condition, fleet_difference, is_applied, is_gone, is_point, permission, permissions,
                         temporary_folder, works)
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Tap, raise_files  # noqa: E402

HOME = 'cluster1'
APPLIED, GONE = is_applied(HOME, 'team'), is_gone(HOME, 'team')

# ---- What is done. ----


def grant(spec):
    return lambda fleet: fleet.hub.must('POST', permissions(HOME), permission('team', spec))


def change(**spec):
    return lambda fleet: fleet.hub.must('PATCH', permissions(HOME, 'team'), {'spec': spec}, MERGE)


def revoke(fleet):
    fleet.hub.must('DELETE', permissions(HOME, 'team'))


def grant_in_passing(fleet):
    grant(FULL)(fleet)
    wait_for(lambda: fleet.hub.must('GET', works(HOME))['items'] or not fleet.manager.is_alive(), 'a work')
    revoke(fleet)


def add_account(fleet):
    fleet.hub.must('POST', accounts(HOME), account('robot'))


def drop_account(fleet):
    fleet.hub.must('DELETE', accounts(HOME, 'robot'))


def add_namespace(labels):
    return lambda fleet: fleet[HOME].server.namespace('blue', labels)


def label_namespace(value):
    return lambda fleet: fleet[HOME].server.must('PATCH', '/api/v1/namespaces/blue', {'metadata': {'labels': {'team': value}}}, MERGE)


def drop_namespace(fleet):
    fleet[HOME].server.must('DELETE', '/api/v1/namespaces/blue')


def spoil(fleet):
    server = fleet[HOME].server
    server.must('PATCH', RBAC + '/clusterroles/team', {'rules': []}, MERGE)
    server.must('DELETE', RBAC + '/clusterrolebindings/first')


# ---- What comes of it. ----

def has_account(fleet):
    one = fleet.hub.get(accounts(HOME, 'robot'))
    secret = fleet.hub.get('/api/v1/namespaces/%s/secrets/robot' % HOME)
    is_there = one and condition(one, 'TokenReported')['status'] == 'True' and secret
    return '' if is_there else 'robot: %r' % one


def lost_account(fleet):
    where = '/api/v1/namespaces/%s/serviceaccounts/robot' % ADDON_NAMESPACE
    left = (fleet.hub.get(accounts(HOME, 'robot')) or fleet[HOME].server.get(where) or
            fleet.hub.get('/api/v1/namespaces/%s/secrets/robot' % HOME))
    return 'left of robot: %r' % left if left else ''


def is_granted(path, subjects=None):
    def check(fleet):
        one = fleet[HOME].server.get(path)
        if one and (subjects is None or [subject['name'] for subject in one.get('subjects', [])] == subjects):
            return ''
        return '%s: %r' % (path, one)
    return check


def is_not_there(path):
    return lambda fleet: '%s is still there' % path if fleet[HOME].server.get(path) else ''


def both(*checks):
    return lambda fleet: '\n'.join(text for text in (check(fleet) for check in checks) if text)


BLUE = RBAC + '/namespaces/blue/roles/team'
ROBOTS = RBAC + '/clusterrolebindings/robots'
MOVED = copy.deepcopy(FULL['roleBindings'])
MOVED[0]['roleRef'] = {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'view'}
WITH_ROBOT = {'clusterRole': {'rules': [READ]}, 'clusterRoleBindings': [{'name': 'robots', 'subjects': [JANE, ROBOT]}]}
GRANTED = [(grant(FULL), APPLIED)]
IN_BLUE = [(add_namespace({'team': 'blue'}), None), (grant(FULL), both(APPLIED, is_granted(BLUE)))]

# name: given (what was done before, each with what came of it), when, then
SCENARIOS = {
    'a permission comes': ([], grant(FULL), APPLIED),
    'a permission goes': (GRANTED, revoke, GONE),
    'a permission goes before it has come': ([], grant_in_passing, GONE),
    'rules change': (GRANTED, change(clusterRole={'rules': [READ, WRITE]}), APPLIED),
    'subjects change': (GRANTED, change(clusterRoleBindings=[{'name': 'first', 'subject': JOHN}, {'name': 'second', 'subjects': [JANE]}]),
                        APPLIED),
    'a roleRef changes': (GRANTED, change(roleBindings=MOVED), APPLIED),
    'one of two bindings goes': (GRANTED, change(clusterRoleBindings=[{'name': 'first', 'subject': JANE}]),
                                 both(APPLIED, is_not_there(RBAC + '/clusterrolebindings/second'))),
    'a selected namespace comes': (GRANTED, add_namespace({'team': 'blue'}), both(APPLIED, is_granted(BLUE))),
    'a namespace is selected': (GRANTED + [(add_namespace({}), None)], label_namespace('blue'), both(APPLIED, is_granted(BLUE))),
    'a namespace is selected no more': (IN_BLUE, label_namespace('red'), both(APPLIED, is_not_there(BLUE))),
    'a selected namespace goes': (IN_BLUE, drop_namespace, both(APPLIED, is_not_there('/api/v1/namespaces/blue'))),
    'an account comes': ([], add_account, has_account),
    'an account goes': ([(add_account, has_account)], drop_account, lost_account),
    'an account of a permission goes': ([(add_account, has_account), (grant(WITH_ROBOT), APPLIED)], drop_account,
                                        both(lost_account, is_granted(ROBOTS, ['jane']))),
    'an account of a permission comes back': ([(add_account, has_account), (grant(WITH_ROBOT), APPLIED),
                                               (drop_account, both(lost_account, is_granted(ROBOTS, ['jane'])))],
                                              add_account, both(has_account, is_granted(ROBOTS, ['jane', 'robot']))),
    'somebody spoils it': (GRANTED, spoil, both(APPLIED, is_granted(RBAC + '/clusterrolebindings/first'))),
    'nothing': (IN_BLUE, lambda fleet: None, APPLIED),
}
# Of these some points are tried without --all.
USUAL = ['a permission comes', 'a permission goes', 'a roleRef changes', 'a namespace is selected no more', 'an account goes']


# ---- Points. ----

class Sink:
    """A client that is gone."""

    def sendall(self, _data):
        pass


class Point:
    """Passes writes on, one by one, and kills who made the n-th: done, but its answer is lost; or lost itself."""

    def __init__(self, fleet, last=0, is_lost=False):
        self.fleet, self.last, self.is_lost = fleet, last, is_lost
        self.lock = threading.Lock()
        self.count = 0
        self.at = None  # the write that was the last
        self.victim = None
        self.is_over = threading.Event()
        for proxy in fleet.proxies():
            proxy.faults = self

    def __call__(self, request):
        return self if is_point(request) else None

    def give(self, client, request, proxy):
        victim = self.fleet.manager if proxy is self.fleet.manager_proxy else self.fleet[HOME].agent
        with self.lock:
            if self.at and victim is self.victim:
                return False
            self.count += 1
            if self.count != self.last:
                return proxy.forward(client, request)
            self.at, self.victim = request, victim
            if not self.is_lost:
                proxy.forward(Sink(), request)
            os.kill(victim.process.pid, signal.SIGKILL)
            self.is_over.set()
            return False

    def give_up(self):
        """From now on nobody is killed. False: somebody was."""
        with self.lock:
            self.last = 0
            return not self.at

    def restart(self):
        self.victim.process.wait()
        self.victim.check_log()
        for proxy in self.fleet.proxies():
            proxy.faults = None
        if self.victim is self.fleet.manager:
            self.fleet.manager_proxy.cut()
            self.fleet.start_manager()
        else:
            self.fleet[HOME].hub_proxy.cut()
            self.fleet[HOME].proxy.cut()
            self.victim.start()


# ---- One scenario. ----

class Scenario:
    def __init__(self, test, name):
        self.name, self.test = name, test
        self.given, self.when, self.then = SCENARIOS[name]
        self.folder = temporary_folder()
        self.proxy = HttpProxy(Place(self.folder), passes_tokens=True)  # the hub has one address in all its lives
        self.writes, self.want = 0, None
        self.seconds = 0.0  # that it takes undisturbed

    def remove(self):
        self.proxy.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fleet(self, snapshot=None):
        fleet = Fleet(self.test.binary, [HOME], True, {HOME: self.proxy}, snapshot)
        fleet.start()
        return fleet

    def prepare(self):
        """What is given."""
        fleet = self.fleet()
        try:
            for step, then in self.given:
                step(fleet)
                if then:
                    fleet.wait(then)
            fleet.wait_quiet(self.test.quiet)
            fleet.keep(os.path.join(self.folder, 'given'))
        finally:
            fleet.remove()

    def begin(self):
        """A fleet in which this is given, and at rest."""
        fleet = self.fleet(os.path.join(self.folder, 'given'))
        try:
            fleet.wait_quiet(self.test.quiet)
        except BaseException:
            fleet.remove()
            raise
        return fleet

    def undisturbed(self):
        began = time.monotonic()
        fleet = self.begin()
        try:
            point = Point(fleet)
            start = time.monotonic()
            self.when(fleet)
            fleet.wait(self.then)
            self.seconds = time.monotonic() - start
            fleet.wait_quiet(max(self.test.quiet, self.seconds))  # where all is slow, so is what comes last
            self.want, self.writes = fleet.picture(), point.count
            if self.name == 'nothing':
                check_silence(fleet, began)
            fleet.stop()
        finally:
            fleet.remove()

    def crash_at(self, n, is_lost):
        fleet = self.begin()
        try:
            point = Point(fleet, n, is_lost)
            start = time.monotonic()
            self.when(fleet)
            wait_for(lambda: point.is_over.is_set() or self.is_through(fleet, start), 'the end')
            if not point.give_up():
                point.restart()
            self.converge(fleet, '%s write %d: %r' % ('instead of' if is_lost else 'after', n, point.at))
            fleet.stop()
        finally:
            fleet.remove()

    def is_through(self, fleet, start):
        """It has come to its end, with fewer writes than we waited for."""
        now = time.monotonic()
        return now - start > 10 and not fleet.writes(now - 5) and not self.then(fleet)

    def converge(self, fleet, what):
        """The same as undisturbed, and quiet."""
        last = ['']

        def is_same():
            fleet.check_alive()
            last[0] = self.then(fleet) or fleet_difference(self.want, fleet.picture())
            return not last[0]
        deadline = time.monotonic() + 120
        while True:
            wait_for(is_same, lambda: 'the same as if nothing had happened, %s:\n%s%s' % (what, last[0], fleet.log()),
                     max(1, deadline - time.monotonic()))
            fleet.wait_quiet(self.test.quiet)
            if is_same():  # else it was so only for a moment
                return


def check_silence(fleet, began):
    """Who starts and finds all as it should be writes nothing; but the manager's proxy has another certificate each time."""
    writes = [request for request in fleet.writes(began) if 'kube-root-ca.crt' not in request.path]
    assert not writes, 'nothing has changed, but: %r' % writes


class Place:
    """Where a proxy keeps its certificate."""

    def __init__(self, folder):
        self.folder = folder


class Test:
    def __init__(self, options):
        self.binary = os.path.abspath(options.reeve)
        self.is_all, self.seed = options.all, options.seed
        self.quiet = 2 if options.all else 1  # seconds without a write

    def points(self, scenario):
        """(n, is_lost)"""
        chance = random.Random('%d %s' % (self.seed, scenario.name))
        every = [(n, is_lost) for n in range(1, scenario.writes + 1) for is_lost in (False, True)]
        return every if self.is_all else sorted(chance.sample(every, min(2, len(every))))


def run_points(scenario, points):
    """One after the other: they share the hub's address. [(point, what went wrong or None)]"""
    found = []
    for point in points:
        try:
            scenario.crash_at(*point)
            found.append((point, None))
        except Exception as error:  # pylint: disable=broad-except # it is told in its place
            found.append((point, error))
    return found


def tell(error):
    if error:
        raise error


def run(tap, test, names, jobs):
    scenarios = [Scenario(test, name) for name in names]

    def tell_story(scenario):
        scenario.prepare()
        scenario.undisturbed()
        return run_points(scenario, test.points(scenario))
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for scenario, future in [(scenario, pool.submit(tell_story, scenario)) for scenario in scenarios]:
                tap.run('%s: undisturbed' % scenario.name, future.result)
                if future.exception():
                    continue
                print('# %d writes, %.1f s' % (scenario.writes, scenario.seconds), flush=True)
                for (n, is_lost), error in future.result():
                    tap.run('%s: killed %s write %d' % (scenario.name, 'instead of' if is_lost else 'after', n), tell, error)
    finally:
        for scenario in scenarios:
            scenario.remove()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('reeve')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--jobs', type=int, default=5)
    parser.add_argument('--seed', type=int, default=20261116)
    parser.add_argument('words', nargs='*')
    options = parser.parse_intermixed_args()
    raise_files()
    tap = Tap()
    names = [name for name in SCENARIOS if all(word in name for word in options.words)] if options.words else (
        list(SCENARIOS) if options.all else USUAL)
    run(tap, Test(options), names, options.jobs)
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
