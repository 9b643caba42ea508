#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes images, good ones and bad ones: every byte, digest and size of them can be chosen.

    layer = Layer([File('.registry/app.yaml', b'title: x\\n'), Link('.registry/crd.yaml', '/etc/passwd')])
    Layout(folder).add('acme/wordpress:1.1', Image([layer]))

The same input makes the same bytes: no times, no owners, entries in the order given. What is not said otherwise is right; a
lie is an argument: Layer(..., size=1), File(..., size=10**12), Image(..., manifest={'layers': []}), Layout.put(..., digest).

usage: image.py pack FOLDER REFERENCE LAYOUT [--compression gzip|zstd|none] [--docker]
       image.py archive FOLDER REFERENCE FILE [--compression gzip|zstd|none] [--docker]
FOLDER has .registry (format A) or package.yaml (format B). With --docker: the media types and the archive of docker.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

OCI = 'application/vnd.oci.image.'
DOCKER = 'application/vnd.docker.'
TYPES = {
    'oci': {'index': OCI + 'index.v1+json', 'manifest': OCI + 'manifest.v1+json', 'config': OCI + 'config.v1+json',
            'none': OCI + 'layer.v1.tar', 'gzip': OCI + 'layer.v1.tar+gzip', 'zstd': OCI + 'layer.v1.tar+zstd'},
    'docker': {'index': DOCKER + 'distribution.manifest.list.v2+json', 'manifest': DOCKER + 'distribution.manifest.v2+json',
               'config': DOCKER + 'container.image.v1+json', 'none': DOCKER + 'image.rootfs.diff.tar',
               'gzip': DOCKER + 'image.rootfs.diff.tar.gzip', 'zstd': DOCKER + 'image.rootfs.diff.tar.zstd'},
}
REF_NAME = 'org.opencontainers.image.ref.name'
XPKG = 'io.crossplane.xpkg'


def digest_of(data):
    return 'sha256:' + hashlib.sha256(data).hexdigest()


def json_bytes(value):
    return json.dumps(value, separators=(',', ':'), sort_keys=True).encode()


# ---- Archives. ----


class Entry:
    """One entry of a tar archive. size: what its header says, if that is a lie. headers: pax records that come before it."""

    def __init__(self, name, kind=tarfile.REGTYPE, data=b'', *, mode=0o644, link='', size=None, headers=None, device=(0, 0)):
        self.data = data
        self.info = info = tarfile.TarInfo(name)
        info.type, info.mode, info.linkname = kind, mode, link
        info.size = len(data) if size is None else size
        info.devmajor, info.devminor = device
        info.pax_headers = headers or {}

    def bytes(self, form=tarfile.PAX_FORMAT):
        head = self.info.tobuf(form, 'utf-8', 'surrogateescape')
        return head + self.data + b'\0' * (-len(self.data) % tarfile.BLOCKSIZE)


def File(name, data=b'', **more):  # pylint: disable=invalid-name # kinds of entries, told apart like classes
    return Entry(name, tarfile.REGTYPE, data.encode() if isinstance(data, str) else data, **more)


def Folder(name, **more):  # pylint: disable=invalid-name
    return Entry(name, tarfile.DIRTYPE, **{'mode': 0o755, **more})


def Link(name, target, **more):  # pylint: disable=invalid-name
    return Entry(name, tarfile.SYMTYPE, link=target, **more)


def HardLink(name, target, **more):  # pylint: disable=invalid-name
    return Entry(name, tarfile.LNKTYPE, link=target, **more)


def Device(name, kind=tarfile.CHRTYPE, major=1, minor=3, **more):  # pylint: disable=invalid-name
    """kind may also be BLKTYPE or FIFOTYPE of tarfile."""
    return Entry(name, kind, device=(major, minor), **more)


def tar(entries, form=tarfile.PAX_FORMAT, end=True):
    """The archive; end=False leaves out the two empty blocks that end it. Entries may be bytes: they are put in as they are."""
    body = b''.join(entry if isinstance(entry, bytes) else entry.bytes(form) for entry in entries)
    return body + b'\0' * 1024 * end


