/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/pki.h"
#include "authn/pki_issue.h"
#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "json/base64.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that hold secrets, and their directory: nobody else may read them. base/file.h writes them. */

enum { PKI_FILE_MAX = 64 * 1024 };

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define FD_SCOPE __attribute__((cleanup(close_fd)))

/* The directory, made if absent, for this process alone while *ret_fd is open. */
static int pki_dir_open(const char *path, int *ret_fd, struct err *err)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "make directory %s: %m", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_set(err, ERR_IO, "open directory %s: %m", path);
    int code = fstat(fd, &st) < 0 ? err_set(err, ERR_IO, "look at %s: %m", path) : file_check_private(path, &st, err);
    if (code == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        code = errno == EWOULDBLOCK ? err_set(err, ERR_CONFLICT, "%s is in use by another process", path)
                                    : err_set(err, ERR_IO, "lock %s: %m", path);
    if (code < 0)
        close(fd);
    else
        *ret_fd = fd;
    return code;
}

/* What was renamed in it stays so. */
static int pki_dir_sync(int fd, const char *path, struct err *err)
{
    return fsync(fd) < 0 ? err_set(err, ERR_IO, "sync directory %s: %m", path) : 0;
}

static bool pki_file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Names of the files in the directory that have this prefix and one of both suffixes, sorted, each NUL-terminated. ERR_INVALID: more than max. */
static int pki_dir_list(struct arena *a, const char *path, str prefix, const str suffixes[static 2], size_t max,
                        struct strs *ret, struct err *err)
{
    DIR *dir = opendir(path);
    VEC(str) names = {0};
    int code = 0;
    if (dir == NULL)
        return err_set(err, ERR_IO, "open directory %s: %m", path);
    while (code == 0) {
        errno = 0;
        const struct dirent *e = readdir(dir); /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        if (e == NULL) {
            code = errno ? err_set(err, ERR_IO, "read directory %s: %m", path) : 0;
            break;
        }
        str name = str_of(e->d_name);
        if (!str_has_prefix(name, prefix) || (!str_has_suffix(name, suffixes[0]) && !str_has_suffix(name, suffixes[1])))
            continue;
        if (names.n == max)
            code = err_set(err, ERR_INVALID, "%s has more than %zu files %.*s*: remove those that are not needed", path,
                           max, STR(prefix));
        else
            *vec_push(a, &names) = str_of(str_cstr(a, name));
    }
    closedir(dir);
    if (code == 0 && names.n)
        qsort(names.p, names.n, sizeof *names.p, compare_names);
    if (code == 0)
        *ret = (struct strs){names.p, names.n};
    return code;
}

static int read_all(struct arena *a, int fd, const char *path, str *ret, struct err *err)
{
    char *text = arena_alloc(a, PKI_FILE_MAX);
    size_t n = 0;
    ssize_t got;
    while ((got = read(fd, text + n, PKI_FILE_MAX - n)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, ERR_IO, "read %s: %m", path);
        n += (size_t)got;
        if (n == PKI_FILE_MAX)
            return err_set(err, ERR_INVALID, "%s is too large for a key or certificate", path);
    }
    *ret = (str){text, n};
    return 0;
}

static int pki_file_read(struct arena *a, const char *path, str *ret, struct err *err)
{
    struct stat st;
    int fd FD_SCOPE = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "open %s: %m", path);
    if (fstat(fd, &st) < 0)
        return err_set(err, ERR_IO, "look at %s: %m", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is not a file", path);
    int code = file_check_private(path, &st, err);
    return code < 0 ? code : read_all(a, fd, path, ret, err);
}

/* The admin's way in, as kubectl reads it. */

