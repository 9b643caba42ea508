#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registries that mean harm, or are broken: reeve-fetch says what is wrong and goes nowhere it should not.

usage: hostile_registry_test.py REEVE-FETCH"""
import http.server
import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Tap  # noqa: E402
from registry_world import Fetch, Image, MANIFEST, digest_of, docker_config  # noqa: E402

SECRET = 'top$ecret'


class Handler(http.server.BaseHTTPRequestHandler):
    """The repository's name says what to do: /v2/<way>/x/…"""
    protocol_version = 'HTTP/1.1'
    image = Image({'.registry/app.yaml': b'title: x\n'})
    other = Image({'.registry/app.yaml': b'title: y\n'})

    def log_message(self, *args):
        pass

    def answer(self, status=200, body=b'', **headers):
        self.send_response(status)
        headers.setdefault('Content_Length', str(len(body)))
        for name, value in headers.items():
            if value is not None:
                self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def manifest(self, image=None, **headers):
        image = image or self.image
        headers.setdefault('Content_Type', MANIFEST)
        self.answer(200, image.manifest, **headers)

    def honest(self):
        kind, name = self.path.split('/')[-2:]
        if kind == 'manifests':
            self.manifest()
        elif name in self.image.blobs:
            self.answer(200, self.image.blobs[name])
        else:
            self.answer(404)

    def is_layer(self):
        return self.path.endswith(self.image.layer['digest'])

    def do_GET(self):
        world = self.server.world
        parts = self.path.split('?')[0].split('/')
        way = parts[2] if len(parts) > 2 else ''
        world.seen.append((way, self.command, dict(self.headers)))
        try:
            getattr(self, 'way_' + way.replace('-', '_'), self.honest)()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    # ---- Silence and noise. ----

    def way_hangs(self):
        self.server.world.stop.wait(60)

    def way_stutters(self):
        self.send_response(200)
        self.end_headers()
        while not self.server.world.stop.wait(0.2):
            self.wfile.write(b' ')
            self.wfile.flush()

    def way_endless(self):
        self.send_response(200)
        self.send_header('Content-Type', MANIFEST)
        self.end_headers()
        while not self.server.world.stop.is_set():
            self.wfile.write(b' ' * 65536)

    def way_endless_blob(self):
        if not self.is_layer():
            return self.honest()
        self.send_response(200)
        self.end_headers()
        while not self.server.world.stop.is_set():
            self.wfile.write(b'\0' * 65536)

    def way_headers(self):
        self.send_response(200)
        for i in range(3000):
            self.send_header('X-%d' % i, 'x' * 60)
        self.end_headers()

    def way_garbage(self):
        self.wfile.write(b'\x16\x03\x01 this is not http\r\n\r\n')
        self.close_connection = True

    # ---- Lies. ----

    def way_short(self):
        if self.is_layer():
            self.answer(200, self.image.blobs[self.image.layer['digest']][:-5],
                        Content_Length=str(self.image.layer['size']))
            self.close_connection = True
        else:
            self.honest()

    def way_breaks(self):
        """Breaks off in the middle, and goes on when asked to."""
        data = self.image.blobs[self.image.layer['digest']]
        if not self.is_layer():
            self.honest()
        elif self.headers.get('Range') == 'bytes=50-':
            self.answer(206, data[50:], Content_Range='bytes 50-%d/%d' % (len(data) - 1, len(data)))
        else:
            self.answer(200, data[:50], Content_Length=str(len(data)))
            self.close_connection = True

    def way_begins_again(self):
        """Breaks off, and answers a range with all of it."""
        data = self.image.blobs[self.image.layer['digest']]
        if not self.is_layer():
            self.honest()
        elif self.headers.get('Range'):
            self.answer(200, data)
        else:
            self.answer(200, data[:50], Content_Length=str(len(data)))
            self.close_connection = True

    def way_wrong_digest(self):
        self.manifest(Docker_Content_Digest='sha256:%064d' % 0) if 'manifests' in self.path else self.honest()

    def way_wrong_manifest(self):
        self.manifest(self.other)

    def way_wrong_blob(self):
        if self.is_layer():
            self.answer(200, b'x' * self.image.layer['size'])
        else:
            self.honest()

    def way_moves(self):
        """The tag stands for something else each time; digests for what they are."""
        if self.path.endswith('/manifests/1'):
            self.server.world.moved += 1
            image = self.image if self.server.world.moved % 2 else self.other
            self.manifest(image, Docker_Content_Digest=image.digest)
        else:
            name = self.path.split('/')[-1]
            self.answer(200, {**self.image.blobs, **self.other.blobs}[name])

    def way_zipped(self):
        self.manifest(Content_Encoding='gzip')

    def way_page(self):
        self.answer(200, b'<html>log in</html>', Content_Type='text/html')

    # ---- Refusals. ----

    def way_fails(self):
        self.answer(500, b'{"errors":[{"code":"UNKNOWN","message":"disk \\u001b[31m full\\n"}]}')

    def way_busy(self):
        self.answer(429, b'', Retry_After='0')

    def way_busy_for_long(self):
        self.answer(503, b'', Retry_After='100000')

    def way_recovers(self):
        world = self.server.world
        world.failures += 1
        self.honest() if world.failures > 2 else self.answer(503, b'', Retry_After='0')

    def way_asks_forever(self):
        self.answer(401, b'', WWW_Authenticate='Basic realm="x"')

    def way_asks_for_tokens_forever(self):
        self.answer(401, b'', WWW_Authenticate='Bearer realm="http://127.0.0.1:%d/v2/gives/token"'
                    % self.server.server_address[1])

    def way_gives(self):
        self.answer(200, b'{"token":"t0ken"}')

    def way_asks_elsewhere(self):
        self.answer(401, b'', WWW_Authenticate='Bearer realm="http://10.1.2.3:%d/token"' % self.server.server_address[1])

    def way_asks_nonsense(self):
        self.answer(401, b'', WWW_Authenticate='Bearer realm="')

    # ---- Elsewhere. ----

    def send_on(self, where):
        self.answer(307, b'', Location=where)

    def way_round(self):
        self.send_on(self.path)

    def way_plain(self):
        self.send_on('http://93.184.216.34:%d/x' % self.server.server_address[1])

    def way_port(self):
        self.send_on('http://127.0.0.1:%d/x' % self.server.world.trap_port)

    def way_metadata(self):
        self.send_on('https://169.254.169.254/latest/meta-data')

    def way_file(self):
        self.send_on('file:///etc/passwd')

    def way_user(self):
        self.send_on('http://a:b@127.0.0.1:%d/x' % self.server.server_address[1])

    def way_nowhere(self):
        self.answer(302, b'')

    def way_other_name(self):
        """The same machine by another name: blobs may come from there, credentials may not go there."""
        if 'Authorization' not in self.headers:
            self.answer(401, b'', WWW_Authenticate='Basic realm="x"')
        elif self.is_layer():
            self.send_on('http://localhost:%d%s' % (self.server.server_address[1], self.path.replace('other-name', 'landed')))
        else:
            self.honest()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # those we are bad to hang up


