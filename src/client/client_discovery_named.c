/* SPDX-License-Identifier: Apache-2.0 */
/* What people call resources. */
#include "client/client_discovery.h"

/* How well a name fits, the best first. */
enum fit { FIT_PLURAL, FIT_SINGULAR, FIT_SHORT, FIT_NONE };

struct words {
    str name, version, group; /* an empty version or group: any */
    bool is_group_begun;      /* the group is only the beginning of one */
};

static enum fit fit_of(const struct client_discovered *d, str name)
{
    if (str_eq(d->resource.plural, name))
        return FIT_PLURAL;
    if (str_eq(d->singular, name))
        return FIT_SINGULAR;
    for (size_t i = 0; i < d->n_short_names; i++)
        if (str_eq(d->short_names[i], name))
            return FIT_SHORT;
    return FIT_NONE;
}

static bool is_within(const struct client_discovered *d, const struct words *w)
{
    str group = d->resource.group;
    bool is_here = w->is_group_begun ? str_has_prefix(group, w->group) : w->group.n == 0 || str_eq(group, w->group);
    return is_here && (w->version.n == 0 || client_discovered_has_version(d, w->version));
}

static const struct client_discovered *pick(const struct client_discovery *d, const struct words *w)
{
    const struct client_discovered *best = NULL;
    enum fit best_fit = FIT_NONE;
    for (size_t i = 0; w->name.n && i < d->n; i++) {
        const struct client_discovered *x = &d->p[i];
        enum fit fit = is_within(x, w) ? fit_of(x, w->name) : FIT_NONE;
        if (fit < best_fit || (best && fit == best_fit && x->rank < best->rank)) {
            best = x;
            best_fit = fit;
        }
    }
    return best;
}

const struct client_discovered *client_discovery_named(const struct client_discovery *d, str text)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct words w = {0}, versioned = {0};
    const struct client_discovered *found = NULL;
    str rest = {0};
    text = str_lower(&scratch, text);
    if (!str_cut(text, '.', &w.name, &rest))
        w.name = text;
    versioned.name = w.name;
    w.group = rest;
    if (str_cut(rest, '.', &versioned.version, &versioned.group))
        found = pick(d, &versioned);
    if (!found)
        found = pick(d, &w);
    w.is_group_begun = w.group.n > 0;
    return found ? found : pick(d, &w);
}
