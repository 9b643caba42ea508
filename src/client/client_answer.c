/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client_internal.h"
#include "object/status.h"

enum { SHOWN_BYTES = 200 }; /* of a text that is not ours */

#define NO_STATUS "the server answered " /* begins the text of what is no Status, or one without a message */

static const struct json_limits limits = {.bytes = CLIENT_ANSWER_BYTES};

/* The beginning of what a proxy or something else that is no API server said, on one line. */
static str shown(struct arena *a, str body)
{
    struct buf b = {.arena = a};
    bool was_blank = true;
    for (size_t i = 0; i < body.n && b.n < SHOWN_BYTES; i++) {
        unsigned char c = (unsigned char)body.p[i];
        bool is_blank = c <= ' ' || c == 0x7f;
        if (!is_blank)
            buf_add_char(&b, c < 0x80 ? (char)c : '?');
        else if (!was_blank)
            buf_add_char(&b, ' ');
        was_blank = is_blank;
    }
    return str_trim(buf_str(&b));
}

/* What a Status says has gone wrong; http: the code of the answer, or the one it has itself. */
static int say_failure(const struct json *status, int http, struct err *err)
{
    str message = json_get_text(status, S("message"));
    enum err_code code = status_code(json_get_text(status, S("reason")), http);
    if (code == ERR_NONE)
        code = ERR_INTERNAL; /* it contradicts itself */
    if (message.n)
        return err_set(err, code, "%.*s", STR(message));
    return err_set(err, code, NO_STATUS "%d", http);
}

static int read_failure(int http, str body, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json status;
    if (json_decode(&scratch, body, &limits, NULL, &status, NULL) == 0 &&
        str_eq(json_get_text(&status, S("kind")), S("Status")))
        return say_failure(&status, http, err);
    str text = shown(&scratch, body);
    return err_set(err, status_code((str){0}, http), NO_STATUS "%d%s%.*s", http, text.n ? ": " : "", STR(text));
}

int client_answer_failure(const struct client_answer *answer, struct err *err)
{
    if (answer->status >= 200 && answer->status < 300)
        return err_set(err, ERR_IO, "the answer makes no sense");
    if (answer->status)
        return read_failure(answer->status, answer->body, err);
    *err = *answer->err;
    return err->code;
}

int client_reply_read(struct arena *a, const struct client_reply *r, struct json *ret, struct err *err)
{
    if (r->status < 200 || r->status > 299)
        return read_failure(r->status, buf_str(&r->body), err);
    struct json tree = {0};
    struct err why = {0};
    int code = json_decode(a, buf_str(&r->body), &limits, NULL, &tree, &why);
    if (code == ERR_TOO_LARGE)
        return err_set(err, ERR_TOO_LARGE, "the answer of the server: %s", why.msg);
    if (code < 0)
        return err_set(err, ERR_IO, "the answer of the server is not JSON: %s", why.msg);
    if (!json_is_obj(&tree))
        return err_set(err, ERR_IO, "the answer of the server is not an object");
    if (status_is_failure(&tree))
        return say_failure(&tree, status_get_http(&tree), err);
    if (ret)
        *ret = tree;
    return 0;
}

/* An err has no more than the text, which is `pods "x" not found` of an object, and not so of a path: `the server could not find the
 * requested resource`. What is not known to be gone is asked for again, so a server with other words costs no more than that. */
bool client_is_told(const struct err *err)
{
    return !str_has_prefix(str_of(err->msg), S(NO_STATUS));
}

bool client_is_gone(const struct err *err)
{
    return err->code == ERR_NOT_FOUND && str_has_suffix(str_of(err->msg), S("\" not found")) && client_is_told(err);
}
