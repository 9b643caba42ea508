/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and certificates on disk: made once, read again, renewed in time, and refused when something is wrong with them. */
#include "authn/pki.h"
#include "authn/pki_issue.h"

#include "base/file.h"
#include "json/base64.h"
#include "json/yaml.h"

#include <openssl/x509v3.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW INT64_C(1794789083)
#define DAY INT64_C(86400)
#define YEAR (365 * DAY)

static const str hosts[] = {S_INIT("192.0.2.7"), S_INIT("box.example"), S_INIT("localhost"), S_INIT("bad host"),
                            S_INIT("")};

struct place {
    struct arena arena;
    struct clock_fake clock;
    char top[64];
    const char *dir;
    struct strs hosts;
};

static void set_up(struct place *p)
{
    *p = (struct place){.clock = {.wall = NOW * INT64_C(1000000000)}, .hosts = {hosts, 5}};
    (void)snprintf(p->top, sizeof p->top, "/tmp/reeve-pki-XXXXXX");
    assert_non_null(mkdtemp(p->top));
    p->dir = str_cstr(&p->arena, str_fmt(&p->arena, "%s/pki", p->top));
}

static const char *path_of(struct place *p, const char *name)
{
    return str_cstr(&p->arena, str_fmt(&p->arena, "%s/%s", p->dir, name));
}

/* Calls fn with every file. */
static size_t each_file(struct place *p, void (*fn)(const char *path))
{
    size_t n = 0;
    DIR *d = opendir(p->dir);
    for (struct dirent *e; d && (e = readdir(d));) /* NOLINT(concurrency-mt-unsafe): one thread */
        if (e->d_name[0] != '.') {
            fn(path_of(p, e->d_name));
            n++;
        }
    if (d)
        closedir(d);
    return n;
}

static void drop(const char *path)
{
    unlink(path);
}

static void tear_down(struct place *p)
{
    each_file(p, drop);
    rmdir(p->dir);
    assert_int_equal(rmdir(p->top), 0);
    arena_done(&p->arena);
}

static struct pki *open_pki(struct place *p)
{
    struct pki *pki = NULL;
    struct err err = {0};
    struct pki_options options = {p->dir, clock_of_fake(&p->clock), p->hosts};
    if (pki_open(&options, &pki, &err) < 0)
        fail_msg("%s", err.msg);
    return pki;
}

/* The words of the refusal, without the directory. */
static const char *refusal(struct place *p, enum err_code code)
{
    struct pki *pki = NULL;
    struct err err = {0};
    struct pki_options options = {p->dir, clock_of_fake(&p->clock), p->hosts};
    assert_int_equal(pki_open(&options, &pki, &err), code);
    assert_null(pki);
    const char *at = strstr(err.msg, p->dir);
    assert_non_null(at);
    return str_cstr(&p->arena, str_from(str_of(at), strlen(p->dir)));
}

static str text_of(struct place *p, const char *name)
{
    char *text = arena_alloc(&p->arena, 65536);
    int fd = open(path_of(p, name), O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, 65536);
    assert_true(fd >= 0 && n > 0);
    close(fd);
    return (str){text, (size_t)n};
}

static void put_text(struct place *p, const char *name, str text)
{
    struct err err;
    assert_int_equal(file_write(path_of(p, name), text, &err), 0);
}

/* What libcrypto thinks of it: signed by the CA, good for the purpose, at that time. */
static int verify(str ca_pem, str certificate_pem, int purpose, int64_t when)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509 *ca PEM_CERTIFICATE_SCOPE = pem_read_certificate(ca_pem);
    X509 *x PEM_CERTIFICATE_SCOPE = pem_read_certificate(certificate_pem);
    assert_true(ca && x && X509_STORE_add_cert(store, ca) && X509_STORE_CTX_init(ctx, store, x, NULL));
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(param, (time_t)when);
    X509_VERIFY_PARAM_set_purpose(param, purpose);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
    X509_verify_cert(ctx);
    int code = X509_STORE_CTX_get_error(ctx);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    return code;
}

/* ---- First and later starts. ---- */

