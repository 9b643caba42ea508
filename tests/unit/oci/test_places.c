/* SPDX-License-Identifier: Apache-2.0 */
/* Where registries may send us, what they ask for, and whose credentials they get. */
#include "oci/auth.h"
#include "oci/challenge.h"
#include "oci/oci_registry.h"
#include "oci/registry_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- Places. ---- */

static enum place_class class_of(const char *host)
{
    struct arena a ARENA_SCOPE = {0};
    struct place p;
    struct err err;
    return place_resolve(&a, str_of(host), 443, PLACE_THIS, &p, &err) < 0 ? PLACE_NEVER : p.class;
}

static void addresses_are_of_this_machine_private_or_public(void **state)
{
    static const struct {
        const char *host;
        enum place_class class;
    } rows[] = {
        {"127.0.0.1", PLACE_THIS},
        {"127.255.1.2", PLACE_THIS},
        {"::1", PLACE_THIS},
        {"::ffff:127.0.0.1", PLACE_THIS},
        {"64:ff9b::7f00:1", PLACE_THIS},
        {"2002:7f00:1::", PLACE_THIS},
        {"10.0.0.1", PLACE_PRIVATE},
        {"172.16.0.1", PLACE_PRIVATE},
        {"172.31.255.255", PLACE_PRIVATE},
        {"172.32.0.1", PLACE_PUBLIC},
        {"192.168.1.1", PLACE_PRIVATE},
        {"100.64.0.1", PLACE_PRIVATE},
        {"100.128.0.1", PLACE_PUBLIC},
        {"fd00::1", PLACE_PRIVATE},
        {"::ffff:10.0.0.1", PLACE_PRIVATE},
        {"8.8.8.8", PLACE_PUBLIC},
        {"2606:4700::1", PLACE_PUBLIC},
        {"169.254.169.254", PLACE_NEVER},
        {"fe80::1", PLACE_NEVER},
        {"0.0.0.0", PLACE_NEVER},
        {"0.1.2.3", PLACE_NEVER},
        {"::", PLACE_NEVER},
        {"224.0.0.1", PLACE_NEVER},
        {"255.255.255.255", PLACE_NEVER},
        {"ff02::1", PLACE_NEVER},
        {"::ffff:169.254.169.254", PLACE_NEVER},
        {"::ffff:0.0.0.0", PLACE_NEVER},
        {"100::1", PLACE_NEVER},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (class_of(rows[i].host) != rows[i].class)
            fail_msg("%s is of another class", rows[i].host);
    }
}

static void who_sends_us_on_names_no_place_more_private_than_its_own(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct place p;
    struct err err;
    assert_int_equal(place_resolve(&a, S("127.0.0.1"), 80, PLACE_PRIVATE, &p, &err), ERR_FORBIDDEN);
    assert_int_equal(place_resolve(&a, S("10.0.0.1"), 80, PLACE_PUBLIC, &p, &err), ERR_FORBIDDEN);
    assert_int_equal(place_resolve(&a, S("10.0.0.1"), 80, PLACE_PRIVATE, &p, &err), 0);
    assert_int_equal(place_resolve(&a, S("8.8.8.8"), 80, PLACE_PUBLIC, &p, &err), 0);
    assert_int_equal(place_resolve(&a, S("169.254.169.254"), 80, PLACE_THIS, &p, &err), ERR_FORBIDDEN);
}

static void plain_names_of_this_machine(void **state)
{
    assert_true(place_is_local_name(S("localhost")));
    assert_true(place_is_local_name(S("127.0.0.2")));
    assert_true(place_is_local_name(S("::1")));
    assert_false(place_is_local_name(S("localhost.example.org")));
    assert_false(place_is_local_name(S("127.0.0.1.example.org")));
    assert_false(place_is_local_name(S("10.0.0.1")));
}

/* ---- Challenges. ---- */

static void challenge_is(const char *header, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    struct challenge c = {0};
    challenge_add(&a, str_of(header), &c);
    str got = str_fmt(&a, "%s%s realm=%.*s service=%.*s scope=%.*s", c.basic ? "basic " : "", c.bearer ? "bearer" : "",
                      STR(c.realm), STR(c.service), STR(c.scope));
    if (!str_eq(got, str_of(want)))
        fail_msg("%s: %.*s", header, STR(got));
}

