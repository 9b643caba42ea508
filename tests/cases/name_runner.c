/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of names. Each round:
 *
 *     --- when RULE [prefix] [json] [times=N]     the text below, as it stands; json: it is a JSON string; times: N times
 *     --- expect                                  one line per fault, or "fine"
 *
 * RULE is one of the words below, or labels, annotations (JSON maps; times repeats their values), finalizer,
 * field-manager (then errors are shown with a field). */
#include "cases/case.h"
#include "object/name.h"

static const char *const rules[NAME_RULES] = {
    [NAME_DNS_SUBDOMAIN] = "dns-subdomain",
    [NAME_DNS_LABEL] = "dns-label",
    [NAME_DNS1035_LABEL] = "dns1035-label",
    [NAME_PATH_SEGMENT] = "path-segment",
    [NAME_WILDCARD] = "wildcard",
    [NAME_QUALIFIED] = "qualified",
    [NAME_ANNOTATION_KEY] = "annotation-key",
    [NAME_LABEL_VALUE] = "label-value",
    [NAME_CONFIG_KEY] = "config-key",
    [NAME_ENV_VAR] = "env-var",
    [NAME_ENV_VAR_RELAXED] = "env-var-relaxed",
    [NAME_C_IDENTIFIER] = "c-identifier",
    [NAME_PORT] = "port",
    [NAME_PERCENT] = "percent",
    [NAME_HTTP_HEADER] = "http-header",
    [NAME_CONDITION_REASON] = "condition-reason",
};

static bool find_rule(const struct case_section *when, enum name_rule *ret)
{
    for (int i = 0; i < NAME_RULES; i++) {
        if (case_has_arg(when, str_of(rules[i]))) {
            *ret = (enum name_rule)i;
            return true;
        }
    }
    return false;
}

static struct json decode(struct case_file *c, const struct case_section *when)
{
    struct json v = {0};
    struct err err;
    if (json_decode(c->arena, when->text, NULL, NULL, &v, &err) < 0)
        case_fail(c, when, "%s", err.msg);
    return v;
}

static str repeated(struct case_file *c, const struct case_section *when, str text)
{
    uint64_t times = 1;
    (void)str_to_uint64(case_arg(when, S("times")), &times);
    struct buf b = {.arena = c->arena};
    for (uint64_t i = 0; i < times; i++)
        buf_add_str(&b, text);
    return buf_str(&b);
}

/* The text of a round, as the arguments have it. */
static str subject(struct case_file *c, const struct case_section *when)
{
    if (!case_has_arg(when, S("json")))
        return repeated(c, when, when->text);
    struct json v = decode(c, when);
    return repeated(c, when, json_text(&v));
}

static struct json subject_map(struct case_file *c, const struct case_section *when)
{
    struct json v = decode(c, when);
    json_each_member(&v, m)
    {
        if (json_is_str(&m->val))
            json_set(c->arena, &v, json_key(m), json_str(repeated(c, when, json_text(&m->val))));
    }
    return v;
}

static void run_rule(struct case_file *c, const struct case_section *when, enum name_rule rule, struct buf *got)
{
    str name = subject(c, when);
    struct name_faults f = case_has_arg(when, S("prefix")) ? name_check_prefix(rule, name) : name_check(rule, name);
    name_faults_format(got, &f, S("\n"));
}

static void run_field(struct case_file *c, const struct case_section *when, struct buf *got)
{
    struct field_errors errs = {.arena = c->arena};
    struct json v;
    if (case_has_arg(when, S("labels"))) {
        v = subject_map(c, when);
        name_validate_labels(&errs, S("metadata.labels"), &v);
    } else if (case_has_arg(when, S("annotations"))) {
        v = subject_map(c, when);
        name_validate_annotations(&errs, S("metadata.annotations"), &v);
    } else if (case_has_arg(when, S("finalizer"))) {
        name_validate_standard_finalizer(&errs, S("metadata.finalizers[0]"), subject(c, when));
    } else if (case_has_arg(when, S("field-manager"))) {
        name_validate_field_manager(&errs, S("fieldManager"), subject(c, when));
    } else {
        case_fail(c, when, "no such rule");
    }
    vec_each(&errs.list, e)
    {
        field_error_format(got, e);
        buf_add_char(got, '\n');
    }
}

static void run(struct case_file *c)
{
    const struct case_section *when = NULL, *expect = NULL;
    while ((when = case_find(c, expect, S("when")))) {
        struct buf got = {.arena = c->arena};
        enum name_rule rule;
        expect = case_find(c, when, S("expect"));
        if (expect == NULL) {
            case_fail(c, when, "no expectation");
            return;
        }
        if (find_rule(when, &rule))
            run_rule(c, when, rule, &got);
        else
            run_field(c, when, &got);
        case_expect(c, expect, got.n ? buf_str(&got) : S("fine"));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
