#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reeve check, on the examples, on the text in docs/in-ci.md, and on bad input. usage: check_test.py PATH-OF-REEVE"""
import os
import subprocess
import sys
import tempfile

REEVE = os.path.abspath(sys.argv[1])
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
CRD = 'examples/fleet-crd.yaml'

number = 0


def check(name, good, result):
    global number
    number += 1
    print('%s %d - %s' % ('ok' if good else 'not ok', number, name))
    if not good:
        print('# got exit code %d\n# stdout %r\n# stderr %r' % (result.returncode, result.stdout, result.stderr))


def run(*arguments, stdin=''):
    return subprocess.run([REEVE, 'check', *arguments], cwd=TOP, input=stdin, capture_output=True, text=True, check=False)


def shown_behind(command):
    """What docs/in-ci.md shows behind a command: the indented lines that follow it."""
    with open(os.path.join(TOP, 'docs', 'in-ci.md'), encoding='utf-8') as f:
        lines = f.read().split('\n')
    start = lines.index('    $ ' + command) + 1
    end = start
    while lines[end].startswith('    '):
        end += 1
    return ''.join(line[4:] + '\n' for line in lines[start:end])


def examples():
    r = run(CRD, 'examples/fleet.yaml')
    check('the examples are fine', r.returncode == 0 and r.stderr == '4 objects, 0 with errors\n' and r.stdout == '', r)
    r = run(CRD, 'examples/fleet.yaml', '-o', 'yaml')
    check('objects come out with their defaults', r.returncode == 0 and 'flag: red' in r.stdout and
          '  - name: mary\n    rank: sailor\n' in r.stdout, r)
    again = run('-', stdin=r.stdout)
    check('what comes out is fine again', again.returncode == 0 and '4 objects, 0 with errors' in again.stderr, again)
    r = run(CRD, 'examples/fleet.yaml', '--output=json')
    check('as JSON too', r.returncode == 0 and '"flag": "red"' in r.stdout, r)
    r = run('examples/mistakes', CRD)
    told = ''.join(line[:130].rstrip() + '\n' for line in r.stderr.splitlines())
    check('mistakes are told as in the documents, whatever the order of files', r.returncode == 1 and
          told == shown_behind('reeve check examples/fleet-crd.yaml examples/mistakes 2>&1 | cut -c1-130'), r)
    r = run('examples/mistakes', CRD, '-o', 'yaml')
    check('nothing is printed when something is wrong', r.returncode == 1 and r.stdout == '', r)


BAD = [
    ('no kind', 'apiVersion: v1\nmetadata: {name: x}', "Object 'Kind' is missing"),
    ('no apiVersion', 'kind: ConfigMap', 'apiVersion not set'),
    ('no object', '- a\n- b', 'not an object but array'),
    ('unknown kind', 'apiVersion: example.com/v1\nkind: Fleet', 'none of the files has a CRD of it'),
    ('syntax', 'a: b: c', 'standard input: yaml: line 1, column 5: mapping values are not allowed in this context'),
    ('items of a List', 'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: A}}',
     'ConfigMap "A": metadata.name: Invalid value: "A"'),
    ('what a terminal would obey', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "a\\e[31m\\u009bb"}',
     'ConfigMap "a\\x1b[31m\\x9bb": '),
    ('a CRD that is none', 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n'
     'spec: {}', 'spec.group: Required value'),
]


def bad_input():
    for name, text, want in BAD:
        r = run('-', stdin=text)
        check(name, r.returncode == 1 and want in r.stderr, r)
    for arguments, code, want in [([], 2, 'at least one file'), (['-o', 'xml', '-'], 2, 'yaml or json'),
                                  (['no/such/file'], 1, 'No such file'), (['--bogus'], 2, 'unknown flag --bogus')]:
        r = run(*arguments)
        check('reeve check ' + ' '.join(arguments), r.returncode == code and want in r.stderr and r.stdout == '', r)
    r = run('--help')
    check('reeve check --help', r.returncode == 0 and r.stdout.startswith('Usage: reeve check'), r)


def directories():
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, 'a', 'b'))
        good = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: sea}\n'
        for path, text in [('one.yaml', good), ('a/two.yml', good), ('a/b/three.json',
                           '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"sea"}}'), ('notes.txt', 'a: b: c')]:
            with open(os.path.join(folder, path), 'w', encoding='utf-8') as f:
                f.write(text)
        r = run(folder)
        check('a directory, with those below it', r.returncode == 0 and '3 objects, 0 with' in r.stderr, r)
        os.symlink('..', os.path.join(folder, 'a', 'loop.yaml'))
        r = run(folder)
        check('a directory that contains itself ends', r.returncode == 1 and 'nested deeper' in r.stderr, r)


def namespaces_and_kinds():
    plain = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n'
    r = run('-', '-o', 'yaml', stdin=plain)
    check('an object without a namespace is in "default"', r.returncode == 0 and '  namespace: default\n' in r.stdout, r)
    r = run('-', '-n', 'sea', '-o', 'yaml', stdin=plain + '---\napiVersion: v1\nkind: Namespace\nmetadata: {name: sea}\n')
    check('-n names another, for what is in namespaces', r.returncode == 0 and r.stdout.count('namespace: sea') == 1, r)
    r = run('-', '-n', 'sea', '-o', 'yaml', stdin=plain.replace('{name: x}', '{name: x, namespace: lake}'))
    check('-n leaves a namespace that is there', r.returncode == 0 and 'namespace: lake' in r.stdout, r)
    unknown = 'apiVersion: example.com/v1\nkind: Fleet\nmetadata: {name: x}\n---\n'
    r = run('-', '--ignore-unknown-kinds', stdin=unknown + plain)
    check('unknown kinds are ignored on request', r.returncode == 0 and '1 object of unknown kinds ignored\n' in r.stderr, r)
    r = run('-', '--ignore-unknown-kinds', stdin=unknown + plain.replace('{name: x}', '{name: X}'))
    check('others are checked all the same', r.returncode == 1 and 'metadata.name: Invalid value: "X"' in r.stderr, r)


examples()
namespaces_and_kinds()
bad_input()
directories()
print('1..%d' % number)
