#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/test-kubernetes says where there is no Kubernetes, and what it leaves behind when it is stopped: nothing. The
binaries are ones of our own here. usage: kubernetes_test.py TOOLS-FOLDER"""
import os
import signal
import subprocess
import sys
import tempfile
import time

TOOL = os.path.join(sys.argv[1], 'test-kubernetes')
PROGRAMS = ('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl')


def tool(scratch, assets, *arguments):
    environment = {**os.environ, 'TMPDIR': scratch}
    environment.pop('KUBEBUILDER_ASSETS', None)
    if assets is not None:
        environment['KUBEBUILDER_ASSETS'] = assets
    return subprocess.Popen([TOOL, '--reeve', '/bin/true', *arguments], env=environment, stdout=subprocess.PIPE, text=True)


def write_program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='ascii') as file:
        file.write('#!/bin/sh\n' + text + '\n')
    os.chmod(path, 0o755)


def skipped_in_one_line(folder):
    for assets in (None, ''):
        process = tool(folder, assets)
        output = process.communicate()[0]
        assert process.returncode == 0, output
        assert output == ('test-kubernetes: skipped: $KUBEBUILDER_ASSETS does not name a folder with etcd, kube-apiserver, '
                          'kube-controller-manager and kubectl\n'), output


def missing_binaries_are_named(folder):
    write_program(folder, 'etcd', 'exit 1')
    write_program(folder, 'kubectl', 'exit 1')
    process = tool(folder, folder)
    output = process.communicate()[0]
    assert process.returncode == 1, output
    assert output == ('test-kubernetes: %s has no kube-apiserver, kube-controller-manager\n0 passed, 1 failed\n' % folder), output


def one_that_fails_is_a_failure(folder):
    for name in PROGRAMS:
        write_program(folder, name, 'echo it broke >&2; exit 3')
    process = tool(folder, folder)
    output = process.communicate()[0]
    assert process.returncode == 1, output
    assert 'etcd does not get ready:\nit broke\n' in output and output.endswith('\n0 passed, 1 failed\n'), output
    assert sorted(os.listdir(folder)) == sorted(PROGRAMS), os.listdir(folder)


def stopped_by(signal_number, code, folder):
    """One of the binaries hangs; where it writes its pid, we look for it later."""
    for name in PROGRAMS:
        write_program(folder, name, 'echo $$ >%s/pid.tmp; mv %s/pid.tmp %s/pid; exec sleep 600' % (folder, folder, folder))
    process = tool(folder, folder)
    path = os.path.join(folder, 'pid')
    while not os.path.exists(path):
        assert process.poll() is None
        time.sleep(0.01)
    with open(path, encoding='ascii') as file:
        child = int(file.read())
    process.send_signal(signal_number)
    process.communicate()
    assert process.returncode == code, process.returncode
    try:
        while True:  # after a SIGKILL the kernel ends it for us, soon
            os.kill(child, 0)
            time.sleep(0.01)
    except ProcessLookupError:
        pass
    return sorted(set(os.listdir(folder)) - set(PROGRAMS) - {'pid'})


def nothing_is_left(folder, signal_number, code):
    left = stopped_by(signal_number, code, folder)
    assert not left, left


def main():
    cases = [
        ('without the variable: one line that says why', skipped_in_one_line),
        ('binaries that are missing are named', missing_binaries_are_named),
        ('a binary that fails is a failure, and its words are shown', one_that_fails_is_a_failure),
        ('^C leaves nothing behind', lambda folder: nothing_is_left(folder, signal.SIGINT, 130)),
        ('SIGTERM leaves nothing behind', lambda folder: nothing_is_left(folder, signal.SIGTERM, 143)),
        ('SIGKILL leaves no process behind', lambda folder: stopped_by(signal.SIGKILL, -9, folder)),
    ]
    print('1..%d' % len(cases))
    for number, (name, case) in enumerate(cases, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(os.path.realpath(folder))
                print('ok %d - %s' % (number, name), flush=True)
            except AssertionError as error:
                print('not ok %d - %s\n# %s' % (number, name, str(error).replace('\n', '\n# ')), flush=True)


main()
