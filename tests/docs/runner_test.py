#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds small documents to those who check documents: good ones must pass, each bad one must fail for the right reason.

usage: runner_test.py
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# name, document, what the report must hold (None: it passes)
FOLLOWED = [
    ('output', '    $ echo one; echo two\n    one\n    two\n', None),
    ('a fence', '```console\n$ echo one\none\n```\n', None),
    ('other output', '    $ echo two\n    one\n', 'not ok 1 - line 1: echo two'),
    ('output that is not shown', '    $ echo one\n', 'not ok 1'),
    ('output that does not come', '    $ true\n    one\n', 'not ok 1'),
    ('output cut short', '    $ echo one; echo two\n    one\n', 'not ok 1'),
    ('a part that varies', '    $ echo one $$ two\n    one … two\n', None),
    ('a part that varies, and one that does not', '    $ echo one $$ three\n    one … two\n', 'not ok 1'),
    ('lines that vary', '    $ seq 1 100\n    1\n    …\n    100\n', None),
    ('lines that vary, and the last is another', '    $ seq 1 100\n    1\n    …\n    101\n', 'not ok 1'),
    ('a blank line in the output', '    $ printf "a\\n\\nb\\n"\n    a\n\n    b\n', None),
    ('standard error', '    $ ls /none 2>&1 >/dev/null | wc -l; ls /none\n    1\n    ls: …/none…\n', None),
    ('no newline at the end', '    $ printf one\n    one\n    $ echo two\n    two\n', None),
    ('failure without a word', '    $ false\n', 'it failed with status 1'),
    ('several lines', '    $ cat <<END\n    > one\n    >\n    > two\n    > END\n    one\n\n    two\n', None),
    ('variables stay', '    $ A=one\n\nText.\n\n    $ echo $A\n    one\n', None),
    ('jobs stay', '    $ sleep 1000 &\n    $ kill %1\n', None),
    ('a home of its own', '    $ ls -A ~ | wc -l; case $HOME in /root|/home/*) echo bad;; esac\n    0\n', None),
    ('nothing to read', '    $ cat\n', None),
    ('a terminal', '<!-- terminal -->\n\n    $ echo ready; exec sleep 1000\n    ready\n\nText.\n\n    $ echo\n', None),
    ('a terminal that goes on to talk', '<!-- terminal -->\n    $ echo ready; echo more; exec sleep 1000\n    ready\n', None),
    ('a terminal that shows a prompt', '<!-- terminal -->\n    $ echo "$ false"; exec sleep 1000\n    $ false\n', None),
    ('a terminal with other output', '<!-- terminal -->\n    $ echo broken\n    ready\n', 'not ok 1'),
    ('a file', '<!-- file a.txt -->\n```yaml\na: 1\n```\n\n    $ cat a.txt\n    a: 1\n', None),
    ('a file elsewhere', '<!-- file ../../../a.txt -->\n```yaml\na: 1\n```\n', 'outside of the repository'),
    ('what a terminal printed', '<!-- terminal -->\n    $ echo one; echo two; exec sleep 1000\n    …\n\n<!-- printed -->\n    one\n    two\n', None),
    ('what no terminal printed', '<!-- terminal -->\n    $ echo one\n    …\n\n<!-- printed -->\n    two\n', 'not ok 2'),
    ('nothing was printed', '<!-- printed -->\n    two\n', 'no terminal was opened'),
    ('Ctrl-C', '<!-- terminal -->\n    $ trap "echo; echo bye; exit" INT; echo hi; while :; do sleep 0.01; done\n    hi\n    ^C\n    bye\n', None),
    ('Ctrl-C that is heard of', '<!-- terminal -->\n    $ trap "echo; echo ho; exit" INT; echo hi; while :; do sleep 0.01; done\n    hi\n    ^C\n    bye\n',
     'not ok 1'),
    ('Ctrl-C comes too late', '<!-- terminal -->\n    $ echo hi\n    hi\n    ^C\n', 'not ok 1'),
    ('no locale', '<!-- terminal, no locale -->\n    $ echo "$LANG$LC_ALL."; exec sleep 1000\n    .\n', None),
    ('a locale', '<!-- terminal -->\n    $ echo "$LANG$LC_ALL."\n    .\n', 'not ok 1'),
    ('failure behind dots', '    $ echo oh; false\n    …\n', 'it failed with status 1'),
    ('failure that is shown', '    $ echo oh; false\n    oh\n', None),
    ('the exception', '    $ make test   # all of it\n    … passed\n', 'make --dry-run test, for make test'),
    ('the exception must be there', '    $ make test\n', 'not ok 1'),
    ('something that looks like it', '    $ make test-all\n    …\n', 'not ok 1'),
    ('the shell ends', '    $ exit 3\n    $ echo one\n    one\n', 'the shell ended'),
    ('text of a list', '- a list\n    $ false\n', None),
    ('a copy of the repository', '    $ rm doc.md; ls doc.md\n    ls: …doc.md…\n', None),
]

