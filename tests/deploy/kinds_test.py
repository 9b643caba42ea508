#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reeve's own kinds: one source for the binary, Kustomize and Helm; in place when reeve up is; their schemas and columns.

usage: kinds_test.py PATH-OF-REEVE DEPLOY-FOLDER
"""
import copy
import os
import subprocess
import sys
import time

import yaml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, 'server'))
from reeve_server import Server, Tap  # noqa: E402

REEVE, DEPLOY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
FILES = sorted(name for name in os.listdir(os.path.join(DEPLOY, 'crds')) if name != 'kustomization.yaml')
# kind: (group, plural, short name, namespaced, is it an install)
KINDS = {
    'ClusterPackageInstall': ('packages', 'clusterpackageinstalls', 'cpi', False, True),
    'PackageInstall': ('packages', 'packageinstalls', 'pi', True, True),
    'ClusterPackage': ('packages', 'clusterpackages', 'cpkg', False, False),
    'Package': ('packages', 'packages', 'pkg', True, False),
    'ClusterStackInstall': ('stacks', 'clusterstackinstalls', 'csi', False, True),
    'StackInstall': ('stacks', 'stackinstalls', 'si', True, True),
    'ClusterStack': ('stacks', 'clusterstacks', None, False, False),
    'Stack': ('stacks', 'stacks', None, True, False),
}


def read(*parts):
    with open(os.path.join(DEPLOY, *parts), encoding='utf-8') as file:
        return file.read()


def wait_for(condition, what):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, 'never happened: ' + what
        time.sleep(0.02)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# ---- One source. ----

def printed_is_the_files():
    assert output(REEVE, 'manager', '--print-crds') == ''.join('---\n' + read('crds', name) for name in FILES)


def kustomize_has_them():
    made = {o['metadata']['name']: o for o in yaml.safe_load_all(output('kubectl', 'kustomize',
                                                                        os.path.join(DEPLOY, 'manager', 'kustomize')))
            if o['kind'] == 'CustomResourceDefinition'}
    assert made == {o['metadata']['name']: o for o in (yaml.safe_load(read('crds', name)) for name in FILES)}


def chart_has_them():
    folder = os.path.join(DEPLOY, 'manager', 'helm', 'crds')
    assert sorted(os.listdir(folder)) == FILES
    for name in FILES:
        assert os.path.realpath(os.path.join(folder, name)) == os.path.join(os.path.realpath(DEPLOY), 'crds', name), name


# ---- In place. ----

def crds_of(server):
    return {o['metadata']['name']: o for o in server.ask('GET', CRDS)[1]['items']}


def within(want, have):
    """All that is wanted is there; defaults of the server may be, too."""
    if isinstance(want, dict):
        return isinstance(have, dict) and all(key in have and within(value, have[key]) for key, value in want.items())
    if isinstance(want, list):
        return isinstance(have, list) and len(want) == len(have) and all(map(within, want, have))
    return want == have


def all_are_established(server):
    have = crds_of(server)
    assert len(have) == len(KINDS) == len(FILES)
    for name in FILES:
        want = yaml.safe_load(read('crds', name))
        crd = have[want['metadata']['name']]
        assert within(want['spec'], crd['spec']), name
        conditions = {c['type']: c['status'] for c in crd['status']['conditions']}
        assert conditions['Established'] == conditions['NamesAccepted'] == 'True'
        assert 'NonStructuralSchema' not in conditions


def discovery_has_the_names(server):
    for group in ('packages', 'stacks'):
        path = '/apis/%s.crossplane.io/v1alpha1' % group
        found = {r['name']: r for r in server.ask('GET', path)[1]['resources']}
        for kind, (its_group, plural, short, namespaced, is_install) in KINDS.items():
            if its_group != group:
                continue
            resource = found[plural]
            assert resource['kind'] == kind and resource['namespaced'] == namespaced
            assert resource.get('shortNames') == ([short] if short else None), resource
            assert resource['categories'] == ['crossplane']
            assert (plural + '/status' in found) == is_install, plural


def restart_writes_nothing(server):
    before = {name: crd['metadata']['resourceVersion'] for name, crd in crds_of(server).items()}
    server.stop()
    server.start()
    assert {name: crd['metadata']['resourceVersion'] for name, crd in crds_of(server).items()} == before


def restart_repairs(server):
    """What is ours comes back; what others have added stays."""
    crds = crds_of(server)
    name, gone = 'packageinstalls.packages.crossplane.io', 'stacks.stacks.crossplane.io'
    edited = copy.deepcopy(crds[name])
    edited['metadata']['labels'] = {'example.com/mine': 'yes'}
    edited['metadata']['annotations'] = {'example.com/note': 'kept'}
    spec = edited['spec']['versions'][0]
    spec['schema']['openAPIV3Schema']['properties']['spec']['properties'].pop('package')
    spec['schema']['openAPIV3Schema']['properties']['spec'].pop('required')
    spec['additionalPrinterColumns'].append({'name': 'X', 'type': 'string', 'jsonPath': '.spec.source'})
    status, answer = server.ask('PUT', CRDS + '/' + name, edited)
    assert status == 200, answer
    assert server.ask('DELETE', CRDS + '/' + gone)[0] == 200
    wait_for(lambda: gone not in crds_of(server), 'it is gone, with its objects')
    server.stop()
    server.start()
    after = crds_of(server)
    assert after[name]['spec'] == crds[name]['spec']
    assert after[name]['metadata']['labels'] == {'example.com/mine': 'yes'}
    assert after[name]['metadata']['annotations'] == {'example.com/note': 'kept'}
    assert after[gone]['spec'] == crds[gone]['spec']


def with_server(work, *flags):
    server = Server(REEVE)
    try:
        server.start(None, *flags)
        work(server)
        server.stop()
    finally:
        server.remove()


def bare_server_has_none():
    with_server(lambda server: check_none(crds_of(server)), '--no-controllers')


def check_none(found):
    assert not found, found


# ---- What they accept and show. ----

def apply_all(server):
    for name in FILES:
        status, answer = server.ask('POST', CRDS, read('crds', name), headers={'Content-Type': 'application/yaml'})
        assert status == 201, answer

def path_of(kind, namespace='default'):
    group, plural, _, namespaced, _ = KINDS[kind]
    return '/apis/%s.crossplane.io/v1alpha1/%s%s' % (group, 'namespaces/%s/' % namespace if namespaced else '', plural)


def create(server, kind, name, spec, want=201):
    body = {'apiVersion': KINDS[kind][0] + '.crossplane.io/v1alpha1', 'kind': kind, 'metadata': {'name': name}, 'spec': spec}
    status, answer = server.ask('POST', path_of(kind) + '?fieldValidation=Strict', body)
    assert status == want, (kind, spec, status, answer)
    return answer


FULL = {'package': 'example.org/acme/wordpress:1.1', 'source': 'registry.example.org:5000/mirror',
        'imagePullSecrets': [{'name': 'pull'}], 'imagePullPolicy': 'IfNotPresent',
        'serviceAccount': {'annotations': {'iam.example.org/role': 'r'}}}
BAD = [{}, {'package': ''}, {'package': 'x' * 1025}, {'package': 'a/b', 'imagePullPolicy': 'Sometimes'},
       {'package': 'a/b', 'imagePullSecrets': [{}]}, {'package': 'a/b', 'imagePullSecrets': [{'name': 'x'}, {'name': 'x'}]},
       {'package': 'a/b', 'serviceAccount': {'annotations': {'x': 1}}}, {'package': 7}]


def installs_are_checked(server):
    for kind, (_, _, _, namespaced, is_install) in KINDS.items():
        if not is_install:
            continue
        made = create(server, kind, 'full', FULL)
        assert made['spec'] == (FULL if namespaced else {**FULL, 'namespace': 'crossplane-system'})
        for i, spec in enumerate(BAD):
            create(server, kind, 'bad-%d' % i, spec, 422)
        create(server, kind, 'unknown', {**FULL, 'crd': 'x'}, 400)
        if namespaced:
            create(server, kind, 'elsewhere', {**FULL, 'namespace': 'other'}, 400)
        else:
            assert create(server, kind, 'there', {**FULL, 'namespace': 'other'})['spec']['namespace'] == 'other'
            for bad in ('', 'Upper', '-x', 'x' * 64, 'a.b'):
                create(server, kind, 'bad-namespace', {**FULL, 'namespace': bad}, 422)


def columns(server, path):
    status, table = server.ask('GET', path, headers={'Accept': 'application/json;as=Table;v=v1;g=meta.k8s.io'})
    assert status == 200, table
    names = [(c['name'].upper(), c['priority']) for c in table['columnDefinitions']]
    return names, {row['object']['metadata']['name']: row['cells'] for row in table['rows']}


def installs_show_their_state(server):
    condition = {'lastTransitionTime': '2026-01-02T03:04:05Z', 'message': '', 'observedGeneration': 1}
    status = {'conditions': [{'type': 'Installed', 'status': 'True', 'reason': 'Applied', **condition},
                             {'type': 'Healthy', 'status': 'Unknown', 'reason': 'NoWorkloads', **condition},
                             {'type': 'Ready', 'status': 'True', 'reason': 'Available', **condition}],
              'observedGeneration': 1, 'resolvedPackage': 'sha256:0123', 'version': '1.1',
              'packageRecord': {'apiVersion': 'v', 'kind': 'k', 'namespace': 'n', 'name': 'm', 'uid': 'u'},
              'crds': {'wanted': 2, 'established': 1}}
    for kind, (_, _, _, _, is_install) in KINDS.items():
        if not is_install:
            continue
        made = create(server, kind, 'shown', FULL)
        made['status'] = status
        code, answer = server.ask('PUT', path_of(kind) + '/shown/status', made)
        assert code == 200 and answer['status'] == status, answer
        names, rows = columns(server, path_of(kind))
        assert names == [('NAME', 0), ('INSTALLED', 0), ('HEALTHY', 0), ('PACKAGE', 0), ('VERSION', 0), ('AGE', 0),
                         ('DIGEST', 1), ('REASON', 1)], names
        cells = rows['shown']
        assert cells[1:5] == ['True', 'Unknown', FULL['package'], '1.1'] and cells[6:] == ['sha256:0123', 'Available'], cells


RECORD = {
    'package': 'example.org/acme/wordpress:1.1', 'digest': 'sha256:0123', 'repository': 'acme', 'name': 'wordpress',
    'version': '1.1', 'family': 'acme:wordpress', 'permissionScope': 'Namespaced',
    'packageType': 'Application', 'title': 'WordPress', 'overviewShort': 'x', 'overview': 'x', 'readme': 'x', 'company': 'x',
    'category': 'x', 'website': 'x', 'source': 'x', 'license': 'x',
    'icons': [{'mediatype': 'image/svg+xml', 'base64Data': 'eA=='}], 'maintainers': [{'name': 'x', 'email': 'x@example.org'}],
    'owners': [{'name': 'x', 'email': 'x@example.org'}], 'keywords': ['x'],
    'customresourcedefinitions': [{'name': 'ws.x.example.org', 'apiVersion': 'x.example.org/v1', 'kind': 'W'}],
    'dependsOn': [{'crd': '*.y.example.org/v1'}, {'package': 'example.org/acme/y', 'version': '>=v1.0.0'}],
    'permissions': {'rules': [{'apiGroups': [''], 'resources': ['secrets'], 'resourceNames': ['x'], 'verbs': ['*']}]},
    'inventory': [{'apiVersion': 'v1', 'kind': 'ServiceAccount', 'namespace': 'n', 'name': 'x', 'uid': 'u'}],
}


def records_hold_everything(server):
    for kind, (_, _, _, _, is_install) in KINDS.items():
        if is_install:
            continue
        assert create(server, kind, 'full', RECORD)['spec'] == RECORD
        create(server, kind, 'unknown', {**RECORD, 'more': 1}, 400)
        create(server, kind, 'nowhere', {**RECORD, 'permissionScope': 'Everywhere'}, 422)
        names, rows = columns(server, path_of(kind))
        assert names == [('NAME', 0), ('PACKAGE', 0), ('VERSION', 0), ('AGE', 0), ('DIGEST', 1)], names
        assert rows['full'][1:3] == [RECORD['package'], '1.1'] and rows['full'][4] == 'sha256:0123', rows


def main():
    checks = Tap()
    checks.run('the binary prints the files', printed_is_the_files)
    checks.run('Kustomize has the files', kustomize_has_them)
    checks.run('the chart has the files', chart_has_them)
    checks.run('a server without controllers has none', bare_server_has_none)
    with_server(lambda server: (
        checks.run('all are established, as the files say', all_are_established, server),
        checks.run('discovery has their names', discovery_has_the_names, server),
        checks.run('a restart writes nothing', restart_writes_nothing, server),
        checks.run('a restart repairs what differs', restart_repairs, server)))
    with_server(lambda server: (  # where nobody acts on them
        apply_all(server),
        checks.run('installs are checked and defaulted', installs_are_checked, server),
        checks.run('installs show their state', installs_show_their_state, server),
        checks.run('records hold all that is written to them', records_hold_everything, server)), '--no-controllers')
    sys.exit(checks.end())


if __name__ == '__main__':
    main()
