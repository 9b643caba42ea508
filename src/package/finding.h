/* SPDX-License-Identifier: Apache-2.0 */
/* What: what is wrong with a package or an install, all of it at once, in words a person can act on.
 * Owns: nothing; texts live in the arena given.
 * Threads: plain values.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

/* A stable CamelCase word for programs, and a sentence for people. The reason that an install shows is that of its first finding. */
struct finding {
    str reason;  /* "ScopeMismatch", "InvalidPackage", "CRDConflict", "AlreadyInstalled", … */
    str message; /* "CRD x.example.org: spec.scope: …" */
};

enum {
    FINDINGS_MAX = 100,       /* more are counted, not told */
    FINDING_MAX_BYTES = 1000, /* of a message; the rest is cut off, as texts may come from a hostile package */
};

struct findings {
    struct arena *arena;
    VEC(struct finding) list;
    size_t more;
};

/* For texts that a package chose: at most max bytes, whole characters, "…" behind it when something is missing. */
str finding_shown(struct arena *a, str text, size_t max);
void findings_add(struct findings *f, str reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "first; second; and 3 more", at most about 1,000 bytes: what fits into a condition. */
str findings_text(struct arena *a, const struct findings *f);
