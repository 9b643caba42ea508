# SPDX-License-Identifier: Apache-2.0
"""A server under test: started, asked, killed. For the suites that need more than a shell: crashes, hostile clients, full disks."""
import base64
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

SANITIZER = re.compile(r'ERROR: \w+Sanitizer|runtime error:|Assertion .* failed')


class Server:
    """One data directory and, between start() and kill() or stop(), the process that serves it."""

    def __init__(self, binary):
        self.binary = binary
        self.folder = tempfile.mkdtemp(prefix='reeve-test-')
        self.data = os.path.join(self.folder, 'data')
        self.kubeconfig = os.path.join(self.folder, 'kubeconfig')
        self.log = os.path.join(self.folder, 'log')
        self.process = None
        self.port = 0
        self.context = self.bare_context = None  # with the certificate of its administrator, and without
        self.keep = threading.local()  # the connection of each thread, and to which process

    def start(self, preexec=None, *flags):
        """Returns when it is ready."""
        if os.path.exists(self.kubeconfig):
            os.unlink(self.kubeconfig)
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(
                [self.binary, 'up', '--data-dir', self.data, '--listen', '127.0.0.1:0', '--kubeconfig',
                 self.kubeconfig, *flags], stdout=subprocess.DEVNULL, stderr=log, preexec_fn=preexec)
        while not os.path.exists(self.kubeconfig):
            if self.process.poll() is not None:
                raise AssertionError('the server ended with %d:\n%s' % (self.process.returncode, self.read_log()))
            time.sleep(0.005)
        self.read_kubeconfig()

    def read_kubeconfig(self):
        text = open(self.kubeconfig, encoding='utf-8').read()

        def value(name):
            return re.search(r'\b%s: *"?([^"\s]+)' % name, text).group(1)
        self.port = int(value('server').rsplit(':', 1)[1])
        paths = {}
        for name in ('certificate-authority-data', 'client-certificate-data', 'client-key-data'):
            paths[name] = os.path.join(self.folder, name)
            with open(paths[name], 'wb') as file:
                file.write(base64.b64decode(value(name)))
        self.bare_context = ssl.create_default_context(cafile=paths['certificate-authority-data'])
        self.context = ssl.create_default_context(cafile=paths['certificate-authority-data'])
        self.context.load_cert_chain(paths['client-certificate-data'], paths['client-key-data'])

    def kill(self):
        """As a power cut, for the process."""
        self.process.kill()
        self.process.wait()
        self.check_log()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait()
        self.check_log()
        assert code == 0, 'the server ended with %d:\n%s' % (code, self.read_log())

    def read_log(self):
        with open(self.log, encoding='utf-8', errors='replace') as file:
            return file.read()[-8000:]

    def check_log(self):
        text = self.read_log()
        assert not SANITIZER.search(text), text

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def is_alive(self):
        return self.process.poll() is None

    def rss(self):
        """Resident bytes."""
        with open('/proc/%d/status' % self.process.pid, encoding='ascii') as file:
            return int(re.search(r'VmRSS:\s+(\d+)', file.read()).group(1)) * 1024

    # ---- Talking. ----

    def connect(self, timeout=30, certificate=True):
        context = self.context if certificate else self.bare_context
        return http.client.HTTPSConnection('127.0.0.1', self.port, context=context, timeout=timeout)

    def kept(self):
        """The connection of this thread, for those who ask again and again: a handshake costs more than a question."""
        connection = getattr(self.keep, 'connection', None)
        if not connection or self.keep.process is not self.process or not is_open(connection):
            connection = self.keep.connection = self.connect()
            self.keep.process = self.process
        return connection

    def raw(self, alpn=None, timeout=10, certificate=True):
        """A TLS socket."""
        context = self.context
        if alpn or not certificate:
            context = ssl.create_default_context(cafile=os.path.join(self.folder, 'certificate-authority-data'))
            if certificate:
                context.load_cert_chain(os.path.join(self.folder, 'client-certificate-data'),
                                        os.path.join(self.folder, 'client-key-data'))
            if alpn:
                context.set_alpn_protocols([alpn])
        plain = socket.create_connection(('127.0.0.1', self.port), timeout=timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname='127.0.0.1')

    def ask(self, method, path, body=None, connection=None, headers=None):
        """(status, decoded body)"""
        own = connection or self.connect()
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        try:
            own.request(method, path, data, {'Content-Type': 'application/json', 'User-Agent': 'test', **(headers or {})})
            answer = own.getresponse()
            text = answer.read()
        except BaseException:
            own.close()  # who uses it again begins anew
            raise
        if connection is None:
            own.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode('utf-8', 'replace')


def is_open(connection):
    """The other side has not ended it: there is nothing to read where nobody asked."""
    if not connection.sock:
        return False
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return not poll.poll(0)


def raise_files():
    """As many open files as the system lets us have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Skipped(Exception):
    """Raised by a check that cannot be made here; the text says what is missing."""


class Tap:
    """Counts and prints."""

    def __init__(self):
        self.count = self.failed = 0

    def run(self, name, function, *args):
        self.count += 1
        try:
            function(*args)
            print('ok %d - %s' % (self.count, name), flush=True)
        except Skipped as why:
            print('ok %d - %s # SKIP %s' % (self.count, name, why), flush=True)
        except Exception as error:  # pylint: disable=broad-except # whatever it is, it is reported
            import traceback
            self.failed += 1
            print('not ok %d - %s' % (self.count, name))
            print(re.sub('(?m)^', '# ', traceback.format_exc() + str(error)[:4000]), flush=True)

    def skip(self, name, why):
        self.count += 1
        print('ok %d - %s # SKIP %s' % (self.count, name, why), flush=True)

    def end(self):
        print('1..%d' % self.count, flush=True)
        return 1 if self.failed else 0
