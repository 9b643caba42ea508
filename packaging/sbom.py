#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a build is made of as SPDX 2.3: the programs, the digest of their sources, and every library, linked into them or
loaded by them, with the package of the system it comes from. The same build gives the same bytes.

usage: packaging/sbom.py BUILD FILE [TREE]     TREE: the installed files; else those of BUILD itself

The packages are asked of dpkg; elsewhere version and supplier of a library are NOASSERTION."""
import hashlib
import json
import os
import re
import sys
import time

sys.dont_write_bytecode = True
import stage  # noqa: E402

PLACE = 'share/doc/reeve/sbom.spdx.json'  # in what is installed
NONE = 'NOASSERTION'
SOURCES = ('src', 'man', 'deploy/crds', 'tools', 'meson.build', 'meson_options.txt')  # of which the programs are made

# Licences by source package; docs/design/dependencies.md says what each is for.
LICENCES = {
    'curl': 'curl',
    'glibc': 'LGPL-2.1-or-later',
    'gcc-12': 'GPL-3.0-or-later WITH GCC-exception-3.1',
    'gcc-14': 'GPL-3.0-or-later WITH GCC-exception-3.1',
    'libyaml': 'MIT',
    'libzstd': 'BSD-3-Clause',
    'lmdb': 'OLDAP-2.8',
    'nghttp2': 'MIT',
    'openssl': 'Apache-2.0',
    'pcre2': 'BSD-3-Clause',
    'xxhash': 'BSD-2-Clause',
    'yyjson': 'MIT',
    'zlib': 'Zlib',
}


def spdx_id(kind, name):
    return 'SPDXRef-%s-%s' % (kind, re.sub(r'[^A-Za-z0-9.-]', '-', name))


def archives(build):
    """Paths of the foreign archives that are linked into the programs."""
    found = set()
    for program in ('reeve', 'reeve-fetch'):
        command = stage.run('ninja', '-C', build, '-t', 'commands', program).splitlines()[-1]
        found.update(os.path.realpath(word) for word in command.split() if re.match(r'/.*\.a$', word))
    return sorted(found)


def library(path, name, comment):
    """The package of a library, as SPDX has it."""
    # A copy beside the programs is of the package that the system has it from.
    package, version, source = stage.owner(path) or stage.owner(stage.find_library(name) or path) or (name, None, None)
    entry = {
        'SPDXID': spdx_id('Library', name),
        'name': package,
        'downloadLocation': NONE,
        'filesAnalyzed': False,
        'packageFileName': name,
        'checksums': [{'algorithm': 'SHA256', 'checksumValue': stage.digest(path)}],
        'licenseConcluded': LICENCES.get(source, NONE),
        'licenseDeclared': LICENCES.get(source, NONE),
        'copyrightText': NONE,
        'supplier': 'Organization: Debian' if version else NONE,
        'primaryPackagePurpose': 'LIBRARY',
        'comment': comment,
    }
    if version:
        entry['versionInfo'] = version
        entry['sourceInfo'] = 'built from the Debian source package %s' % source
        entry['externalRefs'] = [{
            'referenceCategory': 'PACKAGE-MANAGER',
            'referenceType': 'purl',
            'referenceLocator': 'pkg:deb/debian/%s@%s?arch=%s' % (
                package, version.replace('+', '%2B').replace(':', '%3A'), stage.architecture()),
        }]
    return entry


def source_files():
    found = []
    for name in SOURCES:
        path = os.path.join(stage.ROOT, name)
        if os.path.isfile(path):
            found.append(path)
        for where, folders, names in os.walk(path):
            folders[:] = [folder for folder in folders if not folder.startswith(('.', '__'))]
            found += [os.path.join(where, file) for file in names]
    return sorted(os.path.relpath(path, stage.ROOT) for path in found)


def sources_digest():
    """Of what "sha256sum FILE..." prints of all of them, by name."""
    lines = ['%s  %s\n' % (stage.digest(os.path.join(stage.ROOT, path)), path) for path in source_files()]
    return hashlib.sha256(''.join(lines).encode()).hexdigest(), len(lines)


def product(version):
    digest, n = sources_digest()
    return {
        'SPDXID': 'SPDXRef-Package-reeve',
        'name': 'reeve',
        'versionInfo': version,
        'downloadLocation': NONE,
        'filesAnalyzed': False,
        'checksums': [{'algorithm': 'SHA256', 'checksumValue': digest}],
        'licenseConcluded': 'Apache-2.0',
        'licenseDeclared': 'Apache-2.0',
        'copyrightText': NONE,
        'supplier': NONE,
        'primaryPackagePurpose': 'APPLICATION',
        'comment': 'The checksum is that of the output of sha256sum for the %d files of %s, sorted by name in the C locale.' % (
            n, ', '.join(SOURCES)),
    }


def binary(name, path):
    return {
        'SPDXID': spdx_id('File', os.path.basename(name)),
        'fileName': './' + name,
        'fileTypes': ['BINARY'],
        'checksums': [{'algorithm': kind.upper(), 'checksumValue': stage.digest(path, kind)} for kind in ('sha1', 'sha256')],
        'licenseConcluded': 'Apache-2.0',
        'copyrightText': NONE,
    }


def relate(one, how, other):
    return {'spdxElementId': one, 'relationshipType': how, 'relatedSpdxElement': other}


def document(build, tree):
    """tree: where the programs are installed, with the libraries that come with them."""
    version = stage.version(build)
    reeve = product(version)
    packages, relations = [reeve], [relate('SPDXRef-DOCUMENT', 'DESCRIBES', reeve['SPDXID'])]

    def add(path, name, how, comment):
        packages.append(library(path, name, comment))
        relations.append(relate(reeve['SPDXID'], how, packages[-1]['SPDXID']) if how != 'OPTIONAL_DEPENDENCY_OF' else
                         relate(packages[-1]['SPDXID'], how, reeve['SPDXID']))

    for path in archives(build):
        add(path, os.path.basename(path), 'STATIC_LINK', 'Linked into the programs.')
    for name, path in stage.libraries(*[os.path.join(tree, program) for program in stage.PROGRAMS]).items():
        add(path, name, 'DYNAMIC_LINK', 'Loaded when a program starts.')
    curl = stage.find_library('libcurl.so.4')
    if curl:
        add(curl, 'libcurl.so.4', 'OPTIONAL_DEPENDENCY_OF', 'Loaded by reeve-fetch when it asks a registry; that of the system.')
    programs = [binary(name, os.path.join(tree, name)) for name in stage.PROGRAMS]
    relations += [relate(reeve['SPDXID'], 'CONTAINS', row['SPDXID']) for row in programs]
    text = json.dumps([packages, programs, relations], sort_keys=True)
    return {
        'spdxVersion': 'SPDX-2.3',
        'dataLicense': 'CC0-1.0',
        'SPDXID': 'SPDXRef-DOCUMENT',
        'name': 'reeve-%s-linux-%s' % (version, stage.architecture()),
        # Where SPDX has those who own no place of their own name theirs.
        'documentNamespace': 'https://spdx.org/spdxdocs/reeve-%s-%s' % (version, hashlib.sha256(text.encode()).hexdigest()),
        'creationInfo': {
            'created': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(stage.epoch())),
            'creators': ['Tool: reeve-packaging-sbom-%s' % version],
        },
        'packages': packages,
        'files': programs,
        'relationships': relations,
    }


def write(tree, path):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(tree, file, indent=2, ensure_ascii=False)
        file.write('\n')


def main(build, path, tree=None):
    """The programs of a build folder are not where installed ones are: install them for the time being."""
    if tree is None:
        with stage.tempfile.TemporaryDirectory(prefix='reeve-sbom-') as scratch:
            tree = os.path.join(scratch, 'tree')
            stage.install(build, tree)
            return main(build, path, tree)
    bill = document(build, tree)
    write(bill, path)
    print('%s: %d libraries' % (path, len(bill['packages']) - 1))


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
