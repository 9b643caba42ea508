#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No two folders define the same name: of two functions in different archives the linker silently takes the first.

usage: symbols_test.py ARCHIVE...
"""
import os
import subprocess
import sys

ARCHIVES = sys.argv[1:]
COMPILER_OWN = ('__', '.')  # sanitizers and the compiler itself


def defined(archive):
    """Names that others can link with; weak ones may be defined twice."""
    lines = subprocess.run(['nm', '-g', '--defined-only', archive], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in lines.splitlines()]
    return {word[2] for word in words if len(word) == 3 and word[1] not in 'WVwv' and not word[2].startswith(COMPILER_OWN)}


def main():
    owners = {}
    for archive in ARCHIVES:
        for name in defined(archive):
            owners.setdefault(name, []).append(os.path.basename(archive))
    twice = sorted(name for name, archives in owners.items() if len(archives) > 1)
    print('1..2')
    print('%s 1 - the archives define names' % ('ok' if len(owners) > 100 else 'not ok'))
    print('%s 2 - each name is defined by one folder' % ('not ok' if twice else 'ok'))
    for name in twice:
        print('# %s: %s' % (name, ', '.join(owners[name])))
    sys.exit(1 if twice else 0)


if __name__ == '__main__':
    main()
