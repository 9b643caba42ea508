#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What holds for every document of the repository, whether it has commands or not: they are run, what they name exists.

usage: documents_test.py ROOT BUILD-FOLDER
"""
import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
import document  # noqa: E402

LEFT_OUT = re.compile(r'build.*|\..*|corpus|node_modules')
LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
CODE = re.compile(r'`([^`\n]+)`')
NAMED = re.compile(r'`([a-z0-9-]+(?:/[\w*.{},-]+)*)`,? "([^"]+)"')
TOP = ('bench', 'deploy', 'docs', 'examples', 'fuzz', 'man', 'packaging', 'src', 'tests', 'tools')
SUITES = ('cli', 'crash', 'docs', 'e2e', 'packaging', 'server', 'tools')


def find_documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not LEFT_OUT.fullmatch(name))
        for name in sorted(files):
            if name.endswith('.md'):
                yield os.path.relpath(os.path.join(folder, name), root)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


class Tests:
    """What meson runs."""

    def __init__(self, build):
        tests = json.loads(read(os.path.join(build, 'meson-info', 'intro-tests.json')))
        self.names = {(suite.split(':')[-1], test['name']) for test in tests for suite in test['suite']}
        self.followed = {os.path.realpath(test['cmd'][-1]) for test in tests
                         if any(os.path.basename(word) == 'run_document.py' for word in test['cmd'])}

        benchmarks = json.loads(read(os.path.join(build, 'meson-info', 'intro-benchmarks.json')))
        self.benchmarks = {os.path.basename(benchmark['cmd'][0]) for benchmark in benchmarks}

    def measure(self, path):
        """bench/server/costs.c is the program bench_server_costs."""
        return os.path.exists(path) and '_'.join(os.path.splitext(path)[0].split(os.sep)[-3:]) in self.benchmarks

    def have(self, suite, pattern):
        expression = re.compile(re.escape(pattern).replace(r'\*', '.*'))
        return any(s == suite and expression.fullmatch(name) for s, name in self.names)


def anchors(text):
    """Of the headings, as GitHub makes them."""
    found = set()
    for line in re.sub(r'(?ms)^```.*?^```', '', text).split('\n'):
        if re.match(r'#+ ', line):
            title = re.sub(r'[`*]|\[([^\]]*)\]\([^)]*\)', r'\1', line.lstrip('#').strip())
            found.add(re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-'))
    return found


def prose(text):
    """Without code blocks, in which neither links nor names count."""
    lines = text.split('\n')
    for block in document.parse(text):
        for number in range(block.line - 1, block.line - 1 + len(block.lines)):
            lines[number] = ''
    return '\n'.join(lines)


# ---- What is wrong with a document. ----

def stray_commands(_, __, text):
    for block in document.parse(text):
        for line, command in block.stray_commands():
            yield 'line %d: nothing runs "%s"' % (line, command)


def marks(world, _, text):
    for number, line in enumerate(text.split('\n'), 1):
        if document.ANY_COMMENT.match(line.strip()) and not document.MARK.match(line.strip()):
            yield 'line %d: a comment that says nothing to the runner' % number
    for block in document.parse(text):
        for path in block.argument.split() if block.mark == 'measured' else []:
            if not world.tests.measure(os.path.join(world.root, path)):
                yield 'line %d: no benchmark is %s' % (block.line, path)
        for command in block.commands if block.mark == 'measured' else []:
            if not is_benchmark(world, block, command.text.split()):
                yield 'line %d: %s is no part of "make bench"' % (command.line, command.text)


def is_benchmark(world, block, words):
    """build/bench/PROGRAM [build/reeve [PART]], where the source of the program knows the part."""
    paths = [path for path in block.argument.split() if words[0] == 'build/bench/bench_' + '_'.join(path[:-2].split(os.sep)[1:])]
    return len(paths) == 1 and words[1:2] in ([], ['build/reeve']) and all(
        '"%s"' % part in read(os.path.join(world.root, paths[0])) for part in words[2:])


def followed(world, path, text):
    has_commands = any(block.commands for block in document.parse(text) if block.mark != 'measured')
    if has_commands and os.path.realpath(os.path.join(world.root, path)) not in world.tests.followed:
        yield 'it has commands, and tests/docs/meson.build does not name it'


def mentions(world, _, text):
    """What is named in prose as a command: the target, or the program and its flags, are there."""
    for code in sorted(set(CODE.findall(prose(text)))):
        command, _, arguments = code.partition(' -- ')
        words = command.split()
        wrong = unknown_words(world, words) if len(words) > 1 else []
        if words[:1] == ['tools/test']:
            wrong += unknown_tests(world, arguments.split())
        if wrong:
            yield '`%s`: there is no %s' % (code, ', '.join(wrong))


def unknown_words(world, words):
    if words[0] == 'make':
        targets = re.findall(r'^([a-z-]+):', read(os.path.join(world.root, 'Makefile')), re.MULTILINE)
        return [word for word in words[1:] if re.fullmatch(r'[a-z-]+', word) and word not in targets]
    if re.fullmatch(r'tools/[a-z-]+', words[0]):
        pages = [words[0]]
    elif words[0] == 'reeve' and re.fullmatch(r'[a-z][a-z-]*', words[1]):
        pages = [os.path.join('man', 'reeve-%s.1.scd' % words[1]), os.path.join('man', 'reeve.1.scd')]
    else:
        return []
    told = ''.join(read(os.path.join(world.root, page)) for page in pages if os.path.exists(os.path.join(world.root, page)))
    flags = [re.match(r'--[a-z-]+', word).group() for word in words if re.match(r'--[a-z]', word)]
    return [word for word in [words[1]] * (words[0] == 'reeve') + flags if word not in told] if told else words[:1]


def unknown_tests(world, words):
    """Of "tools/test -- --suite SUITE" or "tools/test -- NAME..."."""
    if words[:1] == ['--suite']:
        return [word for word in words[1:] if not world.tests.have(word, '*')]
    return [word for word in words if '<' not in word and word not in {name for _, name in world.tests.names}]


def links(world, path, text):
    for target in LINK.findall(CODE.sub('', prose(text))):
        if re.match(r'[a-z]+:', target):
            continue
        name, _, anchor = target.partition('#')
        file = os.path.normpath(os.path.join(world.root, os.path.dirname(path), name)) if name else os.path.join(world.root, path)
        if not os.path.exists(file):
            yield 'link to %s, which does not exist' % target
        elif anchor and anchor not in anchors(read(file)):
            yield 'link to %s: no such heading' % target


def candidates(world, name):
    """The files that a name like api/sizes or unit-net/limits may stand for; None: it stands for none of them."""
    first, _, rest = name.partition('/')
    rest = rest.rstrip('/')
    if first.startswith('unit-'):
        folder = os.path.join('tests', 'unit', first[5:])
        return [os.path.join(folder, 'test_%s.c' % rest)] if rest else [folder]
    if not rest:
        return None
    if first in TOP:
        return [name.rstrip('/'), name + '.c', name + '.test', os.path.join(first, '%s_%s.c' % (first, rest))]
    if first == 'cases':
        return [os.path.join('tests', name.rstrip('/')), os.path.join('tests', name + '.test')]
    if first in SUITES:
        return [os.path.join('tests', first, rest + ending) for ending in ('_test.py', '.bats', '.c')] + [
            os.path.join('tests', first, rest.replace('-', '_') + '.bats')] + source_paths(name)
    if os.path.isdir(os.path.join(world.root, 'tests', 'cases', first)):
        return [os.path.join('tests', 'cases', first, rest + '.test')] + source_paths(name)
    if os.path.isdir(os.path.join(world.root, 'src', first)):
        return source_paths(name)
    return None


def source_paths(name):
    return [os.path.join('src', name), os.path.join('src', 'controllers', name)]


def exists(world, name):
    paths = candidates(world, name)
    if paths is None:
        return True
    first, _, rest = name.partition('/')
    return any(glob.glob(os.path.join(world.root, path)) for path in paths) or (
        first in SUITES and world.tests.have(first, rest))


def names(world, _, text):
    for name in sorted(set(CODE.findall(prose(text)))):
        if re.fullmatch(r'[a-z0-9][\w.-]*(?:/[\w*.-]+)*/?', name) and not exists(world, name):
            yield '`%s` does not exist' % name
    for name, title in NAMED.findall(prose(text)):
        files = [file for pattern in candidates(world, name) or [] for file in glob.glob(os.path.join(world.root, pattern))]
        if files and not any(title in read(file) for file in files if os.path.isfile(file)):
            yield '`%s` has no "%s"' % (name, title)


CHECKS = [
    ('its commands are run', stray_commands),
    ('its marks make sense', marks),
    ('a test follows it', followed),
    ('its links lead somewhere', links),
    ('the commands it mentions exist', mentions),
    ('what it names exists', names),
]


class World:
    def __init__(self, root, build):
        self.root, self.tests = os.path.abspath(root), Tests(build)


def main():
    world = World(sys.argv[1], sys.argv[2])
    count = failed = 0
    for path in find_documents(world.root):
        text = read(os.path.join(world.root, path))
        for what, check in CHECKS:
            wrong = list(check(world, path, text))
            count += 1
            failed += bool(wrong)
            print('%sok %d - %s: %s' % ('not ' if wrong else '', count, path, what))
            for line in wrong:
                print('# ' + line)
    count += 1
    print('%sok %d - documents were found' % ('' if count > 1 else 'not ', count))
    print('1..%d' % count)
    return 1 if failed or count == 1 else 0


if __name__ == '__main__':
    sys.exit(main())
