/* SPDX-License-Identifier: Apache-2.0 */
/* What: a package as Reeve understands it, whichever format it came in.
 * Owns: its arena and its content; counted, immutable once made.
 * Threads: may be shared by all.
 * Errors: what is wrong with it is told as findings, all at once; an err only for what could not be read at all.
 *
 *   .registry/ tree (format A) ─┐
 *                               ├─► package_load ─► struct package ─► plan.h
 *   package.yaml stream (B) ────┘                    (CRD bodies stay in the content)
 */
#pragma once

#include "package/content.h"
#include "package/crd_check.h"
#include "package/finding.h"

enum package_scope { PACKAGE_NAMESPACED, PACKAGE_CLUSTER };
enum package_format { PACKAGE_FORMAT_REGISTRY, PACKAGE_FORMAT_XPKG };

struct package_crd {
    struct crd_info info;
    uint64_t offset; /* of its document in the content */
    str path;        /* of its file: ".registry/resources/x.crd.yaml" */
    struct json
        annotations; /* of the package manager: titles, readme, icon, ui-schema, with their whole keys; an object */
    str hash;        /* of the body as package_crd_body gives it: equal hashes, equal CRDs */
};

/* "plural.group[/version]" or "*.group[/version]" */
struct package_dependency {
    str text;
    str plural; /* "*": all of the group */
    str group, version;
};

/* Format B: another package that must be there. */
struct package_requirement {
    str package;    /* "registry/repo/name" */
    str constraint; /* ">=v1.0.0" or a digest */
};

struct package {
    str digest;              /* of the manifest, as the child said that opened the image */
    str content;             /* hash of all that rights, CRDs and Deployment follow from: see package_is_same */
    str repo, name, version; /* the identity */
    str family;              /* "repo:name" */
    str source; /* "registry.example.org/acme/wordpress": versions of one package have one; see oci_reference_source */
    enum package_format format;
    enum package_scope scope;
    bool states_scope; /* its author did; a package of format A that does not is Namespaced */
    str path;          /* of the file that says so: ".registry/app.yaml", "package.yaml"; empty: there is none */
    /* Title, overview, readme, maintainers, icons, …: what records show, at most PACKAGE_MAX_METADATA bytes as JSON. */
    struct json metadata;
    const struct package_crd *crds; /* by name */
    size_t n_crds;
    const struct package_dependency *dependencies;
    size_t n_dependencies;
    const struct package_requirement *requirements;
    size_t n_requirements;
    struct json deployment;   /* of install.yaml, whole; null: there is none */
    struct findings findings; /* not empty: it must not be installed */
    struct findings warnings; /* reasons are empty */
};

/* content becomes the package's, and is closed when this fails: ERR_IO for lines that are not what they should be, ERR_INVALID
 * for a reference that is none. reference: as the install names it, source applied; it gives the identity. */
int package_load(struct content *content, str reference, struct package **ret, struct err *err);

/* The same for lines that are still coming: they are read meanwhile, and there is no package before all have come. */
struct package_loading;

int package_loading_new(str reference, struct package_loading **ret, struct err *err);
/* The next line, in their order; it is not needed afterwards. */
int package_loading_take(struct package_loading *g, const struct content_line *line, struct err *err);
/* There are no more, and content has them all, at the offsets told. Frees g, and content when this fails. */
int package_loading_end(struct package_loading *g, struct content *content, struct package **ret, struct err *err);
/* Takes NULL. */
void package_loading_free(struct package_loading *g);

/* Whether two that claim one digest and version may stand for each other. A child that was taken over could claim the digest of an
 * image of another repository: what it brought counts, not what it says. */
bool package_is_same(const struct package *p, const struct package *q);
struct package *package_ref(const struct package *p);
/* Takes NULL. */
void package_unref(const struct package *p);
/* The CRD as apiextensions/v1: converted if need be, without status, metadata only its name and its author's labels and annotations. */
int package_crd_body(const struct package *p, const struct package_crd *crd, struct arena *a, struct json *ret,
                     struct err *err);
/* NULL: it has none of that name. */
const struct package_crd *package_find_crd(const struct package *p, str name);
