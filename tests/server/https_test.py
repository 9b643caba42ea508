#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our HTTPS client against the real server: twenty watches on one connection; the server is killed, and comes back.

usage: https_test.py REEVE WATCHER
"""
import os
import queue
import re
import subprocess
import sys
import threading
import time

from reeve_server import Server, Tap

PATIENCE = 60
TARGETS = ['/api/v1/' + name for name in (
    'namespaces', 'configmaps', 'secrets', 'serviceaccounts', 'events', 'services', 'pods', 'nodes', 'limitranges',
    'resourcequotas')] + ['/apis/rbac.authorization.k8s.io/v1/' + name for name in (
        'roles', 'rolebindings', 'clusterroles', 'clusterrolebindings')] + [
            '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', '/apis/coordination.k8s.io/v1/leases']


class Watcher:
    """The program, and what it has said so far."""

    def __init__(self, binary, kubeconfig, targets):
        self.process = subprocess.Popen([binary, kubeconfig] + [t + '?watch=1' for t in targets], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def expect(self, *patterns):
        """Waits until each of the patterns was seen in a line; returns the last match."""
        left, match, end = set(patterns), None, time.monotonic() + PATIENCE
        while left:
            line = self.lines.get(timeout=max(0, end - time.monotonic()))
            assert line is not None, 'it ended: ' + self.process.stderr.read()
            for pattern in list(left):
                found = re.search(pattern, line)
                if found:
                    left.remove(pattern)
                    match = found
        return match

    def stats(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        match = self.expect(r'^connections=(\d+) calls=(\d+) waiting=(\d+) opened=(\d+) failed=(\d+)')
        return dict(zip(('connections', 'calls', 'waiting', 'opened', 'failed'), map(int, match.groups())))

    def end(self):
        self.process.stdin.close()
        code = self.process.wait()
        self.reader.join()
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        assert code == 0, errors


def connections_to(port, pid):
    """Established ones of a process, as the kernel counts them."""
    sockets = set()
    for fd in os.listdir('/proc/%d/fd' % pid):
        try:
            sockets.add(os.readlink('/proc/%d/fd/%s' % (pid, fd)))
        except FileNotFoundError:
            pass  # closed meanwhile
    count = 0
    with open('/proc/%d/net/tcp' % pid, encoding='ascii') as file:
        for row in file.read().splitlines()[1:]:
            fields = row.split()
            is_ours = 'socket:[%s]' % fields[9] in sockets
            count += is_ours and fields[3] == '01' and int(fields[2].rsplit(':', 1)[1], 16) == port
    return count


class Https:
    def __init__(self, server, watcher):
        self.server = server
        self.targets = TARGETS + ['/api/v1/namespaces/w%d/configmaps' % i for i in range(20 - len(TARGETS))]
        self.watcher = watcher

    def namespace(self, name):
        status, body = self.server.ask('POST', '/api/v1/namespaces', {'metadata': {'name': name}})
        assert status == 201, body

    def twenty_watches_on_one_connection(self):
        self.namespace('first')
        self.watcher.expect(r'^/api/v1/namespaces\S* {"type":"ADDED".*"name":"first"')
        stats = self.watcher.stats()
        assert stats == {'connections': 1, 'calls': 20, 'waiting': 0, 'opened': 1, 'failed': 0}, stats
        assert connections_to(self.server.port, self.watcher.process.pid) == 1

    def the_server_is_killed_and_comes_back(self):
        self.server.kill()
        self.watcher.expect(*['^%s\\?watch=1 ended: 0 ' % t for t in self.targets])
        self.watcher.expect(r'ended: 0 .*Connection refused')
        self.server.start(None, '--listen', '127.0.0.1:%d' % self.server.port)
        # Every watch begins anew, and what is there is shown to it again.
        self.watcher.expect(r'^/api/v1/namespaces\S* {"type":"ADDED".*"name":"first"', r'/clusterroles\S* {"type":"ADDED"')
        self.namespace('second')
        self.watcher.expect(r'^/api/v1/namespaces\S* {"type":"ADDED".*"name":"second"')
        end = time.monotonic() + PATIENCE
        while self.watcher.stats()['calls'] < 20 and time.monotonic() < end:
            pass  # those that were turned away come back after a moment
        stats = self.watcher.stats()
        assert stats['connections'] == 1 and stats['calls'] == 20 and stats['waiting'] == 0, stats
        assert stats['failed'] < 20, stats  # pauses between the tries
        assert connections_to(self.server.port, self.watcher.process.pid) == 1

    def a_server_that_ends_in_order_says_goodbye(self):
        self.server.stop()
        self.watcher.expect(*['^%s\\?watch=1 ended: ' % t for t in self.targets])


def main():
    server = Server(sys.argv[1])
    tap = Tap()
    watcher = None
    try:
        server.start()
        https = Https(server, None)
        https.watcher = watcher = Watcher(sys.argv[2], server.kubeconfig, https.targets)
        for name in ('twenty_watches_on_one_connection', 'the_server_is_killed_and_comes_back',
                     'a_server_that_ends_in_order_says_goodbye'):
            tap.run(name.replace('_', ' '), getattr(https, name))
        tap.run('the client ends in peace', watcher.end)
    finally:
        if watcher and watcher.process.poll() is None:
            watcher.process.kill()
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
