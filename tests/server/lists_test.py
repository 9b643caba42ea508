#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long lists: YAML of any length is streamed, in slices that let other clients through, and compressed for those who ask for it.

usage: lists_test.py REEVE"""
import gzip
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reeve_server import Server, Tap  # noqa: E402

MAPS = '/api/v1/namespaces/default/configmaps'
SIZE = 1000 * 1000
COUNT = 120 if 'REEVE_TEST_ALL' in os.environ else 40
GZIP_LEAST = 128 * 1024


def fill(server):
    connection = server.connect()
    text = ('0123456789 abcdefghijklmnopqrstuvwxyz ' * (SIZE // 38 + 1))[:SIZE]
    for i in range(COUNT):
        status, body = server.ask('POST', MAPS, {'metadata': {'name': 'large-%03d' % i}, 'data': {'text': text}},
                                  connection=connection)
        assert status == 201, (status, body)


def get(server, path, **headers):
    connection = server.connect(timeout=120)
    connection.request('GET', path, headers={'User-Agent': 'test', **{k.replace('_', '-'): v for k, v in headers.items()}})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


class Reader(threading.Thread):
    """Reads a list as fast as it comes, and keeps nothing of it."""

    def __init__(self, server, path, accept):
        super().__init__()
        self.connection = server.connect(timeout=120)
        self.path, self.accept = path, accept
        self.began = threading.Event()
        self.status = self.size = self.items = 0

    def run(self):
        self.connection.request('GET', self.path, headers={'User-Agent': 'test', 'Accept': self.accept})
        answer = self.connection.getresponse()
        self.status = answer.status
        self.began.set()
        while piece := answer.read(1 << 20):
            self.size += len(piece)
            self.items += piece.count(b'name: large-')
        self.connection.close()


def test_yaml_streams(server):
    """More than 32 MiB, which is not held in memory; the other client is answered while the list is made."""
    before = server.rss()
    reader = Reader(server, MAPS, 'application/yaml')
    reader.start()
    assert reader.began.wait(120)
    served, largest = 0, 0
    connection = server.connect(timeout=120)
    while reader.is_alive():
        status, _ = server.ask('GET', '/api/v1/namespaces/default', connection=connection)
        assert status == 200
        largest = max(largest, server.rss())
        served += reader.is_alive()
    reader.join()
    assert reader.status == 200
    assert reader.size > COUNT * SIZE, reader.size
    assert reader.items >= COUNT - COUNT // 8, reader.items  # a name may lie between two pieces
    assert served >= COUNT // 4, 'only %d requests were answered meanwhile' % served
    if 'asan' not in server.binary:  # sanitizers keep memory that was freed
        assert largest - before < COUNT * SIZE, (before, largest)


def test_yaml_bytes(server):
    """What is streamed is what the parts of it are."""
    _, page = get(server, MAPS + '?limit=3', Accept='application/yaml')
    _, whole = get(server, MAPS, Accept='application/yaml')
    head = page[:page.index(b'\nkind: ConfigMapList')]
    assert head.startswith(b'apiVersion: v1\nitems:\n- ')
    assert whole.startswith(head)
    assert b'\nkind: ConfigMapList\nmetadata:\n  resourceVersion: "' in whole[-200:]


def test_gzip(server):
    plain, body = get(server, MAPS + '?limit=2', Accept='application/json', Accept_Encoding='identity')
    assert plain.getheader('Content-Encoding') is None
    packed, small = get(server, MAPS + '?limit=2', Accept='application/json', Accept_Encoding='deflate, gzip')
    assert packed.getheader('Content-Encoding') == 'gzip' and packed.getheader('Vary') == 'Accept-Encoding'
    assert packed.getheader('Content-Type') == 'application/json'
    assert len(small) < len(body) // 4
    assert json.loads(gzip.decompress(small))['items'] == json.loads(body)['items']
    one, text = get(server, MAPS + '/large-000', Accept_Encoding='gzip')
    assert one.getheader('Content-Encoding') == 'gzip'
    assert json.loads(gzip.decompress(text))['metadata']['name'] == 'large-000'


def test_not_gzip(server):
    """Short answers, those who do not ask for it, writes and watches."""
    for path, encoding in ((MAPS + '/large-000', 'identity'), (MAPS + '/large-000', 'gzip;q=0'),
                           ('/api/v1/namespaces/default', 'gzip'), (MAPS + '?labelSelector=none', 'gzip')):
        answer, body = get(server, path, Accept_Encoding=encoding)
        assert answer.status == 200 and answer.getheader('Content-Encoding') is None, (path, encoding)
        json.loads(body)
    answer, body = get(server, MAPS + '?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dlarge-000',
                       Accept_Encoding='gzip')
    assert answer.status == 200 and answer.getheader('Content-Encoding') is None
    assert len(body) > GZIP_LEAST and json.loads(body.splitlines()[0])['type'] == 'ADDED'


def main():
    server, tap = Server(os.path.abspath(sys.argv[1])), Tap()
    try:
        server.start()
        fill(server)
        tap.run('a YAML list past 32 MiB streams, and others are served meanwhile', test_yaml_streams, server)
        tap.run('a streamed YAML list has the bytes of its pages', test_yaml_bytes, server)
        tap.run('long answers are compressed', test_gzip, server)
        tap.run('what must not be compressed is not', test_not_gzip, server)
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
