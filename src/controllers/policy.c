/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/policy.h"

#include "control/applyset.h"
#include "object/object.h"
#include "json/yaml.h"

#include <pthread.h>
#include <stdlib.h>

#define ADMISSION "admissionregistration.k8s.io"

static const int64_t interval = INT64_C(30000000000);
static const struct client_resource policies = CLIENT_RESOURCE(ADMISSION, "v1", "validatingadmissionpolicies",
                                                               "ValidatingAdmissionPolicy", false),
                                    bindings = CLIENT_RESOURCE(ADMISSION, "v1", "validatingadmissionpolicybindings",
                                                               "ValidatingAdmissionPolicyBinding", false);
static const char *const names[] = {
    [POLICY_INSTALLS] = POLICY_NAME_INSTALLS, [POLICY_PERMISSIONS] = POLICY_NAME_PERMISSIONS};

enum { PROBLEM_BYTES = 512, IDENTITY_BYTES = 160 };

struct policy {
    enum policy_file file;
    void (*changed)(void *ctx);
    void *ctx;
    pthread_mutex_t lock; /* of what follows */
    size_t n;             /* bytes of problem */
    char problem[PROBLEM_BYTES];
    size_t n_identity;
    char identity[IDENTITY_BYTES];
};

/* ---- What it should be. ---- */

/* What would let a request pass that the policy of the file refuses. */
static bool is_narrowed(const struct json *policy, const struct json *binding)
{
    const struct json *match = json_dig(policy, "spec.matchConstraints"),
                      *limits[] = {
                          json_dig(policy, "spec.matchConditions"),
                          json_dig(policy, "spec.paramKind"),
                          json_get(match, S("excludeResourceRules")),
                          json_dig(match, "namespaceSelector.matchLabels"),
                          json_dig(match, "namespaceSelector.matchExpressions"),
                          json_dig(match, "objectSelector.matchLabels"),
                          json_dig(match, "objectSelector.matchExpressions"),
                          json_dig(binding, "spec.paramRef"),
                          json_dig(binding, "spec.matchResources"),
                      };
    for (size_t i = 0; i < COUNT(limits); i++) {
        if (json_len(limits[i]))
            return true;
    }
    return false;
}

str policy_compare(struct arena *a, enum policy_file file, const struct json *policy, const struct json *binding)
{
    json_vec want = {0};
    const char *name = names[file];
    if (yaml_decode_all(a, policy_files[file], NULL, &want, NULL) < 0 || want.n != 2)
        abort(); /* it is part of the program */
    if (json_is_null(policy))
        return str_fmt(a, "ValidatingAdmissionPolicy \"%s\" is missing", name);
    if (json_is_null(binding))
        return str_fmt(a, "ValidatingAdmissionPolicyBinding \"%s\" is missing", name);
    if (!applyset_is_equal(a, &want.p[0], policy))
        return str_fmt(a, "ValidatingAdmissionPolicy \"%s\" differs from that of this release", name);
    if (!applyset_is_equal(a, &want.p[1], binding))
        return str_fmt(a, "ValidatingAdmissionPolicyBinding \"%s\" differs from that of this release", name);
    if (is_narrowed(policy, binding))
        return str_fmt(a, "ValidatingAdmissionPolicy \"%s\" or its binding excludes some requests", name);
    return (str){0};
}

/* ---- What it is. ---- */

/* Null: it is not there. */
static int read_object(const struct policy *p, struct client *c, struct arena *a,
                       const struct client_resource *resource, struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = resource, .name = str_of(names[p->file])};
    int code = client_get(c, a, &ref, ret, err);
    if (code == ERR_NOT_FOUND) {
        *ret = json_null();
        code = 0;
    }
    return code;
}

/* Another object, or another spec of it, is another identity. */
static str identity_of(struct arena *a, const struct json *policy, const struct json *binding)
{
    return str_fmt(a, "%.*s %lld %.*s %lld", STR(object_uid(policy)), (long long)object_generation(policy),
                   STR(object_uid(binding)), (long long)object_generation(binding));
}

int policy_read(const struct policy *p, struct client *c, struct arena *a, struct policy_state *ret, struct err *err)
{
    struct json policy = json_null(), binding = json_null();
    *ret = (struct policy_state){0};
    if (!p)
        return 0;
    int code = read_object(p, c, a, &policies, &policy, err);
    if (code == 0)
        code = read_object(p, c, a, &bindings, &binding, err);
    if (code < 0) {
        ret->problem = str_fmt(a, "ValidatingAdmissionPolicy \"%s\" cannot be read: %s", names[p->file], err->msg);
        return code;
    }
    ret->problem = policy_compare(a, p->file, &policy, &binding);
    ret->identity = identity_of(a, &policy, &binding);
    return 0;
}

static void set_state(struct policy *p, const struct policy_state *state)
{
    str identity = str_upto(state->identity, IDENTITY_BYTES);
    pthread_mutex_lock(&p->lock);
    bool is_new = (p->n > 0) != (state->problem.n > 0) || !str_eq((str){p->identity, p->n_identity}, identity);
    p->n = state->problem.n < PROBLEM_BYTES ? state->problem.n : PROBLEM_BYTES;
    if (p->n)
        memcpy(p->problem, state->problem.p, p->n);
    p->n_identity = identity.n;
    if (identity.n)
        memcpy(p->identity, identity.p, identity.n);
    pthread_mutex_unlock(&p->lock);
    if (is_new)
        p->changed(p->ctx);
}

static int visit_policy(void *ctx, struct reconcile *r, struct err *err)
{
    struct policy *p = ctx;
    struct policy_state state;
    int code = policy_read(p, r->client, r->arena, &state, err);
    set_state(p, &state);
    if (code < 0)
        return err_wrap(err, "read ValidatingAdmissionPolicy %s", names[p->file]);
    r->again_ns = interval;
    if (!state.problem.n ||
        p->file == POLICY_INSTALLS) /* most installs need no approval: those that do say what is missing */
        return 0;
    return err_set(err, ERR_INVALID, "%.*s: approvals are not accepted until deploy/approval is applied",
                   STR(state.problem));
}

static void discard(void *state)
{
    struct policy *p = state;
    pthread_mutex_destroy(&p->lock);
    free(p);
}

struct policy *policy_watch(const struct controller_env *env, enum policy_file file, void (*changed)(void *ctx),
                            void *ctx)
{
    static const char *const controllers[] = {
        [POLICY_INSTALLS] = "install-approval-policy", [POLICY_PERMISSIONS] = "approval-policy"};
    struct arena scratch ARENA_SCOPE = {0};
    struct policy *p = xcalloc(1, sizeof *p);
    *p = (struct policy){.file = file, .changed = changed, .ctx = ctx};
    pthread_mutex_init(&p->lock, NULL);
    str unread = str_fmt(&scratch, "ValidatingAdmissionPolicy \"%s\" was not read yet", names[file]);
    p->n = unread.n;
    memcpy(p->problem, unread.p, unread.n);
    control_own(env->control, p, discard);
    struct controller *k = control_add(env->control, &(struct controller_options){.name = controllers[file],
                                                                                  .client = env->client,
                                                                                  .workers = 1,
                                                                                  .longest_wait_ns = interval,
                                                                                  .reconcile = visit_policy,
                                                                                  .ctx = p});
    control_enqueue(k, (str){0}, S("policy"));
    return p;
}

str policy_problem(struct policy *p, struct arena *a)
{
    if (!p)
        return (str){0};
    pthread_mutex_lock(&p->lock);
    str text = str_dup(a, (str){p->problem, p->n});
    pthread_mutex_unlock(&p->lock);
    return text;
}
