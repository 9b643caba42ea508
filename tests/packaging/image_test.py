#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container image: always the same bytes, nothing in it that is not needed, what deploy/ says of it is true, and both programs
work in its root file system as its user.

usage: image_test.py BUILD SOURCE     as root: a test in a root file system of its own has to enter it"""
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

import yaml

from world import BUILD, ENVIRONMENT, SOURCE, VERSION, make, package_tree, read, run_tests, stage

USER = 65532
CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
ALLOWED = re.compile(  # all that may be in it
    r'^(usr/(bin/reeve|bin/kubectl[-_].*reeve|libexec/reeve/reeve-fetch|lib/[^/]+\.so[.\d]*|share/doc/reeve/.*)'
    r'|lib(64)?/(.*/)?ld-linux[^/]+|etc/(passwd|group|nsswitch\.conf|ssl/certs/ca-certificates\.crt))$')


class Tests:
    def __init__(self, folder):
        self._folder = folder
        self._root = os.path.join(folder, 'root')
        self._layout = os.path.join(folder, 'layout')

    def _path(self, name='dist'):
        return os.path.join(self._folder, name, 'reeve-%s-image.tar' % VERSION)

    def _blob(self, descriptor):
        data = read(os.path.join(self._layout, 'blobs', *descriptor['digest'].split(':')))
        assert len(data) == descriptor['size'] and stage.hashlib.sha256(data).hexdigest() == descriptor['digest'][7:]
        return data

    def _manifest(self):
        [manifest] = json.loads(read(os.path.join(self._layout, 'index.json')))['manifests']
        assert manifest['annotations']['org.opencontainers.image.ref.name'] == 'reeve:' + VERSION, manifest
        return json.loads(self._blob(manifest))

    def _config(self):
        return json.loads(self._blob(self._manifest()['config']))['config']

    def _inside(self, *command, cwd='/'):
        """As a container would: in its root, as its user, with its entry point. (exit status, what it said)"""
        def enter():
            libc = ctypes.CDLL(None, use_errno=True)
            for call in ((libc.unshare, CLONE_NEWNS), (libc.mount, b'none', b'/', None, MS_REC | MS_PRIVATE, None),
                         (libc.mount, b'/proc', os.path.join(self._root, 'proc').encode(), None, MS_BIND | MS_REC, None)):
                if call[0](*call[1:]):
                    raise OSError(ctypes.get_errno(), 'cannot give a container its /proc')
            os.chroot(self._root)
            os.chdir(cwd)
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)

        done = subprocess.run(self._config()['Entrypoint'] + list(command), preexec_fn=enter, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=100,
                              env={'ASAN_OPTIONS': ENVIRONMENT['ASAN_OPTIONS']})
        return done.returncode, done.stdout

    def it_is_made(self):
        text = make('image', BUILD, os.path.dirname(self._path()))
        assert re.search(r'image\.tar: [\d.]+ MB, [\d.]+ MB unpacked', text), text
        with tarfile.open(self._path()) as archive:
            archive.extractall(self._layout)
        [layer] = self._manifest()['layers']
        self._blob(layer)
        with tarfile.open(os.path.join(self._layout, 'blobs', *layer['digest'].split(':'))) as archive:
            archive.extractall(self._root, numeric_owner=True)
        os.mkdir(os.path.join(self._root, 'proc'))  # as whoever runs containers does

    def the_same_bytes_twice(self):
        make('image', BUILD, os.path.dirname(self._path('other')))
        assert stage.digest(self._path()) == stage.digest(self._path('other'))
        os.unlink(self._path('other'))

    def how_it_runs(self):
        config = self._config()
        assert config['User'] == '%d:%d' % (USER, USER) and config['Entrypoint'] == ['/usr/bin/reeve'], config
        labels = config['Labels']
        assert labels['org.opencontainers.image.version'] == VERSION, labels
        assert labels['org.opencontainers.image.licenses'] == 'Apache-2.0' and 'org.opencontainers.image.title' in labels, labels

    def nothing_else_is_in_it(self):
        names = [os.path.relpath(path, self._root) for path in stage.files(self._root)]
        assert not [name for name in names if not ALLOWED.match(name)], [name for name in names if not ALLOWED.match(name)]
        for path in stage.files(self._root):
            mode = os.lstat(path)
            assert os.path.islink(path) or not mode.st_mode & 0o6022, path  # nothing gains rights, nobody but root may write
            assert (mode.st_uid, mode.st_gid) == (0, 0), path
        assert 'usr/' + 'share/doc/reeve/sbom.spdx.json' in names

    def folders_that_are_its_users(self):
        for name in ('var/lib/reeve', 'var/cache/reeve'):
            row = os.stat(os.path.join(self._root, name))
            assert (row.st_uid, row.st_gid, row.st_mode & 0o777) == (USER, USER, 0o700), (name, row)

    def deploy_names_it(self):
        found = 0
        for path in glob.glob(os.path.join(SOURCE, 'deploy', '*', 'kustomize', 'deployment.yaml')):
            pod = yaml.safe_load(read(path))['spec']['template']['spec']
            assert pod['securityContext']['runAsUser'] == USER, path
            for container in pod['containers']:
                assert container['image'] == 'reeve:' + VERSION and 'command' not in container, path
                found += 1
        for path in glob.glob(os.path.join(SOURCE, 'deploy', '*', 'helm')):
            image = yaml.safe_load(read(os.path.join(path, 'values.yaml')))['image']
            assert image['repository'] == 'reeve', path
            tags = {str(image.get('tag') or ''), str(yaml.safe_load(read(os.path.join(path, 'Chart.yaml')))['appVersion'])}
            assert tags <= {VERSION, ''}, path
            found += 1
        assert found == 4, found

    def reeve_works_in_it(self):
        assert self._inside('version') == (0, 'reeve %s\n' % VERSION)

    def reeve_fetch_works_in_it(self):
        package_tree(os.path.join(self._root, 'tmp', 'package'))
        code, text = self._inside('package', 'build', '/tmp/package', '-t', 'acme/wordpress:1.0', '--store', '/var/lib/reeve/store')
        assert code == 0 and 'docker.io/acme/wordpress@sha256:' in text, text

    def it_has_libcurl_and_certificates(self):
        """A registry that is not there: what is missing is the registry, not a library."""
        code, text = self._inside('package', 'pull', '127.0.0.1:1/acme/wordpress:1.0', '--store', '/var/lib/reeve/store')
        assert code == 1 and 'libcurl' not in text and '127.0.0.1' in text, (code, text)


def main():
    if os.geteuid() != 0:
        sys.exit('1..1\nnot ok 1 - needs root, to enter a root file system')
    with tempfile.TemporaryDirectory(prefix='reeve-image-test-') as folder:
        os.chmod(folder, 0o755)
        return run_tests(Tests(folder))


if __name__ == '__main__':
    sys.exit(main())
