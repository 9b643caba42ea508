/* SPDX-License-Identifier: Apache-2.0 */
#include "control/campaign.h"

#include "base/clock.h"
#include "object/object.h"

void campaign_init(struct campaign *c, const struct campaign_options *options)
{
    *c = (struct campaign){.options = *options};
}

void campaign_done(struct campaign *c)
{
    buf_done(&c->object);
    buf_done(&c->record);
    buf_done(&c->holder);
}

str campaign_holder(const struct campaign *c)
{
    return buf_str(&c->holder);
}

static bool is_ours(const struct campaign *c)
{
    return c->is_known && str_eq(buf_str(&c->holder), c->options.identity);
}

/* It moved within the time its holder claims. */
static bool is_valid(const struct campaign *c, int64_t now)
{
    return c->is_known && now - c->seen_at < c->duration_ns;
}

/* ---- Seeing. ---- */

static void keep(struct buf *b, str text)
{
    b->n = 0;
    buf_add_str(b, text);
}

/* What client-go compares: the spec as it knows it. Metadata may change without the holder being alive. */
static struct json record_of(struct arena *a, const struct json *spec)
{
    static const char *const fields[] = {"holderIdentity", "leaseDurationSeconds", "acquireTime",
                                         "renewTime",      "leaseTransitions",     "strategy",
                                         "preferredHolder"};
    struct json record = json_obj();
    for (size_t i = 0; i < COUNT(fields); i++) {
        const struct json *v = json_get(spec, str_of(fields[i]));
        if (v)
            json_add(a, &record, str_of(fields[i]), *v);
    }
    return record;
}

static int64_t small_number(const struct json *spec, str field)
{
    int64_t n;
    if (!json_to_int(json_get(spec, field), &n) || n < 0)
        return 0;
    return n > INT32_MAX ? INT32_MAX : n;
}

static void see(struct campaign *c, const struct json *object, int64_t now)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf text = {.arena = &scratch};
    const struct json *spec = json_get(object, S("spec"));
    struct json record = record_of(&scratch, spec);
    json_encode(&text, &record, JSON_SORTED);
    if (!c->is_known || !str_eq(buf_str(&text), buf_str(&c->record)))
        c->seen_at = now;
    c->is_known = true;
    keep(&c->record, buf_str(&text));
    keep(&c->holder, json_get_text(spec, S("holderIdentity")));
    c->duration_ns = small_number(spec, S("leaseDurationSeconds")) * NS_PER_S;
    c->transitions = small_number(spec, S("leaseTransitions"));
    c->object.n = 0;
    json_encode(&c->object, object, 0);
}

static void see_nothing(struct campaign *c)
{
    c->is_known = false;
    c->holder.n = c->object.n = c->record.n = 0;
    c->transitions = 0;
}

/* ---- Writing. ---- */

static struct json micro_time(struct arena *a, int64_t wall)
{
    struct buf b = {.arena = a};
    time_format(&b, wall / NS_PER_S, (uint32_t)(wall % NS_PER_S), 6);
    return json_str(buf_str(&b));
}

/* A renewal must be seen to move, even if civil time stands still. */
static struct json renew_time(struct arena *a, const struct json *spec, int64_t wall)
{
    struct json time = micro_time(a, wall);
    if (str_eq(json_text(&time), json_get_text(spec, S("renewTime"))))
        time = micro_time(a, wall + 1000);
    return time;
}

