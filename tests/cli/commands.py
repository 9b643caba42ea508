# SPDX-License-Identifier: Apache-2.0
"""All commands, all conditions, and of each pair: a run that shows it, or why it cannot come about. behaviour_test.py holds the table
against the program: a command that is not in it, or a pair that is neither run nor explained, fails."""

# Condition: what it is, and what is expected of a command.
CONDITIONS = {
    'no server': 'nobody listens there, or nobody has said where: it says what it tried, and how a server is had',
    'wrong kubeconfig': 'it is not there, makes no sense, or has no such context: it says which file, and what there is',
    'expired token': 'it says whose, in which context, and since when',
    'no rights': 'it says who lacks which rights, and what would grant them',
    'no registry': 'nobody listens there: it says where',
    'unknown certificate': 'of a registry: it says so, and which flag names others',
    'refused credentials': 'by a registry: it says which right is missing, and which flag names credentials',
    'registry hangs up': 'it says who did',
    'nowhere to write': 'it says which file or directory, and leaves nothing',
    'taken port': 'it says which, and which flag names another',
    'closed output': 'closed, full, or with nobody who reads: never taken for success, and never sent elsewhere',
    '80 columns': 'what a terminal of that width shows is not wider, names and commands to copy excepted',
    'no colour': 'as asked for, by NO_COLOR and where no terminal is; and only colours differ',
    'locale': 'UTF-8, or nothing but ASCII',
    'json': 'one document, the same each time, with no field that its manual does not name; YAML says the same',
    'Ctrl-C': 'the terminal is as before, nothing is left behind, and the same command finishes it',
}

SERVER = ('no server', 'wrong kubeconfig', 'expired token', 'no rights')
REGISTRY = ('no registry', 'unknown certificate', 'refused credentials', 'registry hangs up')


def because(reason, *conditions):
    return {condition: reason for condition in conditions}


NO_SERVER = because('asks no server', *SERVER)
NO_REGISTRY = because('asks no registry', *REGISTRY)
NO_FILES = because('writes no file', 'nowhere to write')
NO_PORT = because('listens nowhere', 'taken port')
NO_JSON = because('has no such form: what it prints is one line, or none', 'json')
AT_ONCE = because('is over before anybody can type it', 'Ctrl-C')
A_NAME = because('prints one name with a digest, for programs', '80 columns')
YAML = because('prints YAML to be applied, whatever its width', '80 columns')
A_LOG = {**because('prints a log: a line each, as long as it is', '80 columns'), **because('has a log, and no colours', 'no colour'),
         **because('has a log, which is ASCII whatever the locale is', 'locale'), **because('has a log, and no documents', 'json')}
ASKING = {**NO_REGISTRY, **NO_FILES, **NO_PORT}

# Of each command: what cannot come about, and why. All else is run.
CANNOT = {
    'agent': {**NO_REGISTRY, **NO_FILES, **A_LOG},
    'approve': {**ASKING, **NO_JSON},
    'check': {**NO_SERVER, **ASKING, **because('reads files, writes none, and asks nobody', 'Ctrl-C')},
    'clusters add': {**NO_REGISTRY, **NO_PORT, **NO_JSON,
                     **because('prints a kubeconfig: the lines of certificates are as long as they are', '80 columns')},
    'clusters list': ASKING,
    'clusters remove': {**ASKING, **NO_JSON},
    'completion': {**NO_SERVER, **ASKING, **AT_ONCE, **because('prints a program for a shell', '80 columns', 'json')},
    'help': {**NO_SERVER, **ASKING, **AT_ONCE, **because('prints a page to be read', 'json')},
    'install': ASKING,
    'manager': {**NO_REGISTRY, **A_LOG},
    'matrix': ASKING,
    'package build': {**NO_SERVER, **NO_REGISTRY, **NO_PORT, **NO_JSON, **A_NAME},
    'package init': {**NO_SERVER, **NO_REGISTRY, **NO_PORT, **because('prints the files it made, a line each', 'json'),
                     **because('writes all or nothing while signals wait', 'Ctrl-C')},
    'package inspect': {**NO_SERVER, **NO_FILES, **NO_PORT},
    'package lint': {**NO_SERVER, **NO_FILES, **NO_PORT,
                     **because('prints "FILE: finding" a line each, as compilers do', '80 columns')},
    'package pull': {**NO_SERVER, **NO_PORT, **NO_JSON, **A_NAME},
    'package push': {**NO_SERVER, **NO_FILES, **NO_PORT, **NO_JSON, **A_NAME},
    'plan': {**NO_FILES, **NO_PORT},
    'tree': ASKING,
    'uninstall': {**ASKING, **NO_JSON},
    'up': {**NO_SERVER, **NO_REGISTRY, **because('greets in a few lines that hold no table', '80 columns'),
           **{name: A_LOG[name] for name in ('no colour', 'locale', 'json')}},
    'version': {**because('shows its own version whether or not a server answers', *SERVER), **ASKING,
                **because('is over in a moment, and leaves nothing', 'Ctrl-C')},
    'who-can': ASKING,
    'why': ASKING,
}
DAEMONS = ('agent', 'manager', 'up')  # run until they are told to end: daemons.py


