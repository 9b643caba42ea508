#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package: what it needs, and that dpkg installs it into an empty system, where it works, and removes it without a trace but
for people's data. What lintian says of it, and apt, docs/install shows.

usage: deb_test.py BUILD SOURCE"""
import glob
import os
import re
import sys
import tempfile

from world import BUILD, VERSION, make, must, package_tree, run_tests, stage


class Tests:
    def __init__(self, folder):
        self._folder = folder
        self._root = os.path.join(folder, 'system')
        for name in ('info', 'updates'):
            os.makedirs(os.path.join(self._root, 'var/lib/dpkg', name))
        with open(os.path.join(self._root, 'var/lib/dpkg/status'), 'w', encoding='ascii'):
            pass
        self._deb = None

    def _dpkg(self, *words):
        # As if by an installer that makes a system from outside: scripts run here, and are told where.
        return must('dpkg', '--root=' + self._root, '--force-depends', '--force-not-root', '--force-script-chrootless', *words)

    def _installed(self):
        return {os.path.relpath(path, self._root) for path in stage.files(self._root)
                if not path.startswith(os.path.join(self._root, 'var/lib/dpkg/'))}

    def _field(self, name):
        return must('dpkg-deb', '--field', self._deb, name).strip()

    def it_is_made(self):
        make('deb', BUILD, os.path.join(self._folder, 'dist'))
        [self._deb] = glob.glob(os.path.join(self._folder, 'dist', 'reeve_*.deb'))

    def the_same_bytes_twice(self):
        make('deb', BUILD, os.path.join(self._folder, 'other'))
        [other] = glob.glob(os.path.join(self._folder, 'other', 'reeve_*.deb'))
        assert stage.digest(self._deb) == stage.digest(other)

    def it_names_who_made_it(self):
        name, address = os.environ.get('DEBFULLNAME'), os.environ.get('DEBEMAIL')
        wanted = '%s <%s>' % (name or 'Reeve built from source', address or 'nobody@reeve.invalid')
        assert self._field('Maintainer') == wanted, self._field('Maintainer')

    def it_says_what_it_needs(self):
        assert self._field('Version').startswith(VERSION + '-1'), self._field('Version')
        needs = {re.match(r'\S+', row).group() for row in self._field('Depends').split(', ')}
        wanted = re.findall(r'\(NEEDED\).*\[(.*)\]', must('readelf', '--dynamic', *(os.path.join(BUILD, name) for name in
                                                                                ('reeve', 'reeve-fetch'))))
        linked = {stage.owner(stage.find_library(name))[0] for name in wanted}
        # A library that this release of Debian does not have is in the package.
        names = must('dpkg-deb', '--contents', self._deb)
        if './usr/lib/reeve/libyyjson.so.0' in names:
            assert 'libyyjson0' not in needs, needs
            linked.remove('libyyjson0')
        assert linked <= needs, (linked, needs)
        assert 'ca-certificates' in needs and 'libcurl4' in self._field('Depends'), needs

    def dpkg_installs_it(self):
        self._dpkg('--install', self._deb)
        names = self._installed()
        for name in ('usr/bin/reeve', 'usr/libexec/reeve/reeve-fetch', 'usr/share/man/man1/reeve.1.gz',
                     'usr/share/doc/reeve/copyright', 'usr/share/doc/reeve/changelog.gz', 'usr/share/doc/reeve/README.Debian',
                     'usr/share/doc/reeve/sbom.spdx.json'):
            assert name in names, name
        units = {os.path.basename(name) for name in names if name.endswith('.service')}
        assert units == {'reeve.service', 'reeve-manager.service', 'reeve-agent@.service'}, units

    def no_unit_is_enabled(self):
        assert not glob.glob(os.path.join(self._root, 'etc/systemd/system/*')), self._installed()

    def it_works_there(self):
        reeve = os.path.join(self._root, 'usr/bin/reeve')
        assert must(reeve, 'version') == 'reeve %s\n' % VERSION
        tree = package_tree(os.path.join(self._folder, 'package'))
        must(reeve, 'package', 'build', tree, '-t', 'acme/wordpress:1.0', '--store', os.path.join(self._folder, 'store'))

    def what_it_brings_is_what_it_uses(self):
        private = os.path.join(self._root, 'usr/lib/reeve')
        for program in ('usr/bin/reeve', 'usr/libexec/reeve/reeve-fetch'):
            used = stage.libraries(os.path.join(self._root, program))
            for name in os.listdir(private) if os.path.isdir(private) else ():
                assert os.path.realpath(used[name]) == os.path.join(os.path.realpath(private), name), used

    def installing_it_again_is_fine(self):
        self._dpkg('--install', self._deb)

    def purge_leaves_the_data_alone(self):
        data = os.path.join(self._root, 'var/lib/reeve/data.mdb')
        os.makedirs(os.path.dirname(data))
        with open(data, 'w', encoding='ascii') as file:
            file.write('everything')
        self._dpkg('--purge', 'reeve')
        assert self._installed() == {'var/lib/reeve/data.mdb'}, self._installed()


if 'REEVE_TEST_ALL' not in os.environ:
    del Tests.the_same_bytes_twice  # ten seconds; those of the tarball and of the image are compared every time


def main():
    with tempfile.TemporaryDirectory(prefix='reeve-deb-test-') as folder:
        os.chmod(folder, 0o755)
        return run_tests(Tests(folder))


if __name__ == '__main__':
    sys.exit(main())
