/* SPDX-License-Identifier: Apache-2.0 */
/* The join kubeconfig in a file and in a Secret: read, written back, and left alone when somebody else has replaced it. */
#include "agent/agent_hub_credential.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../client/world.h"
#include "base/file.h"
#include "join.h"
#include "json/base64.h"

#define SERVER S("https://hub.example.com:6443")

/* ---- Tokens. ---- */

static void tokens_say_what_they_are(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct hub_credential c = {0};
    assert_true(hub_token_read(&a, join_token(&a, S("c1"), 1000, 4600), &c));
    assert_true(c.issued == 1000 && c.expires == 4600);
    assert_true(str_eq(c.account_namespace, S("c1")) && str_eq(c.account, S("reeve-agent")));
}

static void what_is_no_token_says_nothing(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    static const str texts[] = {S_INIT(""), S_INIT("abc"), S_INIT("a.b.c"), S_INIT("a.!.c"), S_INIT("...")};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct hub_credential c = {0};
        assert_false(hub_token_read(&a, texts[i], &c));
        assert_true(c.issued == 0 && c.expires == 0 && c.account.n == 0);
    }
    struct hub_credential c = {0};
    (void)hub_token_read(&a, join_token(&a, S("c1"), 4600, 1000), &c);
    assert_int_equal(c.expires, 0); /* before it was issued: believed by nobody */
}

static void another_cluster_is_noticed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct hub_credential c = {0};
    struct err err = {0};
    (void)hub_token_read(&a, join_token(&a, S("c2"), 1, 2), &c);
    assert_int_equal(hub_credential_check(&c, S("c2"), &err), 0);
    assert_int_equal(hub_credential_check(&c, S("c1"), &err), ERR_INVALID);
    assert_string_equal(err.msg, "the join kubeconfig is that of cluster \"c2\", and this is \"c1\"");
    c = (struct hub_credential){0}; /* nobody knows whose it is: the hub will say */
    assert_int_equal(hub_credential_check(&c, S("c1"), &err), 0);
}

/* ---- A file. ---- */

static str path_of(struct arena *a, const char *folder, const char *name)
{
    return str_fmt(a, "%s/%s", folder, name);
}

static void put(struct arena *a, str path, str text)
{
    struct err err = {0};
    assert_int_equal(file_write(str_cstr(a, path), text, &err), 0);
}

