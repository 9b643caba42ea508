# SPDX-License-Identifier: Apache-2.0
"""What the lint scripts share: which files they look at, and how they report."""
import argparse
import os

CODE_FOLDERS = ('src', 'tests', 'fuzz', 'bench')


def root_argument(description):
    """The folder to look at: the one of the command line, or this repository."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('root', metavar='ROOT', nargs='?', help='another tree than this one',
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = parser.parse_args().root
    if not os.path.isdir(root):
        parser.error('no folder %s' % root)
    return root


def walk(root, folders):
    """Paths relative to root of all files below the folders, sorted."""
    found = []
    for folder in folders:
        for where, subfolders, names in os.walk(os.path.join(root, folder)):
            subfolders[:] = sorted(name for name in subfolders if not name.startswith(('.', '__', 'node_modules')))
            found += [os.path.relpath(os.path.join(where, name), root) for name in names]
    return sorted(found)


def c_files(root):
    """All C sources and headers."""
    return [path for path in walk(root, CODE_FOLDERS) if path.endswith(('.c', '.h'))]


def script_files(root):
    """Build descriptions and scripts: what starts with # comments."""
    found = [path for path in ('Makefile', 'meson.build', 'meson_options.txt', '.ci/run')
             if os.path.exists(os.path.join(root, path))]
    found += [path for path in walk(root, CODE_FOLDERS) if path.endswith(('meson.build', '.py', '.sh', '.bats'))]
    found += [path for path in walk(root, ['packaging']) if '/debian/' not in path and not path.endswith('.md')]
    return found + walk(root, ['tools'])


def documents(root):
    """Prose."""
    found = [name for name in os.listdir(root) if name.endswith('.md')]
    return sorted(found) + [path for path in walk(root, ['docs']) if path.endswith('.md')]


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8', errors='surrogateescape') as file:
        return file.read()


def report(name, problems, looked_at):
    """Print the problems, or one line of success; the exit code."""
    for problem in problems:
        print(problem)
    if not looked_at:
        print('%s: found no files to look at' % name)
        return 1
    print('%s: %s' % (name, '%d problems' % len(problems) if problems else 'ok, %d files' % looked_at))
    return 1 if problems else 0
