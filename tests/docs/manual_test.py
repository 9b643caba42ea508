#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the manual gives as examples, on a machine of its own with the control plane of the tour and a registry: each is
understood, and none complains; and every page that another one names exists.

usage: manual_test.py REEVE ROOT

An example may answer no (status 1), as why and plan do; then it says so on standard output and does not complain.
"""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
import document  # noqa: E402
import machine  # noqa: E402
from session import MachineSession  # noqa: E402

# What the examples take for granted.
WHERE = 'export KUBECONFIG=~/.local/share/reeve/admin.kubeconfig'
BEFORE = WHERE + '''
mkdir -p ~/.kube ~/.config/fish/completions ~/mine && cp "$KUBECONFIG" ~/.kube/config
cp -r examples ~/mine && cp examples/fleet-crd.yaml ~/mine/posts.yaml && cd ~/mine
examples/package wordpress 1.1 a wordpress && kubectl create namespace shop'''
# What has to be gone before the examples of a page make sense.
PREPARE = {'reeve-uninstall': 'kubectl delete wordpressinstances,mysqlinstances,cloudsqlinstanceclasses --all -A'}
SERVERS = re.compile(r'reeve (up|manager|agent)\b(?!.*--print)')  # these go on until they are told to end
ANSWERS = re.compile(r'reeve (plan|who-can|why) ')  # these may answer no


def examples(path):
    with open(path, encoding='utf-8') as file:
        text = file.read()
    part = re.search(r'(?ms)^# EXAMPLES\n(.*?)^# ', text)
    lines = [line.strip().replace('\\', '') for line in part.group(1).split('\n') if line.startswith('\t')] if part else []
    return re.sub(r'\|\n', '| ', '\n'.join(lines)).split('\n') if lines else []  # a pipe goes on in the next line


def lost_references(root, path):
    """Pages that are named and do not exist."""
    with open(path, encoding='utf-8') as file:
        named = re.findall(r'\*(reeve[a-z-]*)\*\(1\)', file.read())
    return ' '.join(sorted({name for name in named if not os.path.exists(os.path.join(root, 'man', name + '.1.scd'))}))


def judge(session, command):
    """What is wrong with it, or nothing."""
    if SERVERS.match(command):
        block = document.Command(0, 'cd ~/mine; KUBECONFIG=~/.kube/config exec ' + command)
        block.expected = ['… msg=…']
        lines = session.open_terminal(block)
        return '' if lines is block.expected else '\n'.join(lines)
    lines, status = session.run(re.sub(r'^source <\((.*)\)$', r'\1 >/dev/null', command))
    complaints = [line for line in lines if re.match(r'(reeve|kubectl|bash|jq)( [a-z-]+)*: ', line)]
    is_good = status == 0 or status == 1 and ANSWERS.match(command)
    return '' if is_good and not complaints else 'status %d\n%s' % (status, '\n'.join(lines))


def main():
    reeve, root = (os.path.abspath(argument) for argument in sys.argv[1:])
    pages = sorted(glob.glob(os.path.join(root, 'man', '*.scd')), key=lambda path: ('uninstall' in path, path))
    session = MachineSession(reeve, root, '\n'.join(command for page in pages for command in examples(page)), has_reeve=True)
    session.environment['REEVE_LISTEN'] = '127.0.0.1:0'  # several servers run at a time
    count = failed = 0

    def tell(what, wrong):
        nonlocal count, failed
        count += 1
        failed += bool(wrong)
        print('%sok %d - %s' % ('not ' if wrong else '', count, what))
        if wrong:
            print('\n'.join('# ' + line for line in wrong.split('\n')))
        sys.stdout.flush()

    try:
        tour = document.Command(0, 'REEVE_DATA_DIR=~/.local/share/reeve examples/tour.sh')
        tour.expected = ['…', 'Ctrl-C ends the control plane; everything is there again at the next start.']
        lines = session.open_terminal(tour)
        tell('the tour', '' if lines is tour.expected else '\n'.join(lines))
        session.run(BEFORE)
        for path in pages:
            page = os.path.basename(path).split('.')[0]
            tell('%s: the pages it names' % page, lost_references(root, path))
            session.run(WHERE)
            session.run(PREPARE.get(page, 'true'))
            for command in examples(path):
                tell('%s: %s' % (page, command), judge(session, command))
        tell('there are examples', '' if count > 20 else 'only %d' % count)
    finally:
        found = session.close()
    tell('nothing for the sanitizers', found)
    print('1..%d' % count)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(machine.run(main))
