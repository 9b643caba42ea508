#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: runs a command in one, and prints what a person would see on it.

usage: terminal.py [--columns N] [--when TEXT COMMAND]... -- COMMAND...

Whenever TEXT is on the screen, in the order they are given, the screen is printed between lines of dashes and COMMAND is run by a
shell; "^C" is typed instead, and "-" does nothing. At the end the screen is printed and the exit status of the command returned.
Long lines are broken as terminals do: what is drawn anew but was too long shows. What moves (|/-\\ or a turning circle) is shown as *.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60  # seconds until something has to happen
QUIET = 0.03  # seconds without a byte after which what was written is there as a whole
MOVES = re.compile(r'^[|/\\◐◓◑◒-](?= )', re.M)


class Screen:
    """Lines, and a cursor on them: what of ECMA-48 a progress display needs. Anything else is an error."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column = columns, [''], 0, 0

    def feed(self, text):
        for token in re.findall(r'\x1b\[[0-9;]*[A-Za-z]|[^\x1b]|\x1b', text):
            if token == '\r':
                self.column = 0
            elif token == '\n':
                self.row += 1
                self.lines += [''] * (self.row + 1 - len(self.lines))
            elif token[0] != '\x1b':
                self.put(token)
            elif token[-1] == 'A':
                self.row -= int(token[2:-1])
                assert self.row >= 0, 'above the first line'
            elif token[-1] == 'J':
                self.lines = self.lines[:self.row] + [self.lines[self.row][:self.column]]
            elif token[-1] != 'm':
                sys.exit('terminal: what is %r?' % token)

    def put(self, char):
        if self.column >= self.columns:
            self.feed('\r\n')
        line = self.lines[self.row]
        self.lines[self.row] = line[:self.column].ljust(self.column) + char + line[self.column + 1:]
        self.column += 1

    def text(self):
        return MOVES.sub('*', '\n'.join(line.rstrip() for line in self.lines).rstrip('\n'))


def arguments(argv):
    columns, steps = 80, []
    while argv and argv[0] != '--':
        if argv[0] == '--columns':
            columns, argv = int(argv[1]), argv[2:]
        elif argv[0] == '--when':
            steps, argv = steps + [(argv[1], argv[2])], argv[3:]
        else:
            sys.exit(__doc__)
    return columns, steps, argv[1:]


def act(action, terminal):
    if action == '^C':
        os.write(terminal, b'\x03')
    elif action != '-':
        subprocess.run(action, shell=True, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def main():
    columns, steps, command = arguments(sys.argv[1:])
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
        os.environ['TERM'] = 'xterm'
        os.environ.pop('COLUMNS', None)
        os.execvp(command[0], command)
    screen, rest, deadline = Screen(columns), b'', time.monotonic() + PATIENCE
    while True:
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            sys.exit('terminal: nothing happens any more:\n' + screen.text())
        try:
            data = rest + os.read(terminal, 65536)
        except OSError:  # it is closed
            break
        if not data:
            break
        text = data.decode('utf-8', 'ignore')
        rest = data[len(text.encode()):]
        screen.feed(text)
        if select.select([terminal], [], [], QUIET)[0]:
            continue
        while steps and steps[0][0] in screen.text():
            print(screen.text() + '\n' + '-' * 20, flush=True)
            act(steps.pop(0)[1], terminal)
            deadline = time.monotonic() + PATIENCE
        if time.monotonic() > deadline:
            sys.exit('terminal: "%s" does not come:\n%s' % (steps[0][0] if steps else 'the end', screen.text()))
    print(screen.text())
    if steps:
        sys.exit('terminal: "%s" did not come' % steps[0][0])
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == '__main__':
    main()
