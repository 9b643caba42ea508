/* SPDX-License-Identifier: Apache-2.0 */
/* Contents that reeve-fetch brought. Apart from content.c, so that programs that never fetch need not link what does. */
#include "package/content_internal.h"

#include "oci/oci_fetch.h"

#include <pthread.h>
#include <stdlib.h>

struct of_entry {
    struct content content;
    struct fetch_entry *entry;
    pthread_mutex_t lock; /* an entry is read by one thread at a time */
};

static int next(struct content *c, struct arena *a, str *ret, uint64_t *ret_offset, struct err *err)
{
    struct of_entry *e = (struct of_entry *)c;
    pthread_mutex_lock(&e->lock);
    int code = fetch_entry_next(e->entry, a, ret, ret_offset, err);
    pthread_mutex_unlock(&e->lock);
    return code;
}

static int read_at(struct content *c, struct arena *a, uint64_t offset, str *ret, struct err *err)
{
    struct of_entry *e = (struct of_entry *)c;
    pthread_mutex_lock(&e->lock);
    int code = fetch_entry_read(e->entry, a, offset, ret, err);
    pthread_mutex_unlock(&e->lock);
    return code;
}

static void close_entry(struct content *c)
{
    struct of_entry *e = (struct of_entry *)c;
    fetch_entry_close(e->entry);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

struct content *content_of_entry(struct fetch_entry *entry)
{
    static const struct content_source source = {next, read_at, close_entry};
    struct of_entry *e = xcalloc(1, sizeof *e);
    e->content.source = &source;
    e->entry = entry;
    pthread_mutex_init(&e->lock, NULL);
    return &e->content;
}
