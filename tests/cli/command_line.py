# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: runs without surprises from the environment, kubeconfigs, terminals, a server."""
import fcntl
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from reeve_server import SANITIZER, Server, Skipped, Tap  # noqa: E402

PATIENCE = 120  # seconds until a run counts as one that never ends

KUBECONFIG = '''apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:%d'%s}}]
users: [{name: carol, user: {token: '%s'}}]
contexts: [%s]
current-context: %s
'''


def kubeconfig(port, token='t', ca=None, contexts=('here',)):
    """Its text. The last context is the current one."""
    trust = ", certificate-authority-data: '%s'" % ca if ca else ''
    rows = ', '.join('{name: %s, context: {cluster: c, user: carol}}' % name for name in contexts)
    return KUBECONFIG % (port, trust, token, rows, contexts[-1])


def environment(home, **more):
    """No more than a program needs; what sanitizers are told goes on."""
    return {'PATH': os.environ['PATH'], 'HOME': home, 'LC_ALL': 'C.UTF-8',
            **{name: value for name, value in os.environ.items() if name.endswith('SAN_OPTIONS')}, **more}


def certificate_authority(path):
    """That of a kubeconfig, as it stands there."""
    with open(path, encoding='utf-8') as file:
        return re.search(r'certificate-authority-data: *"?([^"\s]+)', file.read()).group(1)


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, 'never happened: %s' % what
        time.sleep(0.005)


class Process:
    """One that runs no longer than the block it is used in."""

    process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Done:
    """A run that has ended."""

    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out or b'', err or b''
        assert not SANITIZER.search(self.err.decode(errors='replace')), self

    def __str__(self):
        return '%s: code %s\nstdout: %s\nstderr: %s' % (' '.join(self.words), self.code, self.out.decode(errors='replace')[:1500],
                                                        self.err.decode(errors='replace')[:1500])


def run_program(program, *words, stdout=subprocess.PIPE, **how):
    done = subprocess.run([program, *words], stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                          check=False, **how)
    return Done(words, done.returncode, done.stdout, done.stderr)


class Terminal:
    """Standard output is a terminal of so many columns; standard error is not, so that data and talk stay apart."""

    def __init__(self, columns=80):
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
        self.modes = termios.tcgetattr(self.slave)

    def read(self):
        """All that is written until the last writer has gone."""
        os.close(self.slave)
        out = b''
        while True:
            try:
                piece = os.read(self.master, 65536)
            except OSError:  # the last writer has gone
                break
            if not piece:
                break
            out += piece
        os.close(self.master)
        return out.replace(b'\r\n', b'\n')


class World:
    """A folder of one's own, and a server."""

    def __init__(self, reeve, folder, server):
        self.reeve, self.folder, self.server = reeve, folder, server
        self.env = environment(folder, TERM='xterm', KUBECONFIG=server.kubeconfig)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
        return self.path(name)

    def run(self, *words, program=None, env=None, **how):
        return run_program(program or self.reeve, *words, env={**self.env, **(env or {})}, cwd=self.folder, **how)

    def run_at_terminal(self, *words, env=None):
        terminal = Terminal()
        with tempfile.TemporaryFile() as talk:
            process = subprocess.Popen([self.reeve, *words], env={**self.env, **(env or {})}, cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=terminal.slave, stderr=talk)
            out = terminal.read()
            code = process.wait(PATIENCE)
            talk.seek(0)
            return Done(words, code, out, talk.read())


def needs(program):
    """The check is skipped where the program is missing."""
    if not shutil.which(program):
        raise Skipped('not installed: ' + program)


def run_tests(name, reeve, make, wanted=()):
    """make(folder, server) has what is to be run: pairs of a name and a function. wanted: words, one of which is in the names."""
    tap, server = Tap(), Server(reeve)
    with tempfile.TemporaryDirectory(prefix='reeve-%s-' % name) as folder:
        try:
            server.start()
            for title, function in make(folder, server):
                if not wanted or any(word in title for word in wanted):
                    tap.run(title, function)
            server.stop()
        finally:
            server.remove()
    return tap.end()