# name, files, what the report must hold (None: it passes)
TEST = 'tests/e2e/good.bats'
CHECKED = [
    ('nothing to say', {'a.md': '# A\n'}, None),
    ('no documents', {}, 'documents were found'),
    ('a command that is not run', {'a.md': '    make all\n'}, 'nothing runs "make all"'),
    ('a command behind a variable', {'a.md': '    FOO=bar kubectl get pods\n'}, 'nothing runs'),
    ('a command of the repository', {'a.md': '```\ntools/test\n```\n'}, 'nothing runs'),
    ('a command in a fence of a shell', {'a.md': '```sh\nreeve up\n```\n'}, 'nothing runs'),
    ('something else', {'a.md': '```yaml\nmake: all\n```\n\n    made of nothing\n'}, None),
    ('a command that somebody else is said to run', {'a.md': '<!-- tested by %s -->\n\n    make all\n' % TEST}, 'nothing runs'),
    ('a figure with its benchmark', {'a.md': '<!-- measured by bench/x/y.c -->\n\n    $ build/bench/bench_x_y build/reeve all\n',
                                     'bench/x/y.c': '"all"'}, None),
    ('a benchmark that is not there', {'a.md': '<!-- measured by bench/x/z.c -->\n\n    $ build/bench/bench_x_z\n', 'bench/x/z.c': ''},
     'no benchmark is bench/x/z.c'),
    ('a benchmark without that part', {'a.md': '<!-- measured by bench/x/y.c -->\n\n    $ build/bench/bench_x_y build/reeve some\n',
                                       'bench/x/y.c': '"all"'}, 'is no part of "make bench"'),
    ('a command that is no benchmark', {'a.md': '<!-- measured by bench/x/y.c -->\n\n    $ make bench\n', 'bench/x/y.c': ''},
     'is no part of "make bench"'),
    ('a mark too far away', {'a.md': '<!-- terminal -->\nText.\n\n    make all\n'}, 'nothing runs'),
    ('a mark that is none', {'a.md': '<!-- tested with care -->\n'}, 'says nothing to the runner'),
    ('commands without a test', {'b.md': '    $ true\n'}, 'tests/docs/meson.build does not name it'),
    ('commands with a test', {'followed.md': '    $ true\n'}, None),
    ('commands in prose', {'a.md': '`make all A=b`, `tools/x --y -- --z`, `reeve why --as jane`, `reeve version`, `ls --none`\n',
                           'Makefile': 'all: b\n', 'tools/x': '--y', 'man/reeve-why.1.scd': 'reeve why *--as*', 'man/reeve.1.scd': 'version'}, None),
    ('a target of nothing', {'a.md': '`make none`\n', 'Makefile': 'all:\n'}, '`make none`: there is no none'),
    ('a flag of nothing', {'a.md': '`tools/x --z`\n', 'tools/x': '--y'}, 'there is no --z'),
    ('a tool that is not there', {'a.md': '`tools/z --y`\n'}, 'there is no tools/z'),
    ('a command of nothing', {'a.md': '`reeve whom --as jane`\n', 'man/reeve.1.scd': 'who-can'}, 'there is no whom, --as'),
    ('links', {'a.md': '[b](b/c.md) [x](https://example.com/none) [h](b/c.md#two-words)\n', 'b/c.md': '# Two, words\n'}, None),
    ('a link to nothing', {'a.md': '[b](b.md)\n'}, 'link to b.md, which does not exist'),
    ('a link to no heading', {'a.md': '# A\n[a](#b)\n'}, 'no such heading'),
    ('names', {'a.md': '`e2e/good`, `e2e/good` "a test", `tests/e2e`, `cases/none` in words: `fine`\n'}, '`cases/none` does not exist'),
    ('a name of nothing', {'a.md': '`unit-net/none`\n'}, '`unit-net/none` does not exist'),
    ('a title of nothing', {'a.md': '`e2e/good` "another test"\n'}, 'has no "another test"'),
]


def write(root, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
            file.write(text)


def run(*command):
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def follow(root, text):
    write(root, {'doc.md': text})
    return run(os.path.join(HERE, 'run_document.py'), '/bin/true', root, os.path.join(root, 'doc.md'))


def check(root, files):
    write(root, {TEST: '@test "a test" {\n', **files})
    tests = [{'name': 'good', 'suite': ['reeve:e2e'], 'cmd': ['bats', os.path.join(root, TEST)]},
             {'name': 'followed', 'suite': ['reeve:docs'],
              'cmd': [os.path.join(HERE, 'run_document.py'), 'reeve', root, os.path.join(root, 'followed.md')]}]
    write(root, {'build/meson-info/intro-tests.json': json.dumps(tests),
                 'build/meson-info/intro-benchmarks.json': json.dumps([{'cmd': ['/build/bench/bench_x_y']}])})
    return run(os.path.join(HERE, 'documents_test.py'), root, os.path.join(root, 'build'))


def update(root):
    """What came out is written where it belongs, and what was right stays."""
    write(root, {'doc.md': '# A\n\n    $ echo one\n    two\n    $ echo $$\n    …\n\nText.\n\n```\n$ seq 2\n```\n'})
    run(os.path.join(HERE, 'run_document.py'), '--update', '/bin/true', root, os.path.join(root, 'doc.md'))
    with open(os.path.join(root, 'doc.md'), encoding='utf-8') as file:
        text = file.read()
    return text == '# A\n\n    $ echo one\n    one\n    $ echo $$\n    …\n\nText.\n\n```\n$ seq 2\n1\n2\n```\n', text


def main():
    count = failed = 0

    def tell(is_good, name, comment):
        nonlocal count, failed
        count += 1
        failed += not is_good
        print('%sok %d - %s' % ('' if is_good else 'not ', count, name))
        if not is_good:
            print('\n'.join('# ' + line for line in comment.split('\n')))

    for kind, cases, function in (('follow', FOLLOWED, follow), ('check', CHECKED, check)):
        for name, given, wanted in cases:
            with tempfile.TemporaryDirectory(prefix='reeve-docs-') as root:
                code, report = function(root, given)
            is_good = code == 0 if wanted is None else code == 1 and wanted in report
            tell(is_good, '%s: %s' % (kind, name), report)
    with tempfile.TemporaryDirectory(prefix='reeve-docs-') as root:
        tell(*(lambda result: (result[0], 'update', result[1]))(update(root)))
    print('1..%d' % count)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
