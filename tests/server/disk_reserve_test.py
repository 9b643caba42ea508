#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file system that is really full, to the last block: what deletes still works, and is durable; the server starts; everything
else is refused. The file system is a tmpfs in a mount namespace of this test.

usage: disk_reserve_test.py REEVE"""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

NAMESPACES = '/api/v1/namespaces'
MAPS = NAMESPACES + '/default/configmaps'
GONE = NAMESPACES + '/gone'
DISK = 64 << 20
WAIT = 60  # seconds, for what the server does by itself
FINALIZER = 'example.com/hold'
MERGE = {'Content-Type': 'application/merge-patch+json'}


def config_map(name, size=100000, **metadata):
    return {'metadata': {'name': name, **metadata}, 'data': {'pad': 'x' * size}}


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, 'not within %d s: %s' % (WAIT, what)
        time.sleep(0.05)


class Disk:
    def __init__(self, binary, mount):
        self.server = Server(binary)
        self.server.data = os.path.join(mount, 'data')
        self.server.kubeconfig = os.path.join(mount, 'kubeconfig')
        self.ballast = os.path.join(mount, 'ballast')
        self.fill = 0

    # ---- Helpers. ----

    def ask(self, *args, **more):
        return self.server.ask(*args, **more)

    def must(self, status, method, path, body=None, **more):
        got, answer = self.ask(method, path, body, **more)
        assert got == status, (method, path, got, json.dumps(answer)[:500])
        return answer

    def is_missing(self, path):
        return self.ask('GET', path)[0] == 404

    def restart(self):
        """On the same port, with the files as they are."""
        with open(self.server.log, 'ab') as log:
            self.server.process = subprocess.Popen(
                [self.server.binary, 'up', '--data-dir', self.server.data, '--listen',
                 '127.0.0.1:%d' % self.server.port, '--kubeconfig', self.server.kubeconfig],
                stdout=subprocess.DEVNULL, stderr=log)

        def answers():
            assert self.server.is_alive(), self.server.read_log()
            try:
                return self.ask('GET', '/livez')[0] == 200
            except (OSError, http.client.HTTPException):
                return False
        wait_for(answers, 'the server answers')

    def fill_disk(self):
        """What other programs write: every block that is left."""
        with open(self.ballast, 'ab', buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(b'b' * size)
                except OSError:
                    pass

    def fill_store(self):
        for size in (100000, 3000, 10):
            status = 201
            while status == 201:
                status, answer = self.ask('POST', MAPS, config_map('fill-%d' % self.fill, size),
                                          connection=self.server.kept())
                self.fill += status == 201
            assert status == 507 and answer['reason'] == 'InsufficientStorage', (status, answer)

    # ---- What is shown. ----

    def gets_full(self):
        with open(self.ballast, 'wb') as file:
            file.write(b'b' * (DISK // 4))
        self.must(201, 'POST', NAMESPACES, {'metadata': {'name': 'gone'}})
        wait_for(lambda: self.ask('GET', GONE + '/serviceaccounts/default')[0] == 200, 'the namespace is set up')
        for number in range(20):
            self.must(201, 'POST', GONE + '/configmaps', config_map('m%d' % number, 3000))
        for number in range(3):
            self.must(201, 'POST', MAPS, config_map('held-%d' % number, 3000, finalizers=[FINALIZER]))
        owner = self.must(201, 'POST', MAPS, config_map('owner', 10))
        reference = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'owner', 'uid': owner['metadata']['uid']}
        for number in range(5):
            self.must(201, 'POST', MAPS, config_map('owned-%d' % number, 3000, ownerReferences=[reference]))
        self.fill_store()
        self.fill_disk()

    def refuses_writes_and_says_so(self):
        self.must(507, 'POST', MAPS, config_map('more'))
        self.must(507, 'PATCH', MAPS + '/fill-0', {'data': {'pad': 'y'}}, headers=MERGE)
        status, text = self.ask('GET', '/readyz?verbose')
        assert status == 500 and '[-]etcd failed' in text, (status, text)
        status, text = self.ask('GET', '/readyz/etcd')
        assert status == 500 and 'only deletions are accepted' in text, (status, text)
        self.must(200, 'GET', '/livez')

    def starts_after_a_kill(self):
        before = os.stat(self.server.kubeconfig)
        self.server.kill()
        self.restart()
        after = os.stat(self.server.kubeconfig)
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns), 'the kubeconfig was written again'
        assert 'only deletions are accepted' in self.server.read_log(), self.server.read_log()
        items = self.must(200, 'GET', MAPS)['items']
        assert sum(item['metadata']['name'].startswith('fill-') for item in items) == self.fill, len(items)
        self.refuses_writes_and_says_so()

    def deletes_and_keeps_it(self):
        self.must(200, 'DELETE', MAPS + '/fill-0')
        self.server.kill()
        self.restart()
        assert self.is_missing(MAPS + '/fill-0')

    def shows_watches_what_was_deleted(self):
        connection = self.server.connect()
        revision = self.must(200, 'GET', MAPS + '?limit=1')['metadata']['resourceVersion']
        connection.request('GET', '%s?watch=1&resourceVersion=%s&fieldSelector=metadata.name=fill-1' % (MAPS, revision))
        answer = connection.getresponse()
        self.must(200, 'DELETE', MAPS + '/fill-1')
        event = json.loads(answer.readline())
        connection.close()
        assert event['type'] == 'DELETED' and event['object']['data']['pad'] == 'x' * 100000, str(event)[:300]
        assert int(event['object']['metadata']['resourceVersion']) > int(revision)

    def removes_finalizers(self):
        for number in range(3):
            path = '%s/held-%d' % (MAPS, number)
            marked = self.must(200, 'DELETE', path)
            assert 'deletionTimestamp' in marked['metadata'], marked
            larger = {'metadata': {'finalizers': None}, 'data': {'more': 'y' * 50000}}
            if number == 0:  # the last finalizer goes, and with it the object, whatever else the request has
                self.must(200, 'PATCH', path, larger, headers=MERGE)
            else:
                self.must(200, 'PATCH', path, {'metadata': {'finalizers': None}}, headers=MERGE)
            assert self.is_missing(path)

    def lets_no_update_use_the_reserve(self):
        """An update that removes an owner, to look like a step of a deletion, and adds data."""
        path = MAPS + '/owned-0'
        self.fill_store()
        self.must(507, 'PATCH', path, {'metadata': {'ownerReferences': None}, 'data': {'more': 'y' * 50000}}, headers=MERGE)
        for number in range(2, 40):  # nor by turns of deletions and creations
            self.must(200, 'DELETE', '%s/fill-%d' % (MAPS, number))
            status, _ = self.ask('POST', MAPS, config_map('fill-%d' % self.fill))
            assert status in (201, 507), status
            self.fill += status == 201
        self.fill_store()
        self.must(507, 'POST', MAPS, config_map('more'))
        assert '[-]etcd failed' in self.ask('GET', '/readyz?verbose')[1]

    def collects_garbage(self):
        self.must(200, 'DELETE', MAPS + '/owner')
        for number in range(5):
            wait_for(lambda n=number: self.is_missing('%s/owned-%d' % (MAPS, n)), 'dependents are deleted')

    def deletes_a_namespace(self):
        self.must(200, 'DELETE', GONE)
        wait_for(lambda: self.is_missing(GONE), 'the namespace is deleted')

    def deletes_a_collection(self):
        self.must(200, 'DELETE', MAPS)
        names = [item['metadata']['name'] for item in self.must(200, 'GET', MAPS)['items']]
        assert set(names) <= {'kube-root-ca.crt'}, names[:10]

    def takes_writes_again(self):
        """In the space that the deletions left inside the file: the disk is as full as before."""
        wait_for(lambda: self.ask('GET', '/readyz')[0] == 200, 'it is ready')
        for number in range(100):
            self.must(201, 'POST', MAPS, config_map('new-%d' % number), connection=self.server.kept())
        assert os.statvfs(self.ballast).f_bavail == 0

    def gets_full_and_empty_again(self):
        for _ in range(5):
            self.fill_store()
            self.must(507, 'POST', MAPS, config_map('more'))
            self.deletes_a_collection()
            self.takes_writes_again()

    def takes_more_when_the_disk_has_space(self):
        self.fill_store()
        wait_for(lambda: self.ask('GET', '/readyz')[0] == 500, 'it is full')
        os.unlink(self.ballast)
        wait_for(lambda: self.ask('GET', '/readyz')[0] == 200, 'it notices by itself')
        self.must(201, 'POST', MAPS, config_map('last'))
        self.server.stop()
        self.restart()
        self.must(200, 'GET', MAPS + '/last')
        self.server.stop()


def run(binary, mount):
    tap = Tap()
    disk = Disk(binary, mount)
    try:
        disk.server.start()
        steps = ['gets_full', 'refuses_writes_and_says_so', 'starts_after_a_kill', 'deletes_and_keeps_it',
                 'shows_watches_what_was_deleted', 'removes_finalizers', 'lets_no_update_use_the_reserve',
                 'collects_garbage', 'deletes_a_namespace', 'deletes_a_collection', 'takes_writes_again']
        if 'REEVE_TEST_ALL' in os.environ:
            steps.append('gets_full_and_empty_again')
        for name in steps + ['takes_more_when_the_disk_has_space']:
            tap.run(name.replace('_', ' '), getattr(disk, name))
    finally:
        disk.server.remove()
    return tap.end()


# A user namespace cannot be made in a chroot, or where the system forbids it; then root has a mount namespace alone.
WAYS = (['unshare', '--user', '--map-root-user', '--mount'], ['unshare', '--mount'])


def may_mount(way, folder):
    done = subprocess.run(way + ['mount', '-t', 'tmpfs', 'probe', folder], stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def main():
    if len(sys.argv) < 3:  # again, where it may mount
        with tempfile.TemporaryDirectory(prefix='reeve-disk-') as folder:
            ways = [way for way in WAYS if may_mount(way, folder)]
        if not ways:
            print('1..1\nok 1 # SKIP no file system can be mounted here: it takes a user namespace, or root')
            return
        os.execvp('unshare', ways[0] + [sys.executable, os.path.abspath(__file__), sys.argv[1], 'inside'])
    with tempfile.TemporaryDirectory(prefix='reeve-disk-') as mount:
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%d,mode=700' % DISK, 'disk', mount], check=True)
        try:
            code = run(sys.argv[1], mount)
        finally:
            subprocess.run(['umount', mount], check=True)
    sys.exit(code)


if __name__ == '__main__':
    main()
