/* SPDX-License-Identifier: Apache-2.0 */
#include "object/name.h"

#include "base/budget.h"
#include "base/rune.h"

#include <assert.h>

/* Texts are put together at compile time, so that a fault is one pointer. The doubled blanks after a comma are
 * Kubernetes' own. */
#define REGEX(what, examples, regex) what " (e.g. " examples ", regex used for validation is '" regex "')"
#define AT_MOST(n) "must be no more than " #n " characters"

#define LABEL_REGEX "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_REGEX LABEL_REGEX "(\\." LABEL_REGEX ")*"
#define QUALIFIED_REGEX "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

#define SUBDOMAIN_TEXT                                                                                               \
    REGEX("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " \
          "start and end with an alphanumeric character",                                                            \
          "'example.com'", SUBDOMAIN_REGEX)
#define QUALIFIED_TEXT                                                                                             \
    REGEX("must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " \
          "character",                                                                                             \
          "'MyName',  or 'my.name',  or '123-abc'", QUALIFIED_REGEX)

/* ---- Sets of characters. ---- */

enum {
    LOWER = 1,
    UPPER = 2,
    DIGIT = 4,
    DASH = 8,
    DOT = 16,
    UNDERSCORE = 32,
    COMMA = 64,
    COLON = 128,
    ALNUM_LOWER = LOWER | DIGIT,
    ALNUM = LOWER | UPPER | DIGIT,
};

static bool in(unsigned set, char c)
{
    if (char_is_lower(c))
        return set & LOWER;
    if (char_is_upper(c))
        return set & UPPER;
    if (char_is_digit(c))
        return set & DIGIT;
    switch (c) {
    case '-':
        return set & DASH;
    case '.':
        return set & DOT;
    case '_':
        return set & UNDERSCORE;
    case ',':
        return set & COMMA;
    case ':':
        return set & COLON;
    default:
        return false;
    }
}

/* Not empty; the first, the middle and the last character each of their own set. */
static bool spelled(str s, unsigned first, unsigned middle, unsigned last)
{
    if (s.n == 0 || !in(first, s.p[0]) || (s.n > 1 && !in(last, s.p[s.n - 1])))
        return false;
    for (size_t i = 1; i + 1 < s.n; i++) {
        if (!in(middle, s.p[i]))
            return false;
    }
    return true;
}

/* Labels separated by dots; with UPPER in the sets, case does not matter. */
static bool is_subdomain(str s, unsigned alnum)
{
    str rest = s, label;
    bool more;
    do {
        more = str_cut(rest, '.', &label, &rest);
        if (!spelled(label, alnum, alnum | DASH, alnum))
            return false;
    } while (more);
    return true;
}

static bool is_qualified_part(str s)
{
    return spelled(s, ALNUM, ALNUM | DASH | UNDERSCORE | DOT, ALNUM);
}

/* ---- Rules. ---- */

static void fault(struct name_faults *f, const char *text)
{
    assert(f->n < NAME_MAX_FAULTS);
    f->texts[f->n++] = text;
}

static void check_subdomain(struct name_faults *f, str s)
{
    if (s.n > NAME_SUBDOMAIN_MAX)
        fault(f, AT_MOST(253));
    if (!is_subdomain(s, ALNUM_LOWER))
        fault(f, SUBDOMAIN_TEXT);
}

static void check_label(struct name_faults *f, str s)
{
    if (s.n > NAME_LABEL_MAX)
        fault(f, AT_MOST(63));
    if (spelled(s, ALNUM_LOWER, ALNUM_LOWER | DASH, ALNUM_LOWER))
        return;
    if (is_subdomain(s, ALNUM_LOWER))
        fault(f, "must not contain dots");
    else
        fault(f, REGEX("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
                       "start and end with an alphanumeric character",
                       "'my-name',  or '123-abc'", LABEL_REGEX));
}

static void check_1035_label(struct name_faults *f, str s)
{
    if (s.n > NAME_LABEL_MAX)
        fault(f, AT_MOST(63));
    if (!spelled(s, LOWER, ALNUM_LOWER | DASH, ALNUM_LOWER))
        fault(f, REGEX("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
                       "alphabetic character, and end with an alphanumeric character",
                       "'my-name',  or 'abc-123'", "[a-z]([-a-z0-9]*[a-z0-9])?"));
}

