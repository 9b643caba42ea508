/* SPDX-License-Identifier: Apache-2.0 */
#include "net/peer_account.h"

#include "net/http_server.h"

#include <malloc.h>
#include <stdlib.h>

enum {
    HARD = 8,                   /* times the limit for answers of one connection: requests that were at work already */
    CONNECTION_COST = 32 << 10, /* about, with its TLS state */
    PRESSURE_MIN = 4 << 20,     /* less than this is not worth returning */
    PRESSURE_OVER = 4,          /* pressure is over when held bytes are down to this part of their peak */
};
#define TRIM_DELAY_NS NS_PER_S
#define YOUNG_NS NS_PER_S

/* Unknown peers with one address. */
struct origin {
    struct account_address address; /* the key of the map */
    struct account_list list;       /* the oldest first */
    size_t bytes;
};

/* ---- Lists. ---- */

static void list_append(struct account_list *l, struct account *a, enum account_which w)
{
    a->links[w] = (struct account_link){l->last, NULL};
    *(l->last ? &l->last->links[w].next : &l->first) = a;
    l->last = a;
    l->n++;
}

static void list_remove(struct account_list *l, struct account *a, enum account_which w)
{
    struct account_link *link = &a->links[w];
    *(link->prev ? &link->prev->links[w].next : &l->first) = link->next;
    *(link->next ? &link->next->links[w].prev : &l->last) = link->prev;
    *link = (struct account_link){0};
    l->n--;
}

/* ---- Memory goes back to the system when pressure is over. ---- */

static size_t held_bytes(const struct http_server *s)
{
    const struct accounts *all = &s->accounts;
    return all->unknown_bytes + all->known_requests + all->known_answers + s->conns.all.n * CONNECTION_COST;
}

static void note_more(struct http_server *s)
{
    size_t held = held_bytes(s);
    if (held > s->accounts.peak)
        s->accounts.peak = held;
}

static bool is_pressure_over(const struct http_server *s)
{
    return s->accounts.peak >= PRESSURE_MIN && held_bytes(s) <= s->accounts.peak / PRESSURE_OVER;
}

/* The timer is set once, by the end of pressure; it is not moved by what happens until it fires. */
static void note_less(struct http_server *s)
{
    if (s->accounts.is_trim_set || !is_pressure_over(s))
        return;
    s->accounts.is_trim_set = true;
    loop_timer_set(s->loop, &s->accounts.trim, TRIM_DELAY_NS);
}

