/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/bytes.h"

#include "base/err.h"

static int hex_of(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static str unescape(struct case_file *c, const struct case_section *s, str t)
{
    struct buf b = {.arena = c->arena};
    for (size_t i = 0; i < t.n; i++) {
        char kind = t.p[i] == '\\' && i + 1 < t.n ? t.p[i + 1] : 0;
        const char *names = "nrt\\", *at = kind ? strchr(names, kind) : NULL;
        if (at) {
            buf_add_char(&b, "\n\r\t\\"[at - names]);
            i++;
        } else if (kind == 'x' && i + 3 < t.n && hex_of(t.p[i + 2]) >= 0 && hex_of(t.p[i + 3]) >= 0) {
            buf_add_char(&b, (char)(hex_of(t.p[i + 2]) * 16 + hex_of(t.p[i + 3])));
            i += 3;
        } else if (kind) {
            case_fail(c, s, "unknown escape \\%c", kind);
        } else {
            buf_add_char(&b, t.p[i]);
        }
    }
    return buf_str(&b);
}

static str repeat(struct case_file *c, const struct case_section *s, uint64_t times)
{
    struct buf b = {.arena = c->arena};
    str rest = s->text, line;
    for (bool every_second = false; rest.n; every_second = !every_second) {
        str_cut(rest, '\n', &line, &rest);
        for (uint64_t i = 0; i < (every_second ? times : 1); i++)
            buf_add_str(&b, line);
    }
    return buf_str(&b);
}

str case_bytes(struct case_file *c, const struct case_section *s)
{
    uint64_t times;
    str text = str_to_uint64(case_arg(s, S("repeat")), &times) ? repeat(c, s, times) : s->text;
    return case_has_arg(s, S("escaped")) ? unescape(c, s, text) : text;
}

str case_error(struct case_file *c, const struct err *err)
{
    return str_fmt(c->arena, "%s: %s", err_name(err->code), err->msg);
}