static void check_path_prefix(struct name_faults *f, str s)
{
    if (str_find_char(s, '/') >= 0)
        fault(f, "may not contain '/'");
    if (str_find_char(s, '%') >= 0)
        fault(f, "may not contain '%'");
}

static void check_path_segment(struct name_faults *f, str s)
{
    if (str_eq(s, S(".")))
        fault(f, "may not be '.'");
    else if (str_eq(s, S("..")))
        fault(f, "may not be '..'");
    else
        check_path_prefix(f, s);
}

static void check_wildcard(struct name_faults *f, str s)
{
    if (s.n > NAME_SUBDOMAIN_MAX)
        fault(f, AT_MOST(253));
    if (!str_has_prefix(s, S("*.")) || !is_subdomain(str_from(s, 2), ALNUM_LOWER))
        fault(f, REGEX("a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
                       "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
                       "character",
                       "'*.example.com'", "\\*\\." SUBDOMAIN_REGEX));
}

static void check_prefix_part(struct name_faults *f, str prefix, unsigned alnum)
{
    if (prefix.n == 0) {
        fault(f, "prefix part must be non-empty");
        return;
    }
    if (prefix.n > NAME_SUBDOMAIN_MAX)
        fault(f, "prefix part " AT_MOST(253));
    if (!is_subdomain(prefix, alnum))
        fault(f, "prefix part " SUBDOMAIN_TEXT);
}

