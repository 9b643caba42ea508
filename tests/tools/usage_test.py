#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every tool says how it is used: "--help" and exit status 0, or 2 for what it does not know. Nobody sees a traceback.

usage: usage_test.py TOOLS-FOLDER
"""
import os
import subprocess
import sys

TOOLS = sys.argv[1]
# what is asked, the exit status, where the usage is told
CASES = [(['--help'], 0, 'stdout'), (['--no-such-flag'], 2, 'stderr')]


def programs():
    paths = [os.path.join(TOOLS, name) for name in sorted(os.listdir(TOOLS))]
    return [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]


def main():
    asked = [(path, *case) for path in programs() for case in CASES]
    print('1..%d' % len(asked))
    for number, (path, arguments, status, where) in enumerate(asked, 1):
        result = subprocess.run([path, *arguments], check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        good = result.returncode == status and 'usage:' in getattr(result, where) and 'Traceback' not in result.stderr
        print('%s %d - %s %s' % ('ok' if good else 'not ok', number, os.path.basename(path), ' '.join(arguments)))
        if not good:
            told = ['exit %d' % result.returncode] + result.stdout.splitlines() + result.stderr.splitlines()
            print('\n'.join('# ' + line for line in told))


main()
