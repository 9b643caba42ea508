/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text. What decodes must print as YAML that reads back as the same value; from then on text and value stay as they
 * are; every document of a stream likewise. What is JSON must be the same value when read as YAML. Strict and lenient reading must agree.
 */
#include "same.h"
#include "json/yaml.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits wide = {.bytes = (size_t)1 << 30};

static struct json read_back(struct arena *a, const struct buf *text)
{
    struct json v;
    struct err err;
    int r = yaml_decode(a, buf_str(text), &wide, NULL, &v, &err);
    assert(r == 0);
    return v;
}

/* Once printed and read, a value stays as it is. */
static void check_round_trip(struct arena *a, const struct json *v)
{
    struct buf text = {.arena = a}, again = {.arena = a}, third = {.arena = a};
    yaml_encode(&text, v);
    struct json once = read_back(a, &text);
    assert(same_as_printed(v, &once));
    yaml_encode(&again, &once);
    struct json twice = read_back(a, &again);
    assert(json_equal(&once, &twice));
    yaml_encode(&third, &twice);
    assert(str_eq(buf_str(&again), buf_str(&third)));
}

static void check_error(const struct err *err)
{
    assert(err->code == ERR_BAD_REQUEST || err->code == ERR_TOO_LARGE);
    assert(err->msg[0] && str_is_utf8(str_of(err->msg)));
}

static void check_stream(struct arena *a, str text)
{
    json_vec all = {0};
    struct err err;
    if (yaml_decode_all(a, text, NULL, &all, &err) < 0) {
        check_error(&err);
        assert(all.n == 0);
        return;
    }
    vec_each(&all, v) check_round_trip(a, v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v, strict, json;
    struct err err;
    struct json_notes notes = {0};
    str text = {(const char *)data, size};
    check_stream(&a, text);
    if (yaml_decode(&a, text, NULL, &notes, &v, &err) < 0) {
        check_error(&err);
        assert(yaml_decode(&a, text, NULL, NULL, &strict, &err) < 0);
        assert(json_decode(&a, text, NULL, NULL, &json, &err) < 0 || !json_is_obj(&json));
        return 0;
    }
    bool twice = yaml_decode(&a, text, NULL, NULL, &strict, &err) < 0;
    assert(twice == (notes.duplicates.n > 0));
    assert(twice || json_equal(&v, &strict));
    if (json_decode(&a, text, NULL, NULL, &json, &err) == 0 && json_is_obj(&json))
        assert(json_equal(&v, &json));
    check_round_trip(&a, &v);
    return 0;
}