class Command:
    """A run that does its work. In its words DIR is a package, IMAGE the name of one in a registry, FILE has a kind, MORE has
    objects of it, and NEW is a directory that is not there yet. failed: the exit code of what could not be done; ok: those of what
    could. talks: its flags have -q and --color. prints: it does so on standard output. needs: rights that not everybody has. asks:
    whom. before: what must be done first, each time."""

    def __init__(self, *words, failed=1, ok=(0,), formats=(), talks=True, prints=True, needs=True, asks='server', before=None):
        self.words, self.failed, self.ok, self.formats = words, failed, ok, formats
        self.talks, self.prints, self.needs, self.asks, self.before = talks, prints, needs, asks, before
        self.of = ' '.join(words[:2] if words[0] in ('clusters', 'package') else words[:1])  # the command
        self.name = ' '.join(words)


COMMANDS = [
    Command('agent', '--cluster=alpha', '--print-rbac', asks=None, talks=False),
    Command('approve', 'wordpress', '-n', 'default', '--ignore-not-found', prints=False),
    Command('check', 'FILE', asks=None, prints=False, formats=('json', 'yaml')),
    Command('check', 'FILE', 'MORE', asks=None, prints=False, formats=('json',)),
    Command('clusters', 'add', 'alpha', '--join-file', '-'),
    Command('clusters', 'list', formats=('json', 'yaml', 'name')),
    Command('clusters', 'remove', 'gone', prints=False, before=('clusters', 'add', 'gone', '-q', '--join-file', '-')),
    Command('completion', 'bash', asks=None),
    Command('help', asks=None, talks=False),
    Command('install', 'acme/wordpress:1.0', '-n', 'default', '--dry-run=client', formats=('json', 'yaml', 'name'), asks=None),
    Command('install', 'acme/wordpress:1.0', '-n', 'default', '--dry-run=server', formats=('json', 'yaml', 'name')),
    Command('manager', '--print-rbac', asks=None, talks=False),
    Command('matrix', formats=('json', 'yaml'), needs=False),
    Command('matrix', 'jane', formats=('json', 'yaml')),
    Command('package', 'build', 'DIR', '--tag', 'IMAGE', asks=None),
    Command('package', 'init', 'NEW', asks=None),
    Command('package', 'inspect', 'DIR', asks=None, formats=('json', 'yaml')),
    Command('package', 'inspect', 'IMAGE', asks='registry', formats=('json', 'yaml')),
    Command('package', 'lint', 'DIR', asks=None, prints=False, formats=('json', 'yaml')),
    Command('package', 'lint', 'IMAGE', asks='registry', prints=False, formats=('json', 'yaml')),
    Command('package', 'pull', 'IMAGE', asks='registry'),
    Command('package', 'push', 'IMAGE', asks='registry'),
    Command('plan', 'DIR', '-n', 'default', failed=3, ok=(0, 1), formats=('json', 'yaml')),
    Command('plan', 'IMAGE', '-n', 'default', '--offline', failed=3, ok=(0, 1), formats=('json', 'yaml'), asks='registry'),
    Command('tree', formats=('json', 'yaml')),
    Command('uninstall', 'wordpress', '-n', 'default', '--ignore-not-found', prints=False),
    Command('version', asks=None, formats=('json', 'yaml')),
    Command('who-can', 'get', 'secrets', formats=('json', 'yaml', 'name')),
    Command('why', 'system:kube-controller-manager', 'get', 'secrets', formats=('json', 'yaml'), failed=3),
    Command('why', 'system:serviceaccount:kube-system:generic-garbage-collector', 'escalate', 'clusterroles', ok=(1,), failed=3,
            formats=('json', 'yaml')),
]
