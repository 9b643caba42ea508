#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What image.py writes, read back by others: tar, gzip, zstd; and that it lies only when told to. usage: image_test.py EXAMPLES-FOLDER"""
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
import image  # noqa: E402 pylint: disable=wrong-import-position

READERS = {'gzip': ['gzip', '-dc'], 'zstd': ['zstd', '-qdc'], 'none': ['cat']}
RESULTS = []


def check(name, good):
    RESULTS.append(good)
    print('%s %d - %s' % ('ok' if good else 'not ok', len(RESULTS), name), flush=True)


def listing(archive):
    return subprocess.run(['tar', '-t'], input=archive, capture_output=True, check=True).stdout.decode().split()


def snapshot(folder):
    """{path: bytes} of all files below it."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), 'rb') as file:
                found[os.path.relpath(os.path.join(where, name), folder)] = file.read()
    return found


def check_packages(examples, scratch):
    for number, (name, version, form) in enumerate(
            (name, version, form) for name in ('provider', 'wordpress') for version in ('1.0', '1.1') for form in 'ab'):
        tree = os.path.join(scratch, 'tree%d' % number)
        subprocess.run([os.path.join(examples, 'package'), name, version, form, tree], check=True)
        for how, reader in READERS.items():
            built = image.package_image(tree, how)
            archive = subprocess.run(reader, input=built.layers[0].data, capture_output=True, check=True).stdout
            wanted = '.registry/app.yaml' if form == 'a' else 'package.yaml'
            check('%s %s, format %s, %s: others can read it' % (name, version, form, how), wanted in listing(archive))
            check('%s %s, format %s, %s: digests are right' % (name, version, form, how),
                  json.loads(built.config.data)['rootfs']['diff_ids'] == ['sha256:' + hashlib.sha256(archive).hexdigest()]
                  and all(blob.digest == image.digest_of(blob.data) and blob.size == len(blob.data) for blob in built.blobs()))
        layouts = []
        for once in 'xy':
            folder = os.path.join(scratch, 'layout%d%s' % (number, once))
            image.Layout(folder).add('acme/%s:%s' % (name, version), image.package_image(tree))
            layouts.append(snapshot(folder))
        check('%s %s, format %s: the same twice' % (name, version, form), layouts[0] == layouts[1])


def check_layout(scratch):
    layout = image.Layout(os.path.join(scratch, 'layout'))
    first, second = (image.Image([image.Layer([image.File('a', text)])]) for text in ('one', 'two'))
    layout.add('acme/a:1', first)
    layout.add('acme/b:1', image.Index([first, second]))
    layout.add('acme/a:1', second)
    names = {one['annotations'][image.REF_NAME]: one['digest'] for one in layout.manifests()}
    check('a name stands for what it was given last', names['acme/a:1'] == second.digest and len(names) == 2)
    check('an index brings its images along', all(
        os.path.exists(os.path.join(layout.blobs, blob.digest[7:])) for blob in first.blobs() + second.blobs()))
    layout.remove('acme/a:1')
    check('a name can be taken away', [one['annotations'][image.REF_NAME] for one in layout.manifests()] == ['acme/b:1'])


def check_lies():
    layer = image.Layer([image.File('a', 'x')], size=1, digest='sha256:' + '0' * 64)
    said = json.loads(image.Image([layer]).data)['layers'][0]
    check('a layer lies about its digest and size', (said['digest'], said['size']) == (layer.digest, 1) and len(layer.data) > 1)
    entries = [image.File('/etc/passwd', 'x'), image.File('../up', 'x'), image.Link('link', '/etc'), image.HardLink('hard', 'a'),
               image.Device('null'), image.File('long/' + 'x' * 300, 'y')]
    members = tarfile.open(fileobj=io.BytesIO(image.tar(entries))).getmembers()
    check('an archive has what it should not', [one.name for one in members] == [entry.info.name for entry in entries]
          and members[2].issym() and members[3].islnk() and members[4].ischr())
    head = image.File('big', b'', size=2**32).bytes()
    check('a file lies about its size', tarfile.TarInfo.frombuf(head[-512:], 'utf-8', 'strict').size == 2**32)
    changed = json.loads(image.Image([layer], manifest={'schemaVersion': 1, 'mediaType': None}).data)
    check('a manifest is what one says', changed['schemaVersion'] == 1 and 'mediaType' not in changed)


def main():
    with tempfile.TemporaryDirectory(prefix='reeve-image-') as scratch:
        check_packages(sys.argv[1], scratch)
        check_layout(scratch)
        check_lies()
    print('1..%d' % len(RESULTS))
    return 0 if all(RESULTS) else 1


if __name__ == '__main__':
    sys.exit(main())
