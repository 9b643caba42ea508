/* SPDX-License-Identifier: Apache-2.0 */
/* What cases cannot see: that an apply which changes nothing is recognised the quick way, and that large lists and many
 * managers cost no square; and a limit too large for a case. */
#include "kinds/builtin.h"
#include "patch/apply_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct json decode(struct arena *a, str text)
{
    struct json v;
    struct err err;
    assert_int_equal(json_decode(a, text, NULL, NULL, &v, &err), 0);
    return v;
}

static struct apply_args args_of(const struct kind *k, const struct json *live, const struct json *config)
{
    return (struct apply_args){
        .write = {.type = typed_of_shape(k->shape),
                  .api_version = S("v1"),
                  .kind = str_of(k->kind),
                  .manager = S("m"),
                  .time = S("2026-01-01T00:00:00Z")},
        .live = live,
        .config = config,
    };
}

static const struct json *own_entry(const struct json *live)
{
    return &managed_of(live)->items[0];
}

static const char pod[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"1\",\"b\":\"2\"},"
    "\"finalizers\":[\"e/f\",\"g/h\"]},\"spec\":{\"hostNetwork\":true,\"terminationGracePeriodSeconds\":30,"
    "\"nodeSelector\":{\"n\":\"1\"},\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"args\":[\"a\",\"b\"],"
    "\"ports\":[{\"containerPort\":80},{\"containerPort\":53,\"protocol\":\"UDP\"}],\"env\":[{\"name\":\"E\"}]},"
    "{\"name\":\"d\",\"image\":\"j\",\"resources\":{\"limits\":{\"cpu\":\"1\"}}}]}}";

static void recognises_no_op(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json config = decode(&a, str_of(pod));
    struct apply_args args = args_of(kind_builtin_by_body(S("v1"), S("Pod")), NULL, &config);
    struct apply_result result;
    struct err err;
    assert_int_equal(apply_patch(&a, &args, &result, &err), 0);
    struct json live = result.object;
    args.live = &live;
    assert_true(apply_is_noop(&args, own_entry(&live)));
    assert_int_equal(apply_patch(&a, &args, &result, &err), 0);
    assert_false(result.changed);
    assert_ptr_equal(result.object.members, live.members);
}

/* Each replaces a piece of the text; the walk must not take the outcome for the same. */
static const struct {
    const char *from, *to;
} changes[] = {
    {"\"image\":\"i\"", "\"image\":\"other\""},
    {"\"hostNetwork\":true", "\"hostNetwork\":false"},
    {"\"hostNetwork\":true,", ""},
    {"\"hostNetwork\":true", "\"hostNetwork\":true,\"hostPID\":true"},
    {"\"args\":[\"a\",\"b\"]", "\"args\":[\"b\",\"a\"]"},
    {"[\"e/f\",\"g/h\"]", "[\"g/h\",\"e/f\"]"},
    {"[\"e/f\",\"g/h\"]", "[\"g/h\"]"},
    {"{\"containerPort\":80},", ""},
    {"{\"containerPort\":80}", "{\"containerPort\":81}"},
    {"{\"containerPort\":80}", "{\"containerPort\":80,\"protocol\":\"TCP\"}"},
    {",\"b\":\"2\"", ""},
    {"\"limits\":{\"cpu\":\"1\"}", ""},
    {"\"name\":\"x\"", "\"name\":\"y\""},
    {"\"kind\":\"Pod\"", "\"kind\":\"Node\""},
    {"\"env\":[{\"name\":\"E\"}]", "\"env\":[{\"name\":\"E\"},{\"name\":\"E\"}]"},
    {"\"env\":[{\"name\":\"E\"}]", "\"env\":[]"},
    {"\"spec\":", "\"bogus\":1,\"spec\":"},
};

static str replaced(struct arena *a, str text, str from, str to)
{
    ptrdiff_t at = str_find(text, from);
    assert_true(at >= 0);
    struct buf b = {.arena = a};
    buf_add_str(&b, str_upto(text, (size_t)at));
    buf_add_str(&b, to);
    buf_add_str(&b, str_from(text, (size_t)at + from.n));
    return buf_str(&b);
}

static void recognises_changes(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json config = decode(&a, str_of(pod));
    struct apply_args args = args_of(kind_builtin_by_body(S("v1"), S("Pod")), NULL, &config);
    struct apply_result result;
    struct err err;
    assert_int_equal(apply_patch(&a, &args, &result, &err), 0);
    struct json live = result.object;
    args.live = &live;
    for (size_t i = 0; i < COUNT(changes); i++) {
        config = decode(&a, replaced(&a, str_of(pod), str_of(changes[i].from), str_of(changes[i].to)));
        assert_false(apply_is_noop(&args, own_entry(&live)));
    }
}

/* Twenty thousand items or entries, in one order and in the other, in well under a second even with sanitizers: a loop
 * inside a loop would run for minutes. */
enum { MANY = 20000 };

static str many_ports(struct arena *a, bool backwards)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"x\",\"labels\":{"));
    for (int i = 0; i < MANY; i++)
        buf_fmt(&b, "%s\"l%d\":\"1\"", i ? "," : "", backwards ? MANY - i : i);
    buf_add_str(&b, S("}},\"spec\":{\"ports\":["));
    for (int i = 0; i < MANY; i++)
        buf_fmt(&b, "%s{\"port\":%d}", i ? "," : "", backwards ? MANY - i : i);
    buf_add_str(&b, S("]}}"));
    return buf_str(&b);
}

