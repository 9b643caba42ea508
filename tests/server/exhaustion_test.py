#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that make the server hold what they never take, or what nobody has authenticated: it stays within its limits, the
administrator is served meanwhile, and the memory is returned afterwards.

usage: exhaustion_test.py REEVE [NAME...]; with REEVE_TEST_ALL in the environment the attacks are larger"""
import contextlib
import json
import os
import re
import socket
import ssl
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap, raise_files  # noqa: E402

MIB = 1024 * 1024
MAPS = '/api/v1/namespaces/default/configmaps'
IS_LONG = bool(os.environ.get('REEVE_TEST_ALL'))
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
PATIENCE = 120
# As docs/SECURITY.md has them.
STREAMS = 100
ANSWERS = 4 * MIB
ANSWERS_ALL = 256 * MIB
UNKNOWN_ALL = 16 * MIB
GZIP_TEXTS = 16 * MIB
UNKNOWN_CONNECTIONS = 4096
PATH = 8192
QUOTED = 1024


def note(text):
    print('# ' + text, flush=True)


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes((kind, flags)) + struct.pack('>I', stream) + payload


def number(n):
    """HPACK, of a length with a prefix of seven bits."""
    if n < 127:
        return bytes((n,))
    out, n = b'\x7f', n - 127
    while n >= 128:
        out, n = out + bytes((0x80 | (n & 0x7f),)), n >> 7
    return out + bytes((n,))


def head(method, path, *more):
    block = b''
    for name, value in ((b':method', method), (b':scheme', b'https'), (b':authority', b'x'), (b':path', path)) + more:
        block += b'\x00' + number(len(name)) + name + number(len(value)) + value
    return block


def head_frames(stream, block, is_last=True):
    """HEADERS, and as many CONTINUATIONs as the block takes."""
    pieces = [block[i:i + 16000] for i in range(0, len(block), 16000)]
    out = b''
    for i, piece in enumerate(pieces):
        flags = (1 if is_last and i == 0 else 0) | (4 if i == len(pieces) - 1 else 0)
        out += frame(9 if i else 1, flags, stream, piece)
    return out


class Exhaustion:
    def __init__(self, server):
        self.server = server
        with open(server.binary, 'rb') as file:
            self.is_sanitized = b'__asan_init' in file.read()

    # ---- The decent ones. ----

    def metric(self, name):
        status, text = self.server.ask('GET', '/metrics', connection=self.server.kept())
        assert status == 200, status
        return float(re.search(r'(?m)^%s (\S+)$' % name, text).group(1))

    def until(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, 'waited in vain until ' + what
            time.sleep(0.02)

    def is_served(self):
        """The administrator, on a new connection: reads and writes."""
        assert self.server.is_alive(), self.server.read_log()
        status, answer = self.server.ask('GET', '/api/v1/namespaces/default')
        assert status == 200, (status, answer)
        status, answer = self.server.ask('POST', MAPS + '?dryRun=All', {'metadata': {'name': 'decent'}, 'data': {'x': 'y' * 100000}})
        assert status == 201, (status, answer)

    def report(self, what):
        note('%s: resident %.1f MiB' % (what, self.server.rss() / MIB))
        return self.server.rss()

    def is_returned(self, before):
        """Idle again: what the attack took is the system's again. A sanitizer keeps what was freed."""
        if not self.is_sanitized:
            self.until('memory is returned', lambda: self.server.rss() <= 1.5 * before)
        self.report('after')

    # ---- The attackers. ----

    def h2(self, window=0, certificate=True, timeout=30):
        sock = self.server.raw('h2', certificate=certificate, timeout=timeout)
        sock.sendall(PREFACE + frame(4, 0, 0, struct.pack('>HI', 4, window)))
        return sock

    def anonymous(self, source=None):
        """A TLS socket without a certificate, perhaps from another address."""
        plain = socket.create_connection(('127.0.0.1', self.server.port), timeout=30,
                                         source_address=(source, 0) if source else None)
        return self.server.bare_context.wrap_socket(plain, server_hostname='127.0.0.1')

    @staticmethod
    def send_all(sock, data):
        """As much as the server lets it."""
        with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
            sock.sendall(data)

    @staticmethod
    def close_all(socks):
        for sock in socks:
            sock.close()

    # ---- Answers that are not taken. ----

    def zero_window(self):
        """Nine hundred GETs of one large object on each connection, none of which is taken."""
        self.server.ask('POST', MAPS, {'metadata': {'name': 'large'}, 'data': {'x': 'y' * 1000000}})
        before = self.report('before')
        block = head(b'GET', (MAPS + '/large').encode())
        connections = 16 if IS_LONG else 4
        socks = [self.h2() for _ in range(connections)]
        for sock in socks:
            self.send_all(sock, b''.join(frame(1, 5, 2 * i + 1, block) for i in range(900)))
        self.until('answers are held', lambda: self.metric('reeve_response_held_bytes') > 1000000)
        self.is_served()
        held = self.metric('reeve_response_held_bytes')
        note('%d connections hold %.1f MiB' % (connections, held / MIB))
        assert held <= connections * (ANSWERS + MIB), held
        self.report('during')
        if not self.is_sanitized:  # the answers are equal, so they are in memory once
            assert self.server.rss() < before + connections * MIB + 16 * MIB, self.server.rss()
        self.close_all(socks)
        self.until('nothing is held', lambda: self.metric('reeve_response_held_bytes') == 0)
        self.is_returned(before)
        self.server.ask('DELETE', MAPS + '/large')

    def small_window_gzip(self):
        """The same with answers that are compressed while they are sent: one byte of each is taken."""
        self.server.ask('POST', MAPS, {'metadata': {'name': 'large'}, 'data': {'x': os.urandom(500000).hex()}})
        before = self.report('before')
        block = head(b'GET', (MAPS + '/large').encode(), (b'accept-encoding', b'gzip'))
        socks = [self.h2(window=1) for _ in range(16 if IS_LONG else 4)]
        for sock in socks:
            self.send_all(sock, b''.join(frame(1, 5, 2 * i + 1, block) for i in range(STREAMS)))
        for sock in socks:
            sock.settimeout(2)
            with contextlib.suppress(TimeoutError):  # until nothing more comes
                while sock.recv(65536):
                    pass
        self.is_served()
        self.report('during')
        if not self.is_sanitized:
            assert self.server.rss() < before + 3 * GZIP_TEXTS + 64 * 300 * 1024 + len(socks) * MIB, self.server.rss()
        self.close_all(socks)
        self.is_returned(before)
        self.server.ask('DELETE', MAPS + '/large')

    def window_opens(self):
        """Streams that waited are served, all of them, once the peer takes what it is given."""
        self.server.ask('POST', MAPS, {'metadata': {'name': 'large'}, 'data': {'x': 'y' * 1000000}})
        block = head(b'GET', (MAPS + '/large').encode())
        sock = self.h2(window=0, timeout=PATIENCE)
        sock.sendall(b''.join(frame(1, 5, 2 * i + 1, block) for i in range(STREAMS)))
        self.until('answers are held', lambda: self.metric('reeve_response_held_bytes') > 1000000)
        sock.sendall(frame(4, 0, 0, struct.pack('>HI', 4, 0x7fffffff)) + frame(8, 0, 0, struct.pack('>I', 0x7fff0000)))
        ended, rest, total = 0, b'', 0
        while ended < STREAMS:
            piece = sock.recv(1 << 20)
            assert piece, 'the connection ended after %d answers' % ended
            rest += piece
            while len(rest) >= 9 and len(rest) >= 9 + int.from_bytes(rest[:3], 'big'):
                size, kind, flags = int.from_bytes(rest[:3], 'big'), rest[3], rest[4]
                assert kind not in (3, 7), (kind, rest[9:9 + size])
                total += size if kind == 0 else 0
                ended += kind == 0 and flags & 1
                rest = rest[9 + size:]
        assert total > STREAMS * 1000000, total
        sock.close()
        self.server.ask('DELETE', MAPS + '/large')

    def streams(self):
        """More streams than a connection may have are refused one by one, and the connection lives."""
        sock = self.h2(window=65535)
        block = head(b'GET', (MAPS + '?watch=1').encode())
        sock.sendall(b''.join(frame(1, 5, 2 * i + 1, block) for i in range(STREAMS + 50)))
        refused, rest = 0, b''
        while refused < 50:
            piece = sock.recv(65536)
            assert piece, 'the connection ended'
            rest += piece
            while len(rest) >= 9 and len(rest) >= 9 + int.from_bytes(rest[:3], 'big'):
                size, kind = int.from_bytes(rest[:3], 'big'), rest[3]
                if kind == 3:
                    assert rest[9:13] == b'\x00\x00\x00\x07', rest[9:13]  # REFUSED_STREAM: try again elsewhere
                    refused += 1
                rest = rest[9 + size:]
        assert self.metric('reeve_watches') >= STREAMS
        sock.close()

    def deaf_http1(self):
        """Many connections of HTTP/1.1 that ask for large answers, ahead of each other, and read none."""
        self.server.ask('POST', MAPS, {'metadata': {'name': 'large'}, 'data': {'x': 'y' * 1000000}})
        before = self.report('before')
        socks = []
        for _ in range(400 if IS_LONG else 60):
            sock = self.server.raw()
            sock.sendall((b'GET ' + MAPS.encode() + b'/large HTTP/1.1\r\nHost: x\r\n\r\n') * 20)
            socks.append(sock)
        self.until('answers are held', lambda: self.metric('reeve_response_held_bytes') > 1000000)
        self.is_served()
        held = self.metric('reeve_response_held_bytes')
        note('%d connections hold %.1f MiB' % (len(socks), held / MIB))
        assert held <= min(ANSWERS_ALL, len(socks) * 2 * MIB), held
        self.report('during')
        if not self.is_sanitized:
            assert self.server.rss() < before + len(socks) * MIB // 4 + 16 * MIB, self.server.rss()
        self.close_all(socks)
        self.until('nothing is held', lambda: self.metric('reeve_response_held_bytes') == 0)
        self.is_returned(before)
        self.server.ask('DELETE', MAPS + '/large')

    # ---- Peers that nobody knows. ----

    def anonymous_heads(self):
        """Long paths on many streams, without a credential and with a bad one, whose answers are not taken."""
        before = self.report('before')
        socks = []
        for i in range(200 if IS_LONG else 30):
            sock = self.h2(certificate=False)
            path = b'/' + b'a' * (50000 if i % 2 else PATH - 1)
            more = () if i % 3 else ((b'authorization', b'Bearer bad'),)
            self.send_all(sock, b''.join(head_frames(2 * k + 1, head(b'POST', path, *more), is_last=False) for k in range(STREAMS)))
            socks.append(sock)
        self.is_served()
        held = self.metric('reeve_unauthenticated_bytes')
        note('unauthenticated peers hold %.2f MiB' % (held / MIB))
        assert held <= UNKNOWN_ALL, held
        self.report('during')
        if not self.is_sanitized:
            assert self.server.rss() < before + 64 * MIB, self.server.rss()
        self.close_all(socks)
        self.until('nothing is held', lambda: self.metric('reeve_unauthenticated_bytes') == 0)
        self.is_returned(before)

    def anonymous_half_heads(self):
        """Heads that never end, on as many connections of HTTP/1.1 as there may be: some go, and the administrator is served."""
        socks = []
        for i in range(1500 if IS_LONG else 300):
            sock = self.anonymous('127.0.0.%d' % (i % 8 + 2))
            self.send_all(sock, b'GET /healthz HTTP/1.1\r\nX: ' + b'x' * 62000)
            socks.append(sock)
        self.is_served()
        held = self.metric('reeve_unauthenticated_bytes')
        note('unauthenticated peers hold %.2f MiB' % (held / MIB))
        assert held <= UNKNOWN_ALL, held
        self.close_all(socks)
        self.until('nothing is held', lambda: self.metric('reeve_unauthenticated_bytes') == 0)

    def anonymous_bodies(self):
        """Megabytes of bodies without a credential: no byte of them is kept, and an upload of the administrator succeeds."""
        socks = []
        for _ in range(120 if IS_LONG else 40):
            sock = self.anonymous()
            sock.sendall(b'POST ' + MAPS.encode() + b' HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n')
            self.send_all(sock, b'x' * 300000)
            socks.append(sock)
        assert self.metric('reeve_request_body_bytes') == 0
        self.is_served()
        for sock in socks[:5]:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                assert sock.recv(65536).startswith(b'HTTP/1.1 403'), 'a body was waited for'
        self.close_all(socks)

    def refused_before_the_body(self):
        """401 and 403 come without the body, and in the order of Kubernetes; nobody is told to go on."""
        for authorization, status in ((b'', 403), (b'Authorization: Bearer bad\r\n', 401)):
            for length in (b'10', b'4000000'):
                with self.anonymous() as sock:
                    sock.sendall(b'POST ' + MAPS.encode() + b' HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n' + authorization +
                                 b'Content-Length: ' + length + b'\r\n\r\n')
                    got = sock.recv(65536)
                    assert got.startswith(b'HTTP/1.1 %d' % status), (length, got[:200])

    def revoked_during_the_body(self):
        """A permission that goes while a body is on its way does not count any more."""
        role = {'metadata': {'name': 'writer', 'namespace': 'default'}, 'rules': [{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['create']}]}
        rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/'
        binding = {'metadata': {'name': 'writer', 'namespace': 'default'}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Role', 'name': 'writer'},
                   'subjects': [{'kind': 'ServiceAccount', 'name': 'default', 'namespace': 'default'}]}
        assert self.server.ask('POST', rbac + 'roles', role)[0] == 201
        assert self.server.ask('POST', rbac + 'rolebindings', binding)[0] == 201
        status, answer = self.server.ask('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', {'spec': {}})
        assert status == 201, answer
        body = json.dumps({'metadata': {'name': 'too-late'}}).encode()
        start = (b'POST ' + MAPS.encode() + b' HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nAuthorization: Bearer ' +
                 answer['status']['token'].encode() + b'\r\nContent-Length: %d\r\n\r\n' % len(body))
        for is_revoked in (False, True):
            with self.anonymous() as sock:
                sock.sendall(start)
                assert sock.recv(65536).startswith(b'HTTP/1.1 100')
                sock.sendall(body[:10])
                if is_revoked:
                    self.server.ask('DELETE', MAPS + '/too-late')
                    assert self.server.ask('DELETE', rbac + 'rolebindings/writer')[0] == 200
                sock.sendall(body[10:])
                got = sock.recv(65536)
                assert got.startswith(b'HTTP/1.1 403' if is_revoked else b'HTTP/1.1 201'), got[:300]
        assert self.server.ask('GET', MAPS + '/too-late')[0] == 404
        self.server.ask('DELETE', rbac + 'roles/writer')

    def slow_body(self):
        """A body that trickles in, always with some progress, is cut off; requests that are served meanwhile are not."""
        sock = self.server.raw()
        sock.sendall(b'POST ' + MAPS.encode() + b' HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n')
        sock.setblocking(False)
        deadline = time.monotonic() + PATIENCE
        sent = 0
        while True:
            assert time.monotonic() < deadline, 'a byte now and then is enough for ever'
            try:
                sent += sock.send(b' ')
                if sock.recv(1000) == b'':
                    break
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except (ConnectionError, ssl.SSLError):
                break
            self.is_served()
            time.sleep(0.1)
        note('cut off after %d bytes' % sent)
        sock.close()

    # ---- Handshakes. ----

    def silent_connections(self):
        """More connections that say nothing than unknown peers may have; the administrator gets through at any time."""
        socks = []
        for i in range(UNKNOWN_CONNECTIONS + (4000 if IS_LONG else 500)):
            socks.append(socket.create_connection(('127.0.0.1', self.server.port), timeout=30,
                                                  source_address=('127.0.0.%d' % (i % 4 + 2), 0)))
            if i % 500 == 0:
                self.is_served()
        self.is_served()
        got = self.metric('reeve_unauthenticated_connections')
        note('%d of %d connections are left' % (got, len(socks)))
        assert got <= UNKNOWN_CONNECTIONS, got
        self.close_all(socks)
        self.until('they are gone', lambda: self.metric('reeve_unauthenticated_connections') == 0)

    def handshake_flood(self):
        """Hundreds of handshakes at once, while a known client asks: it is answered before they are all done."""
        kept = self.server.kept()
        assert self.server.ask('GET', '/readyz', connection=kept)[0] == 200
        waiting = []
        for _ in range(400 if IS_LONG else 150):
            plain = socket.create_connection(('127.0.0.1', self.server.port), timeout=30)
            plain.setblocking(False)
            waiting.append(self.server.bare_context.wrap_socket(plain, server_hostname='127.0.0.1', do_handshake_on_connect=False))
        flood, done, answered = list(waiting), 0, 0
        while waiting:
            for sock in list(waiting):
                try:
                    sock.do_handshake()
                    waiting.remove(sock)
                    done += 1
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    pass
            if waiting:
                assert self.server.ask('GET', '/readyz', connection=kept)[0] == 200
                answered += 1
        note('%d answers during %d handshakes' % (answered, done))
        assert answered > 0
        self.close_all(flood)

    # ---- Texts. ----

    def long_paths(self):
        """414 past 8 KiB, and no answer repeats more than 1 KiB of what was sent."""
        connection = self.server.connect()
        status, answer = self.server.ask('GET', '/' + 'a' * PATH, connection=connection)
        assert status == 414, (status, answer)
        connection.close()
        name = 'n' * 7000
        for path in ('/api/v1/namespaces/default/configmaps/' + name, '/api/v1/namespaces/' + name, '/apis/' + name + '/v1/x',
                     MAPS + '?fieldSelector=' + name * 4, MAPS + '?labelSelector=' + 'x%20in%20(' + name * 4,
                     MAPS + '?resourceVersion=' + name * 4, MAPS + '?timeout=' + name * 4, MAPS + '?continue=' + name * 4,
                     MAPS + '?limit=' + name * 4, MAPS + '?fieldValidation=' + name):
            status, answer = self.server.ask('GET', path)
            longest = max(re.findall('n+', json.dumps(answer)), key=len, default='')
            assert len(longest) <= QUOTED, (path[:60], len(longest))
        status, answer = self.server.ask('GET', MAPS + '?x=' + name * 4, headers={'Impersonate-Group': 'a'})  # without a user
        longest = max(re.findall('n+', json.dumps(answer)), key=len)
        assert status == 500 and len(longest) <= QUOTED, (status, len(longest))
        bare = self.server.connect(certificate=False)
        for path in ('/api/v1/namespaces/default/configmaps/' + name, '/' + name, '/api/v1/' + name):
            status, answer = self.server.ask('GET', path, connection=bare)
            longest = max(re.findall('n+', json.dumps(answer)), key=len)
            assert status == 403 and len(longest) <= QUOTED, (path[:60], status, len(longest))
        self.long_values(name * 10)

    def long_values(self, text):
        """The same for what is inside a body."""
        bodies = ({'metadata': {'name': text}}, {'metadata': {'name': 'x', 'labels': {text: 'a'}}}, {'metadata': {'name': 'x', 'labels': {'a': text}}},
                  {'metadata': {'name': 'x', 'namespace': text}}, {'metadata': {'name': 'x', 'uid': text}, 'kind': text}, {'metadata': {'name': 'x'}, text: 1},
                  {'metadata': {'name': 'x'}, 'data': {text: 1}}, {'metadata': {'name': 'x', 'generation': text}}, {'apiVersion': text, 'metadata': {'name': 'x'}},
                  {'metadata': {'name': 'x', 'finalizers': [text]}}, {'metadata': {'name': 'x'}, 'data': {'k/' + text: 'v'}})
        for body in bodies:
            connection = self.server.connect()
            data = json.dumps(body)
            connection.request('POST', MAPS + '?dryRun=All', data, {'Content-Type': 'application/json'})
            answer = connection.getresponse()
            got = answer.read().decode() + str(answer.headers)
            if answer.status != 201:
                longest = max(re.findall('n+', got), key=len, default='')
                assert len(longest) <= QUOTED, (data[:60], answer.status, len(longest))
            connection.close()


TESTS = ('zero_window', 'small_window_gzip', 'window_opens', 'streams', 'deaf_http1', 'anonymous_heads', 'anonymous_half_heads', 'anonymous_bodies',
         'refused_before_the_body', 'revoked_during_the_body', 'slow_body', 'silent_connections', 'handshake_flood', 'long_paths')


def main():
    raise_files()
    server = Server(sys.argv[1])
    tap = Tap()
    try:
        server.start()
        exhaustion = Exhaustion(server)
        for name in sys.argv[2:] or TESTS:
            def both(name=name):
                getattr(exhaustion, name)()
                exhaustion.is_served()
            tap.run(name.replace('_', ' '), both)
        tap.run('it ends in peace, and nothing was leaked', server.stop)
    finally:
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
