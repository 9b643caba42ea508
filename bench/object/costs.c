/* SPDX-License-Identifier: Apache-2.0 */
/* What an object costs, as multiples of what yyjson alone needs for the same bytes, measured in the same run. Each figure
 * is the median of rounds in which all steps take turns, in CPU time of this process: other load on the machine moves
 * all of them alike. */
#include "patch/apply.h"
#include "sample.h"
#include "schema/schema.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <yyjson.h>

enum { ROUNDS = 31, TURNS = 40 };

struct bench {
    str object, schema_text;
    struct json schema_tree, decoded;
    struct schema *schema;
    struct apply_args apply; /* what the live object came from, once more */
    struct json live;
    struct arena arena; /* of one turn */
    struct buf out;
};

static double cpu_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        abort();
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void must(int rc, const struct err *err)
{
    if (rc < 0) {
        (void)fprintf(stderr, "bench: %s\n", err->msg);
        exit(1);
    }
}

static void bare(struct bench *b)
{
    size_t n;
    yyjson_doc *doc = yyjson_read(b->object.p, b->object.n, 0);
    char *text = yyjson_write(doc, 0, &n);
    if (text == NULL)
        abort();
    free(text);
    yyjson_doc_free(doc);
}

static void decode(struct bench *b)
{
    struct err err;
    must(json_decode(&b->arena, b->object, NULL, NULL, &b->decoded, &err), &err);
}

static void encode(struct bench *b)
{
    b->out.n = 0;
    json_encode(&b->out, &b->decoded, 0);
}

static void admit(struct bench *b)
{
    struct field_errors errs = {.arena = &b->arena};
    struct schema_prune_args args = {.is_resource = true};
    schema_node root = schema_root(b->schema);
    schema_prune(root, &b->decoded, &args);
    if (!schema_default(root, &b->arena, &b->decoded) || !schema_validate(root, (str){0}, &b->decoded, &errs)) {
        struct buf text = {0};
        field_errors_format(&text, &errs);
        (void)fprintf(stderr, "bench: %.*s\n", STR(buf_str(&text)));
        exit(1);
    }
}

static void whole(struct bench *b)
{
    decode(b);
    admit(b);
    encode(b);
}

static void compile(struct bench *b)
{
    struct err err;
    struct schema *s;
    must(schema_compile(&b->schema_tree, &s, &err), &err);
    schema_free(s);
}

static void apply_again(struct bench *b)
{
    struct apply_result result = {0};
    struct err err;
    must(apply_patch(&b->arena, &b->apply, &result, &err), &err);
    if (result.changed)
        abort();
}

enum { LITERALS = 100 }; /* object literals in one turn */

static void build_by_template(struct bench *b)
{
    for (int i = 0; i < LITERALS; i++)
        json_build(&b->arena, "{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}", "apps/v1",
                   "ReplicaSet", "web", "6c2fd96e");
}

static void build_by_hand(struct bench *b)
{
    for (int i = 0; i < LITERALS; i++) {
        struct json ref = json_obj();
        json_set(&b->arena, &ref, S("apiVersion"), json_str(S("apps/v1")));
        json_set(&b->arena, &ref, S("kind"), json_str(S("ReplicaSet")));
        json_set(&b->arena, &ref, S("name"), json_str(S("web")));
        json_set(&b->arena, &ref, S("uid"), json_str(S("6c2fd96e")));
        json_set(&b->arena, &ref, S("controller"), json_bool(true));
    }
}

/* The configuration, as one decodes it, and the live object that its first apply made. */
static void prepare_apply(struct bench *b, struct arena *a)
{
    static struct json config;
    struct apply_result first = {0};
    struct err err;
    must(json_decode(a, b->object, NULL, NULL, &config, &err), &err);
    json_remove(&config, S("status"));
    struct json *meta = json_get_mut(&config, S("metadata"));
    json_remove(meta, S("resourceVersion"));
    b->apply = (struct apply_args){
        .write = {.type = typed_of_schema(b->schema),
                  .api_version = S("example.com/v1"),
                  .kind = S("Fleet"),
                  .manager = S("bench"),
                  .time = S("2026-11-01T10:00:00Z")},
        .config = &config,
    };
    must(apply_patch(a, &b->apply, &first, &err), &err);
    b->live = first.object;
    b->apply.live = &b->live;
}

static const struct step {
    const char *name;
    void (*run)(struct bench *b);
} steps[] = {
    {"yyjson parse + write", bare},
    {"decode", decode},
    {"decode + prune + default + validate + encode", whole},
    {"apply that changes nothing", apply_again},
    {"compile the schema", compile},
    {"100 object literals by template", build_by_template},
    {"100 object literals by hand", build_by_hand},
};

enum { BARE, DECODE, WHOLE, APPLY, COMPILE, TEMPLATE, BY_HAND, STEPS };

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(struct bench *b, double median[STEPS])
{
    static double us[STEPS][ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        for (int s = 0; s < STEPS; s++) {
            double from = cpu_us();
            for (int t = 0; t < TURNS; t++) {
                arena_reset(&b->arena);
                steps[s].run(b);
            }
            us[s][r] = (cpu_us() - from) / TURNS;
        }
    }
    for (int s = 0; s < STEPS; s++) {
        qsort(us[s], ROUNDS, sizeof us[s][0], by_value);
        median[s] = us[s][ROUNDS / 2];
        printf("  %-46s %8.1f us\n", steps[s].name, median[s]);
    }
}

int main(void)
{
    struct arena data ARENA_SCOPE = {0};
    struct bench b = {.object = sample_object(&data), .schema_text = sample_schema(&data)};
    struct err err;
    double us[STEPS];
    must(json_decode(&data, b.schema_text, NULL, NULL, &b.schema_tree, &err), &err);
    must(schema_compile(&b.schema_tree, &b.schema, &err), &err);
    size_t idle = schema_footprint(b.schema);
    prepare_apply(&b, &data);
    printf("custom resource of %zu bytes, schema of %zu bytes\n", b.object.n, b.schema_text.n);
    measure(&b, us);
    printf("ratios\n");
    printf("  %-46s %8.2f   (at most 5)\n", "whole way of an object / yyjson parse + write", us[WHOLE] / us[BARE]);
    printf("  %-46s %8.2f   (at most 2)\n", "apply that changes nothing / decode", us[APPLY] / us[DECODE]);
    printf("  %-46s %8.2f   (at most 2)\n", "bytes of idle schema / byte of schema JSON",
           (double)idle / (double)b.schema_text.n);
    printf("  %-46s %8.1f   (under 300)\n", "microseconds to compile the schema", us[COMPILE]);
    printf("  %-46s %8.2f\n", "object literal by template / by hand", us[TEMPLATE] / us[BY_HAND]);
    schema_free(b.schema);
    arena_done(&b.arena);
    buf_done(&b.out);
    return 0;
}
