/* SPDX-License-Identifier: Apache-2.0 */
/* What: the keys and certificates of one server: made at the first start, read at later ones, renewed in time.
 * Owns: the directory it is given and the files in it.
 * Threads: one thread.
 * Errors: ERR_IO for the file system, ERR_CONFLICT for a directory that another process has open, ERR_INVALID for files that
 *         others can read, that are not what they should be, or that do not belong together. Nothing of a key is in any text.
 *
 *   ca.pem           signs the others; ten years, then another certificate for the same key, which clients take as the old one
 *   serving.pem      of the server; one year
 *   admin.pem        of kubernetes-admin in system:masters; one year
 *   sa.key           signs ServiceAccount tokens; made when it is missing
 *   sa-*.key, *.pub  another key whose tokens are accepted: private or public; put there by an administrator who replaces sa.key
 *   ca.crt           a copy of the certificate in ca.pem, for people
 *
 * Key and certificate are in one file, so that they are replaced together. A file is written beside its place, synced, and moved
 * there; ca.pem is on disk before anything that it signed. A start that was cut short is simply finished by the next one. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

struct pki;

struct pki_options {
    const char *dir; /* made with mode 0700 if absent, and locked; its parent must exist */
    struct clock clock;
    struct strs hosts; /* names and addresses the server is reached by, besides those every server has */
};

enum { PKI_OLD_TOKEN_KEYS_MAX = 16 };

enum {
    PKI_CA = 1,
    PKI_SERVING = 2,
    PKI_ADMIN = 4,
};

/* A key and its certificate, as PEM. */
struct pki_pair {
    str key_pem, certificate_pem;
};

/* Reads what is there, makes what is missing or due (pki_renew). */
int pki_open(const struct pki_options *options, struct pki **ret, struct err *err);
void pki_close(struct pki *p);

/* Valid until the next pki_renew. */
str pki_ca_pem(const struct pki *p);
struct pki_pair pki_serving(const struct pki *p);
struct pki_pair pki_admin(const struct pki *p);
str pki_token_key_pem(const struct pki *p);
/* The public keys of sa-*.key and sa-*.pub, as PEM, in the order of their names; each is another key on P-256. */
struct strs pki_old_token_keys(const struct pki *p);

/* What has less than a third of its life left, or was made for other hosts: PKI_… */
unsigned pki_due(const struct pki *p);
/* Makes what is due anew; *ret_renewed says what that was. After an error the old ones are still good to use. */
int pki_renew(struct pki *p, unsigned *ret_renewed, struct err *err);

/* Signs a certificate for somebody else: a new key and a certificate that says so. */
struct pki_client {
    str user;
    struct strs groups;
    int64_t seconds; /* how long it is good; never longer than the CA's own */
};

int pki_sign_client(struct pki *p, struct arena *a, const struct pki_client *client, struct pki_pair *ret,
                    struct err *err);

/* How our kubeconfigs begin, to know them again. */
#define PKI_KUBECONFIG_MARK "# Written by reeve up at every start"
enum { PKI_KUBECONFIG_MARK_BYTES = sizeof PKI_KUBECONFIG_MARK - 1 };
/* The admin's kubeconfig, everything inside; server is "https://127.0.0.1:6443". */
str pki_kubeconfig(const struct pki *p, struct arena *a, str server);
