#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How tools/test counts what a test program reported. usage: tally_test.py TOOLS-FOLDER"""
import importlib.machinery
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader('test_tool', os.path.join(sys.argv[1], 'test'))
TOOL = importlib.util.module_from_spec(importlib.util.spec_from_loader('test_tool', LOADER))
LOADER.exec_module(TOOL)

# name, what meson made of the program, its output, (passed, failed, skipped)
CASES = [
    ('every check counts', 'OK', '1..2\nok 1 - a\nok 2 - b\n', (2, 0, 0)),
    ('a failed check counts', 'FAIL', 'ok 1 - a\nnot ok 2 - b\n# why\n1..2\n', (1, 1, 0)),
    ('a crash after good checks is a failure', 'ERROR', 'ok 1 - a\n', (1, 1, 0)),
    ('a crash after a failed check is not counted twice', 'ERROR', 'not ok 1 - a\n', (0, 1, 0)),
    ('a timeout is a failure', 'TIMEOUT', '', (0, 1, 0)),
    ('silence is a failure', 'OK', '1..0\n', (0, 1, 0)),
    ('a skipped check is neither passed nor failed', 'OK', 'ok 1 - a\nok 2 - b # SKIP no network\n', (1, 0, 1)),
    ('a program that is skipped as a whole is no failure', 'OK', '1..0 # SKIP not installed: zsh\n', (0, 0, 1)),
    ('one that meson calls skipped is none either', 'SKIP', '', (0, 0, 1)),
    ('a check that fails is not skipped by words in its title', 'FAIL', 'not ok 1 - skip this\n', (0, 1, 0)),
    ('words that begin with ok are no checks', 'OK', 'okay\nok 1\n', (1, 0, 0)),
]

# name, output, what is listed
SKIPS = [
    ('a check and its reason', 'ok 1 - a\nok 2 - fish # SKIP not installed: fish\n', ['1 skipped:', '  t "fish": not installed: fish']),
    ('a program and its reason', '1..1\nok 1 # SKIP not installed: node, the npm package x\n',
     ['1 skipped:', '  t: not installed: node, the npm package x']),
    ('a plan with a reason', '1..0 # skip no machine\n', ['1 skipped:', '  t: no machine']),
    ('no reason', 'ok 1 - a # SKIP\n', ['1 skipped:', '  t "a": no reason given']),
    ('twice is once', 'ok 1 - a # SKIP x\nok 1 - a # SKIP x\n', ['1 skipped:', '  t "a": x']),
    ('nothing', 'ok 1 - a\n', ['0 skipped']),
]


def check(number, name, got, want):
    print('%s %d - %s' % ('ok' if got == want else 'not ok', number, name))
    if got != want:
        print('# got %r, want %r' % (got, want))


def main():
    print('1..%d' % (len(CASES) + len(SKIPS)))
    for number, (name, result, stdout, want) in enumerate(CASES, 1):
        check(number, name, TOOL.tally({'result': result, 'stdout': stdout}), want)
    for number, (name, stdout, want) in enumerate(SKIPS, len(CASES) + 1):
        record = {'result': 'OK', 'stdout': stdout}
        check(number, 'skips: ' + name, TOOL.summary([('t', *one) for one in TOOL.skips(record)]), want)


main()