static void challenges_are_read(void **state)
{
    challenge_is("Bearer realm=\"https://auth.example.org/token\",service=\"registry\",scope=\"repository:a/b:pull\"",
                 "bearer realm=https://auth.example.org/token service=registry scope=repository:a/b:pull");
    challenge_is("bEARER Realm = \"x\" , SERVICE=y", "bearer realm=x service=y scope=");
    challenge_is("Basic realm=\"a, b\"", "basic  realm= service= scope=");
    challenge_is("Basic realm=\"x\", Bearer realm=\"y\",service=\"z\"", "basic bearer realm=y service=z scope=");
    challenge_is("Bearer realm=\"a\\\"b\\\\c\"", "bearer realm=a\"b\\c service= scope=");
    challenge_is("Negotiate, Basic realm=\"x\"", "basic  realm= service= scope=");
    challenge_is("Bearer realm=\"first\", Bearer realm=\"second\"", "bearer realm=first service= scope=");
}

static void challenges_that_make_no_sense_are_none(void **state)
{
    challenge_is("", " realm= service= scope=");
    challenge_is("Bearer", " realm= service= scope=");
    challenge_is("Bearer service=\"x\"", " realm= service= scope=");
    challenge_is("Bearer realm=\"x", " realm= service= scope=");
    challenge_is("Bearer realm=\"x\\", " realm= service= scope=");
    challenge_is("Bearer=realm", " realm= service= scope=");
    challenge_is("\"Bearer\" realm=\"x\"", " realm= service= scope=");
    challenge_is("NTLM abc==, Bearer", " realm= service= scope=");
}

/* ---- Credentials. ---- */

static const char config[] = "{\"auths\":{"
                             "\"https://index.docker.io/v1/\":{\"auth\":\"aHViOnNlY3JldA==\"},"
                             "\"quay.example.org\":{\"username\":\"quay\",\"password\":\"p:w\"},"
                             "\"quay.example.org/team\":{\"username\":\"team\",\"password\":\"x\"},"
                             "\"quay.example.org/team/deep/\":{\"username\":\"deep\",\"password\":\"x\"},"
                             "\"http://localhost:5000\":{\"identitytoken\":\"id\",\"auth\":\"PHRva2VuPjo=\"},"
                             "\"*.gcr.example.org\":{\"username\":\"glob\",\"password\":\"x\"},"
                             "\"eu.gcr.example.org\":{\"username\":\"eu\",\"password\":\"x\"}}}";

static str user_for(struct arena *a, const char *registry, const char *path)
{
    struct auth auth;
    struct err err;
    str configs[] = {S("{\"auths\":{\"only.example.org\":{\"auth\":\"b25seTp4\"}}}"), str_of(config), S("{}")};
    assert_int_equal(auth_find(a, configs, 3, str_of(registry), str_of(path), &auth, &err), 0);
    return str_fmt(a, "%.*s|%.*s|%.*s", STR(auth.user), STR(auth.password), STR(auth.identity_token));
}

static void credentials_are_those_of_the_longest_key(void **state)
{
    static const char *const rows[][3] = {
        {"docker.io", "library/busybox", "hub|secret|"},
        {"quay.example.org", "other/x", "quay|p:w|"},
        {"quay.example.org", "team/x", "team|x|"},
        {"quay.example.org", "teamwork/x", "quay|p:w|"},
        {"quay.example.org", "team/deep/x", "deep|x|"},
        {"quay.example.org:443", "team/x", "||"},
        {"localhost:5000", "a/b", "<token>||id"},
        {"localhost", "a/b", "||"},
        {"us.gcr.example.org", "a/b", "glob|x|"},
        {"eu.gcr.example.org", "a/b", "eu|x|"},
        {"a.b.gcr.example.org", "a/b", "||"},
        {"gcr.example.org", "a/b", "||"},
        {"only.example.org", "a/b", "only|x|"},
        {"quay.example.org.evil.example", "team/x", "||"},
        {"evil.example", "quay.example.org/team/x", "||"},
    };
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        str got = user_for(&a, rows[i][0], rows[i][1]);
        if (!str_eq(got, str_of(rows[i][2])))
            fail_msg("%s/%s: %.*s", rows[i][0], rows[i][1], STR(got));
    }
}

