/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_gate.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Counts. No more names than children can be at work: lists are short. ---- */

static struct fetch_count *find(const struct fetch_counts *c, str name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (str_eq(c->p[i].name, name))
            return &c->p[i];
    }
    return NULL;
}

static unsigned count(const struct fetch_counts *c, str name)
{
    const struct fetch_count *found = find(c, name);
    return found ? found->running : 0;
}

static void add(struct fetch_counts *c, str name)
{
    struct fetch_count *found = find(c, name);
    if (found) {
        found->running++;
        return;
    }
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 8;
        c->p = reallocarray(c->p, c->cap, sizeof *c->p);
        if (c->p == NULL)
            abort();
    }
    char *copy;
    if (asprintf(&copy, "%.*s", STR(name)) < 0)
        abort();
    c->p[c->n++] = (struct fetch_count){{copy, name.n}, 1};
}

static void take_away(struct fetch_counts *c, str name)
{
    struct fetch_count *found = find(c, name);
    assert(found && found->running);
    if (--found->running)
        return;
    free((char *)(uintptr_t)found->name.p);
    *found = c->p[--c->n];
}

/* ---- The gate. ---- */

void fetch_gate_init(struct fetch_gate *g, unsigned max, unsigned max_per_host, unsigned max_per_tenant)
{
    *g = (struct fetch_gate){.max = max, .max_per_host = max_per_host, .max_per_tenant = max_per_tenant};
}

void fetch_gate_done(struct fetch_gate *g)
{
    assert(g->hosts.n == 0 && g->tenants.n == 0);
    free(g->hosts.p);
    free(g->tenants.p);
}

bool fetch_gate_enter(struct fetch_gate *g, str host, str tenant)
{
    bool is_registry = host.n > 0;
    if (count(&g->hosts, host) >= (is_registry ? g->max_per_host : g->max))
        return false;
    if (is_registry && (g->running >= g->max || (tenant.n && count(&g->tenants, tenant) >= g->max_per_tenant)))
        return false;
    add(&g->hosts, host);
    if (is_registry) {
        g->running++;
        if (tenant.n)
            add(&g->tenants, tenant);
    }
    return true;
}

void fetch_gate_leave(struct fetch_gate *g, str host, str tenant)
{
    take_away(&g->hosts, host);
    if (host.n == 0)
        return;
    g->running--;
    if (tenant.n)
        take_away(&g->tenants, tenant);
}