str pki_kubeconfig(const struct pki *p, struct arena *a, str server)
{
    struct pki_pair admin = pki_admin(p);
    return str_fmt(a,
                   PKI_KUBECONFIG_MARK "; changes are lost.\n"
                                       "apiVersion: v1\n"
                                       "kind: Config\n"
                                       "clusters:\n"
                                       "- name: reeve\n"
                                       "  cluster:\n"
                                       "    server: %.*s\n"
                                       "    certificate-authority-data: %.*s\n"
                                       "contexts:\n"
                                       "- name: reeve\n"
                                       "  context:\n"
                                       "    cluster: reeve\n"
                                       "    user: kubernetes-admin\n"
                                       "current-context: reeve\n"
                                       "users:\n"
                                       "- name: kubernetes-admin\n"
                                       "  user:\n"
                                       "    client-certificate-data: %.*s\n"
                                       "    client-key-data: %.*s\n",
                   STR(server), STR(base64_encode(a, pki_ca_pem(p))), STR(base64_encode(a, admin.certificate_pem)),
                   STR(base64_encode(a, admin.key_pem)));
}

enum {
    DAY = 24 * 60 * 60,
    CA_LIFE = 10 * 365 * DAY,
    LIFE = 365 * DAY,
    BACKDATE = 5 * 60, /* clocks of clients may be behind */
};

/* Names that every server answers to. */
static const str own_hosts[] = {
    S_INIT("localhost"),
    S_INIT("127.0.0.1"),
    S_INIT("::1"),
    S_INIT("kubernetes"),
    S_INIT("kubernetes.default"),
    S_INIT("kubernetes.default.svc"),
    S_INIT("kubernetes.default.svc.cluster.local"),
};
static const str masters[] = {S_INIT("system:masters")};

/* A key and its certificate. All NULL and empty: not there. */
struct holding {
    struct arena arena; /* of the texts */
    EVP_PKEY *key;
    X509 *certificate;
    struct pki_pair pem;
};

struct pki {
    struct arena arena;
    struct clock clock;
    str dir;
    int fd; /* of the directory, locked */
    struct strs hosts;
    struct holding ca, serving, admin;
    str token_key_pem;
    struct strs old_token_keys;
};

static int64_t now_seconds(const struct pki *p)
{
    return clock_seconds(&p->clock);
}

static const char *path_of(struct arena *a, const struct pki *p, const char *name)
{
    return str_cstr(a, str_fmt(a, "%.*s/%s", STR(p->dir), name));
}

/* ---- Holdings. ---- */

static void holding_done(struct holding *h)
{
    EVP_PKEY_free(h->key);
    X509_free(h->certificate);
    arena_done(&h->arena);
    *h = (struct holding){0};
}

static bool write_pem(struct holding *h)
{
    h->pem.key_pem = pem_write_key(&h->arena, h->key);
    h->pem.certificate_pem = pem_write_certificate(&h->arena, h->certificate);
    return h->pem.key_pem.n && h->pem.certificate_pem.n;
}

/* 0 with nothing in *ret when there is no such file. */
static int holding_read(const struct pki *p, const char *name, struct holding *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    const char *path = path_of(&scratch, p, name);
    str text = {0};
    int code = pki_file_read(&scratch, path, &text, err);
    if (code < 0)
        return code == ERR_NOT_FOUND ? 0 : code;
    struct holding h = {.key = pem_read_key(text), .certificate = pem_read_certificate(text)};
    if (h.key == NULL || h.certificate == NULL)
        code = err_set(err, ERR_INVALID, "%s does not hold a private key and a certificate", path);
    else if (X509_check_private_key(h.certificate, h.key) != 1)
        code = err_set(err, ERR_INVALID, "%s: key and certificate do not belong together", path);
    else if (!write_pem(&h))
        code = pem_fail(err, "write a key");
    ERR_clear_error();
    if (code < 0)
        holding_done(&h);
    else
        *ret = h;
    return code;
}

/* Puts a new holding in the place of an old one, on disk first. */
static int holding_replace(const struct pki *p, const char *name, struct holding *old, struct holding *new,
                           struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int code = write_pem(new) ? 0 : pem_fail(err, "write a key");
    if (code == 0) {
        str text = str_fmt(&scratch, "%.*s%.*s", STR(new->pem.key_pem), STR(new->pem.certificate_pem));
        code = file_replace(path_of(&scratch, p, name), text, err);
    }
    if (code < 0) {
        holding_done(new);
        return code;
    }
    holding_done(old);
    *old = *new;
    return 0;
}

