#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm, or are broken: whatever they send, the server stays up, its memory stays bounded, others are served.

usage: hostile_test.py REEVE"""
import json
import os
import resource
import select
import socket
import ssl
import struct
import sys
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap, raise_files  # noqa: E402

MIB = 1024 * 1024
MAPS = '/api/v1/namespaces/default/configmaps'
# What all of this may leave behind. A sanitizer keeps what was freed for a while, and shadows of everything.
GROWTH = 100 * MIB
GROWTH_SANITIZED = 1024 * MIB


def drained(sock, limit=4 * MIB):
    """What comes until the server closes; an answer to garbage is never long."""
    got = b''
    try:
        while len(got) < limit:
            piece = sock.recv(65536)
            if not piece:
                return got
            got += piece
    except (ConnectionError, ssl.SSLError):
        return got
    raise AssertionError('the server goes on and on')


def status_of(answer):
    line = answer.split(b'\r\n', 1)[0].split(b' ')
    return int(line[1]) if len(line) > 1 and line[1].isdigit() else None


class Hostile:
    def __init__(self, server):
        self.server = server
        with open(server.binary, 'rb') as file:
            is_sanitized = b'__asan_init' in file.read()
        self.growth = GROWTH_SANITIZED if is_sanitized else GROWTH
        self.before = server.rss()

    def is_bounded(self):
        grown = self.server.rss() - self.before
        assert grown < self.growth, 'memory has grown by %d MiB' % (grown / MIB)

    def is_served(self):
        """Somebody decent still gets an answer."""
        assert self.server.is_alive(), self.server.read_log()
        status, _ = self.server.ask('GET', '/api/v1/namespaces/default')
        assert status == 200, status

    def send(self, data, alpn=None):
        sock = self.server.raw(alpn)
        try:
            sock.sendall(data)
        except (ConnectionError, ssl.SSLError):
            pass  # it hung up early, as it may
        return sock

    def expect(self, data, *statuses):
        """Sends raw bytes and wants one of these answers, None: none at all."""
        with self.send(data) as sock:
            try:
                got = status_of(sock.recv(65536))
            except (ConnectionError, ssl.SSLError):
                got = None
        assert got in statuses, (data[:80], got)

    # ---- HTTP/1.1 ----

    def truncated(self):
        for data in (b'', b'G', b'GET /api', b'GET /api HTTP/1.1\r\nHost: x\r\n',
                     b'POST ' + MAPS.encode() + b' HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"meta',
                     b'POST ' + MAPS.encode() + b' HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"me'):
            self.send(data).close()
        status, listed = self.server.ask('GET', MAPS)
        assert status == 200, listed
        assert [item['metadata']['name'] for item in listed['items']] in ([], ['kube-root-ca.crt']), listed

    def malformed(self):
        good = b'GET /healthz HTTP/1.1\r\nHost: x\r\n'
        for bad in (b'GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n', b'GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n',
                    b'G\x00T / HTTP/1.1\r\nHost: x\r\n\r\n', good + b'A : b\r\n\r\n', good + b' folded: x\r\n\r\n',
                    good + b'A: b\x00c\r\n\r\n', b'\x16\x03\x01\x00\x00garbage\r\n\r\n',
                    good + b'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
                    good + b'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
                    good + b'Content-Length: +5\r\n\r\nhello', good + b'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
                    good + b'Transfer-Encoding: chunked\r\n\r\nzz\r\n', b'GET /healthz\r\n\r\n'):
            self.expect(bad, 400, 501, 505, None)

    def oversized_body(self):
        status, answer = self.server.ask('POST', MAPS, b'{"a":"' + b'x' * (4 * MIB) + b'"}')
        assert status == 413, (status, answer)
        assert answer['message'] == 'Request entity too large: limit is 3145728', answer
        head = b'POST ' + MAPS.encode() + b' HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
        with self.send(head) as sock:
            try:
                for _ in range(400):  # 25 MiB, if it were let
                    sock.sendall(b'10000\r\n' + b'x' * 65536 + b'\r\n')
            except (ConnectionError, ssl.SSLError):
                pass

    def oversized_heads(self):
        self.expect(b'GET /' + b'a' * (300 * 1024) + b' HTTP/1.1\r\nHost: x\r\n\r\n', 400, 414, 431, None)
        self.expect(b'GET /healthz HTTP/1.1\r\nHost: x\r\nA: ' + b'b' * (300 * 1024) + b'\r\n\r\n', 400, 431, None)
        many = b''.join(b'h%d: x\r\n' % i for i in range(5000))
        self.expect(b'GET /healthz HTTP/1.1\r\nHost: x\r\n' + many + b'\r\n', 400, 431, None)

    def slow(self):
        """Two hundred that send a byte now and then, until the server has had enough of each of them."""
        socks = [self.server.raw() for _ in range(200)]
        for sock in socks:
            sock.sendall(b'GET /healthz HTTP/1.1\r\n')
            sock.setblocking(False)
        alive = set(socks)
        deadline = time.monotonic() + 120
        while alive:
            self.is_served()
            assert time.monotonic() < deadline, '%d of them are still there' % len(alive)
            for sock in list(alive):
                try:
                    sock.send(b'X')
                    if sock.recv(1000) == b'':
                        alive.discard(sock)
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                    pass
                except (ConnectionError, ssl.SSLError):
                    alive.discard(sock)
            time.sleep(0.5)
        for sock in socks:
            sock.close()

    # ---- TLS ----

    def bad_tls(self):
        for data in (os.urandom(3000), b'GET / HTTP/1.1\r\n\r\n', b'\x16\x03\x01\xff\xff' + os.urandom(100), b'\x80'):
            sock = socket.create_connection(('127.0.0.1', self.server.port), timeout=30)
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                assert len(drained(sock)) < 1000
            except ConnectionError:
                pass
            sock.close()
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers('ALL:@SECLEVEL=0')
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # that it is deprecated is the point
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        try:
            old.wrap_socket(socket.create_connection(('127.0.0.1', self.server.port), timeout=30))
        except (ssl.SSLError, ConnectionError):
            pass
        else:
            raise AssertionError('TLS 1.1 was accepted')
        half = [socket.create_connection(('127.0.0.1', self.server.port)) for _ in range(500)]
        self.is_served()
        for sock in half:
            sock.close()

    # ---- HTTP/2 ----

    PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

    @staticmethod
    def frame(kind, flags, stream, payload=b''):
        return struct.pack('>I', len(payload))[1:] + bytes((kind, flags)) + struct.pack('>I', stream) + payload

    @staticmethod
    def headers(path, *more):
        """HPACK, every field literal and not indexed."""
        block = b''
        for name, value in ((b':method', b'GET'), (b':scheme', b'https'), (b':authority', b'x'), (b':path', path)) + more:
            assert len(name) < 127 and len(value) < 127
            block += b'\x00' + bytes((len(name),)) + name + bytes((len(value),)) + value
        return block

    def h2(self, *frames):
        return self.send(self.PREFACE + self.frame(4, 0, 0) + b''.join(frames), 'h2')

    def goes_away(self, sock):
        """The server ends this connection by itself."""
        sock.settimeout(60)
        drained(sock, 64 * MIB)
        sock.close()

    def rapid_reset(self):
        sock = self.h2()
        block = self.headers(b'/api/v1/namespaces')
        cancel = struct.pack('>I', 8)
        try:
            for start in range(1, 200001, 400):
                burst = b''
                for stream in range(start, start + 400, 2):
                    burst += self.frame(1, 5, stream, block) + self.frame(3, 0, stream, cancel)
                sock.sendall(burst)
                while select.select([sock], [], [], 0)[0]:
                    if not sock.recv(65536):
                        raise ConnectionError
        except (ConnectionError, ssl.SSLError):
            pass
        sock.close()

    def continuation_flood(self):
        sock = self.h2(self.frame(1, 1, 1, self.headers(b'/healthz')))
        piece = b'\x00\x01a\x7f\x00' + b'b' * 127
        try:
            for _ in range(20000):  # 40 MiB of header fields, if it were let
                sock.sendall(self.frame(9, 0, 1, piece * 15))
        except (ConnectionError, ssl.SSLError):
            pass
        self.goes_away(sock)

    def control_floods(self):
        for flood in (self.frame(6, 0, 0, b'12345678'), self.frame(4, 0, 0), self.frame(8, 0, 0, struct.pack('>I', 1)),
                      self.frame(2, 0, 1, struct.pack('>IB', 0, 1))):
            sock = self.h2()
            try:
                for _ in range(300):
                    sock.sendall(flood * 1000)  # and nothing is read
            except (ConnectionError, ssl.SSLError, TimeoutError):
                pass
            sock.close()

    def bad_frames(self):
        for bad in (self.frame(0, 0, 1, b'data'), self.frame(1, 4, 2, self.headers(b'/')), self.frame(1, 4, 1, b'\xff' * 50),
                    self.frame(9, 4, 1, b''), self.frame(5, 4, 1, b'\0\0\0\2'), struct.pack('>I', 0xffffff)[1:] + b'\0\0\0\0\0\1',
                    self.frame(8, 0, 0, struct.pack('>I', 0))):
            self.goes_away(self.h2(bad))
        sock = self.server.raw('h2')
        sock.sendall(b'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n')
        self.goes_away(sock)

    # ---- Bodies ----

    def bodies(self):
        deep = b'[' * 100000
        for body, statuses in ((b'\xff\xfe{}', (400,)), (b'{"metadata":{"name":"a\xc3\x28"}}', (400,)), (deep, (400,)),
                               (b'{"a":' * 100000, (400,)), (b'', (400, 422)), (b'null', (400, 422)), (b'[]', (400,)), (b'{', (400,)),
                               (b'{"metadata":{"name":"x"},"data":{"a":' + b'9' * 100000 + b'}}', (400,))):
            status, answer = self.server.ask('POST', MAPS, body)
            assert status in statuses and answer['kind'] == 'Status', (body[:40], status, answer)
        bomb = 'a: &a [x,x,x,x,x,x,x,x,x]\n' + ''.join('%s: &%s [%s]\n' % (n, n, ','.join(['*' + p] * 9)) for p, n in zip('abcdefgh', 'bcdefghi'))
        status, answer = self.server.ask('POST', MAPS, bomb, headers={'Content-Type': 'application/yaml'})
        assert status in (400, 413), (status, answer)
        status, answer = self.server.ask('POST', MAPS, b'k8s\x00' + os.urandom(200), headers={'Content-Type': 'application/vnd.kubernetes.protobuf'})
        assert status == 400, (status, answer)

    def content_types(self):
        good = {'metadata': {'name': 'typed'}}
        for kind in ('text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'application/json; charset=\xff'):
            status, answer = self.server.ask('POST', MAPS, good, headers={'Content-Type': kind})
            assert status in (415, 201), (kind, status, answer)
            if status == 201:
                self.server.ask('DELETE', MAPS + '/typed')
        status, answer = self.server.ask('PATCH', MAPS + '/typed', good)
        assert status == 415, (status, answer)

    def paths(self):
        """A path has one meaning or is refused: nothing that is refused to somebody can be had by spelling it otherwise."""
        for path in ('//api/v1/namespaces', '/api//v1/namespaces', '/api/v1/namespaces/../namespaces', '/api/v1/./namespaces',
                     '/api/v1/namespaces/%2e%2e/namespaces', '/healthz/../api', '/healthz/%2e%2e/api', '/api/v1/namespaces%2fdefault',
                     '/api/v1/namespaces/default%00', '/api/v1/namespaces/%ff', '/%61pi//v1', '/api/v1/namespaces/%'):
            status, answer = self.server.ask('GET', path)
            assert 400 <= status < 500, (path, status, answer)
        with self.server.raw(certificate=False) as sock:
            sock.sendall(b'GET /healthz/%2e%2e/api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
            assert status_of(drained(sock)) in (400, 403)
        for target in (b'*', b'api', b'?x', b'\\api'):
            self.expect(b'GET ' + target + b' HTTP/1.1\r\nHost: x\r\n\r\n', 400, 404, None)

    def labels(self):
        """More labels than anybody has: either they are stored, or refused in words; selecting by them costs no more than it should."""
        many = {'l%d' % i: 'v%d' % i for i in range(60000)}
        status, answer = self.server.ask('POST', MAPS, {'metadata': {'name': 'many', 'labels': many}})
        assert status in (201, 400, 413, 422, 500), (status, answer)
        bad = {'-%d' % i: '!' for i in range(50000)}
        status, answer = self.server.ask('POST', MAPS, {'metadata': {'name': 'bad', 'labels': bad}})
        assert status == 422 and len(json.dumps(answer)) < 8 * MIB, status
        status, answer = self.server.ask('GET', MAPS + '?labelSelector=' + ','.join('l%d' % i for i in range(2000)))
        assert status in (200, 400, 414, 431), status
        self.server.ask('DELETE', MAPS + '/many')

    # ---- Watches ----

    def all_are_told(self, number, sock):
        """Each of the hundred streams of a connection gets its event, in however many frames."""
        sock.settimeout(120)
        texts, told, credit, rest = {}, 0, 0, b''
        while told < 100:
            try:
                piece = sock.recv(1 << 20)
            except TimeoutError as error:
                raise AssertionError('connection %d is silent after %d events' % (number, told)) from error
            assert piece, 'connection %d ended after %d events' % (number, told)
            rest += piece
            while len(rest) >= 9 and len(rest) >= 9 + int.from_bytes(rest[:3], 'big'):
                size, kind, stream = int.from_bytes(rest[:3], 'big'), rest[3], rest[5:9]
                if kind == 0:
                    texts[stream] = texts.get(stream, b'') + rest[9:9 + size]
                    told += b'here-it-is' in texts[stream] and texts.pop(stream) is not None
                    credit += size
                rest = rest[9 + size:]
            if credit > 16000:
                sock.sendall(self.frame(8, 0, 0, struct.pack('>I', credit)))
                credit = 0

    def many_watches(self):
        """Ten thousand from one client, on a hundred connections; every one of them is told of a change."""
        before = self.server.rss()
        path = (MAPS + '?watch=1').encode()
        block = self.headers(path)
        socks = []
        for _ in range(100):
            socks.append(self.h2(b''.join(self.frame(1, 5, 2 * i + 1, block) for i in range(100))))
        self.server.ask('POST', MAPS, {'metadata': {'name': 'told'}, 'data': {'mark': 'here-it-is'}})
        for number, sock in enumerate(socks):
            self.all_are_told(number, sock)
        self.is_served()
        each = (self.server.rss() - before) / 10000
        assert each < 64 * 1024, 'a watch costs %d bytes' % each
        for sock in socks:
            sock.close()
        self.server.ask('DELETE', MAPS + '/told')

    def deaf_watchers(self):
        """Fifty that never read, while megabytes of events go by; one that reads gets them all."""
        self.server.ask('POST', MAPS, {'metadata': {'name': 'loud'}, 'data': {}})
        deaf = []
        for _ in range(50):
            sock = self.server.raw()
            sock.sendall(b'GET ' + MAPS.encode() + b'?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n')
            deaf.append(sock)
        listener = self.server.connect(timeout=120)
        listener.request('GET', MAPS + '?watch=1&fieldSelector=metadata.name%3Dloud')
        events = listener.getresponse()
        writer = self.server.connect()
        for i in range(300):
            status, _ = self.server.ask('PUT', MAPS + '/loud', {'metadata': {'name': 'loud'}, 'data': {'n': str(i), 'pad': 'x' * 50000}}, writer)
            assert status == 200, status
        seen = -1
        while seen < 299:
            event = json.loads(events.readline())
            n = int(event['object'].get('data', {}).get('n', -1))
            assert n == seen + (event['type'] == 'MODIFIED'), (seen, n)
            seen = n
        self.is_bounded()
        for sock in deaf:
            sock.close()
        self.server.ask('DELETE', MAPS + '/loud')


TESTS = ('truncated', 'malformed', 'oversized_body', 'oversized_heads', 'bad_tls', 'rapid_reset', 'continuation_flood',
         'control_floods', 'bad_frames', 'bodies', 'content_types', 'paths', 'labels', 'many_watches', 'deaf_watchers', 'slow')


def few_files(binary):
    """More idle clients than the system lets the server have files: the oldest make place, and whoever comes is served."""
    files = 300
    server = Server(binary)
    try:
        server.start(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
        idle = []
        for _ in range(files + 50):
            idle.append(server.connect())
            status, _ = server.ask('GET', '/readyz', connection=idle[-1])
            assert status == 200, status
        with open('/proc/%d/limits' % server.process.pid, encoding='ascii') as file:
            assert 'Max open files            %d ' % files in file.read()
        for connection in idle:
            connection.close()
        server.stop()
    finally:
        server.remove()


def main():
    raise_files()
    server = Server(sys.argv[1])
    tap = Tap()
    try:
        server.start()
        hostile = Hostile(server)
        for name in sys.argv[2:] or TESTS:
            def both(name=name):
                getattr(hostile, name)()
                hostile.is_served()
                hostile.is_bounded()
            tap.run(name.replace('_', ' '), both)
        tap.run('it ends in peace, and nothing was leaked', server.stop)
        if not sys.argv[2:]:
            tap.run('few files', few_files, server.binary)
    finally:
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
