/* SPDX-License-Identifier: Apache-2.0 */
/* What: an API server as programs see it: a request and its answer, and the verbs made of them.
 * Owns: a client owns its transport and the calls at work; answers live in the arena of who asked, or until a listener returns.
 * Threads: client_new, client_free, client_stop, client_start and client_cancel belong to the loop thread; the verbs to any other
 *          thread: they hand their request to the loop and wait.
 * Errors: the code and text of the server's Status; ERR_UNAVAILABLE when it cannot be reached or the client was stopped, ERR_TIMEOUT,
 *         ERR_IO for an answer that was cut off or makes no sense, ERR_TOO_LARGE.
 *
 *   worker thread │ loop thread
 *     client_get ─┼─► attempt ─► transport: https.h ────────────► any Kubernetes
 *      (waits)    │     ▲  │                api/loopback_client.h ► the server of this process, as a ServiceAccount
 *                 │     └──┘ 429, 503,      fake.h ─────────────► a test
 *                 │          lost
 *     informer ───┼─► client_start: one attempt, what happens next is the informer's */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "net/loop.h"
#include "json/json.h"

/* ---- One request, one answer. ---- */

struct client_request {
    str method;
    str target;       /* "/api/v1/namespaces/x?fieldManager=reeve", encoded */
    str accept;       /* empty: application/json */
    str content_type; /* empty: application/json */
    str body;
    str as; /* on whose behalf: a user, "system:serviceaccount:x:y"; the server adds its groups. Empty: as oneself */
    int64_t total_ns; /* until the end of the answer; 0: no limit */
};

struct client_answer {
    int status; /* 0: there was none, or it was cut off */
    str content_type;
    int64_t retry_after_ns; /* as the server wishes; 0: it does not say */
    str body;               /* empty when the listener took it in pieces */
    struct buf *collected;  /* what has the body, for a listener that takes it away; NULL: it can only be looked at */
    const struct err *err;  /* with status 0: why */
    bool can_retry;         /* with status 0: the server surely has not acted on the request */
};

/* What is wrong with an answer that was of no use: in the words of the server, which say who lacks which right. */
int client_answer_failure(const struct client_answer *answer, struct err *err);

struct client_listener {
    /* The body of an answer with status 200, as it comes: for watches, which never end. NULL: it is collected. Other bodies
     * always are. */
    void (*data)(void *ctx, str bytes);
    /* The last word; the call is gone after it. */
    void (*end)(void *ctx, const struct client_answer *answer);
};

enum { CLIENT_ANSWER_BYTES = 512 * 1024 * 1024 }; /* of a collected body; more is ERR_TOO_LARGE */
enum { CLIENT_EACH_BYTES = 1024 * 1024 * 1024 };  /* of all pages of a list that is taken item by item */

/* How requests reach a server. Nothing calls back from within start; request and listener are copied. Embedded as the first member. A
 * listener may start and cancel calls, its own included. Transports need not look at total_ns: the client does. */
struct transport {
    const struct transport_ops *ops;
};

struct transport_call;

struct transport_ops {
    struct transport_call *(*start)(struct transport *t, const struct client_request *request,
                                    const struct client_listener *listener, void *ctx);
    /* Not a word more to the listener. */
    void (*cancel)(struct transport *t, struct transport_call *call);
    /* No calls are left. */
    void (*free)(struct transport *t);
};

/* ---- The client. ---- */

struct client;
struct client_call;

struct client_options {
    struct loop *loop;
    struct transport *transport; /* becomes the client's */
    struct random random;        /* spreads retries; used on the loop thread */
    bool is_impatient; /* a server that has never answered is not tried again: for somebody who is looking on */
};

struct client *client_new(const struct client_options *options);
/* When no thread is inside a verb any more; not from within a listener. Calls that are left are gone with it. Takes NULL. */
void client_free(struct client *c);
/* Whoever waits gets ERR_UNAVAILABLE, and so does everybody from now on. Calls of client_start, those to come too, fall silent:
 * they stay until they are cancelled. */
void client_stop(struct client *c);

/* One attempt. Nothing calls back from within this. */
struct client_call *client_start(struct client *c, const struct client_request *request,
                                 const struct client_listener *listener, void *ctx);
/* Not a word more to the listener, from within which this may be called, except from end. Takes NULL. */
void client_cancel(struct client_call *call);

/* ---- Which objects. ---- */

/* What paths and bodies call a kind of object. Texts are borrowed. */
struct client_resource {
    str group, version; /* "" and "v1" for the core */
    str plural, kind;
    bool namespaced;
};

/* Group, version, plural, kind, is namespaced; or a macro that has them (object/fleet.h). */
#define CLIENT_RESOURCE(...) CLIENT_RESOURCE_OF(__VA_ARGS__)
#define CLIENT_RESOURCE_OF(g, v, p, k, ns)             \
    {                                                  \
        S_INIT(g), S_INIT(v), S_INIT(p), S_INIT(k), ns \
    }

