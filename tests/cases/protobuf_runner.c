/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: a request body as hexadecimal bytes ("#" starts a comment), envelope included;
 *        "given message KIND in API-VERSION": only the object's own message.
 * expect: the JSON object it becomes, keys sorted; "expect error": the message of the error.
 */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "json/proto.h"

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static str unhex(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    str line;
    while (text.n) {
        str_cut(text, '\n', &line, &text);
        ptrdiff_t comment = str_find_char(line, '#');
        line = comment >= 0 ? str_upto(line, (size_t)comment) : line;
        for (size_t i = 0; i + 1 < line.n; i++)
            if (digit(line.p[i]) >= 0 && digit(line.p[i + 1]) >= 0) {
                buf_add_char(&b, (char)(digit(line.p[i]) << 4 | digit(line.p[i + 1])));
                i++;
            }
    }
    return buf_str(&b);
}

static int decode(struct arena *a, const struct case_section *given, struct json *ret, struct err *err)
{
    str bytes = unhex(a, given->text), kind, in, version;
    struct proto_envelope env = {.raw = bytes};
    if (case_has_arg(given, S("message"))) {
        str_cut(str_trim(str_from(given->args, strlen("message"))), ' ', &kind, &in);
        str_cut(str_trim(in), ' ', &in, &version);
        env.kind = kind;
        env.api_version = str_trim(version);
    } else if (proto_open(bytes, NULL, &env, err) < 0) {
        return err->code;
    }
    const struct kind *k = kind_builtin_by_body(env.api_version, env.kind);
    if (!k)
        return err_set(err, ERR_BAD_REQUEST, "no kind %.*s in %.*s", STR(env.kind), STR(env.api_version));
    struct json obj;
    if (proto_decode(a, k->shape, env.raw, NULL, &obj, err) < 0)
        return err->code;
    if (!case_has_arg(given, S("message"))) {
        json_set(a, &obj, S("apiVersion"), json_str(env.api_version));
        json_set(a, &obj, S("kind"), json_str(env.kind));
    }
    *ret = obj;
    return 0;
}

static void run(struct case_file *c)
{
    const struct case_section *at = NULL;
    while ((at = case_find(c, at, S("given")))) {
        const struct case_section *expect = case_find(c, at, S("expect"));
        struct err err = {0};
        struct json v;
        struct buf out = {.arena = c->arena};
        if (!expect) {
            case_fail(c, at, "nothing is expected");
            return;
        }
        if (decode(c->arena, at, &v, &err) < 0)
            buf_fmt(&out, "%s%s", case_has_arg(expect, S("error")) ? "" : "error: ", err.msg);
        else
            json_encode(&out, &v, JSON_SORTED | JSON_PRETTY);
        case_expect(c, expect, buf_str(&out));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