static void check_key(struct name_faults *f, str s, unsigned prefix_alnum)
{
    str prefix, name = s;
    if (str_cut(s, '/', &prefix, &name)) {
        if (str_find_char(name, '/') >= 0) {
            fault(f, "a qualified name " QUALIFIED_TEXT
                     " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
            return;
        }
        check_prefix_part(f, prefix, prefix_alnum);
    } else {
        name = s;
    }
    if (name.n == 0)
        fault(f, "name part must be non-empty");
    else if (name.n > NAME_LABEL_MAX)
        fault(f, "name part " AT_MOST(63));
    if (!is_qualified_part(name))
        fault(f, "name part " QUALIFIED_TEXT);
}

static void check_qualified(struct name_faults *f, str s)
{
    check_key(f, s, ALNUM_LOWER);
}

static void check_annotation_key(struct name_faults *f, str s)
{
    check_key(f, s, ALNUM);
}

static void check_label_value(struct name_faults *f, str s)
{
    if (s.n > NAME_LABEL_MAX)
        fault(f, AT_MOST(63));
    if (s.n && !is_qualified_part(s))
        fault(f, REGEX("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                       "and must start and end with an alphanumeric character",
                       "'MyValue',  or 'my_value',  or '12345'", "(" QUALIFIED_REGEX ")?"));
}

/* Keys become file names: none may lead out of its directory. */
static void check_no_updir(struct name_faults *f, str s)
{
    if (str_eq(s, S(".")))
        fault(f, "must not be '.'");
    else if (str_eq(s, S("..")))
        fault(f, "must not be '..'");
    else if (str_has_prefix(s, S("..")))
        fault(f, "must not start with '..'");
}

static void check_config_key(struct name_faults *f, str s)
{
    unsigned set = ALNUM | DASH | UNDERSCORE | DOT;
    if (s.n > NAME_SUBDOMAIN_MAX)
        fault(f, AT_MOST(253));
    if (!spelled(s, set, set, set))
        fault(f, REGEX("a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                       "'key.name',  or 'KEY_NAME',  or 'key-name'", "[-._a-zA-Z0-9]+"));
    check_no_updir(f, s);
}

static void check_env_var(struct name_faults *f, str s)
{
    unsigned first = LOWER | UPPER | DASH | UNDERSCORE | DOT;
    if (!spelled(s, first, first | DIGIT, first | DIGIT))
        fault(f, REGEX("a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or "
                       "'.', and must not start with a digit",
                       "'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1'", "[-._a-zA-Z][-._a-zA-Z0-9]*"));
    check_no_updir(f, s);
}

static void check_env_var_relaxed(struct name_faults *f, str s)
{
    if (s.n == 0)
        fault(f, "environment variable name must be non-empty");
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < ' ' || s.p[i] > '~' || s.p[i] == '=') {
            fault(f, "a valid environment variable name must consist only of printable ASCII characters other than "
                     "'='");
            return;
        }
    }
}

static void check_c_identifier(struct name_faults *f, str s)
{
    if (!spelled(s, LOWER | UPPER | UNDERSCORE, ALNUM | UNDERSCORE, ALNUM | UNDERSCORE))
        fault(f, REGEX("a valid C identifier must start with alphabetic character or '_', followed by a string of "
                       "alphanumeric characters or '_'",
                       "'my_name',  or 'MY_NAME',  or 'MyName'", "[A-Za-z_][A-Za-z0-9_]*"));
}

static void check_port(struct name_faults *f, str s)
{
    bool letter = false;
    for (size_t i = 0; i < s.n; i++)
        letter = letter || in(LOWER, s.p[i]);
    if (s.n > NAME_PORT_MAX)
        fault(f, AT_MOST(15));
    if (!spelled(s, ALNUM_LOWER | DASH, ALNUM_LOWER | DASH, ALNUM_LOWER | DASH))
        fault(f, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!letter)
        fault(f, "must contain at least one letter (a-z)");
    if (str_find(s, S("--")) >= 0)
        fault(f, "must not contain consecutive hyphens");
    if (s.n && (s.p[0] == '-' || s.p[s.n - 1] == '-'))
        fault(f, "must not begin or end with a hyphen");
}

static void check_percent(struct name_faults *f, str s)
{
    if (!str_has_suffix(s, S("%")) || !spelled(str_upto(s, s.n - 1), DIGIT, DIGIT, DIGIT))
        fault(f, REGEX("a valid percent string must be a numeric string followed by an ending '%'", "'1%',  or '93%'",
                       "[0-9]+%"));
}

static void check_http_header(struct name_faults *f, str s)
{
    if (!spelled(s, ALNUM | DASH, ALNUM | DASH, ALNUM | DASH))
        fault(f, REGEX("a valid HTTP header must consist of alphanumeric characters or '-'", "'X-Header-Name'",
                       "[-A-Za-z0-9]+"));
}

static void check_condition_reason(struct name_faults *f, str s)
{
    if (!spelled(s, LOWER | UPPER, ALNUM | UNDERSCORE | COMMA | COLON, ALNUM | UNDERSCORE))
        fault(f, REGEX("a condition reason must start with alphabetic character, optionally followed by a string of "
                       "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
                       "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB'",
                       "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"));
}

static void (*const checks[NAME_RULES])(struct name_faults *f, str s) = {
    [NAME_DNS_SUBDOMAIN] = check_subdomain,
    [NAME_DNS_LABEL] = check_label,
    [NAME_DNS1035_LABEL] = check_1035_label,
    [NAME_PATH_SEGMENT] = check_path_segment,
    [NAME_WILDCARD] = check_wildcard,
    [NAME_QUALIFIED] = check_qualified,
    [NAME_ANNOTATION_KEY] = check_annotation_key,
    [NAME_LABEL_VALUE] = check_label_value,
    [NAME_CONFIG_KEY] = check_config_key,
    [NAME_ENV_VAR] = check_env_var,
    [NAME_ENV_VAR_RELAXED] = check_env_var_relaxed,
    [NAME_C_IDENTIFIER] = check_c_identifier,
    [NAME_PORT] = check_port,
    [NAME_PERCENT] = check_percent,
    [NAME_HTTP_HEADER] = check_http_header,
    [NAME_CONDITION_REASON] = check_condition_reason,
};

struct name_faults name_check(enum name_rule rule, str name)
{
    struct name_faults f = {0};
    assert((unsigned)rule < NAME_RULES);
    checks[rule](&f, name);
    return f;
}

/* The last two characters of "web-" count as one letter: the dash and what it would follow are replaced together. That
 * lets "a.-" pass, as in Kubernetes; the generated name is checked again. */
struct name_faults name_check_prefix(enum name_rule rule, str prefix)
{
    struct name_faults f = {0};
    if (rule == NAME_PATH_SEGMENT) {
        check_path_prefix(&f, prefix);
        return f;
    }
    if (prefix.n < 2 || prefix.p[prefix.n - 1] != '-')
        return name_check(rule, prefix);
    struct buf masked = {0};
    buf_add(&masked, prefix.p, prefix.n - 2);
    buf_add_char(&masked, 'a');
    f = name_check(rule, buf_str(&masked));
    buf_done(&masked);
    return f;
}

/* The rules of name.c applied to fields: each fault becomes an error with the field's path. */

enum { ANNOTATIONS_MAX = 256 * 1024 };

static void add_faults(struct field_errors *errs, str field, str value, struct name_faults faults)
{
    str shown = faults.n ? field_quote(errs->arena, value) : (str){0};
    for (size_t i = 0; i < faults.n; i++)
        field_error_add(errs, FIELD_INVALID, field, shown, "%s", faults.texts[i]);
}

void name_validate(struct field_errors *errs, str field, enum name_rule rule, str name)
{
    budget_charge(10);
    add_faults(errs, field, name, name_check(rule, name));
}

void name_validate_prefix(struct field_errors *errs, str field, enum name_rule rule, str prefix)
{
    add_faults(errs, field, prefix, name_check_prefix(rule, prefix));
}

void name_validate_field_manager(struct field_errors *errs, str field, str manager)
{
    if (manager.n > NAME_FIELD_MANAGER_MAX)
        field_error_add(errs, FIELD_TOO_LONG, field, (str){0}, "may not be more than %d bytes", NAME_FIELD_MANAGER_MAX);
    bool enough = false; /* each error shows the whole name: one is enough for a long one */
    for (str rest = manager; rest.n && !enough;) {
        size_t at = manager.n - rest.n;
        uint32_t r = rune_next(&rest);
        if (rune_is_print(r))
            continue;
        enough = manager.n > NAME_FIELD_MANAGER_MAX;
        field_error_add(errs, FIELD_INVALID, field, field_quote(errs->arena, manager),
                        "invalid character U+%04X (at position %zu)", r, at);
    }
}

bool name_is_standard_finalizer(str finalizer)
{
    return str_eq(finalizer, S("kubernetes")) || str_eq(finalizer, S("orphan")) ||
           str_eq(finalizer, S("foregroundDeletion"));
}

void name_validate_standard_finalizer(struct field_errors *errs, str field, str finalizer)
{
    if (str_find_char(finalizer, '/') < 0 && !name_is_standard_finalizer(finalizer))
        field_error_add(errs, FIELD_INVALID, field, field_quote(errs->arena, finalizer),
                        "name is neither a standard finalizer name nor is it fully qualified");
}

/* False, with an error, for what can be no map of strings. Absent and null maps are empty ones. */
static bool is_text(struct field_errors *errs, str field, const struct json *v)
{
    if (!json_is_str(v))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(errs->arena, v), "must be a string");
    return json_is_str(v);
}