static void secrets_that_make_no_sense_are_never_quoted(void **state)
{
    static const char *const bad[] = {
        "SECRET", "[\"SECRET\"]", "{\"auths\":{\"r.example\":{\"auth\":\"SECRET!\"}}}",
        "{\"auths\":{\"r.example\":{\"auth\":\"U0VDUkVU\"}}}", /* no colon */
    };
    struct arena a ARENA_SCOPE = {0};
    struct auth auth;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err;
        str text = str_of(bad[i]);
        assert_int_equal(auth_find(&a, &text, 1, S("r.example"), S("a/b"), &auth, &err), ERR_INVALID);
        assert_null(strstr(err.msg, "SECRET"));
        assert_null(strstr(err.msg, "U0VDUkVU"));
    }
}

/* ---- Both together: where an image is. ---- */

static void images_are_where_the_longest_mirror_says(void **state)
{
    static const struct fetch_mirror mirrors[] = {
        {S_INIT("docker.io"), S_INIT("hub.example.org:8443/proxy/")},
        {S_INIT("docker.io/library/"), S_INIT("lib.example.org")},
        {S_INIT("quay.example.org/te"), S_INIT("wrong.example.org")},
        {S_INIT("localhost:5001"), S_INIT("https://localhost:5001")},
        {S_INIT("tls.example.org"), S_INIT("https://127.0.0.1/tls")},
    };
    static const char *const rows[][3] = {
        {"busybox", "https://lib.example.org:443", "busybox"},
        {"acme/x:1", "https://hub.example.org:8443", "proxy/acme/x"},
        {"quay.example.org/team/x", "https://quay.example.org:443", "team/x"},
        {"localhost:5000/a/b", "http://localhost:5000", "a/b"},
        {"[::1]:5000/a/b", "http://[::1]:5000", "a/b"},
        {"127.0.0.1/a/b", "http://127.0.0.1:80", "a/b"},
        {"localhost:443/a/b", "https://localhost:443", "a/b"},
        {"localhost:5001/a/b", "https://localhost:5001", "a/b"},
        {"tls.example.org/a", "https://127.0.0.1:443", "tls/a"},
    };
    struct arena a ARENA_SCOPE = {0};
    struct oci_request request = {.timeout_ns = 1};
    for (size_t i = 0; i < COUNT(mirrors); i++)
        *vec_push(&a, &request.mirrors) = mirrors[i];
    *vec_push(&a, &request.auths) = S("{\"auths\":{\"docker.io\":{\"auth\":\"aHViOnNlY3JldA==\"}}}");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct oci_reference ref;
        struct oci_registry_place place;
        struct err err;
        assert_int_equal(oci_reference_parse(str_of(rows[i][0]), &ref, &err), 0);
        assert_int_equal(oci_registry_place(&a, &request, &ref, &place, &err), 0);
        if (!str_eq(place.url, str_of(rows[i][1])) || !str_eq(place.repository, str_of(rows[i][2])))
            fail_msg("%s: %.*s %.*s", rows[i][0], STR(place.url), STR(place.repository));
        assert_int_equal(place.user.n, 0); /* those of docker.io are not for its mirrors */
    }
}

static void mirrors_are_places_not_addresses(void **state)
{
    static const char *const wrong[] = {
        "http://127.0.0.1:5000", "ftp://x.example",       "https://https://x.example", "https://",
        "x.example/a:1",         "https://user@x.example"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct oci_request request = {.timeout_ns = 1};
        struct oci_reference ref;
        struct oci_registry_place place;
        struct err err;
        *vec_push(&a, &request.mirrors) = (struct fetch_mirror){S("r.example"), str_of(wrong[i])};
        assert_int_equal(oci_reference_parse(S("r.example/a/b:1"), &ref, &err), 0);
        if (oci_registry_place(&a, &request, &ref, &place, &err) != ERR_BAD_REQUEST)
            fail_msg("%s was taken", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_of_this_machine_private_or_public),
        cmocka_unit_test(who_sends_us_on_names_no_place_more_private_than_its_own),
        cmocka_unit_test(plain_names_of_this_machine),
        cmocka_unit_test(challenges_are_read),
        cmocka_unit_test(challenges_that_make_no_sense_are_none),
        cmocka_unit_test(credentials_are_those_of_the_longest_key),
        cmocka_unit_test(secrets_that_make_no_sense_are_never_quoted),
        cmocka_unit_test(images_are_where_the_longest_mirror_says),
        cmocka_unit_test(mirrors_are_places_not_addresses),
    };
    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
