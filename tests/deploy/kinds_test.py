#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reeve's own kinds and those of a fleet: one source for the binary, Kustomize and Helm; in place when reeve up is; their schemas
and columns.

usage: kinds_test.py PATH-OF-REEVE DEPLOY-FOLDER
"""
import copy
import os
import sys

import yaml

sys.dont_write_bytecode = True
import deployed  # noqa: E402
from deployed import DEPLOY, REEVE, Server, Tap, output, wait_for  # noqa: E402

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'


def files_in(*folder):
    return sorted(os.path.join(*folder[1:], name) for name in os.listdir(os.path.join(DEPLOY, *folder))
                  if name.endswith('.yaml') and name != 'kustomization.yaml')


OWN, FLEET = files_in('crds'), files_in('crds', 'fleet')
FILES = OWN + FLEET
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
    return deployed.read(DEPLOY, *parts)


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
    assert sorted(os.listdir(folder)) == sorted(map(os.path.basename, FILES))
    for name in FILES:
        link = os.path.join(folder, os.path.basename(name))
        assert os.path.realpath(link) == os.path.join(os.path.realpath(DEPLOY), 'crds', name), name


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
    assert len(have) == len(FILES) and len(OWN) == len(KINDS)
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


def restart_keeps_what_others_brought(server):
    """Kinds of a fleet are those of Open Cluster Management, too: who brings or changes one keeps it. Missing ones are made."""
    crds = crds_of(server)
    brought, edited, gone, older = (plural + '.open-cluster-management.io' for plural in (
        'manifestworks.work', 'managedclusters.cluster', 'clusterpermissions.rbac', 'appliedmanifestworks.work'))
    for name in (brought, gone):
        assert server.ask('DELETE', CRDS + '/' + name)[0] == 200
    wait_for(lambda: not {brought, gone} & set(crds_of(server)), 'they are gone')
    other = {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': brought},
             'spec': copy.deepcopy(crds[brought]['spec'])}
    other['spec']['versions'][0]['schema']['openAPIV3Schema'] = {
        'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}
    assert server.ask('POST', CRDS, other)[0] == 201
    crds[edited]['spec']['versions'][0]['additionalPrinterColumns'].pop()
    assert server.ask('PUT', CRDS + '/' + edited, crds[edited])[0] == 200
    old = yaml.safe_load(read('crds', 'fleet', 'work.appliedmanifestworks.yaml'))
    old['spec']['versions'][0]['additionalPrinterColumns'].pop()
    status, answer = server.ask('PATCH', CRDS + '/' + older + '?fieldManager=reeve', old,
                                headers={'Content-Type': 'application/apply-patch+yaml'})
    assert status == 200, answer
    before = crds_of(server)
    server.stop()
    server.start()
    after = crds_of(server)
    for name in (brought, edited):
        assert after[name] == before[name], name
    assert after[gone]['spec'] == crds[gone]['spec']
    assert after[older]['spec'] == crds[older]['spec'] != before[older]['spec']


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
        assert names == [('NAME', 0), ('INSTALLED', 0), ('HEALTHY', 0), ('PACKAGE', 0), ('VERSION', 0), ('DELETING', 0),
                         ('AGE', 0), ('DIGEST', 1), ('REASON', 1)], names
        cells = rows['shown']
        assert cells[1:5] == ['True', 'Unknown', FULL['package'], '1.1'] and cells[7:] == ['sha256:0123', 'Available'], cells


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


# ---- Those of a fleet. ----

OCM = '.open-cluster-management.io'
PLACES = {  # kind: (version, path)
    'ClusterPermission': ('rbac' + OCM + '/v1alpha1', 'namespaces/default/clusterpermissions'),
    'ManifestWork': ('work' + OCM + '/v1', 'namespaces/default/manifestworks'),
    'AppliedManifestWork': ('work' + OCM + '/v1', 'appliedmanifestworks'),
    'ManagedCluster': ('cluster' + OCM + '/v1', 'managedclusters'),
    'ManagedServiceAccount': ('authentication' + OCM + '/v1beta1', 'namespaces/default/managedserviceaccounts'),
    'ManagedClusterAddOn': ('addon' + OCM + '/v1alpha1', 'namespaces/default/managedclusteraddons'),
}
SUBJECT = {'kind': 'User', 'name': 'alice'}
CONDITION = {'reason': 'Because', 'message': '', 'lastTransitionTime': '2026-01-02T03:04:05Z', 'status': 'True'}


def place_of(kind):
    return '/apis/%s/%s' % PLACES[kind]


def put(server, kind, name, spec, want=201, **more):
    body = {'apiVersion': PLACES[kind][0], 'kind': kind, 'metadata': {'name': name}, 'spec': spec, **more}
    status, answer = server.ask('POST', place_of(kind) + '?fieldValidation=Strict', body)
    assert status == want, (kind, spec, status, answer)
    return answer


def bindings_need_subjects(server):
    """Neither subject nor subjects is refused by any API server; all else that can be wrong stands in the status."""
    named = {'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'view'}}
    role = {'namespace': 'default', 'roleRef': {'kind': 'Role'}}
    good = [{}, {'clusterRoleBinding': {'subject': SUBJECT}}, {'clusterRoleBinding': {**named, 'subjects': [SUBJECT]}},
            {'clusterRoleBindings': [{'subject': SUBJECT}, {'name': 'other', 'subjects': [SUBJECT]}]},
            {'roleBindings': [{**role, 'subject': SUBJECT, 'subjects': []}]}, {'roleBindings': [{**role, 'subjects': []}]},
            {'roleBindings': [{'roleRef': {'kind': 'Role', 'name': 'x'}, 'subject': SUBJECT}]},
            {'roleBindings': [{'roleRef': {'kind': 'Role', 'apiGroup': 'x'}, 'subject': SUBJECT}]},
            {'roleRefs': [{'kind': 'ClusterRole', 'name': 'x'}]}]
    bad = [{'clusterRoleBinding': {}}, {'clusterRoleBinding': named}, {'clusterRoleBindings': [{'subject': SUBJECT}, named]},
           {'roleBindings': [role]}, {'roleBindings': [{'namespace': 'default', 'subject': SUBJECT}]}, {'clusterRole': {}},
           {'clusterRoleBinding': {'subject': {'kind': 'User'}}}, {'clusterRole': {'rules': [{'resources': ['pods']}]}},
           {'clusterRoleBinding': {'roleRef': {'kind': 'ClusterRole', 'name': 'x'}, 'subject': SUBJECT}},
           {'roles': [{'namespace': 'default'}]}, {'roleRefs': [{'name': 'x'}]}, {'roleRefs': [{'kind': 'Role'}]}]
    for i, spec in enumerate(good):
        assert put(server, 'ClusterPermission', 'good-%d' % i, spec)['spec'] == spec
    for i, spec in enumerate(bad):
        put(server, 'ClusterPermission', 'bad-%d' % i, spec, 422)
    put(server, 'ClusterPermission', 'unknown', {'clusterRoleBindigns': []}, 400)


def written_status_is_dropped(server):
    """Examples have one, and no server looks at it."""
    made = put(server, 'ClusterPermission', 'example', {'clusterRoleBinding': {'subject': SUBJECT}},
               status={'conditions': [{'type': 'SubjectPresent', 'status': True}]})
    assert 'status' not in made, made


def manifests_are_kept(server):
    manifest = {'apiVersion': 'example.org/v1', 'kind': 'Anything', 'metadata': {'name': 'a', 'labels': {'x': 'y'}},
                'spec': {'deep': [{'er': None, 'x': 1.5}]}, 'more': True}
    made = put(server, 'ManifestWork', 'kept', {'workload': {'manifests': [manifest]}})
    assert made['spec']['workload']['manifests'] == [manifest], made
    for missing in ('apiVersion', 'kind'):
        put(server, 'ManifestWork', 'bad', {'workload': {'manifests': [
            {key: value for key, value in manifest.items() if key != missing}]}}, 422)
    config = {'resourceIdentifier': {'resource': 'anythings', 'name': 'a'}, 'updateStrategy': {'type': 'ServerSideApply',
                                                                                             'serverSideApply': {}}}
    made = put(server, 'ManifestWork', 'defaulted', {'deleteOption': {}, 'manifestConfigs': [config]})
    assert made['spec'] == {'deleteOption': {'propagationPolicy': 'Foreground'}, 'manifestConfigs': [
        {**config, 'feedbackScrapeType': 'Poll', 'updateStrategy': {'type': 'ServerSideApply',
                                                                    'serverSideApply': {'fieldManager': 'work-agent'}}}]}, made
    for spec in ({'deleteOption': {'propagationPolicy': 'Background'}}, {'executor': {'subject': {'type': 'User'}}},
                 {'executor': {'subject': {'type': 'ServiceAccount', 'serviceAccount': {'namespace': 'x', 'name': 'X'}}}},
                 {'manifestConfigs': [{}]},
                 {'manifestConfigs': [{**config, 'updateStrategy': {'type': 'Recreate'}}]},
                 {'manifestConfigs': [{**config, 'updateStrategy': {'type': 'ServerSideApply',
                                                                   'serverSideApply': {'fieldManager': 'me'}}}]}):
        put(server, 'ManifestWork', 'bad', spec, 422)


def accounts_have_two_versions(server):
    made = put(server, 'ManagedServiceAccount', 'sample', {'rotation': {}})
    assert made['spec'] == {'rotation': {'enabled': True, 'validity': '8640h0m0s'}}, made
    status, old = server.ask('GET', place_of('ManagedServiceAccount').replace('v1beta1', 'v1alpha1') + '/sample')
    assert status == 200 and old['apiVersion'] == 'authentication' + OCM + '/v1alpha1' and old['spec'] == made['spec'], old
    for spec in ({}, {'rotation': {}, 'ttlSecondsAfterCreation': 0}):
        put(server, 'ManagedServiceAccount', 'bad', spec, 422)


def fleet_shows_its_state(server):
    shown = {  # kind: spec, types of conditions, rest of the status, columns, cells from the second on
        'ClusterPermission': ({'clusterRoleBinding': {'subject': SUBJECT}}, ['AppliedRBACManifestWork', 'Validation', 'Ready'], {
            'observedGeneration': 1, 'resourceStatus': {'roles': [{'name': 'x', 'namespace': 'y', 'condition': [
                {'type': 'Applied', **CONDITION}]}]}},
            'APPLIED VALID CLUSTER AGE REASON', ['True', 'True', 'default', None, 'Because']),
        'ManifestWork': ({}, ['Applied', 'Available'], {'resourceStatus': {'manifests': [
            {'resourceMeta': {'ordinal': 0, 'kind': 'Role'}, 'conditions': [{'type': 'Applied', **CONDITION}],
             'statusFeedback': {'values': [{'name': 'n', 'fieldValue': {'type': 'Integer', 'integer': 1}}]}}]}},
            'APPLIED AVAILABLE AGE REASON', ['True', 'True', None, 'Because']),
        'AppliedManifestWork': ({'hubHash': 'h', 'manifestWorkName': 'w', 'agentID': 'a'}, [], {
            'appliedResources': [{'version': 'v1', 'resource': 'roles', 'name': 'x'}],
            'evictionStartTime': '2026-01-02T03:04:05Z'},
            'WORK/EVICTED SINCE/AGE', ['w', '2026-01-02T03:04:05Z', None]),
        'ManagedCluster': ({'hubAcceptsClient': True, 'leaseDurationSeconds': 60, 'managedClusterClientConfigs': [{'url': 'u'}]},
                           ['ManagedClusterJoined', 'ManagedClusterConditionAvailable'], {'version': {'kubernetes': 'v1.32.4'}},
                           'HUB ACCEPTED/MANAGED CLUSTER URLS/JOINED/AVAILABLE/AGE/KUBERNETES',
                           [True, 'u', 'True', 'True', None, 'v1.32.4']),
        'ManagedServiceAccount': ({'rotation': {'enabled': True, 'validity': '1h'}}, ['TokenReported'], {
            'expirationTimestamp': '2026-01-02T03:04:05Z',
            'tokenSecretRef': {'name': 's', 'lastRefreshTimestamp': '2026-01-02T03:04:05Z'}},
            'TOKEN EXPIRES AGE REASON', ['True', '2026-01-02T03:04:05Z', None, 'Because']),
        'ManagedClusterAddOn': ({'installNamespace': 'n'}, ['Available', 'Degraded', 'Progressing'], {'namespace': 'm'},
                                'AVAILABLE DEGRADED PROGRESSING NAMESPACE', ['True', 'True', 'True', 'm']),
    }
    assert sorted(shown) == sorted(PLACES)
    for kind, (spec, types, rest, names, cells) in shown.items():
        made = put(server, kind, 'shown', spec)
        made['status'] = {**rest, **({'conditions': [{'type': one, **CONDITION} for one in types]} if types else {})}
        status, answer = server.ask('PUT', place_of(kind) + '/shown/status?fieldValidation=Strict', made)
        assert status == 200 and answer['status'] == made['status'] and answer['spec'] == spec, answer
        found, rows = columns(server, place_of(kind))
        assert [name for name, _ in found] == ['NAME'] + names.split('/' if '/' in names else None), found
        assert [want for want in cells if want is not None] == [
            have for have, want in zip(rows['shown'][1:], cells) if want is not None], rows['shown']


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
        checks.run('a restart repairs what differs', restart_repairs, server),
        checks.run('a restart keeps what others brought', restart_keeps_what_others_brought, server)))
    with_server(lambda server: (  # where nobody acts on them
        apply_all(server),
        checks.run('installs are checked and defaulted', installs_are_checked, server),
        checks.run('installs show their state', installs_show_their_state, server),
        checks.run('records hold all that is written to them', records_hold_everything, server),
        checks.run('bindings of permissions need subjects', bindings_need_subjects, server),
        checks.run('a status that is written with a permission is dropped', written_status_is_dropped, server),
        checks.run('manifests of works are kept as they are', manifests_are_kept, server),
        checks.run('accounts have two versions', accounts_have_two_versions, server),
        checks.run('the kinds of a fleet show their state', fleet_shows_its_state, server)), '--no-controllers')
    sys.exit(checks.end())


if __name__ == '__main__':
    main()
