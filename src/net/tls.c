/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts. Both kinds speak TLS 1.2 and later, hold no sessions (no cache, no tickets), and give their record buffers back
 * while a connection is idle.
 */
#include "net/tls.h"
#include "base/arena.h"

#include "net/tls_link.h"

#include <arpa/inet.h>
#include <assert.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

/* In the form of RFC 7301: each name behind its length. The server takes the first of its own that the client has. */
static const unsigned char protocols[] = "\x02h2\x08http/1.1";

/* From there to the end. */
static const unsigned char *offered(bool no_h2)
{
    return protocols + (no_h2 ? 1 + protocols[0] : 0);
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in,
                           unsigned in_n, void *ctx)
{
    (void)ssl;
    const unsigned char *ours = ctx;
    unsigned ours_n = (unsigned)(protocols + sizeof protocols - 1 - ours);
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, out_n, ours, ours_n, in, in_n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- PEM. ---- */

/* An encrypted key is an error, not a question on the terminal. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is OpenSSL's */
static int no_password(char *p, int n, int is_writing, void *ctx)
{
    (void)p;
    (void)n;
    (void)is_writing;
    (void)ctx;
    return 0;
}

static BIO *open_pem(str pem)
{
    return pem.n && pem.n < INT32_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : BIO_new(BIO_s_mem());
}

/* All certificates of a text, in its order; calls take for each, which does not keep the reference it is given. */
static int each_certificate(str pem, bool (*take)(SSL_CTX *ssl, X509 *x, size_t i), SSL_CTX *ssl, struct err *err)
{
    size_t n = 0;
    bool is_ok = true;
    BIO *in = open_pem(pem);
    ERR_clear_error();
    for (X509 *x; is_ok && in && (x = PEM_read_bio_X509(in, NULL, no_password, NULL)) != NULL; n++) {
        is_ok = take(ssl, x, n);
        X509_free(x);
    }
    unsigned long last = ERR_peek_last_error();
    is_ok = is_ok && n > 0 && ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
    BIO_free(in);
    if (!is_ok)
        return tls_link_error(err, ERR_INVALID, "read certificates");
    ERR_clear_error();
    return 0;
}

static bool take_own(SSL_CTX *ssl, X509 *x, size_t i)
{
    return (i == 0 ? SSL_CTX_use_certificate(ssl, x) : (int)SSL_CTX_add1_chain_cert(ssl, x)) == 1;
}

static bool take_believed(SSL_CTX *ssl, X509 *x, size_t i)
{
    (void)i;
    return X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), x) == 1;
}

/* The names of a server's CAs are sent along, so that a client that has several certificates knows which to show. */
static bool take_client_ca(SSL_CTX *ssl, X509 *x, size_t i)
{
    return take_believed(ssl, x, i) && SSL_CTX_add_client_CA(ssl, x) == 1;
}

static int use_own(SSL_CTX *ssl, str certificate, str key, struct err *err)
{
    if (each_certificate(certificate, take_own, ssl, err) < 0)
        return err->code;
    BIO *in = open_pem(key);
    EVP_PKEY *k = in ? PEM_read_bio_PrivateKey(in, NULL, no_password, NULL) : NULL;
    BIO_free(in);
    bool is_ok = k && SSL_CTX_use_PrivateKey(ssl, k) == 1 && SSL_CTX_check_private_key(ssl) == 1;
    EVP_PKEY_free(k);
    return is_ok ? 0 : tls_link_error(err, ERR_INVALID, "read the private key");
}

/* ---- Contexts. ---- */

static struct tls_context *context_new(bool is_server)
{
    struct tls_context *c = xcalloc(1, sizeof *c);
    c->refs = 1;
    c->is_server = is_server;
    c->socket = tls_link_socket_method();
    c->ssl = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    if (c->ssl == NULL || c->socket == NULL || SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION) != 1)
        abort(); /* memory, or an OpenSSL without TLS 1.2 */
    SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(c->ssl,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(c->ssl, 1); /* a record in one read instead of two */
    return c;
}

int tls_server_new(const struct tls_server_options *o, struct tls_context **ret, struct err *err)
{
    struct err mine;
    err = err ? err : &mine;
    struct tls_context *c = context_new(true);
    SSL_CTX_set_num_tickets(c->ssl, 0);
    SSL_CTX_set_alpn_select_cb(c->ssl, choose_protocol, (void *)offered(o->no_h2));
    if (use_own(c->ssl, o->certificate_pem, o->key_pem, err) < 0)
        goto fail;
    if (o->client_ca_pem.n) {
        SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_cert_verify_callback(c->ssl, tls_link_verify, NULL);
        if (each_certificate(o->client_ca_pem, take_client_ca, c->ssl, err) < 0)
            goto fail;
    }
    *ret = c;
    return 0;
fail:
    tls_unref(c);
    return err->code;
}

/* The name that the server's certificate must have, and SNI, which knows no addresses. */
static int expect_name(struct tls_context *c, str name, struct err *err)
{
    struct in6_addr address;
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(c->ssl);
    if (memchr(name.p, 0, name.n))
        return err_set(err, ERR_INVALID, "the server name holds a NUL");
    char *text;
    if (asprintf(&text, "%.*s", STR(name)) < 0)
        abort();
    bool is_address = inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    int ok = is_address ? X509_VERIFY_PARAM_set1_ip_asc(param, text) : X509_VERIFY_PARAM_set1_host(param, text, name.n);
    if (is_address)
        free(text);
    else
        c->sni = text;
    return ok == 1 ? 0 : tls_link_error(err, ERR_INVALID, "expect the server's name");
}

int tls_client_new(const struct tls_client_options *o, struct tls_context **ret, struct err *err)
{
    struct err mine;
    err = err ? err : &mine;
    struct tls_context *c = context_new(false);
    /* Nobody to check the certificate against would be a silent yes to every server there is. */
    if (!o->insecure && o->server_name.n == 0) {
        err_set(err, ERR_INVALID, "a TLS client needs the name of its server");
        goto fail;
    }
    if (o->insecure)
        SSL_CTX_set_verify(c->ssl, SSL_VERIFY_NONE, NULL);
    else
        SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER, tls_link_judge);
    const unsigned char *offer = offered(o->no_h2);
    if (SSL_CTX_set_alpn_protos(c->ssl, offer, (unsigned)(protocols + sizeof protocols - 1 - offer)) != 0)
        abort();
    if (o->server_name.n && expect_name(c, o->server_name, err) < 0)
        goto fail;
    if (o->ca_pem.n && each_certificate(o->ca_pem, take_believed, c->ssl, err) < 0)
        goto fail;
    if (o->ca_pem.n == 0 && SSL_CTX_set_default_verify_paths(c->ssl) != 1) {
        tls_link_error(err, ERR_IO, "read the system's certificates");
        goto fail;
    }
    if (o->certificate_pem.n && use_own(c->ssl, o->certificate_pem, o->key_pem, err) < 0)
        goto fail;
    *ret = c;
    return 0;
fail:
    tls_unref(c);
    return err->code;
}

struct tls_context *tls_ref(struct tls_context *c)
{
    if (c)
        c->refs++;
    return c;
}

void tls_unref(struct tls_context *c)
{
    if (c == NULL || --c->refs > 0)
        return;
    SSL_CTX_free(c->ssl);
    BIO_meth_free(c->socket);
    free(c->sni);
    buf_done(&c->records);
    free(c);
}
