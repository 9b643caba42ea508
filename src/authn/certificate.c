/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/certificate.h"

#include "authn/authn.h"
#include "authn/pem.h"

#include "base/vec.h"

#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

enum { DER_MAX = 64 * 1024 };

typedef VEC(str) str_vec;

static bool read_text(struct arena *a, const X509_NAME_ENTRY *entry, str *ret)
{
    unsigned char *p = NULL;
    int n = ASN1_STRING_to_UTF8(&p, X509_NAME_ENTRY_get_data(entry));
    bool is_good = n >= 0 && str_is_utf8((str){(char *)p, (size_t)n});
    if (is_good)
        *ret = str_dup(a, (str){(char *)p, (size_t)n});
    OPENSSL_free(p);
    return is_good;
}

/* Of several common names the last one counts, as it does in Go. */
static bool read_subject(struct arena *a, const X509_NAME *subject, str *ret_user, str_vec *groups)
{
    for (int i = 0; i < X509_NAME_entry_count(subject); i++) {
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, i);
        int what = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
        str text;
        if (what != NID_commonName && what != NID_organizationName)
            continue;
        if (!read_text(a, entry, &text))
            return false;
        if (what == NID_commonName)
            *ret_user = text;
        else
            *vec_push(a, groups) = text;
    }
    return true;
}

static void add_credential_id(struct arena *a, str der, struct authz_identity *who)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf id = {.arena = a};
    SHA256((const unsigned char *)der.p, der.n, digest);
    buf_add_str(&id, S("X509SHA256="));
    for (size_t i = 0; i < sizeof digest; i++)
        buf_fmt(&id, "%02x", digest[i]);
    str *value = ARENA_NEW(a, str);
    struct authz_extra *extra = ARENA_NEW(a, struct authz_extra);
    *value = buf_str(&id);
    *extra = (struct authz_extra){S("authentication.kubernetes.io/credential-id"), {value, 1}};
    who->extra = extra;
    who->n_extra = 1;
}

int certificate_identity(struct arena *a, str der, struct authz_identity *ret, struct err *err)
{
    const unsigned char *at = (const unsigned char *)der.p;
    X509 *certificate PEM_CERTIFICATE_SCOPE = der.n && der.n <= DER_MAX ? d2i_X509(NULL, &at, (long)der.n) : NULL;
    struct authz_identity who = {0};
    str_vec groups = {0};
    bool is_whole = certificate && at == (const unsigned char *)der.p + der.n;
    bool is_client = is_whole && X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1;
    bool is_read = is_client && read_subject(a, X509_get_subject_name(certificate), &who.user, &groups);
    ERR_clear_error();
    if (!is_whole)
        return err_set(err, ERR_UNAUTHORIZED, "client certificate cannot be read");
    if (!is_client)
        return err_set(err, ERR_UNAUTHORIZED, "client certificate is not meant for clients");
    if (!is_read || who.user.n == 0)
        return err_set(err, ERR_UNAUTHORIZED, "client certificate names no user");
    who.groups = (struct strs){groups.p, groups.n};
    add_credential_id(a, der, &who);
    *ret = who;
    return 0;
}
