#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows a document: runs each of its commands in order and compares what comes out with what the document shows.

usage: run_document.py REEVE ROOT DOCUMENT            TAP, one check for each command
       run_document.py --update REEVE ROOT DOCUMENT   writes what came out into the document instead

document.py says what a document may say. A command that fails without a word is a failure; one that fails and tells why is as good
as what the document shows.
"""
import os
import sys

sys.dont_write_bytecode = True
import document  # noqa: E402
from session import Session, Trouble  # noqa: E402


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
        if block.mark in ('tested', 'measured'):
            return
        if block.mark == 'file':
            self.session.save(block.argument, block.lines)
            return
        for command in block.commands:
            name = 'line %d: %s' % (command.line, command.text.split('\n')[0])
            if block.mark == 'terminal':
                lines, status = self.session.open_terminal(command), 0
            else:
                lines, status = self.session.run(command.text)
            self.judge(command, name, lines, status)

    def judge(self, command, name, lines, status):
        if document.matches(command.expected, lines):
            is_mute = status != 0 and not lines
            self.tell(not is_mute, name, 'it failed with status %d and said nothing' % status if is_mute else '')
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
    arguments = sys.argv[1:]
    is_update = arguments[:1] == ['--update']
    if len(arguments) != 3 + is_update:
        sys.exit('usage: run_document.py [--update] REEVE ROOT DOCUMENT')
    reeve, root, path = (os.path.abspath(argument) for argument in arguments[is_update:])
    with open(path, encoding='utf-8') as file:
        blocks = document.parse(file.read())
    session = Session(reeve, root)
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
    if is_update:
        update(path, blocks, follower.changes)
    return 1 if follower.failed else 0


if __name__ == '__main__':
    sys.exit(main())
