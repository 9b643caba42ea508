/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL reads and writes the socket through a BIO of ours. It does three things that OpenSSL's own does not: no SIGPIPE;
 * after a read that came back short it knows that the socket is empty, which saves a system call with every request: the
 * loop is edge-triggered and tells when there is more (tls_link_readable); and the records of a long text are gathered and
 * sent by one system call.
 *
 *     text ─► SSL_write, record by record ─► records (of the context, while the call lasts) ─► send
 *                                                        what the socket does not take ─► rest (of the link)
 *
 * Nothing else is sent before the rest.
 */
#include "net/tls_link.h"
#include "base/arena.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/* Bytes that are sealed for one system call: with what records add they fit into 128 KiB. */
enum { GATHER = 7 * SSL3_RT_MAX_PLAIN_LENGTH };

struct tls_link {
    struct tls_context *context;
    SSL *ssl;
    int fd;
    bool is_dry;       /* nothing to read until tls_link_readable */
    bool is_starved;   /* …and OpenSSL holds no whole record either */
    bool has_read;     /* since the last call of tls_link_handshake began */
    bool is_gathering; /* records are kept, not sent */
    bool is_endless;   /* the end has been seen: never dry again */
    bool is_cut_off;   /* …and read: without a goodbye, when OpenSSL complains */
    bool is_bad_peer;
    bool is_plain_http;
    struct err *distrust; /* why the server's certificate was not believed; NULL: it was */
    bool is_broken;       /* after a failure OpenSSL must not be asked to say goodbye */
    struct buf rest;      /* sealed: the socket has yet to take it */
    size_t rest_at;       /* what is before has been taken */
    struct tls_peer peer;
    unsigned char *der;
};

int tls_link_error(struct err *err, enum err_code code, const char *what)
{
    unsigned long e = ERR_peek_last_error();
    const char *reason = e ? ERR_reason_error_string(e) : NULL;
    ERR_clear_error();
    return err_set(err, code, "%s: %s", what, reason ? reason : "not in the form expected");
}

/* ---- The socket, as OpenSSL sees it. ---- */

