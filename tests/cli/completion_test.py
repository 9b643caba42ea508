#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tabulator key brings: what reeve answers, and what bash, zsh, fish and kubectl make of it, each of them real.

usage: completion_test.py PATH-OF-REEVE"""
import os
import pty
import re
import select
import socket
import subprocess
import sys
import time

from command_line import PATIENCE, World, environment, kubeconfig, needs, run_tests

REEVE = os.path.abspath(sys.argv[1])

# words, the last of them unfinished; candidates; how to go on: 4 nothing else, 0 files, 16 directories
NO_SERVER = [
    (['wh'], ['who-can', 'why'], 4),
    (['zz'], [], 4),
    (['clusters', ''], ['add', 'list', 'remove'], 4),
    (['clusters', 're'], ['remove'], 4),
    (['clusters', 'add', ''], [], 4),
    (['completion', ''], ['bash', 'fish', 'zsh'], 4),
    (['help', 'who'], ['who-can'], 4),
    (['why', '--name'], ['--namespace'], 4),
    (['why', '--', '--name'], [], 4),
    (['check', '-o', ''], ['yaml', 'json'], 4),
    (['check', '--output=j'], ['json'], 4),
    (['install', '--pull-policy', ''], ['Always', 'IfNotPresent', 'Never'], 4),
    (['package', 'init', '--scope=N'], ['Namespaced'], 4),
    (['check', '--output', 'j'], ['json'], 4),
    (['check', '--color=a'], ['auto', 'always'], 4),
    (['check', ''], [], 0),
    (['check', 'a.yaml', 'b.yaml', 'c.yaml', 'd'], [], 0),
    (['why', '--kubeconfig', ''], [], 0),
    (['up', '--data-dir', ''], [], 16),
    (['plan', ''], [], 16),
    (['who-can', 'd'], ['delete', 'deletecollection'], 4),
    (['who-can', '-n', 'shop', 'd'], ['delete', 'deletecollection'], 4),
    (['why', 'jane', 'wa'], ['watch'], 4),
    (['why', '--context', 'b'], ['bakery', 'brewery'], 4),
    (['why', '--kubeconfig', '/nonexistent', '--context', 'b'], [], 4),
]

class Shell:
    """A shell at a terminal of its own."""

    def __init__(self, *command, env):
        self.text = ''
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(env['HOME'])
            os.execvpe(command[0], command, env)

    def read_until(self, pattern):
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text):
            ready, _, _ = select.select([self.terminal], [], [], deadline - time.monotonic())
            assert ready, 'waited for %r, got %r' % (pattern, self.text)
            self.text += os.read(self.terminal, 65536).decode('utf-8', 'replace')
            self.text = re.sub(r'\x1b\[[?\d;]*[a-zA-Z]', '', self.text)

    def type(self, keys, pattern):
        """What is on the terminal after that, until it looks so."""
        self.text = ''
        os.write(self.terminal, keys.encode())
        self.read_until(pattern)
        return self.text

    def clear(self):
        """Forgets the line."""
        self.type('\x15\x0becho done-$((1+1))\n', 'done-2\r\n[^\r]*> $')

    def close(self):
        os.write(self.terminal, b'\x15\x0bexit\n')
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Tests(World):
    def __init__(self, folder, server):
        super().__init__(REEVE, folder, server)
        self.bin = self.path('bin')
        os.mkdir(self.bin)
        for name in ('reeve', 'kubectl-reeve', 'kubectl_complete-reeve'):
            os.symlink(REEVE, os.path.join(self.bin, name))
        self.silent = socket.create_server(('127.0.0.1', 0))  # takes connections, and never says a word
        config = self.write('kubeconfig', kubeconfig(self.silent.getsockname()[1], contexts=('brewery', 'bakery')))
        self.env = environment(folder, PATH=self.bin + ':' + os.environ['PATH'], TERM='dumb', KUBECONFIG=config)

    def says(self, program, *words, **env):
        """What it prints; it has nothing to complain of."""
        done = self.run(*words, program=program, env=env)
        assert done.code == 0 and not done.err, done
        return done.out.decode()

    def complete(self, *words, **env):
        """(candidates, how to go on)"""
        *lines, last = self.says('reeve', '__complete', *words, **env).splitlines()
        assert last.startswith(':'), last
        return [line.split('\t')[0] for line in lines], int(last[1:])

    # ---- What reeve says. ----

    def without_a_server(self):
        for words, candidates, directive in NO_SERVER:
            got = self.complete(*words)
            assert got == (candidates, directive), (words, got)

    def every_command_and_flag_is_there(self):
        listed = re.findall(r'^  ([a-z-]+)  ', self.says('reeve', '--help').split('Commands:')[1].split('\n\n')[0], re.M)
        commands, _ = self.complete('')
        assert len(listed) > 10 and sorted(listed + ['help']) == sorted(commands), (listed, commands)
        for command in listed:
            flags = re.findall(r'^  (?:-\w, |    )(--[a-z-]+)', self.says('reeve', command, '--help'), re.M)
            assert flags == self.complete(command, '--')[0], (command, flags)

    def a_server_that_does_not_answer(self):
        assert self.complete('why', '-n', '') == ([], 4)

    def names_of_a_server(self):
        env = {'KUBECONFIG': self.server.kubeconfig}
        role = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole', 'rules': []}
        for name in ('shop:clerk', 'shop:$(touch pwned)', 'shop:clerk;ls'):
            status, answer = self.server.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles',
                                             {**role, 'metadata': {'name': name}})
            assert status == 201, answer
        binding = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRoleBinding', 'metadata': {'name': 'clerks'},
                   'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'shop:clerk'},
                   'subjects': [{'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'User', 'name': 'carol'},
                                {'kind': 'ServiceAccount', 'namespace': 'carts', 'name': 'robot'}]}
        status, answer = self.server.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding)
        assert status == 201, answer
        for words, candidates in ((['why', '-n', 'kube-'], ['kube-node-lease', 'kube-public', 'kube-system']),
                                  (['why', '--namespace=kube-p'], ['kube-public']),
                                  (['tree', 'shop:'], ['shop:clerk']),  # the others would be more than words
                                  (['why', 'car'], ['carol']),
                                  (['why', 'system:serviceaccount:car'], ['system:serviceaccount:carts:robot']),
                                  (['who-can', 'get', 'clusterroleb'], ['clusterrolebindings.rbac.authorization.k8s.io']),
                                  (['who-can', 'list', 'selfsubject'], []),  # there is nothing to list
                                  (['who-can', 'get', 'namespaces/kube-s'], ['namespaces/kube-system']),
                                  (['who-can', 'get', 'nonsense/x'], [])):
            got = self.complete(*words, **env)
            assert got == (candidates, 4), (words, got)

    # ---- What shells make of it. ----

    def bash(self):
        shell = Shell('bash', '--norc', '--noprofile', '-i', env={**self.env, 'PS1': '> ', 'INPUTRC': '/dev/null'})
        try:
            shell.read_until('> $')
            shell.type('bind "set bell-style none"; source <(reeve completion bash); echo ready-$((1+1))\n', 'ready-2\r\n.*> $')
            for keys, line in (('reeve mat\t', 'reeve matrix '), ('reeve clusters rem\t', 'reeve clusters remove '),
                               ('reeve check --output=j\t', 'reeve check --output=json '),
                               ('reeve check --output y\t', 'reeve check --output yaml '),
                               ('reeve why --context ba\t', 'reeve why --context bakery '),
                               ('reeve check kubec\t', 'reeve check kubeconfig '),
                               ('reeve up --data-dir bi\t', 'reeve up --data-dir bin/')):
                shell.type(keys, '(?:^|\r)(?:> )?%s$' % re.escape(line))
                shell.clear()
            text = shell.type('reeve wh\t\t', r'why.*\)\s')
            assert 'who-can' in text and '(say why somebody may or may not do something)' in text, text
            shell.clear()
            shell.type('reeve zz\t\tx', 'reeve zzx$')  # no files either
            shell.clear()
        finally:
            shell.close()

    def bash_with_colons(self):
        """They part words, but not ours."""
        shell = Shell('bash', '--norc', '--noprofile', '-i',
                      env={**self.env, 'PS1': '> ', 'INPUTRC': '/dev/null', 'KUBECONFIG': self.server.kubeconfig})
        try:
            shell.read_until('> $')
            shell.type('source <(reeve completion bash); echo ready-$((1+1))\n', 'ready-2\r\n.*> $')
            shell.type('reeve tree shop:c\t', 'reeve tree shop:clerk $')
            shell.clear()
        finally:
            shell.close()

    def zsh(self):
        needs('zsh')
        shell = Shell('zsh', '-f', '-i', env={**self.env, 'PS1': '> '})
        try:
            shell.read_until('> $')
            shell.type('unsetopt zle_bracketed_paste prompt_sp beep; autoload -Uz compinit && compinit -u -D; '
                       'source <(reeve completion zsh); echo ready-$((1+1))\n', 'ready-2\r*\n.*> $')
            for keys, line in (('reeve mat\t', 'reeve matrix '), ('reeve clusters rem\t', 'reeve clusters remove '),
                               ('reeve check --output=j\t', '--output=json '), ('reeve check --output y\t', '--output yaml '),
                               ('reeve why --context ba\t', '--context bakery '), ('reeve check kubec\t', 'kubeconfig '),
                               ('reeve up --data-dir bi\t', '--data-dir bin/')):
                shell.type(keys + '\x01\x05', re.escape(line))
                shell.type('\x15\x0becho done-$((1+1))\n', 'done-2\r*\n')
                shell.read_until('> $')
            shell.type('reeve wh\t\t', r'say why somebody may or may not do something')
        finally:
            os.write(shell.terminal, b'\x03')
            shell.close()

    def zsh_by_its_file(self):
        needs('zsh')
        """As a package installs it."""
        functions = os.path.join(self.folder, 'functions')
        os.mkdir(functions)
        self.write('functions/_reeve', self.says('reeve', 'completion', 'zsh'))
        shell = Shell('zsh', '-f', '-i', env={**self.env, 'PS1': '> ', 'FPATH_EXTRA': functions})
        try:
            shell.read_until('> $')
            shell.type('fpath=($FPATH_EXTRA $fpath); autoload -Uz compinit && compinit -u -D; echo ready-$((1+1))\n',
                       'ready-2\r*\n.*> $')
            shell.type('reeve mat\t', 'reeve mat.*rix ')
        finally:
            shell.close()

    def fish(self):
        needs('fish')
        script = self.write('reeve.fish', self.says('reeve', 'completion', 'fish'))
        for line, candidates in (('reeve mat', ['matrix']), ('reeve wh', ['who-can', 'why']),
                                 ('reeve clusters rem', ['remove']), ('reeve check --output=j', ['--output=json']),
                                 ('reeve check -o y', ['yaml']), ('reeve why --context b', ['bakery', 'brewery']),
                                 ('reeve check kubec', ['kubeconfig']), ('reeve up --data-dir bi', ['bin/']),
                                 ('reeve zz', [])):
            text = self.says('fish', '--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script, line,
                            XDG_DATA_HOME=self.folder, XDG_CONFIG_HOME=self.folder)
            assert [row.split('\t')[0] for row in text.splitlines()] == candidates, (line, text)

    # ---- As a plugin of kubectl. ----

    def kubectl_completes(self):
        for words, candidates in ((['reeve', 'wh'], ['who-can', 'why']), (['reeve', 'why', '--name'], ['--namespace']),
                                  (['reeve', 'why', '--context', 'b'], ['bakery', 'brewery']), (['ree'], ['reeve'])):
            done = subprocess.run(['kubectl', '__complete', *words], env=self.env, capture_output=True, text=True, timeout=60,
                                  check=False)
            *lines, last = done.stdout.splitlines()
            assert [line.split('\t')[0] for line in lines] == candidates and last == ':4', (words, done)

    def kubectl_runs_it(self):
        assert self.says('kubectl', 'reeve', 'why', '--help').startswith('Usage: kubectl reeve why USER VERB'), 'kubectl reeve'
        assert 'kubectl reeve COMMAND' in self.says('kubectl', 'reeve', '--help')
        text = self.says('kubectl', 'reeve', 'who-can', 'get', 'pods', '-n', 'default', '--context', 'reeve', '-o', 'json',
                        KUBECONFIG=self.server.kubeconfig)
        assert '"kind"' in text, text
        done = subprocess.run(['kubectl', 'reeve', 'wy'], env=self.env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and 'did you mean "why"?\nRun "kubectl reeve --help"' in done.stderr, done


TESTS = ('without_a_server', 'every_command_and_flag_is_there', 'a_server_that_does_not_answer', 'names_of_a_server',
         'bash', 'bash_with_colons', 'zsh', 'zsh_by_its_file', 'fish', 'kubectl_completes', 'kubectl_runs_it')


def make(folder, server):
    tests = Tests(folder, server)
    return [(name.replace('_', ' '), getattr(tests, name)) for name in TESTS]


if __name__ == '__main__':
    sys.exit(run_tests('completion', REEVE, make))
