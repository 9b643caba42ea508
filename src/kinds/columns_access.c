/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what: columns of role bindings and requests for certificates. */
#include "kinds/columns_internal.h"
#include "object/conditions.h"

/* ---- Role bindings. ---- */

static struct json role(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(
        str_fmt(a, "%.*s/%.*s", STR(column_text(obj, "roleRef.kind")), STR(column_text(obj, "roleRef.name"))));
}

static struct json subjects(struct arena *a, const struct json *obj, str kind)
{
    struct buf b = {.arena = a};
    size_t n = 0;
    json_each_item(json_get(obj, S("subjects")), s)
    {
        if (!str_eq(json_get_text(s, S("kind")), kind))
            continue;
        if (n++)
            buf_add_str(&b, S(", "));
        if (str_eq(kind, S("ServiceAccount")))
            buf_fmt(&b, "%.*s/", STR(json_get_text(s, S("namespace"))));
        buf_add_str(&b, json_get_text(s, S("name")));
    }
    return json_str(buf_str(&b));
}

static struct json users(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return subjects(a, obj, S("User"));
}

static struct json groups(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return subjects(a, obj, S("Group"));
}

static struct json accounts(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return subjects(a, obj, S("ServiceAccount"));
}

static const struct column role_bindings[] = {
    NAME_COLUMN,
    CELL_COLUMN("Role", role),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Users", users),
    WIDE_CELL_COLUMN("Groups", groups),
    WIDE_CELL_COLUMN("ServiceAccounts", accounts),
};
COLUMNS(columns_role_bindings, role_bindings);

/* ---- Requests for certificates. ---- */

static struct json requested_duration(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    if (!json_is_num(json_dig(obj, "spec.expirationSeconds")))
        return json_str(S("<none>"));
    return json_str(column_duration(a, column_int(obj, "spec.expirationSeconds")));
}

/* "Approved,Issued" */
static struct json condition(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    const struct json *conditions = json_dig(obj, "status.conditions");
    const char *decision = condition_find(conditions, S("Denied"))     ? "Denied"
                           : condition_find(conditions, S("Approved")) ? "Approved"
                                                                       : "Pending";
    bool failed = condition_find(conditions, S("Failed")), issued = column_text(obj, "status.certificate").n;
    return json_str(str_fmt(a, "%s%s%s", decision, failed ? ",Failed" : "", issued ? ",Issued" : ""));
}

static const struct column certificate_signing_requests[] = {
    NAME_COLUMN,
    AGE_COLUMN,
    FIELD_COLUMN("SignerName", "spec.signerName", "<none>"),
    FIELD_COLUMN("Requestor", "spec.username", NULL),
    CELL_COLUMN("RequestedDuration", requested_duration),
    CELL_COLUMN("Condition", condition),
};
COLUMNS(columns_certificate_signing_requests, certificate_signing_requests);
