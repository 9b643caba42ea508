/* SPDX-License-Identifier: Apache-2.0 */
/* What: documents of a package that people wrote by hand, read field by field by tables that say what may stand there.
 * Owns: nothing; what is read is copied into the arena given.
 * Threads: pure functions.
 * Errors: findings for fields of a wrong type, warnings for what is not known or too long to be kept; each names file and field. */
#pragma once

#include "package/finding.h"
#include "json/json.h"

#define INVALID_PACKAGE S("InvalidPackage")

enum field_type {
    FIELD_TEXT,    /* too long: left out with a warning */
    FIELD_WORD,    /* the same for texts that decide something: too long is a finding */
    FIELD_TEXTS,   /* a list of texts */
    FIELD_RECORDS, /* a list of objects, each with the fields of .inner */
    FIELD_IGNORED, /* of any type; known, but of no use here */
};

enum {
    FIELDS_MAX_ITEMS = 500,   /* of a list; more is a finding */
    FIELDS_LINE = 1024,       /* bytes of a title and the like; what is longer is left out with a warning */
    FIELDS_TEXT = 128 * 1024, /* of a readme and the like */
    FIELDS_SHOWN = 80,        /* bytes of a foreign text that a message shows */
};

struct field_rule {
    const char *name;
    enum field_type type;
    size_t max; /* bytes of a text, or of each of the texts */
    const struct field_rule *inner;
    size_t n_inner;
};

struct fields_reader {
    str file; /* for messages */
    struct arena *arena;
    struct findings *findings, *warnings;
};

/* The fields that are there and right, in the order of the rules; null counts as absent. */
struct json fields_read(const struct fields_reader *r, const struct json *document, const struct field_rule *rules,
                        size_t n);
/* A foreign text for a message: in quotes, shortened. Lives in the arena. */
str fields_shown(struct arena *a, str text);
/* What authors call the type of a value: "number", "list", "mapping". */
const char *fields_type(const struct json *v);
