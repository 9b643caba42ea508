/* SPDX-License-Identifier: Apache-2.0 */
/* The changes that live watches of a group have yet to send.
 *
 *     oldest ──► change ──► change ──► tail, the change to come
 *       ▲          ▲                     ▲
 *     watch      watch                 watches that have sent everything
 *
 * A change is freed when no watch stands on it or before it. A watch that would hold more than WATCH_NEWS_MAX of them is left
 * behind on one that is cut off, and reads the log from there. */
#include "api/watch_internal.h"

#include <stdlib.h>

/* ---- Texts. ---- */

static void text_free(struct watch_hub *hub, struct watch_text *t)
{
    struct watch_text **at = &t->news->texts;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (t == hub->oldest)
        hub->oldest = t->newer;
    else
        t->older->newer = t->newer;
    if (t == hub->newest)
        hub->newest = t->older;
    else
        t->newer->older = t->older;
    hub->text_bytes -= t->n;
    free(t);
}

static struct watch_text *text_new(struct watch_hub *hub, struct watch_news *n, str bytes)
{
    while (hub->oldest && hub->text_bytes + bytes.n > WATCH_TEXTS_BYTES)
        text_free(hub, hub->oldest);
    struct watch_text *t = xmalloc(sizeof *t + bytes.n);
    *t = (struct watch_text){.news = n, .next = n->texts, .older = hub->newest, .n = bytes.n};
    if (bytes.n)
        memcpy(t->bytes, bytes.p, bytes.n);
    n->texts = t;
    *(hub->newest ? &hub->newest->newer : &hub->oldest) = t;
    hub->newest = t;
    hub->text_bytes += bytes.n;
    return t;
}

/* ---- What was read of a change. ---- */

static void memo_clear(struct watch_memo *m)
{
    if (m->news)
        m->news->memo = NULL;
    m->news = NULL;
    arena_done(&m->arena);
}

static struct watch_memo *memo_take(struct watch_hub *hub, struct watch_news *n, const struct store_event *event)
{
    struct watch_memo *m = &hub->memos[hub->n_memos++ % WATCH_MEMOS];
    memo_clear(m);
    n->memo = m;
    m->news = n;
    m->event = *event;
    m->change = (struct watch_change){.api = hub->api, .event = &m->event, .arena = &m->arena};
    return m;
}

/* What it was read into must not pile up when objects are large. */
static void memo_trim(struct watch_memo *m)
{
    if (arena_footprint(&m->arena) <= WATCH_MEMO_BYTES)
        return;
    arena_done(&m->arena);
    m->change.now = m->change.before = (struct watch_side){0};
}

void watch_view_moves(struct watch_hub *hub)
{
    size_t n = hub->n_memos < WATCH_MEMOS ? hub->n_memos : WATCH_MEMOS;
    for (size_t i = 0; i < n; i++)
        memo_clear(&hub->memos[i]);
    hub->n_memos = 0;
}

/* From the log, unless it is still in memory. NULL: err tells why not. */
static struct watch_change *read_change(struct watch_hub *hub, struct watch_news *n, struct err *err)
{
    struct store_log *log = NULL;
    struct store_event event;
    if (n->memo)
        return &n->memo->change;
    if (store_log_open(hub->api->store, n->revision - 1, &log, err) < 0)
        return NULL;
    int code = store_log_next(log, &event, err);
    store_log_close(log);
    if (code == 0)
        err_set(err, ERR_INTERNAL, "a published change is not in the log");
    return code == 1 ? &memo_take(hub, n, &event)->change : NULL;
}

/* ---- The news of a group. ---- */

static struct watch_news *news_new(void)
{
    struct watch_news *n = xcalloc(1, sizeof *n);
    return n;
}

static void news_drop_content(struct watch_hub *hub, struct watch_news *n)
{
    while (n->texts)
        text_free(hub, n->texts);
    if (n->memo)
        memo_clear(n->memo);
}

static void free_passed_news(struct watch_hub *hub, struct watch_group *g)
{
    while (g->oldest != g->tail && g->oldest->cursors == 0) {
        struct watch_news *n = g->oldest;
        g->oldest = n->next;
        g->n_news--;
        news_drop_content(hub, n);
        free(n);
    }
}

