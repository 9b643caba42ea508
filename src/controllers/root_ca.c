/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/root_ca.h"

#include <pthread.h>
#include <stdlib.h>

struct root_ca {
    pthread_mutex_t lock;
    struct buf pem;
    void (*changed)(void *ctx);
    void *ctx;
};

struct root_ca *root_ca_new(str pem)
{
    struct root_ca *ca = xcalloc(1, sizeof *ca);
    pthread_mutex_init(&ca->lock, NULL);
    buf_add_str(&ca->pem, pem);
    return ca;
}

void root_ca_free(struct root_ca *ca)
{
    if (!ca)
        return;
    pthread_mutex_destroy(&ca->lock);
    buf_done(&ca->pem);
    free(ca);
}

void root_ca_set(struct root_ca *ca, str pem)
{
    pthread_mutex_lock(&ca->lock);
    bool differs = !str_eq(buf_str(&ca->pem), pem);
    if (differs) {
        ca->pem.n = 0;
        buf_add_str(&ca->pem, pem);
    }
    pthread_mutex_unlock(&ca->lock);
    if (differs && ca->changed)
        ca->changed(ca->ctx);
}

str root_ca_dup(struct root_ca *ca, struct arena *a)
{
    pthread_mutex_lock(&ca->lock);
    str pem = str_dup(a, buf_str(&ca->pem));
    pthread_mutex_unlock(&ca->lock);
    return pem;
}

void root_ca_listen(struct root_ca *ca, void (*changed)(void *ctx), void *ctx)
{
    ca->changed = changed;
    ca->ctx = ctx;
}
