#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a machine without some programs can do: tools/setup asks for what is needed alone, and tests skip what is optional.

usage: setup_test.py TOOLS-FOLDER
"""
import os
import subprocess
import sys
import tempfile

TOOLS = os.path.abspath(sys.argv[1])
NEEDS = os.path.join(os.path.dirname(TOOLS), 'tests', 'needs')
OPTIONAL = 'setup: missing, and tests that take it are skipped: '


class Machine:
    """This one, where all programs but some are found."""

    def __init__(self, folder, *without):
        self.path = tempfile.mkdtemp(dir=folder)
        for place in os.environ['PATH'].split(':'):
            for name in os.listdir(place) if os.path.isdir(place) else ():
                link, program = os.path.join(self.path, name), os.path.join(place, name)
                is_cache = os.path.basename(os.path.realpath(program)) == 'ccache'  # which looks for the compiler on the PATH
                if name not in without and not is_cache and not os.path.lexists(link):
                    os.symlink(program, link)

    def run(self, *command):
        done = subprocess.run(command, env={**os.environ, 'PATH': self.path}, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr


def optional_programs_are_not_asked_for(folder):
    code, out, _ = Machine(folder, 'npm', 'zsh').run(os.path.join(TOOLS, 'setup'), '--check')
    lines = [line[len(OPTIONAL):] for line in out.splitlines() if line.startswith(OPTIONAL)]
    assert code == 0 and len(lines) == 1, (code, out)
    assert {'npm', 'zsh'} <= set(lines[0].replace(',', '').split()), out


def needed_programs_are(folder):
    code, out, _ = Machine(folder, 'jq', 'zsh').run(os.path.join(TOOLS, 'setup'), '--check')
    assert code == 1 and 'setup: missing: jq' in out.splitlines(), (code, out)
    assert any(line.startswith(OPTIONAL) and 'zsh' in line for line in out.splitlines()), out


def a_part_does_not_name_what_it_does_not_need(folder):
    code, out, _ = Machine(folder, 'npm', 'zsh').run(os.path.join(TOOLS, 'setup'), '--run', '--check')
    assert (code, out) == (0, 'setup: everything needed is installed\n'), (code, out)


def a_test_without_its_program_says_so(folder):
    machine = Machine(folder, 'zsh')
    want = (0, '1..1\nok 1 # SKIP not installed: zsh, the Python module no_such, the npm package no-such\n', '')
    assert machine.run(NEEDS, 'zsh', 'python:no_such', 'node:no-such', 'sh', '--', 'echo', 'run') == want


def a_test_with_all_of_them_runs(folder):
    machine = Machine(folder)
    assert machine.run(NEEDS, 'sh', 'python:json', '--', 'sh', '-c', 'echo "$1"; exit 3', 'sh', 'a b') == (3, 'a b\n', '')
    assert machine.run(NEEDS, '--', 'echo', '--', 'run') == (0, '-- run\n', '')
    assert machine.run(NEEDS, 'sh', '--')[0] == 2 and machine.run(NEEDS, 'sh')[0] == 2


def main():
    checks = [optional_programs_are_not_asked_for, needed_programs_are, a_part_does_not_name_what_it_does_not_need,
              a_test_without_its_program_says_so, a_test_with_all_of_them_runs]
    failed = 0
    print('1..%d' % len(checks))
    with tempfile.TemporaryDirectory(prefix='reeve-setup-') as folder:
        for number, check in enumerate(checks, 1):
            try:
                check(folder)
                print('ok %d - %s' % (number, check.__name__.replace('_', ' ')))
            except AssertionError as error:
                failed += 1
                print('not ok %d - %s\n# %s' % (number, check.__name__.replace('_', ' '), error))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
