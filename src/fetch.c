/* SPDX-License-Identifier: Apache-2.0 */
/* reeve-fetch: composition root of the child that opens foreign bytes. One request on standard input, JSON lines on standard output
 * (oci/fetch.h), then it ends. It always exits with 0 when it could say what it has to say.
 *
 *   read request ► decide where from ► load what is needed for that ► sandbox ► foreign bytes ► lines
 *
 * Before the sandbox only our own bytes are read: the request, the certificates, and the index of the local store, which is ours as
 * all of the data directory. */
#include "base/clock.h"
#include "oci/emit.h"
#include "oci/fetch_protocol.h"
#include "oci/image.h"
#include "oci/layout.h"
#include "oci/oci_build.h"
#include "oci/oci_registry.h"
#include "oci/sandbox.h"
#include "package/files.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const uint64_t MEMORY_MAX = UINT64_C(3) << 29, FILE_MAX = UINT64_C(1) << 30;
enum {
    INPUT_PIECE = 64 * 1024,
    CPU_SECONDS = 120,
    UI_SCHEMA_MAX = 2 * 1024 * 1024,
    ICON_MAX = 2 * 1024 * 1024,
    DEPTH_MAX = 900
};
static const int64_t TELL_NS = INT64_C(50000000); /* no oftener is it said how far it has come, but for whole layers */

struct task {
    struct arena arena;
    struct oci_request request;
    struct oci_reference ref;
    bool needs_registry, is_from_store;
    struct oci_registry_place place; /* where the registry is, and who we are there */
    enum oci_format format;          /* of what is built */
    struct oci_layout *store;
    struct oci_registry *registry;
    struct emit emit;
    struct oci_progress told; /* last, and when */
    int64_t told_ns;
};

/* ---- The request. ---- */

static int read_input(struct buf *b, struct err *err)
{
    for (;;) {
        buf_grow(b, INPUT_PIECE);
        ssize_t n = read(STDIN_FILENO, b->p + b->n, b->cap - b->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "read request: %m");
        if (n == 0)
            return 0;
        b->n += (size_t)n;
        if (b->n > OCI_REQUEST_MAX)
            return err_set(err, ERR_TOO_LARGE, "request is too large");
    }
}

static int read_request(struct task *t, struct err *err)
{
    struct buf input = {.arena = &t->arena};
    if (read_input(&input, err) < 0)
        return err->code;
    int code = oci_request_decode(&t->arena, buf_str(&input), &t->request, err);
    return code < 0 ? code : oci_reference_parse(t->request.reference, &t->ref, err);
}

/* ---- Where from. ---- */

static int look_into_store(struct task *t, struct err *err)
{
    t->is_from_store = t->request.policy == FETCH_NEVER;
    if (t->request.policy != FETCH_IF_NOT_PRESENT || t->request.store.n == 0)
        return 0;
    return oci_layout_at_has(str_cstr(&t->arena, t->request.store), &t->ref, &t->is_from_store, err);
}

/* A tree with one of these at its root is a package of today's format. */
static enum oci_format format_of(struct task *t)
{
    static const char *const names[] = {"crossplane.yaml", "package.yaml"};
    for (size_t i = 0; i < COUNT(names); i++) {
        str path = str_fmt(&t->arena, "%.*s/%s", STR(t->request.directory), names[i]);
        if (access(str_cstr(&t->arena, path), F_OK) == 0)
            return OCI_FORMAT_XPKG;
    }
    return OCI_FORMAT_REGISTRY;
}

static int decide(struct task *t, struct err *err)
{
    switch (t->request.op) {
    case OCI_BUILD:
    case OCI_OPEN:
        t->format = format_of(t);
        return 0;
    case OCI_COPY:
    case OCI_PUSH:
        t->needs_registry = true;
        break;
    case OCI_PULL:
    case OCI_RESOLVE:
        if (look_into_store(t, err) < 0)
            return err->code;
        t->needs_registry = !t->is_from_store;
        break;
    }
    return t->needs_registry ? oci_registry_place(&t->arena, &t->request, &t->ref, &t->place, err) : 0;
}

/* ---- What is needed from here on, and the sandbox. ---- */

static int prepare(struct task *t, struct err *err)
{
    enum oci_op op = t->request.op;
    int code = 0;
    if (t->request.store.n == 0 && (t->is_from_store || op == OCI_PUSH || op == OCI_COPY || op == OCI_BUILD))
        return err_set(err, ERR_NOT_FOUND, "there is no local store");
    const char *path = str_cstr(&t->arena, t->request.store);
    if (op == OCI_BUILD || op == OCI_COPY)
        code = oci_layout_create(path, &t->store, err);
    else if (t->is_from_store || op == OCI_PUSH)
        code = oci_layout_open(path, &t->store, err);
    if (code == 0 && t->needs_registry)
        code = oci_registry_prepare(&t->arena, &t->request, &t->place, err);
    return code;
}