static bool is_signed_by(const struct holding *h, const struct holding *ca)
{
    bool is =
        X509_check_issued(ca->certificate, h->certificate) == X509_V_OK && X509_verify(h->certificate, ca->key) == 1;
    ERR_clear_error();
    return is;
}

/* ---- What is due. ---- */

static bool is_aged(const struct pki *p, const struct holding *h)
{
    int64_t from, until, now = now_seconds(p);
    if (h->certificate == NULL || !pki_life(h->certificate, &from, &until))
        return true;
    return now < from || now > until - (until - from) / 3;
}

unsigned pki_due(const struct pki *p)
{
    unsigned due = 0;
    if (is_aged(p, &p->ca))
        due |= PKI_CA;
    if (is_aged(p, &p->serving) || !pki_has_hosts(p->serving.certificate, p->hosts))
        due |= PKI_SERVING;
    if (is_aged(p, &p->admin))
        due |= PKI_ADMIN;
    return due;
}

/* ---- Making. ---- */

/* From now on, but no longer than the CA. */
static void set_life(const struct pki *p, struct pki_subject *subject, int64_t seconds)
{
    int64_t from, until;
    subject->not_before = now_seconds(p) - BACKDATE;
    subject->not_after = now_seconds(p) + seconds;
    if (subject->use != PKI_FOR_CA && pki_life(p->ca.certificate, &from, &until) && subject->not_after > until)
        subject->not_after = until;
}

static int make_ca(struct pki *p, struct err *err)
{
    struct pki_subject subject = {.use = PKI_FOR_CA, .name = S("reeve-ca")};
    struct holding h = {0};
    int code = 0;
    if (p->ca.key && EVP_PKEY_up_ref(p->ca.key) == 1)
        h.key = p->ca.key;
    else
        code = pki_make_key(&h.key, err);
    set_life(p, &subject, CA_LIFE);
    if (code == 0)
        code = pki_issue(h.key, &subject, &(struct pki_issuer){.key = h.key}, &h.certificate, err);
    if (code < 0) {
        holding_done(&h);
        return code;
    }
    code = holding_replace(p, "ca.pem", &p->ca, &h, err);
    return code < 0 ? code : pki_dir_sync(p->fd, p->dir.p, err);
}

/* A new key and a certificate for it. */
static int make_leaf(struct pki *p, const struct pki_subject *subject, struct holding *ret, struct err *err)
{
    struct holding h = {0};
    struct pki_issuer issuer = {p->ca.key, p->ca.certificate};
    int code = pki_make_key(&h.key, err);
    if (code == 0)
        code = pki_issue(h.key, subject, &issuer, &h.certificate, err);
    if (code < 0)
        holding_done(&h);
    else
        *ret = h;
    return code;
}

static int renew_leaf(struct pki *p, const char *name, struct holding *of, struct pki_subject *subject, struct err *err)
{
    struct holding h;
    set_life(p, subject, LIFE);
    int code = make_leaf(p, subject, &h, err);
    return code < 0 ? code : holding_replace(p, name, of, &h, err);
}

int pki_renew(struct pki *p, unsigned *ret_renewed, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct pki_subject serving = {.use = PKI_FOR_SERVER, .name = S("kube-apiserver"), .hosts = p->hosts};
    struct pki_subject admin = {.use = PKI_FOR_CLIENT, .name = S("kubernetes-admin"), .groups = {masters, 1}};
    unsigned due = pki_due(p);
    int code = 0;
    *ret_renewed = 0;
    if (due & PKI_CA)
        code = make_ca(p, err);
    if (code == 0 && (due & PKI_CA))
        code = file_replace(path_of(&scratch, p, "ca.crt"), p->ca.pem.certificate_pem, err);
    if (code == 0 && (due & PKI_SERVING))
        code = renew_leaf(p, "serving.pem", &p->serving, &serving, err);
    if (code == 0 && (due & PKI_ADMIN))
        code = renew_leaf(p, "admin.pem", &p->admin, &admin, err);
    if (code == 0 && due)
        code = pki_dir_sync(p->fd, p->dir.p, err);
    if (code == 0)
        *ret_renewed = due;
    return code;
}

