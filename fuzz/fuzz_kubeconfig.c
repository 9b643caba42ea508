/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig files and what credential plugins print. The text is one file, or two parted by a line "+++"; it is also what a plugin
 * printed. Merging is checked against reading the files alone; what comes out must be fit to be sent: no header can be split,
 * no plain text to the network, never a secret over it; and what a plugin is told must be JSON.
 */
#include "client/exec_credential.h"
#include "client/header.h"
#include "client/kubeconfig.h"
#include "json/json.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *err)
{
    assert(err->code == ERR_BAD_REQUEST || err->code == ERR_TOO_LARGE || err->code == ERR_INVALID ||
           err->code == ERR_NOT_FOUND);
    assert(err->msg[0] && str_is_utf8(str_of(err->msg)));
}

static void check_host(const struct client_config *c)
{
    assert(c->host.n && c->port);
    for (size_t i = 0; i < c->host.n; i++)
        assert(c->host.p[i] > ' ' && c->host.p[i] <= '~' && c->host.p[i] != '@' && c->host.p[i] != '/');
    for (size_t i = 0; i < c->base_path.n; i++)
        assert(c->base_path.p[i] > ' ' && c->base_path.p[i] <= '~' && c->base_path.p[i] != '?');
    assert(c->base_path.n == 0 || (c->base_path.p[0] == '/' && c->base_path.p[c->base_path.n - 1] != '/'));
}

static void check_exec(struct arena *a, const struct client_config *c)
{
    struct json told;
    struct err err;
    assert(!c->token.n && !c->token_file.n && !c->has_basic && !c->certificate_file.n && !c->certificate_pem.n);
    assert(c->exec->command.n);
    assert(str_find_char(c->exec->command, '/') < 0 || c->exec->command.p[0] == '/');
    int r = json_decode(a, exec_credential_ask(a, c, c->ca_pem), NULL, NULL, &told, &err);
    assert(r == 0 || err.code == ERR_TOO_LARGE);
}

static void check_config(struct arena *a, const struct client_config *c)
{
    check_host(c);
    struct http_headers headers = header_identity(a, (str){0}, &c->as);
    for (size_t i = 0; i < headers.n; i++) {
        assert(header_is_value(headers.p[i].value));
        for (size_t j = 0; j < headers.p[i].name.n; j++)
            assert(headers.p[i].name.p[j] > ' ' && headers.p[i].name.p[j] <= '~' && headers.p[i].name.p[j] != ':');
    }
    assert(header_is_value(c->token));
    assert(!(c->has_basic && (c->token.n || c->token_file.n)));
    assert(!c->insecure || (!c->ca_file.n && !c->ca_pem.n));
    assert(!c->ca_file.n || c->ca_file.p[0] == '/');
    if (!c->is_tls)
        assert(!c->token.n && !c->token_file.n && !c->has_basic && !c->exec && !c->certificate_pem.n);
    if (c->exec)
        check_exec(a, c);
}

/* True: all files could be read. */
static bool read_files(struct kubeconfig *k, const str *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct kubeconfig_file file = {S("file"), S("/folder"), texts[i]};
        struct err err;
        if (kubeconfig_add(k, &file, &err) < 0) {
            check_error(&err);
            return false;
        }
    }
    return true;
}

static bool resolve(struct arena *a, struct kubeconfig *k, struct client_config *ret)
{
    struct err err;
    if (kubeconfig_resolve(k, (str){0}, ret, &err) < 0) {
        check_error(&err);
        return false;
    }
    check_config(a, ret);
    return true;
}

/* A file merged with itself says the same. */
static void check_merge(struct arena *a, str text, const struct client_config *alone)
{
    struct kubeconfig k KUBECONFIG_SCOPE = {.arena = a};
    struct client_config twice;
    str texts[] = {text, text};
    bool ok = read_files(&k, texts, 2) && resolve(a, &k, &twice);
    assert(ok == (alone != NULL));
    if (alone)
        assert(str_eq(alone->server, twice.server) && str_eq(alone->token, twice.token) &&
               str_eq(alone->user, twice.user));
}

static void check_plugin(struct arena *a, str text)
{
    struct exec_credential got;
    struct err err;
    if (exec_credential_read(a, text, S("client.authentication.k8s.io/v1"), &got, &err) < 0) {
        check_error(&err);
        return;
    }
    assert(got.token.n || got.certificate_pem.n);
    assert(!got.certificate_pem.n == !got.key_pem.n);
    assert(header_is_value(got.token));
    (void)exec_credential_is_expired(&got, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct kubeconfig k KUBECONFIG_SCOPE = {.arena = &a};
    struct client_config config;
    str text = {(const char *)data, size};
    ptrdiff_t cut = str_find(text, S("\n+++\n"));
    str texts[] = {cut < 0 ? text : str_upto(text, (size_t)cut + 1),
                   cut < 0 ? (str){0} : str_from(text, (size_t)cut + 5)};
    bool ok = read_files(&k, texts, cut < 0 ? 1 : 2) && resolve(&a, &k, &config);
    if (cut < 0)
        check_merge(&a, text, ok ? &config : NULL);
    check_plugin(&a, text);
    return 0;
}
