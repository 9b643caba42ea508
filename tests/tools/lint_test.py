#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds small trees to the lint scripts, which must pass the good one and fail each bad one for the right reason.

usage: lint_test.py TOOLS-FOLDER
"""
import os
import subprocess
import sys
import tempfile

TOOLS = sys.argv[1]
C = '/* SPDX-License-Identifier: Apache-2.0 */\n'
H = C + '#pragma once\n'

GOOD = {
    'docs/ARCHITECTURE.md': '| folder | may use |\n|---|---|\n| json, net | base |\n| object | json — never net |\n'
                            '| api | everything but cli |\n| cli | object |\n| main.c | all |\n\n| other | table |\n',
    'src/main.c': C + '#include "api/a.h"\n#include "cli/c.h"\n',
    'src/base/b.h': H,
    'src/json/j.h': H + '#include "base/b.h"\n',
    'src/net/n.h': H,
    'src/object/o.c': C + '#include "json/j.h"\n#include "base/b.h"\n#include <string.h>\n'
                          '/* strcpy(a, b) in words */\nstatic const char *s = "sprintf(";\nint x = my_system(t->rand());\n',
    'src/api/a.h': H + '#include "object/o.h"\n',
    'src/object/o.h': H,
    'src/cli/c.h': H,
    'src/meson.build': '# SPDX-License-Identifier: Apache-2.0\n',
    'tools/x': '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n',
}

# name, script, files that replace those of the good tree (None: no such file), words the report must hold
CASES = [
    ('good includes', 'lint-includes', {}, None),
    ('good form', 'lint-banned', {}, None),
    ('include against the table', 'lint-includes', {'src/object/o.c': C + '#include "net/n.h"\n'},
     'src/object/o.c:2: object may not use net'),
    ('spaces in an include', 'lint-includes', {'src/json/j.h': H + ' # include "net/n.h"\n'}, 'json may not use net'),
    ('base uses nobody', 'lint-includes', {'src/base/b.h': H + '#include "json/j.h"\n'}, 'base may not use json'),
    ('everything but', 'lint-includes', {'src/api/a.h': H + '#include "cli/c.h"\n'}, 'api may not use cli'),
    ('folder missing in the table', 'lint-includes', {'src/new/n.c': C}, 'folder new is not in the table'),
    ('include without its folder', 'lint-includes', {'src/json/k.h': H + '#include "j.h"\n'}, 'is not the path'),
    ('include with dots', 'lint-includes', {'src/json/k.h': H + '#include "json/../net/n.h"\n'}, 'is not the path'),
    ('include of nothing', 'lint-includes', {'src/json/k.h': H + '#include "json/none.h"\n'}, 'is not the path'),
    ('base name used twice', 'lint-includes', {'src/net/j.h': H}, 'src/net/j.h: has the base name of src/json/j.h'),
    ('row with an unknown folder', 'lint-includes',
     {'docs/ARCHITECTURE.md': '| folder | may use |\n|---|---|\n| json | bsae |\n'}, 'unknown folders: bsae'),
    ('no table', 'lint-includes', {'docs/ARCHITECTURE.md': '# nothing\n'}, 'no table'),
    ('banned call', 'lint-banned', {'src/json/k.c': C + 'int f(void)\n{\n    return atoi (s);\n}\n'},
     'src/json/k.c:4: atoi is banned'),
    ('banned call after a comment', 'lint-banned', {'src/json/k.c': C + '/* a\n */ int x = strcpy(a, b);\n'},
     'src/json/k.c:3: strcpy is banned'),
    ('banned call in a test', 'lint-banned', {'tests/unit/json/test_k.c': C + 'int x = rand();\n'}, 'rand is banned'),
    ('no SPDX line in C', 'lint-banned', {'src/json/k.c': 'int x;\n'}, 'src/json/k.c:1: does not begin with'),
    ('no SPDX line in a build file', 'lint-banned', {'src/meson.build': 'x = 1\n'}, 'src/meson.build:1: does not begin'),
    ('no SPDX line in a script', 'lint-banned', {'tools/x': '#!/bin/sh\necho\n'}, 'tools/x:1: does not begin'),
    ('no pragma once', 'lint-banned', {'src/json/j.h': C}, 'no "#pragma once"'),
    ('tab', 'lint-banned', {'src/json/k.c': C + '\tint x;\n'}, 'src/json/k.c:2: tab'),
    ('blanks at the end', 'lint-banned', {'src/json/k.c': C + 'int x; \n'}, 'src/json/k.c:2: blanks'),
    ('blanks at the end of prose', 'lint-banned', {'README.md': 'Hello \n'}, 'README.md:1: blanks'),
    ('no last newline', 'lint-banned', {'src/json/k.c': C + 'int x;'}, 'no newline at the end'),
    ('no files at all', 'lint-banned', {path: None for path in GOOD if path.startswith('src/')}, 'no files to look at'),
]


def write_tree(root, files):
    for path, text in files.items():
        if text is not None:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)


def main():
    print('1..%d' % len(CASES))
    for number, (name, script, changes, want) in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, {**GOOD, **changes})
            result = subprocess.run([os.path.join(TOOLS, script), root], check=False, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        good = result.returncode == 0 if want is None else result.returncode == 1 and want in result.stdout
        print('%s %d - %s' % ('ok' if good else 'not ok', number, name))
        if not good:
            print('\n'.join('# ' + line for line in ['exit %d' % result.returncode] + result.stdout.splitlines()))


main()
