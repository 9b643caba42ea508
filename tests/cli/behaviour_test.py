#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How all commands behave when things are not as they should be, and what all of them have in common: one table of commands, one
list of situations.

usage: behaviour_test.py PATH-OF-REEVE EXAMPLES-FOLDER [WORD]...   (with words: only the situations whose names have them)"""
import base64
import concurrent.futures
import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from reeve_server import SANITIZER, Server, Tap  # noqa: E402

REEVE, EXAMPLES = (os.path.abspath(path) for path in sys.argv[1:3])
PACKAGE = os.path.join(EXAMPLES, 'wordpress')


class Command:
    """words: a run that does its work. failed: the exit code of what could not be done. needs: rights that not everybody has. wide:
    names in its table are too long for 80 columns, and are not cut."""

    def __init__(self, *words, failed=1, asks=True, formats=(), ok=(0,), needs=True, wide=False):
        self.words, self.failed, self.asks, self.formats, self.ok = words, failed, asks, formats, ok
        self.needs, self.wide = needs, wide
        self.name = ' '.join(word for word in words if not word.startswith('/'))


# Every command and verb that ends by itself.
COMMANDS = [
    Command('check', os.path.join(EXAMPLES, 'fleet-crd.yaml'), asks=False),
    Command('clusters', 'add', 'alpha', '-o', '-'),
    Command('clusters', 'list', formats=('json', 'yaml', 'name', 'wide')),
    Command('clusters', 'remove', 'alpha'),
    Command('completion', 'bash', asks=False),
    Command('help', asks=False),
    Command('install', 'acme/wordpress:1.0', '-n', 'default', '--dry-run=client', asks=False, formats=('json', 'yaml', 'name')),
    Command('install', 'acme/wordpress:1.0', '-n', 'default', '--dry-run=server'),
    Command('matrix', formats=('json', 'yaml', 'wide'), needs=False),
    Command('matrix', 'jane', formats=('json', 'yaml')),
    Command('plan', PACKAGE, '--cluster', failed=3, ok=(0, 1), formats=('json', 'yaml', 'wide')),
    Command('tree', formats=('json', 'yaml', 'wide', 'dot')),
    Command('uninstall', 'wordpress', '-n', 'default', '--ignore-not-found'),
    Command('version', asks=False),
    Command('who-can', 'get', 'secrets', formats=('json', 'yaml', 'wide', 'name'), wide=True),
    Command('why', 'system:kube-controller-manager', 'get', 'secrets', formats=('json', 'yaml'), failed=3, wide=True),
]

KUBECONFIG = '''apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:%d'%s}}]
users: [{name: carol, user: {token: '%s'}}]
contexts: [{name: here, context: {cluster: c, user: carol}}]
current-context: here
'''


def expired_token():
    """Nobody signed it: it is refused for one reason or the other, and says itself that it is old."""
    parts = [json.dumps(part).encode() for part in ({'alg': 'RS256'}, {'sub': 'carol', 'exp': 1577836800})]
    return '.'.join([base64.urlsafe_b64encode(part).decode().rstrip('=') for part in parts] + ['c2lnbmF0dXJl'])


class Done:
    def __init__(self, command, process):
        self.command, self.code, self.out, self.err = command, process.returncode, process.stdout, process.stderr

    def __str__(self):
        return '%s: code %s\nstdout: %s\nstderr: %s' % (self.command.name, self.code, (self.out or b'').decode(errors='replace')[:1500],
                                                        self.err.decode(errors='replace')[:1500])


class Tests:
    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.closed_port = free.getsockname()[1]
        self.env = {'PATH': os.environ['PATH'], 'HOME': folder, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', 'COLUMNS': '80',
                    'KUBECONFIG': server.kubeconfig, **{k: v for k, v in os.environ.items() if k.endswith('SAN_OPTIONS')}}
        self.pool = concurrent.futures.ThreadPoolExecutor(4)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def run(self, command, *flags, stdout=subprocess.PIPE, env=None):
        process = subprocess.run([REEVE, *command.words, *flags], env={**self.env, **(env or {})}, cwd=self.folder, stdout=stdout,
                                 stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120, check=False)
        done = Done(command, process)
        assert not SANITIZER.search(done.err.decode(errors='replace')) and process.returncode < 128, done
        return done

    def run_all(self, commands, *flags, **how):
        return list(self.pool.map(lambda command: self.run(command, *flags, **how), commands))

    def refused(self, texts, *flags, commands=None, **how):
        """All that ask a server fail, say this, and print nothing."""
        for done in self.run_all(commands or [c for c in COMMANDS if c.asks], *flags, **how):
            said = done.err.decode()
            assert done.code == done.command.failed and not done.out, done
            for text in texts:
                assert text in said, '%r is not in:\n%s' % (text, done)
            assert said.startswith('reeve ' + done.command.words[0]) and said.endswith('\n'), done

    # ---- Where is the server? ----

    def nobody_listens(self):
        kubeconfig = self.write('closed', KUBECONFIG % (self.closed_port, '', 't'))
        self.refused(['https://127.0.0.1:%d' % self.closed_port, 'context "here"', '"reeve up"'], env={'KUBECONFIG': kubeconfig})

    def no_kubeconfig(self):
        self.refused(['--kubeconfig', '$KUBECONFIG', '"reeve up"'], env={'KUBECONFIG': ''})

    def no_kubeconfig_but_a_server_on_this_machine(self):
        data = os.path.join(self.folder, 'data dir')
        os.mkdir(data)
        self.write('data dir/admin.kubeconfig', '')
        self.refused(["export KUBECONFIG='%s/admin.kubeconfig'" % data], env={'KUBECONFIG': '', 'REEVE_DATA_DIR': data})

    def a_kubeconfig_that_is_not_there(self):
        self.refused(['/nonexistent/kubeconfig: No such file or directory'], '--kubeconfig', '/nonexistent/kubeconfig')

    def a_kubeconfig_that_makes_no_sense(self):
        for number, text in enumerate(('{', '- a list', 'clusters: 5\n', '\0\1\2')):
            path = self.write('malformed%d' % number, text)
            self.refused([path], '--kubeconfig', path)

    def a_context_that_is_not_there(self):
        self.refused(['context "reev" does not exist', 'did you mean "reeve"?'], '--context', 'reev')
        self.refused(['context "nowhere" does not exist', 'say reeve'], '--context', 'nowhere')

    def a_token_that_ran_out(self):
        text = open(self.server.kubeconfig, encoding='utf-8').read()
        ca = re.search(r'certificate-authority-data: *"?([^"\s]+)', text).group(1)
        path = self.write('expired', KUBECONFIG % (self.server.port, ", certificate-authority-data: '%s'" % ca, expired_token()))
        self.refused(['does not accept the credentials of user "carol" in context "here"', 'ran out at 2020-01-01T00:00:00Z'],
                     '--kubeconfig', path)

    def no_rights(self):
        """Says who, what, where, and what would help; all of it at once."""
        asking = [c for c in COMMANDS if c.asks and c.needs]
        self.refused(['User "nobody" lacks these rights:\n  ', 'kubectl create ', '--user=nobody'], '--as', 'nobody', commands=asking)
        for done in self.run_all(asking, '--as', 'nobody'):
            assert not re.search(r'^Forbidden', done.err.decode(), re.M), done

    # ---- Where the output goes. ----

    def printing(self):
        return [c for c in COMMANDS if c.words[:2] != ('clusters', 'remove') and c.words[0] not in ('check', 'uninstall')]

    def a_full_disk(self):
        with open('/dev/full', 'wb') as full:
            for done in self.run_all(self.printing(), stdout=full):
                assert done.code not in (0, None) and b'standard output: No space left on device' in done.err, done

    def nobody_reads(self):
        for command in COMMANDS:
            reader, writer = os.pipe()
            os.close(reader)
            quiet = self.run(command, '-q', stdout=writer) if command.words[0] not in ('help', 'version') else self.run(command, stdout=writer)
            os.close(writer)
            assert b'roken pipe' not in quiet.err and b'standard output' not in quiet.err, quiet

    def a_closed_output(self):
        """What is printed does not go to the server instead, whose connection could have been the next descriptor."""
        for command in self.printing():
            words = ' '.join("'%s'" % word for word in (REEVE, *command.words))
            process = subprocess.run(['sh', '-c', 'exec %s >&-' % words], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, timeout=120, check=False)
            done = Done(command, process)
            assert 0 < process.returncode < 128 and b'standard output: Bad file descriptor' in done.err, done

    # ---- What it looks like. ----

    def plain(self):
        return [c for c in COMMANDS if c.words[:2] not in (('clusters', 'remove'), ('clusters', 'add'), ('completion', 'bash'))]

    def colours(self):
        """As asked for; and only colours differ."""
        flagged = [c for c in self.plain() if c.words[0] not in ('help', 'version')]
        never, always = self.run_all(flagged, '--color=never'), self.run_all(flagged, '--color=always')
        for done in never + self.run_all(flagged) + self.run_all(flagged, env={'NO_COLOR': '1'}):
            assert b'\x1b' not in done.out and b'\x1b' not in done.err and done.code in done.command.ok, done
        for one, other in zip(never, always):
            texts = [re.sub(rb' +\d+[smhd]\b', b' AGE', re.sub(rb'\x1b\[[\d;]*m', b'', done.out)) for done in (one, other)]
            assert texts[0] == texts[1], (str(one), str(other))
        assert sum(b'\x1b[' in done.out for done in always) >= 4, [str(done) for done in always]

    def locales(self):
        for done in self.run_all(self.plain(), env={'LC_ALL': 'C'}):
            assert done.out.isascii() and done.err.isascii() and done.code in done.command.ok, done
        for done in self.run_all(self.plain(), env={'LC_ALL': 'C.UTF-8'}):
            done.out.decode('utf-8')

    def eighty_columns(self):
        for done in self.run_all(self.plain()):
            for line in done.out.decode().splitlines() if not done.command.wide else []:
                assert len(line) <= 80, '%d columns: %r\n%s' % (len(line), line, done)

    def data_and_talk_are_apart(self):
        for done in self.run_all([c for c in self.plain() if c.words[0] not in ('help', 'version')], '-q'):
            assert not done.err and done.code in done.command.ok, done

    # ---- For programs. ----

    def output_for_programs(self):
        for form in ('json', 'yaml', 'name'):
            with_form = [c for c in COMMANDS if form in c.formats]
            assert with_form
            once, twice = self.run_all(with_form, '-o', form), self.run_all(with_form, '-o', form)
            for one, other in zip(once, twice):
                assert one.out == other.out and one.code in one.command.ok, (str(one), str(other))
                if form == 'json':
                    document = json.loads(one.out)
                    assert document['kind'] and document['apiVersion'], one
                elif form == 'yaml':
                    document = yaml.safe_load(one.out)
                    assert document == json.loads(self.run(one.command, '-o', 'json').out), one

    def nobody_is_asked(self):
        """Help and the version know by themselves; so do all who complain of their flags."""
        with socket.socket() as listener:
            listener.bind(('127.0.0.1', 0))
            listener.listen()
            kubeconfig = self.write('listener', KUBECONFIG % (listener.getsockname()[1], '', 't'))
            env = {'KUBECONFIG': kubeconfig}
            for command in COMMANDS:
                assert self.run(command, '--help', env=env).code == 0
                if command.words[0] not in ('help', 'version'):
                    wrong = self.run(command, '--no-such-flag', env=env)
                    assert wrong.code == 2 and b'unknown flag --no-such-flag' in wrong.err and b'--help".\n' in wrong.err, wrong
            assert not select.select([listener], [], [], 0)[0]


def main():
    tap = Tap()
    server = Server(REEVE)
    names = [name for name, value in vars(Tests).items() if callable(value) and not name.startswith('_')
             and name not in ('write', 'run', 'run_all', 'refused', 'plain', 'printing')]
    with tempfile.TemporaryDirectory(prefix='reeve-behaviour-') as folder:
        try:
            server.start()
            tests = Tests(folder, server)
            tests.run(COMMANDS[1])  # there is a cluster to list
            for name in names:
                if len(sys.argv) < 4 or any(word in name for word in sys.argv[3:]):
                    tap.run(name.replace('_', ' '), getattr(tests, name))
            server.stop()
        finally:
            server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
