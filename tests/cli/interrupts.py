# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: in the middle of whatever a command does. Its terminal is as it was, nothing is left that was not there before, no process
goes on, and the same command finishes the work."""
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import termios

from command_line import PATIENCE, SANITIZER, Server, Terminal, kubeconfig, wait_for

HALF_REGISTRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e', 'half_registry.py')
LARGE = 12 * 1024 * 1024  # bytes of a file that takes its time


def is_running(pid):
    try:
        with open('/proc/%d/stat' % pid, encoding='ascii') as file:
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False


class Running:
    """A command in the middle of its work, at a terminal, in a folder of its own."""

    def __init__(self, world, *words):
        self.words, self.folder = words, tempfile.mkdtemp(dir=world.folder)
        self.terminal, self.talk = Terminal(), tempfile.TemporaryFile()
        env = {**world.env, 'HOME': self.folder, 'TMPDIR': self.folder}
        self.process = subprocess.Popen([world.reeve, *words], cwd=self.folder, env=env, stdin=self.terminal.slave,
                                        stdout=self.terminal.slave, stderr=self.talk)

    def children(self):
        with open('/proc/%d/task/%d/children' % (self.process.pid, self.process.pid), encoding='ascii') as file:
            return [int(pid) for pid in file.read().split()]

    def interrupt(self, *codes):
        """It ends with one of these codes, and is as if it had not been there."""
        children = self.children()
        assert self.process.poll() is None, 'it is over already'
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        self.talk.seek(0)
        said = self.talk.read().decode()
        self.talk.close()
        about = '%s: %d\n%s' % (' '.join(self.words), code, said)
        assert code in codes and not SANITIZER.search(said), about
        assert termios.tcgetattr(self.terminal.slave) == self.terminal.modes, about
        assert not self.terminal.read(), about
        wait_for(lambda: not any(map(is_running, children)), 'children of %s end' % about)
        assert os.listdir(self.folder) == [], (about, os.listdir(self.folder))
        return said


class Interrupts:
    DEATH, GENTLE = -signal.SIGINT, 128 + signal.SIGINT

    def __init__(self, world):
        self.world = world

    def tests(self):
        yield from (('Ctrl-C: ' + name.replace('_', ' '), getattr(self, name)) for name in (
            'while_a_server_is_silent', 'while_a_registry_is_silent', 'in_the_middle_of_a_layer', 'in_the_middle_of_a_build',
            'in_the_background_of_a_script', 'until_a_cluster_is_accepted'))

    def finishes(self, command, *flags):
        done = self.world.do(command, *flags)
        assert done.code in command.ok, done

    def while_a_server_is_silent(self):
        for command in self.world.asking('server'):
            with socket.create_server(('127.0.0.1', 0)) as silent:
                config = self.world.write('silent', kubeconfig(silent.getsockname()[1]))
                silent.settimeout(PATIENCE)
                running = Running(self.world, *self.world.words_of(command), '--kubeconfig', config)
                with silent.accept()[0]:
                    running.interrupt(self.DEATH, self.GENTLE)
            self.world.cover(command, 'Ctrl-C')
            self.finishes(command)

    def while_a_registry_is_silent(self):
        for number, command in enumerate(self.world.asking('registry')):
            is_push = command.of == 'package push'
            flags = () if is_push else ('--store', self.world.path('interrupted%d' % number))
            with socket.create_server(('127.0.0.1', 0)) as silent:
                mirror = '%s=127.0.0.1:%d' % (self.world.registry.host, silent.getsockname()[1])
                silent.settimeout(PATIENCE)
                running = Running(self.world, *self.world.words_of(command), '--mirror', mirror, *flags)
                with silent.accept()[0]:
                    said = running.interrupt(self.DEATH, self.GENTLE)
            assert 'interrupted' in said or command.of not in ('package push', 'package pull'), said
            self.world.cover(command, 'Ctrl-C')
            self.finishes(command, *flags)

    def new_files(self, store):
        return [name for name in os.listdir(store) if name.startswith('.new-')] if os.path.isdir(store) else []

    def in_the_middle_of_a_layer(self):
        """Half of it has come."""
        store, image = self.world.path('halved'), self.world.places['IMAGE']
        stalled = subprocess.Popen([sys.executable, '-B', HALF_REGISTRY, self.world.registry.host], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        try:
            mirror = '%s=%s' % (self.world.registry.host, stalled.stdout.readline().strip())
            running = Running(self.world, 'package', 'pull', image, '--store', store, '--mirror', mirror)
            wait_for(lambda: self.new_files(store), 'a layer is being written')
            assert 'interrupted; the same command finishes it' in running.interrupt(self.GENTLE)
            assert not self.new_files(store)
        finally:
            stalled.kill()
            stalled.wait()
            stalled.stdout.close()
        self.world.cover('package pull', 'Ctrl-C')
        done = self.world.run('package', 'pull', image, '--store', store)
        assert done.code == 0, done

    def in_the_middle_of_a_build(self):
        """The layer is stopped while it is written: it takes no time otherwise."""
        folder, store = self.world.path('large'), self.world.path('built')
        assert self.world.run('package', 'init', folder, '--name', 'large').code == 0
        for number in range(4):  # of bytes that cannot be made smaller
            with open(os.path.join(folder, '.registry', 'blob%d' % number), 'wb') as file:
                file.write(random.Random(number).randbytes(LARGE))
        words = ('package', 'build', folder, '--tag', 'acme/large:1', '--store', store)
        running = Running(self.world, *words)
        wait_for(lambda: self.new_files(store), 'a layer is being written')
        for pid in running.children():
            os.kill(pid, signal.SIGSTOP)
        assert self.new_files(store), 'it was over too early'
        assert 'interrupted; the same command finishes it' in running.interrupt(self.GENTLE)
        assert not self.new_files(store)
        self.world.cover('package build', 'Ctrl-C')
        done = self.world.run(*words)
        assert done.code == 0, done

    def in_the_background_of_a_script(self):
        """There a shell lets commands ignore Ctrl-C, which is meant for others. SIGTERM is meant for it."""
        with socket.create_server(('127.0.0.1', 0)) as silent:
            silent.settimeout(PATIENCE)
            words = ('package', 'pull', '127.0.0.1:%d/acme/blog:1' % silent.getsockname()[1], '--store', self.world.path('background'))
            process = subprocess.Popen(['sh', '-c', 'trap "" INT; exec "$0" "$@"', self.world.reeve, *words], env=self.world.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            with silent.accept()[0]:
                process.send_signal(signal.SIGINT)
                process.send_signal(signal.SIGTERM)
                said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 128 + signal.SIGTERM and not SANITIZER.search(said), (process.returncode, said)

    def until_a_cluster_is_accepted(self):
        """Nobody accepts it yet: there are no controllers. What was asked for stays; the credential is written whole, or not at all."""
        hub, path = Server(self.world.reeve), self.world.path('beta.kubeconfig')
        words = ('clusters', 'add', 'beta', '--join-file', path)
        managed = '/apis/cluster.open-cluster-management.io/v1/managedclusters/beta'
        try:
            hub.start(None, '--no-controllers')
            crds = self.world.run('manager', '--print-crds').out
            subprocess.run(['kubectl', '--kubeconfig', hub.kubeconfig, 'apply', '-f', '-'], input=crds, check=True, stdout=subprocess.DEVNULL)
            running = Running(self.world, *words, '--kubeconfig', hub.kubeconfig)
            wait_for(lambda: hub.ask('GET', managed)[0] == 200, 'it is asked for')
            running.interrupt(self.DEATH, self.GENTLE)
            assert not [name for name in os.listdir(self.world.folder) if name.startswith('beta')]
            hub.stop()
            hub.start()
            done = self.world.run(*words, env={'KUBECONFIG': hub.kubeconfig})
            assert done.code == 0 and os.stat(path).st_mode & 0o777 == 0o600, done
            hub.stop()
        finally:
            hub.remove()
        self.world.cover('clusters add', 'Ctrl-C')
