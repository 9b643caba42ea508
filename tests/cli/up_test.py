#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reeve up does to its surroundings: files, messages, signals, exit codes. usage: up_test.py PATH-OF-REEVE"""
import base64
import os
import re
import resource
import selectors
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile

from command_line import PATIENCE, Process, environment, wait_for

REEVE = os.path.abspath(sys.argv[1])
CHECKS = []


def check(fn):
    CHECKS.append(fn)
    return fn


class Server(Process):
    """One reeve up, on a free port unless told otherwise."""

    def __init__(self, scratch, *flags, listen='127.0.0.1:0', env=None, **kwargs):
        self.data = os.path.join(scratch, 'data')
        self.kubeconfig = os.path.join(self.data, 'admin.kubeconfig')
        self.log = tempfile.TemporaryFile(mode='w+')  # pylint: disable=consider-using-with
        variables = environment(scratch, **(env or {}))
        command = [REEVE, 'up']
        if listen:
            command += ['--listen', listen]
        if 'REEVE_DATA_DIR' not in variables and 'XDG_DATA_HOME' not in variables and '--data-dir' not in flags:
            command += ['--data-dir', self.data]
        self.process = subprocess.Popen(command + list(flags), stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env=variables, cwd=scratch, **kwargs)

    def __exit__(self, *what):
        super().__exit__(*what)
        self.process.stdout.close()
        self.log.close()

    def messages(self):
        self.log.seek(0)
        return self.log.read()

    def ready(self):
        """Waits for the log line that says so; the greeting follows it."""
        def is_ready():
            assert self.process.poll() is None, 'ended: ' + self.messages()
            return 'msg=ready' in self.messages()
        wait_for(is_ready, 'ready')
        return self

    def greeting(self):
        """All that is written to standard output up to its last line."""
        os.set_blocking(self.process.stdout.fileno(), False)
        text = ''
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while 'next start' not in text:
                assert selector.select(PATIENCE), 'no greeting, only: ' + text
                text += self.process.stdout.read() or ''
        return text

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def failed(self):
        """(exit code, messages) of a server that does not start."""
        return self.process.wait(PATIENCE), self.messages()

    def port(self, kubeconfig=None):
        with open(kubeconfig or self.kubeconfig, encoding='utf-8') as file:
            return int(re.search(r'server: https://\S+:(\d+)\n', file.read()).group(1))


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def connect(server, with_admin=True):
    """A TLS connection that believes the kubeconfig and nothing else."""
    with open(server.kubeconfig, encoding='utf-8') as file:
        text = file.read()
    pem = {key: base64.b64decode(value).decode()
           for key, value in re.findall(r'(certificate-authority|client-certificate|client-key)-data: (\S+)\n', text)}
    context = ssl.create_default_context(cadata=pem['certificate-authority'])
    if with_admin:
        with tempfile.NamedTemporaryFile('w') as file:
            file.write(pem['client-certificate'] + pem['client-key'])
            file.flush()
            context.load_cert_chain(file.name)
    plain = socket.create_connection(('127.0.0.1', server.port()), timeout=PATIENCE)
    return context.wrap_socket(plain, server_hostname='127.0.0.1')


def get(server, path, with_admin=True):
    with connect(server, with_admin) as tls:
        tls.sendall(('GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' % path).encode())
        answer = b''
        while chunk := tls.recv(65536):
            answer += chunk
    return answer.decode()


def openssl(*arguments):
    return subprocess.run(('openssl',) + arguments, stdout=subprocess.PIPE, text=True, check=True).stdout


@check
def greets_and_serves(scratch):
    with Server(scratch) as server:
        server.ready()
        text = server.greeting()
        assert 'https://127.0.0.1:%d' % server.port() in text, text
        assert 'export KUBECONFIG=%s\n' % os.path.realpath(server.kubeconfig) in text, text
        assert '\033' not in text and text.count('\n') < 24, text
        answer = get(server, '/readyz')
        assert answer.endswith('ok') and answer.count('\r\nDate: ') == 1, answer
        assert '"Namespace"' in get(server, '/api/v1/namespaces/default')
        assert get(server, '/api/v1/namespaces', with_admin=False).startswith('HTTP/1.1 403 ')
        assert server.end() == 0
        assert 'level=error' not in server.messages(), server.messages()


@check
def everything_is_closed_to_others(scratch):
    old = os.umask(0)
    try:
        server = Server(scratch)
    finally:
        os.umask(old)
    with server:
        server.ready()
        assert mode(server.data) == 0o700 and mode(server.kubeconfig) == 0o600
        for folder, folders, files in os.walk(server.data):
            for name in folders:
                assert mode(os.path.join(folder, name)) == 0o700, name
            for name in files:
                assert mode(os.path.join(folder, name)) == 0o600, name
        assert server.end() == 0


