/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters_heartbeats.h"

#include "base/map.h"
#include "object/fleet.h"
#include "object/object.h"

#include <pthread.h>
#include <stdlib.h>

/* Of texts that an agent writes, and people read. */
enum { TEXT_BYTES = 1024 };

enum told { TOLD_RENEWED, TOLD_VERSION, TOLD_KUBERNETES, TOLD_TROUBLE, TOLD };

struct heart {
    struct beats *beats;
    struct loop_timer timer;
    struct loop_work again; /* of beats_restart */
    bool is_posted;
    int64_t every_ns;
    enum beat_state state;
    bool has_lease;
    int64_t seconds;
    unsigned foreign;      /* renewals in a row that are not those of Reeve's agent, BEAT_FOREIGN_RENEWALS at most */
    struct buf told[TOLD]; /* as the Lease has them; renewTime: the last that was not empty */
    str cluster;           /* follows in memory */
};

struct beats {
    struct beats_options options;
    pthread_mutex_t lock; /* of the map, and of what beats_get copies */
    struct map hearts;    /* cluster → struct heart */
};

/* ---- Time. ---- */

static void changed(struct heart *h)
{
    h->beats->options.changed(h->beats->options.ctx, h->cluster);
}

static void set_state(struct heart *h, enum beat_state state)
{
    pthread_mutex_lock(&h->beats->lock);
    h->state = state;
    pthread_mutex_unlock(&h->beats->lock);
}

static void wait_for_it(struct heart *h, int64_t every_ns)
{
    loop_timer_set(h->beats->options.loop, &h->timer, FLEET_LEASES_MISSED * every_ns);
}

static void on_silence(void *ctx)
{
    struct heart *h = ctx;
    set_state(h, BEAT_SILENT);
    changed(h);
}

static void on_again(struct loop_work *w)
{
    struct heart *h = (struct heart *)((char *)w - offsetof(struct heart, again));
    pthread_mutex_lock(&h->beats->lock);
    h->is_posted = false;
    if (h->state == BEAT_SILENT)
        h->state = BEAT_NEW;
    pthread_mutex_unlock(&h->beats->lock);
    wait_for_it(h, h->every_ns);
}

void beats_restart(struct beats *b, str cluster)
{
    pthread_mutex_lock(&b->lock);
    struct heart *h = map_get(&b->hearts, cluster);
    if (h && !h->is_posted && h->state == BEAT_SILENT) {
        h->is_posted = true;
        loop_post(b->options.loop, &h->again);
    }
    pthread_mutex_unlock(&b->lock);
}

/* ---- Clusters. ---- */

static struct heart *heart_new(struct beats *b, str cluster)
{
    struct heart *h = xcalloc(1, sizeof *h + cluster.n);
    h->beats = b;
    h->timer = (struct loop_timer){.fn = on_silence, .ctx = h};
    h->again.fn = on_again;
    if (cluster.n)
        memcpy((char *)(h + 1), cluster.p, cluster.n);
    h->cluster = (str){(char *)(h + 1), cluster.n};
    return h;
}

static void heart_free(struct heart *h)
{
    loop_timer_cancel(h->beats->options.loop, &h->timer);
    if (h->is_posted)
        loop_post_cancel(h->beats->options.loop, &h->again);
    for (size_t i = 0; i < TOLD; i++)
        buf_done(&h->told[i]);
    free(h);
}

void beats_expect(struct beats *b, str cluster, int64_t seconds)
{
    pthread_mutex_lock(&b->lock);
    struct heart *h = map_get(&b->hearts, cluster), *gone = NULL;
    if (seconds > 0 && !h) {
        h = heart_new(b, cluster);
        map_set(&b->hearts, h->cluster, h);
    } else if (seconds <= 0 && h) {
        gone = map_del(&b->hearts, cluster);
        h = NULL;
    }
    pthread_mutex_unlock(&b->lock);
    if (gone)
        heart_free(gone);
    if (!h || h->every_ns == seconds * NS_PER_S)
        return;
    /* An agent learns of a shorter duration by its next renewal: until then it has as long as before. Who is silent stays so,
     * until it is heard of. */
    int64_t before = h->every_ns, after = seconds * NS_PER_S;
    h->every_ns = after;
    if (h->state != BEAT_SILENT)
        wait_for_it(h, before > after ? before : after);
}

/* ---- Leases. ---- */

static str renew_time(const struct json *lease)
{
    return json_get_text(json_get(lease, S("spec")), S("renewTime"));
}

