#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages: groff and mandoc show them without a complaint, and they say what --help says.

usage: manual_test.py PATH-OF-REEVE PAGE…"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from reeve_server import Tap  # noqa: E402

REEVE, PAGES = sys.argv[1], sys.argv[2:]
SECTIONS = ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS', 'SEE ALSO']


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env})


def command_of(page):
    return os.path.basename(page).split('.')[0].partition('-')[2]


def shown(page):
    """As one reads it, in lines that are long enough for every synopsis."""
    done = run('mandoc', '-Tascii', '-Owidth=300', page)
    return re.sub('.\b', '', done.stdout)


def section(text, title):
    found = re.search(r'^%s\n(.*?)(?=^\S)' % title, text, re.M | re.S)
    return found.group(1) if found else ''


def flags_of(page):
    """The heads of entries, as they were meant for groff and mandoc."""
    with open(page, encoding='utf-8') as file:
        options = re.search(r'^\.SH OPTIONS\n(.*?)(?=^\.SH )', file.read() + '.SH \n', re.M | re.S)
    heads = re.findall(r'^\.TP\n(.*)$', options.group(1), re.M) if options else []
    return [re.sub(r'\\f.', '', head).replace('\\-', '-') for head in heads]


def mandoc_is_content(page):
    done = run('mandoc', '-Tlint', '-Wwarning', page)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done


def groff_is_content(page):
    for locale in ('C.UTF-8', 'C'):
        done = run('man', '--warnings', '-l', page, LC_ALL=locale, MANWIDTH='80', MAN_KEEP_FORMATTING='')
        assert done.returncode == 0 and done.stdout and not done.stderr, done


def has_all_sections(page):
    text = shown(page)
    for title in SECTIONS:
        assert section(text, title) or (title == 'OPTIONS' and not command_of(page)), title


def help_says_the_same(page):
    """Forms, flags with their values, exit codes, examples."""
    name = command_of(page)
    done = run(REEVE, name, '--help') if name else run(REEVE, '--help')
    assert done.returncode == 0 and not done.stderr, done
    for line in done.stdout.splitlines():
        assert len(line) <= 80 and line.isascii() and line == line.rstrip(), line
    text = shown(page)
    forms = [' '.join(line.split()) for line in section(text, 'SYNOPSIS').splitlines() if line.strip()]
    usage = re.sub(r'\n {15}(?=\S)', ' ', done.stdout.split('\n\n')[0])
    assert [' '.join(line.replace('Usage:', '').split()) for line in usage.splitlines()] == forms, (usage, forms)
    told = re.findall(r'^ +((?:-\w, )?--[a-z-]+\S*(?: \S+)?)(?=$|  )', done.stdout.split('\n\nExit code')[0], re.M)
    written = flags_of(page)
    assert told == written and (told or not name), (told, written)
    assert ' '.join(section(text, 'EXIT STATUS').split())[:30] in ' '.join(done.stdout.split()), 'exit status'


def help_is_the_same_everywhere(page):
    name = command_of(page)
    if name:
        one, other, last = run(REEVE, name, '--help'), run(REEVE, 'help', name), run(REEVE, name, '--no-such-flag', '-h')
        assert one.stdout == other.stdout and one.stdout.startswith('Usage: reeve ' + name), (one, other)
        assert last.stdout in ('', one.stdout), last
    else:
        assert run(REEVE).stdout == run(REEVE, 'help').stdout == run(REEVE, '-h').stdout


def all_commands_have_pages():
    listed = re.findall(r'^  ([a-z-]+)  ', run(REEVE, '--help').stdout.split('Commands:')[1].split('\n\n')[0], re.M)
    assert sorted(map(command_of, PAGES)) == sorted(['', *listed]), listed


def main():
    tap = Tap()
    tap.run('all commands have pages', all_commands_have_pages)
    for page in PAGES:
        for check in (mandoc_is_content, groff_is_content, has_all_sections, help_says_the_same, help_is_the_same_everywhere):
            tap.run('%s: %s' % (os.path.basename(page), check.__name__.replace('_', ' ')), check, page)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
