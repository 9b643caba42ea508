#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a plan says that somebody will be allowed, in the words of allowed.py, so that the two can be compared.

usage: planned.py gains|losses WHO REGEX <PLAN    WHO: controller, admins, editors, viewers; the plan: of "reeve plan -o json";
REGEX: of resources, as allowed.py --only has it

For every kind and subresource that the server has now, in every namespace and outside of all: the verbs that some rule of the
plan's gains, or losses, names there. KUBECONFIG says which server; it is asked what kinds and namespaces there are, and nothing else.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from allowed import MORE, VERBS, Server  # noqa: E402


def has(texts, text):
    return text in texts or '*' in texts


def grants(gain, namespace, group, resource):
    """The verbs that it grants there, '*' for all."""
    if not gain['isClusterWide'] and gain['namespace'] != namespace:
        return set()
    return {verb for rule in gain['rules'] if has(rule['apiGroups'], group) and has(rule['resources'], resource)
            for verb in rule['verbs']}


def main():
    which, who, only = sys.argv[1:]
    plan = json.load(sys.stdin)
    gains = [gain for gain in plan[which] if gain['who'] == who]
    server = Server(os.environ['KUBECONFIG'])
    namespaces = server.namespaces()
    for group, resource, namespaced in server.resources():
        full = resource + ('.' + group if group else '')
        if not re.fullmatch(only, full):
            continue
        for namespace in ['-'] + (namespaces if namespaced else []):
            granted = set().union(*(grants(gain, namespace, group, resource) for gain in gains))
            verbs = [verb for verb in VERBS + MORE.get(full, ()) if has(granted, verb)]
            if verbs:
                print(namespace, full, ','.join(verbs))


if __name__ == '__main__':
    sys.exit(main())