int pki_sign_client(struct pki *p, struct arena *a, const struct pki_client *client, struct pki_pair *ret,
                    struct err *err)
{
    struct pki_subject subject = {.use = PKI_FOR_CLIENT, .name = client->user, .groups = client->groups};
    struct holding h;
    set_life(p, &subject, client->seconds);
    int code = make_leaf(p, &subject, &h, err);
    if (code < 0)
        return code;
    *ret = (struct pki_pair){pem_write_key(a, h.key), pem_write_certificate(a, h.certificate)};
    holding_done(&h);
    return ret->key_pem.n && ret->certificate_pem.n ? 0 : pem_fail(err, "write a key");
}

/* ---- Opening. ---- */

static int list_old_token_keys(struct pki *p, struct arena *a, struct strs *ret, struct err *err)
{
    static const str suffixes[] = {S_INIT(".key"), S_INIT(".pub")};
    return pki_dir_list(a, p->dir.p, S("sa-"), suffixes, PKI_OLD_TOKEN_KEYS_MAX, ret, err);
}

/* Nothing else may be there when the CA is not: it would be of another one. */
static int check_fresh(struct pki *p, struct err *err)
{
    static const char *const others[] = {"serving.pem", "admin.pem", "sa.key"};
    struct arena scratch ARENA_SCOPE = {0};
    struct strs old = {0};
    const char *found = NULL;
    int code = list_old_token_keys(p, &scratch, &old, err);
    if (code < 0)
        return code;
    if (old.n)
        found = old.p[0].p;
    for (size_t i = 0; !found && i < COUNT(others); i++)
        if (pki_file_exists(path_of(&scratch, p, others[i])))
            found = others[i];
    if (!found)
        return 0;
    return err_set(err, ERR_INVALID,
                   "%.*s/ca.pem is missing but %s is there: bring it back, or remove the whole directory to start "
                   "with new keys",
                   STR(p->dir), found);
}

static int open_ca(struct pki *p, struct err *err)
{
    int code = holding_read(p, "ca.pem", &p->ca, err);
    if (code < 0)
        return code;
    if (p->ca.certificate == NULL) {
        code = check_fresh(p, err);
        return code < 0 ? code : make_ca(p, err);
    }
    if (X509_check_ca(p->ca.certificate) != 1 || !is_signed_by(&p->ca, &p->ca))
        return err_set(err, ERR_INVALID, "%.*s/ca.pem is not the certificate of a CA", STR(p->dir));
    return 0;
}

static int open_leaf(struct pki *p, const char *name, struct holding *of, struct err *err)
{
    int code = holding_read(p, name, of, err);
    if (code == 0 && of->certificate && !is_signed_by(of, &p->ca))
        code = err_set(err, ERR_INVALID,
                       "%.*s/%s was not signed by ca.pem beside it: remove it, and a new one will be made", STR(p->dir),
                       name);
    return code;
}

/* ERR_NOT_FOUND, or a key on P-256 which may be the public half only. */
static int read_token_key(struct pki *p, const char *name, EVP_PKEY *(*read)(str text), EVP_PKEY **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    const char *path = path_of(&scratch, p, name);
    str text = {0};
    int code = pki_file_read(&scratch, path, &text, err);
    if (code < 0)
        return code;
    EVP_PKEY *key = read(text);
    if (key && pem_is_p256(key)) {
        *ret = key;
        return 0;
    }
    EVP_PKEY_free(key);
    return err_set(err, ERR_INVALID, "%s is no unencrypted EC key on P-256", path);
}

static int open_token_key(struct pki *p, EVP_PKEY **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    int code = read_token_key(p, "sa.key", pem_read_key, &key, err);
    if (code == ERR_NOT_FOUND) {
        code = pki_make_key(&key, err);
        if (code == 0)
            code = file_write(path_of(&scratch, p, "sa.key"), pem_write_key(&scratch, key), err);
    }
    if (code < 0)
        return code;
    p->token_key_pem = pem_write_key(&p->arena, key);
    *ret = p->token_key_pem.n && EVP_PKEY_up_ref(key) == 1 ? key : NULL;
    return *ret ? 0 : pem_fail(err, "write a key");
}

