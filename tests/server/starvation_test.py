#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that need seconds of computation: other clients are answered meanwhile, and past a limit they are refused.

usage: starvation_test.py REEVE"""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

MIB = 1024 * 1024
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
GROWTH = 700 * MIB
GROWTH_SANITIZED = 3072 * MIB
PATIENCE = 800  # seconds for one answer; a sanitizer and other tests on the same machine slow everything down
ENOUGH = 200  # answers to another client; from then on it asks now and then only, and leaves the processor to the heavy requests


def definition(plural, schema, columns=None):
    version = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}}
    if columns:
        version['additionalPrinterColumns'] = columns
    kind = plural.capitalize()
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': plural + '.a.io'},
            'spec': {'group': 'a.io', 'scope': 'Namespaced', 'versions': [version],
                     'names': {'plural': plural, 'singular': plural, 'kind': kind, 'listKind': kind + 'List'}}}


def resource(plural, name, **fields):
    return {'apiVersion': 'a.io/v1', 'kind': plural.capitalize(), 'metadata': {'name': name}, **fields}


def place(plural):
    return '/apis/a.io/v1/namespaces/default/' + plural


ENUMS = {'type': 'object', 'properties': {'list': {'type': 'array', 'items': {
    'type': 'string', 'anyOf': [{'enum': ['v%d-%d' % (k, i) for i in range(500)]} for k in range(100)]}}}}
FREE = {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}
SLOW_PATTERN = {'type': 'object', 'properties': {'list': {'type': 'array', 'items': {
    'type': 'string', 'pattern': '^(a|a)*b$|^(x*)*y$'}}}}
ALTERNATIVES = {'type': 'object', 'properties': {'list': {'type': 'array', 'items': {
    **FREE, 'anyOf': [{'required': ['x%d' % i]} for i in range(2000)]}}}}
ALL = {'type': 'object', 'properties': {'list': {'type': 'array', 'items': FREE}}}


class Heavy(threading.Thread):
    """One request of its own; `answer` is there when it is over."""

    def __init__(self, server, *args, **headers):
        super().__init__()
        self.server, self.args, self.headers = server, args, headers
        self.answer = None

    def run(self):
        connection = self.server.connect(PATIENCE)
        method, path, body = self.args
        text = json.dumps(body, separators=(',', ':')) if body is not None else None
        try:
            self.answer = self.server.ask(method, path, text, connection, self.headers)
        except OSError as error:
            self.answer = (None, str(error))
        connection.close()


class Starvation:
    def __init__(self, server):
        self.server = server
        with open(server.binary, 'rb') as file:
            self.is_sanitized = b'__asan_init' in file.read()
        self.before = server.rss()

    def ask(self, method, path, body=None, **headers):
        return self.server.ask(method, path, body, self.server.kept(), headers)

    def define(self, plural, schema, columns=None):
        status, body = self.ask('POST', CRDS, definition(plural, schema, columns))
        assert status == 201, (status, body)

    def watch_others(self, heavies):
        """How often another client was answered while the heavy requests were at work."""
        for heavy in heavies:
            heavy.start()
        count = 0
        while any(heavy.is_alive() for heavy in heavies):
            status, _ = self.ask('GET', '/api/v1/namespaces/default')
            assert status == 200, status
            count += any(heavy.is_alive() for heavy in heavies)
            self.make_room(heavies, count)
        for heavy in heavies:
            heavy.join()
        return count

    def make_room(self, heavies, count):
        """After enough answers: waits a moment for one of the heavy requests."""
        working = [heavy for heavy in heavies if heavy.is_alive()]
        if count >= ENOUGH and working:
            working[0].join(0.1)

    def is_refused(self, heavy):
        status, body = heavy.answer
        assert status == 413, str(heavy.answer)[:300]
        assert body['reason'] == 'RequestEntityTooLarge' and body['code'] == 413, body
        assert 'too much computation: limit is 100000000 steps' in body['message'], body['message']

    def is_bounded(self):
        grown = self.server.rss() - self.before
        most = GROWTH_SANITIZED if self.is_sanitized else GROWTH
        assert grown < most, 'memory has grown by %d MiB' % (grown / MIB)

    def check(self, least, *args, **headers):
        heavy = Heavy(self.server, *args, **headers)
        served = self.watch_others([heavy])
        self.is_refused(heavy)
        assert served >= least, 'another client was answered only %d times' % served
        self.is_bounded()

    # ---- One heavy request. ----

    def enums_by_array(self):
        self.define('enums', ENUMS)
        self.check(20, 'POST', place('enums'), resource('enums', 'x', list=['w%d' % i for i in range(200000)]))

    def pattern_by_array(self):
        self.define('patterns', SLOW_PATTERN)
        self.check(20, 'POST', place('patterns'), resource('patterns', 'x', list=['a' * 16] * 50000))

    def columns_by_array(self):
        self.define('columns', FREE, [{'name': 'c%d' % i, 'type': 'string', 'jsonPath': '.list[?(@.b=="x%d")].c' % i}
                                      for i in range(2000)] + [{'name': 'last', 'type': 'string', 'jsonPath': '.list[0].b'}])
        for name, n in (('short', 1), ('x', 20000)):
            status, body = self.ask('POST', place('columns'), resource('columns', name, list=[{'b': 'y'}] * n))
            assert status == 201, body
        self.check(20, 'GET', place('columns') + '/x', None, Accept=TABLE)
        # The row of a list is not refused: what it has no steps for stays empty, and other rows are whole.
        status, table = self.server.ask('GET', place('columns'), headers={'Accept': TABLE})
        assert status == 200, table
        assert [row['cells'][-1] for row in table['rows']] == ['y', None], table

    def large_enum_is_quick(self):
        """100,000 values, each looked up in a list of 100,000: far below the limit."""
        values = list(range(100000))
        self.define('numbers', {'type': 'object', 'properties': {'list': {'type': 'array', 'items': {
            'type': 'integer', 'enum': values}}}})
        status, body = self.ask('POST', place('numbers'), resource('numbers', 'x', list=values))
        assert status == 201, body

    # ---- Many, and what they meet. ----

    def many_at_once(self):
        """More than take turns at once. A writer of small objects comes through as well."""
        body = resource('enums', 'm', list=['w%d' % i for i in range(100000)])
        heavies = [Heavy(self.server, 'POST', place('enums'), body) for _ in range(5)]
        writer = threading.Thread(target=self.write_small, args=(heavies,))
        self.written = 0
        writer.start()
        served = self.watch_others(heavies)
        writer.join()
        for heavy in heavies:
            self.is_refused(heavy)
        assert served >= 40, served
        assert self.written >= 10, self.written
        self.is_bounded()

    def write_small(self, heavies):
        path = '/api/v1/namespaces/default/configmaps'
        while not self.written or any(heavy.is_alive() for heavy in heavies):
            status, _ = self.ask('POST', path, {'metadata': {'generateName': 'small-'}})
            assert status == 201, status
            self.written += any(heavy.is_alive() for heavy in heavies)
            self.make_room(heavies, self.written)

    def definition_changes_meanwhile(self):
        """What is stored passed the schema that was in effect when it was stored. A machine so slow that the server gives up on
        the request gets less work, until it does not."""
        for number, items in enumerate((1500, 500, 150, 50)):
            if self.change_definition('changes%d' % number, items) != 504:
                return
        raise AssertionError('the server gave up on the smallest request, too')

    def change_definition(self, plural, items):
        """The status of a heavy request whose definition changes while it is checked."""
        self.define(plural, ALTERNATIVES)
        heavy = Heavy(self.server, 'POST', place(plural), resource(plural, 'x', list=[{'x1999': i} for i in range(items)]))
        heavy.start()
        _, known = self.ask('GET', CRDS + '/%s.a.io' % plural)
        known['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['list']['maxItems'] = 1
        status, changed = self.ask('PUT', CRDS + '/%s.a.io' % plural, known)
        heavy.join()
        assert status == 200, changed
        status, body = heavy.answer
        if status == 504:
            assert self.ask('GET', place(plural) + '/x')[0] == 404
        elif status == 201:
            assert int(body['metadata']['resourceVersion']) < int(changed['metadata']['resourceVersion']), body['metadata']
        else:
            assert status == 422 and 'must have at most 1 items' in body['message'], str(heavy.answer)[:300]
        return status

    def object_changes_meanwhile(self):
        """A patch that was suspended is made again from what is there by then: neither change is lost."""
        self.define('objects', ALL)
        status, body = self.ask('POST', place('objects'), resource('objects', 'x', list=[{'a': 1}] * 60000))
        assert status == 201, body
        operations = [{'op': 'add', 'path': '/list/0', 'value': {'b': i}} for i in range(500)]
        heavy = Heavy(self.server, 'PATCH', place('objects') + '/x', operations,
                      **{'Content-Type': 'application/json-patch+json'})
        heavy.start()
        status, body = self.ask('PATCH', place('objects') + '/x', {'metadata': {'labels': {'l': 'v'}}},
                                **{'Content-Type': 'application/merge-patch+json'})
        heavy.join()
        assert status == 200 and heavy.answer[0] == 200, (status, heavy.answer[0])
        _, now = self.ask('GET', place('objects') + '/x')
        assert now['metadata']['labels'] == {'l': 'v'} and len(now['list']) == 60500

    def ends_with_work_at_hand(self):
        """It neither waits for heavy requests nor leaves anything of them behind."""
        heavies = [Heavy(self.server, 'POST', place('enums'),
                         resource('enums', 'e', list=['w%d' % i for i in range(200000)])) for _ in range(6)]
        for heavy in heavies:
            heavy.start()
        for _ in range(20):
            self.ask('GET', '/api/v1/namespaces/default')
        self.server.stop()
        for heavy in heavies:
            heavy.join()


def main():
    server, tap = Server(sys.argv[1]), Tap()
    try:
        server.start()
        starvation = Starvation(server)
        for name in ('enums_by_array', 'pattern_by_array', 'columns_by_array', 'large_enum_is_quick', 'many_at_once',
                     'definition_changes_meanwhile', 'object_changes_meanwhile', 'ends_with_work_at_hand'):
            tap.run(name.replace('_', ' '), getattr(starvation, name))
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