static bool is_map(struct field_errors *errs, str field, const struct json *v)
{
    if (!json_is_obj(v) && !json_is_null(v))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(errs->arena, v), "must be a map of strings");
    return json_is_obj(v);
}

void name_validate_labels(struct field_errors *errs, str field, const struct json *labels)
{
    if (!is_map(errs, field, labels))
        return;
    json_each_member(labels, m)
    {
        name_validate(errs, field, NAME_QUALIFIED, json_key(m));
        if (is_text(errs, field, &m->val))
            name_validate(errs, field, NAME_LABEL_VALUE, json_text(&m->val));
    }
}

void name_validate_annotations(struct field_errors *errs, str field, const struct json *annotations)
{
    if (!is_map(errs, field, annotations))
        return;
    size_t sum = 0;
    json_each_member(annotations, m)
    {
        name_validate(errs, field, NAME_ANNOTATION_KEY, json_key(m));
        (void)is_text(errs, field, &m->val);
        sum += m->key_n + json_text(&m->val).n;
    }
    if (sum > ANNOTATIONS_MAX)
        field_error_add(errs, FIELD_TOO_LONG, field, (str){0}, "may not be more than %d bytes", ANNOTATIONS_MAX);
}

void name_faults_format(struct buf *b, const struct name_faults *faults, str separator)
{
    for (size_t i = 0; i < faults->n; i++) {
        if (i)
            buf_add_str(b, separator);
        buf_add_str(b, str_of(faults->texts[i]));
    }
}
