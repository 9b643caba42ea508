/* SPDX-License-Identifier: Apache-2.0 */
/* What: names of images: [registry[:port]/]path[:tag][@digest], by the grammar of distribution.
 * Owns: nothing; parts are views of the text parsed, or live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_INVALID, with a text that says what is wrong with the reference.
 *
 *   acme/wordpress:1.1               as written: no registry, path acme/wordpress, tag 1.1
 *   docker.io/acme/wordpress:1.1     the same, normalised
 *
 * What was written is kept apart from what it stands for: a `source` is put in front of references that were written without
 * a registry, and a version is taken from a tag that was written, never from the "latest" that is meant without one.
 *
 * The first component is a registry if there is another behind it and it has a '.' or a ':', is "localhost", or has capital
 * letters; otherwise it belongs to the path. As docker decides. */
#pragma once

#include "oci/digest.h"

enum {
    OCI_REGISTRY_MAX = 261, /* a host name of 255 bytes, and a port */
    OCI_PATH_MAX = 255,
    OCI_TAG_MAX = 128,
};

struct oci_reference {
    str text;     /* all of it */
    str registry; /* host[:port], as written; empty: none */
    str path;     /* "acme/wordpress"; never empty */
    str tag;      /* empty: none */
    str digest;   /* "sha256:…"; empty: none */
};

/* The parts are views of text. */
int oci_reference_parse(str text, struct oci_reference *ret, struct err *err);
/* The full form: registry docker.io and library/ where they are missing, the tag latest when there is neither tag nor digest.
 * index.docker.io is docker.io. Only for what oci_reference_parse gave. */
struct oci_reference oci_reference_normalize(struct arena *a, const struct oci_reference *ref);
/* The same image name: both normalised are the same text. */
bool oci_reference_same(const struct oci_reference *a, const struct oci_reference *b);

/* The reference with source in front of it, slashes around source removed; unchanged when it has a registry of its own, when
 * source is empty, or when it is no reference at all (then whoever parses it says so). Whether the result is a reference has
 * to be seen: the source is not looked at. */
str oci_reference_with_source(struct arena *a, str reference, str source);

/* Where an image comes from: registry and path, normalised, without tag and digest. Without a registry the path as it is written:
 * the name of an image of the local store. */
str oci_reference_source(struct arena *a, const struct oci_reference *ref);

/* The reference with the registry that it is pulled from. The tag of one that has a digest, too, is left out: nothing compares it
 * with the digest, so it must not give a version. Only for what oci_reference_parse accepts. */
str oci_reference_located(struct arena *a, str reference, bool is_from_store);

/* Who a package is, whatever registry it comes from: the last two components of the path, and its version. */
struct oci_identity {
    str repo; /* "library" when the path has but one component, in every registry: acme.example/wp is library:wp */
    str name;
    str version;
};

/* version: what the package says of itself; if that is empty the tag that was written; else the first 12 hex digits of the
 * digest of its manifest. */
struct oci_identity oci_reference_identity(struct arena *a, const struct oci_reference *ref, str version,
                                           const struct oci_digest *digest);
