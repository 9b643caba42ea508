# SPDX-License-Identifier: Apache-2.0
"""What the tests of packages share: the build they are made of, and trying what was in one."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'packages'))
from image import Layout  # noqa: E402
from install_world import CLASSES, DATABASES, crd, package  # noqa: E402
from reeve_manager import wait_for  # noqa: E402,F401
from reeve_server import Server, Tap  # noqa: E402,F401

BUILD, SOURCE = sys.argv[1:3]
PACKAGING = os.path.join(SOURCE, 'packaging')
sys.path.insert(0, PACKAGING)
sys.dont_write_bytecode = True
import stage  # noqa: E402

VERSION = stage.version(BUILD)
APP = 'title: WordPress\nversion: "1.0"\n'
# The leak checker needs ptrace and /proc, which are not there where programs are tried here; other tests look for leaks. Debian
# packages of sanitized programs are large, and nobody keeps them: no time is spent on making them small.
ENVIRONMENT = {**os.environ, 'ASAN_OPTIONS': 'detect_leaks=0', 'LC_ALL': 'C.UTF-8', 'DPKG_DEB_COMPRESSOR_LEVEL': '0'}


def run(*command, **kwargs):
    """(exit status, what it said)"""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250, check=False, text=True,
                          env=ENVIRONMENT, **kwargs)
    return done.returncode, done.stdout


def must(*command, **kwargs):
    code, text = run(*command, **kwargs)
    assert code == 0, '%s\n%s' % (' '.join(command), text)
    return text


def make(program, *words, **kwargs):
    return must(os.path.join(PACKAGING, program), *words, **kwargs)


def read(path, mode='rb'):
    with open(path, mode) as file:
        return file.read()


def package_tree(folder):
    """The smallest package there is."""
    os.makedirs(os.path.join(folder, '.registry'))
    with open(os.path.join(folder, '.registry', 'app.yaml'), 'w', encoding='ascii') as file:
        file.write(APP)
    return folder


def package_store(folder):
    """A store with one package for the whole cluster."""
    Layout(folder).add('acme/database:1.0', package('Cluster', '1.0', [crd(DATABASES, 'size: {type: integer}'),
                                                                        crd(CLASSES, '', 'Cluster')]))


def run_tests(tests):
    """Each method that does not begin with _, in the order they are written; a later one may need an earlier one."""
    tap = Tap()
    for name in [name for name in vars(type(tests)) if not name.startswith('_')]:
        tap.run(name.replace('_', ' '), getattr(tests, name))
    return tap.end()
