#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two managers of one cluster: exactly one acts, and the other takes over when it must, not before.

Each manager has a proxy of its own that writes down what it does and when. Times are compared with each other, never with how
long something ought to take: whoever takes over does so after the lease has run out, however slow the machine is.

usage: leader_test.py REEVE"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster_work import ROLES, Work  # noqa: E402
from fault_proxy import LEASE, Answer, HttpProxy, status  # noqa: E402
from reeve_manager import Manager, wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

LEASE_SECONDS = 6
SHORT = ('--lease-duration', '%ds' % LEASE_SECONDS, '--renew-deadline', '%ds' % (LEASE_SECONDS - 1))
# Nobody waits for this one to run out, and nobody loses it because the machine is busy.
LONG = ('--lease-duration', '1h', '--renew-deadline', '30m')
# Whoever looks often takes the lease as soon as it may: one that took it too early would not be late by chance.
LEADER, FOLLOWER = ('--retry-period', '500ms'), ('--retry-period', '100ms')
HISTORY_LINES = 120  # of a test that failed


class Candidate:
    """A manager and the record of what it did."""

    def __init__(self, server, binary, name):
        self.proxy = HttpProxy(server)
        self.manager = Manager(binary, server.folder, self.proxy, name)

    def renewals(self, start=0):
        """Its successful writes of the lease."""
        return self.proxy.since(start, lambda request: request.is_write and request.is_lease and request.status in (200, 201))

    def wait_for_looks(self, start):
        """Until it has seen often enough that the lease is another's."""
        wait_for(lambda: len(self.proxy.since(start, lambda request: request.is_lease and request.status == 200)) >= 5,
                 'it to look at the lease')

    def identity(self):
        return json.loads(self.renewals()[-1].body)['spec']['holderIdentity']

    def first_write(self, start=0):
        writes = self.proxy.writes(start)
        return writes[0] if writes else None

    def history(self, start):
        """What it asked of the lease, and what it learned; looks that showed nothing new are left out."""
        last = None
        for request in self.proxy.since(start, lambda request: request.is_lease):
            line = '%s: %s, answered %d %s' % (self.manager.name, ' '.join((request.method, about(request.body))).strip(),
                                               request.status, about(request.answer))
            if line != last:
                yield request.time, line
            last = line

    def remove(self):
        self.manager.remove()
        self.proxy.close()


def about(text):
    """A Lease, or whatever it is instead, in short."""
    try:
        lease = json.loads(text)
        spec = lease['spec']
    except (ValueError, KeyError):
        return text[:200].decode('utf-8', 'replace')
    return '{%s of %r, renewed %s}' % (lease['metadata'].get('resourceVersion', 'new'), spec.get('holderIdentity', ''),
                                       spec.get('renewTime', 'never'))


