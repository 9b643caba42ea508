/* SPDX-License-Identifier: Apache-2.0 */
/* What: packages for the rest of Reeve: runs reeve-fetch, a sandboxed child per pull, and keeps what it said by digest.
 * Owns: its children, until they are reaped; the files of the cache directory. An entry owns one open file.
 * Threads: pull, open and stop may be called by any thread at once; an entry belongs to one thread at a time, but for
 *          fetch_entry_read, which any may call.
 * Errors: struct fetch_failure says the reason for people and whether to try again; the code is ERR_UNAVAILABLE for what may
 *         pass by itself, ERR_TOO_MANY_REQUESTS for who does not wait, ERR_INVALID for a package that will stay wrong, ERR_GONE once
 *         the fetcher was stopped.
 *
 *   reference ──► in the memory of answers? ──► in the local store? ──► child: registry or store ──► lines
 *                        └──────────────┬──────────────┘                                              │
 *                                    digest ──► <cache>/<repository>-sha256-<hex>.jsonl ◄── checked ◄─┘
 *
 * An entry holds the lines of one package, one JSON value each:
 *
 *   {"manifest":{"digest":"sha256:…","reference":"…"}}            first
 *   {"path":".registry/app.yaml","index":0,"document":{…}}         a YAML document; index counts those of its file
 *   {"path":".registry/ui-schema.yaml","text":"…"}
 *   {"path":".registry/icon.svg","base64":"…"}
 *   {"path":"package.yaml","index":7,"file":"crds/x.yaml","document":{…}}    of a directory: where the author has it
 *   {"end":{"files":N,"lines":N,"bytes":N,"sha256":"…"}}          last, about all bytes before it; callers never see it
 *
 * The lines come from a process that has read hostile bytes: they are JSON and within limits, and nothing more is known of them.
 * Entries are kept apart by repository, so that a child that was taken over could at most lie about the repository it was sent to. */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#include <sys/types.h>

struct arena;
struct fetcher;
struct fetch_entry;

enum {
    FETCH_MAX_LINE = 24 * 1024 * 1024, /* bytes of one document, as JSON */
    FETCH_MAX_LINES = 40000,
    FETCH_MAX_BYTES = 512 * 1024 * 1024, /* of one package, as JSON */
    FETCH_MAX_REFERENCE = 2048,
};

/* References that begin with prefix are asked for at location instead; of several the longest prefix counts. A location on this
 * machine is spoken to over plain http, unless it begins with https://. */
struct fetch_mirror {
    str prefix, location; /* "docker.io/library" → "mirror.example.org/hub" */
};

struct fetcher_options {
    const char *program; /* reeve-fetch; NULL: the one installed with this program */
    const char *store;   /* the local OCI layout; need not exist */
    const char *cache;   /* a directory of its own; made when absent, closed to others */
    const char *ca_file; /* certificates that registries are checked with; NULL: the system's */
    const struct fetch_mirror *mirrors;
    size_t n_mirrors;
    const uint16_t *ports; /* of TCP, that registries send us to, besides 443 and their own */
    size_t n_ports;
    unsigned max_children;   /* at once; 0: 8 */
    unsigned max_per_host;   /* of those, for one registry, so that one that hangs does not hold up the others; 0: 3 */
    unsigned max_per_tenant; /* of those, for who asks, so that nobody takes all places of a registry; 0: 2 */
    uint64_t cache_bytes;    /* 0: 1 GiB; the entries that were not used for longest go first */
    int64_t timeout_ns;      /* of a child, from start to end; 0: five minutes */
    int64_t remember_ns;     /* how long an answer about a tag stands for IfNotPresent; 0: five minutes */
    struct clock clock;      /* zero: the system's */
};

/* Copies what it needs of the options. */
int fetcher_new(const struct fetcher_options *options, struct fetcher **ret, struct err *err);
/* Ends what is under way, and every later call: children are killed. Returns at once. */
void fetcher_stop(struct fetcher *f);
/* After fetcher_stop, when no call is under way. Takes NULL. */
void fetcher_free(struct fetcher *f);

enum fetch_policy {
    FETCH_IF_NOT_PRESENT, /* the local store, else the registry */
    FETCH_ALWAYS,         /* the registry, each time */
    FETCH_NEVER,          /* the local store */
};

struct fetch_request {
    str reference; /* [registry/]path[:tag][@digest]; "source" of the install has been applied */
    enum fetch_policy policy;
    const str *auths; /* docker config JSON (.dockerconfigjson), of all pull secrets */
    size_t n_auths;
    str tenant; /* who asks; empty: nobody in particular */
    bool
        is_at_once; /* where it would wait, for others or for the same answer: ERR_TOO_MANY_REQUESTS, and it is asked again */
};

struct fetch_result {
    str digest;                /* "sha256:…", what the reference stands for now */
    struct fetch_entry *entry; /* to be closed */
    bool is_from_store;        /* the local store has it under this name; else a registry */
};

enum fetch_reason { FETCH_PULL_FAILED, FETCH_INVALID_PACKAGE, FETCH_STOPPED, FETCH_BUSY };

struct fetch_failure {
    enum fetch_reason reason;
    bool may_pass; /* trying again later makes sense without any change */
    /* ERR_UNAUTHORIZED: the registry wants (other) credentials. ERR_FORBIDDEN: we do not trust it, or do not go there. 0: something else. */
    enum err_code refusal;
};

/* "PullFailed", "InvalidPackage"; "Stopped" and "Busy" are for nobody to see. */
const char *fetch_reason_name(enum fetch_reason reason);

/* Blocks, at least for its own child. Texts of the result live in a; failure may be NULL and is set only when this fails. */
int fetch_pull(struct fetcher *f, struct arena *a, const struct fetch_request *request, struct fetch_result *ret,
               struct fetch_failure *failure, struct err *err);
/* What was pulled before, by the digest it had; nobody is asked. ERR_NOT_FOUND: it is not kept (any more), or damaged. */
int fetch_open(struct fetcher *f, str reference, str digest, struct fetch_entry **ret, struct err *err);

/* ---- What a package holds. ---- */

/* Takes NULL. */
void fetch_entry_close(struct fetch_entry *e);
/* The next line, without its newline, and where it begins. 1: there is one, in a; 0: that was all; negative: an error. */
int fetch_entry_next(struct fetch_entry *e, struct arena *a, str *ret_line, uint64_t *ret_offset, struct err *err);
/* From the first line again. */
void fetch_entry_rewind(struct fetch_entry *e);
/* The line that begins at an offset fetch_entry_next told; the order of fetch_entry_next stays as it is. */
int fetch_entry_read(struct fetch_entry *e, struct arena *a, uint64_t offset, str *ret_line, struct err *err);
