#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reeve-fetch and reeve package with a real registry, filled and read by skopeo.

usage: registry_test.py REEVE REEVE-FETCH"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402
from registry_world import (Fetch, Folder, Image, Registry, TokenService, digest_of, docker_config,  # noqa: E402
                            htpasswd, skopeo, without_landlock)

APP = b'title: WordPress\nversion: "1.0"\n'
FILES = {'.registry/app.yaml': APP, '.registry/icon.svg': b'<svg/>', 'bin/controller': b'\x7fELF'}


class Tests:
    def __init__(self, reeve, program, folder):
        self.reeve, self.fetch, self.folder = reeve, Fetch(program), folder
        self.image = Image(FILES)
        self.layout = os.path.join(folder, 'image')
        self.image.write_layout(self.layout, 'one')
        self.several = os.path.join(folder, 'several')
        self.index_digest = self.image.write_layout(self.several, 'several', Image({'x': b'y'}, 'arm64'))
        self.registry = Registry(folder)

    def push(self, host, name, layout=None, *more):
        skopeo('copy', '--all', '--dest-tls-verify=false', *more, 'oci:%s' % (layout or self.layout),
               'docker://%s/%s' % (host, name))

    def run(self, *args, code=0):
        done = subprocess.run([self.reeve, 'package', *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={'XDG_DATA_HOME': os.path.join(self.folder, 'share'), 'PATH': os.environ['PATH']},
                              timeout=60, check=False)
        assert done.returncode == code, (done.returncode, done.stderr)
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    # ---- Without authentication. ----

    def by_tag_and_digest(self):
        host = self.registry.host
        self.push(host, 'acme/one:1.0')
        answer = self.fetch(host + '/acme/one:1.0').good(self.image.digest)
        assert answer.files == {'.registry/app.yaml', '.registry/icon.svg'}, answer.files
        assert answer.lines[1]['document'] == {'title': 'WordPress', 'version': '1.0'}, answer.lines
        assert answer.lines[2]['base64'] == 'PHN2Zy8+', answer.lines
        self.fetch('%s/acme/one@%s' % (host, self.image.digest)).good(self.image.digest)
        self.fetch('%s/acme/one:other@%s' % (host, self.image.digest)).good(self.image.digest)
        self.fetch(host + '/acme/one:1.0', op='resolve').good(self.image.digest)
        assert self.fetch(host + '/acme/one:1.0', have=[self.image.digest]).good().lines[-1]['end']['known']

    def what_is_not_there(self):
        host = self.registry.host
        self.push(host, 'acme/one:1.0')
        self.fetch(host + '/acme/one:2.0').bad('PullFailed', host + ' answered 404 Not Found: manifest unknown',
                                              retry=False)
        self.fetch(host + '/acme/two:1.0').bad('PullFailed', '404')
        self.fetch('%s/acme/one@sha256:%064d' % (host, 0)).bad('PullFailed', '404')
        self.fetch('127.0.0.1:1/acme/one:1.0').bad('PullFailed', '127.0.0.1', retry=True)

    def of_several_platforms(self):
        host = self.registry.host
        self.push(host, 'acme/several:1.0', self.several)
        answer = self.fetch(host + '/acme/several:1.0').good(self.index_digest)
        assert answer.files == {'.registry/app.yaml', '.registry/icon.svg'}, answer.files

    def by_mirror(self):
        host = self.registry.host
        self.push(host, 'hub/acme/one:1.0')
        mirrors = [{'prefix': 'docker.io', 'location': '127.0.0.1:1/wrong'},
                   {'prefix': 'docker.io/acme', 'location': host + '/hub/acme'}]
        self.fetch('acme/one:1.0', mirrors=mirrors).good(self.image.digest)

    def policies(self):
        host = self.registry.host
        store = os.path.join(self.folder, 'store')
        local = Image({'.registry/app.yaml': b'title: local\n'})
        local.write_layout(store, host + '/acme/policy:1.0')
        self.push(host, 'acme/policy:1.0')
        self.fetch(host + '/acme/policy:1.0', store=store).good(self.image.digest)
        self.fetch(host + '/acme/policy:1.0', store=store, policy='IfNotPresent').good(local.digest)
        self.fetch(host + '/acme/policy:1.0', store=store, policy='Never').good(local.digest)
        self.fetch(host + '/acme/one:1.0', store=store, policy='Never').bad('PullFailed', 'is not in', retry=False)
        self.push(host, 'acme/one:1.0')
        self.fetch(host + '/acme/one:1.0', store=store, policy='IfNotPresent').good(self.image.digest)

    def on_a_kernel_without_landlock(self):
        """It works all the same, and is told."""
        self.push(self.registry.host, 'acme/one:1.0')
        self.fetch(self.registry.host + '/acme/one:1.0', preexec=without_landlock).good(self.image.digest)
        for preexec, wanted in ((None, r'level=info msg="packages are opened in a sandbox" landlock=[4-9]'),
                                (without_landlock, r'level=warn msg="packages are opened .* without landlock.*landlock=0')):
            server = Server(self.reeve)
            try:
                server.start(preexec)
                wait_for(lambda: re.search(wanted, server.read_log()), wanted)  # controllers start beside the server
                server.stop()
            finally:
                server.remove()

    # ---- With authentication. ----

    def secured(self, host, wanted, **more):
        """With no, with wrong and with right credentials; never a word of them."""
        name = host + '/acme/one:1.0'
        wrong = docker_config(host, 'robot', 'wr0ng')
        for auths in ([], [wrong], [docker_config('other.example.org', 'robot', 'top$ecret')]):
            answer = self.fetch(name, auths=auths, **more).bad('PullFailed', wanted if auths == [wrong] else '401',
                                                              retry=False)
            for secret in ('wr0ng', 'top$ecret', 'Basic ', 'cm9ib3Q'):
                assert secret not in json.dumps(answer.lines), answer.lines
        right = docker_config('http://%s/v1/' % host, 'robot', 'top$ecret')
        for auths in ([right], [wrong.replace(host, host + '/other'), right]):
            self.fetch(name, auths=auths, **more).good(self.image.digest)

    def basic(self):
        registry = Registry(self.folder, htpasswd(self.folder, 'robot', 'top$ecret'))
        try:
            self.push(registry.host, 'acme/one:1.0', None, '--dest-creds', 'robot:top$ecret')
            self.secured(registry.host, '401 Unauthorized')
            self.fetch(registry.host + '/acme/one:1.0').bad('PullFailed', 'there are no credentials for it')
        finally:
            registry.stop()

    def token(self):
        service = TokenService(self.folder)
        registry = Registry(self.folder, service.auth())
        try:
            self.push(registry.host, 'acme/one:1.0', None, '--dest-creds', 'robot:top$ecret')
            self.secured(registry.host, 'token service: 127.0.0.1 answered 401 Unauthorized: who are you?',
                         ports=[service.port])
            assert service.asked[-1][1]['scope'] == ['repository:acme/one:pull'], service.asked[-1]
            self.fetch(registry.host + '/acme/one:1.0', auths=[docker_config(registry.host, 'robot', 'top$ecret')]).bad(
                'PullFailed', 'names a token service: 127.0.0.1: port %d is neither' % service.port, retry=False)
            self.by_identity(registry.host, service)
        finally:
            registry.stop()
            service.stop()

    def by_identity(self, host, service):
        """An identity token goes to the token service, in the body, and nothing else does."""
        auths = [json.dumps({'auths': {host: {'identitytoken': service.IDENTITY, 'auth': 'PHRva2VuPjo='}}})]
        self.fetch(host + '/acme/one:1.0', auths=auths, ports=[service.port]).good(self.image.digest)
        has_header, query = service.asked[-1]
        assert not has_header and query['scope'] == ['repository:acme/one:pull'], service.asked[-1]
        answer = self.fetch(host + '/acme/one:1.0', auths=[auths[0].replace('resh', 'used')], ports=[service.port]).bad(
            'PullFailed', 'token service: 127.0.0.1 answered 401', retry=False)
        assert 'ref used' not in json.dumps(answer.lines), answer.lines

    # ---- reeve package. ----

    def built_and_pushed(self):
        host = self.registry.host
        tree = os.path.join(self.folder, 'tree')
        os.makedirs(os.path.join(tree, '.registry'))
        with open(os.path.join(tree, '.registry', 'app.yaml'), 'wb') as file:
            file.write(APP)
        name = host + '/acme/built:1.0'
        built = self.run('build', tree, '--tag', name).strip()
        assert built.startswith(host + '/acme/built@sha256:'), built
        assert self.run('push', name).strip() == built
        assert self.run('push', name).strip() == built  # all is there already
        raw = skopeo('inspect', '--raw', '--tls-verify=false', 'docker://' + name)
        assert built.endswith(digest_of(raw)), built
        back = os.path.join(self.folder, 'back')
        skopeo('copy', '--src-tls-verify=false', 'docker://' + name, 'oci:%s:x' % back)
        assert self.fetch(name).good().files == {'.registry/app.yaml'}
        again = self.run('pull', name, '--store', os.path.join(self.folder, 'pulled')).strip()
        assert again == built
        self.fetch(name, policy='Never', store=os.path.join(self.folder, 'pulled')).good(built.split('@')[1])

    def several_pushed(self):
        name = self.registry.host + '/acme/pushed:1.0'
        store = os.path.join(self.folder, 'named')
        self.image.write_layout(store, name, Image({'x': b'y'}, 'arm64'))
        assert self.run('push', name, '--store', store).strip().endswith(self.index_digest)
        assert digest_of(skopeo('inspect', '--raw', '--tls-verify=false', 'docker://' + name)) == self.index_digest

    def wrong_words(self):
        assert 'say first what to do' in self.run(code=2)
        assert 'unknown command "fetch"' in self.run('fetch', 'x', code=2)
        assert 'missing --tag' in self.run('build', '.', code=2)
        assert 'name one image' in self.run('pull', code=2)
        assert 'unknown flag -t' in self.run('pull', 'x', '-t', 'y', code=2)
        assert '--allow-port 0: say a number' in self.run('pull', 'x', '--allow-port', '0', code=2)
        assert 'reeve package build DIR' in self.run('--help')
        assert 'acme/nothing:1.0 is not in' in self.run('push', self.registry.host + '/acme/nothing:1.0', code=1)
        assert 'reeve package pull: ' in self.run('pull', 'acme/UPPER:1.0', code=2)


def main():
    tap = Tap()
    with Folder() as folder:
        tests = Tests(sys.argv[1], sys.argv[2], folder)
        try:
            for name in ('by_tag_and_digest', 'what_is_not_there', 'of_several_platforms', 'by_mirror', 'policies',
                         'on_a_kernel_without_landlock', 'basic', 'token', 'built_and_pushed', 'several_pushed', 'wrong_words'):
                tap.run(name.replace('_', ' '), getattr(tests, name))
        finally:
            tests.registry.stop()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
