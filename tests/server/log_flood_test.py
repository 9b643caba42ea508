#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers that try to fill the log: whatever they send, the number and the length of the lines they cause are bounded.

usage: log_flood_test.py REEVE"""
import os
import re
import socket
import ssl
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

FLOOD = 5000 if os.environ.get('REEVE_TEST_ALL') else 500
BURST = 20  # lines of a kind at once; then one a second
PATIENCE = 60


class Log:
    """What was written since."""

    def __init__(self, server):
        self.server = server
        self.start = os.path.getsize(server.log)
        self.began = time.monotonic()

    def lines(self, pattern='level='):
        with open(self.server.log, encoding='utf-8', errors='replace') as file:
            file.seek(self.start)
            return [line for line in file.read().splitlines() if re.search(pattern, line)]

    def allowed(self):
        """How many lines of one kind there may be by now."""
        return BURST + time.monotonic() - self.began + 1


def is_bounded(log, pattern):
    lines, every = log.lines(pattern), log.lines()
    assert 0 < len(lines) <= log.allowed(), (len(lines), log.allowed(), lines[:3])
    assert len(every) <= 3 * log.allowed(), (len(every), every[-3:])  # a slow machine makes lines of other kinds
    assert max(len(line) for line in every) < 4096, max(every, key=len)


def counts_all(log, pattern, cause):
    """Goes on until a line is written again, which says how many were not: none of the flood is forgotten."""
    end = time.monotonic() + PATIENCE
    n = FLOOD
    while True:
        lines = log.lines(pattern)
        told = len(lines) + sum(int(x) for line in lines for x in re.findall(r' suppressed=(\d+)', line))
        assert told <= n, (told, n)
        if told >= FLOOD:
            return
        assert time.monotonic() < end, (told, n, lines[-3:])
        cause()
        n += 1


class Flood:
    def __init__(self, server):
        self.server = server

    def anonymous(self, headers, path='/api', want=401, n=FLOOD):
        connection = self.server.connect(certificate=False)
        for _ in range(n):
            status, answer = self.server.ask('GET', path, connection=connection, headers=headers)
            assert status == want, (status, answer)
        connection.close()

    def credentials(self):
        headers = {'Authorization': 'Bearer a.b.c'}
        log = Log(self.server)
        self.anonymous(headers)
        is_bounded(log, 'msg="credential refused"')
        counts_all(log, 'msg="credential refused"', lambda: self.anonymous(headers, n=1))

    def failures(self):
        """A request that Kubernetes answers with 500, which is worth a warning."""
        headers = {'Impersonate-Group': 'x'}
        log = Log(self.server)
        self.anonymous(headers, '/' + 'x' * 3000, want=500)
        is_bounded(log, 'level=warn msg=request .*user=system:anonymous status=500')
        counts_all(log, 'level=warn msg=request', lambda: self.anonymous(headers, '/x', 500, 1))

    def failures_of_users(self):
        """Of users too, and apart: what peers without a credential do, hides nothing of these."""
        log = Log(self.server)
        self.anonymous({'Impersonate-Group': 'x'}, want=500, n=BURST + 5)
        connection = self.server.connect()
        for _ in range(FLOOD):
            status, _ = self.server.ask('GET', '/api', connection=connection, headers={'Impersonate-Group': 'x'})
            assert status == 500, status
        connection.close()
        is_bounded(log, 'level=warn msg=request .*user=(?!system:anonymous)')

    def garbage(self):
        """What is neither TLS nor HTTP leaves no line at all; a line about a slow request is another matter."""
        log = Log(self.server)
        for i in range(FLOOD // 10):
            with socket.create_connection(('127.0.0.1', self.server.port), timeout=30) as plain:
                plain.sendall(b'GET / HTTP/1.1\r\n\r\n' if i % 2 else b'\x16\x03\x01\xff\xff' + bytes(64))
                plain.shutdown(socket.SHUT_WR)
                try:
                    while plain.recv(4096):
                        pass
                except ConnectionError:
                    pass
            context = ssl.create_default_context()  # does not trust the server, and tells it so
            with socket.create_connection(('127.0.0.1', self.server.port), timeout=30) as plain:
                try:
                    context.wrap_socket(plain, server_hostname='127.0.0.1')
                    raise AssertionError('a CA of the system signed this')
                except ssl.SSLError:
                    pass
            with self.server.raw(certificate=False) as tls:
                tls.sendall((b'\x00\xff\r\n\r\n', b'GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n',
                             b'GET /' + b'x' * 70000 + b' HTTP/1.1\r\n\r\n')[i % 3])
                try:
                    tls.recv(4096)
                except (ConnectionError, ssl.SSLError):
                    pass
        status, _ = self.server.ask('GET', '/api/v1/namespaces/default')
        assert status == 200, status
        assert not log.lines('msg=(?!request )') and len(log.lines()) <= log.allowed(), log.lines()[:3]


def main():
    server = Server(sys.argv[1])
    tap = Tap()
    try:
        server.start(None, '--no-controllers')
        flood = Flood(server)
        for name in ('credentials', 'failures', 'failures_of_users', 'garbage'):
            tap.run(name, getattr(flood, name))
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
