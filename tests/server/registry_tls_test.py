#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registries over TLS: whose certificates are taken, and that nothing is said to anybody else.

usage: registry_tls_test.py REEVE REEVE-FETCH"""
import base64
import http.server
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402
from registry_world import (MANIFEST, Authority, Fetch, Folder, Image, Registry, TlsServer, TokenService,  # noqa: E402
                            docker_config, htpasswd, skopeo)

USER, PASSWORD = 'robot', 'top$ecret'
BASIC = 'Basic ' + base64.b64encode(b'robot:top$ecret').decode()
APP = b'title: WordPress\nversion: "1.0"\npermissionScope: Namespaced\n'
PATIENCE = 60


class Recorder(http.server.BaseHTTPRequestHandler):
    """A registry that wants a password from everybody, and writes down what it is told."""
    image = Image({'.registry/app.yaml': APP})

    def log_message(self, *args):
        pass

    def answer(self, status, body=b'', **headers):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        given = self.headers.get('Authorization')
        self.server.seen.append((self.path, given))
        if given is None and self.server.challenge:
            self.answer(401, WWW_Authenticate=self.server.challenge)
        elif self.server.location:
            self.answer(307, Location=self.server.location)
        elif '/manifests/' in self.path:
            self.answer(200, self.image.manifest, Content_Type=MANIFEST)
        else:
            self.answer(200, self.image.blobs[self.path.split('/')[-1]])


class Peer(TlsServer):
    def __init__(self, tls, challenge='Basic realm="x"', location=None):
        self.seen, self.challenge, self.location = [], challenge, location
        super().__init__(Recorder, tls)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.stop()


def by_https(host):
    """The option that makes a registry of this machine one of TLS."""
    return {'mirrors': [{'prefix': host, 'location': 'https://' + host}]}


class Tests:
    def __init__(self, reeve, program, folder):
        self.reeve, self.fetch, self.folder = reeve, Fetch(program), folder
        self.ca, self.stranger = Authority(folder), Authority(folder, 'stranger')
        self.good = self.ca.certify('good')
        self.image = Image({'.registry/app.yaml': APP})
        self.layout = os.path.join(folder, 'image')
        self.image.write_layout(self.layout, 'one')
        self.registries, self.basic, self.auths = [], None, []

    def begin(self):
        self.basic = self.registry(htpasswd(self.folder, USER, PASSWORD))
        for name in ('one', 'basic'):
            self.push(self.basic, '127.0.0.1', name)
        self.auths = [docker_config('127.0.0.1:%d' % self.basic.port, USER, PASSWORD),
                      docker_config('localhost:%d' % self.basic.port, USER, PASSWORD)]

    def registry(self, auth):
        self.registries.append(Registry(self.folder, auth, self.good))
        return self.registries[-1]

    def push(self, registry, host, name='one'):
        skopeo('copy', '--dest-cert-dir', self.ca.trust, '--dest-creds', '%s:%s' % (USER, PASSWORD), 'oci:' + self.layout,
               'docker://%s:%d/acme/%s:1.0' % (host, registry.port, name))

    def end(self):
        for registry in self.registries:
            registry.stop()

    def ask(self, host, ca=None, **more):
        more = {**by_https(host), **more}
        if ca:
            more['caFile'] = ca
        answer = self.fetch(host + '/acme/one:1.0', **more)
        for secret in (PASSWORD, 'Basic ', BASIC):
            assert secret not in json.dumps(answer.lines), answer.lines
        return answer

    # ---- Registries we trust. ----

    def by_address_and_by_name(self):
        """localhost is looked up in /etc/hosts, inside the sandbox."""
        for name in ('127.0.0.1', 'localhost'):
            host = '%s:%d' % (name, self.basic.port)
            self.ask(host, self.ca.file, auths=self.auths).good(self.image.digest)
            self.ask(host, self.ca.file).bad('PullFailed', 'there are no credentials for it', retry=False)
            wrong = docker_config(host, USER, 'wr0ng')
            self.ask(host, self.ca.file, auths=[wrong]).bad('PullFailed', host + ' answered 401', retry=False)

    def by_one_of_several_authorities(self):
        both = os.path.join(self.folder, 'both.pem')
        with open(both, 'w', encoding='ascii') as file:
            file.write('# a remark\n')
            for authority in (self.stranger, self.ca):
                file.write(open(authority.file, encoding='ascii').read())
        self.ask('localhost:%d' % self.basic.port, both, auths=self.auths).good(self.image.digest)

    def by_token(self):
        service = TokenService(self.folder, self.good)
        registry = self.registry(service.auth())
        try:
            self.push(registry, '127.0.0.1')
            host = 'localhost:%d' % registry.port
            right = {'auths': [docker_config(host, USER, PASSWORD)], 'ports': [service.port]}
            self.ask(host, self.ca.file, **right).good(self.image.digest)
            identity = json.dumps({'auths': {host: {'identitytoken': service.IDENTITY}}})
            self.ask(host, self.ca.file, auths=[identity], ports=[service.port]).good(self.image.digest)
        finally:
            service.stop()

    # ---- Those we do not. ----

    def refused(self, tls, ca, *texts, name='localhost'):
        with Peer(tls) as peer:
            host = '%s:%d' % (name, peer.port)
            self.ask(host, ca, auths=[docker_config(host, USER, PASSWORD)]).bad('PullFailed', name + ': ', *texts, retry=False)
            assert peer.seen == [], peer.seen

    def the_recorder_would_be_told(self):
        """What makes the checks below mean something."""
        with Peer(self.good) as peer:
            host = 'localhost:%d' % peer.port
            self.ask(host, self.ca.file, auths=[docker_config(host, USER, PASSWORD)]).good(self.image.digest)
            assert [given for _, given in peer.seen] == [None] + [BASIC] * 3, peer.seen

    def of_a_stranger(self):
        self.refused(self.stranger.certify('theirs'), self.ca.file, 'certificate', 'unable to get local issuer certificate')

    def of_another_name(self):
        self.refused(self.ca.certify('elsewhere', 'DNS:registry.example.org'), self.ca.file, 'certificate', "'localhost'")
        self.refused(self.ca.certify('named', 'DNS:localhost'), self.ca.file, 'certificate', "'127.0.0.1'", name='127.0.0.1')
        self.refused(self.ca.certify('localhost', 'IP:127.0.0.1'), self.ca.file, 'certificate', "'localhost'")

    def expired(self):
        self.refused(self.ca.certify('old', days=-1), self.ca.file, 'certificate has expired')

    def signed_by_itself(self):
        self.refused((self.stranger.file, self.stranger.key), self.ca.file, 'self-signed certificate')

    def by_the_systems_authorities(self):
        """Nobody's but the system's are used when none are given: they do not know ours."""
        self.refused(self.good, None, 'unable to get local issuer certificate')

    def files_that_hold_no_certificates(self):
        host = 'localhost:%d' % self.basic.port
        self.ask(host, os.path.join(self.folder, 'none.pem')).bad('PullFailed', 'none.pem: No such file or directory')
        empty = os.path.join(self.folder, 'empty.pem')
        with open(empty, 'w', encoding='ascii'):
            pass
        self.ask(host, empty).bad('PullFailed', 'there are no certificates to trust for https', retry=False)
        self.ask(host, self.ca.key).bad('PullFailed', 'localhost: ', retry=False)

    # ---- From one to the other. ----

    def https_stays_https(self):
        """Neither a redirect nor a token service leads to plain http, though it would be allowed on this machine."""
        with socket.create_server(('127.0.0.1', 0)) as trap:
            trap.setblocking(False)
            plain = 'http://127.0.0.1:%d/x' % trap.getsockname()[1]
            right = {'ports': [trap.getsockname()[1]]}
            with Peer(self.good, location=plain) as peer:
                host = 'localhost:%d' % peer.port
                self.ask(host, self.ca.file, auths=[docker_config(host, USER, PASSWORD)], **right).bad(
                    'PullFailed', 'sends us on from https to plain http', retry=False)
            with Peer(self.good, 'Bearer realm="%s"' % plain) as peer:
                host = 'localhost:%d' % peer.port
                self.ask(host, self.ca.file, auths=[docker_config(host, USER, PASSWORD)], **right).bad(
                    'PullFailed', 'names a token service that speaks plain http', retry=False)
                assert [given for _, given in peer.seen] == [None], peer.seen
            try:
                trap.accept()
                raise AssertionError('it was connected to')
            except BlockingIOError:
                pass

    def sent_on_to_a_stranger(self):
        """A redirect is checked like the first address."""
        with Peer(self.stranger.certify('behind')) as behind:
            with Peer(self.good, location='https://localhost:%d/x' % behind.port) as peer:
                host = 'localhost:%d' % peer.port
                self.ask(host, self.ca.file, auths=[docker_config(host, USER, PASSWORD)], ports=[behind.port]).bad(
                    'PullFailed', 'unable to get local issuer certificate', retry=False)
            assert behind.seen == [], behind.seen

    def the_wrong_language(self):
        host = '127.0.0.1:%d' % self.basic.port
        self.fetch(host + '/acme/one:1.0', caFile=self.ca.file).bad('PullFailed', host + ' answered 400')
        with Peer(None) as peer:
            host = 'localhost:%d' % peer.port
            self.ask(host, self.ca.file, auths=[docker_config(host, USER, PASSWORD)]).bad('PullFailed', 'localhost: ')
            assert peer.seen == [], peer.seen

    # ---- reeve package and reeve up. ----

    def package(self, *args, code=0):
        host = 'localhost:%d' % self.basic.port
        auth = os.path.join(self.folder, 'config.json')
        with open(auth, 'w', encoding='ascii') as file:
            file.write(docker_config(host, USER, PASSWORD))
        done = subprocess.run([self.reeve, 'package', *args, '--auth-file', auth, '--mirror', '%s=https://%s' % (host, host)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        assert done.returncode == code, (done.returncode, done.stdout)
        assert PASSWORD not in done.stdout.decode()
        return done.stdout.decode()

    def pushed_and_pulled(self):
        name = 'localhost:%d/acme/pushed:1.0' % self.basic.port
        store, back = os.path.join(self.folder, 'store'), os.path.join(self.folder, 'back')
        self.image.write_layout(store, name)
        assert 'certificate' in self.package('push', name, '--store', store, code=1)
        assert self.image.digest in self.package('push', name, '--store', store, '--ca-file', self.ca.file)
        assert 'certificate' in self.package('pull', name, '--store', back, '--ca-file', self.stranger.file, code=1)
        assert self.image.digest in self.package('pull', name, '--store', back, '--ca-file', self.ca.file)

    def wait_for(self, server, name, wanted, text=''):
        """Until the condition Ready of an install has this reason or status, and its message this text; returns that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            status, install = server.ask(
                'GET', '/apis/packages.crossplane.io/v1alpha1/namespaces/default/packageinstalls/' + name)
            assert status == 200, install
            for condition in install.get('status', {}).get('conditions', []):
                message = condition['message']
                if condition['type'] == 'Ready' and wanted in (condition['reason'], condition['status']) and text in message:
                    return message
            time.sleep(0.05)
        raise AssertionError('%s is not %s: %s' % (name, wanted, install))

    def tell_password(self, server, method, name, registry, password):
        secret = {'metadata': {'name': name}, 'type': 'kubernetes.io/dockerconfigjson', 'stringData': {
            '.dockerconfigjson': docker_config('localhost:%d' % registry.port, USER, password)}}
        status, body = server.ask(method, '/api/v1/namespaces/default/secrets' + ('/' + name if method == 'PUT' else ''), secret)
        assert status in (200, 201), body

    def install(self, server, name, registry, password=PASSWORD):
        host = 'localhost:%d' % registry.port
        self.tell_password(server, 'POST', name, registry, password)
        status, body = server.ask('POST', '/apis/packages.crossplane.io/v1alpha1/namespaces/default/packageinstalls', {
            'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': 'PackageInstall', 'metadata': {'name': name},
            'spec': {'package': '%s/acme/%s:1.0' % (host, name), 'imagePullSecrets': [{'name': name}]}})
        assert status == 201, body

    def installed(self):
        """By reeve up: refused while the CA is not trusted, and while the token service may not be connected to, and
        while the password is wrong."""
        service = TokenService(self.folder, self.good)
        registries = {'basic': self.basic, 'token': self.registry(service.auth())}
        self.push(registries['token'], '127.0.0.1', 'token')
        flags = []
        for registry in registries.values():
            flags += ['--package-mirror', '%s=https://%s' % (('localhost:%d' % registry.port,) * 2)]
        server = Server(self.reeve)
        try:
            server.start(None, *flags)
            for name, registry in registries.items():
                self.install(server, name, registry)
                message = self.wait_for(server, name, 'PullFailed')
                assert 'certificate' in message and PASSWORD not in message, message
            server.stop()
            flags += ['--registry-ca', self.ca.file]
            server.start(None, *flags)
            self.wait_for(server, 'basic', 'True')
            self.wait_for(server, 'token', 'PullFailed', 'port %d is neither' % service.port)
            self.install(server, 'one', self.basic, 'wr0ng')
            self.wait_for(server, 'one', 'PullFailed', '401 Unauthorized')
            self.tell_password(server, 'PUT', 'one', self.basic, PASSWORD)  # the install itself stays as it is
            self.wait_for(server, 'one', 'True')
            server.stop()
            server.start(None, *flags, '--registry-port', str(service.port))
            self.wait_for(server, 'token', 'True')
            server.stop()
        finally:
            server.remove()
            service.stop()


def main():
    tap = Tap()
    with Folder() as folder:
        tests = Tests(sys.argv[1], sys.argv[2], folder)
        try:
            tests.begin()
            for name in ('by_address_and_by_name', 'by_one_of_several_authorities', 'by_token', 'the_recorder_would_be_told',
                         'of_a_stranger', 'of_another_name', 'expired', 'signed_by_itself', 'by_the_systems_authorities',
                         'files_that_hold_no_certificates', 'https_stays_https', 'sent_on_to_a_stranger', 'the_wrong_language',
                         'pushed_and_pulled', 'installed'):
                tap.run(name.replace('_', ' '), getattr(tests, name))
        finally:
            tests.end()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