static int enter(struct task *t, struct err *err)
{
    const struct oci_request *r = &t->request;
    VEC(const char *) read = {0};
    bool writes = r->op == OCI_COPY || r->op == OCI_BUILD;
    if (r->store.n)
        *vec_push(&t->arena, &read) = str_cstr(&t->arena, r->store);
    if (r->op == OCI_BUILD || r->op == OCI_OPEN)
        *vec_push(&t->arena, &read) = str_cstr(&t->arena, r->directory);
    for (size_t i = 0; t->needs_registry && oci_registry_files[i]; i++)
        *vec_push(&t->arena, &read) = oci_registry_files[i];
    *vec_push(&t->arena, &read) = NULL;
    struct sandbox box = {
        .read = read.p,
        .write = writes ? str_cstr(&t->arena, r->store) : NULL,
        .ports = t->place.ports,
        .n_ports = t->needs_registry ? t->place.n_ports : 0,
        .memory = MEMORY_MAX,
        .cpu_seconds = CPU_SECONDS,
        .file_bytes = FILE_MAX,
    };
    return sandbox_enter(&box, err);
}

/* ---- Pull and open: the files of a package, as lines. ---- */

static bool keeps(void *ctx, str path)
{
    (void)ctx;
    return package_file_kind(path) != PACKAGE_FILE_NONE;
}

static const struct yaml_each_limits yaml_limits = {.bytes = PACKAGE_MAX_UNPACKED,
                                                    .documents = PACKAGE_MAX_DOCUMENTS,
                                                    .characters = PACKAGE_MAX_CRD_BYTES,
                                                    .depth = DEPTH_MAX};

static int emit_file(struct emit *p, const struct oci_file *file, struct err *err)
{
    enum package_file kind = package_file_kind(file->path);
    if (kind == PACKAGE_FILE_YAML)
        return emit_yaml(p, file->path, file->data, &yaml_limits, err);
    if (file->data.n > (kind == PACKAGE_FILE_TEXT ? UI_SCHEMA_MAX : ICON_MAX))
        return err_set(err, ERR_TOO_LARGE, "%.*s: has %zu bytes, more than may be", STR(file->path), file->data.n);
    return kind == PACKAGE_FILE_TEXT ? emit_text(p, file->path, file->data, err)
                                     : emit_base64(p, file->path, file->data, err);
}

static bool is_known(const struct task *t, str digest)
{
    for (size_t i = 0; i < t->request.have.n; i++) {
        if (str_eq(t->request.have.p[i], digest))
            return true;
    }
    return false;
}

static int emit_digest(struct task *t, const struct oci_digest *digest, uint64_t size, struct err *err)
{
    const struct emit_image image = {
        .digest = digest,
        .reference = oci_reference_normalize(&t->arena, &t->ref).text,
        .from = t->request.op == OCI_OPEN ? "directory"
                : t->is_from_store        ? "store"
                                          : "registry",
        .size = size,
    };
    return emit_manifest(&t->emit, &image, err);
}

static uint64_t size_of(const struct oci_image *image)
{
    uint64_t sum = image->manifest.config.size;
    for (size_t i = 0; i < image->manifest.n_layers; i++)
        sum += image->manifest.layers[i].size; /* 256 times 2^40 at most */
    return sum;
}

static int pull(struct task *t, struct oci_source *source, struct err *err)
{
    static const str paths[] = {S_INIT(".registry"), S_INIT("package.yaml")};
    const struct oci_wants wants = {.paths = paths, .n = 2, .keeps = keeps};
    const struct oci_limits limits = {.unpacked = PACKAGE_MAX_UNPACKED,
                                      .entries = OCI_LIMITS_DEFAULT.entries,
                                      .files = PACKAGE_MAX_FILES,
                                      .file_size = PACKAGE_MAX_UNPACKED};
    struct oci_image image;
    struct oci_files files;
    if (oci_image_open(&t->arena, source, &t->ref, &image, err) < 0)
        return err->code;
    bool known = is_known(t, oci_digest_format(&t->arena, &image.digest));
    if (!known && oci_image_read(&t->arena, source, &image, &wants, &limits, &files, err) < 0)
        return err->code;
    int code = emit_digest(t, &image.digest, size_of(&image), err); /* all of it was verified by now */
    for (size_t i = 0; !known && code == 0 && i < files.n; i++)
        code = emit_file(&t->emit, &files.p[i], err);
    return code < 0 ? code : emit_end(&t->emit, known, err);
}

static int collect(struct task *t, struct oci_build *ret, struct err *err)
{
    return oci_build_collect(&t->arena, str_cstr(&t->arena, t->request.directory), t->format, ret, err);
}

/* The documents of the files that build would join, in the order of the stream: the same as of the stream, but for its author. */
static int emit_parts(struct emit *p, const struct oci_build *build, struct err *err)
{
    size_t index = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < build->n_parts; i++)
        code = emit_yaml_part(p, build->files[0].path, &build->parts[i], &index, &yaml_limits, err);
    return code;
}

