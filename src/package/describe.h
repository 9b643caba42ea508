/* SPDX-License-Identifier: Apache-2.0 */
/* What: who describes what in a package of format A: group.yaml, *resource.yaml, icons and ui-schema speak of the CRDs in their
 *       own folder and below; what is nearer counts, and in one folder what names the kind counts before what does not.
 * Owns: its folders; texts and annotations live in the arena given, each text once however many CRDs show it.
 * Threads: one.
 * Errors: warnings for what is too large to be shown; never a finding: nothing works less for lack of an icon.
 *
 *     .registry/icon.svg                        for all that have none nearer
 *     .registry/db/group.yaml                   for mysql and postgres
 *     .registry/db/mysql/mysql.crd.yaml   ◄──   mysql/mysql.icon.svg, else mysql/icon.svg, else db/…, else .registry/…
 *     .registry/db/postgres/pg.crd.yaml         nothing of mysql/
 *
 * Of ui-schemas all that fit are shown, from the outside in, a general one before that of a kind. */
#pragma once

#include "base/map.h"
#include "package/finding.h"
#include "json/json.h"

enum {
    DESCRIBE_MAX_ITEM = 200 * 1024,        /* bytes of an icon or ui-schema as it is shown */
    DESCRIBE_MAX_ALL = 16 * 1024 * 1024,   /* of all of them in a package */
    DESCRIBE_MAX_ANNOTATIONS = 240 * 1024, /* of a CRD; Kubernetes takes 256 KiB, and the plan adds a few of its own */
    DESCRIBE_MAX_FOLDERS = 32,             /* one inside the other */
};

struct describe_folder;

struct describe {
    struct arena *keep, *scratch;
    struct findings *warnings;
    struct map folders;
    VEC(struct describe_folder *) all;
    size_t bytes;
};

void describe_init(struct describe *d, struct arena *keep, struct arena *scratch, struct findings *warnings);
void describe_done(struct describe *d);

/* path: of the file, at most DESCRIBE_MAX_FOLDERS deep. fields: texts, which are copied. The first of a place counts. */
void describe_group(struct describe *d, str path, const struct json *fields);
/* fields.id: the kind it is about, in any case. */
void describe_resource(struct describe *d, str path, const struct json *fields);
void describe_icon(struct describe *d, str path, str base64);
void describe_ui(struct describe *d, str path, str text);

/* Annotations, with their whole keys, of a CRD of this kind in that file. own: bytes of annotations it has already. */
struct json describe_crd(struct describe *d, str path, str kind, size_t own);
/* Icons that stand for the package as a whole: those of the outermost folder, [{mediatype, base64Data}]. */
struct json describe_icons(struct describe *d);

/* The part behind the last slash, and what is before it. */
str describe_base(str path);
str describe_folder_of(str path);
