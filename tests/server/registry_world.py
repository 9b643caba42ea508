# SPDX-License-Identifier: Apache-2.0
"""Images, a real registry, a token service, and reeve-fetch: for the tests of what is between them."""
import base64
import ctypes
import errno
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.parse

INDEX = 'application/vnd.oci.image.index.v1+json'
MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
CONFIG = 'application/vnd.oci.image.config.v1+json'
LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip'
SANITIZER = re.compile(r'ERROR: \w+Sanitizer|runtime error:|Assertion .* failed')


def digest_of(data):
    return 'sha256:' + hashlib.sha256(data).hexdigest()


class Image:
    """One image in memory: blobs by digest, and the manifest."""

    def __init__(self, files, architecture='amd64'):
        self.blobs = {}
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode='w') as tar:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        config = {'architecture': architecture, 'os': 'linux', 'config': {},
                  'rootfs': {'type': 'layers', 'diff_ids': [digest_of(raw.getvalue())]}}
        self.layer = self.put(gzip.compress(raw.getvalue(), mtime=0), LAYER)
        self.manifest = json.dumps({'schemaVersion': 2, 'mediaType': MANIFEST, 'layers': [self.layer],
                                    'config': self.put(json.dumps(config).encode(), CONFIG)}).encode()
        self.digest = digest_of(self.manifest)

    def put(self, data, media_type):
        self.blobs[digest_of(data)] = data
        return {'mediaType': media_type, 'digest': digest_of(data), 'size': len(data)}

    def write_layout(self, path, name, *others):
        """An OCI layout of this image; with others, of an index of all of them."""
        os.makedirs(os.path.join(path, 'blobs', 'sha256'))
        blobs = {}
        for image in (self, *others):
            blobs.update(image.blobs)
            blobs[image.digest] = image.manifest
        what, media_type = self.manifest, MANIFEST
        if others:
            what = json.dumps({'schemaVersion': 2, 'mediaType': INDEX, 'manifests': [
                {'mediaType': MANIFEST, 'digest': image.digest, 'size': len(image.manifest),
                 'platform': {'os': 'linux', 'architecture': architecture}}
                for image, architecture in zip((*others, self), ('arm64', 'amd64'))]}).encode()
            media_type = INDEX
            blobs[digest_of(what)] = what
        for digest, data in blobs.items():
            with open(os.path.join(path, 'blobs', 'sha256', digest[7:]), 'wb') as file:
                file.write(data)
        top = {'mediaType': media_type, 'digest': digest_of(what), 'size': len(what),
               'annotations': {'org.opencontainers.image.ref.name': name}}
        with open(os.path.join(path, 'index.json'), 'w', encoding='ascii') as file:
            json.dump({'schemaVersion': 2, 'manifests': [top]}, file)
        with open(os.path.join(path, 'oci-layout'), 'w', encoding='ascii') as file:
            file.write('{"imageLayoutVersion":"1.0.0"}')
        return digest_of(what)


class Answer:
    """What reeve-fetch printed."""

    def __init__(self, text):
        self.lines = [json.loads(line) for line in text.splitlines()]
        self.error = self.lines[-1].get('error')
        self.digest = None if self.error else self.lines[0]['manifest']['digest']
        self.files = {line['path'] for line in self.lines if 'path' in line}

    def good(self, digest=None):
        assert not self.error, self.error
        assert 'end' in self.lines[-1], self.lines[-1]
        assert digest in (None, self.digest), (digest, self.digest)
        return self

    def bad(self, reason, *texts, retry=None):
        assert self.error, 'it went well: %s' % self.lines[0]
        assert self.error['reason'] == reason, self.error
        for text in texts:
            assert text in self.error['message'], (text, self.error['message'])
        assert retry in (None, self.error['retry']), self.error
        return self


class Fetch:
    def __init__(self, program):
        self.program = program

    def __call__(self, reference, op='pull', policy='Always', timeout=20, preexec=None, **more):
        request = {'op': op, 'policy': policy, 'reference': reference, 'timeoutNanoseconds': int(timeout * 1e9), **more}
        done = subprocess.run([self.program], input=json.dumps(request).encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=100, check=False, preexec_fn=preexec)
        complaints = done.stderr.decode('utf-8', 'replace')
        assert done.returncode == 0 and not complaints, (done.returncode, complaints)
        return Answer(done.stdout)


