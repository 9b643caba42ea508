# SPDX-License-Identifier: Apache-2.0
"""The terminals of somebody who follows a document: a shell that lives as long as the document, and programs that go on beside it.

HOME is new, the current folder is a copy of the repository, and reeve is on the PATH. Servers that are told no address listen on a
free port instead of 6443; commands and outputs are translated, so that a document says what its reader sees.
"""
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import document

PATIENCE = 120  # seconds until what should happen counts as never happening
LEFT_OUT = shutil.ignore_patterns('build*', '.git', '.cache', 'node_modules', 'corpus', '__pycache__')
USUAL = '127.0.0.1:6443'
NOTICE = re.compile(r'(?m)^[^\n]*: line \d+: +\d+ (?:Terminated|Killed|Hangup) [^\n]*\n')  # the shell's own, about a job


class Trouble(Exception):
    """Something that a document says did not come true."""


def environment(scratch, binaries):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(('REEVE', 'XDG_', 'KUBE', 'LC_', 'BATS', 'TAP', 'MESON')) and name not in ('LANGUAGE', 'COLUMNS')}
    env.update({'HOME': os.path.join(scratch, 'home'), 'LANG': 'C.UTF-8', 'LC_ALL': 'C.UTF-8', 'TERM': 'dumb',
                'TMPDIR': os.path.join(scratch, 'tmp'), 'PATH': binaries + ':' + os.environ['PATH'], 'REEVE_LISTEN': '127.0.0.1:0'})
    for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'):
        # What a sanitizer finds is told in a file: a document may send the output elsewhere.
        env[name] = ':'.join(filter(None, (env.get(name), 'log_path=' + os.path.join(scratch, 'sanitizer'))))
    return env


class Session:
    def __init__(self, reeve, root):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing is left behind when a test is cut short
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix='reeve-docs-'))
        self.copy = os.path.join(self.scratch, 'reeve')
        binaries = os.path.join(self.scratch, 'bin')
        for name in ('home', 'tmp', 'bin', 'shell'):
            os.mkdir(os.path.join(self.scratch, name))
        shutil.copytree(root, self.copy, symlinks=True, ignore=LEFT_OUT)
        os.mkdir(os.path.join(self.copy, 'build'))
        for link in (os.path.join(binaries, 'reeve'), os.path.join(binaries, 'kubectl-reeve'), os.path.join(self.copy, 'build', 'reeve')):
            os.symlink(reeve, link)
        os.symlink(os.path.join(root, 'tests', 'clients', 'node_modules'), os.path.join(self.copy, 'node_modules'))  # as npm would
        self.environment = environment(self.scratch, binaries)
        self.port = None
        self.ahead = b''
        self.count = 0
        self.terminals = []
        self.shell = subprocess.Popen(['bash', '--noprofile', '--norc'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, cwd=self.copy, env=self.environment, start_new_session=True)
        self.shell.stdin.write(b'set -m 2>/dev/null\n')  # each job is a group, as at a terminal
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.shell.stdout, selectors.EVENT_READ)

    # ---- What the reader sees, and what runs here. ----

    def translate(self, command):
        return command.replace(USUAL, '127.0.0.1:%d' % self.port) if self.port else command

    def seen(self, output):
        return re.sub(r'127\.0\.0\.1:%d\b' % self.port, USUAL, output) if self.port else output

    def path(self, name):
        """Of a file that the reader saves."""
        path = os.path.realpath(os.path.join(self.copy, name))
        if not path.startswith(self.copy + os.sep):
            raise Trouble('%s is outside of the repository' % name)
        return path

    def save(self, name, lines):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')

    # ---- The shell. ----

    def run(self, command):
        """(lines, status) of a command; variables, jobs and the current folder stay for the next one."""
        self.count += 1
        path = os.path.join(self.scratch, 'shell', '%d.sh' % self.count)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(self.translate(command) + '\n')
        mark = 'end-of-command-%d-%d' % (self.count, os.getpid())
        self.shell.stdin.write(('. %s </dev/null; printf "%%s %%d\\n" %s $?\n' % (path, mark)).encode())
        self.shell.stdin.flush()
        text, status = self.read_until(re.compile(rb'(?s)(.*?)%s (\d+)\n' % mark.encode()), command)
        text = NOTICE.sub('', text.decode('utf-8', 'replace')).replace(path + ': line 1: ', 'bash: ').replace(path, 'bash')
        return document.tidy(self.seen(text)), int(status)

    def read_until(self, mark, command):
        """What mark finds; what comes behind it is for the next one."""
        output = self.ahead
        until = time.monotonic() + PATIENCE
        while not mark.match(output):
            if not self.selector.select(max(0, until - time.monotonic())):
                raise Trouble('not done after %d s: %s\n%s' % (PATIENCE, command, output.decode('utf-8', 'replace')))
            piece = os.read(self.shell.stdout.fileno(), 65536)
            if not piece:
                raise Trouble('the shell ended: %s\n%s' % (command, output.decode('utf-8', 'replace')))
            output += piece
        found = mark.match(output)
        self.ahead = output[found.end():]
        return found.groups()

    # ---- Other terminals. ----

    def open_terminal(self, command):
        """Starts it, and waits until it has printed what the document shows."""
        path = os.path.join(self.scratch, 'shell', 'terminal-%d' % len(self.terminals))
        with open(path, 'wb') as file:
            process = subprocess.Popen(['bash', '-c', self.translate(command.text)], stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT, cwd=self.copy, env=self.environment, start_new_session=True)
        self.terminals.append(process)
        until = time.monotonic() + PATIENCE
        while True:
            is_over = process.poll() is not None
            with open(path, encoding='utf-8', errors='replace') as file:
                output = file.read()
            server = re.search(r'https://127\.0\.0\.1:(\d+)', output)
            if server and not self.port and '--listen' not in command.text:
                self.port = int(server.group(1))
            lines = document.tidy(self.seen(output))
            if document.begins(command.expected, lines):
                return command.expected
            if is_over or time.monotonic() > until:
                return lines
            time.sleep(0.02)

    # ---- The end. ----

    def close(self):
        """Ends everything that was started, and says what the sanitizers found."""
        if self.shell.poll() is None:
            try:
                self.shell.stdin.write(b'for job in $(jobs -p); do kill -- -$job; done; wait; exit 0\n')
                self.shell.stdin.close()
                self.drain()
                self.shell.wait(PATIENCE)
            except (OSError, subprocess.TimeoutExpired):
                pass
        for process in self.terminals + [self.shell]:
            end_group(process)
        self.shell.stdout.close()
        found = ''
        for name in sorted(os.listdir(self.scratch)):
            if name.startswith('sanitizer'):
                with open(os.path.join(self.scratch, name), encoding='utf-8', errors='replace') as file:
                    found += file.read()
        shutil.rmtree(self.scratch, ignore_errors=True)
        return found

    def drain(self):
        until = time.monotonic() + PATIENCE
        while self.selector.select(max(0, until - time.monotonic())) and os.read(self.shell.stdout.fileno(), 65536):
            pass


def end_group(process):
    """Of a process that was started as the leader of a group: all that is left of it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass
