#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads: few when nothing is to be done, workers when something is, and few again; reeve up, reeve manager and reeve agent.

usage: idle_test.py REEVE"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet_world import JANE, READ, Fleet, is_applied, permission, permissions  # noqa: E402
from package_work import MANAGED, Packages, crd, files, image, is_ready  # noqa: E402
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Server, Tap  # noqa: E402

MOST_THREADS = 15


def threads(process):
    """Names of the threads. One that ends meanwhile is left out."""
    names = []
    folder = '/proc/%d/task' % process.pid
    for task in os.listdir(folder):
        try:
            with open('%s/%s/comm' % (folder, task), encoding='utf-8') as file:
                names.append(file.read().strip())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return names


def wait_idle(process):
    wait_for(lambda: len(threads(process)) <= MOST_THREADS, lambda: 'at most %d threads; there are %d: %s' % (
        MOST_THREADS, len(threads(process)), ' '.join(sorted(threads(process)))), 60)


def wait_workers(process, workers, is_done, what):
    """Until the work is done; all the workers with these names appear before that."""
    seen = set()

    def is_over():
        done = is_done()
        seen.update(name.split('/')[0] for name in threads(process) if '/' in name)
        return done
    wait_for(is_over, what)
    assert not set(workers) - seen, 'no worker %s among %s' % (set(workers) - seen, seen)


def check_up(binary):
    server = Server(binary)
    try:
        server.start()
        wait_idle(server.process)
        packages = Packages(server)
        packages.namespace('team', MANAGED)
        packages.layout.add('acme/things:1.0', image(files([crd('things', 'example.org')])))
        for name in ('one', 'again'):
            packages.install('PackageInstall', 'team', name, 'acme/things:1.0')
            wait_workers(server.process, ['packageins', 'aggregatio'],
                         lambda name=name: is_ready(packages.get('PackageInstall', 'team', name)), 'the install to be ready')
            packages.remove('PackageInstall', 'team', name)
            packages.gone('PackageInstall', 'team', name)
            wait_idle(server.process)
        server.stop()
    finally:
        server.remove()


def check_manager(binary):
    server, manager = Server(binary), None
    try:
        server.start(None, '--no-controllers')
        with open(server.log, 'ab') as log:
            manager = subprocess.Popen(
                [binary, 'manager', '--kubeconfig', server.kubeconfig, '--controllers', '*', '--listen', '127.0.0.1:0'],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: 'msg=acting' in server.read_log(), server.read_log)
        for name in ('one', 'again'):
            code, answer = server.ask('POST', '/api/v1/namespaces', {'metadata': {'name': name}})
            assert code == 201, answer
            path = '/api/v1/namespaces/%s/serviceaccounts/default' % name
            wait_workers(manager, ['default-ac'], lambda path=path: server.ask('GET', path)[0] == 200, path)
            wait_idle(manager)
        manager.terminate()
        assert manager.wait() == 0, server.read_log()
        server.stop()
    finally:
        if manager and manager.poll() is None:
            manager.kill()
            manager.wait()
        server.remove()


def check_agent(binary):
    fleet = Fleet(binary, ['cluster1'])
    try:
        fleet.start()
        agent = fleet['cluster1'].agent.process
        for name in ('one', 'again'):
            wait_idle(agent)
            fleet.hub.must('POST', permissions('cluster1'), permission(name, {
                'clusterRole': {'rules': [READ]}, 'clusterRoleBinding': {'subjects': [JANE]}}))
            complaint = is_applied('cluster1', name)
            wait_workers(agent, ['works'], lambda complaint=complaint: not complaint(fleet), lambda complaint=complaint: complaint(fleet))
        wait_idle(agent)
        fleet.stop()
    finally:
        fleet.remove()


def main():
    tap = Tap()
    for name, check in (('reeve up', check_up), ('reeve manager', check_manager), ('reeve agent', check_agent)):
        tap.run('%s has workers when it needs them' % name, check, sys.argv[1])
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
