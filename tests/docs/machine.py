# SPDX-License-Identifier: Apache-2.0
"""A machine that is thrown away, for what a test must not do to the one it runs on: see the program "machine", which boots it."""
import json
import os
import re
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 120
NAMESPACES = ('--mount', '--pid', '--net', '--ipc', '--uts', '--cgroup', '--root')  # who is in a chroot leaves another root in the namespace


class NoMachine(RuntimeError):
    """Nothing that a document could be blamed for."""


def run(main):
    """main(), or what says aloud that it could not be: tools/test tells which programs left something out."""
    try:
        return main()
    except NoMachine as reason:
        print('ok 1 # SKIP %s\n1..1' % reason)
        return 0


class Machine:
    """With the folders that are named, and scratch shared with it."""

    def __init__(self, scratch, *folders):
        self.keeper = subprocess.Popen([os.path.join(HERE, 'machine'), scratch, *folders], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       start_new_session=True)
        group, number = (self.keeper.stdout.readline().decode().strip() for _ in range(2))
        if not number:
            self.close()
            raise NoMachine('no machine can be made here: it takes root, overlayfs, namespaces and cgroup2')
        # Not with the first process: systemd wants its groups for itself.
        self.group = '/proc/%d/root%s/reader' % (self.keeper.pid, group)
        os.mkdir(self.group)
        self.number = number
        self.wait()

    def wait(self):
        until = time.monotonic() + PATIENCE
        while subprocess.run(self.inside('systemctl', 'is-system-running', '--quiet'), preexec_fn=self.join, stderr=subprocess.DEVNULL,
                             check=False).returncode:
            if time.monotonic() > until:
                self.close()
                raise NoMachine('no machine can be made here: systemd is not up after %d s' % PATIENCE)
            time.sleep(0.05)

    def join(self):
        """To be called between fork and exec of what runs there."""
        with open(self.group + '/cgroup.procs', 'w', encoding='ascii') as file:
            file.write('0')

    def inside(self, *command, folder='/'):
        """A command that runs this one there. Who presses Ctrl-C presses it there: unshare waits, and leaves that to its child."""
        return ['nsenter', '--no-fork', '--target', self.number, *NAMESPACES, 'unshare', '--fork', 'env', '--chdir=' + folder, *command]

    def run(self, *command, **kwargs):
        return subprocess.run(self.inside(*command), preexec_fn=self.join, check=True, **kwargs)

    def serve_registries(self, text, folder):
        """Those that a document names: registry.example.com, whose certificate the machine trusts, and localhost:5000."""
        os.mkdir(folder)
        for name, port in (('registry.example.com', 443), ('localhost', 5000)):
            if re.search(r'\b%s%s/' % (re.escape(name), '' if port == 443 else ':%d' % port), text):
                self.serve_registry(name, port, os.path.join(folder, name))

    def serve_registry(self, name, port, path):
        config = {'version': 0.1, 'log': {'level': 'error', 'accesslog': {'disabled': True}},
                  'storage': {'filesystem': {'rootdirectory': path + '.data'}},
                  'http': {'addr': '127.0.0.1:%d' % port, 'secret': 'x'}}
        if port == 443:
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                            '-subj', '/CN=' + name, '-addext', 'subjectAltName=DNS:' + name, '-keyout', path + '.key', '-out', path + '.crt'],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            config['http']['tls'] = {'certificate': path + '.crt', 'key': path + '.key'}
            self.run('sh', '-c', 'cat "$1" >>/etc/ssl/certs/ca-certificates.crt', 'sh', path + '.crt')
        with open(path + '.yml', 'w', encoding='ascii') as file:
            json.dump(config, file)  # which is YAML
        with open(path + '.service', 'w', encoding='ascii') as file:
            file.write('[Service]\nExecStart=docker-registry serve %s.yml\n' % path)
        self.run('cp', path + '.service', '/etc/systemd/system')
        self.run('systemctl', 'start', os.path.basename(path) + '.service')
        # It is there when it answers.
        self.run('curl', '--silent', '--output', '/dev/null', '--retry', '100', '--retry-connrefused', '--retry-delay', '1',
                 '%s://%s:%d/v2/' % ('https' if port == 443 else 'http', name, port))

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait()
        self.keeper.stdout.close()
