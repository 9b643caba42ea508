/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints on versions.
 *
 *   --- constraint TEXT     then:
 *   --- meets               versions that are good enough, one a line
 *   --- misses              versions that are not
 *
 *   --- refused             texts that are no constraints, one a line as a JSON string; they are met by nothing */
#include "cases/case.h"
#include "package/semver.h"
#include "json/json.h"

static const str digest = S_INIT("sha256:1111111111111111111111111111111111111111111111111111111111111111");

static void expect_versions(struct case_file *c, const struct case_section *s, str constraint)
{
    struct buf b = {.arena = c->arena};
    str rest = s->text, line;
    bool more = true;
    while (more && rest.n) {
        more = str_cut(rest, '\n', &line, &rest);
        bool is_met = semver_is_met(constraint, line, digest);
        buf_fmt(&b, "%.*s%s\n", STR(line),
                is_met == str_eq(s->name, S("meets")) ? ""
                : is_met                              ? " (met)"
                                                      : " (not met)");
    }
    case_expect(c, s, buf_str(&b));
}

static void expect_refused(struct case_file *c, const struct case_section *s)
{
    struct buf b = {.arena = c->arena};
    str rest = s->text, line;
    bool more = true;
    while (more && rest.n) {
        struct json text;
        struct err err;
        more = str_cut(rest, '\n', &line, &rest);
        if (json_decode(c->arena, line, NULL, NULL, &text, &err) < 0)
            case_fail(c, s, "%s", err.msg);
        bool is_one = semver_is_constraint(json_text(&text)) || semver_is_met(json_text(&text), S("1.0.0"), digest);
        buf_fmt(&b, "%.*s%s\n", STR(line), is_one ? " (is one)" : "");
    }
    case_expect(c, s, buf_str(&b));
}

static void run(struct case_file *c)
{
    str constraint = {0};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("constraint"))) {
            constraint = s->args;
            if (!semver_is_constraint(constraint))
                case_fail(c, s, "is no constraint");
        } else if (str_eq(s->name, S("refused"))) {
            expect_refused(c, s);
        } else {
            expect_versions(c, s, constraint);
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
