/* SPDX-License-Identifier: Apache-2.0 */
/* What: credentials for a registry from where docker and podman keep them. For commands only: the server uses pull secrets.
 * Owns: nothing; texts live in the arena of the command.
 * Threads: the main thread; blocks while a credential helper runs.
 * Errors: ERR_IO for a file or helper that fails; what they hold is never quoted.
 *
 *   --auth-file FILE, else $REGISTRY_AUTH_FILE            this one alone
 *   else, in this order
 *     $XDG_RUNTIME_DIR/containers/auth.json               podman, until the user logs out
 *     $XDG_CONFIG_HOME/containers/auth.json               podman, for good (~/.config)
 *     $DOCKER_CONFIG/config.json                          docker (~/.docker)
 *
 * In each file: credHelpers for the registry, else credsStore, both run as "docker-credential-NAME get"; else auths. The first file that
 * has a credential counts. */
#pragma once

#include "cli/command.h"

/* A docker config with the one credential for this registry and repository; empty: there is none. */
int registry_auth_find(struct command *c, str auth_file, str registry, str path, str *ret, struct err *err);
