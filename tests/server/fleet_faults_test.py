#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet in bad times: the hub or a managed cluster dies, the network is gone, the hub comes back from an older backup. No grant is
lost, none stays when its permission is gone, and nothing is touched that was not delivered.

usage: fleet_faults_test.py REEVE [WORD]..."""
import concurrent.futures
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet_world import (APPLIED, FULL, JANE, JOHN, MERGE, RBAC, READ, WRITE, Fleet, condition, is_applied, is_gone,  # noqa: E402
                         permission, permissions, works)
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Tap, raise_files  # noqa: E402

ONE, TWO = 'cluster1', 'cluster2'
JOBS = 3  # fleets at the same time
ROLES, BINDINGS = RBAC + '/clusterroles', RBAC + '/clusterrolebindings'

# ---- What is not ours. ----

# One has the name of what is going to be delivered, one the label of what was.
FOREIGN = [
    (ROLES, {'metadata': {'name': 'mine'}, 'rules': [READ]}),
    (ROLES, {'metadata': {'name': 'labelled', 'labels': {'agent.reeve.dev/delivered': 'true'}}, 'rules': [READ]}),
    (BINDINGS, {'metadata': {'name': 'taken'}, 'subjects': [JOHN],
                'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'mine'}}),
    (RBAC + '/namespaces/default/roles', {'metadata': {'name': 'mine', 'namespace': 'default'}, 'rules': [WRITE]}),
    ('/api/v1/namespaces/default/configmaps', {'metadata': {'name': 'mine', 'namespace': 'default'}, 'data': {'a': 'b'}}),
]
# Its binding cannot be delivered: somebody has one of that name.
BLOCKED = {'clusterRole': {'rules': [READ]}, 'clusterRoleBindings': [{'name': 'taken', 'subject': JANE}]}


def is_blocked(cluster):
    def check(fleet):
        told = condition(fleet.hub.get(permissions(cluster, 'blocked')), 'AppliedRBACManifestWork')
        return '' if told['status'] == 'False' else 'blocked: %r' % told
    return check


class Foreign:
    """Objects that somebody else made on a managed cluster, as they were."""

    def __init__(self, server):
        self.server = server
        self.before = {path + '/' + one['metadata']['name']: server.must('POST', path, one) for path, one in FOREIGN}

    def check(self):
        for path, before in self.before.items():
            now = self.server.get(path)
            assert now == before, 'somebody touched %s: %r, was %r' % (path, now, before)


def delivered(server):
    """{path: (uid, what it says)} of all that carries the label, and belongs to a work."""
    found = {}
    for path in (ROLES, BINDINGS, RBAC + '/roles', RBAC + '/rolebindings'):
        for one in server.must('GET', path + '?labelSelector=agent.reeve.dev/delivered')['items']:
            meta = one['metadata']
            if meta.get('ownerReferences'):
                found['%s/%s/%s' % (path, meta.get('namespace', ''), meta['name'])] = (
                    meta['uid'], one.get('rules'), one.get('subjects'), one.get('roleRef'))
    return found


# ---- The fleet of all tests. ----

class World:
    """Two clusters with the permission team each, and foreign objects on both."""

    def __init__(self, binary, *flags):
        self.fleet = Fleet(binary, [ONE, TWO])
        self.fleet.agent_flags = list(flags)
        self.fleet.start()
        try:
            self.foreign = {name: Foreign(self.fleet[name].server) for name in (ONE, TWO)}
            for name in (ONE, TWO):
                self.fleet[name].server.namespace('blue', {'team': 'blue'})
                self.grant('team', FULL, name)
                self.grant('blocked', BLOCKED, name)
            for name in (ONE, TWO):
                self.fleet.wait(is_applied(name, 'team'))
                self.wait_repaired(name)
            self.given = {name: delivered(self.fleet[name].server) for name in (ONE, TWO)}
            assert len(self.given[ONE]) >= 7, self.given[ONE]
        except BaseException:
            self.fleet.remove()
            raise

    def grant(self, name, spec, cluster=ONE):
        self.fleet.hub.must('POST', permissions(cluster), permission(name, spec))

    def wait_delivered(self, cluster, path, is_there=True):
        server = self.fleet[cluster].server
        wait_for(lambda: bool(server.get(path)) == is_there, lambda: '%s %s%s' % (
            path, 'to come' if is_there else 'to go', self.fleet.log()))

    def wait_repaired(self, cluster):
        """The agent is at work: what somebody deletes comes back."""
        server, path = self.fleet[cluster].server, BINDINGS + '/first'
        uid = server.must('GET', path)['metadata']['uid']
        server.must('DELETE', path)

        def is_back():
            one = server.get(path)
            return one and one['metadata']['uid'] != uid
        wait_for(is_back, lambda: '%s to be repaired%s' % (path, self.fleet.log()))

    def check_given(self, *names, but=''):
        """All that was granted is there, and is the same object, but for what wait_repaired has made anew; and nothing else is, but
        what is named."""
        for name in names or (ONE, TWO):
            now = self.check_objects(name)
            for path, before in self.given[name].items():
                assert path.endswith('/first') or now[path][0] == before[0], '%s was deleted in between' % path
            more = [path for path in set(now) - set(self.given[name]) if not but or not path.endswith('/' + but)]
            assert not more, more

    def check_objects(self, name):
        """The same, be they other objects."""
        now = delivered(self.fleet[name].server)
        for path, before in self.given[name].items():
            assert path in now, '%s was lost on %s' % (path, name)
            assert now[path][1:] == before[1:], '%s: %r, was %r' % (path, now[path], before)
        return now

    def end(self):
        for foreign in self.foreign.values():
            foreign.check()
        for name in (ONE, TWO):
            self.fleet.wait(is_blocked(name))
        self.fleet.check_alive()
        self.fleet.stop()


def in_a_world(test, *flags):
    def run(binary):
        world = World(binary, *flags)
        try:
            test(world)
            world.end()
        finally:
            world.fleet.remove()
    return run


# ---- The hub. ----

def hub_dies(world):
    """Without a hub everything stays and is repaired; it comes back, and all goes on."""
    fleet = world.fleet
    fleet.hub.kill()
    for name in (ONE, TWO):
        world.wait_repaired(name)
    world.check_given()
    fleet.start_hub()
    world.grant('later', {'clusterRole': {'rules': [READ]}, 'clusterRoleBindings': [{'name': 'later', 'subject': JANE}]})
    fleet.wait(is_applied(ONE, 'later'))
    fleet.hub.must('DELETE', permissions(ONE, 'later'))
    fleet.wait(is_gone(ONE, 'later'))
    world.check_given()


def hub_dies_while_it_revokes(world):
    """What was being revoked is gone in the end."""
    fleet = world.fleet
    fleet.hub.must('DELETE', permissions(ONE, 'team'))
    fleet.hub.kill()
    fleet.start_hub()
    fleet.wait(is_gone(ONE, 'team'))
    world.wait_delivered(ONE, ROLES + '/team', False)
    assert not delivered_of(world, ONE, 'team'), delivered_of(world, ONE, 'team')
    world.check_given(TWO)


def delivered_of(world, cluster, word):
    return [path for path in delivered(world.fleet[cluster].server) if word in path or '/first' in path or '/second' in path]


def older_backup(world):
    """The hub forgets what was granted and revoked since: the one goes after its grace, the other comes back; the rest does not notice."""
    fleet = world.fleet
    bind = {'clusterRole': {'rules': [READ]}, 'clusterRoleBindings': [{'subject': JANE}]}
    world.grant('old', bind)
    fleet.wait(is_applied(ONE, 'old'))
    backup = fleet.hub.data + '.backup'
    fleet.hub.stop()
    shutil.copytree(fleet.hub.data, backup)
    fleet.start_hub()
    world.grant('new', bind)
    fleet.wait(is_applied(ONE, 'new'))
    fleet.hub.must('DELETE', permissions(ONE, 'old'))
    fleet.wait(is_gone(ONE, 'old'))
    fleet.hub.kill()
    shutil.rmtree(fleet.hub.data)
    os.rename(backup, fleet.hub.data)
    fleet.start_hub()
    world.wait_delivered(ONE, BINDINGS + '/old')
    world.wait_delivered(ONE, BINDINGS + '/new', False)
    world.wait_delivered(ONE, ROLES + '/new', False)
    fleet.hub.must('DELETE', permissions(ONE, 'old'))
    fleet.wait(is_gone(ONE, 'old'))
    world.check_given()


def older_backup_noticed(world):
    """With time to act, whoever grants it again in that time interrupts nobody."""
    fleet = world.fleet
    bind = {'clusterRole': {'rules': [READ]}, 'clusterRoleBindings': [{'subject': JANE}]}
    backup = fleet.hub.data + '.backup'
    fleet.hub.stop()
    shutil.copytree(fleet.hub.data, backup)
    fleet.start_hub()
    world.grant('new', bind)
    fleet.wait(is_applied(ONE, 'new'))
    server = fleet[ONE].server
    before = server.must('GET', BINDINGS + '/new')['metadata']['uid']
    fleet.hub.kill()
    shutil.rmtree(fleet.hub.data)
    os.rename(backup, fleet.hub.data)
    fleet.start_hub()

    def is_noticed():
        return [one for one in server.must('GET', APPLIED)['items'] if one.get('status', {}).get('evictionStartTime')]
    wait_for(is_noticed, lambda: 'the eviction to begin' + fleet.log())
    world.grant('new', bind)
    fleet.wait(is_applied(ONE, 'new'))
    assert server.must('GET', BINDINGS + '/new')['metadata']['uid'] == before
    world.check_given(but='new')


def forced_removal(world):
    """A work that was removed by force comes back, made by the hub, before its time is up."""
    fleet = world.fleet
    work = [one for one in fleet.hub.must('GET', works(ONE))['items'] if one['metadata']['name'].startswith('team-')][0]
    path = works(ONE, work['metadata']['name'])
    fleet.hub.must('DELETE', path)
    fleet.hub.ask('PATCH', path, {'metadata': {'finalizers': None}}, None, MERGE)

    def is_back():
        now = fleet.hub.get(path)
        return now and now['metadata']['uid'] != work['metadata']['uid'] and condition(now, 'Applied')['status'] == 'True'
    wait_for(is_back, lambda: 'the work to come back' + fleet.log())
    fleet.wait(is_applied(ONE, 'team'))
    world.check_objects(ONE)


# ---- Managed clusters. ----

def cluster_dies(world):
    """A managed cluster is away while its permission changes, and then is as it should be."""
    fleet = world.fleet
    fleet[ONE].server.kill()
    fleet.hub.must('PATCH', permissions(ONE, 'team'), {'spec': {'clusterRole': {'rules': [READ, WRITE]}}}, MERGE)
    fleet.hub.must('PATCH', permissions(TWO, 'team'), {'spec': {'clusterRole': {'rules': [READ, WRITE]}}}, MERGE)
    fleet.wait(is_applied(TWO, 'team'))  # others are not kept waiting
    fleet[ONE].server.start(None)
    fleet.wait(is_applied(ONE, 'team'))
    for name in (ONE, TWO):
        path = ROLES + '//team'
        uid, _, subjects, ref = world.given[name][path]
        world.given[name][path] = (uid, [READ, WRITE], subjects, ref)
    world.check_given()


def cluster_comes_back_empty(world):
    """Everything is delivered to a cluster that has lost it."""
    fleet = world.fleet
    member = fleet[ONE]
    fleet.hub.must('DELETE', permissions(ONE, 'blocked'))
    fleet.wait(is_gone(ONE, 'blocked'))
    member.server.kill()
    shutil.rmtree(member.server.data)
    member.server.start(None)
    world.foreign[ONE] = Foreign(member.server)
    world.grant('blocked', BLOCKED)
    member.server.namespace('blue', {'team': 'blue'})
    world.wait_delivered(ONE, RBAC + '/namespaces/blue/rolebindings/team')
    for path in (ROLES + '/team', BINDINGS + '/first', BINDINGS + '/second', RBAC + '/namespaces/default/rolebindings/team'):
        world.wait_delivered(ONE, path)
    world.check_objects(ONE)
    world.check_given(TWO)


# ---- The network. ----

def network_is_gone(world):
    """Cut off from the hub, an agent removes nothing, repairs, and does what it has missed when it is back."""
    fleet = world.fleet
    member = fleet[ONE]
    member.hub_proxy.go_away()
    fleet.hub.must('DELETE', permissions(ONE, 'team'))
    world.wait_repaired(ONE)
    world.check_given()
    member.hub_proxy.come_back()
    fleet.wait(is_gone(ONE, 'team'))
    assert not delivered_of(world, ONE, 'team'), delivered_of(world, ONE, 'team')
    world.check_given(TWO)


def network_to_the_cluster_is_gone(world):
    """The agent cannot reach its own cluster: it says nothing that it does not know, and goes on afterwards."""
    fleet = world.fleet
    member = fleet[ONE]
    member.proxy.go_away()
    fleet.hub.must('PATCH', permissions(ONE, 'team'), {'spec': {'clusterRoleBindings': [{'name': 'first', 'subject': JOHN}]}}, MERGE)
    world.check_given(TWO)
    member.proxy.come_back()
    fleet.wait(is_applied(ONE, 'team'))
    world.wait_delivered(ONE, BINDINGS + '/second', False)
    assert member.server.must('GET', BINDINGS + '/first')['subjects'] == [JOHN]


TESTS = [
    ('the hub dies', in_a_world(hub_dies)),
    ('the hub dies while it revokes', in_a_world(hub_dies_while_it_revokes)),
    ('the hub comes back from an older backup', in_a_world(older_backup, '--eviction-grace-period', '1s')),
    ('what an older backup has forgotten is granted again', in_a_world(older_backup_noticed)),
    ('a work is removed by force', in_a_world(forced_removal)),
    ('a managed cluster dies', in_a_world(cluster_dies)),
    ('a managed cluster comes back empty', in_a_world(cluster_comes_back_empty)),
    ('the hub cannot be reached', in_a_world(network_is_gone)),
    ('the managed cluster cannot be reached', in_a_world(network_to_the_cluster_is_gone)),
]


def main():
    raise_files()
    tap = Tap()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        chosen = [(name, test) for name, test in TESTS if all(word in name for word in sys.argv[2:])]
        for name, future in [(name, pool.submit(test, os.path.abspath(sys.argv[1]))) for name, test in chosen]:
            tap.run(name, future.result)
    sys.exit(tap.end())


if __name__ == '__main__':
    main()
