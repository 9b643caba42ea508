#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What somebody may do, asked one by one: every kind, subresource and verb of the server, in every namespace and outside of all.

usage: allowed.py USER [GROUP...] [--only REGEX]

One line for each place and resource where anything is allowed: "NAMESPACE RESOURCE[.GROUP] VERB,VERB,…"; "-" is outside of
namespaces. --only: ask about those resources. KUBECONFIG says which server: it must have the admin's certificate in it.
"""
import argparse
import base64
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import urllib.parse

import yaml

VERBS = ('create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch')
MORE = {'clusterroles.rbac.authorization.k8s.io': ('bind', 'escalate'), 'roles.rbac.authorization.k8s.io': ('bind', 'escalate'),
        'users': ('impersonate',), 'groups': ('impersonate',), 'serviceaccounts': ('impersonate',)}
UNLISTED = ('users', 'groups')  # what only reviews know


class Server:
    """One connection, kept open."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding='utf-8') as file:
            config = yaml.safe_load(file)
        cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
        context = ssl.create_default_context(cadata=self.text(cluster, 'certificate-authority'))
        with tempfile.NamedTemporaryFile('w') as both:
            both.write(self.text(user, 'client-certificate') + '\n' + self.text(user, 'client-key'))
            both.flush()
            context.load_cert_chain(both.name)
        url = urllib.parse.urlsplit(cluster['server'])
        self.connection = http.client.HTTPSConnection(url.hostname, url.port, context=context, timeout=60)

    @staticmethod
    def text(part, name):
        if name + '-data' in part:
            return base64.b64decode(part[name + '-data']).decode()
        with open(part[name], encoding='ascii') as file:
            return file.read()

    def ask(self, path, body=None):
        self.connection.request('POST' if body else 'GET', path, json.dumps(body) if body else None,
                                {'Content-Type': 'application/json'} if body else {})
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status not in (200, 201):
            raise SystemExit('allowed.py: %s: %d %s' % (path, answer.status, content))
        return json.loads(content)

    def resources(self):
        """(group, resource with its subresource, is namespaced) of all there is, each once."""
        found = {('', name, False) for name in UNLISTED}
        for version in self.ask('/api')['versions']:
            found |= self.resources_of('', '/api/' + version)
        for group in self.ask('/apis')['groups']:
            found |= self.resources_of(group['name'], '/apis/' + group['preferredVersion']['groupVersion'])
        return sorted(found)

    def resources_of(self, group, path):
        return {(group, one['name'], one['namespaced']) for one in self.ask(path)['resources']}

    def namespaces(self):
        return sorted(one['metadata']['name'] for one in self.ask('/api/v1/namespaces')['items'])

    def allows(self, who, attributes):
        review = {'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SubjectAccessReview',
                  'spec': {**who, 'resourceAttributes': attributes}}
        return self.ask('/apis/authorization.k8s.io/v1/subjectaccessreviews', review)['status']['allowed']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('user')
    parser.add_argument('groups', nargs='*')
    parser.add_argument('--only', default='.*')
    options = parser.parse_args()
    who = {'user': options.user, 'groups': [*options.groups, 'system:authenticated']}
    server = Server(os.environ['KUBECONFIG'])
    namespaces = server.namespaces()
    for group, resource, namespaced in server.resources():
        name, _, part = resource.partition('/')
        full = resource + ('.' + group if group else '')
        if not re.fullmatch(options.only, full):
            continue
        # Rights that reach everywhere are seen outside of all namespaces, so that is asked for namespaced ones, too.
        for namespace in ['-'] + (namespaces if namespaced else []):
            place = {} if namespace == '-' else {'namespace': namespace}
            allowed = [verb for verb in VERBS + MORE.get(full, ()) if server.allows(
                who, {**place, 'group': group, 'resource': name, 'subresource': part, 'verb': verb})]
            if allowed:
                print(namespace, full, ','.join(allowed))


if __name__ == '__main__':
    sys.exit(main())