@check
def certificates_in_the_eyes_of_openssl(scratch):
    with Server(scratch) as server:
        server.ready()
        pki = os.path.join(server.data, 'pki')
        authority = os.path.join(pki, 'ca.crt')
        for name, purpose, other in (('serving', 'sslserver', 'sslclient'), ('admin', 'sslclient', 'sslserver')):
            path = os.path.join(pki, name + '.pem')
            openssl('verify', '-x509_strict', '-CAfile', authority, '-purpose', purpose, path)
            refused = subprocess.run(['openssl', 'verify', '-CAfile', authority, '-purpose', other, path], check=False,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            assert refused.returncode != 0, name
            text = openssl('x509', '-in', path, '-noout', '-text')
            assert 'ASN1 OID: prime256v1' in text and 'ecdsa-with-SHA256' in text and 'CA:FALSE' in text, text
        text = openssl('x509', '-in', os.path.join(pki, 'serving.pem'), '-noout', '-ext', 'subjectAltName')
        for host in ('DNS:localhost', 'IP Address:127.0.0.1', 'IP Address:0:0:0:0:0:0:0:1', 'DNS:kubernetes,',
                     'DNS:kubernetes.default,', 'DNS:kubernetes.default.svc,', 'DNS:kubernetes.default.svc.cluster.local',
                     'DNS:' + socket.gethostname()):
            assert host in text, (host, text)
        subject = openssl('x509', '-in', os.path.join(pki, 'admin.pem'), '-noout', '-subject', '-nameopt', 'RFC2253')
        assert subject == 'subject=CN=kubernetes-admin,O=system:masters\n', subject
        life = openssl('x509', '-in', authority, '-noout', '-text')
        assert 'CA:TRUE' in life and 'Certificate Sign' in life, life
        ten_years = 10 * 365 * 86400
        openssl('x509', '-in', authority, '-noout', '-checkend', str(ten_years - 86400))
        assert server.end() == 0


@check
def second_start_is_refused(scratch):
    with Server(scratch) as first:
        first.ready()
        before = open(first.kubeconfig, encoding='utf-8').read()
        with Server(scratch) as second:
            code, text = second.failed()
            assert code == 1 and text == 'reeve up: the data directory %s is in use: another reeve runs on it\n' % (
                first.data), text
        assert open(first.kubeconfig, encoding='utf-8').read() == before
        assert get(first, '/readyz').endswith('ok')
        assert first.end() == 0
    with Server(scratch) as again:
        again.ready()
        assert again.end() == 0


@check
def restart_keeps_keys(scratch):
    with Server(scratch) as server:
        server.ready()
        before = {name: open(os.path.join(server.data, 'pki', name), encoding='utf-8').read()
                  for name in os.listdir(os.path.join(server.data, 'pki'))}
        assert len(before) == 5 and server.end() == 0
    with Server(scratch) as server:
        server.ready()
        for name, text in before.items():
            assert open(os.path.join(server.data, 'pki', name), encoding='utf-8').read() == text, name
        assert server.end() == 0


@check
def taken_port_is_refused(scratch):
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        port = other.getsockname()[1]
        with Server(scratch, listen='127.0.0.1:%d' % port) as server:
            code, text = server.failed()
            assert code == 1 and 'port %d is taken' % port in text and '--listen' in text, text
            assert not os.path.exists(server.kubeconfig)


@check
def bad_flags_are_refused(scratch):
    for listen in ('x', '6443', ':6443', '127.0.0.1', '127.0.0.1:', '127.0.0.1:65536', '127.0.0.1:-1', '::1:6443',
                   '[127.0.0.1]:6443', 'example.com:6443', '127.0.0.1:6443 ', '256.0.0.1:1', '[::1:6443', '1.2.3:4'):
        with Server(scratch, '--listen=' + listen, listen=None) as server:
            code, text = server.failed()
            assert code == 2 and 'cannot listen at "%s": say HOST:PORT' % listen in text, (listen, text)
    for flags, words in ((['--data-dir='], '--data-dir needs a value'), (['--listen'], '--listen needs a value'),
                         (['--listen='], '--listen needs a value'),
                         (['--kubeconfig', ''], '--kubeconfig needs a value'), (['-x'], 'unknown flag -x'),
                         (['--no-such'], 'unknown flag --no-such'), (['here'], 'unknown argument "here"')):
        with Server(scratch, *flags, listen=None) as server:
            code, text = server.failed()
            assert code == 2 and words in text and 'reeve up --help' in text, (flags, text)
    assert os.listdir(scratch) == [], 'a wrong command line left something behind'


@check
def help_tells_the_flags(scratch):
    result = subprocess.run([REEVE, 'up', '--help'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                            cwd=scratch)
    assert result.returncode == 0 and result.stderr == ''
    for flag in ('--data-dir', '--listen', '--kubeconfig', '--no-controllers', '-v', '-q', '127.0.0.1:6443'):
        assert flag in result.stdout, flag


@check
def environment_and_flags(scratch):
    data, told = os.path.join(scratch, 'by env'), os.path.join(scratch, 'k.yaml')
    env = {'REEVE_DATA_DIR': data, 'REEVE_LISTEN': '[::1]:0' if socket.has_ipv6 and has_ipv6() else '127.0.0.2:0',
           'REEVE_KUBECONFIG': os.path.join(scratch, 'not this one')}
    with Server(scratch, '--kubeconfig', told, listen=None, env=env) as server:
        server.ready()
        text = server.greeting()
        assert "'%s'" % os.path.realpath(data) in text and 'export KUBECONFIG=%s\n' % os.path.realpath(told) in text, text
        assert mode(told) == 0o600 and os.path.isdir(os.path.join(data, 'pki'))
        assert not os.path.exists(env['REEVE_KUBECONFIG'])
        expected = env['REEVE_LISTEN'][:-1]
        assert 'server: https://%s' % expected in open(told, encoding='utf-8').read()
        assert server.end(signal.SIGINT) == 0


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(('::1', 0))
        return True
    except OSError:
        return False


@check
def data_home(scratch):
    for env, place in (({'XDG_DATA_HOME': os.path.join(scratch, 'xdg')}, 'xdg/reeve'),
                       ({'XDG_DATA_HOME': 'relative'}, '.local/share/reeve'),
                       ({'XDG_DATA_HOME': ''}, '.local/share/reeve')):
        with Server(scratch, env=env) as server:
            server.ready()
            data = os.path.join(scratch, place)
            assert mode(data) == 0o700 and mode(os.path.join(data, 'admin.kubeconfig')) == 0o600
            assert server.end() == 0
    with Server(scratch, env={'XDG_DATA_HOME': '', 'HOME': ''}) as server:
        code, text = server.failed()
        assert code == 1 and 'HOME is not set: say --data-dir DIR' in text, text


@check
def directories_of_others_are_left_alone(scratch):
    data = os.path.join(scratch, 'data')
    os.mkdir(data, 0o755)
    with open(os.path.join(data, 'thesis.txt'), 'w', encoding='utf-8') as file:
        file.write('x')
    with Server(scratch) as server:
        code, text = server.failed()
        assert code == 1 and 'has other things in it' in text, text
    assert os.listdir(data) == ['thesis.txt'] and mode(data) == 0o755
    os.remove(os.path.join(data, 'thesis.txt'))
    with Server(scratch) as server:  # an empty one is taken, and closed
        server.ready()
        assert mode(data) == 0o700 and server.end() == 0
    with Server(scratch, '--data-dir', '/proc/version') as server:
        code, text = server.failed()
        assert code == 1 and '/proc/version is not a directory' in text, text
    with Server(scratch, '--data-dir', '/proc/none/x') as server:
        code, text = server.failed()
        assert code == 1 and 'make directory /proc/none' in text, text


@check
def kubeconfigs_of_others_are_left_alone(scratch):
    path = os.path.join(scratch, 'config')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('apiVersion: v1\nkind: Config\n')
    with Server(scratch, '--kubeconfig', path) as server:
        code, text = server.failed()
        assert code == 1 and 'was not written by reeve' in text, text
    assert open(path, encoding='utf-8').read() == 'apiVersion: v1\nkind: Config\n'
    with Server(scratch, '--kubeconfig', os.path.join(scratch, 'none', 'config')) as server:
        code, text = server.failed()
        assert code == 1 and 'none/config' in text, text


@check
def keys_that_others_can_read_are_refused(scratch):
    with Server(scratch) as server:
        server.ready()
        assert server.end() == 0
        key = os.path.join(server.data, 'pki', 'sa.key')
    os.chmod(key, 0o644)
    with Server(scratch) as server:
        code, text = server.failed()
        assert code == 1 and 'sa.key is open to others (mode 0644)' in text, text


@check
def a_store_that_others_can_use_is_refused(scratch):
    with Server(scratch) as server:
        server.ready()
        assert server.end() == 0
        store = os.path.join(server.data, 'data.mdb')
    for path, bad, good in ((store, 0o640, '600'), (store, 0o602, '600'), (server.data, 0o755, '700')):
        os.chmod(path, bad)
        with Server(scratch) as server:
            code, text = server.failed()
        path = os.path.relpath(path, scratch)
        assert code == 1 and '%s is open to others (mode %04o)\n' % (path, bad) in text, text
        assert re.search(r'^hint: .* "chmod %s \S*%s"$' % (good, path), text, re.MULTILINE), text
        os.chmod(os.path.join(scratch, path), int(good, 8))
    with Server(scratch) as server:
        server.ready()
        assert server.end() == 0


@check
def drains(scratch):
    with Server(scratch) as server:
        server.ready()
        with connect(server) as tls:
            tls.sendall(b'GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: x\r\n\r\n')
            while b'200 OK' not in tls.recv(65536):
                pass
            server.process.send_signal(signal.SIGTERM)
            while tls.recv(65536):  # the watch ends by itself
                pass
        assert server.process.wait(PATIENCE) == 0
        assert 'msg=ending' in server.messages()


@check
def second_signal_ends_at_once(scratch):
    with Server(scratch) as server:
        server.ready()
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):  # finds both when it goes on
            server.process.send_signal(number)
        assert server.process.wait(PATIENCE) == 128 + signal.SIGTERM  # they come in the order of their numbers
        assert 'ended by a second signal' in server.messages()
    with Server(scratch) as server:
        server.ready()
        assert server.end() == 0


@check
def quiet_and_without_reader(scratch):
    with Server(scratch, '-q') as server:
        wait_for(lambda: os.path.exists(server.kubeconfig), 'the kubeconfig')
        assert get(server, '/readyz').endswith('ok')
        server.process.send_signal(signal.SIGTERM)
        out, _ = server.process.communicate(timeout=PATIENCE)
        assert out == '' and server.messages() == '' and server.process.returncode == 0
    with Server(scratch) as server:
        server.process.stdout.close()  # nobody reads the greeting
        server.ready()
        assert get(server, '/readyz').endswith('ok')
        assert server.end() == 0


@check
def raises_the_number_of_files(scratch):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    lower = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))  # noqa: E731
    with Server(scratch, preexec_fn=lower) as server:
        server.ready()
        with open('/proc/%d/limits' % server.process.pid, encoding='utf-8') as file:
            soft = re.search(r'Max open files\s+(\S+)\s+(\S+)', file.read())
        assert soft.group(1) == soft.group(2), soft.group(0)
        assert server.end() == 0


