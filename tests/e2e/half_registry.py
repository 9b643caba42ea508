#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A registry that never finishes: what another one says, but of each blob only the first half, and then nothing for ever.

usage: half_registry.py UPSTREAM    HOST:PORT of a registry on this machine; the own one is printed
"""
import http.server
import sys
import threading
import urllib.error
import urllib.request


class Half(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def do_GET(self):
        request = urllib.request.Request('http://%s%s' % (sys.argv[1], self.path), method=self.command,
                                         headers={'Accept': self.headers.get('Accept', '*/*')})
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        is_blob = '/blobs/' in self.path
        self.wfile.write(body[:len(body) // 2] if is_blob else body)
        self.wfile.flush()
        if is_blob:
            threading.Event().wait()

    do_HEAD = do_GET


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Half)
print('127.0.0.1:%d' % server.server_address[1], flush=True)
server.serve_forever()
