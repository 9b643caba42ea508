# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: the installed files of a build below a folder, and archives that are always the same.

A build folder of any configuration will do; what makes a release is said in the Makefile."""
import contextlib
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ('bin/reeve', 'libexec/reeve/reeve-fetch')
PRIVATE = 'lib/reeve'  # where both look for libraries before the system does: install_rpath in meson.build
# What every system has of its own and has to: it goes with the kernel, and it looks up names and users. Of the compiler's libraries
# only sanitized programs load any.
C_LIBRARY = re.compile(r'^(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util|nsl|anl|nss_\w+|gcc_s|stdc\+\+|[a-z]+san))\.so(\.\d+)*$')


def run(*command, **kwargs):
    """What the command printed. The environment's language must not matter."""
    environment = {**os.environ, 'LC_ALL': 'C.UTF-8'}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, **kwargs).stdout


def introspect(build, what):
    return json.loads(run('meson', 'introspect', build, '--' + what))


def version(build):
    return introspect(build, 'projectinfo')['version']


def option(build, name):
    return next(row['value'] for row in introspect(build, 'buildoptions') if row['name'] == name)


def architecture():
    """As Go, and with it Kubernetes and OCI, calls it."""
    machine = os.uname().machine
    return {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine)


def epoch():
    """The time of everything that is made here: the first day of 1980, which every format can hold, unless somebody says another."""
    return int(os.environ.get('SOURCE_DATE_EPOCH', '315532800'))


def install(build, folder):
    """Puts what "make install" would put below the prefix into folder itself, which is made, with rights that do not depend on
    who calls."""
    scratch = folder + '.install'
    shutil.rmtree(scratch, ignore_errors=True)
    run('meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--strip', '--destdir', os.path.abspath(scratch))
    shutil.move(scratch + option(build, 'prefix'), folder)
    left = [name for _, _, names in os.walk(scratch) for name in names]
    if left:
        raise SystemExit('outside of the prefix: %s' % ' '.join(sorted(left)))
    shutil.rmtree(scratch)
    for path in files(folder):
        if not os.path.islink(path):
            os.chmod(path, 0o755 if os.stat(path).st_mode & 0o100 else 0o644)
    for path, _, _ in os.walk(folder):
        os.chmod(path, 0o755)


def files(folder):
    """All files and links below it, sorted."""
    return sorted(os.path.join(path, name) for path, folders, names in os.walk(folder)
                  for name in names + [name for name in folders if os.path.islink(os.path.join(path, name))])


def libraries(*programs):
    """{name: path} of the shared libraries that the dynamic linker loads for them, and of the linker itself."""
    found = {}
    for program in programs:
        for line in run('ldd', program).splitlines():
            match = re.match(r'\s*(?:(\S+) => )?(/\S+) \(0x', line)
            if match:
                found[os.path.basename(match.group(1) or match.group(2))] = match.group(2)
            elif 'not found' in line:
                raise SystemExit('%s:%s' % (program, line))
    return dict(sorted(found.items()))


def find_library(name):
    """Where the dynamic linker finds it, or None."""
    for line in run('/sbin/ldconfig', '-p').splitlines():
        match = re.match(r'\s*(\S+) \(.*\) => (/\S+)$', line)
        if match and match.group(1) == name:
            return match.group(2)
    return None


def digest(path, kind='sha256'):
    with open(path, 'rb') as file:
        return hashlib.new(kind, file.read()).hexdigest()


def owner(path):
    """(binary package, version, source package) that dpkg says a file is of, or None."""
    real = os.path.realpath(path)
    # What is in /usr/lib now may be known under /lib, where it was before they became one.
    for name in dict.fromkeys((real, re.sub('^/usr', '', real), path, '/usr' + path)):
        try:
            line = run('dpkg-query', '-S', name, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            continue
        package = line.split(': ')[0].split(', ')[0]
        return run('dpkg-query', '-W', '-f', '${Package} ${Version} ${source:Package}', package).split()
    return None


def copy_licences(paths, folder):
    """folder/PACKAGE for each package that one of the files is of."""
    os.makedirs(folder, exist_ok=True)
    for package in sorted({(owner(path) or [None])[0] for path in paths} - {None}):
        text = '/usr/share/doc/%s/copyright' % package
        if os.path.exists(text):
            shutil.copyfile(text, os.path.join(folder, package))


def write_archive(folder, top, path, special=None):
    """folder as top/ in path, a tar, gzip'ed if that says so: by name, owned by root, at the time of epoch().
    special: {name: (user, mode)} of what is otherwise."""
    def entry(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ''
        info.mtime = epoch()
        info.mode = 0o755 if info.mode & 0o100 or info.isdir() or info.issym() else 0o644
        if special and info.name in special:
            info.uid, info.mode = special[info.name]
            info.gid = info.uid
        return info

    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(path, 'wb'))
        if path.endswith('.gz'):
            out = stack.enter_context(gzip.GzipFile('', 'wb', 6, out, mtime=epoch()))
        archive = stack.enter_context(tarfile.open(fileobj=out, mode='w', format=tarfile.USTAR_FORMAT))
        for file in sorted(os.path.join(where, name) for where, folders, names in os.walk(folder) for name in folders + names):
            archive.add(file, os.path.join(top, os.path.relpath(file, folder)), recursive=False, filter=entry)
