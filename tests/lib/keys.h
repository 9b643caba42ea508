/* SPDX-License-Identifier: Apache-2.0 */
/* What: keys and certificates made on the spot, for tests.
 * Owns: nothing; texts are in the arena.
 * Threads: one.
 * Errors: aborts. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct keys {
    str certificate, key; /* PEM */
};

struct keys_options {
    const char *name;        /* common name, and name in the certificate, besides 127.0.0.1 */
    const struct keys *by;   /* who signs; NULL: itself, as a CA */
    long starts_in, ends_in; /* seconds from now */
    bool is_client;          /* may identify clients, and nothing else; otherwise servers */
};

struct keys keys_make(struct arena *a, const struct keys_options *options);
