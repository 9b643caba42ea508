# SPDX-License-Identifier: Apache-2.0
"""Proxies that stand between a client and an API server on loopback and misbehave on request.

    client ──TLS, HTTP/1.1──► HttpProxy ──TLS──► server    reads requests: answers instead of the server, cuts watches, counts
    client ──bytes──────────► TcpProxy ──bytes─► server    sees nothing (so HTTP/2 stays as it is), can cut, stall and refuse

Faults are a function from a request to what is to be done with it, or None to pass it on:

    proxy.faults = lambda request: Answer(500, 'oops') if request.is_watch else None
    proxy.faults = None        # the server again

What is done is one of Answer, Drop, Hold, CutWatch, Truncate below. Everything runs in threads that end with close().
"""
import base64
import http.client
import json
import os
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from urllib.parse import parse_qs, urlsplit

from reeve_server import is_open

HOP_BY_HOP = {'connection', 'transfer-encoding', 'content-length', 'keep-alive', 'upgrade', 'te', 'trailer'}
PIECE = 64 * 1024
# Where managers elect their leader; other leases are objects like all others.
LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
LEASE = LEASES + '/reeve-manager'


class Request:
    """One request, and when it came."""

    def __init__(self, method, target, headers, body):
        self.time = time.monotonic()
        self.method, self.target, self.headers, self.body = method, target, headers, body
        parts = urlsplit(target)
        self.path = parts.path
        self.query = parse_qs(parts.query)
        self.is_watch = method == 'GET' and self.query.get('watch', ['0'])[0] not in ('0', 'false')
        self.is_list = method == 'GET' and not self.is_watch
        self.is_write = method in ('POST', 'PUT', 'PATCH', 'DELETE')
        self.is_lease = self.path == (LEASES if method == 'POST' else LEASE)
        self.was_faulted = False
        self.status = 0  # of the answer; 0: none
        self.answer = b''  # its body, if it is about the lease

    def __repr__(self):
        return '%s %s' % (self.method, self.target)


# ---- What can be done with a request instead of passing it on. ----

class Answer:
    """An answer of our own. length: what Content-Length says, if that is not the truth."""

    def __init__(self, status, body='', headers=None, length=None, content_type='application/json'):
        self.status, self.headers = status, {'Content-Type': content_type, **(headers or {})}
        self.body = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        if isinstance(self.body, str):
            self.body = self.body.encode()
        self.length = len(self.body) if length is None else length

    def give(self, client, _request, _proxy):
        head = ''.join('%s: %s\r\n' % field for field in self.headers.items())
        client.sendall(('HTTP/1.1 %d Fault\r\n%sContent-Length: %d\r\n\r\n' % (self.status, head, self.length)).encode() + self.body)
        return self.length == len(self.body)


def status(code, reason, message='injected'):
    """A Status object, as the body of an Answer."""
    return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure', 'message': message, 'reason': reason,
            'code': code}


class ErrorEvent(Answer):
    """A watch that consists of the word that its revision is too old."""

    def __init__(self):
        super().__init__(200, json.dumps({'type': 'ERROR', 'object': status(410, 'Expired', 'too old resource version')}) + '\n')


