#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what "kubectl get" and "kubectl create" would, over connections that it keeps: kubectl takes longer to start than a server to
answer, and the suites ask thousands of times. "look" and "create" of server.bash speak to it.

usage: courier.py FILE

FILE gets a port of the loopback interface and a secret, on one line. Who connects there sends the secret, a number, and so many
arguments, each with a NUL behind: a kubeconfig, and one of

    get KIND[,KIND...] [NAME] [-n NAMESPACE] [-A] [-l SELECTOR] [--as USER] [--ignore-not-found] [-o json|name|jsonpath=TEMPLATE]
    create YAML [-n NAMESPACE]

and gets the exit status on a line, and then what kubectl would print. Anything else that kubectl knows is an error here: these are for
questions about the server; how kubectl shows it, only kubectl can say.
"""
import base64
import http.client
import json
import os
import re
import secrets
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.parse

PATIENCE = 30  # seconds until a server has to answer
DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
TOKEN = re.compile(r'''\{range (?P<range>[^{}]*)\}|\{(?P<end>end)\}|\{"(?P<quoted>[^"]*)"\}|\{(?P<path>[^{}]*)\}|(?P<text>[^{}]+)''')
STEP = re.compile(r'''\.(?P<key>(?:\\.|[^.\[\]\\])+)|\[(?P<index>\d+)\]|\[\*\](?P<all>)'''
                  r'''|\[\?\(@(?P<where>[\w.]+)(?:=="(?P<value>[^"]*)")?\)\]''')


class Failure(Exception):
    """What goes to the standard error of who asked."""


# ---- JSONPath, as much of kubectl's as the suites write. ----

def holds(found, value):
    return bool(found) if value is None else value in found


def steps(path, values):
    """What a path leads to from each of some values."""
    at = 0
    while at < len(path):
        step = STEP.match(path, at)
        if not step:
            raise Failure('courier: what is %r in %r?' % (path[at:], path))
        at = step.end()
        if step['key'] is not None:
            key = re.sub(r'\\(.)', r'\1', step['key'])
            values = [value[key] for value in values if isinstance(value, dict) and key in value]
        elif step['index'] is not None:
            index = int(step['index'])
            values = [value[index] for value in values if isinstance(value, list) and index < len(value)]
        elif step['all'] is not None:
            values = [each for value in values for each in (value.values() if isinstance(value, dict) else value)]
        else:
            values = [each for value in values for each in value if holds(steps(step['where'], [each]), step['value'])]
    return values


def shown(value):
    if isinstance(value, str):
        return value
    text = json.dumps(value, separators=(',', ':'), sort_keys=True, ensure_ascii=False)
    return text.replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026')


def expand(template, thing):
    """The template with what it says of a thing in it; ranges do not nest."""
    if ''.join(token[0] for token in TOKEN.finditer(template)) != template:
        raise Failure('courier: what is %r?' % template)
    tokens = list(TOKEN.finditer(template))
    out = []
    while tokens:
        token = tokens.pop(0)
        if token['range'] is not None:
            end = next(n for n, each in enumerate(tokens) if each['end'])
            body = ''.join(each[0] for each in tokens[:end])
            out += [expand(body, each) for each in steps(token['range'], [thing])]
            del tokens[:end + 1]
        elif token['quoted'] is not None:
            out.append(token['quoted'].replace('\\n', '\n'))
        elif token['path'] is not None:
            out.append(' '.join(map(shown, steps(token['path'], [thing]))))
        else:
            out.append(token['text'])
    return ''.join(out)


# ---- A server. ----

class Server:
    """What a kubeconfig speaks of: its address and who we are there, the kinds it has, and a connection to it."""

    def __init__(self, kubeconfig):
        self.kubeconfig, self.connection, self.kinds = kubeconfig, None, {}

    def connect(self):
        """As the file says now: a server that was started again may be elsewhere."""
        view = subprocess.run(['kubectl', 'config', 'view', '--kubeconfig', self.kubeconfig, '--raw', '--minify', '--flatten',
                               '-o', 'json'], check=True, capture_output=True)
        config = json.loads(view.stdout)
        cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
        context = ssl.create_default_context(cadata=base64.b64decode(cluster['certificate-authority-data']).decode())
        if 'client-key-data' in user:
            with tempfile.NamedTemporaryFile() as both:
                both.write(base64.b64decode(user['client-certificate-data']) + b'\n' + base64.b64decode(user['client-key-data']))
                both.flush()
                context.load_cert_chain(both.name)
        self.headers = {'User-Agent': 'e2e'}
        if 'token' in user:
            self.headers['Authorization'] = 'Bearer ' + user['token']
        address = urllib.parse.urlsplit(cluster['server'])
        self.connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=PATIENCE, context=context)

    def ask(self, path, method='GET', body=None, **headers):
        """The status and the body; once more over a new connection if the one that was kept has gone."""
        for last in (self.connection is None, True):
            try:
                if not self.connection:
                    self.connect()
                self.connection.request(method, path, body, {'Accept': 'application/json', **self.headers, **headers})
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException, subprocess.CalledProcessError) as error:
                self.connection = None
                if last:
                    raise Failure('The connection to the server was refused: %s' % error) from error
        return None

    def discover(self):
        """All names of kinds. The first group that has a name keeps it, as kubectl has it."""
        self.kinds = {}
        for root in ('/api', '/apis'):
            status, body = self.ask(root, Accept=DISCOVERY)
            if status != 200:
                raise Failure('courier: %s says %d' % (root, status))
            for group in json.loads(body)['items']:
                self.learn(root, group)

    def learn(self, root, group):
        name = group['metadata'].get('name', '')
        for version in group['versions']:
            for kind in version['resources']:
                prefix = '%s/%s%s' % (root, name + '/' if name else '', version['version'])
                known = (prefix, kind['resource'], kind['scope'] == 'Namespaced', kind['singularResource'] + ('.' + name if name else ''))
                for alias in (kind['resource'], kind['singularResource'], kind['responseKind']['kind'].lower()):
                    self.kinds.setdefault(alias, known)
                    self.kinds.setdefault('%s.%s' % (alias, name), known)
                for alias in kind.get('shortNames', []):
                    self.kinds.setdefault(alias, known)

    def kind(self, name):
        name = name.lower()
        if name not in self.kinds:
            self.discover()
        if name not in self.kinds:
            raise Failure('error: the server doesn\'t have a resource type "%s"' % name)
        return self.kinds[name]


# ---- Questions. ----

def options(arguments):
    """What was said, by name; "" is what is no option."""
    said, rest = {'': []}, list(arguments)
    while rest:
        word = rest.pop(0)
        word, _, value = word.partition('=') if word.startswith('--') else (word, '', '')
        word = {'-n': '--namespace', '-A': '--all-namespaces', '-l': '--selector', '-o': '--output'}.get(word, word)
        if word in ('--as', '--namespace', '--selector', '--output'):
            said[word] = value or rest.pop(0)
        elif word in ('--all-namespaces', '--ignore-not-found') and not value:
            said[word] = True
        elif word.startswith('-'):
            raise Failure('courier: %s is for kubectl to answer' % word)
        else:
            said[''].append(word)
    return said


def refuse(status, body):
    """As kubectl says it."""
    failed = json.loads(body) if body.startswith(b'{') else {}
    raise Failure('Error from server (%s): %s' % (failed.get('reason', status), failed.get('message', body.decode())))


def find(server, said):
    """Texts of the objects, or lists of them, each with how kubectl calls their kind."""
    found = []
    for name in said[''][0].split(','):
        prefix, resource, namespaced, called = server.kind(name)
        path = prefix
        if namespaced and '--all-namespaces' not in said:
            path += '/namespaces/' + said.get('--namespace', 'default')
        path += '/' + resource
        if len(said['']) > 1:
            path += '/' + urllib.parse.quote(said[''][1])
        if '--selector' in said:
            path += '?labelSelector=' + urllib.parse.quote(said['--selector'])
        status, body = server.ask(path, **({'Impersonate-User': said['--as']} if '--as' in said else {}))
        if status == 404 and '--ignore-not-found' in said:
            continue
        if status != 200:
            refuse(status, body)
        found.append((called, body))
    return found


def get(server, arguments):
    """What kubectl prints, as bytes."""
    said = options(arguments)
    if not 1 <= len(said['']) <= 2 or '/' in said[''][0]:
        raise Failure('courier: get what? %s' % ' '.join(said['']))
    output = said.get('--output', 'name')
    found = find(server, said)
    single = len(said['']) > 1 and ',' not in said[''][0]
    if output == 'json' and len(found) == 1 and single:
        return found[0][1]
    if single and not found:
        return b''
    things = []
    for called, body in found:
        thing = json.loads(body)
        for each in [thing] if len(said['']) > 1 else thing['items']:
            if len(said['']) == 1:  # lists say it once, for all of them
                each = {'apiVersion': thing['apiVersion'], 'kind': thing['kind'][:-len('List')], **each}
            things.append((called, each))
    if output == 'name':
        return ''.join('%s/%s\n' % (called, each['metadata']['name']) for called, each in things).encode()
    whole = things[0][1] if single else {'apiVersion': 'v1', 'kind': 'List', 'items': [each for _, each in things]}
    if output == 'json':
        return json.dumps(whole).encode()
    if not output.startswith('jsonpath='):
        raise Failure('courier: -o %s is for kubectl to answer' % output)
    return expand(output[len('jsonpath='):], whole).encode()


def create(server, arguments):
    """The server reads the YAML. Where it belongs is said first in each document, or else kubectl has to find it."""
    said = options(arguments)
    done = []
    for text in re.split(r'^---\n', said[''][0], flags=re.M):
        if not text.strip():
            continue
        head = re.match(r'\{?apiVersion: (?:([\w.-]+)/)?\w+(?:\n|, )kind: (\w+)', text)
        if not head:
            raise Failure('courier: what is %r?' % text)
        prefix, resource, namespaced, called = server.kind(head[2] + '.' + (head[1] or ''))
        if namespaced:
            prefix += '/namespaces/' + said['--namespace']
        status, body = server.ask('%s/%s' % (prefix, resource), method='POST', body=text.encode(), **{'Content-Type': 'application/yaml'})
        if status != 201:
            refuse(status, body)
        done.append('%s/%s created\n' % (called, json.loads(body)['metadata']['name']))
    return ''.join(done).encode()


def hear(peer, secret):
    """The arguments, if the secret is right."""
    text, want = b'', None
    while want is None or text.count(b'\0') < want + 2:
        more = peer.recv(65536)
        if not more:
            return None
        text += more
        if want is None and text.count(b'\0') >= 2:
            given, number = text.split(b'\0')[:2]
            if not secrets.compare_digest(given, secret.encode()):
                return None
            want = int(number)
    return [word.decode() for word in text.split(b'\0')[2:-1]]


def main():
    secret = secrets.token_hex(16)
    door = socket.create_server(('127.0.0.1', 0))
    fresh = sys.argv[1] + '.new'
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as file:
        file.write('%d %s\n' % (door.getsockname()[1], secret))
    os.rename(fresh, sys.argv[1])
    servers = {}
    while True:
        peer, _ = door.accept()
        with peer:
            words = hear(peer, secret)
            if not words:
                continue
            try:
                server = servers.setdefault(words[0], Server(words[0]))
                answer = b'0\n' + {'get': get, 'create': create}[words[1]](server, words[2:])
            except Failure as failure:
                answer = b'1\n%s\n' % str(failure).encode()
            try:
                peer.sendall(answer)
            except OSError:
                pass  # who asked has gone


if __name__ == '__main__':
    main()
