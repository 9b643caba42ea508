# SPDX-License-Identifier: Apache-2.0
"""The terminals of somebody who follows a document: a shell that lives as long as the document, and programs that go on beside it.

HOME is new, the current folder is a copy of the repository, and reeve is on the PATH. Servers that are told no address listen on a
free port instead of 6443; commands and outputs are translated, so that a document says what its reader sees. On a machine of one's
own nothing is translated, and nothing is on the PATH but what the document puts there.
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
from machine import Machine
from terminal import Terminal, end_group

PATIENCE = 120  # seconds until what should happen counts as never happening
LEFT_OUT = shutil.ignore_patterns('build*', '.git', '.cache', 'node_modules', 'corpus', '__pycache__')
USUAL = '127.0.0.1:6443'
CTRL_C = '^C'  # as a terminal shows it
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
HOME = os.path.expanduser('~root')
BUILDS = ('build', 'build-release', 'build-static')  # of the Makefile: all are the build under test
NOTICE = re.compile(r'(?m)^[^\n]*: line \d+: +\d+ (?:Terminated|Killed|Hangup) [^\n]*\n')  # the shell's own, about a job


class Trouble(Exception):
    """Something that a document says did not come true."""


def environment(scratch, binaries):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(('REEVE', 'XDG_', 'KUBE', 'LC_', 'BATS', 'TAP', 'MESON', 'MAKE')) and name not in (
               'LANGUAGE', 'COLUMNS', 'MFLAGS')}
    env.update({'HOME': os.path.join(scratch, 'home'), 'LANG': 'C.UTF-8', 'LC_ALL': 'C.UTF-8', 'TERM': 'dumb',
                'TMPDIR': os.path.join(scratch, 'tmp'), 'PATH': binaries + ':' + os.environ['PATH'], 'REEVE_LISTEN': '127.0.0.1:0'})
    for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'):
        # What a sanitizer finds is told in a file: a document may send the output elsewhere.
        env[name] = ':'.join(filter(None, (env.get(name), 'log_path=' + os.path.join(scratch, 'sanitizer'))))
    return env


class Session:
    is_literal = False  # nothing is translated
    folder = None  # for temporary files: that of the environment

    def __init__(self, reeve, root):
        self.prepare('reeve', root)
        os.mkdir(os.path.join(self.copy, 'build'))
        os.symlink(reeve, os.path.join(self.copy, 'build', 'reeve'))
        self.environment = environment(self.scratch, self.link(reeve))
        self.start_shell()

    def link(self, reeve):
        """A folder for the PATH."""
        folder = os.path.join(self.scratch, 'bin')
        os.mkdir(folder)
        for name in ('reeve', 'kubectl-reeve'):
            os.symlink(reeve, os.path.join(folder, name))
        return folder

    def prepare(self, name, root):
        """Folders, with the copy under this name."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing is left behind when a test is cut short
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix='reeve-docs-', dir=self.folder))
        self.copy = os.path.join(self.scratch, name)
        for folder in ('home', 'tmp', 'shell'):
            os.mkdir(os.path.join(self.scratch, folder))
        shutil.copytree(root, self.copy, symlinks=True, ignore=LEFT_OUT)
        os.symlink(os.path.join(root, 'tests', 'clients', 'node_modules'), os.path.join(self.copy, 'node_modules'))  # as npm would
        self.port = None
        self.ahead = b''
        self.count = 0
        self.terminals = []

    def start_shell(self):
        self.shell = subprocess.Popen(**self.program('bash', '--noprofile', '--norc'), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, start_new_session=True)
        self.shell.stdin.write(b'set -m 2>/dev/null\n')  # each job is a group, as at a terminal
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.shell.stdout, selectors.EVENT_READ)

    def program(self, *command, has_locale=True):
        """How to start it where the reader is."""
        gone = () if has_locale else ('LANG', 'LC_ALL')
        env = {name: value for name, value in self.environment.items() if name not in gone}
        return {'args': command, 'cwd': self.copy, 'env': env}

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

    def open_terminal(self, command, has_locale=True):
        """Starts it, and waits until it has printed what the document shows; if that says so, presses Ctrl-C and waits for its end."""
        path = os.path.join(self.scratch, 'shell', 'terminal-%d' % len(self.terminals))
        program = self.program('bash', '-c', self.translate(command.text), has_locale=has_locale)
        terminal = Terminal(program.pop('args'), path, CTRL_C in command.expected, **program)
        self.terminals.append(terminal)
        self.may_serve = '--listen' not in command.text
        if CTRL_C not in command.expected:
            return self.printed(command)
        lines = self.wait_for(terminal, command.expected[:command.expected.index(CTRL_C)])
        if not terminal.is_over():
            terminal.press_ctrl_c()
            lines = self.wait_for(terminal, None)
        return lines

    def printed(self, command):
        """What the last terminal has printed, as the document shows it if that is the beginning of it."""
        if not self.terminals:
            raise Trouble('no terminal was opened')
        lines = self.wait_for(self.terminals[-1], command.expected)
        return command.expected if document.begins(command.expected, lines) else lines

    def wait_for(self, terminal, expected):
        """Until it has printed that, or has ended; None: until it has."""
        until = time.monotonic() + PATIENCE
        while True:
            is_over = terminal.is_over()
            lines = terminal.lines()
            server = re.search(r'https://127\.0\.0\.1:(\d+)', '\n'.join(lines))
            if server and not self.port and self.may_serve and not self.is_literal:
                self.port = int(server.group(1))
            lines = [self.seen(line) for line in lines]
            if is_over or expected is not None and document.begins(expected, lines) or time.monotonic() > until:
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
        for terminal in self.terminals:
            terminal.close()
        end_group(self.shell)
        self.shell.stdout.close()
        found = ''
        for name in sorted(os.listdir(self.scratch)):
            if name.startswith('sanitizer'):
                with open(os.path.join(self.scratch, name), encoding='utf-8', errors='replace') as file:
                    found += file.read()
        self.remove()
        return found

    def remove(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def drain(self):
        until = time.monotonic() + PATIENCE
        while self.selector.select(max(0, until - time.monotonic())) and os.read(self.shell.stdout.fileno(), 65536):
            pass


class MachineSession(Session):
    """On a machine of one's own, as root; with the registries that the text names, and with reeve on the PATH or not."""

    is_literal = True
    folder = '/tmp'  # a folder in /dev/shm, where tools/test keeps temporary files, disappears there once systemd runs

    def __init__(self, reeve, root, text, has_reeve):
        self.machine = None
        self.prepare(os.path.join('home', 'reeve'), root)
        build = os.path.dirname(reeve)
        for name in BUILDS:
            os.symlink(build, os.path.join(self.copy, name))
        clients = os.path.join('tests', 'clients', 'node_modules')
        os.symlink(os.path.join(root, clients), os.path.join(self.copy, clients))
        path = self.link(reeve) + ':' + PATH if has_reeve else PATH
        self.environment = {**environment(self.scratch, ''), 'HOME': HOME, 'PATH': path, 'DEBIAN_FRONTEND': 'noninteractive',
                            'DPKG_DEB_COMPRESSOR_LEVEL': '0'}
        for name in ('REEVE_LISTEN', 'TMPDIR'):
            del self.environment[name]
        try:
            self.machine = Machine(self.scratch, root, build)
            self.machine.serve_registries(text, os.path.join(self.scratch, 'registries'))
            self.start_shell()
        except BaseException:
            self.remove()
            raise

    def program(self, *command, has_locale=True):
        program = super().program(*self.machine.inside(*command, folder=os.path.join(HOME, 'reeve')), has_locale=has_locale)
        return {**program, 'preexec_fn': self.machine.join}

    def remove(self):
        if self.machine:
            self.machine.close()
        super().remove()
