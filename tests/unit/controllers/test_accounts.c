/* SPDX-License-Identifier: Apache-2.0 */
/* ManagedServiceAccounts of a hub, and the ServiceAccounts and tokens that an agent keeps for them on its own cluster. */
#include "controllers/accounts/accounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent_world.h"
#include "controllers/accounts/accounts_token.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"
#include "json/base64.h"

#define MSA "/apis/authentication.open-cluster-management.io/v1beta1/namespaces/one/managedserviceaccounts/robot"
#define SECRET "/api/v1/namespaces/one/secrets/robot"
#define ACCOUNTS "/api/v1/namespaces/agents/serviceaccounts"
#define ACCOUNT ACCOUNTS "/robot"
#define TOKEN ACCOUNT "/token"
#define REVIEWS "/apis/authentication.k8s.io/v1/tokenreviews"
#define ADDON \
    "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/one/managedclusteraddons/managed-serviceaccount"
#define NOW INT64_C(1767323045) /* when the world begins */

/* ---- The managed cluster gives tokens. ---- */

static str url64(struct arena *a, str text)
{
    str s = base64_encode(a, text);
    char *p = (char *)arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n && s.p[i] != '='; i++)
        p[n++] = s.p[i] == '+' ? '-' : s.p[i] == '/' ? '_' : s.p[i];
    return (str){p, n};
}

static str make_token(struct arena *a, const char *name, const char *uid, int64_t issued, int64_t lives)
{
    str claims =
        str_fmt(a,
                "{\"iss\":\"x\",\"sub\":\"system:serviceaccount:agents:%s\",\"iat\":%lld,\"exp\":%lld,"
                "\"kubernetes.io\":{\"namespace\":\"agents\",\"serviceaccount\":{\"name\":\"%s\",\"uid\":\"%s\"}}}",
                name, (long long)issued, (long long)issued + (long long)lives, name, uid);
    return str_fmt(a, "%.*s.%.*s.c2ln", STR(url64(a, S("{\"alg\":\"RS256\"}"))), STR(url64(a, claims)));
}

static str uid_of(struct agent_world *w)
{
    struct json account;
    return fake_get(w->managed, &w->arena, ACCOUNT, &account) ? object_uid(&account) : S("u-first");
}