/* At the end of a character. */
static str cut(str text)
{
    size_t n = text.n < TEXT_BYTES ? text.n : TEXT_BYTES;
    while (n < text.n && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return str_upto(text, n);
}

/* True: it was another. */
static bool keep(struct buf *kept, str text)
{
    text = cut(text);
    if (str_eq(buf_str(kept), text))
        return false;
    kept->n = 0;
    buf_add_str(kept, text);
    return true;
}

/* An agent of an earlier release does not write its renewals down: all are taken for its own. */
static bool note_renewal(struct heart *h, const struct json *lease, str renewed)
{
    str own = object_annotation(lease, S(FLEET_ANNOTATION_RENEWED));
    unsigned before = h->foreign;
    if (!own.n || str_eq(own, renewed))
        h->foreign = 0;
    else if (h->foreign < BEAT_FOREIGN_RENEWALS)
        h->foreign++;
    return h->foreign != before && (h->foreign == 0 || h->foreign == BEAT_FOREIGN_RENEWALS);
}

static enum beat_agent agent_of(const struct heart *h)
{
    if (!h->told[TOLD_VERSION].n || h->foreign == BEAT_FOREIGN_RENEWALS)
        return BEAT_BY_OTHER;
    return h->foreign ? BEAT_UNSURE : BEAT_BY_REEVE;
}

/* Under the lock. True: something is to be told besides a renewal. */
static bool take(struct heart *h, const struct json *lease, bool *ret_renewed)
{
    int64_t seconds = 0;
    str renewed = renew_time(lease);
    bool has_news = h->has_lease != (lease != NULL);
    (void)json_to_int(json_dig(lease, "spec.leaseDurationSeconds"), &seconds);
    has_news = has_news || h->seconds != seconds;
    h->has_lease = lease != NULL;
    h->seconds = seconds;
    *ret_renewed = renewed.n && keep(&h->told[TOLD_RENEWED], renewed);
    if (*ret_renewed)
        has_news |= note_renewal(h, lease, renewed);
    if (lease) {
        has_news |= keep(&h->told[TOLD_VERSION], object_annotation(lease, S(FLEET_ANNOTATION_AGENT)));
        has_news |= keep(&h->told[TOLD_KUBERNETES], object_annotation(lease, S(FLEET_ANNOTATION_KUBERNETES)));
        has_news |= keep(&h->told[TOLD_TROUBLE], object_annotation(lease, S(FLEET_ANNOTATION_TROUBLE)));
    }
    return has_news;
}

void beats_lease(struct beats *b, str cluster, const struct json *lease)
{
    bool renewed = false, has_news = false;
    pthread_mutex_lock(&b->lock);
    struct heart *h = map_get(&b->hearts, cluster);
    if (h) {
        bool is_first = h->told[TOLD_RENEWED].n == 0 && !h->has_lease;
        has_news = take(h, lease, &renewed);
        /* The first Lease that is seen may be as old as it likes, unless it was seen before without a renewal. */
        if (renewed && !is_first) {
            has_news |= h->state != BEAT_LIVE;
            h->state = BEAT_LIVE;
        }
    }
    pthread_mutex_unlock(&b->lock);
    if (renewed)
        wait_for_it(h, h->every_ns);
    if (has_news)
        changed(h);
}

/* ---- Questions. ---- */

bool beats_get(struct beats *b, struct arena *a, str cluster, struct beat *ret)
{
    pthread_mutex_lock(&b->lock);
    const struct heart *h = map_get(&b->hearts, cluster);
    bool is_stale = h && agent_of(h) == BEAT_BY_OTHER;
    if (h)
        *ret = (struct beat){
            .state = h->state,
            .has_lease = h->has_lease,
            .has_renewed = h->told[TOLD_RENEWED].n > 0,
            .seconds = h->seconds,
            .renewed = str_dup(a, buf_str(&h->told[TOLD_RENEWED])),
            .agent = agent_of(h),
            .has_stale_notes = is_stale && h->told[TOLD_VERSION].n,
            .version = is_stale ? (str){0} : str_dup(a, buf_str(&h->told[TOLD_VERSION])),
            .kubernetes = is_stale ? (str){0} : str_dup(a, buf_str(&h->told[TOLD_KUBERNETES])),
            .trouble = is_stale ? (str){0} : str_dup(a, buf_str(&h->told[TOLD_TROUBLE])),
        };
    pthread_mutex_unlock(&b->lock);
    return h != NULL;
}

struct json beats_trim(struct arena *a, const struct json *lease)
{
    static const str annotations[] = {S_INIT(FLEET_ANNOTATION_AGENT), S_INIT(FLEET_ANNOTATION_KUBERNETES),
                                      S_INIT(FLEET_ANNOTATION_TROUBLE), S_INIT(FLEET_ANNOTATION_RENEWED)};
    static const str metadata[] = {S_INIT("name"), S_INIT("namespace"), S_INIT("uid"), S_INIT("resourceVersion")};
    static const str spec[] = {S_INIT("leaseDurationSeconds"), S_INIT("renewTime")};
    struct json kept = json_obj(), meta = json_obj(), notes = json_obj(), said = json_obj();
    for (size_t i = 0; i < COUNT(metadata); i++)
        json_add(a, &meta, metadata[i], json_str(json_get_text(object_meta(lease), metadata[i])));
    for (size_t i = 0; i < COUNT(annotations); i++) {
        str text = cut(object_annotation(lease, annotations[i]));
        if (text.n)
            json_add(a, &notes, annotations[i], json_str(text));
    }
    for (size_t i = 0; i < COUNT(spec); i++) {
        const struct json *value = json_get(json_get(lease, S("spec")), spec[i]);
        if (!json_is_null(value))
            json_add(a, &said, spec[i], *value);
    }
    json_add(a, &meta, S("annotations"), notes);
    json_add(a, &kept, S("apiVersion"), json_str(object_api_version(lease)));
    json_add(a, &kept, S("kind"), json_str(object_kind(lease)));
    json_add(a, &kept, S("metadata"), meta);
    json_add(a, &kept, S("spec"), said);
    return kept;
}

/* ---- Beginning and end. ---- */

struct beats *beats_new(const struct beats_options *options)
{
    struct beats *b = xcalloc(1, sizeof *b);
    b->options = *options;
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void beats_free(struct beats *b)
{
    if (!b)
        return;
    str cluster;
    void *heart;
    for (size_t at = 0; map_next(&b->hearts, &at, &cluster, &heart);)
        heart_free(heart);
    map_done(&b->hearts);
    pthread_mutex_destroy(&b->lock);
    free(b);
}