/* keys[0] signs; fills in keys[i + 1] and pems[i] for names[i]. */
static int read_old_token_keys(struct pki *p, struct strs names, EVP_PKEY **keys, str *pems, struct err *err)
{
    for (size_t i = 0; i < names.n; i++) {
        int code = read_token_key(p, names.p[i].p, pem_read_public_key, &keys[i + 1], err);
        if (code < 0)
            return code;
        for (size_t k = 0; k <= i; k++)
            if (EVP_PKEY_eq(keys[k], keys[i + 1]) == 1)
                return err_set(err, ERR_INVALID, "%.*s/%.*s holds the same key as %.*s: remove one of them",
                               STR(p->dir), STR(names.p[i]), STR(k ? names.p[k - 1] : S("sa.key")));
        pems[i] = pem_write_public_key(&p->arena, keys[i + 1]);
        if (pems[i].n == 0)
            return pem_fail(err, "write a key");
    }
    ERR_clear_error();
    return 0;
}

static int open_token_keys(struct pki *p, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    EVP_PKEY *keys[1 + PKI_OLD_TOKEN_KEYS_MAX] = {0};
    struct strs names = {0};
    int code = open_token_key(p, &keys[0], err);
    if (code == 0)
        code = list_old_token_keys(p, &scratch, &names, err);
    str *pems = ARENA_ARRAY(&p->arena, str, names.n);
    if (code == 0)
        code = read_old_token_keys(p, names, keys, pems, err);
    for (size_t i = 0; i < COUNT(keys); i++)
        EVP_PKEY_free(keys[i]);
    p->old_token_keys = (struct strs){pems, names.n};
    return code;
}

/* The copy for people; whatever happened to it, it is made right again. */
static int open_copy(struct pki *p, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    const char *path = path_of(&scratch, p, "ca.crt");
    str text = {0};
    if (pki_file_read(&scratch, path, &text, err) == 0 && str_eq(text, p->ca.pem.certificate_pem))
        return 0;
    return file_replace(path, p->ca.pem.certificate_pem, err);
}

static int open_all(struct pki *p, struct err *err)
{
    unsigned renewed;
    int code = pki_dir_open(p->dir.p, &p->fd, err);
    if (code == 0)
        code = open_ca(p, err);
    if (code == 0)
        code = open_token_keys(p, err);
    if (code == 0)
        code = open_leaf(p, "serving.pem", &p->serving, err);
    if (code == 0)
        code = open_leaf(p, "admin.pem", &p->admin, err);
    if (code == 0)
        code = open_copy(p, err);
    return code < 0 ? code : pki_renew(p, &renewed, err);
}

static struct strs all_hosts(struct arena *a, struct strs given)
{
    VEC(str) hosts = {0};
    for (size_t i = 0; i < COUNT(own_hosts); i++)
        *vec_push(a, &hosts) = own_hosts[i];
    strs_each(given, it) * vec_push(a, &hosts) = str_dup(a, *it);
    return (struct strs){hosts.p, hosts.n};
}

int pki_open(const struct pki_options *options, struct pki **ret, struct err *err)
{
    struct pki *p = xcalloc(1, sizeof *p);
    p->clock = options->clock;
    p->fd = -1;
    p->dir = str_of(str_cstr(&p->arena, str_of(options->dir)));
    p->hosts = all_hosts(&p->arena, options->hosts);
    int code = open_all(p, err);
    if (code < 0)
        pki_close(p);
    else
        *ret = p;
    return code;
}

void pki_close(struct pki *p)
{
    if (p == NULL)
        return;
    holding_done(&p->ca);
    holding_done(&p->serving);
    holding_done(&p->admin);
    if (p->fd >= 0)
        close(p->fd);
    arena_done(&p->arena);
    free(p);
}

/* ---- Looking. ---- */

str pki_ca_pem(const struct pki *p)
{
    return p->ca.pem.certificate_pem;
}

struct pki_pair pki_serving(const struct pki *p)
{
    return p->serving.pem;
}

struct pki_pair pki_admin(const struct pki *p)
{
    return p->admin.pem;
}

str pki_token_key_pem(const struct pki *p)
{
    return p->token_key_pem;
}

struct strs pki_old_token_keys(const struct pki *p)
{
    return p->old_token_keys;
}
