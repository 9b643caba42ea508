#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference of the API is what the schemas say, and its check finds out when it is not.

usage: api_reference_test.py TOOLS-FOLDER
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.abspath(sys.argv[1]))
CRD = os.path.join('deploy', 'crds', 'packages.packageinstalls.yaml')


def replace(root, path, old, new):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        text = file.read()
    assert old in text, old
    with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
        file.write(text.replace(old, new, 1))


# name, what is done to the copy, what the check must say (None: nothing)
CASES = [
    ('docs/API.md is up to date', lambda root: None, None),
    ('a schema changes', lambda root: replace(root, CRD, 'maxLength: 1024', 'maxLength: 1025'), 'at most 1025 characters'),
    ('a kind goes', lambda root: os.unlink(os.path.join(root, CRD)), 'is not what the schemas say'),
    ('the page is changed by hand', lambda root: replace(root, 'docs/API.md', '# API', '# The API'), 'is not what the schemas say'),
    ('the page is missing', lambda root: os.unlink(os.path.join(root, 'docs', 'API.md')), 'is not what the schemas say'),
    ('a field is not described', lambda root: replace(root, CRD, 'description: What is asked for.', 'x-nothing: said'),
     'not described: PackageInstall: spec'),
]


def run(root):
    result = subprocess.run([os.path.join(root, 'tools', 'api-reference'), '--check'], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def main():
    failed = 0
    for number, (name, spoil, wanted) in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory(prefix='reeve-api-') as root:
            for path in ('deploy/crds', 'docs', 'tools'):
                shutil.copytree(os.path.join(ROOT, path), os.path.join(root, path))
            spoil(root)
            code, report = run(root)
        is_good = (code, report) == (0, '') if wanted is None else code == 1 and wanted in report
        failed += not is_good
        print('%sok %d - %s' % ('' if is_good else 'not ', number, name))
        if not is_good:
            print('\n'.join('# ' + line for line in report.split('\n')[:40]))
    print('1..%d' % len(CASES))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
