/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a client shows to its server: headers for every request, and TLS with or without a certificate; kept fresh.
 * Owns: the material it read, its plugin's process, and the TLS context it gives away (whoever keeps that takes a reference).
 * Threads: the loop thread.
 * Errors: ERR_IO for a file that cannot be read, ERR_INVALID for material that makes no sense, ERR_UNAUTHORIZED when a plugin
 *         gave none, ERR_TIMEOUT when it took too long. Secrets are never part of a text.
 *
 * Where they come from and when they are looked at again:
 *
 *   text in the kubeconfig   never; who renews a token says so: credentials_set_token
 *   token file               when it was read a minute ago; after a 401 at once. Unreadable: the last one stays
 *   CA, certificate, key     looked at every ten seconds when somebody asks, read when they changed; after a 401 at once.
 *                            Unreadable, or halfway replaced (a key that does not fit): the last ones stay
 *   plugin                   run when its credentials have expired, and after a 401; at most once a second
 *
 * A connection is made with a TLS context, a request is sent with headers. When the context is another than that of an
 * existing connection, the connection should be replaced: it speaks for what we no longer are. */
#pragma once

#include "base/clock.h"
#include "client/config.h"
#include "net/http.h"
#include "net/loop.h"

struct credentials;

struct credentials_options {
    struct clock clock;     /* civil time, for the expiry of what plugins give */
    const char *const *env; /* of plugins: "NAME=value"…, NULL at the end */
    int64_t plugin_ns;      /* how long a plugin may take; 0: a minute */
};

/* Valid until the call that shows it returns. */
struct credentials_now {
    struct http_headers headers; /* Authorization and Impersonate-*, where there is something to say */
    struct tls_context *tls;     /* NULL: plain text */
    uint64_t serial;             /* another one for other headers or another context; never 0 */
};

/* Embedded in whoever waits; zero-initialise, set done and ctx. */
struct credentials_wait {
    /* Exactly once, unless taken back: either now or err is NULL. May call all functions here. */
    void (*done)(void *ctx, const struct credentials_now *now, const struct err *err);
    void *ctx;
    struct credentials_wait *next, *prev; /* private */
    bool is_waiting;                      /* private */
};

/* config must outlive it; env too. Nothing is read or run yet. */
struct credentials *credentials_new(struct loop *l, const struct client_config *config,
                                    const struct credentials_options *options);
/* Ends the plugin, forgets who waits. Takes NULL. Not from within done. */
void credentials_free(struct credentials *c);

/* Calls w->done: from within this call when they are at hand, else as soon as they are. Cheap: for every request. */
void credentials_get(struct credentials *c, struct credentials_wait *w);
/* Takes a wait back; fine for one that is over. */
void credentials_cancel(struct credentials *c, struct credentials_wait *w);
/* From now on this token counts, in place of the one in the kubeconfig: that was renewed. Not for configurations with a token file.
 * What has a control character in it is ERR_INVALID. */
int credentials_set_token(struct credentials *c, str token, struct err *err);
/* The server said 401 to what had this serial. True: get them again and try once more, they may be others now. False: these are
 * still what we have. */
bool credentials_refused(struct credentials *c, uint64_t serial);
