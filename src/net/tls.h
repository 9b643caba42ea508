/* SPDX-License-Identifier: Apache-2.0 */
/* What: TLS for servers and clients: who we are, whom we believe, which protocol was agreed on.
 * Owns: a context owns its keys and certificates; it is counted, connections hold it.
 * Threads: one loop thread.
 * Errors: ERR_INVALID for material that cannot be read; a peer that fails the handshake is simply gone. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct tls_context;

struct tls_server_options {
    str certificate_pem; /* with its chain */
    str key_pem;
    str client_ca_pem; /* asks peers for a certificate, without demanding one; empty: does not ask. A certificate
                          * that this CA did not sign, or that has expired, does not fail the handshake: the peer then
                          * counts as having shown a bad one (tls_peer) */
    bool no_h2;        /* offers HTTP/1.1 alone */
};

struct tls_client_options {
    str ca_pem;                   /* whom to believe; empty: the system's */
    str certificate_pem, key_pem; /* who we are; empty: nobody */
    str server_name;              /* checked, and sent unless it is an address */
    bool no_h2;                   /* offers HTTP/1.1 alone */
    bool insecure;                /* believes anyone; for tests and for kubeconfigs that say so */
};

int tls_server_new(const struct tls_server_options *options, struct tls_context **ret, struct err *err);
int tls_client_new(const struct tls_client_options *options, struct tls_context **ret, struct err *err);
struct tls_context *tls_ref(struct tls_context *c);
void tls_unref(struct tls_context *c);

/* What a client certificate says, once the handshake is done. Texts live as long as the connection. */
enum tls_peer_state {
    TLS_PEER_NONE, /* showed no certificate */
    TLS_PEER_GOOD,
    TLS_PEER_BAD, /* showed one that is not to be believed */
};

struct tls_peer {
    enum tls_peer_state state;
    str der;           /* TLS_PEER_GOOD: the certificate itself, as it came */
    int64_t not_after; /* …and until when, in seconds: connections outlive certificates */
};
