#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows a document: runs each of its commands in order and compares what comes out with what the document shows.

usage: run_document.py [--machine bare|built] REEVE ROOT DOCUMENT            TAP, one check for each command
       run_document.py [--machine bare|built] --update REEVE ROOT DOCUMENT   writes what came out into the document instead

document.py says what a document may say. With --machine its reader is root, on a machine of his own (machine.py), where reeve is on
the PATH (built) or not (bare). A command that fails is fine where the document shows what it says then.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
import document  # noqa: E402
import machine  # noqa: E402
from session import MachineSession, Session, Trouble  # noqa: E402


class Follower:
    def __init__(self, session):
        self.session = session
        self.count = self.failed = 0
        self.changes = []  # (command, lines) that came out differently

    def tell(self, is_good, name, comment=''):
        self.count += 1
        self.failed += not is_good
        print('%sok %d - %s' % ('' if is_good else 'not ', self.count, name.replace('#', '\\#')))
        for line in comment.split('\n') if comment else []:
            print('# ' + line)
        sys.stdout.flush()

    def follow(self, block):
        if block.mark == 'measured':
            return
        if block.mark == 'file':
            self.session.save(block.argument, block.lines)
            return
        for command in block.commands:
            if command.plain in document.NOT_RUN:
                self.tell_of_exception(command)
                continue
            name = 'line %d: %s' % (command.line, command.text.split('\n')[0] or 'what was printed')
            lines, status = self.run(block, command)
            self.judge(command, name, lines, status)

    def run(self, block, command):
        if block.mark == 'printed':
            return self.session.printed(command), 0
        if block.mark == 'terminal':
            return self.session.open_terminal(command, has_locale=not block.argument), 0
        return self.session.run(command.text)

    def tell_of_exception(self, command):
        instead, why = document.NOT_RUN[command.plain]
        lines, status = self.session.run(instead)
        self.tell(status == 0 and bool(lines), 'line %d: %s, for %s: %s' % (command.line, instead, command.plain, why),
                  '' if status == 0 else '\n'.join(lines))

    def judge(self, command, name, lines, status):
        if document.matches(command.expected, lines):
            # Of one that fails the document says so. "…" says nothing.
            is_mute = status != 0 and not any(line.strip('… ') for line in command.expected)
            self.tell(not is_mute, name, 'it failed with status %d\n%s' % (status, '\n'.join(lines)) if is_mute else '')
            return
        self.changes.append((command, lines))
        self.tell(False, name, 'the document shows:\n%s\nwhat came out (status %d):\n%s' % (
            '\n'.join(command.expected), status, '\n'.join(lines)))


def update(path, blocks, changes):
    """From the end to the beginning, so that line numbers stay right."""
    with open(path, encoding='utf-8') as file:
        lines = file.read().split('\n')
    indents = {id(command): block.indent for block in blocks for command in block.commands}
    for command, output in reversed(changes):
        indent = indents[id(command)]
        lines[command.expected_at:command.expected_end] = [(indent + line).rstrip() for line in output]
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines))


def main():
    parser = argparse.ArgumentParser(description='follow a document', usage='run_document.py [--machine bare|built] [--update] REEVE ROOT DOCUMENT')
    parser.add_argument('--machine', choices=('bare', 'built'))
    parser.add_argument('--update', action='store_true')
    parser.add_argument('paths', nargs=3, metavar='PATH', type=os.path.abspath)
    options = parser.parse_args()
    reeve, root, path = options.paths
    with open(path, encoding='utf-8') as file:
        text = file.read()
    blocks = document.parse(text)
    session = MachineSession(reeve, root, text, options.machine == 'built') if options.machine else Session(reeve, root)
    follower = Follower(session)
    try:
        for block in blocks:
            follower.follow(block)
    except Trouble as trouble:
        follower.tell(False, 'the document can be followed to its end', str(trouble))
    finally:
        found = session.close()
    follower.tell(not found, 'nothing for the sanitizers', found)
    print('1..%d' % follower.count)
    if options.update:
        update(path, blocks, follower.changes)
    return 1 if follower.failed else 0


if __name__ == '__main__':
    sys.exit(machine.run(main))
