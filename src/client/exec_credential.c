/* SPDX-License-Identifier: Apache-2.0 */
#include "client/exec_credential.h"

#include "base/clock.h"
#include "client/header.h"
#include "json/base64.h"
#include "json/yaml.h"

static void add_text(struct buf *b, const char *name, str value)
{
    if (value.n == 0)
        return;
    buf_fmt(b, ",\"%s\":", name);
    json_encode_str(b, value);
}

/* Fields in the order of client-go. */
static void add_cluster(struct buf *b, struct arena *a, const struct client_config *config, str ca_pem)
{
    str extra = config->exec->cluster_config;
    buf_add_str(b, S("\"cluster\":{\"server\":"));
    json_encode_str(b, config->server);
    add_text(b, "tls-server-name", config->given_server_name);
    buf_add_str(b, config->insecure ? S(",\"insecure-skip-tls-verify\":true") : S(""));
    add_text(b, "certificate-authority-data", ca_pem.n ? base64_encode(a, ca_pem) : (str){0});
    buf_add_str(b, config->disable_compression ? S(",\"disable-compression\":true") : S(""));
    buf_fmt(b, ",\"config\":%.*s},", STR(extra.n ? extra : S("null")));
}

str exec_credential_ask(struct arena *a, const struct client_config *config, str ca_pem)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("{\"kind\":\"ExecCredential\",\"apiVersion\":"));
    json_encode_str(&b, config->exec->api_version);
    buf_add_str(&b, S(",\"spec\":{"));
    if (config->exec->provide_cluster_info)
        add_cluster(&b, a, config, ca_pem);
    buf_add_str(&b, S("\"interactive\":false}}\n"));
    return buf_str(&b);
}

static int read_text(const struct json *status, const char *name, str *ret, struct err *err)
{
    const struct json *v = json_get(status, str_of(name));
    if (!json_is_null(v) && !json_is_str(v))
        return err_set(err, ERR_INVALID, "decoding stdout: status.%s: want string, not %s", name, json_type_name(v));
    *ret = json_text(v);
    return 0;
}

static int read_status(const struct json *status, struct exec_credential *ret, struct err *err)
{
    str expiry = {0};
    if (json_is_null(status))
        return err_set(err, ERR_INVALID, "exec plugin didn't return a status field");
    if (!json_is_obj(status))
        return err_set(err, ERR_INVALID, "decoding stdout: status: want object, not %s", json_type_name(status));
    if (read_text(status, "token", &ret->token, err) < 0 ||
        read_text(status, "clientCertificateData", &ret->certificate_pem, err) < 0 ||
        read_text(status, "clientKeyData", &ret->key_pem, err) < 0 ||
        read_text(status, "expirationTimestamp", &expiry, err) < 0)
        return err->code;
    ret->expires = !json_is_null(json_get(status, S("expirationTimestamp")));
    if (ret->expires && !time_parse(expiry, &ret->expires_s, &ret->expires_ns))
        return err_set(err, ERR_INVALID, "decoding stdout: status.expirationTimestamp: not a time as RFC 3339 has it");
    if (ret->token.n == 0 && ret->certificate_pem.n == 0 && ret->key_pem.n == 0)
        return err_set(err, ERR_INVALID, "exec plugin didn't return a token or cert/key pair");
    if ((ret->certificate_pem.n == 0) != (ret->key_pem.n == 0))
        return err_set(err, ERR_INVALID, "exec plugin returned only certificate or key, not both");
    if (!header_is_value(ret->token))
        return err_set(err, ERR_INVALID, "exec plugin returned a token with a control character");
    return 0;
}

/* Without a kind the text is taken for what was asked for, without a version it is not. */
static int check_version(const struct json *v, str want, struct err *err)
{
    str version = json_get_text(v, S("apiVersion")), kind = json_get_text(v, S("kind"));
    if (kind.n && !str_eq(kind, S("ExecCredential")))
        return err_set(err, ERR_INVALID, "decoding stdout: it is no ExecCredential");
    if (str_eq(version, want))
        return 0;
    if (str_eq(version, S("client.authentication.k8s.io/v1")) ||
        str_eq(version, S("client.authentication.k8s.io/v1beta1")))
        return err_set(err, ERR_INVALID,
                       "exec plugin is configured to use API version %.*s, plugin returned version %.*s", STR(want),
                       STR(version));
    return err_set(err, ERR_INVALID, "exec plugin is configured to use API version %.*s, plugin returned %s version",
                   STR(want), version.n ? "another" : "no");
}

int exec_credential_read(struct arena *a, str text, str api_version, struct exec_credential *ret, struct err *err)
{
    struct err mine;
    struct json_limits limits = {.bytes = EXEC_CREDENTIAL_MAX_BYTES};
    struct json_notes tolerated = {0};
    struct exec_credential found = {0};
    struct json v;
    err = err ? err : &mine;
    if (yaml_decode(a, text, &limits, &tolerated, &v, err) < 0)
        return err_set(err, ERR_INVALID, "decoding stdout: it is neither JSON nor YAML");
    if (!json_is_null(&v) && !json_is_obj(&v))
        return err_set(err, ERR_INVALID, "decoding stdout: want an object, not %s", json_type_name(&v));
    if (check_version(&v, api_version, err) < 0 || read_status(json_get(&v, S("status")), &found, err) < 0)
        return err->code;
    *ret = found;
    return 0;
}

bool exec_credential_is_expired(const struct exec_credential *c, int64_t now_ns)
{
    int64_t now_s = now_ns / 1000000000;
    uint32_t rest = (uint32_t)(now_ns % 1000000000);
    return c->expires && (now_s > c->expires_s || (now_s == c->expires_s && rest > c->expires_ns));
}
