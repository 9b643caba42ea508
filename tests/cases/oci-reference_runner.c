/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of references to images. Each round has one reference per line, and one line of answer for each:
 *
 *     --- when parts                     how it is taken apart: registry | path | tag | digest, "-" for what is not there
 *     --- when normal                    the full form
 *     --- when identity [version=V]      repo:name:version; V is what the package says of itself; its digest is sha256:00…
 *     --- when source=PREFIX             with a source in front
 *     --- when errors                    what is wrong with it, or "fine"
 *
 * {N*x} stands for N times x. */
#include "cases/case.h"
#include "oci/reference.h"

static const char *dash(str s)
{
    return s.n ? "" : "-";
}

/* a{3*b}c is abbbc. */
static str expanded(struct arena *a, str line)
{
    struct buf b = {.arena = a};
    str before, inside, times;
    while (str_cut(line, '{', &before, &line)) {
        uint64_t n = 0;
        buf_add_str(&b, before);
        str_cut(line, '}', &inside, &line);
        str_cut(inside, '*', &times, &inside);
        (void)str_to_uint64(times, &n);
        while (n-- > 0)
            buf_add_str(&b, inside);
    }
    buf_add_str(&b, before);
    return buf_str(&b);
}

static void add_parts(struct buf *out, const struct oci_reference *r)
{
    buf_fmt(out, "%s%.*s | %.*s | %s%.*s | %s%.*s", dash(r->registry), STR(r->registry), STR(r->path), dash(r->tag),
            STR(r->tag), dash(r->digest), STR(r->digest));
}

static void add_identity(struct buf *out, struct arena *a, const struct oci_reference *r, str version)
{
    struct oci_digest zero = {.algorithm = OCI_SHA256};
    struct oci_identity id = oci_reference_identity(a, r, version, &zero);
    buf_fmt(out, "%.*s:%.*s:%.*s", STR(id.repo), STR(id.name), STR(id.version));
}

static void answer(struct case_file *c, const struct case_section *when, str line, struct buf *out)
{
    struct oci_reference r;
    struct err err;
    str text = expanded(c->arena, line);
    str source = case_arg(when, S("source"));
    if (str_has_prefix(when->args, S("source=")))
        buf_add_str(out, oci_reference_with_source(c->arena, text, source));
    else if (oci_reference_parse(text, &r, &err) < 0)
        buf_fmt(out, "%s: %s", err_name(err.code), err.msg);
    else if (case_has_arg(when, S("parts")))
        add_parts(out, &r);
    else if (case_has_arg(when, S("normal")))
        buf_add_str(out, oci_reference_normalize(c->arena, &r).text);
    else if (case_has_arg(when, S("identity")))
        add_identity(out, c->arena, &r, case_arg(when, S("version")));
    else if (case_has_arg(when, S("errors")))
        buf_add_str(out, S("fine"));
    else
        case_fail(c, when, "no such question");
    buf_add_char(out, '\n');
}

static void run(struct case_file *c)
{
    const struct case_section *when = NULL, *expect = NULL;
    while ((when = case_find(c, expect, S("when")))) {
        struct buf got = {.arena = c->arena};
        str line, rest = when->text;
        expect = case_find(c, when, S("expect"));
        if (expect == NULL) {
            case_fail(c, when, "no expectation");
            return;
        }
        bool is_more = true;
        while (is_more) {
            is_more = str_cut(rest, '\n', &line, &rest);
            answer(c, when, line, &got);
        }
        struct case_section want = *expect;
        want.text = expanded(c->arena, expect->text);
        case_expect(c, &want, buf_str(&got));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
