/* SPDX-License-Identifier: Apache-2.0 */
/* What: the language of credential plugins, ExecCredential of client.authentication.k8s.io: what they are told, what they say.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_INVALID for what a plugin must not say; values it printed are not shown, all of them may be secrets. */
#pragma once

#include "client/config.h"

enum { EXEC_CREDENTIAL_MAX_BYTES = 1024 * 1024 };

/* For KUBERNETES_EXEC_INFO. ca_pem: whom the server's certificate is checked against, for plugins that want to know. */
str exec_credential_ask(struct arena *a, const struct client_config *config, str ca_pem);

struct exec_credential {
    str token; /* empty: none */
    str certificate_pem, key_pem;
    bool expires;
    int64_t expires_s; /* civil time */
    uint32_t expires_ns;
};

/* JSON or YAML, of the version that was asked for. */
int exec_credential_read(struct arena *a, str text, str api_version, struct exec_credential *ret, struct err *err);
/* now: civil time, in nanoseconds. */
bool exec_credential_is_expired(const struct exec_credential *c, int64_t now_ns);