class Endless:
    """An answer that does not end by itself: pieces until the client has enough, or a limit is reached."""

    def __init__(self, start, piece, limit):
        self.start, self.piece, self.limit = start.encode(), piece.encode(), limit

    def give(self, client, _request, _proxy):
        client.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n')
        send_chunk(client, self.start)
        block = self.piece * max(1, PIECE // len(self.piece))
        for _ in range(self.limit // len(block)):
            send_chunk(client, block)
        return False


class Drop:
    """The connection ends without an answer."""

    def give(self, _client, _request, _proxy):
        return False


class Hold:
    """Nothing happens until release is set; then the request is passed on."""

    def __init__(self):
        self.release = threading.Event()

    def give(self, client, request, proxy):
        while not self.release.wait(0.05):
            if proxy.is_closed:
                return False
        return proxy.forward(client, request)


class CutWatch:
    """The watch is passed on, and ends in the middle of the event after so many. polite: as if it were whole."""

    def __init__(self, after=0, polite=False):
        self.after, self.polite = after, polite

    def give(self, client, request, proxy):
        return proxy.forward(client, request, self)


class Truncate:
    """The answer of the server, half of it."""

    def give(self, client, request, proxy):
        return proxy.forward(client, request, self)


# ---- What both kinds have. ----

def send_chunk(client, data):
    client.sendall(b'%x\r\n%s\r\n' % (len(data), data))


class Proxy:
    """Listens, serves each connection in a thread, and can go away and come back on the same port."""

    def __init__(self, server):
        self.server = server
        self.port = 0
        self.is_closed = False
        self.lock = threading.Lock()
        self.open = set()
        self.listener = None
        self.accepted = 0
        self.come_back()

    def come_back(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(('127.0.0.1', self.port))
        listener.listen(128)
        self.port = listener.getsockname()[1]
        self.listener = listener
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def go_away(self):
        """Connections end, new ones are refused."""
        listener, self.listener = self.listener, None
        if listener:
            socket.socket.shutdown(listener, socket.SHUT_RDWR)  # wakes accept
            listener.close()
        self.cut()

    def cut(self):
        """All connections end, as if a cable were pulled for a moment."""
        with self.lock:
            for one in self.open:
                shut(one)

    def close(self):
        self.is_closed = True
        self.go_away()

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.accepted += 1
            threading.Thread(target=self.run, args=(client,), daemon=True).start()

    def run(self, client):
        self.remember(client)
        try:
            self.serve(client)
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass  # one of the two sides is gone, or we cut it
        finally:
            self.forget(client)

    def remember(self, one):
        with self.lock:
            self.open.add(one)

    def forget(self, one):
        with self.lock:
            self.open.discard(one)
        shut(one)
        one.close()

    def serve(self, client):
        raise NotImplementedError


def shut(one):
    try:
        socket.socket.shutdown(one, socket.SHUT_RDWR)  # below TLS, which another thread may be inside of
    except OSError:
        pass


class TcpProxy(Proxy):
    """Passes bytes. stall(): they wait; flow(): they go on."""

    def __init__(self, server):
        self.flowing = threading.Event()
        self.flowing.set()
        super().__init__(server)

    def stall(self):
        self.flowing.clear()

    def flow(self):
        self.flowing.set()

    def serve(self, client):
        upstream = socket.create_connection(('127.0.0.1', self.server.port))
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.remember(upstream)
        back = threading.Thread(target=self.pump, args=(upstream, client), daemon=True)
        back.start()
        self.pump(client, upstream)
        back.join()
        self.forget(upstream)

    def pump(self, source, sink):
        try:
            while True:
                data = source.recv(PIECE)
                while not self.flowing.wait(0.05):
                    if self.is_closed:
                        data = b''
                        break
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        shut(source)
        shut(sink)

    def write_kubeconfig(self, path):
        """As the server's own, by way of us."""
        with open(self.server.kubeconfig, encoding='utf-8') as file:
            text = file.read()
        assert '127.0.0.1:%d' % self.server.port in text
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text.replace('127.0.0.1:%d' % self.server.port, '127.0.0.1:%d' % self.port))


class HttpProxy(Proxy):
    """Ends TLS, reads requests. To the server it is who the server's admin is, whoever the client is; or, if it passes tokens on, who
    the client is."""

    def __init__(self, server, passes_tokens=False):
        self.faults = None
        self.passes_tokens = passes_tokens
        self.requests = []
        self.keep = threading.local()  # each client is served in a thread
        self.context = make_context(server.folder)
        self.authority = os.path.join(server.folder, 'proxy.crt')
        super().__init__(server)

    # ---- What was asked. ----

    def since(self, start, keep=lambda request: True):
        with self.lock:
            return [request for request in self.requests if request.time >= start and keep(request)]

    def writes(self, start=0):
        """Of objects; the lease is not among them: whoever leads renews it all the time."""
        return self.since(start, lambda request: request.is_write and not request.is_lease)

    def busiest(self, start):
        """(path, count): what was asked most often."""
        counts = Counter((request.method, request.path) for request in self.since(start))
        return counts.most_common(1)[0] if counts else (('', ''), 0)

    def write_kubeconfig(self, path, token='unused'):
        with open(self.authority, 'rb') as file:
            authority = base64.b64encode(file.read()).decode()
        with open(path, 'w', encoding='ascii') as file:
            file.write('''apiVersion: v1
kind: Config
current-context: proxy
contexts: [{name: proxy, context: {cluster: proxy, user: proxy}}]
clusters: [{name: proxy, cluster: {server: "https://127.0.0.1:%d", certificate-authority-data: %s}}]
users: [{name: proxy, user: {token: %s}}]
''' % (self.port, authority, token))

    # ---- Passing on. ----

    def serve(self, client):
        self.forget_plain(client)
        secure = self.context.wrap_socket(client, server_side=True)
        self.remember(secure)
        try:
            with secure.makefile('rb') as reader:
                while self.serve_one(secure, reader):
                    pass
        finally:
            self.drop_kept()
            self.forget(secure)

    def forget_plain(self, client):
        """Its descriptor goes over to the TLS socket."""
        with self.lock:
            self.open.discard(client)

    def serve_one(self, client, reader):
        request = read_request(reader)
        if not request:
            return False
        fault = self.faults and self.faults(request)
        request.was_faulted = bool(fault)
        with self.lock:
            self.requests.append(request)
        if fault:
            request.status = getattr(fault, 'status', 0)
            return fault.give(client, request, self)
        return self.forward(client, request)

    def forward(self, client, request, fault=None):
        """True: the connection may be used again."""
        upstream = self.upstream()
        raw = upstream.sock
        try:
            headers = {name: value for name, value in request.headers.items()
                       if name.lower() not in HOP_BY_HOP | {'host'} | (set() if self.passes_tokens else {'authorization'})}
            upstream.request(request.method, request.target, request.body or None, headers)
            answer = upstream.getresponse()
            request.status = answer.status
            head = 'HTTP/1.1 %d %s\r\n' % (answer.status, answer.reason) + ''.join(
                '%s: %s\r\n' % field for field in answer.getheaders() if field[0].lower() not in HOP_BY_HOP)
            if request.is_watch and answer.status == 200:
                client.sendall((head + 'Transfer-Encoding: chunked\r\n\r\n').encode())
                return relay_watch(answer, client, fault)
            body = answer.read()
            if request.is_lease:
                request.answer = body
            self.keep.upstream = None if answer.will_close else upstream
            return relay_body(body, head, client, fault)
        finally:
            if self.keep.upstream is not upstream:
                self.forget(raw)
                upstream.close()

    def upstream(self):
        """A connection to the server: the one that this client had for what it asked before, if that is still good."""
        kept = self.drop_kept(lambda kept: kept.port == self.server.port and is_open(kept))
        if kept:
            return kept
        fresh = self.server.connect(timeout=None, certificate=not self.passes_tokens)
        fresh.connect()
        self.remember(fresh.sock)
        return fresh

    def drop_kept(self, is_good=lambda kept: False):
        """Ends the connection that was kept for this client, unless it is good."""
        kept, self.keep.upstream = getattr(self.keep, 'upstream', None), None
        if kept and is_good(kept):
            return kept
        if kept:
            self.forget(kept.sock)
            kept.close()
        return None


def relay_body(body, head, client, fault):
    client.sendall((head + 'Content-Length: %d\r\n\r\n' % len(body)).encode())
    if isinstance(fault, Truncate):
        client.sendall(body[:len(body) // 2])
        return False
    client.sendall(body)
    return True


def relay_watch(answer, client, fault):
    """Event by event if they are to be counted, as they come otherwise."""
    passed = 0
    while True:
        data = answer.readline() if fault else answer.read1(PIECE)
        if not data:
            client.sendall(b'0\r\n\r\n')
            return True
        if fault and passed >= fault.after:
            if fault.polite:
                send_chunk(client, data[:len(data) // 2])
                client.sendall(b'0\r\n\r\n')
                return True
            client.sendall(b'%x\r\n%s' % (len(data), data[:len(data) // 2]))
            return False
        send_chunk(client, data)
        passed += 1


def read_request(reader):
    """None: the client has no more."""
    line = reader.readline(PIECE)
    if not line:
        return None
    method, target, _ = line.decode('latin-1').split(' ', 2)
    headers = http.client.parse_headers(reader)
    length = int(headers.get('Content-Length', 0))
    return Request(method, target, headers, reader.read(length))


def make_context(folder):
    """TLS for 127.0.0.1 with a certificate that vouches for itself."""
    key, certificate = os.path.join(folder, 'proxy.key'), os.path.join(folder, 'proxy.crt')
    if not os.path.exists(certificate):
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                        '-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=proxy',
                        '-addext', 'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(['http/1.1'])
    return context