static void large_objects_cost_no_square(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json config = decode(&a, many_ports(&a, false)), other = decode(&a, many_ports(&a, true));
    struct apply_args args = args_of(kind_builtin_by_body(S("v1"), S("Service")), NULL, &config);
    struct apply_result result;
    struct err err;
    assert_int_equal(apply_patch(&a, &args, &result, &err), 0);
    struct json live = result.object;
    args.live = &live;
    args.config = &other;
    assert_int_equal(apply_patch(&a, &args, &result, &err), 0);
    assert_true(result.changed);
    args.write.manager = S("n");
    assert_int_equal(apply_patch(&a, &args, &result, &err), 0);
    struct managed_args update = {.write = args.write, .old = &live, .next = &other};
    managed_update(&a, &update);
}

static void many_managers_cost_no_square(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    buf_add_str(&b, S("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"uid\":\"u\","
                      "\"managedFields\":["));
    for (int i = 0; i < MANY / 4; i++)
        buf_fmt(&b,
                "%s{\"manager\":\"m%d\",\"operation\":\"%s\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
                "\"fieldsV1\":{\"f:data\":{\"f:k%d\":{}}}}",
                i ? "," : "", i, i % 2 ? "Apply" : "Update", i);
    buf_add_str(&b, S("]},\"data\":{\"k1\":\"1\"}}"));
    struct json live = decode(&a, buf_str(&b));
    struct json config = decode(&a, S("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"},"
                                      "\"data\":{\"k2\":\"2\",\"k1\":\"2\"}}"));
    struct apply_args args = args_of(kind_builtin_by_body(S("v1"), S("ConfigMap")), &live, &config);
    struct apply_result result;
    struct err err;
    assert_int_equal(apply_patch(&a, &args, &result, &err), ERR_CONFLICT);
    assert_int_equal(result.conflicts.n, 2);
    struct managed_args update = {.write = args.write, .old = &live, .next = &config};
    struct json object = managed_update(&a, &update);
    assert_int_equal(json_len(managed_of(&object)), MANY / 8 - 1 + MANAGED_MAX_UPDATERS);
}

/* Of an object with one more annotation, so that all of them together have this many bytes. */
static bool is_annotation_kept(size_t total)
{
    static const char name[] = "kubectl.kubernetes.io/last-applied-configuration";
    static const char config_text[] = "{\"metadata\":{\"name\":\"x\"}}";
    struct arena a ARENA_SCOPE = {0};
    size_t rest = total - (sizeof name - 1) - sizeof config_text; /* the text is stored with a newline behind it */
    struct json annotations = json_obj(), meta = json_obj(), object = json_obj(),
                config = decode(&a, str_of(config_text));
    char *filler = arena_alloc(&a, rest);
    memset(filler, 'x', rest);
    json_set(&a, &annotations, str_of(name), json_str(S("{}")));
    json_set(&a, &annotations, S("a"), json_str((str){filler, rest - 1}));
    json_set(&a, &meta, S("annotations"), annotations);
    json_set(&a, &object, S("metadata"), meta);
    struct json next = last_applied_refresh(&a, &object, &config);
    return last_applied_text(&next).n > 0;
}

static void annotation_goes_when_it_is_too_long(void **state)
{
    const size_t limit = 262144; /* 256 KiB */
    assert_true(is_annotation_kept(limit));
    assert_false(is_annotation_kept(limit + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recognises_no_op),
        cmocka_unit_test(recognises_changes),
        cmocka_unit_test(large_objects_cost_no_square),
        cmocka_unit_test(many_managers_cost_no_square),
        cmocka_unit_test(annotation_goes_when_it_is_too_long),
    };
    return cmocka_run_group_tests_name("apply", tests, NULL, NULL);
}
