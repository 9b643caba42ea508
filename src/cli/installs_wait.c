/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/installs.h"

#include "base/clock.h"

enum { ASK_AGAIN = 5 }; /* seconds: a watch can be dead and nobody knows */

int64_t cli_installs_now(void)
{
    return clock_mono_ns(&clock_system);
}

void cli_installs_wait_begin(struct installs_wait *w, const struct json *object)
{
    struct client_ref ref = cli_installs_ref(w->target);
    w->object = *object;
    w->began = w->asked = cli_installs_now();
    w->deadline = w->began + w->c->timeout_ns;
    follow_watch(w->follow, &ref);
}

static enum installs_news look(struct installs_wait *w, struct err *err)
{
    struct client_ref ref = cli_installs_ref(w->target);
    struct arena fresh = {0};
    struct json object;
    int code = client_get(w->c->session.client, &fresh, &ref, &object, err);
    w->asked = cli_installs_now();
    if (code < 0) {
        arena_done(&fresh);
        if (follow_signal(w->follow))
            return INSTALLS_INTERRUPTED;
        return code == ERR_NOT_FOUND && client_is_gone(err) ? INSTALLS_GONE : INSTALLS_FAILED;
    }
    arena_done(&w->arena);
    w->arena = fresh;
    w->object = object;
    return INSTALLS_LOOKED;
}

enum installs_news cli_installs_wait_next(struct installs_wait *w, struct err *err)
{
    /* What moves is drawn while nothing happens. */
    int64_t until = cli_installs_now() + (w->c->term.is_live ? NS_PER_S / 10 : NS_PER_S);
    enum follow_news news = follow_wait(w->follow, until < w->deadline ? until : w->deadline);
    int64_t now = cli_installs_now();
    if (news == FOLLOW_INTERRUPTED)
        return INSTALLS_INTERRUPTED;
    if (news == FOLLOW_LATE && now < w->deadline && now - w->asked < ASK_AGAIN * NS_PER_S)
        return INSTALLS_NOTHING;
    enum installs_news found = look(w, err);
    return found == INSTALLS_LOOKED && now >= w->deadline ? INSTALLS_LATE : found;
}

void cli_installs_wait_end(struct installs_wait *w)
{
    arena_done(&w->arena);
}
