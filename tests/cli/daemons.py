# SPDX-License-Identifier: Apache-2.0
"""How reeve up, manager and agent behave when things are not as they should be. What can be put right by somebody else (a server that
is away, a right, a token) is logged, and they go on; what is wrong on the command line or on this machine ends them."""
import os
import re
import signal
import socket
import subprocess

from command_line import PATIENCE, SANITIZER, Process, certificate_authority, kubeconfig, wait_for
from registry_world import free_port


class Daemon(Process):
    """One that runs, until it is told to end. without: descriptors that are closed."""

    def __init__(self, world, *words, without=''):
        self.words, self.log = words, world.path('daemon.log')
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(['sh', '-c', 'exec "$@" ' + without, 'sh', world.reeve, *words], cwd=world.folder, env=world.env,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __exit__(self, *what):
        super().__exit__(*what)
        assert not SANITIZER.search(self.said()), self.said()

    def said(self):
        with open(self.log, encoding='utf-8', errors='replace') as file:
            return file.read()

    def says(self, pattern):
        def is_said():
            assert self.process.poll() is None, '%s ended: %s' % (self.words, self.said())
            return re.search(pattern, self.said())
        wait_for(is_said, '%s: %s' % (' '.join(self.words), pattern))
        return self

    def end(self):
        """By Ctrl-C, which is how people end it: no error, and none is logged because of it."""
        before = self.said().count('level=error')
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        assert code == 0 and self.said().count('level=error') == before, (code, self.said())

    def fails(self, *texts):
        """By itself."""
        code = self.process.wait(PATIENCE)
        said = self.said()
        assert code == 1 and said.count('reeve %s: ' % self.words[0]) == 1, (self.words, code, said)
        for text in texts:
            assert text in said, '%r is not in: %s' % (text, said)


class Daemons:
    def __init__(self, world):
        self.world = world

    def tests(self):
        yield from (('daemons: ' + name.replace('_', ' '), getattr(self, name)) for name in (
            'no_server', 'a_wrong_kubeconfig', 'a_token_that_ran_out', 'no_rights', 'a_taken_port', 'nowhere_to_write',
            'all_is_closed', 'an_end_while_starting'))

    def of_a_server(self, path):
        """Those that ask one, told by this kubeconfig."""
        yield 'manager', ('--kubeconfig', path, '--listen=127.0.0.1:0', '--package-cache', self.world.path('cache'))
        yield 'agent', ('--kubeconfig', path, '--cluster=alpha', '--hub-kubeconfig', self.world.server.kubeconfig)

    def goes_on(self, condition, path, **patterns):
        for name, flags in self.of_a_server(path):
            self.world.cover(name, condition)
            with Daemon(self.world, name, *flags) as daemon:
                daemon.says(patterns[name])
                self.world.cover(name, 'Ctrl-C')
                daemon.end()

    def no_server(self):
        port = self.world.closed_port
        refused = 'level=(warn|error).*connect to 127.0.0.1:%d: Connection refused' % port
        self.goes_on('no server', self.world.write('closed', kubeconfig(port)), manager=refused, agent=refused)

    def a_wrong_kubeconfig(self):
        malformed = self.world.write('malformed', '{')
        for path in ('/nonexistent/kubeconfig', malformed):
            for name, flags in self.of_a_server(path):
                self.world.cover(name, 'wrong kubeconfig')
                with Daemon(self.world, name, *flags) as daemon:
                    daemon.fails(path)
        for name, flags in self.of_a_server(self.world.server.kubeconfig):
            with Daemon(self.world, name, *flags, '--context=nowhere') as daemon:
                daemon.fails('context "nowhere" does not exist')
        with Daemon(self.world, 'agent', '--cluster=alpha', '--hub-kubeconfig', malformed) as daemon:
            daemon.fails('join kubeconfig', malformed)

    def a_token_that_ran_out(self):
        expired = self.world.expired_kubeconfig()
        self.goes_on('expired token', expired, manager='error=Unauthorized', agent='on this cluster: Unauthorized')
        with Daemon(self.world, 'agent', '--cluster=alpha', '--hub-kubeconfig', expired) as daemon:
            daemon.says('does not accept the token of the file .*, which expired at 2020-01-01T00:00:00Z: .*reeve clusters add alpha')
            daemon.end()

    def no_rights(self):
        """In the words of the server: who lacks what, and where."""
        server = self.world.server
        status, answer = server.ask('POST', '/api/v1/namespaces/default/serviceaccounts/default/token',
                                    {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenRequest', 'spec': {}})
        assert status == 201, answer
        poor = self.world.write('poor', kubeconfig(server.port, answer['status']['token'], certificate_authority(server.kubeconfig)))
        lacks = r'User \\"system:serviceaccount:default:default\\" cannot get resource \\"%s\\"'
        self.goes_on('no rights', poor, manager=lacks % 'leases', agent=lacks.replace('get', 'watch') % 'appliedmanifestworks')
        with Daemon(self.world, 'agent', '--cluster=alpha', '--hub-kubeconfig', poor) as daemon:
            daemon.says('cannot renew the heartbeat on the hub.*' + lacks % 'leases')
            daemon.end()

    def a_taken_port(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            for name, flags in (*self.of_a_server(self.world.server.kubeconfig), ('up', ('--data-dir', self.world.path('up-taken')))):
                self.world.cover(name, 'taken port')
                with Daemon(self.world, name, *flags, '--listen', '127.0.0.1:%d' % port) as daemon:
                    daemon.fails('port %d is taken' % port, '--listen')

    def nowhere_to_write(self):
        for name, flags in (('up', ('--listen=127.0.0.1:0', '--data-dir=/proc/nowhere/data')),
                            ('up', ('--listen=127.0.0.1:0', '--data-dir', self.world.path('up-data'), '--kubeconfig=/proc/nowhere/config')),
                            ('manager', ('--no-leader-election', '--listen=127.0.0.1:0', '--package-cache=/proc/nowhere/cache'))):
            self.world.cover(name, 'nowhere to write')
            with Daemon(self.world, name, *flags) as daemon:
                daemon.fails('/proc/nowhere', 'No such file or directory')

    def all_is_closed(self):
        """Whoever has no descriptors gives none of them to a socket: it works all the same."""
        data = self.world.path('up-closed')
        for name, flags in (*self.of_a_server(self.world.server.kubeconfig), ('up', ('--data-dir', data))):
            port = free_port()
            self.world.cover(name, 'closed output')
            with Daemon(self.world, name, *flags, '--listen', '127.0.0.1:%d' % port, without='<&- >&- 2>&-') as daemon:
                def answers():
                    assert daemon.process.poll() is None, 'it ended with %d' % daemon.process.returncode
                    with socket.socket() as probe:
                        return probe.connect_ex(('127.0.0.1', port)) == 0
                wait_for(answers, '%s listens' % name)
                daemon.process.send_signal(signal.SIGINT)
                assert daemon.process.wait(PATIENCE) in (0, 1), daemon.process.returncode  # 1: what it had to say was not heard
                assert not daemon.said(), daemon.said()

    def an_end_while_starting(self):
        """At any moment of its first start; the next one goes on from there, and nothing half written is left."""
        folder = self.world.path('up-ended')
        os.mkdir(folder)
        data, config = os.path.join(folder, 'data'), os.path.join(folder, 'config')
        flags = ('up', '--listen=127.0.0.1:0', '--data-dir', data, '--kubeconfig', config)
        self.world.cover('up', 'Ctrl-C')
        for moment in (data, os.path.join(data, 'pki'), os.path.join(data, 'pki', 'ca.pem'), config):
            with Daemon(self.world, *flags) as daemon:
                wait_for(lambda: os.path.exists(moment) or daemon.process.poll() is not None, moment)
                daemon.process.send_signal(signal.SIGINT)
                assert daemon.process.wait(PATIENCE) in (0, -signal.SIGINT), daemon.said()
        with Daemon(self.world, *flags) as daemon:
            daemon.says('msg=ready').end()
        half = [name for _, folders, files in os.walk(folder) for name in folders + files if re.search(r'\.[A-Za-z0-9]{6}$', name)]
        assert not half, half