static struct json spec_of(const struct campaign *c, struct arena *a, const struct json *was, int64_t wall)
{
    const struct json *acquired = json_get(was, S("acquireTime"));
    bool is_renewal = is_ours(c) && !c->is_releasing;
    struct json spec = json_obj();
    json_add(a, &spec, S("holderIdentity"), json_str(c->is_releasing ? S("") : c->options.identity));
    json_add(a, &spec, S("leaseDurationSeconds"), json_int(c->is_releasing ? 1 : c->options.lease_ns / NS_PER_S));
    json_add(a, &spec, S("acquireTime"), is_renewal && json_is_str(acquired) ? *acquired : micro_time(a, wall));
    json_add(a, &spec, S("renewTime"), renew_time(a, was, wall));
    int64_t transitions = c->transitions;
    if (c->is_known && !is_ours(c) && transitions < INT32_MAX)
        transitions++;
    json_add(a, &spec, S("leaseTransitions"), json_int(transitions));
    return spec;
}

struct json campaign_object(struct campaign *c, struct arena *a, enum campaign_call call, int64_t wall)
{
    struct json object = json_obj(), meta = json_obj();
    if (call == CAMPAIGN_UPDATE) { /* all that others put there stays, above all the resourceVersion */
        if (json_decode(a, buf_str(&c->object), NULL, NULL, &object, NULL) < 0)
            return json_null(); /* cannot be: it is our own text */
        struct json spec = spec_of(c, a, json_get(&object, S("spec")), wall);
        json_set(a, &object, S("spec"), spec);
        return object;
    }
    json_add(a, &meta, S("name"), json_str(c->options.name));
    json_add(a, &meta, S("namespace"), json_str(c->options.namespace));
    json_add(a, &object, S("apiVersion"), json_str(S("coordination.k8s.io/v1")));
    json_add(a, &object, S("kind"), json_str(S("Lease")));
    json_add(a, &object, S("metadata"), meta);
    json_add(a, &object, S("spec"), spec_of(c, a, NULL, wall));
    return object;
}

/* ---- Deciding. ---- */

enum campaign_call campaign_begin(struct campaign *c, int64_t now)
{
    c->is_fast = c->is_leading && is_ours(c) && is_valid(c, now);
    return c->is_fast ? CAMPAIGN_UPDATE : CAMPAIGN_GET;
}

static enum campaign_call after_get(struct campaign *c, const struct campaign_answer *answer, int64_t now)
{
    if (answer->status == 404) {
        see_nothing(c);
        return c->is_releasing ? CAMPAIGN_WAIT : CAMPAIGN_CREATE;
    }
    if (answer->status != 200 || answer->object == NULL)
        return CAMPAIGN_WAIT;
    see(c, answer->object, now);
    if (!is_ours(c))
        c->is_leading = false; /* whoever took it believes it is theirs */
    if (c->is_releasing)
        return is_ours(c) ? CAMPAIGN_UPDATE : CAMPAIGN_WAIT;
    if (c->holder.n && !is_ours(c) && is_valid(c, answer->sent_at))
        return CAMPAIGN_WAIT;
    c->slow_renewals += is_ours(c);
    return CAMPAIGN_UPDATE;
}

/* What was written is ours from when it was sent. An answer that took longer than that is worth does not make a leader. */
static enum campaign_call after_write(struct campaign *c, const struct campaign_answer *answer, int64_t now)
{
    see(c, answer->object, now);
    c->is_leading = is_ours(c);
    c->lead_until = answer->sent_at + c->options.deadline_ns;
    campaign_expire(c, now);
    return CAMPAIGN_WAIT;
}

enum campaign_call campaign_answer(struct campaign *c, enum campaign_call call, const struct campaign_answer *answer,
                                   int64_t now)
{
    if (call == CAMPAIGN_GET)
        return after_get(c, answer, now);
    if ((answer->status == 200 || answer->status == 201) && answer->object)
        return after_write(c, answer, now);
    if (call == CAMPAIGN_UPDATE && c->is_fast) {
        c->is_fast = false;
        return CAMPAIGN_GET;
    }
    return CAMPAIGN_WAIT;
}

void campaign_expire(struct campaign *c, int64_t now)
{
    if (c->is_leading && now >= c->lead_until)
        c->is_leading = false;
}

void campaign_release(struct campaign *c)
{
    c->is_releasing = true;
}
