#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tarball: always the same bytes, complete, working wherever it is unpacked; its bill of materials; the manifest for krew.

usage: tarball_test.py BUILD SOURCE"""
import fnmatch
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile

import yaml

from world import BUILD, SOURCE, VERSION, make, must, package_tree, read, run, run_tests, stage

NAME = 'reeve-%s-linux-%s' % (VERSION, stage.architecture())
URL = 'https://example.com/releases/v' + VERSION


class Tests:
    def __init__(self, folder):
        self._folder = folder
        self._dist = os.path.join(folder, 'dist')
        self._tree = os.path.join(folder, NAME)

    def _bill(self):
        return json.loads(read(os.path.join(self._tree, 'share/doc/reeve/sbom.spdx.json')))

    def the_same_bytes_twice(self):
        make('tarball', BUILD, self._dist)
        other = os.path.join(self._folder, 'other')
        make('tarball', BUILD, other, preexec_fn=lambda: os.umask(0o077), cwd='/')
        one, two = (read(os.path.join(path, NAME + '.tar.gz')) for path in (self._dist, other))
        assert one == two
        shutil.rmtree(other)

    def sums_are_right(self):
        assert must('sha256sum', '--check', 'SHA256SUMS', cwd=self._dist) == NAME + '.tar.gz: OK\n'

    def what_is_inside(self):
        with tarfile.open(os.path.join(self._dist, NAME + '.tar.gz')) as archive:
            rows = archive.getmembers()
            names = [row.name for row in rows]
            assert names == sorted(names)
            assert {(row.uid, row.gid, row.uname, row.mtime) for row in rows} == {(0, 0, '', 315532800)}
            assert {row.mode for row in rows} == {0o755, 0o644}
            assert all(name.startswith(NAME + '/') and '..' not in name for name in names), names
            archive.extractall(self._folder)
        names = {os.path.relpath(path, self._tree) for path in stage.files(self._tree)}
        for name in ('bin/reeve', 'libexec/reeve/reeve-fetch', 'lib/systemd/system/reeve.service',
                     'lib/systemd/system/reeve-manager.service', 'lib/systemd/system/reeve-agent@.service',
                     'share/doc/reeve/LICENSE', 'share/doc/reeve/INSTALL.md', 'share/doc/reeve/sbom.spdx.json',
                     'share/man/man1/reeve.1'):
            assert name in names, name

    def it_works_where_it_is_unpacked(self):
        assert must(os.path.join(self._tree, 'bin/reeve'), 'version') == 'reeve %s\n' % VERSION
        tree = package_tree(os.path.join(self._folder, 'package'))
        text = must(os.path.join(self._tree, 'bin/reeve'), 'package', 'build', tree, '-t', 'acme/wordpress:1.0',
                    '--store', os.path.join(self._folder, 'store'))
        assert 'docker.io/acme/wordpress@sha256:' in text, text

    def it_brings_all_but_the_c_library(self):
        private = os.path.join(self._tree, stage.PRIVATE)
        for program in stage.PROGRAMS:
            for name, path in stage.libraries(os.path.join(self._tree, program)).items():
                inside = os.path.realpath(path).startswith(os.path.realpath(private) + '/')
                assert inside != bool(stage.C_LIBRARY.match(name)), (program, name, path)
        names = os.listdir(private)
        assert names, 'a build that needs nothing but the C library: this test is to be changed'
        for name in names:  # the licences of what comes along come along
            assert any(package in os.listdir(os.path.join(self._tree, 'share/doc/reeve/licences'))
                       for package in self._packages_of(name)), name

    def _packages_of(self, name):
        return [row['name'] for row in self._bill()['packages'] if row.get('packageFileName') == name]

    def the_bill_has_the_form_of_spdx(self):
        bill = self._bill()
        assert bill['spdxVersion'] == 'SPDX-2.3' and bill['dataLicense'] == 'CC0-1.0', bill
        assert bill['SPDXID'] == 'SPDXRef-DOCUMENT' and bill['name'] == NAME, bill
        assert re.fullmatch(r'https://[^#]+', bill['documentNamespace'])
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', bill['creationInfo']['created'])
        assert all(re.match(r'(Tool|Person|Organization): ', row) for row in bill['creationInfo']['creators'])
        ids = ['SPDXRef-DOCUMENT']
        for row in bill['packages']:
            assert {'SPDXID', 'name', 'downloadLocation', 'licenseConcluded', 'licenseDeclared', 'copyrightText'} <= set(row), row
            assert row['filesAnalyzed'] is False, row
            ids.append(row['SPDXID'])
        for row in bill['files']:
            assert {'SPDXID', 'fileName', 'licenseConcluded', 'copyrightText'} <= set(row), row
            assert 'SHA1' in [sum_['algorithm'] for sum_ in row['checksums']], row  # SPDX asks for it
            ids.append(row['SPDXID'])
        assert len(ids) == len(set(ids)) and all(re.fullmatch(r'SPDXRef-[A-Za-z0-9.-]+', name) for name in ids), ids
        for row in bill['relationships']:
            assert row['spdxElementId'] in ids and row['relatedSpdxElement'] in ids, row
        assert [row['relatedSpdxElement'] for row in bill['relationships'] if row['relationshipType'] == 'DESCRIBES'] == [
            'SPDXRef-Package-reeve']

    def the_bill_names_the_programs_and_their_sources(self):
        bill = self._bill()
        for row in bill['files']:
            path = os.path.join(self._tree, row['fileName'])
            for sum_ in row['checksums']:
                assert sum_['checksumValue'] == stage.digest(path, sum_['algorithm'].lower()), row
        assert sorted(row['fileName'] for row in bill['files']) == ['./' + name for name in sorted(stage.PROGRAMS)]
        reeve = bill['packages'][0]
        assert (reeve['name'], reeve['versionInfo'], reeve['licenseDeclared']) == ('reeve', VERSION, 'Apache-2.0'), reeve
        # As its comment says.
        folders = re.search(r'files of (.*), sorted', reeve['comment']).group(1).split(', ')
        text = must('sh', '-c', "find %s -type f ! -path '*/.*' ! -path '*/__*' | LC_ALL=C sort | xargs sha256sum" % ' '.join(folders),
                    cwd=SOURCE)
        assert reeve['checksums'][0]['checksumValue'] == hashlib.sha256(text.encode()).hexdigest()

    def the_bill_names_every_library(self):
        named = {row['packageFileName']: row for row in self._bill()['packages'] if 'packageFileName' in row}
        programs = [os.path.join(self._tree, name) for name in stage.PROGRAMS]
        for program in programs:
            for line in must('ldd', program).splitlines():
                name = os.path.basename(line.split()[0])
                assert name in named or name == 'linux-vdso.so.1', line
        assert 'libcurl.so.4' in named
        for name, row in named.items():
            assert row['versionInfo'] and row['licenseConcluded'] != 'NOASSERTION', row
            assert 'pkg:deb/debian/%s@' % row['name'] in row['externalRefs'][0]['referenceLocator'], row
            if os.path.exists(os.path.join(self._tree, stage.PRIVATE, name)):
                assert row['checksums'][0]['checksumValue'] == stage.digest(os.path.join(self._tree, stage.PRIVATE, name)), row

    def a_manifest_for_krew(self):
        """Fields and rules of https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/."""
        make('krew', self._dist, URL)
        plugin = yaml.safe_load(read(os.path.join(self._dist, 'reeve.yaml'), 'r'))
        assert plugin['apiVersion'] == 'krew.googlecontainertools.github.com/v1alpha2' and plugin['kind'] == 'Plugin'
        assert set(plugin) == {'apiVersion', 'kind', 'metadata', 'spec'} and plugin['metadata'] == {'name': 'reeve'}
        spec = plugin['spec']
        assert set(spec) == {'version', 'homepage', 'shortDescription', 'description', 'caveats', 'platforms'}, spec
        assert spec['version'] == 'v' + VERSION and len(spec['shortDescription']) <= 50, spec
        assert not spec['shortDescription'].endswith('.') and all(len(line) <= 80 for line in spec['description'].splitlines())
        [platform] = spec['platforms']
        assert set(platform) == {'selector', 'uri', 'sha256', 'bin', 'files'}, platform
        assert platform['selector'] == {'matchLabels': {'os': 'linux', 'arch': stage.architecture()}}
        assert platform['uri'] == '%s/%s.tar.gz' % (URL, NAME)
        assert platform['sha256'] == stage.digest(os.path.join(self._dist, NAME + '.tar.gz'))

    def krew_would_install_what_works(self):
        """As krew does: unpack, move what the globs name, link the program under the name of a plugin."""
        plugin = yaml.safe_load(read(os.path.join(self._dist, 'reeve.yaml'), 'r'))
        [platform] = plugin['spec']['platforms']
        place = os.path.join(self._folder, 'krew')
        for row in platform['files']:
            found = [path for path in stage.files(self._folder)
                     if fnmatch.fnmatch(os.path.relpath(path, self._folder), row['from'])]
            assert found, row
            for path in found:
                os.makedirs(os.path.join(place, row['to']), exist_ok=True)
                shutil.copy(path, os.path.join(place, row['to']))
        link = os.path.join(self._folder, 'kubectl-reeve')
        os.symlink(os.path.join(place, platform['bin']), link)
        shutil.rmtree(os.path.join(self._folder, 'store'))
        must(link, 'package', 'build', os.path.join(self._folder, 'package'), '-t', 'acme/wordpress:1.0',
             '--store', os.path.join(self._folder, 'store'))

    def krew_needs_https_and_one_version(self):
        code, text = run(os.path.join(SOURCE, 'packaging', 'krew'), self._dist, 'http://example.com')
        assert code != 0 and 'no https URL' in text, text
        with open(os.path.join(self._dist, 'SHA256SUMS'), 'a', encoding='ascii') as sums:
            sums.write('%s  reeve-9.9.9-linux-arm64.tar.gz\n' % ('0' * 64))
        code, text = run(os.path.join(SOURCE, 'packaging', 'krew'), self._dist, URL)
        assert code != 0 and 'of one version' in text, text


def main():
    with tempfile.TemporaryDirectory(prefix='reeve-tarball-test-') as folder:
        return run_tests(Tests(folder))


if __name__ == '__main__':
    sys.exit(main())