static void files_are_read_and_written(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char folder[] = "/tmp/hub-credential-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct err err = {0};
    struct hub_credential c;
    struct stat st;
    struct hub_source file = {.file = path_of(&a, folder, "join")};
    assert_int_equal(hub_credential_read(&a, &file, &c, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "read the join kubeconfig from the file /tmp/hub-credential-"));
    str token = join_token(&a, S("c1"), 1000, 4600), next = join_token(&a, S("c1"), 4000, 7600);
    put(&a, file.file, join_kubeconfig(&a, SERVER, token));
    assert_int_equal(hub_credential_read(&a, &file, &c, &err), 0);
    assert_true(str_eq(c.config.server, SERVER) && str_eq(c.config.token, token) && c.expires == 4600);

    struct hub_source link = {.file = path_of(&a, folder, "link")};
    assert_int_equal(symlink("join", str_cstr(&a, link.file)), 0);
    assert_int_equal(hub_credential_write(&link, token, next, &err), 0);
    assert_int_equal(lstat(str_cstr(&a, link.file), &st), 0);
    assert_true(S_ISLNK(st.st_mode)); /* what it leads to was written */
    assert_int_equal(stat(str_cstr(&a, file.file), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(hub_credential_read(&a, &file, &c, &err), 0);
    assert_true(str_eq(c.config.server, SERVER) && str_eq(c.config.token, next) && c.expires == 7600);
    str text;
    assert_int_equal(file_read(&a, file.file, FILE_REGULAR, 10000, &text, &err), 0);
    assert_true(str_find(text, S("token: abc")) >= 0); /* others stay */

    assert_int_equal(hub_credential_write(&file, token, S("x"), &err), ERR_CONFLICT); /* it is another one by now */
    assert_null(strstr(err.msg, str_cstr(&a, next)));
    unlink(str_cstr(&a, link.file));
    unlink(str_cstr(&a, file.file));
    rmdir(folder);
}

/* ---- A Secret. ---- */

#define SECRET "/api/v1/namespaces/n/secrets/s"

static void put_secret(struct world *w, str kubeconfig)
{
    str text = str_fmt(&w->arena,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},"
                       "\"data\":{\"kubeconfig\":\"%.*s\",\"more\":\"eA==\"}}",
                       STR(base64_encode(&w->arena, kubeconfig)));
    fake_put(w->fake, str_cstr(&w->arena, text));
}

static struct hub_source secret_of(struct world *w)
{
    return (struct hub_source){.namespace = S("n"), .name = S("s"), .managed = w->client};
}

static void use_secret(struct world *w, void *ctx)
{
    struct hub_source source = secret_of(w);
    struct arena *a = &w->arena;
    struct err err = {0};
    struct hub_credential c;
    str token = join_token(a, S("c1"), 1000, 4600), next = join_token(a, S("c1"), 4000, 7600);
    (void)ctx;
    assert_int_equal(hub_credential_read(a, &source, &c, &err), 0);
    assert_true(str_eq(c.config.token, token) && c.expires == 4600);
    assert_int_equal(hub_credential_write(&source, token, next, &err), 0);
    assert_int_equal(hub_credential_read(a, &source, &c, &err), 0);
    assert_true(str_eq(c.config.token, next) && str_eq(c.config.server, SERVER));
    assert_int_equal(hub_credential_write(&source, token, S("x"), &err), ERR_CONFLICT);
}

static void secrets_are_read_and_written(void **state)
{
    struct world *w = *state;
    struct json secret;
    put_secret(w, join_kubeconfig(&w->arena, SERVER, join_token(&w->arena, S("c1"), 1000, 4600)));
    world_run(w, use_secret, NULL);
    assert_true(fake_get(w->fake, &w->arena, SECRET, &secret));
    assert_text(json_text(json_dig(&secret, "data.more")), "eA=="); /* what else is in it stays */
}

static void read_secret(struct world *w, void *ctx)
{
    struct hub_source source = secret_of(w);
    struct hub_credential c;
    struct err *err = ctx;
    (void)hub_credential_read(&w->arena, &source, &c, err);
}

static void secrets_that_are_of_no_use_are_told(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    world_run(w, read_secret, &err);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.msg, "read the join kubeconfig from the Secret n/s: secrets \"s\" not found");
    fake_put(w->fake, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"}}");
    world_run(w, read_secret, &err);
    assert_string_equal(err.msg, "read the join kubeconfig from the Secret n/s: it has no kubeconfig");
    put_secret(w, S("{"));
    world_run(w, read_secret, &err);
    assert_int_equal(err.code, ERR_BAD_REQUEST);
}

/* Whoever writes at the same time wins. */
static void write_late(struct world *w, void *ctx)
{
    struct hub_source source = secret_of(w);
    struct err *err = ctx;
    (void)hub_credential_write(&source, join_token(&w->arena, S("c1"), 1000, 4600), S("x"), err);
}

static void a_secret_that_changes_meanwhile_stays(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    put_secret(w, join_kubeconfig(&w->arena, SERVER, join_token(&w->arena, S("c1"), 1000, 4600)));
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER, .method = S("PATCH"), .status = 409, .times = 1});
    world_run(w, write_late, &err);
    assert_int_equal(err.code, ERR_CONFLICT);
}

int main(void)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_say_what_they_are),      cmocka_unit_test(what_is_no_token_says_nothing),
        cmocka_unit_test(another_cluster_is_noticed),    cmocka_unit_test(files_are_read_and_written),
        IN_WORLD(secrets_are_read_and_written),          IN_WORLD(secrets_that_are_of_no_use_are_told),
        IN_WORLD(a_secret_that_changes_meanwhile_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