def bcrypt(password):
    """docker-registry takes nothing else; perl has the crypt of the C library."""
    return subprocess.run(['perl', '-e', 'print crypt($ARGV[0], q($2b$05$abcdefghijklmnopqrstuu))', password],
                          check=True, stdout=subprocess.PIPE).stdout.decode()


def htpasswd(folder, user, password):
    """What docker-registry's basic authentication is told."""
    path = os.path.join(folder, 'htpasswd')
    with open(path, 'w', encoding='ascii') as file:
        file.write('%s:%s\n' % (user, bcrypt(password)))
    return {'htpasswd': {'realm': 'here', 'path': path}}


def without_landlock():
    """To be run in a new process: for it, and all it runs, the kernel has none. The call has this number everywhere."""
    class Program(ctypes.Structure):
        _fields_ = [('n', ctypes.c_ushort), ('p', ctypes.c_char_p)]
    landlock_create_ruleset, allow, fail = 444, 0x7fff0000, 0x00050000
    code = b''.join(struct.pack('=HBBI', *row) for row in (
        (0x20, 0, 0, 0), (0x15, 0, 1, landlock_create_ruleset), (0x06, 0, 0, fail | errno.ENOSYS), (0x06, 0, 0, allow)))
    libc = ctypes.CDLL(None)
    set_no_new_privs, set_seccomp, filtered = 38, 22, 2
    assert libc.prctl(set_no_new_privs, 1, 0, 0, 0) == 0
    assert libc.prctl(set_seccomp, filtered, ctypes.byref(Program(4, code)), 0, 0) == 0


def docker_config(registry, user, password):
    pair = base64.b64encode(('%s:%s' % (user, password)).encode()).decode()
    return json.dumps({'auths': {registry: {'auth': pair}}})


def free_port():
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        return sock.getsockname()[1]


