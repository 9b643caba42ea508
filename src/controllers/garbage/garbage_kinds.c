/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage_kinds.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "object/kind.h"

struct kinds {
    atomic_uint refs;
    struct client_discovery all;
    atomic_bool *is_plain; /* by place in all */
    struct arena arena;
};

int kinds_ask(struct client *client, struct kinds **ret, struct err *err)
{
    struct kinds *k = xcalloc(1, sizeof *k);
    atomic_init(&k->refs, 1);
    int code = client_discover(client, &k->arena, &k->all, err);
    if (code < 0) {
        kinds_unref(k);
        return code;
    }
    k->is_plain = ARENA_ARRAY(&k->arena, atomic_bool, k->all.n);
    *ret = k;
    return 0;
}

struct kinds *kinds_ref(struct kinds *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void kinds_unref(struct kinds *k)
{
    if (k == NULL || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) > 1)
        return;
    arena_done(&k->arena);
    free(k);
}

const struct client_discovery *kinds_all(const struct kinds *k)
{
    return &k->all;
}

static str group_of(str api_version)
{
    str group, version;
    return str_cut(api_version, '/', &group, &version) ? group : (str){0};
}

static str version_of(str api_version)
{
    str group, version;
    return str_cut(api_version, '/', &group, &version) ? version : api_version;
}

const struct client_resource *kinds_find(const struct kinds *k, str api_version, str kind)
{
    const struct client_discovered *d = client_discovery_find(&k->all, group_of(api_version), kind);
    return d && client_discovered_has_version(d, version_of(api_version)) ? &d->resource : NULL;
}

static atomic_bool *plain_flag(const struct kinds *k, const struct client_resource *resource)
{
    const struct client_discovered *d =
        (const struct client_discovered *)((const char *)resource - offsetof(struct client_discovered, resource));
    return &k->is_plain[d - k->all.p];
}

bool kinds_is_plain(const struct kinds *k, const struct client_resource *resource)
{
    return atomic_load_explicit(plain_flag(k, resource), memory_order_relaxed);
}

void kinds_set_plain(const struct kinds *k, const struct client_resource *resource)
{
    atomic_store_explicit(plain_flag(k, resource), true, memory_order_relaxed);
}

bool kinds_is_unsure(const struct kinds *k, str group)
{
    for (size_t i = 0; i < k->all.n_failed; i++) {
        if (str_eq(group_of(k->all.failed[i]), group))
            return true;
    }
    return false;
}

bool kinds_is_collected(const struct client_discovered *d)
{
    const unsigned needed = VERB_LIST | VERB_WATCH | VERB_DELETE;
    const struct client_resource *r = &d->resource;
    bool is_event = str_eq(r->plural, S("events")) && (r->group.n == 0 || str_eq(r->group, S("events.k8s.io")));
    return (d->verbs & needed) == needed && !is_event;
}
