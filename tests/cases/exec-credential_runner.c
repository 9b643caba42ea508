/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of what credential plugins print. Each round:
 *
 *     --- when [v1beta1] [now=TIME]   what it printed; v1 was asked for, unless the other is named
 *     --- expect                      one line for each thing it gave, and whether it has expired; or "error: " and its text */
#include "base/clock.h"
#include "cases/case.h"
#include "client/exec_credential.h"

static void tell(struct buf *b, const char *name, str value)
{
    if (value.n)
        buf_fmt(b, "%s: %.*s\n", name, STR(value));
}

static void tell_credential(struct case_file *c, const struct case_section *when, struct buf *b,
                            const struct exec_credential *got)
{
    str now = case_arg(when, S("now"));
    int64_t seconds = 0;
    uint32_t nanos = 0;
    if (now.n && !time_parse(now, &seconds, &nanos))
        case_fail(c, when, "not a time");
    tell(b, "token", got->token);
    tell(b, "certificate", got->certificate_pem);
    tell(b, "key", got->key_pem);
    if (got->expires) {
        buf_add_str(b, S("expires: "));
        time_format(b, got->expires_s, got->expires_ns, got->expires_ns ? 9 : 0);
        buf_add_char(b, '\n');
    }
    if (exec_credential_is_expired(got, seconds * 1000000000 + nanos))
        buf_add_str(b, S("expired\n"));
}

static void run(struct case_file *c)
{
    const struct case_section *when = NULL, *expect = NULL;
    while ((when = case_find(c, expect, S("when")))) {
        struct exec_credential got;
        struct err err;
        struct buf text = {.arena = c->arena};
        str version = case_has_arg(when, S("v1beta1")) ? S("client.authentication.k8s.io/v1beta1")
                                                       : S("client.authentication.k8s.io/v1");
        if ((expect = case_find(c, when, S("expect"))) == NULL) {
            case_fail(c, when, "no expectation");
            return;
        }
        if (exec_credential_read(c->arena, when->text, version, &got, &err) < 0)
            buf_fmt(&text, "error: %s", err.msg);
        else
            tell_credential(c, when, &text, &got);
        case_expect(c, expect, buf_str(&text));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
