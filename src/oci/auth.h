/* SPDX-License-Identifier: Apache-2.0 */
/* What: credentials for registries out of docker config JSON: what pull secrets hold, and what docker and podman keep for their users.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: ERR_INVALID for a text that is no such config; it is never quoted.
 *
 *   {"auths": {"registry.example.org/team": {"auth": "base64 of user:password"}}}       or username and password, or identitytoken
 *
 * A key names a registry, with or without https:// and /v1/, a part of its paths, or several by "*" in place of (a part of) a label,
 * as the kubelet reads them. Of all keys that fit the longest counts; of two that are as long, the first. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct auth {
    str user, password;
    str identity_token;
};

/* registry: "docker.io", "localhost:5000"; path: "acme/wordpress". *ret is all empty when nothing fits. */
int auth_find(struct arena *a, const str *configs, size_t n, str registry, str path, struct auth *ret, struct err *err);

/* ---- Credential helpers, programs that keep what is not in a config. Pull secrets never name any: only commands run them. ---- */

struct auth_helper {
    str name;   /* of docker-credential-NAME; empty: none */
    str server; /* what it is asked for */
};

/* credHelpers of a config for this registry, else its credsStore. */
int auth_helper(struct arena *a, str config, str registry, struct auth_helper *ret, struct err *err);
/* What it prints: {"Username": …, "Secret": …}. */
int auth_of_helper(struct arena *a, str output, struct auth *ret, struct err *err);
/* A config with nothing but this credential. */
str auth_config(struct arena *a, str registry, const struct auth *auth);
