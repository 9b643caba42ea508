/* SPDX-License-Identifier: Apache-2.0 */
/* What: the rules for names, labels, annotation keys and the other short texts of an object, with Kubernetes' own
 *       words.
 * Owns: nothing; all texts are constants.
 * Threads: pure functions.
 * Errors: a list of faults, empty when the text is fine. */
#pragma once

#include "base/str.h"
#include "object/field_error.h"

/* Which rule a text obeys is data: a kind holds one of the first four for its names. */
enum name_rule {
    NAME_DNS_SUBDOMAIN,    /* most kinds, ServiceAccounts too: a.b-c, at most 253 */
    NAME_DNS_LABEL,        /* Namespaces: at most 63, no dots */
    NAME_DNS1035_LABEL,    /* Services: as above, but a letter in front */
    NAME_PATH_SEGMENT,     /* RBAC kinds, CertificateSigningRequests: all that fits into one segment of a path */
    NAME_WILDCARD,         /* *.example.com */
    NAME_QUALIFIED,        /* label keys, finalizers, condition types: [subdomain/]Name_1.x */
    NAME_ANNOTATION_KEY,   /* the same, but the case of the prefix does not matter */
    NAME_LABEL_VALUE,      /* empty or like the name part of a qualified name */
    NAME_CONFIG_KEY,       /* keys of ConfigMaps and Secrets */
    NAME_ENV_VAR,          /* the old, strict rule for environment variables */
    NAME_ENV_VAR_RELAXED,  /* the rule of 1.32: printable ASCII but '=' */
    NAME_C_IDENTIFIER,     /* [A-Za-z_][A-Za-z0-9_]* */
    NAME_PORT,             /* IANA service names: http-alt, at most 15 */
    NAME_PERCENT,          /* 30% */
    NAME_HTTP_HEADER,      /* X-Header-Name */
    NAME_CONDITION_REASON, /* AsExpected, ReasonA:ReasonB */
    NAME_RULES,
};

enum {
    NAME_MAX_FAULTS = 5,
    NAME_SUBDOMAIN_MAX = 253,
    NAME_LABEL_MAX = 63,
    NAME_PORT_MAX = 15,
    NAME_FIELD_MANAGER_MAX = 128,
};

struct name_faults {
    const char *texts[NAME_MAX_FAULTS];
    size_t n;
};

struct name_faults name_check(enum name_rule rule, str name);
/* For a generateName: what will still get a suffix may end with a dash. */
struct name_faults name_check_prefix(enum name_rule rule, str prefix);

static inline bool name_is(enum name_rule rule, str name)
{
    return name_check(rule, name).n == 0;
}

/* Adds each fault as `field: Invalid value: "name": text`. */
void name_validate(struct field_errors *errs, str field, enum name_rule rule, str name);
void name_validate_prefix(struct field_errors *errs, str field, enum name_rule rule, str prefix);
/* At most 128 bytes, printable. Empty is fine: only apply needs one. */
void name_validate_field_manager(struct field_errors *errs, str field, str manager);
/* Finalizers of built-in kinds: a name without a domain must be one that Kubernetes defines. */
bool name_is_standard_finalizer(str finalizer);
void name_validate_standard_finalizer(struct field_errors *errs, str field, str finalizer);
/* All keys and values of a label map; of an annotation map with the limit of 256 KiB in sum. */
void name_validate_labels(struct field_errors *errs, str field, const struct json *labels);
void name_validate_annotations(struct field_errors *errs, str field, const struct json *annotations);
/* The faults joined: "a; b". */
void name_faults_format(struct buf *b, const struct name_faults *faults, str separator);
