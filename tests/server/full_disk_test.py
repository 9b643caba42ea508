#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is full: writes are refused with 507 and a clear text, reads and watches go on, and once there is room writes
go on too, without a restart. The disk is made full for this one process, by a limit on the size of its files.

usage: full_disk_test.py REEVE"""
import json
import os
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

MAPS = '/api/v1/namespaces/default/configmaps'
ROOM = 64 * 1024  # beyond what the files have now


def limit(server, size):
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def body(name, fill='x'):
    return {'metadata': {'name': name}, 'data': {'pad': fill * 30000}}


class FullDisk:
    def __init__(self, server):
        self.server = server
        self.stored = []

    def fills_up(self):
        biggest = max(os.path.getsize(os.path.join(folder, name))
                      for folder, _, names in os.walk(self.server.data) for name in names)
        limit(self.server, biggest + ROOM)
        for number in range(1000):
            status, answer = self.server.ask('POST', MAPS, body('m%d' % number))
            if status == 507:
                break
            assert status == 201, (status, answer)
            self.stored.append('m%d' % number)
        assert status == 507, 'it never got full'
        assert answer['reason'] == 'InsufficientStorage' and answer['code'] == 507, answer
        assert answer['kind'] == 'Status' and answer['message'] == 'the server has no space left to store this', answer

    def writes_are_refused(self):
        name = self.stored[0]
        for method, path, data in (('POST', MAPS, body('more')), ('PUT', MAPS + '/' + name, body(name, 'y'))):
            status, answer = self.server.ask(method, path, data)
            assert status == 507, (method, status, answer)

    def reads_go_on(self):
        status, listed = self.server.ask('GET', MAPS)
        assert status == 200
        names = {item['metadata']['name'] for item in listed['items']} - {'kube-root-ca.crt'}  # every namespace has that
        assert names == set(self.stored)
        status, one = self.server.ask('GET', MAPS + '/' + self.stored[0])
        assert status == 200 and one['data']['pad'] == 'x' * 30000
        status, answer = self.server.ask('GET', MAPS + '?watch=1&timeoutSeconds=1')
        assert status == 200, answer

    def health_tells(self):
        status, text = self.server.ask('GET', '/readyz?verbose')
        assert status in (200, 500), (status, text)
        assert self.server.ask('GET', '/livez')[0] == 200

    def goes_on_when_there_is_room(self):
        limit(self.server, resource.RLIM_INFINITY)
        status, answer = self.server.ask('POST', MAPS, body('again'))
        assert status == 201, (status, json.dumps(answer)[:500])
        self.stored.append('again')
        self.reads_go_on()

    def nothing_is_lost_by_a_restart(self):
        self.server.stop()
        self.server.start()
        self.reads_go_on()


def main():
    server = Server(sys.argv[1])
    tap = Tap()
    try:
        server.start()
        disk = FullDisk(server)
        for name in ('fills_up', 'writes_are_refused', 'reads_go_on', 'health_tells', 'goes_on_when_there_is_room',
                     'nothing_is_lost_by_a_restart'):
            tap.run(name.replace('_', ' '), getattr(disk, name))
        tap.run('it ends in peace', server.stop)
    finally:
        server.remove()
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