@check
def says_when_others_can_connect(scratch):
    with Server(scratch, listen='0.0.0.0:0') as server:
        server.ready()
        wait_for(lambda: 'other machines can connect' in server.messages(), 'the notice')
        assert 'server: https://127.0.0.1:' in open(server.kubeconfig, encoding='utf-8').read()
        assert server.end() == 0
    with Server(scratch) as server:
        server.ready()
        assert server.end() == 0 and 'other machines' not in server.messages()


@check
def log_has_no_credentials_and_one_line_a_request(scratch):
    with Server(scratch, '--verbose') as server:
        server.ready()
        request = ('GET /api/v1/namespaces/a%0alevel=error%20msg=fake%1b/pods?token=in-the-query HTTP/1.1\r\n'
                   'Host: x\r\nImpersonate-User: someone\r\n{}Connection: close\r\n\r\n')
        for with_admin, header in ((True, ''), (False, 'Authorization: Bearer in-the-header\r\n')):
            with connect(server, with_admin) as sock:
                sock.sendall(request.format(header).encode())
                while sock.recv(65536):
                    pass
        assert server.end() == 0
        log = server.messages()
        assert r'path="/api/v1/namespaces/a\nlevel=error msg=fake\x1b/pods" user=someone status=403' in log, log
        assert 'credential refused' in log, log
        assert 'in-the-' not in log and '\nlevel' not in log and '\x1b' not in log, log


def main():
    print('1..%d' % len(CHECKS))
    for number, fn in enumerate(CHECKS, 1):
        scratch = tempfile.mkdtemp(prefix='reeve-up-')
        try:
            fn(scratch)
            print('ok %d - %s' % (number, fn.__name__))
        except Exception as error:  # pylint: disable=broad-except
            print('not ok %d - %s' % (number, fn.__name__))
            print('# ' + repr(error).replace('\\n', '\n# '))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        sys.stdout.flush()


main()
