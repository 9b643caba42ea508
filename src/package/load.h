/* SPDX-License-Identifier: Apache-2.0 */
/* What: a package while its lines are read. Private to package_load and the parts it is made of.
 * Owns: the arenas of the reading; what stays is copied into the package's.
 * Threads: one.
 * Errors: findings and warnings of the package.
 *
 *   package.c ──┬─ app.c          app.yaml: metadata, scope, dependencies
 *               ├─ deployment.c   install.yaml
 *               ├─ describe.c     group.yaml, *resource.yaml, icons, ui-schema: who describes which CRD
 *               ├─ load_crds.c    *crd.yaml
 *               └─ xpkg.c         package.yaml: all of format B */
#pragma once

#include "package/describe.h"
#include "package/fields.h"
#include "package/files.h"
#include "package/package.h"

struct load_crd {
    struct package_crd crd;
    str path;   /* of its file */
    size_t own; /* bytes of its author's annotations */
};

struct load {
    struct package *package;
    struct arena *keep; /* the package's */
    struct arena *while_loading;
    struct arena *line; /* of the line being read */
    struct findings *findings, *warnings;
    struct describe describe;
    VEC(struct load_crd) crds;
    VEC(struct package_dependency) dependencies;
    VEC(struct package_requirement) requirements;
    str version;                 /* as the package says it; empty: it does not */
    str app, install, meta;      /* paths of the first of each; empty: none yet */
    bool has_registry, has_xpkg; /* files of format A, of format B */
    bool has_too_many_crds;
    str file;           /* the one whose documents are being read */
    size_t n_documents; /* of it, so far */
};

/* One document of a file, with the place it came from. */
struct load_document {
    str path;
    size_t number; /* in its file, from 1 */
    const struct json *json;
    uint64_t offset;
    size_t bytes; /* of its line */
};

/* A reader of fields that tells the package's findings. What it reads lives in the arena given. */
static inline struct fields_reader load_fields(const struct load *l, str file, struct arena *a)
{
    return (struct fields_reader){file, a, l->findings, l->warnings};
}

void load_app(struct load *l, const struct load_document *d);
void load_install(struct load *l, const struct load_document *d);
void load_xpkg(struct load *l, const struct load_document *d);
/* What is missing or wrong in sum; after the last document. */
void load_xpkg_end(struct load *l);

void load_crd(struct load *l, const struct load_document *d);
/* Equal for equal definitions, and for no others. */
str load_crd_hash(struct arena *a, const struct json *crd);
/* Sorts them, finds those that are there twice, and says what describes each. */
void load_crds_end(struct load *l);

/* install.yaml or what is made instead: typed, checked and kept. from: for messages. */
void load_deployment(struct load *l, str from, struct json *deployment);