class World:
    def __init__(self, program):
        self.fetch = Fetch(program)
        self.seen, self.moved, self.failures = [], 0, 0
        self.stop = threading.Event()
        self.server = Server(('127.0.0.1', 0), Handler)
        self.server.world = self
        self.host = '127.0.0.1:%d' % self.server.server_address[1]
        self.trap = socket.create_server(('127.0.0.1', 0))
        self.trap.setblocking(False)
        self.trap_port = self.trap.getsockname()[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def ask(self, way, **more):
        more.setdefault('auths', [docker_config(self.host, 'robot', SECRET)])
        answer = self.fetch('%s/%s/x:1' % (self.host, way), **more)
        text = json.dumps(answer.lines)
        assert SECRET not in text and 't0ken' not in text and 'Basic ' not in text, text
        assert all(ord(c) >= 32 for line in answer.lines if 'error' in line for c in line['error']['message']), text
        return answer

    def count(self, way):
        return sum(1 for seen, _, _ in self.seen if seen == way)

    def end(self):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()
        self.trap.close()


# way: reason, texts, whether to try again, further options
BAD = {
    'hangs': ('PullFailed', ('imed out',), True, {'timeout': 0.5}),
    'stutters': ('PullFailed', ('imed out',), True, {'timeout': 1}),
    'endless': ('InvalidPackage', ('more than 4194304 bytes',), False, {}),
    'endless-blob': ('InvalidPackage', (), False, {}),
    'headers': ('PullFailed', ('more than 65536 bytes of headers',), False, {}),
    'garbage': ('PullFailed', ('127.0.0.1',), None, {}),
    'short': ('PullFailed', ('127.0.0.1',), True, {}),
    'begins-again': ('PullFailed', ('broke off, and cannot go on where it was',), True, {}),
    'wrong-digest': ('PullFailed', ('not the one that Docker-Content-Digest speaks of',), False, {}),
    'wrong-blob': ('InvalidPackage', (), False, {}),
    'zipped': ('PullFailed', ('Content-Encoding that nobody asked for',), False, {}),
    'page': ('InvalidPackage', (), False, {}),
    'fails': ('PullFailed', ('answered 500 Server Error: disk  [31m full',), True, {}),
    'busy': ('PullFailed', ('answered 429 Too Many Requests',), True, {}),
    'busy-for-long': ('PullFailed', ('answered 503',), True, {'timeout': 2}),
    'asks-forever': ('PullFailed', ('answered 401 Unauthorized',), False, {}),
    'asks-for-tokens-forever': ('PullFailed', ('answered 401 Unauthorized',), False, {}),
    'asks-elsewhere': ('PullFailed', ('names a token service: 10.1.2.3: plain http is spoken on this machine only',), False, {}),
    'asks-nonsense': ('PullFailed', ('asks for nothing we understand',), False, {}),
    'round': ('PullFailed', ('sends us on more than 5 times',), False, {}),
    'plain': ('PullFailed', ('sends us on: 93.184.216.34: plain http is spoken on this machine only',), False, {}),
    'port': ('PullFailed', ('sends us on: 127.0.0.1: port %d is neither',), False, {}),
    'metadata': ('PullFailed', ('169.254.169.254 is at an address that may not be connected to',), False, {}),
    'file': ('PullFailed', ('sends us on',), False, {}),
    'user': ('PullFailed', ('an address with a user in it is not used',), False, {}),
    'nowhere': ('PullFailed', ('sends us on: to no address',), False, {}),
}


def refused(world, way):
    reason, texts, retry, more = BAD[way]
    texts = [text % world.trap_port if '%d' in text else text for text in texts]
    answer = world.ask(way, **more).bad(reason, *texts, retry=retry)
    assert len(answer.lines) == 1, answer.lines  # not a line of the package before all of it was verified
    try:
        world.trap.accept()
        raise AssertionError('somebody was sent into the trap')
    except BlockingIOError:
        pass


def honest(world):
    world.ask('honest').good(Handler.image.digest)


def mends(world):
    world.ask('breaks').good(Handler.image.digest)
    assert world.count('breaks') == 4, world.seen  # manifest, config, and the layer in two parts
    world.ask('recovers').good(Handler.image.digest)


def bounded(world):
    for way, calls in (('fails', 3), ('busy', 3), ('asks-forever', 2), ('asks-for-tokens-forever', 2), ('round', 6)):
        before = world.count(way)
        world.ask(way)
        assert world.count(way) - before == calls, (way, world.count(way) - before)


def moving_tag(world):
    for _ in range(2):
        first = world.ask('moves', op='resolve').good().digest
        second = world.ask('moves').good()
        assert first != second.digest
        title = second.lines[1]['document']['title']
        assert (title == 'x') == (second.digest == Handler.image.digest), second.lines


def other_manifest(world):
    digest = Handler.image.digest
    answer = world.fetch('%s/wrong-manifest/x@%s' % (world.host, digest))
    answer.bad('InvalidPackage', retry=False)
    assert digest_of(Handler.other.manifest) != digest


def credentials_stay(world):
    world.ask('other-name').good(Handler.image.digest)
    landed = [headers for way, _, headers in world.seen if way == 'landed']
    assert len(landed) == 1 and 'Authorization' not in landed[0], landed


def main():
    tap = Tap()
    world = World(sys.argv[1])
    try:
        tap.run('an honest registry', honest, world)
        for way in BAD:
            tap.run('a registry that is bad: ' + way, refused, world, way)
        tap.run('what breaks off goes on', mends, world)
        tap.run('nothing is asked without end', bounded, world)
        tap.run('a tag that moves is taken once', moving_tag, world)
        tap.run('another manifest than the one asked for', other_manifest, world)
        tap.run('credentials are not sent on', credentials_stay, world)
    finally:
        world.end()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
