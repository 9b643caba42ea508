/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole requests, one after another, into a whole server: "METHOD TARGET", a content type, then the body up to a line "---".
 * Whoever asks may do everything, so every handler is reached. Each request is answered, and what looks like JSON is JSON.
 */
#include "api/api.h"
#include "api/loopback.h"
#include "authn/authn_token.h"
#include "authn/pki_issue.h"
#include "json/json.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUESTS_MAX = 8, TURN_NS = 1000000, TURNS_MAX = 20000, STREAM_TURNS = 3 };

static struct {
    struct loop *loop;
    struct api *api;
    struct log log;
    struct token_signer *signer;
    struct random_seeded chance;
    struct clock_fake time;
    bool is_ready;
} world;

struct answer {
    bool is_done;
    int status;
    struct buf body;
};

static void discard(void *ctx, str line)
{
    (void)ctx;
    (void)line;
}

static void ready(void *ctx, const struct err *err)
{
    (void)ctx;
    assert(err == NULL);
    world.is_ready = true;
}

/* The files stay open, so nothing is left behind, however this ends. */
static void unlink_all(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

static void make_signer(void)
{
    struct arena a ARENA_SCOPE = {0};
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    struct err err;
    assert(pki_make_key(&key, &err) == 0);
    assert(token_signer_new(pem_write_key(&a, key), TOKEN_ISSUER, &world.signer, &err) == 0);
}

static void start(void)
{
    make_signer();
    char memory[] = "/dev/shm/fuzz-api-XXXXXX",
         disk[] = "/tmp/fuzz-api-XXXXXX"; /* memory is quicker, if there is such */
    char *dir = mkdtemp(memory) ? memory : mkdtemp(disk);
    struct err err;
    assert(dir && loop_new(&world.loop, &err) == 0);
    world.time = (struct clock_fake){.wall = INT64_C(1767323045) * 1000000000};
    world.chance = (struct random_seeded){.state = 1};
    world.log = (struct log){.level = LOG_ERROR, .clock = clock_of_fake(&world.time), .write = discard};
    struct api_options options = {.loop = world.loop,
                                  .data_dir = dir,
                                  .clock = clock_of_fake(&world.time),
                                  .random = random_of_seed(&world.chance),
                                  .log = &world.log,
                                  .signer = world.signer,
                                  .ca_pem = S("-----BEGIN CERTIFICATE-----\n"),
                                  .address = S("127.0.0.1:6443")};
    assert(api_open(&options, ready, NULL, &world.api, &err) == 0);
    while (!world.is_ready)
        loop_turn(world.loop, TURN_NS);
    unlink_all(dir);
}

static void done(void *ctx, int status, struct http_headers headers, str body)
{
    struct answer *answer = ctx;
    (void)headers;
    answer->is_done = true;
    answer->status = status;
    buf_add_str(&answer->body, body);
}

static void piece(void *ctx, str bytes)
{
    (void)ctx;
    assert(bytes.n > 0);
}

static bool is_stream(str target)
{
    return str_find(target, S("watch")) >= 0;
}

static struct answer ask(str method, str target, str type, str body)
{
    struct answer answer = {0};
    struct loopback_call call = {.who = loopback_self(),
                                 .method = method,
                                 .target = target,
                                 .content_type = type,
                                 .body = body,
                                 .piece = is_stream(target) ? piece : NULL,
                                 .done = done,
                                 .ctx = &answer};
    struct loopback *l = loopback_start(world.api, &call);
    int turns = is_stream(target) ? STREAM_TURNS : TURNS_MAX;
    for (int i = 0; i < turns && !answer.is_done; i++) {
        loop_turn(world.loop, i ? TURN_NS : 0);
        clock_fake_advance(&world.time, TURN_NS);
    }
    if (!answer.is_done)
        loopback_cancel(l);
    assert(answer.is_done || is_stream(target));
    return answer;
}

/* Errors speak JSON, but for paths that lead nowhere; a list or object that was served is JSON too. */
static void check_body(const struct answer *answer, struct json *ret, struct arena *a)
{
    struct json_limits limits = {.bytes = SIZE_MAX};
    struct err err;
    *ret = json_null();
    str text = buf_str(&answer->body);
    if (text.n == 0 || text.p[0] != '{')
        return;
    assert(json_decode(a, text, &limits, NULL, ret, &err) == 0);
    if (answer->status >= 400 && str_eq(json_get_text(ret, S("kind")), S("Status")))
        assert(json_get_text(ret, S("message")).n > 0 || answer->status < 500);
}

static void run(str method, str target, str type, str body)
{
    struct arena a ARENA_SCOPE = {0};
    struct answer answer = ask(method, target, type, body);
    struct json object;
    if (answer.is_done && answer.status) {
        assert(answer.status >= 200 && answer.status < 600);
        check_body(&answer, &object, &a);
    }
    buf_done(&answer.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 20000)
        return 0;
    if (!world.api)
        start();
    str rest = {(const char *)data, size};
    for (int i = 0; i < REQUESTS_MAX && rest.n; i++) {
        ptrdiff_t end = str_find(rest, S("\n---\n"));
        str one = end < 0 ? rest : str_upto(rest, (size_t)end);
        rest = end < 0 ? (str){0} : str_from(rest, (size_t)end + 5);
        str line, method, target, type, body;
        str_cut(one, '\n', &line, &body);
        str_cut(line, ' ', &method, &target);
        str_cut(body, '\n', &type, &body);
        if (method.n && target.n)
            run(method, target, type, body);
    }
    /* Everything that piled up goes, so that inputs do not depend on each other for ever. */
    struct answer gone = ask(S("DELETE"), S("/api/v1/namespaces/default/configmaps"), (str){0}, (str){0});
    assert(gone.status == 200);
    buf_done(&gone.body);
    return 0;
}
