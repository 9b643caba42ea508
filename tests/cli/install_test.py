#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What "make install" puts where, and that it works there, and after it was moved.

usage: install_test.py MESON BUILD-FOLDER PREFIX SOURCE-FOLDER"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from reeve_server import Tap  # noqa: E402

MESON, BUILD, PREFIX, SOURCE = sys.argv[1:5]
APP = 'title: WordPress\nversion: "1.0"\n'


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, check=False)
    return done.returncode, done.stdout.decode()


class Tests:
    def __init__(self, folder):
        self.folder = folder
        self.root = os.path.join(folder, 'root' + PREFIX)
        self.tree = os.path.join(folder, 'tree')
        os.makedirs(os.path.join(self.tree, '.registry'))
        with open(os.path.join(self.tree, '.registry', 'app.yaml'), 'w', encoding='ascii') as file:
            file.write(APP)

    def build_package(self, root):
        """Needs the child: reeve itself opens nothing."""
        return run(os.path.join(root, 'bin', 'reeve'), 'package', 'build', self.tree, '-t', 'acme/wordpress:1.0',
                   '--store', os.path.join(self.folder, 'store'))

    def what_is_installed(self):
        code, text = run(MESON, 'install', '-C', BUILD, '--no-rebuild', '--destdir', os.path.join(self.folder, 'root'))
        assert code == 0, text
        found = {os.path.relpath(os.path.join(path, name), self.root) for path, _, names in os.walk(self.folder + '/root')
                 for name in names}
        pages = {os.path.basename(path)[:-len('.scd')] for path in glob.glob(os.path.join(SOURCE, 'man', '*.scd'))}
        assert 'reeve.1' in pages, pages
        wanted = {'bin/reeve', 'libexec/reeve/reeve-fetch'}
        wanted |= {'bin/kubectl-reeve', 'bin/kubectl_complete-reeve', 'share/bash-completion/completions/reeve',
                   'share/fish/vendor_completions.d/reeve.fish', 'share/zsh/site-functions/_reeve'}
        wanted |= {'share/man/man1/' + page for page in pages}
        wanted |= {'lib/systemd/system/%s.service' % unit for unit in ('reeve', 'reeve-agent@', 'reeve-manager')}
        wanted |= {'share/doc/reeve/' + name for name in ('CHANGELOG.md', 'INSTALL.md', 'LICENSE', 'README.md')}
        assert found == wanted, (found - wanted, wanted - found)

    def it_finds_its_child(self):
        code, text = self.build_package(self.root)
        assert code == 0 and text.splitlines()[-1].startswith('docker.io/acme/wordpress@sha256:'), (code, text)

    def it_was_moved(self):
        moved, link = os.path.join(self.folder, 'moved'), os.path.join(self.folder, 'link')
        shutil.move(self.root, moved)
        os.symlink(moved, link)
        for root in (moved, link):
            code, text = self.build_package(root)
            assert code == 0, text

    def without_its_child(self):
        moved = os.path.join(self.folder, 'moved')
        os.unlink(os.path.join(moved, 'libexec', 'reeve', 'reeve-fetch'))
        code, text = self.build_package(moved)
        assert code == 1 and 'reeve-fetch is not installed' in text, (code, text)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='reeve-install-') as folder:
        tests = Tests(folder)
        for name in ('what_is_installed', 'it_finds_its_child', 'it_was_moved', 'without_its_child'):
            tap.run(name.replace('_', ' '), getattr(tests, name))
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
