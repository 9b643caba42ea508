#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the server with -9 while clients write, many times over on one data directory, and looks at what is left:

  - every write that was acknowledged is there, in the state that was acknowledged or a later one that was asked for;
  - what was not acknowledged is there as a whole or not at all;
  - a watch from the last revision seen has no gap and no duplicate.

usage: server_crash_test.py REEVE [ROUNDS]     200 rounds if REEVE_TEST_ALL is set"""
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from reeve_server import Server, Tap  # noqa: E402

WRITERS = 6
NAMES = 12  # objects of each writer
MOST_WRITES = 60  # of a round, before its crash
COLLECTION = '/api/v1/namespaces/default/configmaps'
PAD = 'x' * 700


class Writer(threading.Thread):
    """Changes objects of its own, one after another. `known` maps a name to what it may be found as: a list of values (None: not
    there), the last acknowledged one first, then the one asked for whose answer never came."""

    def __init__(self, server, number, known, seed):
        super().__init__()
        self.server, self.number, self.known = server, number, known
        self.random = random.Random(seed)
        self.acknowledged = 0

    def value(self):
        return '%d-%d' % (self.number, self.random.getrandbits(60))

    def step(self, connection):
        name = 'w%d-%d' % (self.number, self.random.randrange(NAMES))
        now = self.known[name][0]
        value = self.value()
        body = {'metadata': {'name': name}, 'data': {'a': value, 'b': value, 'pad': PAD}}
        path = '%s/%s' % (COLLECTION, name)
        if now is None:
            request = ('POST', COLLECTION, body)
        elif self.random.random() < 0.2:
            request, value = ('DELETE', path, None), None
        elif self.random.random() < 0.5:
            request = ('PUT', path, body)
        else:
            request = ('PATCH', path, {'data': {'a': value, 'b': value}})
        self.known[name] = [now, value]
        headers = {'Content-Type': 'application/merge-patch+json'} if request[0] == 'PATCH' else None
        status, answer = self.server.ask(*request, connection=connection, headers=headers)
        assert status in (200, 201), (request[:2], status, answer)
        self.known[name] = [value]
        self.acknowledged += 1

    def run(self):
        try:
            connection = self.server.connect()
            while True:
                self.step(connection)
        except (OSError, EOFError, ValueError):
            pass  # the server was killed
        except Exception as error:  # pylint: disable=broad-except
            if error.__class__.__module__ != 'http.client':
                self.error = error

    error = None


class Watcher(threading.Thread):
    """Follows the collection; `seen` holds (revision, type, name, value) in the order they came."""

    def __init__(self, server, after, seen):
        super().__init__()
        self.server, self.after, self.seen = server, after, seen

    def run(self):
        try:
            connection = self.server.connect()
            connection.request('GET', '%s?watch=1&resourceVersion=%d' % (COLLECTION, self.after))
            answer = connection.getresponse()
            while True:
                line = answer.readline()
                if not line.endswith(b'\n'):
                    return
                event = json.loads(line)
                meta = event['object']['metadata']
                self.seen.append((int(meta['resourceVersion']), event['type'], meta['name'],
                                  event['object']['data']['a']))
        except Exception:  # pylint: disable=broad-except # the server was killed
            pass


def check_objects(server, known):
    status, listed = server.ask('GET', COLLECTION)
    assert status == 200, listed
    found = {}
    for item in listed['items']:
        data = item.get('data') or {}
        if not item['metadata']['name'].startswith('w'):
            continue
        assert data['a'] == data['b'] and data['pad'] == PAD, ('half a write', item)
        found[item['metadata']['name']] = data['a']
    for name, allowed in known.items():
        assert found.get(name) in allowed, (name, found.get(name), 'is not one of', allowed)
        known[name] = [found.get(name)]
    assert set(found) <= set(known), 'objects nobody made'
    return int(listed['metadata']['resourceVersion'])


def check_watch(server, state, seen, now):
    """The rest of the events by another watch, from the last one that was seen; then all of them at once."""
    after = seen[-1][0] if seen else state['after']
    connection = server.connect()
    connection.request('GET', '%s?watch=1&timeoutSeconds=1&resourceVersion=%d' % (COLLECTION, after))
    answer = connection.getresponse()
    while after < now:
        event = json.loads(answer.readline())
        assert event['type'] != 'ERROR', event
        meta = event['object']['metadata']
        after = int(meta['resourceVersion'])
        seen.append((after, event['type'], meta['name'], event['object']['data']['a']))
    connection.close()
    revisions = [event[0] for event in seen]
    want = list(range(state['after'] + 1, now + 1))  # no controllers, nobody else writes: each is one of these events
    assert revisions == want, ('a gap or a duplicate', state['after'], revisions, now)
    for _, kind, name, value in seen:
        assert (kind == 'ADDED') == (state['objects'].get(name) is None), (kind, name)
        state['objects'][name] = None if kind == 'DELETED' else value


def wait_for_writes(writers, count):
    """Until so many were acknowledged, however busy the machine is."""
    while sum(writer.acknowledged for writer in writers) < count and all(writer.is_alive() for writer in writers):
        time.sleep(0.001)


def one_round(server, known, state, seed):
    chance = random.Random(seed)
    server.start(None, '--no-controllers')
    now = check_objects(server, known)
    check_watch(server, state, state.pop('seen', []), now)
    for name, values in known.items():
        assert state['objects'].get(name) == values[0], ('watch and list differ', name)
    state['after'], state['seen'] = now, []
    watcher = Watcher(server, now, state['seen'])
    writers = [Writer(server, i, known, chance.getrandbits(64)) for i in range(WRITERS)]
    for thread in [watcher] + writers:
        thread.start()
    wait_for_writes(writers, chance.randrange(MOST_WRITES))
    time.sleep(chance.uniform(0, 0.01))  # the moment of the crash: anywhere in the next writes
    server.kill()
    for thread in [watcher] + writers:
        thread.join()
    for writer in writers:
        if writer.error:
            raise writer.error
    state['acknowledged'] += sum(writer.acknowledged for writer in writers)


def crashes(server, rounds, seed):
    known = {'w%d-%d' % (i, j): [None] for i in range(WRITERS) for j in range(NAMES)}
    server.start(None, '--no-controllers')
    after = check_objects(server, known)
    server.stop()
    state = {'after': after, 'seen': [], 'objects': {}, 'acknowledged': 0}
    for number in range(rounds):
        try:
            one_round(server, known, state, seed + number)
        except AssertionError as error:
            raise AssertionError('round %d of seed %d: %s' % (number, seed, error)) from error
    server.start(None, '--no-controllers')
    check_watch(server, state, state['seen'], check_objects(server, known))
    server.stop()
    print('# %d rounds, %d writes acknowledged, all of them there' % (rounds, state['acknowledged']))
    assert state['acknowledged'] > rounds


def main():
    server = Server(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 and not os.environ.get('REEVE_TEST_ALL') else 200
    tap = Tap()
    try:
        tap.run('%d crashes lose nothing' % rounds, crashes, server, rounds, 20261116)
    finally:
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
