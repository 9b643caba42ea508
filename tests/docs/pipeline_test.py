#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drawings of the request pipeline name the stages of src/api/pipeline.c, in their order.

usage: pipeline_test.py ROOT
"""
import os
import re
import sys

DOCUMENTS = ('README.md', 'docs/ARCHITECTURE.md')
TABLE = re.compile(r'\} stages\[\] = \{\n(.*?)\n\};', re.DOTALL)


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read()


def main():
    root = sys.argv[1]
    rows = re.findall(r'^ +\{(\w+), (.*)\},$', TABLE.search(read(root, 'src/api/pipeline.c')).group(1), re.MULTILINE)
    stages = [name for name, _ in rows]
    checks = [('src/api/pipeline.c has stages', len(stages) > 1)]
    drawn = ' ► '.join(stages) + ' ► wait for turn'
    for path in DOCUMENTS:
        checks.append(('%s draws: %s' % (path, drawn), drawn in read(root, path)))
    again = ', '.join(name for name, when in rows if 'ON_RECHECK' in when) + ' again'
    checks.append(('docs/ARCHITECTURE.md draws: %s' % again, again in read(root, 'docs/ARCHITECTURE.md')))
    for number, (name, is_good) in enumerate(checks, 1):
        print('%sok %d - %s' % ('' if is_good else 'not ', number, name))
    print('1..%d' % len(checks))
    return 0 if all(is_good for _, is_good in checks) else 1


if __name__ == '__main__':
    sys.exit(main())
