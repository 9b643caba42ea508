/* SPDX-License-Identifier: Apache-2.0 */
/* What: packages for commands: an image of the local store or of a registry, or a directory, which is read as the image it would
 *       become; and the flags that say where images are.
 * Owns: the package, until package_source_close.
 * Threads: the main thread.
 * Errors: ERR_BAD_REQUEST for flags and names that make no sense, ERR_INVALID for what can be no package, else those of fetch_op.h.
 *         What is wrong with a package that could be read is told by its findings.
 *
 *   "./wordpress", "/srv/wordpress", or the name of a directory there is ──► reeve-fetch: open ──┐
 *   "acme/wordpress:1.0"                                                  ──► reeve-fetch: pull ──┴─► lines ──► struct package */
#pragma once

#include "cli/command.h"
#include "oci/fetch_protocol.h"
#include "package/package.h"

struct package_flags {
    str store;     /* empty: below data_dir */
    str data_dir;  /* empty: cli_data_dir */
    str auth_file; /* a docker config.json; empty: where docker and podman keep it */
    str ca_file;   /* empty: the system's */
    flag_texts mirrors, ports;
    bool is_quick; /* no flag: the command has no use for the digest of a directory */
};

/* Their rows in the table of a command; man/parts/package.scd describes them. */
#define PACKAGE_FLAGS(f)                                                   \
    {.name = "store", .kind = FLAG_TEXT, .into = &(f)->store},             \
        {.name = "data-dir", .kind = FLAG_TEXT, .into = &(f)->data_dir},   \
        {.name = "auth-file", .kind = FLAG_TEXT, .into = &(f)->auth_file}, \
        {.name = "ca-file", .kind = FLAG_TEXT, .into = &(f)->ca_file},     \
        {.name = "mirror", .kind = FLAG_TEXTS, .into = &(f)->mirrors},     \
    {                                                                      \
        .name = "allow-port", .kind = FLAG_TEXTS, .into = &(f)->ports      \
    }

/* A request with all that the flags say, for any op; c->timeout_ns must be set. */
int package_request(struct command *c, const struct package_flags *flags, struct oci_request *ret, struct err *err);

/* Adds the credential for the registry of a request whose op, policy and reference are set. */
int package_add_auth(struct command *c, const struct package_flags *flags, struct oci_request *r, struct err *err);

/* An error of fetch_op.h, with which right is missing at the registry, and which flag helps. It is an ERR_IO then, so that nobody
 * takes it for one of the API server. */
int package_explain(struct command *c, const struct oci_request *request, struct err *err);

struct package_source {
    struct package *package;
    str reference; /* of the image as it was written; of a directory, the name it was opened by */
    bool is_directory;
    bool is_from_store; /* an image of the local store; else of its registry */
    uint64_t size;      /* bytes of the image, or of what it would be; 0: not known */
};

/* tag: what a directory is going to be called, which makes a difference to its names; empty: made of the directory's own name. */
int package_source_open(struct command *c, const struct package_flags *flags, const char *what, str tag,
                        struct package_source *ret, struct err *err);
/* The image of that reference, whatever directories there are: for references that somebody else has written. */
int package_source_pull(struct command *c, const struct package_flags *flags, str reference, struct package_source *ret,
                        struct err *err);
/* Takes what was never opened, too. */
void package_source_close(struct package_source *s);
/* Whether a word of the command line means a directory: it looks like a path, or there is one of that name. */
bool package_is_directory(const char *what);
/* "/srv/My Package_" → "my-package": a name that an image may have. */
str package_directory_name(struct arena *a, const char *directory);
