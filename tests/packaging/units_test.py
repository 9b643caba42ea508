#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The systemd units: systemd understands them and finds little exposed; the programs work behind their walls, as far as those can be
put up without a systemd that runs, with packages and registries. docs/install runs them by systemd itself.

usage: units_test.py BUILD SOURCE"""
import contextlib
import glob
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

from confined import Walls, read_unit
from world import BUILD, ENVIRONMENT, PACKAGING, Server, Tap, must, package_store, read, run, stage, wait_for

REEVE = os.path.join(BUILD, 'reeve')
UNITS = sorted(glob.glob(os.path.join(PACKAGING, 'systemd', '*.service')))
EXPOSURE = 12  # tenths: what is left is the network, and unix sockets for the log
INSTALLS = '/apis/packages.crossplane.io/v1alpha1/clusterpackageinstalls'


def verify(unit, folder):
    """Of a copy that names the program by its path: only a systemd that runs looks for it where systems have programs."""
    place = os.path.join(folder, os.path.basename(unit).replace('@', '@one'))
    with open(place, 'w', encoding='utf-8') as file:
        file.write(read(unit, 'r').replace('ExecStart=reeve ', 'ExecStart=%s ' % REEVE))
    text = must('systemd-analyze', 'verify', '--man=no', place)
    assert text == '', text


def exposure(unit):
    must('systemd-analyze', 'security', '--offline=yes', '--no-pager', '--threshold=%d' % EXPOSURE, unit)


def command_of(unit, **values):
    """What the unit starts, with what systemd would put in place of variables."""
    line = read_unit(unit)['ExecStart'][0]
    for name, value in values.items():
        line = line.replace('${%s}' % name, value)
    words = [word for word in shlex.split(line.replace('%i', 'cluster1')) if not word.startswith('$REEVE')]
    assert words[0] == 'reeve' and '$' not in ' '.join(words), words
    return [REEVE, *words[1:]]


def unit_named(name):
    return os.path.join(PACKAGING, 'systemd', name + '.service')


def the_walls_stand():
    """What is not in the unit's list is refused: else the tests below would show nothing."""
    walls = Walls(unit_named('reeve'))

    def inside(code):
        done = subprocess.run([sys.executable, '-c', code], preexec_fn=walls.up, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        return done.stdout
    assert 'Operation not permitted' in inside('import os; os.sched_setaffinity(0, {0})')
    assert 'Operation not permitted' in inside('import os; os.chroot("/")')
    assert 'Permission' in inside('import mmap; mmap.mmap(-1, 4096, prot=7)') or \
        'not permitted' in inside('import mmap; mmap.mmap(-1, 4096, prot=7)')
    assert 'not supported' in inside('import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)')
    assert inside('import socket; socket.socket(); print("fine")') == 'fine\n'


class Confined(Server):
    """reeve up as its unit starts it, behind its walls."""

    def launch(self):
        walls = Walls(unit_named('reeve'))
        self.kubeconfig = os.path.join(self.data, 'admin.kubeconfig')
        os.makedirs(os.path.join(self.data, 'packages'), mode=0o700)
        os.chmod(self.data, 0o700)
        package_store(os.path.join(self.data, 'packages', 'store'))
        command = command_of(unit_named('reeve'), STATE_DIRECTORY=self.data)
        name = 'reeve-units-%d' % os.getpid()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices, open(self.log, 'wb') as log:
            notices.bind('\0' + name)
            notices.setblocking(False)
            self.process = subprocess.Popen([*command, '--listen', '127.0.0.1:0'], stdout=log, stderr=log, preexec_fn=walls.up,
                                            cwd=self.data, env={**ENVIRONMENT, 'NOTIFY_SOCKET': '@' + name})
            self.wait_for_notice(notices)
        self.read_kubeconfig()

    def wait_for_notice(self, notices):
        """As systemd does: what is started is what says so."""
        said = []

        def hear():
            with contextlib.suppress(BlockingIOError):
                said.append(notices.recv(100))
            return said or not self.is_alive()
        wait_for(hear, self.read_log)
        assert said == [b'READY=1'], (said, self.read_log())

    def install(self, name, image):
        code, answer = self.ask('POST', INSTALLS, {
            'apiVersion': 'packages.crossplane.io/v1alpha1', 'kind': 'ClusterPackageInstall', 'metadata': {'name': name},
            'spec': {'package': image}})
        assert code == 201, answer

    def conditions(self, name):
        install = self.ask('GET', INSTALLS + '/' + name)[1]
        return {row['type']: row for row in install.get('status', {}).get('conditions', [])}


def the_control_plane_works(server):
    server.launch()
    assert server.ask('GET', '/api/v1/namespaces/kube-system')[0] == 200


def nobody_to_tell_is_no_reason_not_to_serve():
    for path, why in (('/nonexistent/notify', 'cannot write to NOTIFY_SOCKET'), ('relative', 'neither an absolute path nor'),
                      ('/' + 'x' * 200, 'longer than names of sockets')):
        server = Server(REEVE)
        try:
            server.start(lambda path=path: os.environ.update(NOTIFY_SOCKET=path))
            wait_for(lambda why=why: 'the service manager was not told' in server.read_log() and why in server.read_log(), server.read_log)
            assert server.ask('GET', '/readyz')[0] == 200
            server.stop()
        finally:
            server.remove()


def it_opens_packages(server):
    """reeve-fetch builds its own walls inside: landlock, limits, a filter."""
    server.install('database', 'acme/database:1.0')
    wait_for(lambda: server.conditions('database').get('Installed', {}).get('status') == 'True',
             lambda: '%s\n%s' % (server.conditions('database'), server.read_log()))


def it_asks_registries(server):
    """libcurl and the resolver are loaded, and connect."""
    server.install('away', 'localhost:1/acme/queue:1.0')
    wait_for(lambda: 'onnect' in str(server.conditions('away')),
             lambda: '%s\n%s' % (server.conditions('away'), server.read_log()))


def it_ends_in_peace(server):
    server.stop()
    assert 'level=error' not in server.read_log(), server.read_log()


def the_manager_and_the_agent_start():
    """Both get as far as a server that is not there; their flags are understood."""
    with tempfile.TemporaryDirectory(prefix='reeve-units-') as folder:
        kubeconfig = os.path.join(folder, 'kubeconfig')
        with open(kubeconfig, 'w', encoding='ascii') as file:
            file.write('apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n'
                       'clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]\nusers: [{name: a, user: {token: none}}]\n')
        shutil.copy(kubeconfig, os.path.join(folder, 'hub.kubeconfig'))
        for name in ('reeve-manager', 'reeve-agent@'):
            command = command_of(unit_named(name), CREDENTIALS_DIRECTORY=folder, CACHE_DIRECTORY=folder, STATE_DIRECTORY=folder)
            log = os.path.join(folder, 'log')
            with open(log, 'wb') as out:
                process = subprocess.Popen([*command, '--listen', '127.0.0.1:0'], stdout=out, stderr=out, env=ENVIRONMENT,
                                           preexec_fn=Walls(unit_named(name)).up)
            try:
                wait_for(lambda: '127.0.0.1:1' in read(log, 'r') or process.poll() is not None, lambda: read(log, 'r'))
                assert process.poll() is None, (name, read(log, 'r'))
            finally:
                process.terminate()
            assert process.wait(60) == 0, (name, read(log, 'r'))


def the_agent_takes_up_a_new_credential_once():
    """The line before the start: the join kubeconfig is copied when it is another one, and what was renewed stays."""
    line = read_unit(unit_named('reeve-agent@'))['ExecStartPre'][0]
    with tempfile.TemporaryDirectory(prefix='reeve-units-') as folder:
        state, credentials = os.path.join(folder, 'state'), os.path.join(folder, 'credentials')
        os.mkdir(state)
        os.mkdir(credentials)

        def start(hub):
            with open(os.path.join(credentials, 'hub'), 'w', encoding='ascii') as file:
                file.write(hub)
            done = subprocess.run(shlex.split(line), cwd=state, env={**os.environ, 'CREDENTIALS_DIRECTORY': credentials}, check=True)
            return done and read(os.path.join(state, 'hub.kubeconfig'), 'r')
        assert start('joined') == 'joined'
        with open(os.path.join(state, 'hub.kubeconfig'), 'w', encoding='ascii') as file:
            file.write('renewed')
        assert start('joined') == 'renewed'
        assert start('joined again') == 'joined again'


def main():
    tap = Tap()
    assert len(UNITS) == 3, UNITS
    with tempfile.TemporaryDirectory(prefix='reeve-units-') as folder:
        for unit in UNITS:
            tap.run('%s is understood' % os.path.basename(unit), verify, unit, folder)
            tap.run('%s exposes little' % os.path.basename(unit), exposure, unit)
    tap.run('the walls stand', the_walls_stand)
    server = Confined(REEVE)
    try:
        for test in (the_control_plane_works, it_opens_packages, it_asks_registries, it_ends_in_peace):
            tap.run(test.__name__.replace('_', ' '), test, server)
    finally:
        server.remove()
    for test in (nobody_to_tell_is_no_reason_not_to_serve, the_manager_and_the_agent_start, the_agent_takes_up_a_new_credential_once):
        tap.run(test.__name__.replace('_', ' '), test)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