/* Names the files, and nothing else. */
static struct oci_digest digest_of_files(const struct oci_build *build)
{
    struct oci_hash *hash = oci_hash_new(OCI_SHA256);
    for (size_t i = 0; i < build->n_files; i++) {
        const uint64_t sizes[] = {build->files[i].path.n, build->files[i].data.n};
        oci_hash_add(hash, (str){(const char *)sizes, sizeof sizes});
        oci_hash_add(hash, build->files[i].path);
        oci_hash_add(hash, build->files[i].data);
    }
    struct oci_digest digest = oci_hash_finish(hash);
    oci_hash_free(hash);
    return digest;
}

static int measure(struct task *t, const struct oci_build *build, struct oci_digest *ret, uint64_t *ret_size,
                   struct err *err)
{
    if (!t->request.is_quick)
        return oci_build_measure(build, ret, ret_size, err);
    *ret = digest_of_files(build);
    *ret_size = 0;
    return 0;
}

/* What a pull of what build would make of it says. */
static int open_directory(struct task *t, struct err *err)
{
    struct oci_build build;
    struct oci_digest digest;
    uint64_t size;
    if (collect(t, &build, err) < 0 || measure(t, &build, &digest, &size, err) < 0)
        return err->code;
    int code = emit_digest(t, &digest, size, err);
    if (code == 0 && build.n_parts)
        code = emit_parts(&t->emit, &build, err);
    for (size_t i = 0; code == 0 && build.n_parts == 0 && i < build.n_files; i++) {
        if (keeps(NULL, build.files[i].path))
            code = emit_file(&t->emit, &build.files[i], err);
    }
    return code < 0 ? code : emit_end(&t->emit, false, err);
}

/* ---- The others: only the digest is told, and how far it has come. ---- */

static void tell(struct task *t, const struct oci_progress *now)
{
    struct err unread; /* who does not listen is found out at the end */
    int64_t now_ns = clock_mono_ns(&clock_system);
    bool is_step = t->told_ns == 0 || now->at != t->told.at || now->of != t->told.of;
    if (!t->request.tells || (!is_step && now_ns - t->told_ns < TELL_NS))
        return;
    t->told = *now;
    t->told_ns = now_ns;
    (void)emit_progress(&t->emit, now, &unread);
}

static void tell_layers(void *ctx, const struct oci_moved *now)
{
    tell(ctx, &(struct oci_progress){OCI_STEP_LAYERS, now->layers, now->of, now->bytes, now->bytes_of});
}

static int build(struct task *t, struct oci_digest *ret, struct err *err)
{
    struct oci_build build;
    uint64_t bytes = 0;
    if (collect(t, &build, err) < 0)
        return err->code;
    for (size_t i = 0; i < build.n_files; i++)
        bytes += build.files[i].data.n;
    size_t n = build.n_parts ? build.n_parts : build.n_files;
    tell(t, &(struct oci_progress){OCI_STEP_FILES, n, n, bytes, bytes});
    return oci_build_image(t->store, &build, &t->ref, ret, err);
}

static int resolve(struct task *t, struct oci_source *source, struct oci_digest *ret, struct err *err)
{
    struct oci_document found;
    int code = t->is_from_store ? oci_source_resolve(source, &t->arena, &t->ref, &found, err)
                                : oci_registry_head(t->registry, &t->arena, &t->ref, &found.digest, err);
    *ret = found.digest;
    return code;
}

static int run(struct task *t, struct err *err)
{
    struct oci_digest digest;
    int code = 0;
    const struct oci_watch watch = {tell_layers, t};
    struct oci_source *source = t->is_from_store ? oci_layout_source(t->store) : NULL;
    if (t->needs_registry) {
        code = oci_registry_open(&t->place, &t->registry, err);
        if (code < 0)
            return code;
        source = t->request.op == OCI_PUSH ? NULL : oci_registry_source(t->registry);
    }
    switch (t->request.op) {
    case OCI_PULL:
        return pull(t, source, err);
    case OCI_OPEN:
        return open_directory(t, err);
    case OCI_RESOLVE:
        code = resolve(t, source, &digest, err);
        break;
    case OCI_COPY:
        code = oci_layout_pull(t->store, source, &t->ref, &watch, &digest, err);
        break;
    case OCI_PUSH:
        code = oci_registry_push(t->registry, oci_layout_source(t->store), &t->ref, &watch, &digest, err);
        break;
    case OCI_BUILD:
        code = build(t, &digest, err);
        break;
    }
    code = code < 0 ? code : emit_digest(t, &digest, 0, err);
    return code < 0 ? code : emit_end(&t->emit, false, err);
}

int main(void)
{
    struct task t = {.emit = {.fd = STDOUT_FILENO}};
    struct err err;
    sandbox_clear();
    int code = read_request(&t, &err);
    code = code < 0 ? code : decide(&t, &err);
    code = code < 0 ? code : prepare(&t, &err);
    code = code < 0 ? code : enter(&t, &err);
    code = code < 0 ? code : run(&t, &err);
    if (code < 0)
        code = emit_error(&t.emit, &err);
    /* Nothing is tidied up: what is open and allocated goes with the process, and no library gets to do more in the sandbox. */
    _exit(code < 0 ? 1 : 0);
}