def folder_entries(folder, prefix=''):
    """What is below a folder, sorted; links and the like are not followed but left out."""
    found = []
    for where, subfolders, names in os.walk(folder):
        subfolders.sort()
        below = os.path.relpath(where, folder)
        path = prefix if below == '.' else prefix + below + '/'
        if path:
            found.append(Folder(path))
        for name in sorted(names):
            source = os.path.join(where, name)
            if os.path.isfile(source) and not os.path.islink(source):
                with open(source, 'rb') as file:
                    found.append(File(path + name, file.read(), mode=0o755 if os.access(source, os.X_OK) else 0o644))
    return found


def compress(data, how):
    if how == 'none':
        return data
    if how == 'gzip':
        out = io.BytesIO()
        with gzip.GzipFile(filename='', mode='wb', fileobj=out, mtime=0) as file:
            file.write(data)
        return out.getvalue()
    if how == 'zstd':
        return subprocess.run(['zstd', '-q', '-3', '--no-progress', '-c'], input=data, stdout=subprocess.PIPE, check=True).stdout
    raise ValueError(how)


# ---- What has a digest. ----


class Blob:
    """Bytes and what is said of them. digest, size: what descriptors say, if that is a lie."""

    def __init__(self, data, media_type, *, digest=None, size=None, annotations=None):
        self.data, self.media_type, self.annotations = data, media_type, annotations
        self.digest = digest or digest_of(data)
        self.size = len(data) if size is None else size

    def descriptor(self, **more):
        said = {'mediaType': self.media_type, 'digest': self.digest, 'size': self.size}
        if self.annotations:
            said['annotations'] = self.annotations
        return {**said, **more}

    def blobs(self):
        """This and all that it needs."""
        return [self]


class Layer(Blob):
    """entries: of the archive, or the archive itself as bytes. raw: the bytes of the layer, whatever they are."""

    def __init__(self, entries=(), *, compression='gzip', raw=None, diff_id=None, media_type=None, types='oci', **said):
        archive = entries if isinstance(entries, bytes) else tar(entries)
        super().__init__(compress(archive, compression) if raw is None else raw, media_type or TYPES[types][compression], **said)
        self.diff_id = diff_id or digest_of(archive)

    @classmethod
    def of_folder(cls, folder, prefix='', **more):
        return cls(folder_entries(folder, prefix), **more)


class Image(Blob):
    """config, manifest: fields that replace those that are right; None leaves one out."""

    def __init__(self, layers, *, labels=None, config=None, manifest=None, annotations=None, types='oci', platform=None,
                 **said):
        self.layers = list(layers)
        self.platform = platform or {'architecture': 'amd64', 'os': 'linux'}
        settings = {'Labels': labels} if labels else {}
        self.config = Blob(json_bytes(self.changed({
            **self.platform, 'config': settings,
            'rootfs': {'type': 'layers', 'diff_ids': [layer.diff_id for layer in self.layers]}}, config)), TYPES[types]['config'])
        fields = {'schemaVersion': 2, 'mediaType': TYPES[types]['manifest'], 'config': self.config.descriptor(),
                  'layers': [layer.descriptor() for layer in self.layers]}
        if annotations:
            fields['annotations'] = annotations
        super().__init__(json_bytes(self.changed(fields, manifest)), TYPES[types]['manifest'], **said)

    @staticmethod
    def changed(fields, changes):
        return {name: value for name, value in {**fields, **(changes or {})}.items() if value is not None}

    def blobs(self):
        return [*self.layers, self.config, self]


class Index(Blob):
    """Of images and other indexes. index: fields that replace those that are right; None leaves one out."""

    def __init__(self, members, *, index=None, types='oci', **said):
        self.members = list(members)
        listed = [member.descriptor(**({'platform': member.platform} if isinstance(member, Image) else {}))
                  for member in self.members]
        fields = {'schemaVersion': 2, 'mediaType': TYPES[types]['index'], 'manifests': listed}
        super().__init__(json_bytes(Image.changed(fields, index)), TYPES[types]['index'], **said)

    def blobs(self):
        return [blob for member in self.members for blob in member.blobs()] + [self]