static void check_mode(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_first_start(void **state)
{
    struct place p;
    struct stat st;
    set_up(&p);
    mode_t before = umask(0); /* whatever the mask of the user is */
    struct pki *pki = open_pki(&p);
    umask(before);
    assert_int_equal(stat(p.dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(each_file(&p, check_mode), 5);
    assert_int_equal(verify(pki_ca_pem(pki), pki_serving(pki).certificate_pem, X509_PURPOSE_SSL_SERVER, NOW),
                     X509_V_OK);
    assert_int_equal(verify(pki_ca_pem(pki), pki_admin(pki).certificate_pem, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_OK);
    assert_int_equal(verify(pki_ca_pem(pki), pki_admin(pki).certificate_pem, X509_PURPOSE_SSL_SERVER, NOW),
                     X509_V_ERR_INVALID_PURPOSE);
    assert_int_equal(verify(pki_ca_pem(pki), pki_serving(pki).certificate_pem, X509_PURPOSE_SSL_CLIENT, NOW),
                     X509_V_ERR_INVALID_PURPOSE);
    assert_int_equal(pki_due(pki), 0);
    assert_true(str_eq(text_of(&p, "ca.crt"), pki_ca_pem(pki)));
    pki_close(pki);
    tear_down(&p);
}

static void test_later_start(void **state)
{
    static const char *const files[] = {"ca.pem", "ca.crt", "serving.pem", "admin.pem", "sa.key"};
    struct place p;
    str before[5];
    set_up(&p);
    pki_close(open_pki(&p));
    for (size_t i = 0; i < 5; i++)
        before[i] = text_of(&p, files[i]);
    struct pki *pki = open_pki(&p);
    for (size_t i = 0; i < 5; i++)
        assert_true(str_eq(text_of(&p, files[i]), before[i]));
    assert_true(str_find(before[2], pki_serving(pki).certificate_pem) > 0);
    assert_true(str_eq(before[4], pki_token_key_pem(pki)));
    pki_close(pki);
    tear_down(&p);
}

static void test_locked(void **state)
{
    struct place p;
    set_up(&p);
    struct pki *pki = open_pki(&p);
    assert_string_equal(refusal(&p, ERR_CONFLICT), " is in use by another process");
    pki_close(pki);
    pki_close(open_pki(&p));
    tear_down(&p);
}

static void test_names(void **state)
{
    static const char *const names[] = {"localhost",
                                        "kubernetes",
                                        "kubernetes.default",
                                        "kubernetes.default.svc",
                                        "kubernetes.default.svc.cluster.local",
                                        "box.example"};
    static const char *const addresses[] = {"127.0.0.1", "::1", "192.0.2.7"};
    struct place p;
    set_up(&p);
    struct pki *pki = open_pki(&p);
    X509 *serving PEM_CERTIFICATE_SCOPE = pem_read_certificate(pki_serving(pki).certificate_pem);
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(X509_check_host(serving, names[i], 0, 0, NULL), 1);
    for (size_t i = 0; i < COUNT(addresses); i++)
        assert_int_equal(X509_check_ip_asc(serving, addresses[i], 0), 1);
    assert_int_equal(X509_check_host(serving, "other.example", 0, 0, NULL), 0);
    GENERAL_NAMES *all = X509_get_ext_d2i(serving, NID_subject_alt_name, NULL, NULL);
    assert_int_equal(sk_GENERAL_NAME_num(all), 9); /* localhost once, what is no host not at all */
    GENERAL_NAMES_free(all);
    pki_close(pki);
    tear_down(&p);
}

/* ---- Renewal. ---- */

static void advance(struct place *p, int64_t seconds)
{
    p->clock.wall += seconds * INT64_C(1000000000);
}

static void test_renewal(void **state)
{
    struct place p;
    struct err err;
    unsigned renewed;
    set_up(&p);
    struct pki *pki = open_pki(&p);
    str serving = str_dup(&p.arena, pki_serving(pki).certificate_pem),
        admin = str_dup(&p.arena, pki_admin(pki).key_pem);
    advance(&p, YEAR * 2 / 3 - DAY);
    assert_int_equal(pki_due(pki), 0);
    assert_int_equal(pki_renew(pki, &renewed, &err), 0);
    assert_int_equal(renewed, 0);
    assert_true(str_eq(serving, pki_serving(pki).certificate_pem));
    advance(&p, 2 * DAY);
    assert_int_equal(pki_due(pki), PKI_SERVING | PKI_ADMIN);
    assert_int_equal(pki_renew(pki, &renewed, &err), 0);
    assert_int_equal(renewed, PKI_SERVING | PKI_ADMIN);
    assert_int_equal(pki_due(pki), 0);
    assert_false(str_eq(serving, pki_serving(pki).certificate_pem));
    assert_false(str_eq(admin, pki_admin(pki).key_pem)); /* keys are new as well */
    assert_int_equal(verify(pki_ca_pem(pki), pki_serving(pki).certificate_pem, X509_PURPOSE_SSL_SERVER, NOW + YEAR),
                     X509_V_OK);
    assert_true(str_find(text_of(&p, "serving.pem"), pki_serving(pki).certificate_pem) > 0);
    pki_close(pki);
    tear_down(&p);
}

/* A server that was off for a year starts with new certificates; so does one whose clock was wrong when it made them. */
static void test_renewal_at_start(void **state)
{
    struct place p;
    set_up(&p);
    pki_close(open_pki(&p));
    advance(&p, 2 * YEAR);
    struct pki *pki = open_pki(&p);
    assert_int_equal(verify(pki_ca_pem(pki), pki_admin(pki).certificate_pem, X509_PURPOSE_SSL_CLIENT, NOW + 2 * YEAR),
                     X509_V_OK);
    pki_close(pki);
    advance(&p, -YEAR);
    pki = open_pki(&p);
    assert_int_equal(verify(pki_ca_pem(pki), pki_admin(pki).certificate_pem, X509_PURPOSE_SSL_CLIENT, NOW + YEAR),
                     X509_V_OK);
    pki_close(pki);
    tear_down(&p);
}

static void test_other_hosts(void **state)
{
    struct place p;
    set_up(&p);
    struct pki *pki = open_pki(&p);
    str admin = str_dup(&p.arena, pki_admin(pki).certificate_pem);
    pki_close(pki);
    p.hosts.n = 1;
    pki = open_pki(&p);
    X509 *serving PEM_CERTIFICATE_SCOPE = pem_read_certificate(pki_serving(pki).certificate_pem);
    assert_int_equal(X509_check_host(serving, "box.example", 0, 0, NULL), 0);
    assert_int_equal(X509_check_ip_asc(serving, "192.0.2.7", 0), 1);
    assert_true(str_eq(admin, pki_admin(pki).certificate_pem)); /* has nothing to do with it */
    pki_close(pki);
    tear_down(&p);
}

/* The CA gets a new certificate for its old key: whoever believes the old one believes what the new one signs, and the other
 * way round. */
static void test_renewal_of_ca(void **state)
{
    struct place p;
    set_up(&p);
    struct pki *pki = open_pki(&p);
    str old_ca = str_dup(&p.arena, pki_ca_pem(pki)), old_admin = str_dup(&p.arena, pki_admin(pki).certificate_pem);
    pki_close(pki);
    advance(&p, 7 * YEAR);
    pki = open_pki(&p);
    assert_false(str_eq(old_ca, pki_ca_pem(pki)));
    assert_true(str_eq(text_of(&p, "ca.crt"), pki_ca_pem(pki)));
    assert_int_equal(verify(old_ca, pki_serving(pki).certificate_pem, X509_PURPOSE_SSL_SERVER, NOW + 7 * YEAR),
                     X509_V_OK);
    assert_int_equal(verify(pki_ca_pem(pki), old_admin, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_ERR_CERT_NOT_YET_VALID);
    pki_close(pki);
    tear_down(&p);
}

/* ---- What is refused. ---- */

static void test_open_to_others(void **state)
{
    struct place p;
    set_up(&p);
    pki_close(open_pki(&p));
    static const char *const files[] = {"ca.pem", "serving.pem", "admin.pem", "sa.key"};
    for (size_t i = 0; i < COUNT(files); i++) {
        assert_int_equal(chmod(path_of(&p, files[i]), 0640), 0);
        str want = str_fmt(
            &p.arena, "/%s is open to others (mode 0640)\nhint: if nobody else has used it, run \"chmod 600 %s/%s\"",
            files[i], p.dir, files[i]);
        assert_string_equal(refusal(&p, ERR_INVALID), str_cstr(&p.arena, want));
        assert_int_equal(chmod(path_of(&p, files[i]), 0600), 0);
    }
    assert_int_equal(chmod(p.dir, 0755), 0);
    assert_non_null(strstr(refusal(&p, ERR_INVALID), " is open to others (mode 0755)\nhint: "));
    assert_int_equal(chmod(p.dir, 0700), 0);
    pki_close(open_pki(&p));
    tear_down(&p);
}

static void test_not_together(void **state)
{
    struct place p, q;
    set_up(&p);
    set_up(&q);
    pki_close(open_pki(&p));
    pki_close(open_pki(&q));
    str ours = text_of(&p, "serving.pem"), theirs = text_of(&q, "serving.pem"), admin = text_of(&p, "admin.pem");
    put_text(&p, "serving.pem", theirs);
    assert_string_equal(refusal(&p, ERR_INVALID),
                        "/serving.pem was not signed by ca.pem beside it: remove it, and a new one will be made");
    size_t key_n = (size_t)str_find(ours, S("-----BEGIN CERTIFICATE"));
    put_text(&p, "serving.pem", str_fmt(&p.arena, "%.*s%.*s", STR(str_upto(admin, key_n)), STR(str_from(ours, key_n))));
    assert_string_equal(refusal(&p, ERR_INVALID), "/serving.pem: key and certificate do not belong together");
    put_text(&p, "serving.pem", str_upto(ours, key_n));
    assert_string_equal(refusal(&p, ERR_INVALID), "/serving.pem does not hold a private key and a certificate");
    put_text(&p, "serving.pem", S("x"));
    assert_string_equal(refusal(&p, ERR_INVALID), "/serving.pem does not hold a private key and a certificate");
    assert_int_equal(unlink(path_of(&p, "serving.pem")), 0);
    pki_close(open_pki(&p)); /* made anew, as the text says */
    put_text(&p, "ca.pem", admin);
    assert_string_equal(refusal(&p, ERR_INVALID), "/ca.pem is not the certificate of a CA");
    put_text(&p, "ca.pem", text_of(&q, "ca.pem"));
    assert_non_null(strstr(refusal(&p, ERR_INVALID), "/serving.pem was not signed by ca.pem beside it"));
    assert_int_equal(unlink(path_of(&p, "ca.pem")), 0);
    assert_string_equal(
        refusal(&p, ERR_INVALID),
        "/ca.pem is missing but serving.pem is there: bring it back, or remove the whole directory to start "
        "with new keys");
    tear_down(&q);
    tear_down(&p);
}

/* A certificate that names our CA as its issuer, but that somebody else signed. */
static void test_false_signature(void **state)
{
    struct place p;
    struct err err;
    EVP_PKEY *key PEM_KEY_SCOPE = NULL, *thief PEM_KEY_SCOPE = NULL;
    X509 *x PEM_CERTIFICATE_SCOPE = NULL;
    set_up(&p);
    pki_close(open_pki(&p));
    X509 *ca PEM_CERTIFICATE_SCOPE = pem_read_certificate(text_of(&p, "ca.pem"));
    struct pki_subject subject = {PKI_FOR_CLIENT, S("kubernetes-admin"), {0}, {0}, NOW - 100, NOW + YEAR};
    assert_int_equal(pki_make_key(&key, &err) | pki_make_key(&thief, &err), 0);
    assert_int_equal(pki_issue(key, &subject, &(struct pki_issuer){thief, ca}, &x, &err), 0);
    put_text(&p, "admin.pem",
             str_fmt(&p.arena, "%.*s%.*s", STR(pem_write_key(&p.arena, key)), STR(pem_write_certificate(&p.arena, x))));
    assert_non_null(strstr(refusal(&p, ERR_INVALID), "/admin.pem was not signed by ca.pem beside it"));
    tear_down(&p);
}

static void test_no_files(void **state)
{
    struct place p;
    set_up(&p);
    pki_close(open_pki(&p));
    char *big = arena_alloc(&p.arena, 65536);
    memset(big, 'x', 65536);
    put_text(&p, "sa.key", (str){big, 65536});
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa.key is too large for a key or certificate");
    put_text(&p, "sa.key", S("x"));
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa.key is no unencrypted EC key on P-256");
    unlink(path_of(&p, "sa.key"));
    assert_int_equal(symlink("ca.pem", path_of(&p, "sa.key")), 0);
    assert_string_equal(refusal(&p, ERR_IO), "/sa.key: Too many levels of symbolic links");
    unlink(path_of(&p, "sa.key"));
    assert_int_equal(mkfifo(path_of(&p, "sa.key"), 0600), 0);
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa.key is not a file");
    tear_down(&p);
}

static void test_no_directory(void **state)
{
    struct place p;
    set_up(&p);
    const char *real = p.dir;
    p.dir = str_cstr(&p.arena, str_fmt(&p.arena, "%s/none/pki", p.top));
    assert_string_equal(refusal(&p, ERR_IO), ": No such file or directory");
    p.dir = real;
    int fd = open(p.dir, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(fd);
    assert_string_equal(refusal(&p, ERR_IO), ": Not a directory");
    unlink(p.dir);
    tear_down(&p);
}

/* A first start that ended early is finished by the next, wherever it stopped. */
static void test_cut_short(void **state)
{
    static const char *const order[] = {"ca.pem", "sa.key", "ca.crt", "serving.pem", "admin.pem"};
    for (size_t done = 0; done <= 5; done++) {
        struct place p;
        set_up(&p);
        pki_close(open_pki(&p));
        str ca = text_of(&p, "ca.pem");
        for (size_t i = done; i < 5; i++)
            unlink(path_of(&p, order[i]));
        struct pki *pki = open_pki(&p);
        assert_int_equal(verify(pki_ca_pem(pki), pki_serving(pki).certificate_pem, X509_PURPOSE_SSL_SERVER, NOW),
                         X509_V_OK);
        assert_true(done == 0 || str_eq(ca, text_of(&p, "ca.pem")));
        assert_int_equal(each_file(&p, check_mode), 5);
        pki_close(pki);
        tear_down(&p);
    }
}

/* ---- Keys of tokens. ---- */

static str some_key(struct place *p, bool is_public)
{
    struct err err;
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    assert_int_equal(pki_make_key(&key, &err), 0);
    return is_public ? pem_write_public_key(&p->arena, key) : pem_write_key(&p->arena, key);
}

/* sa.key moved aside: another one is made, the old one is accepted; in any order of names, private or public. */
static void test_old_token_keys(void **state)
{
    struct place p;
    set_up(&p);
    struct pki *pki = open_pki(&p);
    str first = str_dup(&p.arena, pki_token_key_pem(pki));
    assert_int_equal(pki_old_token_keys(pki).n, 0);
    pki_close(pki);
    assert_int_equal(rename(path_of(&p, "sa.key"), path_of(&p, "sa-1.key")), 0);
    put_text(&p, "sa-0.pub", some_key(&p, true));
    put_text(&p, "sa-1.key.bak", S("not looked at"));
    put_text(&p, "old-sa.key", S("not looked at"));
    pki = open_pki(&p);
    EVP_PKEY *key PEM_KEY_SCOPE = pem_read_key(first);
    struct strs old = pki_old_token_keys(pki);
    assert_false(str_eq(pki_token_key_pem(pki), first));
    assert_int_equal(old.n, 2);
    assert_true(str_eq(old.p[0], text_of(&p, "sa-0.pub")));
    assert_true(str_eq(old.p[1], pem_write_public_key(&p.arena, key))); /* the private half is not kept */
    str second = str_dup(&p.arena, pki_token_key_pem(pki));
    pki_close(pki);
    unlink(path_of(&p, "sa-1.key"));
    pki = open_pki(&p);
    assert_true(str_eq(pki_token_key_pem(pki), second));
    assert_int_equal(pki_old_token_keys(pki).n, 1);
    pki_close(pki);
    tear_down(&p);
}

static void test_bad_token_keys(void **state)
{
    struct place p;
    set_up(&p);
    pki_close(open_pki(&p));
    EVP_PKEY *key PEM_KEY_SCOPE = pem_read_key(text_of(&p, "sa.key"));
    put_text(&p, "sa-a.key", text_of(&p, "sa.key"));
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa-a.key holds the same key as sa.key: remove one of them");
    put_text(&p, "sa-a.key", some_key(&p, false));
    put_text(&p, "sa-b.pub", pem_write_public_key(&p.arena, key));
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa-b.pub holds the same key as sa.key: remove one of them");
    put_text(&p, "sa-b.pub", text_of(&p, "sa-a.key"));
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa-b.pub holds the same key as sa-a.key: remove one of them");
    put_text(&p, "sa-b.pub", S("x"));
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa-b.pub is no unencrypted EC key on P-256");
    put_text(&p, "sa-b.pub", text_of(&p, "ca.crt")); /* a certificate is no key */
    assert_string_equal(refusal(&p, ERR_INVALID), "/sa-b.pub is no unencrypted EC key on P-256");
    put_text(&p, "sa-b.pub", some_key(&p, true));
    assert_int_equal(chmod(path_of(&p, "sa-b.pub"), 0644), 0);
    assert_non_null(strstr(refusal(&p, ERR_INVALID), "/sa-b.pub is open to others (mode 0644)\nhint: "));
    unlink(path_of(&p, "sa-b.pub"));
    assert_int_equal(symlink("sa.key", path_of(&p, "sa-b.key")), 0);
    assert_string_equal(refusal(&p, ERR_IO), "/sa-b.key: Too many levels of symbolic links");
    unlink(path_of(&p, "sa-b.key"));
    pki_close(open_pki(&p));
    for (int i = 0; i <= PKI_OLD_TOKEN_KEYS_MAX; i++)
        put_text(&p, str_cstr(&p.arena, str_fmt(&p.arena, "sa-%d.pub", i)), S("x"));
    assert_string_equal(refusal(&p, ERR_INVALID), " has more than 16 files sa-*: remove those that are not needed");
    tear_down(&p);
}

/* ---- For others. ---- */

static void test_sign_client(void **state)
{
    static const str groups[] = {S_INIT("system:agents"), S_INIT("g")};
    struct place p;
    struct pki_pair pair;
    struct err err = {0};
    set_up(&p);
    struct pki *pki = open_pki(&p);
    char *long_name = arena_alloc(&p.arena, 2000);
    memset(long_name, 'n', 2000);
    struct pki_client client = {.user = {long_name, 340}, .groups = {groups, 2}, .seconds = 100 * YEAR};
    assert_int_equal(pki_sign_client(pki, &p.arena, &client, &pair, &err), 0);
    X509 *x PEM_CERTIFICATE_SCOPE = pem_read_certificate(pair.certificate_pem);
    EVP_PKEY *key PEM_KEY_SCOPE = pem_read_key(pair.key_pem);
    X509 *ca PEM_CERTIFICATE_SCOPE = pem_read_certificate(pki_ca_pem(pki));
    assert_int_equal(X509_check_private_key(x, key), 1);
    assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(x)), 3);
    assert_int_equal(ASN1_TIME_compare(X509_get0_notAfter(x), X509_get0_notAfter(ca)),
                     0); /* never longer than the CA */
    assert_int_equal(verify(pki_ca_pem(pki), pair.certificate_pem, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_OK);
    client.user.n = 2000;
    assert_int_equal(pki_sign_client(pki, &p.arena, &client, &pair, &err), ERR_INVALID);
    client.user.n = 0;
    assert_int_equal(pki_sign_client(pki, &p.arena, &client, &pair, &err), ERR_INVALID);
    pki_close(pki);
    tear_down(&p);
}

static str inside(struct arena *a, const struct json *v, str key)
{
    str bytes = {0};
    size_t at;
    assert_int_equal(base64_decode(a, json_get_text(v, key), &bytes, &at), 0);
    return bytes;
}

static void test_kubeconfig(void **state)
{
    struct place p;
    struct json v;
    struct err err;
    set_up(&p);
    struct pki *pki = open_pki(&p);
    str text = pki_kubeconfig(pki, &p.arena, S("https://[::1]:6443"));
    assert_int_equal(yaml_decode(&p.arena, text, NULL, NULL, &v, &err), 0);
    const struct json *cluster = json_get(&json_get(&v, S("clusters"))->items[0], S("cluster"));
    const struct json *user = json_get(&json_get(&v, S("users"))->items[0], S("user"));
    assert_true(str_eq(json_get_text(cluster, S("server")), S("https://[::1]:6443")));
    assert_true(str_eq(inside(&p.arena, cluster, S("certificate-authority-data")), pki_ca_pem(pki)));
    assert_true(str_eq(inside(&p.arena, user, S("client-certificate-data")), pki_admin(pki).certificate_pem));
    assert_true(str_eq(inside(&p.arena, user, S("client-key-data")), pki_admin(pki).key_pem));
    pki_close(pki);
    tear_down(&p);
}

static void test_write_file(void **state)
{
    struct place p;
    struct err err = {0};
    set_up(&p);
    pki_close(open_pki(&p));
    int fd = open(path_of(&p, "k"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    close(fd);
    assert_int_equal(file_write(path_of(&p, "k"), S("one"), &err), 0);
    check_mode(path_of(&p, "k"));
    assert_true(str_eq(text_of(&p, "k"), S("one")));
    struct stat before, after;
    assert_int_equal(stat(path_of(&p, "k"), &before), 0);
    assert_int_equal(file_update(path_of(&p, "k"), S("one"), &err), 0);
    assert_int_equal(stat(path_of(&p, "k"), &after), 0);
    assert_true(before.st_ino == after.st_ino); /* right already: not written */
    assert_int_equal(chmod(path_of(&p, "k"), 0644), 0);
    assert_int_equal(file_update(path_of(&p, "k"), S("one"), &err), 0);
    assert_int_equal(stat(path_of(&p, "k"), &after), 0);
    assert_int_equal(after.st_mode & 0777, 0600);
    str text;
    assert_int_equal(file_update(path_of(&p, "k"), S("three"), &err), 0);
    assert_int_equal(file_read(&p.arena, str_of(path_of(&p, "k")), FILE_REGULAR, 100, &text, &err), 0);
    assert_true(str_eq(text, S("three")));
    assert_int_equal(file_write(path_of(&p, "none/k"), S("one"), &err), ERR_IO);
    assert_int_equal(mkdir(path_of(&p, "d"), 0700), 0);
    assert_int_equal(file_write(path_of(&p, "d"), S("one"), &err), ERR_IO);
    rmdir(path_of(&p, "d"));
    assert_int_equal(each_file(&p, check_mode), 6); /* nothing is left over from what failed */
    tear_down(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_start),     cmocka_unit_test(test_later_start),
        cmocka_unit_test(test_locked),          cmocka_unit_test(test_names),
        cmocka_unit_test(test_renewal),         cmocka_unit_test(test_renewal_at_start),
        cmocka_unit_test(test_other_hosts),     cmocka_unit_test(test_renewal_of_ca),
        cmocka_unit_test(test_open_to_others),  cmocka_unit_test(test_not_together),
        cmocka_unit_test(test_false_signature), cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_no_directory),    cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_sign_client),     cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_write_file),      cmocka_unit_test(test_old_token_keys),
        cmocka_unit_test(test_bad_token_keys),
    };
    return cmocka_run_group_tests_name("pki", tests, NULL, NULL);
}
