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
    ('words that begin with ok are no checks', 'OK', 'okay\nok 1\n', (1, 0, 0)),
]


def main():
    print('1..%d' % len(CASES))
    for number, (name, result, stdout, want) in enumerate(CASES, 1):
        got = TOOL.tally({'result': result, 'stdout': stdout})
        print('%s %d - %s' % ('ok' if got == want else 'not ok', number, name))
        if got != want:
            print('# got %r, want %r' % (got, want))


main()