/* Leaves those behind who have not passed the oldest. */
static void cut_oldest_news(struct watch_hub *hub, struct watch_group *g)
{
    struct watch_news *n = g->oldest;
    g->oldest = n->next;
    g->n_news--;
    news_drop_content(hub, n);
    n->next = NULL;
    n->is_cut = true;
    free_passed_news(hub, g);
}

void watch_news_init(struct watch_group *g)
{
    g->oldest = g->tail = news_new();
}

void watch_news_done(struct watch_hub *hub, struct watch_group *g)
{
    free_passed_news(hub, g);
    free(g->tail);
}

bool watch_news_add(struct watch_hub *hub, struct watch_group *g, const struct store_event *event)
{
    struct watch_news *n = g->tail;
    if (g->oldest == n && n->cursors == 0)
        return false; /* none is live: they all read the log */
    n->revision = event->revision;
    n->op = event->op;
    (void)memo_take(hub, n, event);
    g->tail = n->next = news_new();
    if (++g->n_news > WATCH_NEWS_MAX)
        cut_oldest_news(hub, g);
    return true;
}

/* ---- Cursors. ---- */

void watch_news_enter(struct watch *w)
{
    w->news = w->group->tail;
    w->news->cursors++;
}

void watch_news_pass(struct watch *w)
{
    struct watch_news *n = w->news;
    if (n->revision > w->at)
        w->at = n->revision;
    w->news = n->next;
    w->news->cursors++;
    if (--n->cursors == 0)
        free_passed_news(w->hub, w->group);
}

void watch_news_leave(struct watch *w)
{
    struct watch_news *n = w->news;
    w->news = NULL;
    if (--n->cursors)
        return;
    if (n->is_cut)
        free(n);
    else
        free_passed_news(w->hub, w->group);
}

/* ---- Lines. ---- */

static bool is_text_of(const struct watch_text *t, const struct watch *w, enum watch_type type)
{
    return t->view == w->view->number && t->type == type && t->with_columns == w->with_columns;
}

static int make_text(struct watch *w, struct watch_news *n, enum watch_type type, struct watch_text **ret,
                     struct err *err)
{
    struct watch_change *c = read_change(w->hub, n, err);
    if (!c)
        return err->code;
    struct buf line = {.arena = c->arena};
    int code = watch_change_print(c, &w->view->view, type, w->with_columns, &line, err);
    if (code == 0) {
        *ret = text_new(w->hub, n, buf_str(&line));
        (*ret)->view = w->view->number;
        (*ret)->type = type;
        (*ret)->with_columns = w->with_columns;
    }
    memo_trim(n->memo);
    return code;
}

/* 1 and the text; 0 when the selectors exclude the change. */
static int find_text(struct watch *w, struct watch_news *n, struct watch_text **ret, struct err *err)
{
    enum watch_type type = watch_op_type(n->op);
    if (w->filter) {
        struct watch_change *c = read_change(w->hub, n, err);
        if (!c)
            return err->code;
        int code = watch_change_type(c, w->view->view.kind, w->filter, &type, err);
        memo_trim(n->memo);
        if (code <= 0)
            return code;
    }
    for (*ret = n->texts; *ret; *ret = (*ret)->next)
        if (is_text_of(*ret, w, type))
            return 1;
    int code = make_text(w, n, type, ret, err);
    return code < 0 ? code : 1;
}

int watch_news_print(struct watch *w, struct buf *out, struct err *err)
{
    struct watch_text *t;
    int code = find_text(w, w->news, &t, err);
    if (code <= 0)
        return code;
    buf_add(out, t->bytes, t->n);
    w->with_columns = false;
    w->told = w->news->revision;
    return 0;
}

void watch_news_prepare(struct watch *w)
{
    struct watch_text *t;
    struct err err;
    if (!watch_has_news(w))
        return;
    bool with_columns = w->with_columns;
    for (struct watch_news *n = w->news; n->next; n = n->next)
        if (n->revision > w->at && find_text(w, n, &t, &err) > 0)
            w->with_columns = false; /* as the next line will be sent */
    w->with_columns = with_columns;
}
