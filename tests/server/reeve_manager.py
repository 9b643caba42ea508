# SPDX-License-Identifier: Apache-2.0
"""A "reeve manager" under test: started by way of a proxy, asked for its health, killed."""
import http.client
import os
import re
import signal
import subprocess
import time

from reeve_server import SANITIZER

CONTROLLERS = 'namespaces,garbage,aggregation'


def wait_for(condition, what, seconds=120):
    """The first true value of condition; how long is only how patient we are with a busy machine. What takes longer is asked for less
    often: the answers are work for those we wait for."""
    begin = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - begin
        if waited > seconds:
            raise AssertionError('waited in vain for %s' % (what() if callable(what) else what))
        time.sleep(min(0.02 + waited / 8, 0.3))


class Manager:
    def __init__(self, binary, folder, proxy, name='manager'):
        self.binary, self.proxy, self.name = binary, proxy, name
        self.kubeconfig = os.path.join(folder, name + '.kubeconfig')
        self.log = os.path.join(folder, name + '.log')
        self.process = None

    def start(self, *flags):
        self.proxy.write_kubeconfig(self.kubeconfig)
        with open(self.log, 'ab') as log:
            log.truncate(0)
            self.process = subprocess.Popen(
                [self.binary, 'manager', '--kubeconfig', self.kubeconfig, '--controllers', CONTROLLERS, '--listen',
                 '127.0.0.1:0', *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def check_alive(self):
        assert self.is_alive(), 'the manager ended with %r:\n%s' % (self.process.poll(), self.read_log())
        self.check_log()

    def read_log(self):
        with open(self.log, encoding='utf-8', errors='replace') as file:
            return file.read()[-8000:]

    def check_log(self):
        text = self.read_log()
        assert not SANITIZER.search(text), text

    def ask(self, path):
        """(status, text) of its own /healthz, /readyz or /metrics; (0, '') where it does not listen yet."""
        address = re.search(r'msg=listening address="?127\.0\.0\.1:(\d+)', self.read_log())
        if not address:
            return 0, ''
        connection = http.client.HTTPConnection('127.0.0.1', int(address.group(1)), timeout=30)
        try:
            connection.request('GET', path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def wait_ready(self):
        def is_ready():
            self.check_alive()
            return self.ask('/readyz')[0] == 200
        wait_for(is_ready, 'the manager to be ready')

    def rss(self):
        with open('/proc/%d/status' % self.process.pid, encoding='ascii') as file:
            return int(re.search(r'VmRSS:\s+(\d+)', file.read()).group(1)) * 1024

    def kill(self):
        """As a power cut."""
        self.process.kill()
        self.process.wait()
        self.check_log()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120)
        self.check_log()
        assert code == 0, 'the manager ended with %d:\n%s' % (code, self.read_log())

    def remove(self):
        if self.is_alive():
            self.process.kill()
            self.process.wait()
