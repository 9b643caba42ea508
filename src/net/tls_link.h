/* SPDX-License-Identifier: Apache-2.0 */
/* What: TLS on one socket: handshake, bytes, goodbye. Internal to this folder.
 * Owns: its OpenSSL state and what it knows of the peer; holds its context; the socket is the caller's.
 * Threads: the loop thread.
 * Errors: ERR_IO with OpenSSL's reason. The socket is dead after any of them. */
#pragma once

#include "net/tls.h"

#include <sys/types.h>

struct tls_link;

struct tls_link *tls_link_new(struct tls_context *c, int fd, struct err *err);
void tls_link_free(struct tls_link *l);

enum { TLS_AGAIN = -1, TLS_FAILED = -2 };
/* 0 when done, TLS_AGAIN, or TLS_FAILED. */
int tls_link_handshake(struct tls_link *l, struct err *err);
/* The last call of tls_link_handshake had something to read. */
bool tls_link_has_read(const struct tls_link *l);
/* How many bytes; 0 when the peer said goodbye (reading only); TLS_AGAIN; TLS_FAILED. */
ssize_t tls_link_read(struct tls_link *l, void *p, size_t n, struct err *err);
/* What was taken may not have been sent as a whole (tls_link_unsent); n may be 0, to send the rest of it. */
ssize_t tls_link_write(struct tls_link *l, const void *p, size_t n, struct err *err);
/* Bytes of records that the socket has yet to take. */
size_t tls_link_unsent(const struct tls_link *l);
/* Says goodbye as far as the socket takes it at once. */
void tls_link_goodbye(struct tls_link *l);
/* The loop said that there is something to read: from now on the socket is asked again. is_end: it will never run dry. */
void tls_link_readable(struct tls_link *l, bool is_end);
/* False: tls_link_read would answer TLS_AGAIN, until tls_link_readable. Costs nothing, where asking OpenSSL does. */
bool tls_link_can_read(const struct tls_link *l);

str tls_link_protocol(const struct tls_link *l);
const struct tls_peer *tls_link_peer(const struct tls_link *l);
/* After a failed handshake: the peer spoke HTTP without TLS. */
bool tls_link_is_plain_http(const struct tls_link *l);

/* ---- Between tls.c and tls_link.c. ---- */

typedef struct ssl_ctx_st SSL_CTX;
typedef struct bio_method_st BIO_METHOD;
typedef struct x509_store_ctx_st X509_STORE_CTX;

struct tls_context {
    unsigned refs;
    bool is_server;
    SSL_CTX *ssl;
    BIO_METHOD *socket; /* how OpenSSL reads and writes our sockets */
    char *sni;          /* of a client: what to ask for; NULL: nothing */
    struct buf records; /* of the link that writes; empty between calls */
};

BIO_METHOD *tls_link_socket_method(void);
/* Checks a client's certificate but lets the handshake go on in any case: the finding is kept in the link. */
int tls_link_verify(X509_STORE_CTX *store, void *unused);
/* Keeps in the link why a server's certificate was not believed. */
int tls_link_judge(int is_good, X509_STORE_CTX *store);
/* tls_explain.c: what is wrong with the certificate at hand. */
void tls_explain(X509_STORE_CTX *store, struct err *err);
/* What was tried and the newest of OpenSSL's reasons, all of which are forgotten. Returns the code. */
int tls_link_error(struct err *err, enum err_code code, const char *what);
