#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reeve-fetch and reeve package with a real registry, filled and read by skopeo.

usage: registry_test.py REEVE REEVE-FETCH"""
import json
import os
import socket
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

    def run(self, *args, code=0, env=None):
        done = subprocess.run([self.reeve, 'package', *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={'XDG_DATA_HOME': os.path.join(self.folder, 'share'), 'PATH': os.environ['PATH'], **(env or {})},
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

    # ---- Credentials from where docker and podman keep them. ----

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def secured_registry(self):
        return Registry(self.folder, htpasswd(self.folder, 'robot', 'top$ecret'))

    def pull_secured(self, registry, env, code=0):
        """A new store each time, so that the registry is asked."""
        self.pulls = getattr(self, 'pulls', 0) + 1
        return self.run('pull', registry.host + '/acme/one:1.0', '--store', os.path.join(self.folder, 'secured-%d' % self.pulls), code=code, env=env)

    def found_credentials(self):
        registry = self.secured_registry()
        try:
            self.push(registry.host, 'acme/one:1.0', None, '--dest-creds=robot:top$ecret')
            right, wrong = (docker_config(registry.host, 'robot', word) for word in ('top$ecret', 'wrong'))
            said = self.pull_secured(registry, {}, code=1)
            assert 'log in with "docker login %s" or pass --auth-file' % registry.host in said, said
            home = os.path.join(self.folder, 'home')
            self.write('home/.docker/config.json', right)
            self.pull_secured(registry, {'HOME': home})
            # each of these is asked before the ones above it
            self.write('docker/config.json', wrong)
            said = self.pull_secured(registry, {'HOME': home, 'DOCKER_CONFIG': os.path.join(self.folder, 'docker')}, code=1)
            assert 'the credentials for %s do not allow' % registry.host in said, said
            self.write('docker/config.json', right)
            env = {'HOME': home, 'DOCKER_CONFIG': os.path.join(self.folder, 'docker')}
            self.pull_secured(registry, env)
            for variable, file in (('XDG_CONFIG_HOME', 'config/containers/auth.json'), ('XDG_RUNTIME_DIR', 'run/containers/auth.json')):
                self.write(file, wrong)
                env[variable] = os.path.join(self.folder, file.split('/', maxsplit=1)[0])
                self.pull_secured(registry, env, code=1)
                self.write(file, docker_config('other.example.org', 'robot', 'wrong'))  # says nothing of this one
                self.pull_secured(registry, env)
            env['REGISTRY_AUTH_FILE'] = self.write('alone.json', docker_config('other.example.org', 'x', 'y'))
            self.pull_secured(registry, env, code=1)  # that one alone
            env['REGISTRY_AUTH_FILE'] = self.write('alone.json', right)
            self.pull_secured(registry, env)
            env['REGISTRY_AUTH_FILE'] = os.path.join(self.folder, 'nowhere')
            assert 'nowhere' in self.pull_secured(registry, env, code=1)
            env['REGISTRY_AUTH_FILE'] = self.write('alone.json', 'no JSON: top$ecret')
            said = self.pull_secured(registry, env, code=1)
            assert 'alone.json: not a docker config JSON' in said and 'top$ecret' not in said, said
        finally:
            registry.stop()

    def helper(self, name, body):
        return os.path.dirname(self.write('bin/docker-credential-' + name, '#!/bin/sh\n' + body, 0o755))

    def credential_helpers(self):
        registry = self.secured_registry()
        try:
            self.push(registry.host, 'acme/one:1.0', None, '--dest-creds=robot:top$ecret')
            asked = os.path.join(self.folder, 'asked')
            path = self.helper('good', 'read server; echo "$1 $server" >>%s\nprintf \'{"ServerURL":"%%s","Username":"robot","Secret":"top$ecret"}\' "$server"\n' % asked)
            env = {'PATH': path + ':' + os.environ['PATH'], 'HOME': self.folder}

            def configured(**config):
                env['REGISTRY_AUTH_FILE'] = self.write('helpers.json', json.dumps(config))
                return env

            self.pull_secured(registry, configured(credHelpers={registry.host: 'good', 'other.example.org': 'bad'}))
            with open(asked, encoding='utf-8') as file:
                assert file.read() == 'get %s\n' % registry.host
            self.pull_secured(registry, configured(credsStore='good', auths={registry.host: {}}))
            # one that has nothing leaves it to auths; one that is not installed is only warned of
            self.helper('empty', 'echo credentials not found in native keychain; exit 1\n')
            auths = json.loads(docker_config(registry.host, 'robot', 'top$ecret'))['auths']
            self.pull_secured(registry, configured(credsStore='empty', auths=auths))
            self.pull_secured(registry, configured(credsStore='missing', auths=auths))
            said = self.pull_secured(registry, configured(credsStore='missing'), code=1)
            assert 'warning: credential helper docker-credential-missing not found' in said, said
            # failures are told, secrets are not
            self.helper('bad', 'printf "locked \\033[31m"; exit 3\n')
            said = self.pull_secured(registry, configured(credsStore='bad'), code=1)
            assert 'credential helper docker-credential-bad' in said and 'locked' in said and '\033' not in said, said
            self.helper('odd', 'echo "top\\$ecret"\n')
            said = self.pull_secured(registry, configured(credsStore='odd'), code=1)
            assert 'the output is not JSON' in said and 'ecret' not in said, said
            self.helper('flood', 'exec yes\n')
            said = self.pull_secured(registry, configured(credsStore='flood'), code=1)
            assert 'printed more than' in said, said
            # no shell, no path
            for name in ('good;touch x', '../bin/docker-credential-good', 'a b', '$(id)'):
                said = self.pull_secured(registry, configured(credsStore=name), code=1)
                assert 'invalid name of a credential helper' in said, said
            # what the local store has needs nobody's credentials
            os.remove(asked)
            store = os.path.join(self.folder, 'secured-kept')
            self.run('pull', registry.host + '/acme/one:1.0', '--store', store, env=configured(credsStore='good'))
            os.remove(asked)
            self.run('inspect', registry.host + '/acme/one:1.0', '--store', store, env=env)
            assert not os.path.exists(asked)
        finally:
            registry.stop()

    def push_of_nothing(self):
        asked = os.path.join(self.folder, 'asked-for-nothing')
        path = self.helper('marks', 'touch %s; exit 1\n' % asked)
        env = {'PATH': path + ':' + os.environ['PATH'], 'REGISTRY_AUTH_FILE': self.write('marks.json', '{"credsStore": "marks"}')}
        with socket.socket() as listener:
            listener.bind(('127.0.0.1', 0))
            listener.listen()
            listener.setblocking(False)
            name = '127.0.0.1:%d/acme/nothing:1.0' % listener.getsockname()[1]
            said = self.run('push', name, code=1, env=env)
            assert '"%s" is not in the local store' % name in said and 'hint: build it with' in said, said
            try:
                listener.accept()
                raise AssertionError('the registry was connected to')
            except BlockingIOError:
                pass
        assert not os.path.exists(asked)

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
        assert 'acme/nothing:1.0" is not in the local store' in self.run('push', self.registry.host + '/acme/nothing:1.0', code=1)
        assert 'reeve package pull: ' in self.run('pull', 'acme/UPPER:1.0', code=2)


def main():
    tap = Tap()
    with Folder() as folder:
        tests = Tests(sys.argv[1], sys.argv[2], folder)
        try:
            for name in ('by_tag_and_digest', 'what_is_not_there', 'of_several_platforms', 'by_mirror', 'policies',
                         'on_a_kernel_without_landlock', 'basic', 'token', 'built_and_pushed', 'found_credentials', 'credential_helpers', 'push_of_nothing', 'several_pushed', 'wrong_words'):
                tap.run(name.replace('_', ' '), getattr(tests, name))
        finally:
            tests.registry.stop()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
