# SPDX-License-Identifier: Apache-2.0
"""A picture of everything that is on a server: all objects of all kinds, without what differs from run to run.

    want = picture(server)
    difference(want, picture(other))    # '' if they are the same, else a few lines
"""
import json
import re

DISCOVERY = {'Accept': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'}
UID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
NEVER_THE_SAME = {'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'generation'}
NOT_PICTURED = {'events', 'leases', 'componentstatuses'}


def resources(server, connection):
    """(path of the collection) of everything that can be listed, each once."""
    found = set()
    for root in ('/api', '/apis'):
        code, groups = server.ask('GET', root, None, connection, DISCOVERY)
        assert code == 200, groups
        for group in groups['items']:
            name = group['metadata'].get('name', '')
            for one in group['versions'][0].get('resources', []):
                if 'list' in one['verbs'] and one['resource'] not in NOT_PICTURED:
                    found.add('%s%s/%s/%s' % (root, '/' + name if name else '', group['versions'][0]['version'], one['resource']))
    return sorted(found)


def strip(thing):
    """Takes away times and hashes of things that have a uid in them."""
    if isinstance(thing, dict):
        for key in ('lastTransitionTime', 'lastUpdateTime', 'time', 'acceptedAt'):
            thing.pop(key, None)
        if isinstance(thing.get('conditions'), list):
            thing['conditions'].sort(key=lambda one: one.get('type', ''))  # they are found by type
        for value in thing.values():
            strip(value)
    elif isinstance(thing, list):
        for value in thing:
            strip(value)


def picture(server, clean=None, words=None):
    """{path: object}: no two runs need differ in it. Uids are replaced by what has them; one that nothing has stays. clean: changes an
    object, before anything else is changed. words: texts that are others in each run, and what stands for them."""
    def reword(text):
        for word, other in (words or {}).items():
            text = text.replace(word, other)
        return text
    connection = server.connect()
    listed = {}
    try:
        for path in resources(server, connection):
            code, answer = server.ask('GET', path, None, connection)
            if code == 404:
                continue  # its CRD has just gone
            assert code == 200, (path, code, answer)
            for one in answer['items']:
                meta = one['metadata']
                listed['%s/%s/%s' % (path, meta.get('namespace', ''), meta['name'])] = one
    finally:
        connection.close()
    names = {one['metadata']['uid']: '<%s>' % path for path, one in listed.items() if 'uid' in one['metadata']}
    for path, one in listed.items():
        meta = one['metadata']
        if clean:
            clean(one)
        meta['is going'] = 'deletionTimestamp' in meta
        for key in NEVER_THE_SAME:
            meta.pop(key, None)
        one = json.loads(reword(UID.sub(lambda found: names.get(found.group(0), found.group(0)), json.dumps(one))))
        strip(one)
        one['metadata'].get('managedFields', []).sort(key=json.dumps)
        listed[path] = one
    return {reword(path): one for path, one in listed.items()}


def difference(want, have):
    """A few lines; '' if there is none."""
    lines = ['missing: ' + path for path in sorted(set(want) - set(have))]
    lines += ['too much: ' + path for path in sorted(set(have) - set(want))]
    for path in sorted(set(want) & set(have)):
        if want[path] != have[path]:
            lines += ['%s: %s' % (path, text) for text in differences(want[path], have[path], '')]
    return '\n'.join(lines[:40])


def differences(want, have, where):
    if isinstance(want, dict) and isinstance(have, dict):
        found = []
        for key in sorted(set(want) | set(have)):
            if want.get(key) != have.get(key):
                found += differences(want.get(key), have.get(key), where + '/' + key)
        return found
    return ['%s should be %s, is %s' % (where, json.dumps(want)[:600], json.dumps(have)[:600])]