struct client_ref {
    const struct client_resource *resource;
    str namespace; /* empty: none */
    str name;      /* empty: all of them */
    str subresource;
};

/* "/apis/apps/v1/namespaces/x/deployments/y/status" */
void client_path(struct buf *b, const struct client_ref *ref);
/* "apps/v1", "v1" */
str client_api_version(struct arena *a, const struct client_resource *resource);
/* Appends "?name=value" or "&name=value", the value encoded; nothing for an empty value. */
void client_query(struct buf *target, str name, str value);

/* ---- The verbs. ret may be NULL. A 429, a 503 that says when to come back, and a connection lost before the server acted, or
 *      during a GET, are tried again: ten times at most, and not after a minute. The rest is for the caller. An answer may take a
 *      minute, unless the request says otherwise. A ref that would lead elsewhere (a name with a slash, a name without the
 *      namespace it needs) is ERR_BAD_REQUEST without asking anybody. options may be NULL. ---- */

struct client_list_options {
    str label_selector, field_selector;
    bool metadata_only; /* PartialObjectMetadata; the list is one of metadata */
    uint32_t limit;     /* of a page; 0: 500. All pages are fetched, and are one consistent list */
};

struct client_write_options {
    str field_manager;
    bool force;   /* apply only: takes fields over */
    bool dry_run; /* the server checks and answers, and stores nothing */
    str as;       /* see client_request */
};

enum client_patch { CLIENT_PATCH_MERGE, CLIENT_PATCH_STRATEGIC, CLIENT_PATCH_JSON };

int client_get(struct client *c, struct arena *a, const struct client_ref *ref, struct json *ret, struct err *err);
/* PartialObjectMetadata of it. */
int client_get_metadata(struct client *c, struct arena *a, const struct client_ref *ref, struct json *ret,
                        struct err *err);
/* items of all pages; each has apiVersion and kind. ret_version: of the list; may be NULL. */
int client_list(struct client *c, struct arena *a, const struct client_ref *ref,
                const struct client_list_options *options, struct json *ret_items, str *ret_version, struct err *err);

/* Takes a list item by item. */
struct client_taker {
    /* The list begins; once more if the server forgot its revision on the way: what came before counts for nothing then. Or NULL. */
    void (*begin)(void *ctx);
    /* Each has apiVersion and kind, and is gone when this returns. Not 0: an error, which ends it. */
    int (*item)(void *ctx, const struct json *item, struct err *err);
};

/* As client_list, for long lists: there is never more of them in memory than a page. One of more than CLIENT_EACH_BYTES is
 * ERR_TOO_LARGE: a server may go round in circles. */
int client_list_each(struct client *c, const struct client_ref *ref, const struct client_list_options *options,
                     const struct client_taker *taker, void *ctx, struct err *err);
/* The name is the object's; that of ref is only looked at with a subresource ("token" of a ServiceAccount). */
int client_create(struct client *c, struct arena *a, const struct client_ref *ref, const struct json *object,
                  const struct client_write_options *options, struct json *ret, struct err *err);
int client_update(struct client *c, struct arena *a, const struct client_ref *ref, const struct json *object,
                  const struct client_write_options *options, struct json *ret, struct err *err);

struct client_patch_args {
    enum client_patch type;
    const struct json *patch;
    struct client_write_options options;
};

int client_patch(struct client *c, struct arena *a, const struct client_ref *ref, const struct client_patch_args *args,
                 struct json *ret, struct err *err);
/* Server-side apply. options.field_manager is needed. */
int client_apply(struct client *c, struct arena *a, const struct client_ref *ref, const struct json *object,
                 const struct client_write_options *options, struct json *ret, struct err *err);

struct client_delete_options {
    str propagation;    /* "Background", "Foreground", "Orphan"; empty: the kind's own */
    str uid, version;   /* preconditions; empty: none */
    str label_selector; /* of a collection */
    bool is_collection; /* ref has no name: all of them */
    bool dry_run;       /* the server checks and answers, and deletes nothing */
};

int client_delete(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct client_delete_options *options, struct json *ret, struct err *err);
/* Of an error as a verb left it: the server knows the kind and has no such object, or no such namespace. Any other 404 is one of
 * the way to it: a kind or version that is not served now, or a proxy that does not find the server. */
bool client_is_gone(const struct err *err);
/* Of the same: an API server said so itself, by a Status, and not something that stands before it. */
bool client_is_told(const struct err *err);
/* Any other request whose answer is a JSON object. */
int client_raw(struct client *c, struct arena *a, const struct client_request *request, struct json *ret,
               struct err *err);

struct client_question {
    struct client_request request;
    struct json ret;
    int code; /* 0, or what went wrong: err */
    struct err err;
};

/* Several such requests at once, in no order among each other, each with an outcome of its own. Asked one by one they cost a thread
 * that much more waiting. */
void client_raw_all(struct client *c, struct arena *a, struct client_question *list, size_t n);
