/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_executor.h"

#include "object/name.h"

#define AGAIN "will try again in 1m0s" /* with the next look at everything, or when the work changes: what OCM says */

/* ---- What a work says. ---- */

bool executor_read(const struct json *work, struct executor *ret, str *ret_denied)
{
    const struct json *executor = json_dig(work, "spec.executor");
    *ret_denied = (str){0};
    *ret = (struct executor){0};
    if (json_is_null(executor))
        return false;
    const struct json *subject = json_get(executor, S("subject"));
    const struct json *account = json_get(subject, S("serviceAccount"));
    if (!str_eq(json_get_text(subject, S("type")), S("ServiceAccount")))
        *ret_denied = S("only support ServiceAccount type for the executor");
    else if (!json_is_obj(account))
        *ret_denied = S("the executor service account is nil");
    *ret = (struct executor){json_get_text(account, S("namespace")), json_get_text(account, S("name"))};
    return true;
}

/* A name with a colon in it could be read as that of another. */
static bool is_account(const struct executor *e)
{
    return name_is(NAME_DNS_LABEL, e->namespace) && name_is(NAME_DNS_SUBDOMAIN, e->name);
}

static str user_of(struct arena *a, const struct executor *e)
{
    return str_fmt(a, "system:serviceaccount:%.*s:%.*s", STR(e->namespace), STR(e->name));
}

static str denial(struct arena *a, const struct executor_question *q, const char *why)
{
    return str_fmt(a, "not allowed to apply the resource %.*s %.*s, %.*s %.*s%s, " AGAIN, STR(q->resource->group),
                   STR(q->resource->plural), STR(q->object_namespace), STR(q->object_name), why);
}

/* ---- Reviews. ---- */

static str review_body(struct arena *a, const struct executor_question *q, str verb)
{
    struct json review = json_obj(), spec = json_obj(), what = json_obj(), groups = json_arr();
    json_add(a, &what, S("group"), json_str(q->resource->group));
    json_add(a, &what, S("version"), json_str(q->resource->version));
    json_add(a, &what, S("resource"), json_str(q->resource->plural));
    json_add(a, &what, S("namespace"), json_str(q->object_namespace));
    json_add(a, &what, S("name"), json_str(q->object_name));
    json_add(a, &what, S("verb"), json_str(verb));
    json_push(a, &groups, json_str(S("system:serviceaccounts")));
    json_push(a, &groups, json_str(str_fmt(a, "system:serviceaccounts:%.*s", STR(q->executor.namespace))));
    json_push(a, &groups, json_str(S("system:authenticated")));
    json_add(a, &spec, S("resourceAttributes"), what);
    json_add(a, &spec, S("user"), json_str(user_of(a, &q->executor)));
    json_add(a, &spec, S("groups"), groups);
    json_add(a, &review, S("apiVersion"), json_str(S("authorization.k8s.io/v1")));
    json_add(a, &review, S("kind"), json_str(S("SubjectAccessReview")));
    json_add(a, &review, S("spec"), spec);
    struct buf b = {.arena = a};
    json_encode(&b, &review, 0);
    return buf_str(&b);
}

/* All verbs at once. An answer that says neither yes nor no is a no. */
static int review(struct client *managed, struct arena *a, const struct executor_question *q, bool *ret_may,
                  struct err *err)
{
    static const str verbs[] = {S_INIT("create"), S_INIT("update"), S_INIT("patch"), S_INIT("get"), S_INIT("delete")};
    enum { VERBS = COUNT(verbs) };
    struct client_question questions[VERBS] = {0};
    size_t n = q->may_delete ? VERBS : VERBS - 1;
    for (size_t i = 0; i < n; i++)
        questions[i].request =
            (struct client_request){.method = S("POST"),
                                    .target = S("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
                                    .body = review_body(a, q, verbs[i])};
    client_raw_all(managed, a, questions, n);
    *ret_may = true;
    for (size_t i = 0; i < n; i++) {
        if (questions[i].code < 0) {
            *err = questions[i].err;
            return err_wrap(err, "ask whether %.*s may %.*s it", STR(user_of(a, &q->executor)), STR(verbs[i]));
        }
        *ret_may = *ret_may && json_true(json_dig(&questions[i].ret, "status.allowed"));
    }
    return 0;
}

/* ---- Escalation. ---- */

static bool is_grant(const struct client_resource *r)
{
    static const str plurals[] = {S_INIT("roles"), S_INIT("rolebindings"), S_INIT("clusterroles"),
                                  S_INIT("clusterrolebindings")};
    if (!str_eq(r->group, S("rbac.authorization.k8s.io")))
        return false;
    for (size_t i = 0; i < COUNT(plurals); i++)
        if (str_eq(r->plural, plurals[i]))
            return true;
    return false;
}

/* Servers look for escalation before they look whether there is one of that name: that there is one is as good as a yes. */
static int rehearse(struct client *managed, struct arena *a, const struct executor_question *q, bool *ret_may,
                    struct err *err)
{
    struct client_ref ref = {.resource = q->resource, .namespace = q->object_namespace};
    struct client_write_options options = {.dry_run = true, .as = user_of(a, &q->executor)};
    int code = client_create(managed, a, &ref, q->object, &options, NULL, err);
    /* Forbidden is also what an agent is told that may not act for others: then nobody has judged the executor. */
    bool is_judged = code == ERR_FORBIDDEN && str_find(str_of(err->msg), S(" cannot impersonate resource ")) < 0;
    *ret_may = code == 0 || code == ERR_ALREADY_EXISTS;
    if (*ret_may || is_judged)
        return 0;
    return err_wrap(err, "rehearse it as %.*s", STR(options.as));
}

int executor_check(struct client *managed, struct arena *a, const struct executor_question *question, str *ret_denied,
                   struct err *err)
{
    struct err unused = {0};
    bool may = false;
    err = err ? err : &unused;
    *ret_denied = (str){0};
    if (!is_account(&question->executor)) {
        *ret_denied = denial(a, question, ", error: the executor is no service account");
        return 0;
    }
    int code = review(managed, a, question, &may, err);
    if (code == 0 && !may)
        *ret_denied = denial(a, question, "");
    if (code < 0 || !may || !is_grant(question->resource))
        return code;
    code = rehearse(managed, a, question, &may, err);
    if (code == 0 && !may)
        *ret_denied = denial(a, question, ", error: permission escalation");
    return code;
}