class Authority:
    """A CA, and what it certifies."""

    KEY = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes')

    def __init__(self, folder, name='test'):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.trust = self.path('trust')  # as skopeo wants it: a folder with nothing else in it
        os.mkdir(self.trust)
        self.file, self.key = os.path.join(self.trust, 'ca.crt'), self.path('ca.key')
        self.openssl('req', '-x509', *self.KEY, '-keyout', self.key, '-out', self.file, '-subj', '/CN=' + name, '-days', '2')

    def path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def openssl(*args):
        done = subprocess.run(['openssl', *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout.decode()

    def certify(self, name, names='DNS:localhost,IP:127.0.0.1', days=2):
        """(certificate, key): files. Less than no days: it has expired."""
        cert, key, request, more = (self.path(name + end) for end in ('.pem', '.key', '.csr', '.cnf'))
        with open(more, 'w', encoding='ascii') as file:
            file.write('subjectAltName=%s\n' % names)
        self.openssl('req', '-new', *self.KEY, '-keyout', key, '-out', request, '-subj', '/CN=' + name)
        self.openssl('x509', '-req', '-in', request, '-CA', self.file, '-CAkey', self.key, '-CAcreateserial', '-extfile', more,
                     '-days', str(days), '-out', cert)
        return cert, key


class Registry:
    """docker-registry on loopback; with a certificate and its key over TLS."""

    def __init__(self, folder, auth=None, tls=None):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.port = free_port()
        self.host = '127.0.0.1:%d' % self.port
        config = {'version': 0.1, 'log': {'level': 'error', 'accesslog': {'disabled': True}},
                  'storage': {'filesystem': {'rootdirectory': os.path.join(self.folder, 'data')}},
                  'http': {'addr': self.host, 'secret': 'x'}}
        if tls:
            config['http']['tls'] = {'certificate': tls[0], 'key': tls[1]}
        if auth:
            config['auth'] = auth
        path = os.path.join(self.folder, 'config.yml')
        with open(path, 'w', encoding='ascii') as file:
            json.dump(config, file)  # which is YAML
        self.log = open(os.path.join(self.folder, 'log'), 'wb')
        self.process = subprocess.Popen(['docker-registry', 'serve', path], stdout=self.log, stderr=self.log)
        while True:
            try:
                socket.create_connection(('127.0.0.1', self.port)).close()
                return
            except ConnectionRefusedError:
                assert self.process.poll() is None, open(self.log.name, encoding='utf-8').read()
                time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def skopeo(*args):
    done = subprocess.run(['skopeo', '--insecure-policy', *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=60)
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout


class TlsServer(http.server.ThreadingHTTPServer):
    """Handshakes are done by the thread of the connection, so that one that fails is nobody else's matter."""

    daemon_threads = True

    def __init__(self, handler, tls=None):
        super().__init__(('127.0.0.1', 0), handler)
        self.port = self.server_address[1]
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass  # who does not trust us hangs up

    def stop(self):
        self.shutdown()
        self.server_close()


class TokenService:
    """What docker-registry's token authentication wants: tokens signed by a key whose certificate it knows."""

    USER, PASSWORD, IDENTITY = 'robot', 'top$ecret', 'ref resh+token'

    def __init__(self, folder, tls=None):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.key, self.cert = os.path.join(self.folder, 'key.pem'), os.path.join(self.folder, 'cert.pem')
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', self.key, '-out', self.cert,
                        '-subj', '/CN=tokens', '-days', '2'], check=True, stderr=subprocess.DEVNULL)
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
                want = 'Basic ' + base64.b64encode(('%s:%s' % (outer.USER, outer.PASSWORD)).encode()).decode()
                given = self.headers.get('Authorization')
                outer.asked.append((given is not None, query))
                self.answer(given == want, 'token', query)

            def do_POST(self):
                """OAuth2: a refresh token is changed for an access token."""
                length = int(self.headers['Content-Length'])
                query = urllib.parse.parse_qs(self.rfile.read(length).decode(), strict_parsing=True)
                outer.asked.append(('Authorization' in self.headers, query))
                is_form = self.headers['Content-Type'] == 'application/x-www-form-urlencoded'
                self.answer(is_form and query['grant_type'] == ['refresh_token'] and 'client_id' in query and
                            query['refresh_token'] == [outer.IDENTITY], 'access_token', query)

            def answer(self, allowed, name, query):
                self.send_response(200 if allowed else 401)
                self.end_headers()
                if allowed:
                    self.wfile.write(json.dumps({name: outer.sign(query)}).encode())
                else:
                    self.wfile.write(b'{"errors":[{"code":"DENIED","message":"who are you?"}]}')

        self.server = TlsServer(Handler, tls)
        self.port = self.server.port
        self.scheme = 'https' if tls else 'http'

    def auth(self):
        return {'token': {'realm': '%s://127.0.0.1:%d/token' % (self.scheme, self.port), 'service': 'registry',
                          'issuer': 'tokens', 'rootcertbundle': self.cert}}

    def sign(self, query):
        def encode(data):
            return base64.urlsafe_b64encode(data).rstrip(b'=')
        der = subprocess.run(['openssl', 'x509', '-in', self.cert, '-outform', 'DER'], check=True,
                             stdout=subprocess.PIPE).stdout
        kind, name, actions = query['scope'][0].split(':')
        header = {'typ': 'JWT', 'alg': 'RS256', 'x5c': [base64.b64encode(der).decode()]}
        now = int(time.time())
        claims = {'iss': 'tokens', 'aud': query['service'][0], 'sub': self.USER, 'iat': now, 'nbf': now - 10,
                  'exp': now + 300, 'jti': '1',
                  'access': [{'type': kind, 'name': name, 'actions': actions.split(',')}]}
        text = encode(json.dumps(header).encode()) + b'.' + encode(json.dumps(claims).encode())
        signature = subprocess.run(['openssl', 'dgst', '-sha256', '-sign', self.key], input=text, check=True,
                                   stdout=subprocess.PIPE).stdout
        return (text + b'.' + encode(signature)).decode()

    def stop(self):
        self.server.stop()


class Folder:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix='reeve-registry-')
        return self.path

    def __exit__(self, *args):
        shutil.rmtree(self.path, ignore_errors=True)
