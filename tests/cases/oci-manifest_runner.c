/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the documents of images. Each round:
 *
 *     --- when manifest [type=TYPE]      a manifest or an index, announced as TYPE
 *     --- when config                    a config
 *     --- when base                      two documents parted by a line "+": a manifest and its config. Which layer is the package?
 *     --- expect                         what it says, or what is wrong with it
 *
 * In the text $a stands for the digest sha256:aaaa…, for every hex digit; [N*x] for N times x with commas between them. Of an
 * index the image that would be taken is marked with "*". */
#include "cases/case.h"
#include "oci/oci_manifest.h"

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static void add_digest(struct buf *out, char digit)
{
    buf_add_str(out, S("sha256:"));
    for (int i = 0; i < 64; i++)
        buf_add_char(out, digit);
}

static str with_digests(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '$' && i + 1 < text.n && is_hex(text.p[i + 1]))
            add_digest(&b, text.p[++i]);
        else
            buf_add_char(&b, text.p[i]);
    }
    return buf_str(&b);
}

/* [N*x], where x has no brackets. */
static str repeated(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    str before, inside, times, what;
    while (str_cut(text, '[', &before, &text)) {
        uint64_t n = 0;
        buf_add_str(&b, before);
        buf_add_char(&b, '[');
        str rest = text;
        if (!str_cut(text, ']', &inside, &rest) || !str_cut(inside, '*', &times, &what) || !str_to_uint64(times, &n))
            continue;
        for (uint64_t i = 0; i < n; i++)
            buf_fmt(&b, "%s%.*s", i ? "," : "", STR(what));
        buf_add_char(&b, ']');
        text = rest;
    }
    buf_add_str(&b, before);
    return buf_str(&b);
}

static str prepared(struct arena *a, str text)
{
    return with_digests(a, repeated(a, text));
}

/* "$a" again, as the cases have it. */
static void add_shown(struct buf *out, struct arena *a, const struct oci_digest *d)
{
    str hex = oci_digest_hex(a, d);
    buf_fmt(out, "$%c", hex.p[0]);
}

static void add_descriptor(struct buf *out, struct arena *a, const char *what, const struct oci_descriptor *d)
{
    buf_fmt(out, "%s %.*s ", what, STR(d->media_type));
    add_shown(out, a, &d->digest);
    buf_fmt(out, " %llu", (unsigned long long)d->size);
    if (d->os.n)
        buf_fmt(out, " %.*s/%.*s", STR(d->os), STR(d->architecture));
    if (d->variant.n)
        buf_fmt(out, "/%.*s", STR(d->variant));
    for (size_t i = 0; i < d->annotations.n; i++)
        buf_fmt(out, " %.*s=%.*s", STR(d->annotations.p[i].key), STR(d->annotations.p[i].value));
    buf_add_char(out, '\n');
}

static void show_index(struct buf *out, struct arena *a, const struct oci_manifest *m)
{
    const struct oci_descriptor *chosen = NULL;
    struct err err;
    int code = oci_index_choose(m, &chosen, &err);
    buf_fmt(out, "index %.*s\n", STR(m->media_type));
    for (size_t i = 0; i < m->n_layers; i++)
        add_descriptor(out, a, &m->layers[i] == chosen ? "*" : "-", &m->layers[i]);
    if (code < 0)
        buf_fmt(out, "%s: %s\n", err_name(err.code), err.msg);
}

static void show_manifest(struct case_file *c, const struct case_section *when, struct buf *out)
{
    struct oci_manifest m;
    struct err err;
    if (oci_manifest_parse(c->arena, prepared(c->arena, when->text), case_arg(when, S("type")), &m, &err) < 0) {
        buf_fmt(out, "%s: %s", err_name(err.code), err.msg);
        return;
    }
    if (m.type == OCI_INDEX) {
        show_index(out, c->arena, &m);
        return;
    }
    buf_fmt(out, "manifest %.*s\n", STR(m.media_type));
    add_descriptor(out, c->arena, "config", &m.config);
    for (size_t i = 0; i < m.n_layers; i++)
        add_descriptor(out, c->arena, "layer", &m.layers[i]);
}

static void show_config(struct case_file *c, const struct case_section *when, struct buf *out)
{
    struct oci_config config;
    struct err err;
    if (oci_config_parse(c->arena, prepared(c->arena, when->text), &config, &err) < 0) {
        buf_fmt(out, "%s: %s", err_name(err.code), err.msg);
        return;
    }
    for (size_t i = 0; i < config.labels.n; i++)
        buf_fmt(out, "label %.*s=%.*s\n", STR(config.labels.p[i].key), STR(config.labels.p[i].value));
    for (size_t i = 0; i < config.n_diff_ids; i++) {
        buf_fmt(out, "layer ");
        add_shown(out, c->arena, &config.diff_ids[i]);
        buf_add_char(out, '\n');
    }
    if (out->n == 0)
        buf_fmt(out, "nothing");
}

static void show_base(struct case_file *c, const struct case_section *when, struct buf *out)
{
    struct oci_manifest m;
    struct oci_config config;
    ptrdiff_t base = -1;
    struct err err;
    str text = prepared(c->arena, when->text);
    ptrdiff_t plus = str_find(text, S("\n+\n"));
    if (plus < 0) {
        case_fail(c, when, "there is no line \"+\"");
        return;
    }
    if (oci_manifest_parse(c->arena, str_upto(text, (size_t)plus), (str){0}, &m, &err) < 0 ||
        oci_config_parse(c->arena, str_from(text, (size_t)plus + 3), &config, &err) < 0 ||
        oci_manifest_find_base(c->arena, &m, &config, &base, &err) < 0)
        buf_fmt(out, "%s: %s", err_name(err.code), err.msg);
    else if (base < 0)
        buf_fmt(out, "none");
    else
        buf_fmt(out, "layer %td", base);
}

static void run(struct case_file *c)
{
    const struct case_section *when = NULL, *expect = NULL;
    while ((when = case_find(c, expect, S("when")))) {
        struct buf got = {.arena = c->arena};
        expect = case_find(c, when, S("expect"));
        if (expect == NULL) {
            case_fail(c, when, "no expectation");
            return;
        }
        if (case_has_arg(when, S("manifest")))
            show_manifest(c, when, &got);
        else if (case_has_arg(when, S("config")))
            show_config(c, when, &got);
        else if (case_has_arg(when, S("base")))
            show_base(c, when, &got);
        else
            case_fail(c, when, "no such document");
        case_expect(c, expect, buf_str(&got));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
