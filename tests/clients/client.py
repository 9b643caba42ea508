#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Drives a server with the Python client: objects, patches, watches, custom resources, reviews. KUBECONFIG says where.
Speaks TAP. The system's own Python, because the client comes as a Debian package."""
import os
import sys
import time
import traceback

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core = client.CoreV1Api()
namespace = 'python-%d' % os.getpid()
group = 'p%d.example.com' % os.getpid()
tests = []


def test(function):
    tests.append(function)
    return function


def refused(code, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except ApiException as error:
        assert error.status == code, (error.status, error.body)
        return error
    raise AssertionError('not refused')


def eventually(function):
    for _ in range(600):
        if function():
            return
        time.sleep(0.05)
    raise AssertionError('did not happen within half a minute')


def configmap(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


@test
def create_read_replace_delete():
    made = core.create_namespaced_config_map(namespace, configmap('a', k='1'))
    made.data['k'] = '2'
    core.replace_namespaced_config_map('a', namespace, made)
    assert core.read_namespaced_config_map('a', namespace).data == {'k': '2'}
    refused(409, core.replace_namespaced_config_map, 'a', namespace, made)
    assert core.delete_namespaced_config_map('a', namespace).status == 'Success'
    refused(404, core.read_namespaced_config_map, 'a', namespace)


@test
def patches_strategic_and_json():
    core.create_namespaced_config_map(namespace, configmap('p', k='1', gone='1'))
    patched = core.patch_namespaced_config_map('p', namespace, {'data': {'k': '2', 'gone': None}})
    assert patched.data == {'k': '2'}, patched.data
    patched = core.patch_namespaced_config_map('p', namespace, [{'op': 'add', 'path': '/data/x', 'value': 'y'}])
    assert patched.data == {'k': '2', 'x': 'y'}, patched.data


@test
def lists_and_collections():
    for i in range(3):
        body = configmap('c%d' % i)
        body.metadata.labels = {'set': 'c'}
        core.create_namespaced_config_map(namespace, body)
    page = core.list_namespaced_config_map(namespace, label_selector='set=c', limit=2)
    assert len(page.items) == 2 and page.metadata._continue
    core.delete_collection_namespaced_config_map(namespace, label_selector='set=c')
    assert not core.list_namespaced_config_map(namespace, label_selector='set=c').items


@test
def a_watch_sees_every_event():
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, configmap('w', v='1'))
    core.patch_namespaced_config_map('w', namespace, {'data': {'v': '2'}})
    core.delete_namespaced_config_map('w', namespace)
    seen = []
    for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, resource_version=version,
                                      timeout_seconds=2, field_selector='metadata.name=w'):
        seen.append((event['type'], event['object'].data['v']))
    assert seen == [('ADDED', '1'), ('MODIFIED', '2'), ('DELETED', '2')], seen


@test
def custom_resources_by_the_dynamic_client():
    schema = {'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}
    crd = {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
           'metadata': {'name': 'things.' + group},
           'spec': {'group': group, 'scope': 'Namespaced', 'names': {'plural': 'things', 'kind': 'Thing'},
                    'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': schema}]}}
    extensions = client.ApiextensionsV1Api()
    extensions.create_custom_resource_definition(crd)
    eventually(lambda: any(c.type == 'Established' and c.status == 'True' for c in
                           extensions.read_custom_resource_definition('things.' + group).status.conditions or []))
    things = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=group + '/v1', kind='Thing')
    body = {'apiVersion': group + '/v1', 'kind': 'Thing', 'metadata': {'name': 't'}, 'spec': {'any': [1, {'a': None}]}}
    things.create(body=body, namespace=namespace)
    patched = things.patch(body={'spec': {'more': True}}, name='t', namespace=namespace,
                           content_type='application/merge-patch+json')
    assert patched.spec.more is True
    assert len(things.get(namespace=namespace).items) == 1
    things.delete(name='t', namespace=namespace)
    extensions.delete_custom_resource_definition('things.' + group)


@test
def access_reviews():
    attributes = client.V1ResourceAttributes(namespace=namespace, verb='get', resource='secrets')
    spec = client.V1SubjectAccessReviewSpec(user='nobody', resource_attributes=attributes)
    review = client.AuthorizationV1Api().create_subject_access_review(client.V1SubjectAccessReview(spec=spec))
    assert review.status.allowed is False


@test
def refusals_have_a_status():
    error = refused(422, core.create_namespaced_config_map, namespace, configmap('Bad_Name'))
    assert '"reason":"Invalid"' in error.body, error.body


def main():
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))
    failed = 0
    print('1..%d' % len(tests))
    for number, function in enumerate(tests, 1):
        try:
            function()
            print('ok %d - %s' % (number, function.__name__.replace('_', ' ')), flush=True)
        except Exception:  # pylint: disable=broad-except # whatever it is, it is reported
            failed += 1
            print('not ok %d - %s' % (number, function.__name__.replace('_', ' ')))
            print('# ' + traceback.format_exc().replace('\n', '\n# '), flush=True)
    core.delete_namespace(namespace)
    sys.exit(1 if failed else 0)


main()
