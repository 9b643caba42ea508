#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A manager between whose controllers and the API server all goes wrong that can. While a fault lasts, things change; when it is
over, everything is as it should be: no change was missed, nothing was deleted that should be there, the manager is the same
process as before, and it did not hammer the server meanwhile.

usage: manager_faults_test.py REEVE [WORD]...   (with words: only the tests whose names have them)"""
import concurrent.futures
import itertools
import os
import queue
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster_work import CORE, HOME, Work  # noqa: E402
from fault_proxy import (Answer, CutWatch, Drop, Endless, ErrorEvent, Hold, HttpProxy, TcpProxy, Truncate,  # noqa: E402
                         status)
from reeve_manager import Manager, wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

WORLDS = 8  # servers at once
OBSERVED = 3  # seconds that a fault lasts at least, in which requests are counted
# Of one path. A watch that fails is tried again after 0.8 s and more, one that ends in peace after 10 ms and more, twice as much
# each time; a write that fails after 5 ms, twice as much each time. So a dozen tries are many, hundreds are a storm.
MOST_OF_ONE = 30
MOST_BYTES = 600 * 1024 * 1024  # resident; a sanitizer's shadow is in it
QUIET = 5  # seconds without a write


def answers(*all_of_them):
    """A fault that gives these in turn."""
    turn = itertools.cycle(all_of_them)
    return lambda request: next(turn)


def reads(answer):
    return lambda request: None if request.is_write else answer


def writes(answer):
    return lambda request: answer if request.is_write else None


def watches(answer):
    return lambda request: answer if request.is_watch else None


HTML = '<html><body>It works!</body></html>'
STATUS_OF_SUCCESS = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success'}

# name, what is done with requests
HTTP_FAULTS = [
    ('429 with Retry-After', answers(Answer(429, status(429, 'TooManyRequests'), {'Retry-After': '1'}))),
    ('500', answers(Answer(500, status(500, 'InternalError')))),
    ('503 without a word', answers(Answer(503, '', content_type='text/plain'))),
    ('504 and 502 of a gateway', answers(Answer(504, HTML, content_type='text/html'), Answer(502, HTML, content_type='text/html'))),
    ('401 and 403', answers(Answer(401, status(401, 'Unauthorized')), Answer(403, status(403, 'Forbidden')))),
    ('404 of something that is no API server', answers(Answer(404, HTML, content_type='text/html'))),
    ('404 with an empty body', answers(Answer(404, '', content_type='text/plain'))),
    ('a page instead of JSON', answers(Answer(200, HTML, content_type='text/html'))),
    ('an empty answer', answers(Answer(200, ''))),
    ('JSON of another shape', answers(Answer(200, []), Answer(200, {}), Answer(200, 'null'), Answer(200, '42'),
                                      Answer(200, {'items': 42}), Answer(200, {'items': [1, None, 'x']}),
                                      Answer(200, {'kind': 'List', 'apiVersion': 'v1', 'metadata': {}, 'items': None}),
                                      Answer(200, {'metadata': {'name': 5, 'uid': [], 'resourceVersion': {}}}),
                                      Answer(200, STATUS_OF_SUCCESS))),
    ('deeply nested JSON', answers(Answer(200, '[' * 100000), Answer(200, '{"a":' * 100000))),
    ('half an answer', lambda request: None if request.is_watch else Truncate()),
    ('Content-Length of more than comes', answers(Answer(200, '{"kind":"List","items":[', length=100000))),
    ('Content-Length of less than comes', answers(Answer(200, '{"kind":"List","items":[]}' * 2, length=26))),
    ('answers without an end', reads(Endless('{"kind":"List","apiVersion":"v1","items":[', '"aaaaaaaaaaaaaaaaaaaaaaaaa",', 2 << 20))),
    ('an event without an end', watches(Endless('{"type":"ADDED","object":{"data":"', 'a' * 1024, 80 << 20))),
    ('watches of nonsense', watches(Answer(200, 'nonsense\n{"type":"BOOKMARK"}\n{"type":5}\n{}\n[]\n\n\n'))),
    ('events of unknown types and objects', watches(Answer(200, '{"type":"MOVED","object":{}}\n{"type":"ADDED"}\n'
                                                           '{"type":"DELETED","object":{"metadata":{"name":"precious"}}}\n'))),
    ('watches that end at once', watches(Answer(200, ''))),
    ('watches cut in the middle of an event', watches(CutWatch())),
    ('watches cut in the middle of the second event', watches(CutWatch(after=1))),
    ('watches that end in the middle of an event', watches(CutWatch(polite=True))),
    ('410 to watches', watches(Answer(410, status(410, 'Expired', 'too old resource version: 1 (2)')))),
    ('410 as an event', watches(ErrorEvent())),
    ('410 to watches, 500 to lists', lambda request: Answer(410, status(410, 'Expired')) if request.is_watch else (
        Answer(500, status(500, 'InternalError')) if request.is_list else None)),
    ('no watches at all', watches(Answer(405, status(405, 'MethodNotAllowed')))),
    ('writes: 500', writes(Answer(500, status(500, 'InternalError')))),
    ('writes: 409', writes(Answer(409, status(409, 'Conflict')))),
    ('writes: 422', writes(Answer(422, status(422, 'Invalid')))),
    ('writes: 404 of a path, not of an object', writes(Answer(404, status(
        404, 'NotFound', 'the server could not find the requested resource')))),
    ('writes: 404 of something that is no API server', writes(Answer(404, HTML, content_type='text/html'))),
    ('writes: done, but the answer is lost', writes(Truncate())),
    ('connections dropped', answers(Drop())),
]


# What does not say that something is not there.
NO_ANSWERS = [
    ('404 of something that is no API server', Answer(404, HTML, content_type='text/html')),
    ('404 with an empty body', Answer(404, '', content_type='text/plain')),
    ('403', Answer(403, status(403, 'Forbidden'))),
    ('410', Answer(410, status(410, 'Expired'))),
    ('200 with a page', Answer(200, HTML, content_type='text/html')),
    ('200 with nothing', Answer(200, '')),
    ('200 with {}', Answer(200, {})),
    ('200 with a Status', Answer(200, STATUS_OF_SUCCESS)),
    ('200 with half an answer', Truncate()),
    ('200 with an object of no name', Answer(200, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'uid': 'x'}})),
]


class Faults:
    """One server, through many rounds; each fault has a manager of its own, whose patience is not worn out by the one before."""

    def __init__(self, binary):
        self.binary = binary
        self.server = Server(binary)
        self.proxy = self.manager = self.work = None
        self.round = 0

    def start(self):
        self.server.start(None, '--no-controllers')
        self.work = Work(self.server)
        self.work.start()

    def remove(self):
        if self.manager:
            self.manager.remove()
        self.server.remove()

    def run(self, kind, function, *arguments):
        """A fault, or what else, with a manager by way of a proxy of this kind. It ends in peace after that, too."""
        self.proxy = kind(self.server)
        self.manager = Manager(self.binary, self.server.folder, self.proxy)
        try:
            self.manager.start('--no-leader-election')
            self.manager.wait_ready()
            getattr(self, function)(*arguments)
            self.manager.stop()
        finally:
            self.manager.remove()
            self.proxy.close()

    def bear(self, inflict, lift):
        """One round with a fault."""
        self.round += 1
        n = self.round
        self.work.prepare(n)
        start = time.monotonic()
        inflict()
        self.work.change(n)
        self.observe(start)
        lift()
        self.work.settle(n, self.manager)

    def observe(self, start):
        """While the fault lasts: it happens, and is borne."""
        if isinstance(self.proxy, HttpProxy) and self.proxy.faults:
            wait_for(lambda: self.proxy.since(start, lambda request: request.was_faulted), 'the fault to happen')
        while time.monotonic() < start + OBSERVED:
            self.manager.check_alive()
            assert self.manager.rss() < MOST_BYTES, 'it has grown to %d bytes' % self.manager.rss()
            time.sleep(0.05)
        if isinstance(self.proxy, HttpProxy):
            path, count = self.proxy.busiest(start)
            assert count <= MOST_OF_ONE, '%s was asked %d times in %d seconds' % (path, count, OBSERVED)
        self.work.complaint_of_precious()

    # ---- Faults. ----

    def http_fault(self, faults):
        def inflict():
            self.proxy.faults = faults
            self.proxy.cut()  # so that watches are opened anew

        def lift():
            self.proxy.faults = None
            self.proxy.cut()
        self.bear(inflict, lift)

    def http_hold(self):
        hold = Hold()

        def inflict():
            self.proxy.faults = answers(hold)
            self.proxy.cut()

        def lift():
            self.proxy.faults = None
            hold.release.set()
        self.bear(inflict, lift)

    def works(self):
        self.bear(lambda: None, lambda: None)

    def away(self):
        self.bear(self.proxy.go_away, self.proxy.come_back)

    def cut_now_and_then(self):
        def inflict():
            for _ in range(5):
                self.proxy.cut()
                time.sleep(0.2)
        self.bear(inflict, self.proxy.cut)

    def stall(self):
        self.bear(self.proxy.stall, self.proxy.flow)

    def stall_for_good(self):
        """What stalls never goes on; only new connections do."""
        def lift():
            self.proxy.cut()
            self.proxy.flow()
        self.bear(self.proxy.stall, lift)

    # ---- Answers that look as if something were not there. ----

    def unseen_owner(self, answer):
        """Secrets can be watched, ConfigMaps cannot: the collector has to ask for the owner of a Secret, and the answer is no
        answer (None: the object without its uid). As long as nobody says that the owner is gone, what it owns stays."""
        self.round += 1
        path = '%s/owner-%d' % (HOME, self.round)
        broken = Answer(500, status(500, 'InternalError'))

        def faults(request):
            if request.path.endswith('/configmaps'):
                return broken
            if request.path == path:
                return answer if answer else Answer(200, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {
                    'name': path.rsplit('/', 1)[1], 'namespace': 'work'}})
            return None
        self.proxy.faults = faults
        self.proxy.cut()
        owner = self.work.configmap('owner-%d' % self.round)
        start = time.monotonic()
        secret = CORE + 'work/secrets'
        self.work.must('POST', secret, {'metadata': {'name': 'owned-%d' % self.round, 'ownerReferences': [
            {'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': owner['metadata']['name'], 'uid': owner['metadata']['uid']}]}})
        secret += '/owned-%d' % self.round
        wait_for(lambda: len(self.proxy.since(start, lambda request: request.path == path)) >= 2, 'it to ask for the owner, and again')
        self.observe(start)
        self.must_be_there(secret)
        self.proxy.faults = None
        self.proxy.cut()
        self.bear(lambda: None, lambda: None)
        self.must_be_there(secret)

    def unseen_contents(self, answer):
        """What is asked of the contents of a namespace is answered with nonsense: it cannot be known to be empty."""
        self.round += 1
        n = self.round
        self.work.prepare(n)
        inside = CORE + 'ends-%d/configmaps' % n
        self.proxy.faults = lambda request: answer if request.path == inside else None
        start = time.monotonic()
        self.work.change(n)
        wait_for(lambda: self.proxy.since(start, lambda request: request.was_faulted), 'it to ask for the contents')
        self.observe(start)
        self.must_be_there(CORE + 'ends-%d' % n)
        self.must_be_there(inside + '/c-0')
        self.proxy.faults = None
        self.work.settle(n, self.manager)

    def must_be_there(self, path):
        code, answer = self.server.ask('GET', path)
        assert code == 200, '%s: %d %r' % (path, code, answer)

    # ---- What must hold besides. ----

    def quiet(self):
        """No writes once all is as it should be."""
        self.round += 1
        self.work.prepare(self.round)
        self.work.change(self.round)
        self.work.settle(self.round, self.manager)
        wait_for(lambda: not self.proxy.writes(time.monotonic() - 1), 'a second without writes')
        start = time.monotonic()
        while time.monotonic() < start + QUIET:
            time.sleep(0.05)
        assert not self.proxy.writes(start), self.proxy.writes(start)
        asked = self.proxy.since(start)
        assert len(asked) <= 10, 'it asks all the time: %r' % asked[:50]

    def touched_without_change(self):
        """Events that change nothing for the controllers lead to no writes."""
        start = time.monotonic()
        for path in self.work.precious:
            self.work.must('PATCH', path, {'metadata': {'annotations': {'touched': str(start)}}},
                           {'Content-Type': 'application/merge-patch+json'})
        self.round += 1
        self.work.prepare(self.round)
        self.work.change(self.round)
        self.work.settle(self.round, self.manager)  # so it has seen the former
        touched = [request for request in self.proxy.writes(start) if 'precious' in request.path]
        assert not touched, touched

    def killed(self, is_last):
        """kill -9 when it is about to do a certain write; the next one finishes the work."""
        self.round += 1
        n, size = self.round, 40
        self.work.prepare(n, size)
        hold = Hold()
        start = time.monotonic()
        seen = []

        def faults(request):
            if request.is_write and not request.is_lease:
                seen.append(request)
                if is_last(request, len(seen)):
                    return hold
            return hold if any(one.was_faulted for one in seen) and request.is_write else None
        self.proxy.faults = faults
        self.work.change(n)
        wait_for(lambda: self.proxy.since(start, lambda request: request.was_faulted), 'it to be in the middle')
        self.manager.kill()
        assert self.work.complaint(n, size), 'it was not in the middle, but at the end'
        self.proxy.faults = None
        self.proxy.cut()  # what was held is not done
        hold.release.set()
        self.manager.start('--no-leader-election')
        self.work.settle(n, self.manager, size)

    def server_restarts(self):
        """The server itself: its data stay, everything else is new."""
        self.round += 1
        self.work.prepare(self.round)
        self.server.kill()
        self.server.start(None, '--no-controllers')  # on another port, which the proxy knows
        self.work.connection = self.server.connect()
        self.work.change(self.round)
        self.work.settle(self.round, self.manager)


def is_finalize(request, _count):
    return request.path.endswith('/finalize')


def is_of_contents(request, _count):
    return request.method == 'DELETE' and request.path.startswith(CORE + 'ends-')


def is_in_cascade(request, count):
    return count > 20 and request.path.startswith(HOME)


# name, kind of proxy, method of Faults, its arguments
TESTS = [('HTTP/1.1: it works', HttpProxy, 'works')] + [
    ('HTTP/1.1: ' + name, HttpProxy, 'http_fault', fault) for name, fault in HTTP_FAULTS] + [
    ('an owner is asked for: ' + name, HttpProxy, 'unseen_owner', answer) for name, answer in NO_ANSWERS] + [
    ('an owner is asked for: 200 without the uid', HttpProxy, 'unseen_owner', None)] + [
    ('contents are asked for: ' + name, HttpProxy, 'unseen_contents', answer) for name, answer in NO_ANSWERS
    if not isinstance(answer, Truncate)] + [
    ('HTTP/1.1: answers are late', HttpProxy, 'http_hold'),
    ('HTTP/1.1: the server is away and comes back', HttpProxy, 'away'),
    ('HTTP/1.1: connections are cut now and then', HttpProxy, 'cut_now_and_then'),
    ('no writes when nothing changes', HttpProxy, 'quiet'),
    ('no writes for events that change nothing', HttpProxy, 'touched_without_change'),
    ('killed before it finalizes a namespace', HttpProxy, 'killed', is_finalize),
    ('killed before it deletes the contents of a namespace', HttpProxy, 'killed', is_of_contents),
    ('killed in the middle of a cascade', HttpProxy, 'killed', is_in_cascade),
    ('killed after a hundred writes', HttpProxy, 'killed', lambda _request, count: count == 100),
    ('HTTP/2: it works', TcpProxy, 'works'),
    ('HTTP/2: the server is away and comes back', TcpProxy, 'away'),
    ('HTTP/2: connections are cut now and then', TcpProxy, 'cut_now_and_then'),
    ('HTTP/2: nothing moves for a while', TcpProxy, 'stall'),
    ('HTTP/2: connections die without a word', TcpProxy, 'stall_for_good'),
    ('HTTP/2: the server is killed and comes back', TcpProxy, 'server_restarts'),
]


def main():
    """Most of the time is spent on waiting, so several servers are at it at once."""
    tap = Tap()
    chosen = [test for test in TESTS if all(word in test[0] for word in sys.argv[2:])]
    everything = [Faults(sys.argv[1]) for _ in range(min(WORLDS, len(chosen)))]
    free = queue.Queue()

    def run(arguments):
        faults = free.get()
        try:
            faults.run(*arguments)
        finally:
            free.put(faults)
    try:
        for faults in everything:
            faults.start()
            free.put(faults)
        with concurrent.futures.ThreadPoolExecutor(WORLDS) as pool:
            running = [(test[0], pool.submit(run, test[1:])) for test in chosen]
            for name, future in running:
                tap.run(name, future.result)
        for faults in everything:
            tap.run('the server ends in peace', faults.server.stop)
    finally:
        for faults in everything:
            faults.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
