/* SPDX-License-Identifier: Apache-2.0 */
/* Events: of the core group, where they are kept, and of events.k8s.io, which has other names for the same fields. */
#include "object/strategies/strategies.h"
#include "object/strategy.h"

static const struct {
    const char *core, *events;
} names[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static void rename_member(struct json_member *m, bool to_core)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        str from = str_of(to_core ? names[i].events : names[i].core);
        str to = str_of(to_core ? names[i].core : names[i].events);
        if (!str_eq(json_key(m), from))
            continue;
        m->key = to.p;
        m->key_n = (uint32_t)to.n;
        m->hash = json_hash(to);
        return;
    }
}

void strategy_convert(struct arena *a, const struct kind *from, const struct kind *to, struct json *object)
{
    if (from == to)
        return;
    for (size_t i = 0; i < json_len(object); i++)
        rename_member(&object->members[i], to->group[0] == 0);
    str version = to->group[0] ? str_fmt(a, "%s/%s", to->group, to->version) : str_of(to->version);
    json_set(a, object, S("apiVersion"), json_str(version));
    json_set(a, object, S("kind"), json_str(str_of(to->kind)));
}