static int socket_read(BIO *bio, char *p, int n)
{
    struct tls_link *l = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (l->is_dry) {
        BIO_set_retry_read(bio);
        return -1;
    }
    ssize_t got;
    do
        got = recv(l->fd, p, (size_t)n, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    l->has_read = l->has_read || got > 0;
    l->is_dry = got < n && got != 0 && !l->is_endless;
    l->is_cut_off = got == 0;
    return (int)got;
}

static bool is_again(ssize_t put)
{
    return put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* How many bytes the socket took; errno says why not all. */
static size_t send_bytes(const struct tls_link *l, const char *p, size_t n)
{
    size_t sent = 0;
    while (sent < n) {
        ssize_t put = send(l->fd, p + sent, n - sent, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR)
            break;
        sent += put > 0 ? (size_t)put : 0;
    }
    return sent;
}

/* False: the socket does not take all of it now; errno says why. */
static bool send_rest(struct tls_link *l)
{
    if (l->rest.n == 0)
        return true;
    l->rest_at += send_bytes(l, l->rest.p + l->rest_at, l->rest.n - l->rest_at);
    if (l->rest_at < l->rest.n)
        return false;
    buf_done(&l->rest);
    l->rest_at = 0;
    return true;
}

static int socket_write(BIO *bio, const char *p, int n)
{
    struct tls_link *l = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (l->is_gathering) {
        buf_add(&l->context->records, p, (size_t)n);
        return n;
    }
    ssize_t put = -1;
    if (send_rest(l)) {
        do
            put = send(l->fd, p, (size_t)n, MSG_NOSIGNAL);
        while (put < 0 && errno == EINTR);
    }
    if (is_again(put))
        BIO_set_retry_write(bio);
    return (int)put;
}

static long socket_ctrl(BIO *bio, int cmd, long n, void *p)
{
    (void)bio;
    (void)n;
    (void)p;
    return cmd == BIO_CTRL_FLUSH; /* nothing is kept back */
}

BIO_METHOD *tls_link_socket_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket");
    if (m && BIO_meth_set_read(m, socket_read) && BIO_meth_set_write(m, socket_write) &&
        BIO_meth_set_ctrl(m, socket_ctrl))
        return m;
    abort();
}

/* ---- Life. ---- */

struct tls_link *tls_link_new(struct tls_context *c, int fd, struct err *err)
{
    struct tls_link *l = xcalloc(1, sizeof *l);
    l->context = tls_ref(c);
    l->fd = fd;
    l->ssl = SSL_new(c->ssl);
    BIO *bio = BIO_new(c->socket);
    if (l->ssl == NULL || bio == NULL || SSL_set_app_data(l->ssl, l) != 1 ||
        (c->sni && SSL_set_tlsext_host_name(l->ssl, c->sni) != 1)) {
        tls_link_error(err, ERR_IO, "set up TLS");
        BIO_free(bio);
        tls_link_free(l);
        return NULL;
    }
    BIO_set_data(bio, l);
    BIO_set_init(bio, 1);
    SSL_set_bio(l->ssl, bio, bio);
    if (c->is_server)
        SSL_set_accept_state(l->ssl);
    else
        SSL_set_connect_state(l->ssl);
    return l;
}

void tls_link_free(struct tls_link *l)
{
    if (l == NULL)
        return;
    SSL_free(l->ssl);
    OPENSSL_free(l->der);
    buf_done(&l->rest);
    free(l->distrust);
    tls_unref(l->context);
    free(l);
}

void tls_link_readable(struct tls_link *l, bool is_end)
{
    l->is_dry = l->is_starved = false;
    l->is_endless = l->is_endless || is_end;
}

bool tls_link_can_read(const struct tls_link *l)
{
    return !l->is_starved;
}

/* ---- The peer. ---- */

int tls_link_verify(X509_STORE_CTX *store, void *unused)
{
    (void)unused;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_link *l = SSL_get_app_data(ssl);
    if (X509_verify_cert(store) != 1)
        l->is_bad_peer = true;
    ERR_clear_error();
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
}

int tls_link_judge(int is_good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_link *l = SSL_get_app_data(ssl);
    if (is_good || l->distrust)
        return is_good;
    l->distrust = xmalloc(sizeof *l->distrust);
    tls_explain(store, l->distrust);
    return 0;
}

/* Fills in what a client showed. Whatever cannot be understood is bad. */
static void know_peer(struct tls_link *l)
{
    struct tm tm;
    X509 *x = SSL_get0_peer_certificate(l->ssl);
    if (x == NULL)
        return;
    l->peer.state = TLS_PEER_BAD;
    if (l->is_bad_peer || ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) != 1)
        return;
    int n = i2d_X509(x, &l->der);
    if (n <= 0)
        return;
    l->peer = (struct tls_peer){
        .state = TLS_PEER_GOOD, .der = {(char *)l->der, (size_t)n}, .not_after = (int64_t)timegm(&tm)};
}

const struct tls_peer *tls_link_peer(const struct tls_link *l)
{
    return &l->peer;
}

str tls_link_protocol(const struct tls_link *l)
{
    const unsigned char *p;
    unsigned n;
    SSL_get0_alpn_selected(l->ssl, &p, &n);
    return (str){(const char *)p, n};
}

/* ---- Bytes. ---- */

/* What an unsuccessful call means. */
static int outcome(struct tls_link *l, int rc, const char *what, struct err *err)
{
    int saved = errno;
    int why = SSL_get_error(l->ssl, rc);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return TLS_AGAIN;
    if (why == SSL_ERROR_ZERO_RETURN)
        return 0;
    l->is_broken = true;
    if (l->is_cut_off) {
        err_set(err, ERR_IO, "%s: the connection ended unexpectedly", what);
    } else if (why == SSL_ERROR_SYSCALL) {
        errno = saved;
        err_set(err, ERR_IO, "%s: %m", what);
    } else if (l->distrust) {
        err_set(err, ERR_IO, "%s: %s", what, l->distrust->msg);
    } else {
        l->is_plain_http = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST;
        tls_link_error(err, ERR_IO, what);
    }
    ERR_clear_error();
    return TLS_FAILED;
}

