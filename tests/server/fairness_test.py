#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users share the server: one who asks for much waits, others are served.

usage: fairness_test.py REEVE"""
import os
import re
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

MIB = 1024 * 1024
MAPS = '/api/v1/namespaces/default/configmaps'
OBJECTS = 60  # of half a MiB each: 30 MiB
CONNECTIONS = 4 if os.environ.get('REEVE_TEST_ALL') else 2  # of the user who lists…
LISTS = 40  # …and lists at once on each of them
# The other user's GETs that are answered before all lists are. If requests were served in the order in which they come, it
# would be a handful.
BETWEEN = 40


def fill(server):
    keep = server.connect()
    for i in range(OBJECTS):
        body = {'metadata': {'name': 'big-%02d' % i}, 'data': {'text': 'x: y\n' * (MIB // 10)}}
        status, answer = server.ask('POST', MAPS, body, keep)
        assert status == 201, answer
    status, answer = server.ask('POST', MAPS, {'metadata': {'name': 'small'}}, keep)
    assert status == 201, answer
    role = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole', 'metadata': {'name': 'read'},
            'rules': [{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['get', 'list']}]}
    binding = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRoleBinding', 'metadata': {'name': 'read'},
               'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'read'},
               'subjects': [{'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'User', 'name': name}
                            for name in ('ann', 'bob')]}
    rbac = '/apis/rbac.authorization.k8s.io/v1/'
    for path, body in (('clusterroles', role), ('clusterrolebindings', binding)):
        status, answer = server.ask('POST', rbac + path, body, keep)
        assert status == 201, answer
    keep.close()


def request(path, user):
    return ('GET %s HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nUser-Agent: test\r\nImpersonate-User: %s\r\n\r\n' %
            (path, user)).encode()


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes((kind, flags)) + struct.pack('>I', stream) + payload


class Lister:
    """A connection with many lists at once, over HTTP/2, which takes all it is sent."""

    def __init__(self, server, user, path):
        fields = ((b':method', b'GET'), (b':scheme', b'https'), (b':authority', b'x'), (b':path', path.encode()),
                  (b'accept', b'application/yaml'), (b'impersonate-user', user.encode()))
        block = b''.join(b'\x00' + bytes((len(name),)) + name + bytes((len(value),)) + value for name, value in fields)
        window = struct.pack('>HI', 4, 2**31 - 1)
        data = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0, window) + frame(8, 0, 0, struct.pack('>I', 2**31 - 65536))
        data += b''.join(frame(1, 5, 2 * i + 1, block) for i in range(LISTS))
        self.sock = server.raw('h2', timeout=60)
        self.sock.sendall(data)
        self.buffer = b''
        self.left = LISTS
        self.error = None

    def read_all(self):
        """Until the last list has ended, or the socket is closed by the test."""
        try:
            while self.left:
                piece = self.sock.recv(1 << 20)
                assert piece, 'the server has closed the connection'
                self.buffer += piece
                self.take_frames()
        except (AssertionError, OSError) as error:
            self.error = error

    def take_frames(self):
        at = 0
        while len(self.buffer) - at >= 9:
            size, kind, flags = int.from_bytes(self.buffer[at:at + 3], 'big'), self.buffer[at + 3], self.buffer[at + 4]
            if len(self.buffer) - at - 9 < size:
                break
            assert kind not in (3, 7), (kind, self.buffer[at + 9:at + 9 + size])  # reset, or the connection ends
            self.left -= kind == 0 and flags & 1
            at += 9 + size
        self.buffer = self.buffer[at:]


def metric(server, name):
    status, text = server.ask('GET', '/metrics')
    assert status == 200, text
    text = text if isinstance(text, str) else str(text)
    return float(re.search(r'^%s (\S+)$' % name, text, re.MULTILINE).group(1))


def wait_for(what, condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, 'waited in vain for ' + what
        time.sleep(0.01)


def turns(server):
    """While one user lists 30 MiB as YAML, many times at once, another one's GETs come in between."""
    listers = [Lister(server, 'ann', MAPS) for _ in range(CONNECTIONS)]
    threads = [threading.Thread(target=one.read_all) for one in listers]
    keep = server.connect(timeout=60)
    answered = 0
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads) and answered < 10 * BETWEEN:
        status, _ = server.ask('GET', MAPS + '/small', connection=keep, headers={'Impersonate-User': 'bob'})
        assert status == 200, status
        answered += 1
    assert not any(one.error for one in listers), [one.error for one in listers]
    done = CONNECTIONS * LISTS - sum(one.left for one in listers)
    print('# %d GETs of another user were answered while %d of %d lists ended' % (answered, done, CONNECTIONS * LISTS))
    for one in listers:
        one.sock.shutdown(socket.SHUT_RDWR)
    for one in threads:
        one.join()
    for one in listers:
        one.sock.close()
    keep.close()
    assert answered >= BETWEEN, answered


def seats(server):
    """A user whose requests hold all seats of one user waits; others do not; a seat that becomes free is used."""
    slow = []
    for _ in range(2):
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect(('127.0.0.1', server.port))
        sock = server.context.wrap_socket(plain, server_hostname='127.0.0.1')
        sock.sendall(request(MAPS, 'ann'))
        assert sock.recv(1) == b'H'  # it is at work, and takes no more
        slow.append(sock)
    third = server.raw(timeout=60)
    third.sendall(request(MAPS + '/small', 'ann'))
    wait_for('a request of ann to wait', lambda: metric(server, 'reeve_requests_waiting') == 1)
    status, _ = server.ask('GET', MAPS + '/small', headers={'Impersonate-User': 'bob'})
    assert status == 200, status
    status, _ = server.ask('GET', MAPS + '/small')  # the administrator
    assert status == 200, status
    assert metric(server, 'reeve_requests_waiting') == 1
    slow.pop().close()
    assert third.recv(12) == b'HTTP/1.1 200'
    third.close()
    slow.pop().close()
    wait_for('the seats to be free', lambda: metric(
        server, r'apiserver_current_inflight_requests\{request_kind="readOnly"\}') == 0)


def main():
    server = Server(sys.argv[1])
    tap = Tap()
    try:
        server.start(None, '--max-requests-inflight=4')
        fill(server)
        tap.run('a user without a free seat waits, others do not', seats, server)
        server.stop()
        server.start()
        tap.run('users take turns', turns, server)
        server.stop()
    finally:
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