/* From now on it answers with this token, and believes it or not. */
static str give(struct agent_world *w, str token, bool is_believed)
{
    struct token_claims claims;
    struct buf expires = {.arena = &w->arena};
    assert_true(token_read(&w->arena, token, &claims));
    time_format(&expires, claims.expires, 0, 0);
    fake_heal(w->managed);
    fake_fault(w->managed, &(struct fake_fault){
                               .type = FAKE_ANSWER,
                               .method = S("POST"),
                               .prefix = S(TOKEN),
                               .status = 201,
                               .body = str_fmt(&w->arena,
                                               "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\","
                                               "\"status\":{\"token\":\"%.*s\",\"expirationTimestamp\":\"%.*s\"}}",
                                               STR(token), STR(buf_str(&expires)))});
    fake_fault(
        w->managed,
        &(struct fake_fault){
            .type = FAKE_ANSWER,
            .method = S("POST"),
            .prefix = S(REVIEWS),
            .status = 201,
            .body = is_believed
                        ? S("{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"user\":{\"username\":"
                            "\"system:serviceaccount:agents:robot\"}}}")
                        : S("{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":false}}")});
    return token;
}

static str give_new(struct agent_world *w, int64_t lives)
{
    return give(w, make_token(&w->arena, "robot", str_cstr(&w->arena, uid_of(w)), NOW, lives), true);
}

static void put_account(struct agent_world *w, const char *uid, bool is_labelled)
{
    str text =
        str_fmt(&w->arena,
                "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"robot\",\"namespace\":"
                "\"agents\",\"uid\":\"%s\",\"labels\":{%s}}}",
                uid, is_labelled ? "\"" FLEET_LABEL_ACCOUNT "\":\"true\"" : "");
    fake_put(w->managed, str_cstr(&w->arena, text));
}

/* ---- The hub. ---- */

static void put_msa(struct agent_world *w, const char *spec)
{
    str text =
        str_fmt(&w->arena,
                "{\"apiVersion\":\"authentication.open-cluster-management.io/v1beta1\",\"kind\":"
                "\"ManagedServiceAccount\",\"metadata\":{\"name\":\"robot\",\"namespace\":\"one\",\"uid\":\"u-msa\"},"
                "\"spec\":{%s}}",
                spec);
    fake_put(w->hub, str_cstr(&w->arena, text));
}

static str secret_value(struct agent_world *w, const char *key)
{
    struct json secret;
    str text = {0};
    size_t at;
    if (!fake_get(w->hub, &w->arena, SECRET, &secret))
        return text;
    assert_int_equal(base64_decode(&w->arena, json_get_text(json_get(&secret, S("data")), str_of(key)), &text, &at), 0);
    return text;
}

static bool has_token(struct agent_world *w, str token)
{
    return str_eq(secret_value(w, "token"), token);
}

static str status_part(struct agent_world *w, const char *path)
{
    struct json msa;
    assert_true(fake_get(w->hub, &w->arena, MSA, &msa));
    return json_text(json_dig(&msa, path));
}

static str reason_of(struct agent_world *w, const char *type)
{
    struct json msa;
    if (!fake_get(w->hub, &w->arena, MSA, &msa))
        return (str){0};
    return json_get_text(condition_find(json_dig(&msa, "status.conditions"), str_of(type)), S("reason"));
}

/* An account with its token, an hour long, and nothing left to do. */
static str begin(struct agent_world *w)
{
    put_account(w, "u-first", true);
    str token = give_new(w, 3600);
    put_msa(w, "\"rotation\":{\"validity\":\"1h0m0s\"}");
    agent_world_start(w);
    AWAIT(w, has_token(w, token) && str_eq(reason_of(w, "TokenReported"), S("TokenReported")));
    agent_world_rest(w);
    return token;
}

static size_t grants(struct agent_world *w)
{
    return fake_count(w->managed, "POST", TOKEN);
}

/* ---- Tests. ---- */

static void an_account_gets_a_token(void **state)
{
    struct agent_world *w = *state;
    struct json object;
    str token = give_new(w, 3600);
    fake_put(w->managed, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"agents\"}}");
    put_msa(w, "\"rotation\":{\"validity\":\"1h0m0s\"}");
    agent_world_start(w);
    AWAIT(w, fake_count(w->managed, "POST", TOKEN) > 0);
    assert_true(fake_get(w->managed, &w->arena, ACCOUNT, &object));
    assert_text(object_label(&object, S(FLEET_LABEL_ACCOUNT)), "true");
    AWAIT(w, has_token(w, token) && str_eq(reason_of(w, "TokenReported"), S("TokenReported")));
    assert_text(secret_value(w, "ca.crt"), "CA of one");
    assert_true(fake_get(w->hub, &w->arena, SECRET, &object));
    assert_text(object_label(&object, S(FLEET_LABEL_ACCOUNT)), "true");
    assert_text(json_get_text(&object, S("type")), "Opaque");
    const struct json *owners = object_owners(&object);
    assert_int_equal(json_len(owners), 1);
    assert_text(json_get_text(&owners->items[0], S("uid")), "u-msa");
    assert_null(json_get(&owners->items[0], S("controller")));
    assert_text(reason_of(w, "SecretCreated"), "SecretCreated");
    assert_text(status_part(w, "status.expirationTimestamp"), "2026-01-02T04:04:05Z");
    assert_text(status_part(w, "status.tokenSecretRef.name"), "robot");
    assert_true(status_part(w, "status.tokenSecretRef.lastRefreshTimestamp").n > 0);
    size_t n;
    const struct fake_request *log = fake_log(w->managed, &n);
    for (size_t i = 0; i < n; i++)
        if (str_has_prefix(log[i].target, S(TOKEN)))
            assert_true(str_find(log[i].body, S("\"expirationSeconds\":3600")) > 0);
}

static void a_good_token_stays(void **state)
{
    struct agent_world *w = *state;
    (void)begin(w);
    size_t before = grants(w);
    fake_log_clear(w->hub);
    agent_world_pass(w, 2800);
    assert_int_equal(grants(w), before);
    assert_int_equal(fake_writes(w->hub) - fake_count(w->hub, "PUT", "/apis/coordination.k8s.io"), 0);
}

static void a_token_is_renewed_at_four_fifths_of_its_life(void **state)
{
    struct agent_world *w = *state;
    (void)begin(w);
    str next = give(w, make_token(&w->arena, "robot", "u-first", NOW + 2880, 3600), true);
    agent_world_pass(w, 2870);
    assert_false(has_token(w, next));
    agent_world_pass(w, 20);
    AWAIT(w, has_token(w, next));
}

/* Servers may give less than was asked for. */
static void the_real_life_counts(void **state)
{
    struct agent_world *w = *state;
    put_account(w, "u-first", true);
    str token = give_new(w, 1000);
    put_msa(w, "\"rotation\":{}");
    agent_world_start(w);
    AWAIT(w, has_token(w, token));
    str next = give(w, make_token(&w->arena, "robot", "u-first", NOW + 800, 1000), true);
    agent_world_pass(w, 790);
    assert_false(has_token(w, next));
    agent_world_pass(w, 20);
    AWAIT(w, has_token(w, next));
}

/* Neither does a jump of the clock renew all tokens, again and again, nor does it keep them for too long. */
static void clocks_may_jump(void **state)
{
    struct agent_world *w = *state;
    (void)begin(w);
    size_t before = grants(w);
    w->time.wall += INT64_C(400) * 86400 * SECOND;
    agent_world_pass(w, 1400);
    assert_int_equal(grants(w), before);
    w->time.wall -= INT64_C(800) * 86400 * SECOND;
    agent_world_pass(w, 1400);
    assert_int_equal(grants(w), before);
    str next = give(w, make_token(&w->arena, "robot", "u-first", NOW + 2880, 3600), true);
    agent_world_pass(w, 100);
    AWAIT(w, has_token(w, next));
}

static void after_a_restart_the_token_speaks_for_itself(void **state)
{
    struct agent_world *w = *state;
    str token = begin(w);
    size_t before = grants(w);
    agent_world_restart(w);
    agent_world_pass(w, 60);
    assert_true(has_token(w, token));
    assert_int_equal(grants(w), before);
    str next = give(w, make_token(&w->arena, "robot", "u-first", NOW + 2880, 3600), true);
    clock_fake_advance(&w->time, 2900 * SECOND);
    agent_world_restart(w);
    AWAIT(w, has_token(w, next));
}

static void a_secret_that_is_deleted_or_edited_is_made_again(void **state)
{
    struct agent_world *w = *state;
    str token = begin(w);
    fake_remove(w->hub, SECRET);
    AWAIT(w, has_token(w, token));
    agent_world_rest(w);
    fleet_patch(w->hub, SECRET, "{\"data\":{\"token\":\"bm9uc2Vuc2U=\"}}");
    AWAIT(w, has_token(w, token));
    agent_world_rest(w);
    fleet_patch(w->hub, SECRET, "{\"data\":{\"ca.crt\":\"bm9uc2Vuc2U=\"}}");
    AWAIT(w, str_eq(secret_value(w, "ca.crt"), S("CA of one")));
    agent_world_rest(w);
}

static void what_others_add_to_the_secret_stays(void **state)
{
    struct agent_world *w = *state;
    struct json secret;
    (void)begin(w);
    fleet_patch(
        w->hub, SECRET,
        "{\"metadata\":{\"labels\":{\"theirs\":\"x\"},\"annotations\":{\"theirs\":\"y\"}},\"data\":{\"token\":\"eA==\"}}");
    AWAIT(w, secret_value(w, "token").n > 10);
    assert_true(fake_get(w->hub, &w->arena, SECRET, &secret));
    assert_text(object_label(&secret, S("theirs")), "x");
    assert_text(object_annotation(&secret, S("theirs")), "y");
}

static void a_secret_of_somebody_else_is_not_touched(void **state)
{
    struct agent_world *w = *state;
    put_account(w, "u-first", true);
    (void)give_new(w, 3600);
    fake_put(w->hub,
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"robot\",\"namespace\":\"one\"},"
             "\"data\":{\"token\":\"eA==\"}}");
    put_msa(w, "\"rotation\":{}");
    agent_world_start(w);
    AWAIT(w, str_eq(reason_of(w, "TokenReported"), S("Conflict")));
    agent_world_rest(w);
    assert_text(secret_value(w, "token"), "x");
    assert_int_equal(grants(w), 0);
}

static void an_account_of_somebody_else_is_neither_used_nor_deleted(void **state)
{
    struct agent_world *w = *state;
    put_account(w, "u-theirs", false);
    (void)give_new(w, 3600);
    put_msa(w, "\"rotation\":{}");
    agent_world_start(w);
    AWAIT(w, str_eq(reason_of(w, "TokenReported"), S("Conflict")));
    agent_world_rest(w);
    assert_int_equal(grants(w), 0);
    fake_remove(w->hub, MSA);
    agent_world_rest(w);
    assert_true(is_there(w->managed, ACCOUNT));
}

static void an_account_that_was_made_anew_gets_another_token(void **state)
{
    struct agent_world *w = *state;
    (void)begin(w);
    fake_remove(w->managed, ACCOUNT);
    str next = give(w, make_token(&w->arena, "robot", "u-second", NOW, 3600), true);
    put_account(w, "u-second", true);
    AWAIT(w, has_token(w, next));
}

static void a_deleted_account_comes_back(void **state)
{
    struct agent_world *w = *state;
    (void)begin(w);
    fake_remove(w->managed, ACCOUNT);
    AWAIT(w, is_there(w->managed, ACCOUNT));
}

static void a_token_that_is_not_believed_is_replaced(void **state)
{
    struct agent_world *w = *state;
    (void)begin(w);
    str next = give(w, make_token(&w->arena, "robot", "u-first", NOW + 1, 3600), false);
    agent_world_pass(w, 800);
    AWAIT(w, has_token(w, next));
    assert_in_range(grants(w), 2, 20);
}

/* A managed cluster that believes none of its tokens is not asked for another one each time something moves. */
static void a_token_that_is_never_believed_is_not_replaced_for_ever(void **state)
{
    struct agent_world *w = *state;
    put_account(w, "u-first", true);
    str token = give(w, make_token(&w->arena, "robot", "u-first", NOW, 3600), false);
    put_msa(w, "\"rotation\":{\"validity\":\"1h0m0s\"}");
    agent_world_start(w);
    AWAIT(w, has_token(w, token) && str_eq(reason_of(w, "TokenReported"), S("TokenReportFailed")));
    for (int i = 0; i < 5; i++) {
        str patch = str_fmt(&w->arena, "{\"metadata\":{\"annotations\":{\"count\":\"%d\"}}}", i);
        fleet_patch(w->hub, SECRET, str_cstr(&w->arena, patch));
        agent_world_rest(w);
    }
    assert_int_equal(grants(w), 1);
}

static void who_cannot_be_asked_takes_nothing_away(void **state)
{
    struct agent_world *w = *state;
    str token = begin(w);
    fake_heal(w->managed);
    fake_fault(w->managed, &(struct fake_fault){.type = FAKE_ANSWER, .method = S("POST"), .status = 500});
    agent_world_pass(w, 800);
    assert_true(has_token(w, token));
    assert_text(reason_of(w, "TokenReported"), "TokenReportFailed");
    (void)give(w, token, true);
    agent_world_pass(w, 400);
    assert_text(reason_of(w, "TokenReported"), "TokenReported");
}

static void a_deleted_managed_account_takes_its_account_along(void **state)
{
    struct agent_world *w = *state;
    (void)begin(w);
    fake_remove(w->hub, MSA);
    AWAIT(w, !is_there(w->managed, ACCOUNT));
}

/* While the agent was away. Only the label says that it is ours, and only the hub that it is not wanted. */
static void what_was_left_behind_goes(void **state)
{
    struct agent_world *w = *state;
    put_account(w, "u-first", true);
    fake_put(w->managed,
             "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"default\",\"namespace\":"
             "\"agents\"}}");
    fake_fault(w->hub, &(struct fake_fault){.type = FAKE_ANSWER,
                                            .status = 503,
                                            .method = S("GET"),
                                            .prefix = S("/apis/authentication.open-cluster-management.io")});
    agent_world_start(w);
    for (int i = 0; i < 100; i++) { /* nobody works before the hub has told everything */
        clock_fake_advance(&w->time, SECOND);
        loop_turn(w->loop, 0);
    }
    assert_true(fake_count(w->hub, "GET", "/apis/authentication.open-cluster-management.io") > 1);
    assert_true(is_there(w->managed, ACCOUNT));
    fake_heal(w->hub);
    clock_fake_advance(&w->time, 60 * SECOND);
    AWAIT(w, !is_there(w->managed, ACCOUNT));
    assert_true(is_there(w->managed, ACCOUNTS "/default"));
}

/* A copy that is wrong is not enough. */
static void the_hub_is_asked_before_anything_is_deleted(void **state)
{
    struct agent_world *w = *state;
    put_account(w, "u-first", true);
    fake_fault(w->hub, &(struct fake_fault){.type = FAKE_ANSWER, .status = 404, .method = S("GET"), .prefix = S(MSA)});
    agent_world_start(w);
    AWAIT(w, fake_count(w->hub, "GET", MSA) > 0);
    agent_world_rest(w);
    assert_true(is_there(w->managed, ACCOUNT)); /* a 404 of the path, not of the object */
}

static void time_to_live_ends_it(void **state)
{
    struct agent_world *w = *state;
    put_account(w, "u-first", true);
    (void)give_new(w, 3600);
    put_msa(w, "\"rotation\":{\"validity\":\"1h0m0s\"},\"ttlSecondsAfterCreation\":300");
    agent_world_start(w);
    agent_world_pass(w, 290);
    assert_true(is_there(w->hub, MSA));
    agent_world_pass(w, 20);
    AWAIT(w, !is_there(w->hub, MSA) && !is_there(w->managed, ACCOUNT));
}

static void the_addon_says_where_accounts_are(void **state)
{
    struct agent_world *w = *state;
    struct json addon;
    agent_world_start(w);
    AWAIT(w, fake_get(w->hub, &w->arena, ADDON, &addon) &&
                 str_eq(json_text(json_dig(&addon, "status.namespace")), S("agents")));
    agent_world_rest(w);
    fake_remove(w->hub, ADDON);
    agent_world_rest(w);
    assert_false(is_there(w->hub, ADDON)); /* whoever deletes the cluster deletes it, too */
    agent_world_pass(w, 70);
    AWAIT(w, is_there(w->hub, ADDON));
}

static void tokens_are_read(void **state)
{
    struct agent_world *w = *state;
    struct token_claims claims;
    static const char *const bad[] = {"", ".", "..", "a.b.c", "a.e30.c", "a.W10.c", "a.!!!.c"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(token_read(&w->arena, str_of(bad[i]), &claims));
    assert_false(token_read(&w->arena, make_token(&w->arena, "x", "u", 100, 0), &claims));
    assert_false(token_read(&w->arena, make_token(&w->arena, "x", "u", 100, INT64_C(9000000000000)), &claims));
    assert_true(token_read(&w->arena, make_token(&w->arena, "x", "u", 100, 50), &claims));
    assert_int_equal(token_due(&claims), 140);
    assert_text(claims.account_uid, "u");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, agent_world_set_up, agent_world_tear_down)
        TEST(an_account_gets_a_token),
        TEST(a_good_token_stays),
        TEST(a_token_is_renewed_at_four_fifths_of_its_life),
        TEST(the_real_life_counts),
        TEST(clocks_may_jump),
        TEST(after_a_restart_the_token_speaks_for_itself),
        TEST(a_secret_that_is_deleted_or_edited_is_made_again),
        TEST(what_others_add_to_the_secret_stays),
        TEST(a_secret_of_somebody_else_is_not_touched),
        TEST(an_account_of_somebody_else_is_neither_used_nor_deleted),
        TEST(an_account_that_was_made_anew_gets_another_token),
        TEST(a_deleted_account_comes_back),
        TEST(a_token_that_is_not_believed_is_replaced),
        TEST(a_token_that_is_never_believed_is_not_replaced_for_ever),
        TEST(who_cannot_be_asked_takes_nothing_away),
        TEST(a_deleted_managed_account_takes_its_account_along),
        TEST(what_was_left_behind_goes),
        TEST(the_hub_is_asked_before_anything_is_deleted),
        TEST(time_to_live_ends_it),
        TEST(the_addon_says_where_accounts_are),
        TEST(tokens_are_read),
    };
    return cmocka_run_group_tests_name("accounts", tests, NULL, NULL);
}
