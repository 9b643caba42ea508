/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the cases of tests/cases/strategic: documents patched by strategic merge patch.
 *
 *     --- given v1 ConfigMap           the document, of this apiVersion and kind
 *     --- when patch                   the patch, applied to what is there by now
 *     --- expect                       the document afterwards, as sorted JSON
 *     --- expect error                 "Reason: text"; the document stays as it was */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "patch/strategic.h"
#include "json/json.h"
#include "json/yaml.h"

static struct json read_yaml(struct case_file *c, const struct case_section *s)
{
    struct json v = json_null();
    struct err err;
    if (yaml_decode(c->arena, s->text, NULL, NULL, &v, &err) < 0)
        case_fail(c, s, "cannot read this: %s", err.msg);
    return v;
}

static void expect(struct case_file *c, const struct case_section *s, const struct json *doc, int rc,
                   const struct err *err)
{
    struct buf b = {.arena = c->arena};
    if (case_has_arg(s, S("error"))) {
        buf_fmt(&b, "%s: %s", err_name((enum err_code)rc), rc < 0 ? err->msg : "");
        case_expect(c, s, buf_str(&b));
        return;
    }
    if (rc < 0)
        case_fail(c, s, "unexpected error: %s", err->msg);
    struct json want = read_yaml(c, s);
    struct buf w = {.arena = c->arena};
    json_encode(&b, doc, JSON_SORTED | JSON_PRETTY);
    json_encode(&w, &want, JSON_SORTED | JSON_PRETTY);
    struct case_section plain = *s;
    plain.text = buf_str(&w);
    case_expect(c, &plain, buf_str(&b));
}

static void run(struct case_file *c)
{
    struct json doc = json_null();
    const struct shape *shape = NULL;
    struct err err = {0};
    int rc = 0;
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("given"))) {
            str version, kind;
            str_cut(s->args, ' ', &version, &kind);
            const struct kind *k = kind_builtin_by_body(version, kind);
            shape = k ? k->shape : NULL;
            doc = read_yaml(c, s);
        } else if (str_eq(s->name, S("when"))) {
            struct json patch = read_yaml(c, s), next = doc;
            rc = strategic_patch(c->arena, shape, &doc, &patch, &next, &err);
            doc = next;
        } else if (str_eq(s->name, S("expect"))) {
            expect(c, s, &doc, rc, &err);
        } else {
            case_fail(c, s, "unknown section");
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
