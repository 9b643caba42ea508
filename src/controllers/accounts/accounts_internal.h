/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of this controller share.
 * Owns: nothing.
 * Threads: visits, in worker threads.
 * Errors: see accounts.h. */
#pragma once

#include "base/map.h"
#include "controllers/accounts/accounts.h"
#include "controllers/accounts/accounts_token.h"
#include "object/fleet.h"

#include <pthread.h>

#define ACCOUNTS_MANAGER S("reeve-agent")

extern const struct client_resource accounts_managed; /* ManagedServiceAccounts of the hub */
extern const struct client_resource accounts_local;   /* ServiceAccounts of the managed cluster */
extern const struct client_resource accounts_secrets;

struct accounts {
    struct accounts_options options; /* texts in the arena */
    struct arena arena;
    struct informer *managed, *secrets; /* of the hub, in the cluster's namespace */
    struct informer *local;             /* ServiceAccounts of the managed cluster */
    struct informer *addons;
    struct controller *controller, *addon;
    pthread_mutex_t lock;
    struct map dues; /* name → struct account_due */
    uint64_t spread; /* of resyncs; under the lock */
};

/* ---- One visit of one account. ---- */

struct account_visit {
    struct accounts *accounts;
    struct reconcile *reconcile; /* its client is the hub's */
    struct json managed;         /* the ManagedServiceAccount */
    str account_uid;             /* of the ServiceAccount */
};

int accounts_reconcile(void *ctx, struct reconcile *r, struct err *err);

/* ---- Tokens (accounts_grant.c). ---- */

/* A new one. */
int account_grant(struct account_visit *v, str *ret, struct err *err);
/* Whether the managed cluster believes the token, and it is that of the account. */
int account_review(struct account_visit *v, str token, bool *ret, struct err *err);
/* Why the token has to be replaced; empty: it need not, for another *ret_ns. */
str account_token_fault(struct account_visit *v, str token, int64_t *ret_ns);
/* Tokens that this process was given last by its own clock, whatever the time of day is. */
void account_remember(struct account_visit *v, str token);
/* Just got, for the account that is there now. */
bool account_is_fresh(const struct account_visit *v, str token);
void account_forget(struct accounts *x, str name);

/* ---- The Secret (accounts_secret.c). ---- */

/* ret: null, when there is none. */
int account_secret_get(struct account_visit *v, struct json *ret, struct err *err);
/* Neither labelled nor owned: somebody else's. */
bool account_secret_is_foreign(const struct account_visit *v, const struct json *secret);
/* Empty unless it is as it should be: label, owner and CA. */
str account_secret_token(const struct account_visit *v, struct arena *a, const struct json *secret);
int account_secret_write(struct account_visit *v, const struct json *have, str token, struct err *err);

/* ---- The ManagedClusterAddOn (accounts_addon.c). ---- */

void accounts_addon_add(struct accounts *x);

/* ---- The heartbeat (heartbeat.c). ---- */

void accounts_heartbeat_add(const struct accounts *x);
