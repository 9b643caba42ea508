#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens of ServiceAccounts among users who try to keep them: longer than they may live, after the permission to request them is
revoked, through other accounts. And the keys that sign them, replaced while the server is killed.

usage: tokens_test.py REEVE"""
import base64
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet_world import Cluster  # noqa: E402
from reeve_manager import wait_for  # noqa: E402
from reeve_server import Tap  # noqa: E402

CORE = '/api/v1/namespaces/'
RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/'
CLUSTERS = '/apis/cluster.open-cluster-management.io/v1/managedclusters'
WHOAMI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
DAY = 86400


# ---- Words. ----

def read(token, part=1):
    """The header (0) or the claims (1)."""
    text = token.split('.')[part]
    return json.loads(base64.urlsafe_b64decode(text + '=' * (-len(text) % 4)))


def life(token):
    claims = read(token)
    return claims['exp'] - claims['iat']


def user(namespace, name):
    return 'system:serviceaccount:%s:%s' % (namespace, name)


def is_good(server, token):
    code, answer = server.ask_as(token, 'POST', WHOAMI, {})
    assert code in (201, 401), (code, answer)
    if code == 401:
        assert answer['message'] == 'Unauthorized', answer
    return code == 201


def request(server, token, namespace, name, seconds=3600, headers=None):
    """(status, token or message) of a TokenRequest with a token; None: with the certificate of the administrator."""
    connection = server.connect(certificate=token is None)
    own = {'Authorization': 'Bearer ' + token} if token else {}
    code, answer = server.ask('POST', '%s%s/serviceaccounts/%s/token' % (CORE, namespace, name),
                              {'spec': {'expirationSeconds': seconds}}, connection, {**own, **(headers or {})})
    connection.close()
    return code, answer['status']['token'] if code == 201 else answer['message']


def obtain(server, token, namespace, name, seconds=3600):
    code, got = request(server, token, namespace, name, seconds)
    assert code == 201, (code, got)
    return got


def account(server, namespace, *names):
    for name in names:
        server.must('POST', CORE + namespace + '/serviceaccounts', {'metadata': {'name': name}})


def grant(server, namespace, who, whose, name=None):
    """who: (namespace, account) may request tokens of the account."""
    name = name or '%s-%s' % (who[1], whose)
    server.must('POST', RBAC + namespace + '/roles', {'metadata': {'name': name}, 'rules': [
        {'apiGroups': [''], 'resources': ['serviceaccounts/token'], 'resourceNames': [whose], 'verbs': ['create']}]})
    server.must('POST', RBAC + namespace + '/rolebindings', {
        'metadata': {'name': name}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Role', 'name': name},
        'subjects': [{'kind': 'ServiceAccount', 'namespace': who[0], 'name': who[1]}]})


def revoke(server, namespace, name):
    server.must('DELETE', RBAC + namespace + '/rolebindings/' + name)
    server.must('DELETE', RBAC + namespace + '/roles/' + name)


# ---- A token never outlives the permission to renew it. ----

def renewal_ends_with_the_permission(server):
    server.namespace('renewal')
    account(server, 'renewal', 'a')
    given = server.token('renewal', 'a')
    assert request(server, given, 'renewal', 'a')[0] == 403
    grant(server, 'renewal', ('renewal', 'a'), 'a')
    chain = [given]
    for _ in range(12):  # however often: nothing adds up, and none lives longer than a day
        chain.append(obtain(server, chain[-1], 'renewal', 'a', 4294967296))
    assert all(is_good(server, one) for one in chain)
    assert {life(one) for one in chain[1:]} == {DAY}, [life(one) for one in chain]
    assert len(chain[12]) == len(chain[1]), [len(one) for one in chain]
    revoke(server, 'renewal', 'a-a')
    assert [is_good(server, one) for one in chain] == [True] + [False] * 12
    assert request(server, chain[-1], 'renewal', 'a')[0] == 401
    assert request(server, given, 'renewal', 'a')[0] == 403
    review = server.must('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {'spec': {'token': chain[-1]}})
    assert 'authenticated' not in review['status'], review
    grant(server, 'renewal', ('renewal', 'a'), 'a', 'again')
    assert is_good(server, chain[-1])


def chains_end_with_any_permission_on_the_way(server):
    """a may request tokens of b, b of c, c of a: with three hops there is a way around in every direction."""
    server.namespace('chain')
    account(server, 'chain', 'a', 'b', 'c')
    for who, whose in ('ab', 'bc', 'ca'):
        grant(server, 'chain', ('chain', who), whose)
    first = server.token('chain', 'a')
    b = obtain(server, first, 'chain', 'b', 2 * DAY)
    c = obtain(server, b, 'chain', 'c', 2 * DAY)
    back = obtain(server, c, 'chain', 'a', 2 * DAY)
    round_twice = obtain(server, obtain(server, back, 'chain', 'b'), 'chain', 'c')
    others = server.token('chain', 'c')  # of the administrator
    assert all(is_good(server, one) for one in (first, b, c, back, round_twice, others))
    assert life(c) == DAY
    revoke(server, 'chain', 'a-b')
    assert [is_good(server, one) for one in (first, b, c, back, round_twice, others)] == [True] + [False] * 4 + [True]
    grant(server, 'chain', ('chain', 'a'), 'b')
    revoke(server, 'chain', 'b-c')
    assert [is_good(server, one) for one in (first, b, c, back, others)] == [True, True, False, False, True]
    grant(server, 'chain', ('chain', 'b'), 'c')
    assert is_good(server, back)
    server.must('DELETE', CORE + 'chain/serviceaccounts/b')  # whose tokens were used on the way
    account(server, 'chain', 'b')
    assert [is_good(server, one) for one in (first, b, c, back, others)] == [True, False, False, False, True]


def impersonation_is_no_way_around(server):
    server.namespace('mask')
    account(server, 'mask', 'a', 'b')
    server.must('POST', RBAC + 'mask/roles', {'metadata': {'name': 'minter'}, 'rules': [
        {'apiGroups': [''], 'resources': ['serviceaccounts/token'], 'verbs': ['create']}]})
    server.must('POST', RBAC + 'mask/rolebindings', {
        'metadata': {'name': 'minter'}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Role', 'name': 'minter'},
        'subjects': [{'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'User', 'name': 'jane'}]})
    server.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {'metadata': {'name': 'mask'}, 'rules': [
        {'apiGroups': [''], 'resources': ['users'], 'resourceNames': ['jane'], 'verbs': ['impersonate']}]})
    server.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        'metadata': {'name': 'mask'}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'mask'},
        'subjects': [{'kind': 'ServiceAccount', 'namespace': 'mask', 'name': 'a'}]})
    a, jane = server.token('mask', 'a'), {'Impersonate-User': 'jane'}
    assert request(server, None, 'mask', 'b', headers=jane)[0] == 201
    code, why = request(server, a, 'mask', 'b', headers=jane)
    assert code == 403 and 'User "%s" cannot create resource "serviceaccounts/token"' % user('mask', 'a') in why, (code, why)
    grant(server, 'mask', ('mask', 'a'), 'b')
    code, b = request(server, a, 'mask', 'b', headers=jane)
    assert code == 201 and is_good(server, b)
    revoke(server, 'mask', 'a-b')
    assert not is_good(server, b) and is_good(server, a)


def long_ways_are_refused(server):
    """Nine accounts in a row: what a token says of its past is bounded."""
    server.namespace('long')
    names = ['n%d' % i for i in range(10)]
    account(server, 'long', *names)
    token = server.token('long', names[0])
    for i in range(1, 10):
        grant(server, 'long', ('long', names[i - 1]), names[i])
        code, token_or_why = request(server, token, 'long', names[i])
        assert code == (201 if i <= 8 else 403), (i, code, token_or_why)
        token = token_or_why if code == 201 else token
    assert 'obtained through 8 other accounts' in token_or_why and is_good(server, token)


# ---- Agents. ----

def accepted(server, name):
    one = server.get(CLUSTERS + '/' + name)
    return {each['type']: each['status'] for each in one.get('status', {}).get('conditions', [])}.get(
        'HubAcceptedManagedCluster') == 'True'


def agents_have_thirty_days(server):
    server.must('POST', CLUSTERS, {'apiVersion': 'cluster.open-cluster-management.io/v1', 'kind': 'ManagedCluster',
                                   'metadata': {'name': 'paris'}, 'spec': {'hubAcceptsClient': True}})
    wait_for(lambda: accepted(server, 'paris'), 'paris is accepted')
    joined = server.token('paris', 'reeve-agent', 365 * DAY)
    renewed = obtain(server, joined, 'paris', 'reeve-agent', 365 * DAY)
    assert life(joined) == life(renewed) == 30 * DAY, (life(joined), life(renewed))
    # Its token opens no other account; where it is allowed to, that account has a day.
    account(server, 'paris', 'bot')
    assert request(server, renewed, 'paris', 'bot')[0] == 403
    grant(server, 'paris', ('paris', 'reeve-agent'), 'bot')
    bot = obtain(server, renewed, 'paris', 'bot', 30 * DAY)
    assert life(bot) == DAY and is_good(server, bot)
    # A tenant's account of the same name is no agent.
    server.namespace('tenant', {'open-cluster-management.io/cluster-name': 'tenant'})
    account(server, 'tenant', 'reeve-agent')
    assert life(server.token('tenant', 'reeve-agent', 30 * DAY)) == DAY
    # Not accepted any more: what it got by itself ends, and it gets nothing new.
    server.must('PATCH', CLUSTERS + '/paris', {'spec': {'hubAcceptsClient': False}},
                {'Content-Type': 'application/merge-patch+json'})
    wait_for(lambda: not is_good(server, renewed), 'the agent is barred')
    assert not is_good(server, bot)
    assert request(server, joined, 'paris', 'reeve-agent')[0] in (401, 403)


# ---- Limits. ----

def the_flag_is_the_limit(server, binary):
    assert life(server.token('default', 'default', 4294967296)) == DAY
    server.stop()
    server.start(None, '--service-account-max-token-expiration', '2h')
    assert life(server.token('default', 'default', DAY)) == 7200
    server.stop()
    for wrong, why in {'30m': 'must be at least 1h', '59m59s': 'must be at least 1h', '0s': '', '-1h': '',
                       '8761h': 'is longer than a year'}.items():
        run = subprocess.run([binary, 'up', '--data-dir', server.data, '--service-account-max-token-expiration=' + wrong],
                             capture_output=True, text=True, check=False)
        assert run.returncode == 2 and why in run.stderr, (wrong, run)
    server.start()


# ---- Keys. ----

def keys_of(server):
    code, answer = server.ask('GET', '/openid/v1/jwks')
    assert code == 200, answer
    return [key['kid'] for key in answer['keys']]


def kid(token):
    return read(token, 0)['kid']


def keys_are_replaced(server):
    """sa.key is moved aside and a killed server started again: old tokens are good, new ones are signed by the new key. When the
    old key is removed, so are they. At every step the server is killed once more."""
    pki = os.path.join(server.data, 'pki')
    server.namespace('keys')
    account(server, 'keys', 'a')
    grant(server, 'keys', ('keys', 'a'), 'a')
    old = server.token('keys', 'a')
    assert keys_of(server) == [kid(old)]
    server.kill()
    os.rename(os.path.join(pki, 'sa.key'), os.path.join(pki, 'sa-2026.key'))
    for _ in range(2):
        server.start()
        assert is_good(server, old)
        # As an agent would: renewed with a token of the old key.
        new = obtain(server, old, 'keys', 'a')
        assert kid(new) != kid(old) and keys_of(server) == [kid(new), kid(old)], keys_of(server)
        assert is_good(server, new)
        server.kill()
    os.unlink(os.path.join(pki, 'sa-2026.key'))
    for _ in range(2):
        server.start()
        assert keys_of(server) == [kid(new)]
        assert is_good(server, new) and not is_good(server, old)
        assert kid(server.token('keys', 'a')) == kid(new)
        server.kill()
    server.start()


def killed_while_it_starts(server):
    """Whenever it is killed after the key was moved: in the end there is one new key, and the old one is accepted."""
    pki = os.path.join(server.data, 'pki')
    old = server.token('default', 'default')
    server.kill()
    os.rename(os.path.join(pki, 'sa.key'), os.path.join(pki, 'sa-old.key'))
    for turn in range(8):
        process = subprocess.Popen([server.binary, 'up', '--data-dir', server.data, '--listen', '127.0.0.1:0', '--kubeconfig',
                                    server.kubeconfig], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 30
        # From "nothing was done yet" to "the key has just appeared".
        while turn > 0 and not any(name.startswith('sa.key') for name in os.listdir(pki)) and process.poll() is None:
            assert time.monotonic() < end, 'no key appeared'
        process.kill()
        process.wait()
        if turn < 7 and os.path.exists(os.path.join(pki, 'sa.key')):
            os.unlink(os.path.join(pki, 'sa.key'))
    server.start()
    new = server.token('default', 'default')
    assert is_good(server, old) and is_good(server, new) and kid(old) != kid(new)
    assert keys_of(server) == [kid(new), kid(old)]
    server.stop()
    os.unlink(os.path.join(pki, 'sa-old.key'))
    server.start()


def bad_keys_are_told(server):
    """Before anything is served, with the file and what is wrong with it."""
    pki = os.path.join(server.data, 'pki')
    server.stop()
    with open(os.path.join(pki, 'sa.key'), encoding='ascii') as file:
        key = file.read()
    rsa = subprocess.run(['openssl', 'genrsa', '2048'], capture_output=True, text=True, check=True).stdout
    for name, text, mode, why in [
            ('sa-a.key', key, 0o600, 'sa-a.key holds the same key as sa.key: remove one of them'),
            ('sa-a.key', key, 0o644, 'sa-a.key is open to others (mode 0644)'),
            ('sa-a.key', 'rubbish', 0o600, 'sa-a.key is no unencrypted EC key on P-256'),
            ('sa-a.pub', rsa, 0o600, 'sa-a.pub is no unencrypted EC key on P-256')]:
        path = os.path.join(pki, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        os.chmod(path, mode)
        run = subprocess.run([server.binary, 'up', '--data-dir', server.data, '--listen', '127.0.0.1:0', '--kubeconfig',
                              server.kubeconfig], capture_output=True, text=True, check=False, timeout=60)
        assert run.returncode == 1 and why in run.stderr, (name, run)
        assert 'PRIVATE' not in run.stderr
        os.unlink(path)
    server.start()


def main():
    binary = sys.argv[1]
    tap = Tap()
    server = Cluster(binary)
    try:
        server.start()
        tap.run('a renewed token ends with the permission to renew it', renewal_ends_with_the_permission, server)
        tap.run('a chain of tokens ends with any permission on the way', chains_end_with_any_permission_on_the_way, server)
        tap.run('impersonation is no way around it', impersonation_is_no_way_around, server)
        tap.run('a chain is bounded', long_ways_are_refused, server)
        tap.run('agents have thirty days, nobody else', agents_have_thirty_days, server)
        tap.run('--service-account-max-token-expiration', the_flag_is_the_limit, server, binary)
        tap.run('keys are replaced: old tokens stay good until their key is removed', keys_are_replaced, server)
        tap.run('a server that is killed while it makes the new key', killed_while_it_starts, server)
        tap.run('bad and doubled keys are told at the start', bad_keys_are_told, server)
        server.stop()
    finally:
        server.remove()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