# ---- Where they are kept. ----


def write_file(path, data):
    """Whole or not at all, so that somebody may read it meanwhile."""
    with open(path + '.new', 'wb') as file:
        file.write(data)
    os.replace(path + '.new', path)


class Layout:
    """An OCI image layout, made if it is not there."""

    def __init__(self, folder):
        self.folder = folder
        self.blobs = os.path.join(folder, 'blobs', 'sha256')
        os.makedirs(self.blobs, exist_ok=True)
        write_file(os.path.join(folder, 'oci-layout'), b'{"imageLayoutVersion":"1.0.0"}')
        if not os.path.exists(self.path('index.json')):
            self.write_index([])

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_index(self, manifests):
        write_file(self.path('index.json'), json_bytes({'schemaVersion': 2, 'mediaType': TYPES['oci']['index'],
                                                         'manifests': manifests}))

    def manifests(self):
        with open(self.path('index.json'), encoding='utf-8') as file:
            return json.load(file)['manifests']

    def put(self, data, digest=None):
        """A blob under a digest, its own or another."""
        write_file(os.path.join(self.blobs, (digest or digest_of(data)).partition(':')[2]), data)

    def add(self, reference, what, **more):
        """An image or index and all it needs, by this name and no longer what had it. Returns its digest."""
        for blob in what.blobs():
            self.put(blob.data, blob.digest)
        others = [one for one in self.manifests() if one.get('annotations', {}).get(REF_NAME) != reference]
        named = what.descriptor(**more)
        named['annotations'] = {**named.get('annotations', {}), REF_NAME: reference}
        self.write_index(others + [named])
        return what.digest

    def remove(self, reference):
        """The name; the blobs stay."""
        self.write_index([one for one in self.manifests() if one.get('annotations', {}).get(REF_NAME) != reference])


def docker_archive(path, image, references):
    """As "docker save" writes it: layers are never compressed in there, unless they say so."""
    config = image.config.digest.partition(':')[2] + '.json'
    layers = [layer.digest.partition(':')[2] + '/layer.tar' for layer in image.layers]
    manifest = [{'Config': config, 'RepoTags': list(references), 'Layers': layers}]
    write_file(path, tar([File(config, image.config.data)] +
                         [File(name, layer.data) for name, layer in zip(layers, image.layers)] +
                         [File('manifest.json', json_bytes(manifest))], tarfile.USTAR_FORMAT))


def oci_archive(path, image, reference):
    """A layout in a tar file."""
    folder = path + '.layout'
    try:
        Layout(folder).add(reference, image)
        write_file(path, tar(folder_entries(folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- Packages. ----


def package_image(folder, compression='gzip', types='oci'):
    """The image of a folder that has .registry or package.yaml."""
    stream = os.path.join(folder, 'package.yaml')
    if not os.path.exists(stream):
        return Image([Layer.of_folder(folder, compression=compression, types=types)], types=types)
    with open(stream, 'rb') as file:
        layer = Layer([File('package.yaml', file.read())], compression=compression, types=types, annotations={XPKG: 'base'})
    return Image([layer], types=types, labels={'%s:%s' % (XPKG, layer.digest): 'base'})


def main():
    parser = argparse.ArgumentParser(description='write the image of a package')
    parser.add_argument('what', choices=('pack', 'archive'))
    parser.add_argument('folder')
    parser.add_argument('reference')
    parser.add_argument('to', metavar='LAYOUT|FILE')
    parser.add_argument('--compression', choices=('gzip', 'zstd', 'none'), default='gzip')
    parser.add_argument('--docker', action='store_true')
    options = parser.parse_args()
    image = package_image(options.folder, options.compression, 'docker' if options.docker else 'oci')
    if options.what == 'pack':
        Layout(options.to).add(options.reference, image)
    elif options.docker:
        docker_archive(options.to, image, [options.reference])
    else:
        oci_archive(options.to, image, options.reference)
    print(image.digest)
    return 0


if __name__ == '__main__':
    sys.exit(main())
