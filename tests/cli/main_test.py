#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the reeve binary does before any command runs. usage: main_test.py PATH-OF-REEVE"""
import subprocess
import sys

REEVE = sys.argv[1]

# arguments, exit code, part of stdout, part of stderr ('' there: nothing may be written)
CASES = [
    ([], 0, 'Usage: reeve COMMAND', ''),
    (['--help'], 0, 'Usage: reeve COMMAND', ''),
    (['-h'], 0, 'Usage: reeve COMMAND', ''),
    (['help'], 0, 'Usage: reeve COMMAND', ''),
    (['--version'], 0, 'reeve 0.', ''),
    (['version'], 0, 'reeve 0.', ''),
    (['versoin'], 2, '', 'did you mean "version"?'),
    (['zzzzzzzz'], 2, '', 'unknown command "zzzzzzzz"\n'),
    (['x' * 5000], 2, '', 'unknown command "xxx'),
    ([''], 2, '', 'unknown command ""'),
    (['--unknown'], 2, '', 'unknown flag --unknown: name a command first'),
    (['--kubeconfig', 'x', 'why'], 2, '', 'unknown flag --kubeconfig: name a command first'),
    (['version', '--help'], 0, 'Usage: reeve version', ''),
    (['version', '--client', '-o', 'json'], 0, '"kind": "Version"', ''),
    (['version', '--kubeconfig', '/nowhere'], 0, 'reeve 0.', 'server: version unknown'),
    (['version', 'x'], 2, '', 'unknown argument "x"'),
    (['upgrade'], 2, '', 'unknown command "upgrade", did you mean "install"?'),
    (['lint'], 2, '', 'unknown command "lint", did you mean "package lint"?'),
    (['can-i'], 2, '', 'unknown command "can-i", did you mean "why"?'),
    (['get'], 2, '', 'unknown command "get", did you mean "kubectl get"?'),
    (['instal'], 2, '', 'unknown command "instal", did you mean "install"?'),
]


def run(arguments, stdout=subprocess.PIPE):
    return subprocess.run([REEVE] + arguments, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def report(number, good, name, result):
    print('%s %d - %s' % ('ok' if good else 'not ok', number, name))
    if not good:
        print('# got exit code %d, stdout %r, stderr %r' % (result.returncode, result.stdout, result.stderr))


def main():
    print('1..%d' % (len(CASES) + 1))
    for number, (arguments, code, out, err) in enumerate(CASES, 1):
        result = run(arguments)
        good = result.returncode == code
        good &= out in result.stdout if out else result.stdout == ''
        good &= err in result.stderr if err else result.stderr == ''
        report(number, good, 'reeve ' + ' '.join(arguments)[:40], result)
    with open('/dev/full', 'w', encoding='utf-8') as full:
        result = run(['--help'], stdout=full)
    report(len(CASES) + 1, result.returncode == 1 and 'standard output' in result.stderr, 'reeve --help on a full disk',
           result)


main()
