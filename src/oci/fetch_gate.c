/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_gate.h"

#include <assert.h>
#include <stdlib.h>

void fetch_gate_init(struct fetch_gate *g, unsigned max, unsigned max_per_host)
{
    /* No more hosts than children can be at work, and the store. */
    *g = (struct fetch_gate){.max = max, .max_per_host = max_per_host, .hosts = calloc(max + 1, sizeof *g->hosts)};
    if (g->hosts == NULL)
        abort();
}

void fetch_gate_done(struct fetch_gate *g)
{
    assert(g->n_hosts == 0);
    free(g->hosts);
}

static struct fetch_host *find(struct fetch_gate *g, str name)
{
    for (size_t i = 0; i < g->n_hosts; i++) {
        if (str_eq(g->hosts[i].name, name))
            return &g->hosts[i];
    }
    return NULL;
}

bool fetch_gate_enter(struct fetch_gate *g, str host)
{
    struct fetch_host *h = find(g, host);
    unsigned most = host.n ? g->max_per_host : g->max;
    if ((host.n && g->running == g->max) || (h && h->running == most))
        return false;
    if (h == NULL) {
        char *name = strndup(host.n ? host.p : "", host.n);
        if (name == NULL)
            abort();
        h = &g->hosts[g->n_hosts++];
        *h = (struct fetch_host){.name = {name, host.n}};
    }
    h->running++;
    g->running += host.n > 0;
    return true;
}

void fetch_gate_leave(struct fetch_gate *g, str host)
{
    struct fetch_host *h = find(g, host);
    assert(h && h->running);
    g->running -= host.n > 0;
    if (--h->running == 0) {
        free((char *)(uintptr_t)h->name.p);
        *h = g->hosts[--g->n_hosts];
    }
}
