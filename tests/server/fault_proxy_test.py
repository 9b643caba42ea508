#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The faults of fault_proxy.py are those that it promises; without this a test of how we bear them would show nothing.

usage: fault_proxy_test.py REEVE"""
import http.client
import json
import os
import ssl
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fault_proxy import (LEASE, LEASES, Answer, CutWatch, Drop, Endless, ErrorEvent, Hold, HttpProxy, TcpProxy,  # noqa: E402
                         Truncate, status)
from reeve_server import Server, Tap  # noqa: E402

MAPS = '/api/v1/namespaces/default/configmaps'


class Client:
    """Asks by way of a proxy."""

    def __init__(self, proxy, server):
        self.proxy = proxy
        self.context = server.context
        if isinstance(proxy, HttpProxy):
            self.context = ssl.create_default_context(cafile=proxy.authority)

    def connect(self):
        return http.client.HTTPSConnection('127.0.0.1', self.proxy.port, context=self.context, timeout=30)

    def ask(self, method, path, body=None):
        connection = self.connect()
        try:
            connection.request(method, path, json.dumps(body) if body else None, {'Content-Type': 'application/json'})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def fails(self, path):
        try:
            answer = self.ask('GET', path)
        except (OSError, http.client.HTTPException) as error:
            return error
        raise AssertionError('it answered: %r' % (answer,))


class HttpFaults:
    def __init__(self, server):
        self.server = server
        self.proxy = HttpProxy(server)
        self.client = Client(self.proxy, server)

    def passes_on(self):
        code, body = self.client.ask('POST', MAPS, {'metadata': {'name': 'a'}, 'data': {'x': 'y'}})
        assert code == 201, body
        code, body = self.client.ask('GET', MAPS + '/a')
        assert code == 200 and json.loads(body)['data'] == {'x': 'y'}
        writes = self.proxy.writes()
        assert [(one.method, one.path, one.status) for one in writes] == [('POST', MAPS, 201)], writes
        assert self.proxy.busiest(0)[1] == 1

    def knows_the_lease(self):
        """That of the election. Other leases are objects like all others: whoever empties a namespace deletes them."""
        other = LEASES.replace('kube-system', 'default')
        start = time.monotonic()
        for path in (LEASES, other):
            assert self.client.ask('POST', path, {'metadata': {'name': 'reeve-manager'}})[0] == 201
        for method, path in (('GET', LEASE), ('DELETE', LEASE), ('GET', '/apis/coordination.k8s.io/v1/leases'), ('DELETE', other)):
            assert self.client.ask(method, path)[0] == 200, (method, path)
        asked = [(one.method, one.path) for one in self.proxy.since(start, lambda request: request.is_lease)]
        assert asked == [('POST', LEASES), ('GET', LEASE), ('DELETE', LEASE)], asked
        written = [(one.method, one.path) for one in self.proxy.writes(start)]
        assert written == [('POST', other), ('DELETE', other)], written

    def passes_watches_on_as_they_come(self):
        connection = self.client.connect()
        connection.request('GET', MAPS + '?watch=1')
        answer = connection.getresponse()
        assert json.loads(answer.readline())['object']['metadata']['name'] == 'a'
        self.server.ask('POST', MAPS, {'metadata': {'name': 'b'}})
        assert json.loads(answer.readline())['object']['metadata']['name'] == 'b'
        self.proxy.cut()
        try:
            assert answer.readline() == b''
        except (OSError, http.client.HTTPException):
            pass
        connection.close()

    def answers_instead(self):
        self.proxy.faults = lambda request: Answer(429, status(429, 'TooManyRequests'), {'Retry-After': '7'})
        connection = self.client.connect()
        connection.request('GET', MAPS)
        answer = connection.getresponse()
        assert answer.status == 429 and answer.getheader('Retry-After') == '7'
        assert json.load(answer)['reason'] == 'TooManyRequests'
        self.proxy.faults = lambda request: Answer(200, '{"kind":', length=4) if request.is_list else None
        connection.request('GET', MAPS)
        assert connection.getresponse().read() == b'{"ki'
        connection.close()
        self.proxy.faults = lambda request: ErrorEvent() if request.is_watch else None
        event = json.loads(self.client.ask('GET', MAPS + '?watch=1')[1])
        assert event['type'] == 'ERROR' and event['object']['code'] == 410
        assert self.client.ask('GET', MAPS)[0] == 200

    def cuts(self):
        self.proxy.faults = lambda request: Drop()
        self.client.fails(MAPS)
        self.proxy.faults = lambda request: Truncate()
        assert isinstance(self.client.fails(MAPS), http.client.IncompleteRead)
        self.proxy.faults = lambda request: CutWatch(after=1)
        error = self.client.fails(MAPS + '?watch=1')
        assert isinstance(error, http.client.IncompleteRead) and error.partial.startswith(b'{"type":"ADDED"'), error
        self.proxy.faults = lambda request: CutWatch(after=0, polite=True)
        body = self.client.ask('GET', MAPS + '?watch=1')[1]
        assert body.startswith(b'{"type":"ADDED"') and not body.endswith(b'\n'), body

    def never_ends(self):
        self.proxy.faults = lambda request: Endless('{"items":[', '{},', 10_000_000)
        error = self.client.fails(MAPS)
        assert isinstance(error, http.client.IncompleteRead) and len(error.partial) > 9_000_000, error

    def holds(self):
        hold = Hold()
        self.proxy.faults = lambda request: hold
        result = []
        thread = threading.Thread(target=lambda: result.append(self.client.ask('GET', MAPS)[0]))
        start = time.monotonic()
        thread.start()
        while not self.proxy.since(start):
            time.sleep(0.005)
        self.proxy.faults = None
        assert self.client.ask('GET', MAPS)[0] == 200 and not result
        hold.release.set()
        thread.join()
        assert result == [200]

    def goes_away_and_comes_back(self):
        self.proxy.go_away()
        assert isinstance(self.client.fails(MAPS), ConnectionRefusedError)
        self.proxy.come_back()
        assert self.client.ask('GET', MAPS)[0] == 200
        self.proxy.close()


class TcpFaults:
    def __init__(self, server):
        self.server = server
        self.proxy = TcpProxy(server)
        self.client = Client(self.proxy, server)

    def passes_on(self):
        assert self.client.ask('GET', MAPS)[0] == 200
        path = os.path.join(self.server.folder, 'by-proxy')
        self.proxy.write_kubeconfig(path)
        with open(path, encoding='utf-8') as file:
            assert ':%d' % self.proxy.port in file.read()

    def keeps_the_protocol_of_the_client(self):
        context = ssl.create_default_context(cafile=os.path.join(self.server.folder, 'certificate-authority-data'))
        context.set_alpn_protocols(['h2'])
        with context.wrap_socket(http.client.socket.create_connection(('127.0.0.1', self.proxy.port)),
                                 server_hostname='127.0.0.1') as secure:
            assert secure.selected_alpn_protocol() == 'h2'

    def stalls_and_flows(self):
        connection = self.client.connect()
        connection.connect()
        self.proxy.stall()
        connection.request('GET', MAPS)
        connection.sock.settimeout(0.2)
        try:
            connection.getresponse()
            raise AssertionError('it answered')
        except TimeoutError:
            pass
        self.proxy.flow()
        assert self.client.ask('GET', MAPS)[0] == 200
        connection.close()

    def cuts_goes_away_and_comes_back(self):
        connection = self.client.connect()
        connection.request('GET', MAPS + '?watch=1&resourceVersion=0')
        connection.getresponse().readline()
        self.proxy.cut()
        assert self.client.ask('GET', MAPS)[0] == 200
        self.proxy.go_away()
        assert isinstance(self.client.fails(MAPS), ConnectionRefusedError)
        self.proxy.come_back()
        assert self.client.ask('GET', MAPS)[0] == 200
        connection.close()
        self.proxy.close()


def main():
    server = Server(sys.argv[1])
    tap = Tap()
    try:
        server.start(None, '--no-controllers')
        for kind in (HttpFaults, TcpFaults):
            faults = kind(server)
            for name in [name for name in vars(kind) if not name.startswith('_')]:
                tap.run('%s: %s' % (kind.__name__, name.replace('_', ' ')), getattr(faults, name))
        tap.run('the server ends in peace', server.stop)
    finally:
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