static void on_trim(void *ctx)
{
    struct http_server *s = ctx;
    s->accounts.is_trim_set = false;
    if (!is_pressure_over(s))
        return;
    s->accounts.peak = held_bytes(s);
    s->stats.trims++;
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

/* ---- Addresses. ---- */

static str address_key(const struct account_address *address)
{
    return (str){(const char *)address->bytes, address->n};
}

static struct origin *origin_get(struct http_server *s, const struct account_address *from)
{
    struct origin *o = map_get(&s->accounts.origins, address_key(from));
    if (o)
        return o;
    o = xcalloc(1, sizeof *o);
    o->address = *from;
    map_set(&s->accounts.origins, address_key(&o->address), o);
    return o;
}

/* Takes the account, with all it holds, out of those of unknown peers. */
static void leave_unknown(struct account *a)
{
    struct accounts *all = &a->server->accounts;
    struct origin *o = a->origin;
    size_t held = a->requests + a->answers;
    a->origin = NULL;
    list_remove(&all->unknown, a, IN_UNKNOWN);
    list_remove(&o->list, a, IN_ORIGIN);
    all->unknown_bytes -= held;
    o->bytes -= held;
    if (o->list.n)
        return;
    map_del(&all->origins, address_key(&o->address));
    free(o);
}

static void stop_counting(struct account *a)
{
    struct accounts *all = &a->server->accounts;
    if (a->is_dropped)
        return;
    a->is_dropped = true;
    if (a->links[IN_HOLDERS].prev || all->holders.first == a)
        list_remove(&all->holders, a, IN_HOLDERS);
    if (a->origin) {
        leave_unknown(a);
    } else {
        all->known_requests -= a->requests;
        all->known_answers -= a->answers;
    }
}

/* ---- Making place. ---- */

static void drop_connection(struct account *a, const char *why)
{
    a->server->stats.evicted++;
    stop_counting(a);
    conn_drop(a->conn, ERR_TOO_MANY_REQUESTS, why);
}

static bool drop_oldest(const struct account_list *l, const struct account *but)
{
    struct account *a = l->first;
    if (a == NULL || a == but || a->conn == NULL)
        return false;
    drop_connection(a, "place is needed for other peers that are not authenticated");
    return true;
}

/* A crowd that comes at once is no attack: who came within the last second is not sent away for the number of connections. */
static bool drop_old(const struct account_list *l, const struct account *but)
{
    const struct account *a = l->first;
    return a && loop_now(a->server->loop) - a->since >= YOUNG_NS && drop_oldest(l, but);
}

bool accounts_have_place(struct http_server *s)
{
    return s->accounts.unknown.n < s->limits.unknown_connections || drop_old(&s->accounts.unknown, NULL);
}

bool account_drop_unknown(struct http_server *s)
{
    return drop_oldest(&s->accounts.unknown, NULL);
}

static void drop_largest_holder(struct http_server *s)
{
    struct account *largest = s->accounts.holders.first;
    for (struct account *a = largest; a; a = a->links[IN_HOLDERS].next)
        if (a->answers > largest->answers)
            largest = a;
    drop_connection(largest, "the peer does not take its answers");
}

/* ---- Life. ---- */

struct account *account_open(struct http_server *s, const struct account_address *from)
{
    struct account *a = xcalloc(1, sizeof *a);
    a->server = s;
    a->since = loop_now(s->loop);
    struct origin *o = origin_get(s, from);
    a->origin = o;
    list_append(&o->list, a, IN_ORIGIN); /* first: the address must not be forgotten while its oldest leaves */
    list_append(&s->accounts.unknown, a, IN_UNKNOWN);
    while (o->list.n > s->limits.unknown_of_address && drop_old(&o->list, a))
        ;
    note_more(s);
    return a;
}

void account_close(struct account *a)
{
    struct http_server *s = a->server;
    stop_counting(a);
    free(a);
    note_less(s);
}

void account_set_known(struct account *a)
{
    struct accounts *all = &a->server->accounts;
    if (a->is_known)
        return;
    a->is_known = true;
    if (a->is_dropped)
        return;
    leave_unknown(a);
    all->known_requests += a->requests;
    all->known_answers += a->answers;
}

void accounts_init(struct http_server *s)
{
    s->accounts.trim = (struct loop_timer){.fn = on_trim, .ctx = s};
    s->orphans = (struct account){.server = s, .is_known = true};
}

void accounts_done(struct http_server *s)
{
    loop_timer_cancel(s->loop, &s->accounts.trim);
    map_done(&s->accounts.origins); /* all connections have gone, and their addresses with them */
}

/* ---- Charges. ---- */

/* The oldest unknown connections make place, but not for more than one of them may hold. */
static bool make_room(struct account *a, size_t n)
{
    const struct http_limits *l = &a->server->limits;
    struct accounts *all = &a->server->accounts;
    if (a->is_dropped || n > l->unknown_bytes || a->requests + a->answers > l->unknown_bytes - n)
        return false;
    while (a->origin->bytes + n > l->unknown_address_bytes && drop_oldest(&a->origin->list, a))
        ;
    while (all->unknown_bytes + n > l->unknown_all_bytes && drop_oldest(&all->unknown, a))
        ;
    return a->origin->bytes + n <= l->unknown_address_bytes && all->unknown_bytes + n <= l->unknown_all_bytes;
}

static bool has_room(const struct http_server *s, size_t n)
{
    size_t held = s->accounts.known_requests;
    return held < s->limits.bodies_bytes && n <= s->limits.bodies_bytes - held;
}

static void count_unknown(struct account *a, size_t more, size_t less)
{
    a->server->accounts.unknown_bytes += more - less;
    a->origin->bytes += more - less;
}

bool account_take_request(struct account *a, size_t n)
{
    if (a->is_known ? !has_room(a->server, n) : !make_room(a, n))
        return false;
    a->requests += n;
    if (a->origin)
        count_unknown(a, n, 0);
    else if (!a->is_dropped)
        a->server->accounts.known_requests += n;
    note_more(a->server);
    return true;
}

void account_give_request(struct account *a, size_t n)
{
    a->requests -= n;
    if (a->origin)
        count_unknown(a, 0, n);
    else if (!a->is_dropped)
        a->server->accounts.known_requests -= n;
    note_less(a->server);
}

bool account_set_pending(struct account *a, size_t n)
{
    size_t was = a->pending;
    if (n > was && (a->is_known || !account_take_request(a, n - was)))
        return a->is_known;
    if (n < was)
        account_give_request(a, was - n);
    a->pending = n;
    return true;
}

bool account_take_answer(struct account *a, size_t n)
{
    struct http_server *s = a->server;
    if (a->is_dropped || n == 0) {
        a->answers += n;
        return true;
    }
    if (a->answers == 0)
        list_append(&s->accounts.holders, a, IN_HOLDERS);
    a->answers += n;
    if (a->origin)
        count_unknown(a, n, 0);
    else
        s->accounts.known_answers += n;
    note_more(s);
    bool is_within = a->answers <= s->limits.answers_bytes * HARD;
    while (s->accounts.unknown_bytes > s->limits.unknown_all_bytes)
        if (!drop_oldest(&s->accounts.unknown, NULL))
            break;
    while (s->accounts.known_answers > s->limits.answers_all_bytes && s->accounts.holders.first)
        drop_largest_holder(s);
    return is_within;
}

void account_give_answer(struct account *a, size_t n)
{
    struct http_server *s = a->server;
    a->answers -= n;
    if (a->is_dropped || n == 0)
        return;
    if (a->answers == 0)
        list_remove(&s->accounts.holders, a, IN_HOLDERS);
    if (a->origin)
        count_unknown(a, 0, n);
    else
        s->accounts.known_answers -= n;
    note_less(s);
}

bool account_may_begin(const struct account *a)
{
    const struct http_limits *l = &a->server->limits;
    return a->answers < (a->is_known ? l->answers_bytes : l->unknown_bytes / 4);
}