class Leaders:
    def __init__(self, server, binary):
        self.server, self.binary = server, binary
        self.work = Work(server)
        self.candidates = []
        self.round = 0

    # ---- Small things. ----

    def begin(self, flags):
        """Two new ones, of whom the first leads; the lease is free before."""
        self.remove()
        self.server.ask('DELETE', LEASE)
        self.candidates = [Candidate(self.server, self.binary, 'one'), Candidate(self.server, self.binary, 'two')]
        one, two = self.candidates
        one.manager.start(*flags, *LEADER)
        wait_for(self.holder, lambda: 'a leader:\n' + one.manager.read_log())
        two.manager.start(*flags, *FOLLOWER)
        two.manager.wait_ready()
        return one, two

    def begin_short(self):
        """As above, with a lease that can be waited for, and some work done. A leader that loses it, because the machine is too busy
        for it to renew, does what it should; but these tests are about one that leads."""
        for _ in range(5):
            one, two = self.begin(SHORT)
            self.work.settle(self.start_round(), one.manager)
            if self.holder() == one.identity():
                return one, two
        raise AssertionError('no leader can keep a lease of %d s' % LEASE_SECONDS)

    def remove(self):
        for one in self.candidates:
            one.remove()
        self.candidates = []

    def lease(self):
        code, lease = self.server.ask('GET', LEASE)
        return lease['spec'] if code == 200 else {}

    def holder(self):
        return self.lease().get('holderIdentity') or ''

    def run(self, name):
        """One test; when it fails, it says how the lease went from hand to hand."""
        start = time.monotonic()
        try:
            getattr(self, name)()
        except Exception:
            lines = sorted(line for one in self.candidates for line in one.history(start - LEASE_SECONDS))
            for when, what in lines[-HISTORY_LINES:]:
                print('# %.3f %s' % (when, what))
            raise

    def start_round(self, is_quick=True):
        self.round += 1
        self.work.prepare(self.round, is_quick=is_quick)
        self.work.change(self.round)
        return self.round

    # ---- Tests. ----

    def one_acts(self):
        one, two = self.begin(LONG)
        n = self.start_round(is_quick=False)
        self.work.settle(n, one.manager)
        assert one.first_write()
        for path in ('/healthz', '/readyz'):
            assert two.manager.ask(path)[0] == 200
        renewed = len(one.renewals())
        wait_for(lambda: len(one.renewals()) >= renewed + 5, 'the lease to be renewed again and again')
        assert not two.first_write() and not two.renewals(), (two.proxy.writes(), two.renewals())
        n = self.start_round()
        self.work.settle(n, one.manager)
        assert not two.first_write(), two.proxy.writes()
        one.manager.check_alive()
        two.manager.check_alive()

    def lease_says_who_and_how_long(self):
        lease = self.lease()
        time_pattern = r'20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z'
        assert lease['leaseDurationSeconds'] == 3600 and lease['leaseTransitions'] == 0, lease
        assert re.fullmatch(time_pattern, lease['acquireTime']) and re.fullmatch(time_pattern, lease['renewTime']), lease
        assert lease['renewTime'] > lease['acquireTime'], lease
        assert re.fullmatch(r'.+_.+', lease['holderIdentity']), lease

    def leadership_is_in_the_metrics(self):
        values = [re.search(r'(?m)^leader_election_master_status\{[^}]*\} (\d)', one.manager.ask('/metrics')[1]).group(1)
                  for one in self.candidates]
        assert values == ['1', '0'], values

    def killed(self):
        """kill -9: nobody gives the lease back, so the other waits for its end."""
        one, two = self.begin_short()
        before = self.lease()
        one.manager.kill()
        start = time.monotonic()
        n = self.start_round(is_quick=False)
        self.work.settle(n, two.manager)
        lease = self.lease()
        assert lease['holderIdentity'] not in ('', before['holderIdentity']), lease
        assert lease['leaseTransitions'] == before['leaseTransitions'] + 1, lease
        self.check_not_before(two, start, one.renewals()[-1].time)

    @staticmethod
    def check_not_before(two, start, last):
        for what, first in (('took the lease', two.renewals(start)[0]), ('acted', two.first_write(start))):
            assert first.time >= last + LEASE_SECONDS, 'it %s %.3f s after the last renewal at %.3f' % (
                what, first.time - last, last)
        assert two.first_write(start).time >= two.renewals(start)[0].time, 'it acted before it had the lease'

    def the_killed_one_comes_back_and_waits(self):
        one, two = self.candidates
        holder = self.holder()
        start = time.monotonic()
        one.manager.start(*SHORT, *LEADER)
        one.manager.wait_ready()
        n = self.start_round()
        one.wait_for_looks(start)
        self.work.settle(n, two.manager)
        assert self.holder() == holder
        assert not one.first_write(start), one.proxy.writes(start)

    def released(self):
        """SIGTERM: the lease is given back. With a lease of an hour the other could not wait for its end."""
        one, two = self.begin(LONG)
        n = self.start_round()
        self.work.settle(n, one.manager)
        start = time.monotonic()
        one.manager.stop()
        last = one.renewals(start)[-1]
        assert json.loads(last.body)['spec'].get('holderIdentity', '') == '', last.body
        late = one.proxy.writes(last.time)
        assert not late, 'it acted after it had given the lease back: %r' % late
        n = self.start_round()
        self.work.settle(n, two.manager)
        assert two.first_write(start).time > last.time
        assert self.lease()['leaseDurationSeconds'] == 3600, self.lease()

    def cut_off(self):
        """The leader reaches everything but the lease: it must have stopped when the lease ends for the other."""
        one, two = self.begin_short()
        start = time.monotonic()
        one.proxy.faults = lambda request: Answer(500, status(500, 'InternalError')) if request.is_lease else None
        one_holder = self.holder()
        edits = self.edit_until(lambda: self.holder() not in ('', one_holder) and two.first_write(start))
        last = one.renewals()[-1].time
        acted = one.proxy.writes(start)
        assert not [write for write in acted if write.time >= last + LEASE_SECONDS], 'it acted after its lease had run out'
        self.check_not_before(two, start, last)
        assert edits > 1 and self.holder() != one_holder
        # It is free again, and follows.
        one.proxy.faults = None
        back = time.monotonic()
        n = self.start_round()
        one.wait_for_looks(back)
        self.work.settle(n, two.manager)
        assert not one.first_write(back), one.proxy.writes(back)
        one.manager.check_alive()
        two.manager.check_alive()

    def edit_until(self, condition):
        """Gives whoever leads something to do, all the time."""
        count = 0
        end = time.monotonic() + 120
        while not condition():
            count += 1
            self.work.must('PATCH', ROLES + '/work-0', {'rules': [
                {'apiGroups': [''], 'resources': ['edit-%d' % count], 'verbs': ['get']}]},
                {'Content-Type': 'application/merge-patch+json'})
            assert time.monotonic() < end, 'nobody took over'
            time.sleep(0.05)
        return count

    def unreachable(self):
        """The leader reaches nothing; when it is back, it follows."""
        one, two = self.begin_short()
        holder = self.holder()
        one.proxy.go_away()
        start = time.monotonic()
        n = self.start_round()
        self.work.settle(n, two.manager)
        assert self.holder() not in ('', holder)
        self.check_not_before(two, start, one.renewals()[-1].time)
        one.proxy.come_back()
        back = time.monotonic()
        n = self.start_round()
        one.wait_for_looks(back)
        self.work.settle(n, two.manager)
        assert not one.first_write(back), one.proxy.writes(back)
        one.manager.check_alive()

    def handed_back_and_forth(self):
        """Each of the two ends in turn; every change is made by one of them."""
        one, two = self.begin(LONG)
        for last, following in ((one, two), (two, one), (one, two)):
            last.manager.stop()
            self.work.settle(self.start_round(), following.manager)
            last.manager.start(*LONG, *LEADER)
            last.manager.wait_ready()

    def both_end_in_peace(self):
        for one in self.candidates:
            one.manager.stop()
        assert self.holder() == '', self.lease()


def main():
    server = Server(sys.argv[1])
    tap = Tap()
    leaders = None
    try:
        server.start(None, '--no-controllers')
        leaders = Leaders(server, sys.argv[1])
        leaders.work.start()
        for name in ('one_acts', 'lease_says_who_and_how_long', 'leadership_is_in_the_metrics', 'killed',
                     'the_killed_one_comes_back_and_waits', 'released', 'cut_off', 'unreachable', 'handed_back_and_forth',
                     'both_end_in_peace'):
            tap.run(name.replace('_', ' '), leaders.run, name)
        leaders.remove()
        tap.run('the server ends in peace', server.stop)
    finally:
        if leaders:
            leaders.remove()
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
