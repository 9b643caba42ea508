#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md lists every reason of a condition or an Event that controllers write, and no other.

usage: reasons_test.py ROOT

Reasons are CamelCase literals in the sources of controllers and of what they report for. A literal of that form is in a table of the
document, is the type of a condition in it, or is in OTHER: so a new reason cannot be forgotten.
"""
import glob
import os
import re
import sys

SOURCES = ('src/controllers', 'src/control', 'src/package', 'src/oci')
LITERAL = re.compile(r'(["\'])(%?s?[A-Z][A-Za-z%]*[a-z][A-Za-z]*)\1')  # a string, or a text in a template of json_build
COMMENT = re.compile(r'/\*.*?\*/', re.DOTALL)
# Pieces that reasons are made of.
COMPOSED = {
    '%sNotFound': ('RolesNotFound', 'ClusterRolesNotFound'),
    'All%sFound': ('AllRolesFound', 'AllClusterRolesFound'),
    'Evaluated': ('ConditionRuleEvaluated',),
    'Invalid': ('ConditionRuleInvalid',),
    'ExpressionError': ('ConditionRuleExpressionError',),
}
# What is no reason.
OTHER = set('''
Addon Always Application AppliedManifestWork Apply AvailableReplicas Background Binding Boolean Cluster ClusterPackage
ClusterPackageInstall ClusterPermission ClusterRole ClusterRoleBinding ClusterRoles ClusterStack ClusterStackInstall Complete
ConditionRule Config ConfigMap CreateOnly CustomResourceDefinition DaemonSet Default Deployment DesiredNumberScheduled Established
Event Failed False Filesystem Forbidden Foreground Group IfNotPresent Integer JSONPath JSONPaths Job JobComplete JobSucceeded
Labels Layers Lease Localhost Location ManagedServiceAccount Memory Namespace Namespaced Never NewReplicaSetAvailable NoSelect
Node None Normal NotOlderThan NumberAvailable NumberReady OnSpokeChange OnSpokePresent Opaque Orphan Package PackageInstall
PartialObjectMetadata Pod PodPhase PodReady Progressing Provider ReadOnly ReadyReplicas ReplicaFailure Replicas RepoTags
ResourceVersionTooLarge Role RoleBinding Roles RuntimeDefault Secret SelectivelyOrphan Selector ServerSideApply ServiceAccount
Stack StackInstall Strict String SubjectAccessReview Succeeded TokenRequest TokenReview True Unauthorized Update User Username
ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding Warning Webhook WellKnownConditions WellKnownStatus
'''.split())


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def literals(root):
    """{word: a file that has it}"""
    found = {}
    for folder in SOURCES:
        for path in sorted(glob.glob(os.path.join(root, folder, '**', '*.[ch]'), recursive=True)):
            for _, word in LITERAL.findall(COMMENT.sub('', read(path))):
                found.setdefault(word, os.path.relpath(path, root))
    return found


def tables(text):
    """(reasons, types of conditions) of the tables whose first column is the reason."""
    reasons, types, is_table = set(), set(), False
    for line in text.split('\n'):
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        is_table = line.startswith('|') and (is_table or cells[0] == 'reason')
        if is_table:
            reasons.update(re.findall(r'`(\w+)`', cells[0]))
            types.update(re.findall(r'\b[A-Z]\w+', cells[1]))
    return reasons, types


def main():
    root = sys.argv[1]
    found = literals(root)
    reasons, types = tables(read(os.path.join(root, 'docs', 'troubleshooting.md')))
    written = {reason for word in found for reason in COMPOSED.get(word, (word,))}
    checks = [
        ('every literal is listed as a reason, as a type or as something else',
         ['%s, in %s' % (word, found[word]) for word in sorted(found)
          if not set(COMPOSED.get(word, (word,))) <= reasons | types | OTHER]),
        ('every reason of the document is in the sources', sorted(reasons - written)),
        ('OTHER has no reason', sorted(OTHER & reasons)),
        ('pieces of reasons are in the sources', sorted(set(COMPOSED) - set(found))),
        ('reasons and sources were found', [] if reasons and found else ['none']),
    ]
    for number, (name, wrong) in enumerate(checks, 1):
        print('%sok %d - %s' % ('not ' if wrong else '', number, name))
        for line in wrong:
            print('# ' + line)
    print('1..%d' % len(checks))
    return 1 if any(wrong for _, wrong in checks) else 0


if __name__ == '__main__':
    sys.exit(main())
