/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name; the first byte picks its rule. The rules are compared with the regular expressions they are printed with, and
 * with each other.
 */
#include "object/name.h"

#include <assert.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* regexec(3) is slow: short names, and those around the limit of 253. */
static bool is_worth_a_regex(str name)
{
    return name.n <= 80 || (name.n >= 250 && name.n <= 256);
}

#define LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define QUALIFIED "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

static const struct {
    const char *regex;
    size_t max; /* 0: none */
} oracles[NAME_RULES] = {
    [NAME_DNS_SUBDOMAIN] = {LABEL "(\\." LABEL ")*", 253},
    [NAME_DNS_LABEL] = {LABEL, 63},
    [NAME_DNS1035_LABEL] = {"[a-z]([-a-z0-9]*[a-z0-9])?", 63},
    [NAME_WILDCARD] = {"\\*\\." LABEL "(\\." LABEL ")*", 253},
    [NAME_QUALIFIED] = {"(" LABEL "(\\." LABEL ")*/)?" QUALIFIED, 0},
    [NAME_LABEL_VALUE] = {"(" QUALIFIED ")?", 63},
    [NAME_CONFIG_KEY] = {"[-._a-zA-Z0-9]+", 253},
    [NAME_ENV_VAR] = {"[-._a-zA-Z][-._a-zA-Z0-9]*", 0},
    [NAME_C_IDENTIFIER] = {"[A-Za-z_][A-Za-z0-9_]*", 0},
    [NAME_PERCENT] = {"[0-9]+%", 0},
    [NAME_HTTP_HEADER] = {"[-A-Za-z0-9]+", 0},
    [NAME_CONDITION_REASON] = {"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", 0},
};

static bool regex_says(enum name_rule rule, const char *name)
{
    static regex_t *compiled[NAME_RULES];
    if (!compiled[rule]) {
        char text[300];
        compiled[rule] = malloc(sizeof *compiled[rule]);
        (void)snprintf(text, sizeof text, "^(%s)$", oracles[rule].regex);
        if (!compiled[rule] || regcomp(compiled[rule], text, REG_EXTENDED | REG_NOSUB))
            abort();
    }
    return regexec(compiled[rule], name, 0, NULL, 0) == 0;
}

static bool length_says(enum name_rule rule, str name)
{
    ptrdiff_t slash = str_find_char(name, '/');
    if (rule == NAME_QUALIFIED && slash >= 0)
        return slash <= NAME_SUBDOMAIN_MAX && name.n - (size_t)slash - 1 <= NAME_LABEL_MAX;
    if (rule == NAME_QUALIFIED)
        return name.n <= NAME_LABEL_MAX;
    return oracles[rule].max == 0 || name.n <= oracles[rule].max;
}

static void check_regex(struct arena *a, enum name_rule rule, str name)
{
    bool updir =
        (rule == NAME_CONFIG_KEY || rule == NAME_ENV_VAR) && (str_eq(name, S(".")) || str_has_prefix(name, S("..")));
    if (oracles[rule].regex == NULL || !is_worth_a_regex(name) || memchr(name.p, 0, name.n))
        return;
    bool want = regex_says(rule, str_cstr(a, name)) && length_says(rule, name) && !updir;
    assert(name_is(rule, name) == want);
}

static void check_kinship(str name)
{
    assert(!name_is(NAME_DNS1035_LABEL, name) || name_is(NAME_DNS_LABEL, name));
    assert(!name_is(NAME_DNS_LABEL, name) || name_is(NAME_DNS_SUBDOMAIN, name));
    assert(!name_is(NAME_DNS_LABEL, name) || name_is(NAME_QUALIFIED, name));
    assert(!name_is(NAME_DNS_SUBDOMAIN, name) || name_is(NAME_PATH_SEGMENT, name));
    assert(!name_is(NAME_DNS_SUBDOMAIN, name) || name_is(NAME_CONFIG_KEY, name));
    assert(!name_is(NAME_QUALIFIED, name) || name_is(NAME_ANNOTATION_KEY, name));
    assert(!name_is(NAME_ENV_VAR, name) || name_is(NAME_ENV_VAR_RELAXED, name));
    assert(!name_is(NAME_PORT, name) || name_is(NAME_DNS_LABEL, name));
    assert(!name_is(NAME_DNS_SUBDOMAIN, name) || name_check_prefix(NAME_DNS_SUBDOMAIN, name).n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &a};
    if (size < 1 || size > 5000)
        return 0;
    enum name_rule rule = (enum name_rule)((data[0] - 'a') & 0xff) % NAME_RULES;
    char *copy = arena_alloc(&a, size);
    memcpy(copy, data + 1, size - 1);
    str name = {copy, size - 1};
    struct name_faults faults = name_check(rule, name);
    name_validate(&errs, S("metadata.name"), rule, name);
    assert(errs.list.n == faults.n && faults.n <= NAME_MAX_FAULTS);
    name_validate_prefix(&errs, S("metadata.generateName"), rule, name);
    name_validate_field_manager(&errs, S("fieldManager"), name);
    name_validate_standard_finalizer(&errs, S("metadata.finalizers[0]"), name);
    check_regex(&a, rule, name);
    check_kinship(name);
    return 0;
}