int tls_link_handshake(struct tls_link *l, struct err *err)
{
    ERR_clear_error();
    l->has_read = false;
    int rc = SSL_do_handshake(l->ssl);
    if (rc != 1) {
        rc = outcome(l, rc, "TLS handshake", err);
        return rc == 0 ? TLS_FAILED : rc;
    }
    if (l->context->is_server)
        know_peer(l);
    return 0;
}

bool tls_link_has_read(const struct tls_link *l)
{
    return l->has_read;
}

bool tls_link_is_plain_http(const struct tls_link *l)
{
    return l->is_plain_http;
}

ssize_t tls_link_read(struct tls_link *l, void *p, size_t n, struct err *err)
{
    size_t got;
    ERR_clear_error();
    int rc = SSL_read_ex(l->ssl, p, n, &got);
    if (rc == 1)
        return (ssize_t)got;
    rc = outcome(l, rc, "read", err);
    l->is_starved = rc == TLS_AGAIN && l->is_dry && SSL_want_read(l->ssl);
    return rc;
}

size_t tls_link_unsent(const struct tls_link *l)
{
    return l->rest.n - l->rest_at;
}

/* What it means that the socket did not take all of the records. */
static int send_outcome(struct tls_link *l, struct err *err)
{
    if (is_again(-1))
        return TLS_AGAIN;
    l->is_broken = true;
    err_set(err, ERR_IO, "write: %m");
    return TLS_FAILED;
}

/* As SSL_write_ex, which writes one record, for as many as are sent at once. */
static int gather_records(struct tls_link *l, const char *p, size_t n, size_t *ret_put)
{
    int rc = 1;
    size_t put;
    l->is_gathering = true;
    for (*ret_put = 0; rc == 1 && *ret_put < n; *ret_put += rc == 1 ? put : 0)
        rc = SSL_write_ex(l->ssl, p + *ret_put, n - *ret_put, &put);
    l->is_gathering = false;
    return rc;
}

static ssize_t write_gathered(struct tls_link *l, const char *p, size_t n, struct err *err)
{
    struct buf *records = &l->context->records;
    size_t put;
    int rc = gather_records(l, p, n < GATHER ? n : GATHER, &put);
    size_t sent = send_bytes(l, records->p, records->n);
    int code = sent < records->n ? send_outcome(l, err) : 0;
    if (code == TLS_AGAIN)
        buf_add(&l->rest, records->p + sent, records->n - sent);
    records->n = 0;
    if (code == TLS_FAILED)
        return TLS_FAILED;
    if (rc != 1 && ((rc = outcome(l, rc, "write", err)) != TLS_AGAIN || put == 0))
        return rc == 0 ? TLS_FAILED : rc;
    return (ssize_t)put;
}

ssize_t tls_link_write(struct tls_link *l, const void *p, size_t n, struct err *err)
{
    size_t put;
    ERR_clear_error();
    if (!send_rest(l))
        return send_outcome(l, err);
    if (n == 0)
        return 0;
    if (n > SSL3_RT_MAX_PLAIN_LENGTH)
        return write_gathered(l, p, n, err);
    int rc = SSL_write_ex(l->ssl, p, n, &put);
    if (rc == 1)
        return (ssize_t)put;
    rc = outcome(l, rc, "write", err);
    return rc == 0 ? TLS_FAILED : rc;
}

void tls_link_goodbye(struct tls_link *l)
{
    if (l->is_broken || !SSL_is_init_finished(l->ssl))
        return;
    ERR_clear_error();
    (void)SSL_shutdown(l->ssl);
    ERR_clear_error();
}
