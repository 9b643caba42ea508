#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How all commands behave when things are not as they should be, and what all of them have in common: every command of commands.py in
every condition that it can be in.

usage: behaviour_test.py PATH-OF-REEVE SOURCE-ROOT [WORD]...   (with words: only the tests whose names have them)"""
import base64
import concurrent.futures
import itertools
import json
import os
import re
import select
import signal
import socket
import sys
import tempfile
import threading

import yaml

from command_line import World, certificate_authority, kubeconfig, run_tests  # noqa: E402 # finds those of tests/server, too
from commands import CANNOT, COMMANDS, CONDITIONS, DAEMONS
from daemons import Daemons
from interrupts import Interrupts
from registry_world import Authority, Registry, docker_config, free_port, htpasswd

REEVE, ROOT = (os.path.abspath(path) for path in sys.argv[1:3])
ESCAPE = re.compile(rb'\x1b\[[\d;]*m')
TO_COPY = re.compile(r'^ +((→|->) )?(kubectl|printf|reeve) ')  # a command is one line, however long: whoever copies it takes all of it


def expired_token():
    """Nobody signed it: it is refused for one reason or the other, and says itself that it is old."""
    parts = [json.dumps(part).encode() for part in ({'alg': 'RS256'}, {'sub': 'carol', 'exp': 1577836800})]
    return '.'.join([base64.urlsafe_b64encode(part).decode().rstrip('=') for part in parts] + ['c2lnbmF0dXJl'])


def documented(command):
    """The words of a page of the manual: fields are among them. What all documents have stands in reeve(1)."""
    with open(os.path.join(ROOT, 'man', 'reeve-%s.1.scd' % command.split()[0]), encoding='utf-8') as file:
        return {'apiVersion', 'kind'} | set(re.findall('[A-Za-z]+', file.read()))


def fields(tree):
    """Names of all fields of a document; what is written by others (rules, what a package says of itself) has its own."""
    for name, value in tree.items() if isinstance(tree, dict) else ():
        yield name
        if name not in ('rule', 'rules', 'metadata'):
            yield from fields(value)
    for item in tree if isinstance(tree, list) else ():
        yield from fields(item)


class Closing:
    """Takes connections, and hangs up."""

    def __init__(self):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.host = '127.0.0.1:%d' % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                self.listener.accept()[0].close()
            except OSError:
                return

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Tests(World):
    def __init__(self, folder, server):
        super().__init__(REEVE, folder, server)
        self.env['COLUMNS'] = '80'
        self.env['REEVE_DATA_DIR'] = self.path('data')
        self.closed_port = free_port()
        self.pool = concurrent.futures.ThreadPoolExecutor(4)
        self.numbers = itertools.count()
        self.covered = set()  # pairs of a command and a condition
        self.registry = Registry(folder)
        self.places = {'DIR': self.path('blog'), 'FILE': os.path.join(ROOT, 'examples', 'fleet-crd.yaml'),
                       'MORE': os.path.join(ROOT, 'examples', 'fleet.yaml')}
        self.use_registry(self.registry.host)
        for words in (('package', 'init', 'blog'), ('package', 'build', 'blog', '-t', self.places['IMAGE']),
                      ('package', 'push', self.places['IMAGE']), ('clusters', 'add', 'alpha', '--join-file', '-')):
            done = self.run(*words)
            assert done.code == 0, done

    def tests(self):
        """Conditions in their order, each of them by one function or several; then what holds of the table."""
        yield from ((name.replace('_', ' '), getattr(self, name)) for name in (
            'nobody_listens', 'no_kubeconfig', 'no_kubeconfig_but_a_server_on_this_machine', 'a_kubeconfig_that_is_not_there',
            'a_kubeconfig_that_makes_no_sense', 'a_context_that_is_not_there', 'a_token_that_ran_out', 'no_rights',
            'no_registry', 'a_registry_with_an_unknown_certificate', 'a_registry_that_wants_credentials', 'a_registry_that_hangs_up',
            'nowhere_to_write', 'a_full_disk', 'nobody_reads', 'a_closed_output', 'colours', 'colours_at_a_terminal', 'locales',
            'eighty_columns', 'lines_for_programs_are_whole', 'data_and_talk_are_apart', 'output_for_programs', 'nobody_is_asked'))
        yield from Daemons(self).tests()
        yield from Interrupts(self).tests()
        yield 'every command is in the table', self.every_command
        if len(sys.argv) < 4:
            yield 'every command was in every condition', self.every_condition

    # ---- Runs. ----

    def use_registry(self, host):
        self.places['IMAGE'] = host + '/acme/blog:1'

    def words_of(self, command):
        return [self.path('new%d' % next(self.numbers)) if word == 'NEW' else self.places.get(word, word) for word in command.words]

    def cover(self, command, condition):
        self.covered.add((command if isinstance(command, str) else command.of, condition))

    def do(self, command, *flags, condition=None, run=None, **how):
        if command.before:
            assert self.run(*command.before).code == 0, command.before
        if condition:
            self.cover(command, condition)
        done = (run or self.run)(*self.words_of(command), *flags, **how)
        is_pipe_gone = done.code == -signal.SIGPIPE and how.get('stdout')
        assert 0 <= done.code < 128 or is_pipe_gone, done
        return done

    def do_all(self, commands, *flags, **how):
        """Pairs of a command and its run. What others see the traces of runs by itself."""
        alone = [(c, self.do(c, *flags, **how)) for c in commands if c.before]
        together = [c for c in commands if not c.before]
        return alone + list(zip(together, self.pool.map(lambda command: self.do(command, *flags, **how), together)))

    def asking(self, whom):
        return [c for c in COMMANDS if c.asks == whom]

    @staticmethod
    def one():
        """For what all have from the same place, when all were tried with something like it."""
        return [c for c in COMMANDS if c.of == 'who-can']

    def refused(self, condition, texts, *flags, commands=None, **how):
        """They fail, say this, and print nothing."""
        for command, done in self.do_all(commands or self.asking('server'), *flags, condition=condition, **how):
            said = done.err.decode()
            assert done.code == command.failed and not done.out, done
            for text in texts:
                assert text in said, '%r is not in:\n%s' % (text, done)
            assert re.search(r'^reeve %s' % command.words[0], said, re.M) and said.endswith('\n'), done

    # ---- Where is the server? ----

    def nobody_listens(self):
        path = self.write('closed', kubeconfig(self.closed_port))
        self.refused('no server', ['https://127.0.0.1:%d' % self.closed_port, 'context "here"', '"reeve up"'], '--kubeconfig', path)

    def no_kubeconfig(self):
        self.refused('no server', ['--kubeconfig', '$KUBECONFIG', '"reeve up"'], env={'KUBECONFIG': ''})

    def no_kubeconfig_but_a_server_on_this_machine(self):
        data = self.path('data dir')
        os.mkdir(data)
        self.write('data dir/admin.kubeconfig', '')
        self.refused('no server', ["export KUBECONFIG='%s/admin.kubeconfig'" % data], env={'KUBECONFIG': '', 'REEVE_DATA_DIR': data})

    def a_kubeconfig_that_is_not_there(self):
        self.refused('wrong kubeconfig', ['/nonexistent/kubeconfig: No such file or directory'], '--kubeconfig', '/nonexistent/kubeconfig')

    def a_kubeconfig_that_makes_no_sense(self):
        for number, text in enumerate(('{', '- a list', 'clusters: 5\n', '\0\1\2')):
            path = self.write('malformed%d' % number, text)
            self.refused('wrong kubeconfig', [path], '--kubeconfig', path, commands=self.one() if number else None)

    def a_context_that_is_not_there(self):
        self.refused('wrong kubeconfig', ['context "reev" does not exist', 'did you mean "reeve"?'], '--context', 'reev')
        self.refused('wrong kubeconfig', ['context "nowhere" does not exist', 'say reeve'], '--context', 'nowhere', commands=self.one())

    def expired_kubeconfig(self):
        return self.write('expired', kubeconfig(self.server.port, expired_token(), certificate_authority(self.server.kubeconfig)))

    def a_token_that_ran_out(self):
        self.refused('expired token', ['does not accept the credentials of user "carol" in context "here"',
                                       'ran out at 2020-01-01T00:00:00Z'], '--kubeconfig', self.expired_kubeconfig())

    def no_rights(self):
        """Says who, what, where, and what would help; all of it at once."""
        commands = [c for c in self.asking('server') if c.needs]
        self.refused('no rights', ['User "nobody" lacks these rights:\n  ', 'kubectl create ', '--user=nobody'], '--as', 'nobody',
                     commands=commands)
        for _, done in self.do_all(commands, '--as', 'nobody'):
            assert not re.search(r'^Forbidden', done.err.decode(), re.M), done

    # ---- Where is the registry? ----

    def at_registry(self, condition, host, texts, *flags, **more):
        """Nothing of it is here, but for what is pushed."""
        self.use_registry(host)
        try:
            assert self.run('package', 'build', self.places['DIR'], '-q', '-t', self.places['IMAGE']).code == 0
            asking = self.asking('registry')
            pushing = [c for c in asking if c.of == 'package push']
            self.refused(condition, texts + more.get('push', []), *flags, commands=pushing)
            self.refused(condition, texts + more.get('pull', []), *flags, '--store', self.path('empty'),
                         commands=[c for c in asking if c not in pushing])
        finally:
            self.use_registry(self.registry.host)

    def no_registry(self):
        self.at_registry('no registry', '127.0.0.1:%d' % self.closed_port, ['Failed to connect to 127.0.0.1 port %d' % self.closed_port])

    def a_registry_with_an_unknown_certificate(self):
        registry = Registry(self.folder, tls=Authority(self.folder).certify('registry'))
        try:
            self.at_registry('unknown certificate', registry.host, ['certificate', '--ca-file FILE'],
                             '--mirror', '%s=https://%s' % (registry.host, registry.host))
        finally:
            registry.stop()

    def a_registry_that_wants_credentials(self):
        registry = Registry(self.folder, auth=htpasswd(self.folder, 'robot', 'right'))
        rights = {'push': ['push to acme/blog'], 'pull': ['pull from acme/blog']}
        try:
            self.at_registry('refused credentials', registry.host, ['401 Unauthorized', 'docker login', '--auth-file'], **rights)
            wrong = self.write('wrong.json', docker_config(registry.host, 'robot', 'wrong'))
            self.at_registry('refused credentials', registry.host, ['401 Unauthorized', 'the credentials for ' + registry.host],
                             '--auth-file', wrong, **rights)
        finally:
            registry.stop()

    def a_registry_that_hangs_up(self):
        closing = Closing()
        try:
            self.at_registry('registry hangs up', closing.host, ['127.0.0.1: '])
        finally:
            closing.stop()

    # ---- Where the output goes. ----

    def nowhere_to_write(self):
        for command, flags, place in (('clusters add', ('--join-file', '/proc/nowhere/kubeconfig'), '/proc/nowhere/kubeconfig'),
                                      ('package build', ('--store', '/proc/nowhere/store'), '/proc/nowhere'),
                                      ('package pull', ('--store', '/proc/nowhere/store'), '/proc/nowhere')):
            self.refused('nowhere to write', [place, 'No such file or directory'], *flags, commands=[c for c in COMMANDS if c.of == command])
        done = self.run('package', 'init', '/proc/nowhere')
        self.cover('package init', 'nowhere to write')
        assert done.code == 1 and b'make directory /proc/nowhere: No such file or directory' in done.err, done

    def printing(self):
        return [c for c in COMMANDS if c.prints]

    def a_full_disk(self):
        with open('/dev/full', 'wb') as full:
            for _, done in self.do_all(self.printing(), condition='closed output', stdout=full):
                assert done.code not in (0, None) and b'standard output: No space left on device' in done.err, done

    def nobody_reads(self):
        for command in COMMANDS:
            reader, writer = os.pipe()
            os.close(reader)
            quiet = self.do(command, *(('-q',) if command.talks else ()), condition='closed output', stdout=writer)
            os.close(writer)
            assert b'roken pipe' not in quiet.err and b'standard output' not in quiet.err, quiet

    def a_closed_output(self):
        """What is printed does not go to the server instead, whose connection could have been the next descriptor."""
        def run_closed(*words):
            return self.run('-c', 'exec "$@" >&-', 'sh', REEVE, *words, program='sh')
        for _, done in self.do_all(self.printing(), condition='closed output', run=run_closed):
            assert done.code > 0 and b'standard output: Bad file descriptor' in done.err, done

    # ---- What it looks like. ----

    def looking(self, condition):
        return [c for c in COMMANDS if condition not in CANNOT[c.of]]

    def colours(self):
        """As asked for; and only colours differ."""
        flagged = [c for c in self.looking('no colour') if c.talks]
        never, always = self.do_all(flagged, '--color=never'), self.do_all(flagged, '--color=always')
        plain = self.do_all(self.looking('no colour'), condition='no colour')
        for command, done in never + plain:
            assert b'\x1b' not in done.out and b'\x1b' not in done.err and done.code in command.ok, done
        for (command, one), (_, other) in zip(never, always):
            texts = [re.sub(rb' +\d+[smhd]\b', b' AGE', ESCAPE.sub(b'', done.out)) for done in (one, other)]
            assert texts[0] == texts[1] or {'NEW', '-'} & set(command.words), (str(one), str(other))
        assert sum(b'\x1b[' in done.out for _, done in always) >= 6, [str(done) for _, done in always]

    def colours_at_a_terminal(self):
        at_terminal = {'run': self.run_at_terminal}
        commands = [c for c in self.looking('no colour') if c.talks]
        coloured = self.do_all(commands, **at_terminal)
        assert sum(b'\x1b[' in done.out for _, done in coloured) >= 6, [str(done) for _, done in coloured]
        for some, env in ((commands, {'NO_COLOR': '1'}), (self.one(), {'TERM': 'dumb'})):
            for _, done in self.do_all(some, env=env, **at_terminal):
                assert b'\x1b' not in done.out and b'\x1b' not in done.err, done

    def locales(self):
        for command, done in self.do_all(self.looking('locale'), condition='locale', env={'LC_ALL': 'C'}):
            assert done.out.isascii() and done.err.isascii() and done.code in command.ok, done
        for _, done in self.do_all(self.looking('locale'), env={'LC_ALL': 'C.UTF-8'}):
            done.out.decode('utf-8')

    def eighty_columns(self):
        """On a terminal, and where COLUMNS says so."""
        commands = self.looking('80 columns')
        for _, done in (self.do_all(commands, run=self.run_at_terminal, env={'COLUMNS': '', 'NO_COLOR': '1'}, condition='80 columns') +
                        self.do_all(commands)):
            for line in done.out.decode().replace(tempfile.gettempdir(), '/tmp').splitlines():
                assert len(line) <= 80 or TO_COPY.search(line), '%d columns: %r\n%s' % (len(line), line, done)

    def lines_for_programs_are_whole(self):
        """Where nobody knows a width a row is a line, and a path is one."""
        env = {'COLUMNS': ''}
        rows = self.run('who-can', 'get', 'secrets', env=env).out.decode().splitlines()
        assert len({len(re.split(' {2,}', row)) for row in rows}) == 1 and max(map(len, rows)) > 80, rows
        answer = self.run('why', 'system:serviceaccount:kube-system:generic-garbage-collector', 'get', 'secrets', env=env).out.decode()
        assert re.search(r'^ClusterRoleBinding .*, to ServiceAccount kube-system/generic-garbage-collector\n└── ClusterRole', answer, re.M), answer

    def data_and_talk_are_apart(self):
        for command, done in self.do_all([c for c in COMMANDS if c.talks], '-q'):
            assert not done.err and done.code in command.ok, done

    # ---- For programs. ----

    def output_for_programs(self):
        documents = {}
        for form in ('json', 'yaml', 'name'):
            with_form = [c for c in COMMANDS if form in c.formats]
            assert len(with_form) > 3, form
            once, twice = (self.do_all(with_form, '-o', form, condition='json' if form == 'json' else None) for _ in range(2))
            for (command, one), (_, other) in zip(once, twice):
                assert one.out == other.out and one.code in command.ok, (str(one), str(other))
                if form == 'json':
                    documents[command] = json.loads(one.out)
                    self.check_document(command, documents[command], one)
                elif form == 'yaml':
                    assert yaml.safe_load(one.out) == documents[command], one

    @staticmethod
    def check_document(command, document, done):
        """Either one of ours, all of whose fields the manual names, or an object of Kubernetes as it is."""
        assert document['kind'] and document['apiVersion'], done
        is_ours = command.of not in ('check', 'clusters list', 'install')
        assert (document['apiVersion'] == 'cli.reeve.dev/v1') == is_ours and b'managedFields' not in done.out, done
        unknown = set(fields(document)) - documented(command.of) if is_ours else set()
        assert not unknown, '%s: the manual does not know %s' % (command.name, unknown)

    def nobody_is_asked(self):
        """Help and the version know by themselves; so do all who complain of their flags."""
        with socket.create_server(('127.0.0.1', 0)) as listener:
            env = {'KUBECONFIG': self.write('listener', kubeconfig(listener.getsockname()[1]))}
            for command in COMMANDS:
                assert self.do(command, '--help', env=env).code == 0
                if command.of not in ('help', 'version'):
                    wrong = self.do(command, '--no-such-flag', env=env)
                    assert wrong.code == 2 and b'unknown flag --no-such-flag' in wrong.err and b'--help".\n' in wrong.err, wrong
            assert not select.select([listener], [], [], 0)[0]

    # ---- The table. ----

    def every_command(self):
        """As the program has them: what main.c hands over to, and the verbs of those that have some."""
        def verbs(*words):
            return [line.split('\t')[0] for line in self.run('__complete', *words, '').out.decode().splitlines()[:-1]]
        with open(os.path.join(ROOT, 'src', 'main.c'), encoding='utf-8') as file:
            first = re.findall(r'^    \{"([a-z-]+)", \w+\},$', file.read(), re.M)
        assert first and sorted(first) == sorted(verbs()), (first, verbs())
        commands = set(first) - {'clusters', 'package'} | {'%s %s' % (word, verb) for word in ('clusters', 'package')
                                                           for verb in verbs(word)}
        assert commands == set(CANNOT), commands ^ set(CANNOT)
        assert commands == {c.of for c in COMMANDS} | set(DAEMONS), 'a command has no run'

    def every_condition(self):
        for command, cannot in CANNOT.items():
            assert set(cannot) <= set(CONDITIONS), (command, set(cannot) - set(CONDITIONS))
            ran = {condition for name, condition in self.covered if name == command}
            missing, idle = set(CONDITIONS) - set(cannot) - ran, set(cannot) & ran
            assert not missing, '%s was never in: %s' % (command, ', '.join(sorted(missing)))
            assert not idle, '%s is said not to get into, and was: %s' % (command, ', '.join(sorted(idle)))

    def close(self):
        self.pool.shutdown()
        self.registry.stop()


def make(folder, server):
    tests = Tests(folder, server)
    try:
        yield from tests.tests()
    finally:
        tests.close()


if __name__ == '__main__':
    sys.exit(run_tests('behaviour', REEVE, make, sys.argv[3:]))
