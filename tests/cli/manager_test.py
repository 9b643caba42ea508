#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reeve manager says before it talks to anybody. usage: manager_test.py PATH-OF-REEVE"""
import os
import socket
import sys
import tempfile

from command_line import Tap, environment, kubeconfig, run_program

REEVE = os.path.abspath(sys.argv[1])


class Manager:
    def __init__(self, scratch):
        self.scratch = scratch
        self.kubeconfig = os.path.join(scratch, 'kubeconfig')
        with open(self.kubeconfig, 'w', encoding='utf-8') as file:
            file.write(kubeconfig(1, 'very-secret'))

    def run(self, *words, **env):
        """(exit code, standard output, standard error)"""
        done = run_program(REEVE, 'manager', *words, env=environment(self.scratch, **env), cwd=self.scratch)
        return done.code, done.out.decode(), done.err.decode()

    def helps(self):
        code, out, err = self.run('--help')
        assert code == 0 and out.startswith('Usage: reeve manager') and not err, (code, out, err)
        assert max(map(len, out.splitlines())) <= 80
        for flag in ('--kubeconfig', '--controllers', '--listen', '--lease-duration', '--print-rbac', '--print-crds'):
            assert flag in out, flag
        for name in self.run('--controllers=nothing')[2].splitlines()[0].split('there are ')[1].split(', '):
            assert '\n  %s  ' % name in out, name

    def usage_is_checked(self):
        for words, text in ((('--controllers=nothing',), 'there is no controller "nothing": there are aggregation, clusters, garbage, installs, namespaces, permissions, personas'),
                            (('--controllers=*', '--lease-duration=1.5s'), '--lease-duration "1.5s" is no duration'),
                            (('--controllers=*', '--renew-deadline=15s'), 'must be shorter than --lease-duration'),
                            (('--controllers=*', '--listen=8085'), 'cannot listen at "8085"'),
                            (('--controllers=*', '--wat'), 'unknown flag --wat')):
            code, out, err = self.run(*words)
            assert code == 2 and not out and text in err and '--help' in err, (words, code, out, err)

    def server_must_be_known(self):
        code, out, err = self.run('--controllers=aggregation')
        assert code == 1 and not out and 'kubeconfig' in err, (code, out, err)
        code, out, err = self.run('--controllers=aggregation', '--kubeconfig', '/nonexistent/file')
        assert code == 1 and '/nonexistent/file' in err, (code, out, err)
        code, out, err = self.run('--controllers=aggregation', '--kubeconfig', self.kubeconfig, '--context', 'there')
        assert code == 1 and 'there' in err and 'very-secret' not in err, (code, out, err)

    def port_must_be_free(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            port = taken.getsockname()[1]
            code, _, err = self.run('--controllers=*', '--kubeconfig', self.kubeconfig, '--listen', '127.0.0.1:%d' % port)
        assert code == 1 and 'port %d is taken' % port in err and '--listen' in err, (code, err)

    def default_is_what_kubernetes_has_not(self):
        code, out, _ = self.run('--print-rbac')
        assert (code, out) == (0, self.run('--print-rbac', '--controllers=clusters,installs,permissions,personas')[1]) and 'escalate' in out, out
        assert self.run('--print-rbac', '--controllers=')[1] == out
        code, out, err = self.run('--kubeconfig', '/nonexistent/file')
        assert code == 1 and '/nonexistent/file' in err, (code, out, err)

    def environment_counts(self):
        code, out, _ = self.run('--print-rbac', REEVE_CONTROLLERS='aggregation')
        assert code == 0 and 'escalate' in out and out.count('---') == 4, out
        code, out, _ = self.run('--print-rbac', '--no-leader-election', '--controllers=garbage', REEVE_CONTROLLERS='aggregation')
        assert code == 0 and 'escalate' not in out and out.count('---') == 2, out


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='reeve-manager-') as scratch:
        manager = Manager(scratch)
        for name in ('helps', 'usage_is_checked', 'server_must_be_known', 'port_must_be_free', 'default_is_what_kubernetes_has_not',
                     'environment_counts'):
            tap.run(name.replace('_', ' '), getattr(manager, name))
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
