# SPDX-License-Identifier: Apache-2.0
"""What the tests of deploy/ share: how its texts are read, and how a program runs with the rights that they give it.

Imported with the arguments PATH-OF-REEVE DEPLOY-FOLDER on the command line."""
import os
import re
import subprocess
import sys
import time

import yaml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, 'server'))
from reeve_server import SANITIZER, Server, Tap  # noqa: E402,F401  # pylint: disable=unused-import

REEVE, DEPLOY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PATIENCE = 60


def output(*command, **kwargs):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kwargs).stdout


def documents(text):
    return {(o['kind'], o['metadata']['name']): o for o in yaml.safe_load_all(text) if o}


def read(*parts):
    with open(os.path.join(*parts), encoding='utf-8') as file:
        return file.read()


def wait_for(condition, what):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, 'never happened: ' + what
        time.sleep(0.02)


def is_restricted(kustomize, chart, *more):
    """What the Pod Security Standard "restricted" asks for, and a root file system that cannot be written."""
    for text in (output('kubectl', 'kustomize', kustomize), read(chart, 'templates', 'deployment.yaml')):
        for line in ('runAsNonRoot: true', 'type: RuntimeDefault', 'allowPrivilegeEscalation: false',
                     'readOnlyRootFilesystem: true', *more):
            assert line in text, line
        assert re.search(r'drop:\s*(\[ALL\]|- ALL)', text)


def kubeconfig_of(server, token, name):
    """Of whoever has the token; a file beside the server's."""
    config = yaml.safe_load(read(server.kubeconfig))
    config['users'][0]['user'] = {'token': token}
    path = os.path.join(server.folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        yaml.safe_dump(config, file)
    return path


def start(command, log, env):
    with open(log, 'ab') as file:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file, env=env)


def end(process, log):
    """It goes when it is told to, and has nothing to be ashamed of."""
    process.terminate()
    code = process.wait()
    text = read(log)
    assert not SANITIZER.search(text), text
    assert code == 0, text
