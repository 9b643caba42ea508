/* SPDX-License-Identifier: Apache-2.0 */
/* What the controllers tell of an install in Events: rights that were granted, pulls that failed. For who wants to hear more. */
#include "cli/install_parts.h"

#include "cli/visible.h"
#include "object/object.h"

enum { EVENTS_MAX = 100 }; /* after which nobody reads any more */

/* "wordpress.17a2 3": the third time of an event is news, too. */
static bool is_new(struct install *i, struct install_events *e, const struct json *event)
{
    int64_t count = 1;
    (void)json_to_int(json_get(event, S("count")), &count);
    str key = str_fmt(&i->c.arena, "%.*s %lld", STR(object_name(event)), (long long)count);
    vec_each(&e->seen, known)
    {
        if (str_eq(*known, key))
            return false;
    }
    *vec_push(&i->c.arena, &e->seen) = key;
    return true;
}

/* Events of what has no namespace are in "default". Who may not list them does without. */
void cli_install_tell_events(struct install *i, struct install_events *e, struct progress *progress)
{
    static const struct client_resource events = CLIENT_RESOURCE("", "v1", "events", "Event", true);
    struct arena scratch ARENA_SCOPE = {0};
    struct client_ref ref = {.resource = &events,
                             .namespace = i->target.is_cluster ? S("default") : i->target.namespace};
    struct client_list_options options = {
        .field_selector = str_fmt(&scratch, "involvedObject.uid=%.*s", STR(object_uid(&i->object)))};
    struct json items;
    struct err err;
    if (i->c.term.verbosity == 0 || e->is_over)
        return;
    if (client_list(i->c.session.client, &scratch, &ref, &options, &items, NULL, &err) < 0) {
        progress_say(progress, "Events are not shown: %s", err.msg);
        e->is_over = true;
        return;
    }
    json_each_item(&items, event)
    {
        if (e->seen.n < EVENTS_MAX && is_new(i, e, event))
            progress_say(progress, "%.*s: %.*s", STR(json_get_text(event, S("reason"))),
                         STR(cli_visible(&scratch, json_get_text(event, S("message")))));
    }
}
