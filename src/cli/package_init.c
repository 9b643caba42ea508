/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/cli_package.h"
#include "cli/cli_read.h"
#include "cli/help.h"
#include "cli/session.h"
#include "object/name.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/crd_check.h"
#include "package/package.h"
#include "json/json.h"
#include "json/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files that a new package begins with: small, right, and with comments that say what else may stand there. */

struct scaffold {
    str name; /* a DNS label that begins with a letter: "wordpress" */
    enum package_format format;
    enum package_scope scope;
    str image;               /* of the controller; empty: the package's own */
    const struct json *crds; /* as crd_check took them; none: one is made up */
    size_t n_crds;
};

struct scaffold_file {
    str path; /* ".registry/app.yaml" */
    str text;
};

typedef VEC(struct scaffold_file) scaffold_files;

/* ---- Templates: @WORD@ is filled in. ---- */

static const char app_template[] =
    "# What this package is, and how far its rights reach. See reeve-package(1).\n"
    "title: @TITLE@\n"
    "overviewShort: Say in one sentence what @TITLE@ is for.\n"
    "# overview and readme: longer texts, in Markdown.\n"
    "version: 0.1.0\n"
    "license: Apache-2.0\n"
    "maintainers:\n"
    "- name: Your Name\n"
    "  email: you@example.org\n"
    "# packageType: Provider, Stack, Application or Addon.\n"
    "packageType: @TYPE@\n"
    "\n"
    "# Namespaced: each namespace installs it for itself, and the controller has rights in that namespace alone.\n"
    "# Cluster: it is installed once, and the controller has rights in all namespaces.\n"
    "permissionScope: @SCOPE@\n"
    "\n"
    "# Kinds of other packages that the controller uses. It gets rights for these, for its own kinds, and for ConfigMaps,\n"
    "# Events and Secrets; nothing else can be asked for.\n"
    "# dependsOn:\n"
    "# - crd: mysqlinstances.database.example.org/v1alpha1\n";

static const char install_template[] =
    "# What runs: one Deployment. Names, namespace, ServiceAccount and security contexts are set by the install.\n"
    "apiVersion: apps/v1\n"
    "kind: Deployment\n"
    "metadata:\n"
    "  name: @NAME@\n"
    "spec:\n"
    "  replicas: 1\n"
    "  selector:\n"
    "    matchLabels:\n"
    "      app: @NAME@\n"
    "  template:\n"
    "    metadata:\n"
    "      labels:\n"
    "        app: @NAME@\n"
    "    spec:\n"
    "      containers:\n"
    "      - name: controller\n"
    "@IMAGE@"
    "        resources:\n"
    "          requests: {cpu: 10m, memory: 32Mi}\n";

static const char own_image[] =
    "        # Without an image it is that of the package: the controller and .registry in one image.\n"
    "        # image: registry.example.org/@NAME@-controller:0.1.0\n";

static const char icon_template[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\"><rect x=\"3\" y=\"3\" width=\"18\" height=\"18\" rx=\"4\" "
    "fill=\"#2c6e8f\"/><path fill=\"#fff\" d=\"M7 8h10v2H7zm0 3h10v2H7zm0 3h6v2H7z\"/></svg>\n";

static const char resource_template[] = "# What people see of the kind.\n"
                                        "id: @ID@\n"
                                        "title: @KIND@\n"
                                        "titlePlural: @PLURAL_TITLE@\n"
                                        "overviewShort: Say in one sentence what a @KIND@ is.\n";

static const char crd_template[] =
    "# A kind that this package brings. Its group must be yours: a domain that you own.\n"
    "apiVersion: apiextensions.k8s.io/v1\n"
    "kind: CustomResourceDefinition\n"
    "metadata:\n"
    "  name: @PLURAL@.@GROUP@\n"
    "spec:\n"
    "  group: @GROUP@\n"
    "  scope: Namespaced\n"
    "  names:\n"
    "    kind: @KIND@\n"
    "    listKind: @KIND@List\n"
    "    plural: @PLURAL@\n"
    "    singular: @ID@\n"
    "  versions:\n"
    "  - name: v1alpha1\n"
    "    served: true\n"
    "    storage: true\n"
    "    subresources:\n"
    "      status: {}\n"
    "    schema:\n"
    "      openAPIV3Schema:\n"
    "        type: object\n"
    "        properties:\n"
    "          spec:\n"
    "            type: object\n"
    "            properties:\n"
    "              size:\n"
    "                description: How many there should be.\n"
    "                type: integer\n"
    "                minimum: 0\n"
    "          status:\n"
    "            type: object\n"
    "            properties:\n"
    "              ready:\n"
    "                type: integer\n";

static const char crossplane_template[] =
    "# What this package is. See reeve-package(1).\n"
    "apiVersion: meta.pkg.crossplane.io/v1\n"
    "kind: Provider\n"
    "metadata:\n"
    "  name: @NAME@\n"
    "  annotations:\n"
    "    friendly-name.meta.crossplane.io: @TITLE@\n"
    "    meta.crossplane.io/description: Say in one sentence what @TITLE@ is for.\n"
    "    meta.crossplane.io/maintainer: Your Name <you@example.org>\n"
    "    meta.crossplane.io/license: Apache-2.0\n"
    "spec:\n"
    "@CONTROLLER@"
    "  # Other packages that must be there.\n"
    "  # dependsOn:\n"
    "  # - provider: registry.example.org/acme/provider-sql\n"
    "  #   version: \">=v1.0.0\"\n";

static const char controller_template[] = "  controller:\n"
                                          "    image: @IMAGE@\n";
static const char no_controller[] = "  # Without an image it is that of the package.\n"
                                    "  # controller:\n"
                                    "  #   image: registry.example.org/@NAME@-controller:0.1.0\n";

struct word {
    const char *name;
    str value;
};

static const struct word *word_at(str rest, const struct word *words)
{
    str name, behind;
    if (str_cut(rest, '@', &name, &behind)) {
        for (; words->name; words++) {
            if (str_eq(name, str_of(words->name)))
                return words;
        }
    }
    return NULL;
}

/* Other @ stand for themselves. */
static str fill(struct arena *a, const char *template, const struct word *words)
{
    struct buf out = {.arena = a};
    str rest = str_of(template), text;
    while (str_cut(rest, '@', &text, &rest)) {
        const struct word *word = word_at(rest, words);
        buf_add_str(&out, text);
        if (word) {
            buf_add_str(&out, word->value);
            rest = str_from(rest, strlen(word->name) + 1);
        } else {
            buf_add_char(&out, '@');
        }
    }
    buf_add_str(&out, text);
    return buf_str(&out);
}

/* ---- Words. ---- */

/* "my-blog": "MyBlog", "My Blog" */
static str capitals(struct arena *a, str name, const char *between)
{
    struct buf out = {.arena = a};
    bool is_first = true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '-') {
            buf_add_str(&out, str_of(between));
            is_first = true;
            continue;
        }
        buf_add_char(&out, is_first && char_is_lower(c) ? (char)(c - 'a' + 'A') : c);
        is_first = false;
    }
    return buf_str(&out);
}

static void put(struct arena *a, scaffold_files *files, str path, str text)
{
    *vec_push(a, files) = (struct scaffold_file){path, text};
}

static int by_path(const void *l, const void *r)
{
    return str_cmp(((const struct scaffold_file *)l)->path, ((const struct scaffold_file *)r)->path);
}

/* ---- CRDs. ---- */

struct crd_names {
    str kind, plural, group;
};

static bool is_taken(const scaffold_files *files, str path)
{
    vec_each(files, f)
    {
        if (str_eq(f->path, path))
            return true;
    }
    return false;
}

/* "widgets.crd.yaml", or with its group when there is another of that plural. */
static void put_crd(struct arena *a, const struct scaffold *s, const struct crd_names *n, str text,
                    scaffold_files *files)
{
    bool is_stream = s->format == PACKAGE_FORMAT_XPKG;
    const char *folder = is_stream ? "crds" : ".registry/resources", *suffix = is_stream ? "yaml" : "crd.yaml";
    str stem = str_fmt(a, "%s/%.*s", folder, STR(n->plural));
    if (is_taken(files, str_fmt(a, "%.*s.%s", STR(stem), suffix)))
        stem = str_fmt(a, "%.*s.%.*s", STR(stem), STR(n->group));
    put(a, files, str_fmt(a, "%.*s.%s", STR(stem), suffix), text);
    if (is_stream)
        return;
    const struct word words[] = {{"KIND", n->kind},
                                 {"ID", str_lower(a, n->kind)},
                                 {"PLURAL_TITLE", str_fmt(a, "%.*ss", STR(n->kind))},
                                 {NULL, {0}}};
    put(a, files, str_fmt(a, "%.*s.resource.yaml", STR(stem)), fill(a, resource_template, words));
}

static void put_crds(struct arena *a, const struct scaffold *s, scaffold_files *files)
{
    for (size_t i = 0; i < s->n_crds; i++) {
        struct buf text = {.arena = a};
        const struct crd_names names = {.kind = json_text(json_dig(&s->crds[i], "spec.names.kind")),
                                        .plural = json_text(json_dig(&s->crds[i], "spec.names.plural")),
                                        .group = json_text(json_dig(&s->crds[i], "spec.group"))};
        yaml_encode(&text, &s->crds[i]);
        put_crd(a, s, &names, buf_str(&text), files);
    }
    if (s->n_crds)
        return;
    str kind = capitals(a, s->name, "");
    const struct crd_names names = {.kind = kind,
                                    .plural = str_fmt(a, "%.*ss", STR(str_lower(a, kind))),
                                    .group = str_fmt(a, "%.*s.example.org", STR(s->name))};
    const struct word words[] = {
        {"KIND", kind}, {"ID", str_lower(a, kind)}, {"PLURAL", names.plural}, {"GROUP", names.group}, {NULL, {0}}};
    put_crd(a, s, &names, fill(a, crd_template, words), files);
}

/* ---- All. ---- */

static void put_registry(struct arena *a, const struct scaffold *s, scaffold_files *files)
{
    bool is_cluster = s->scope == PACKAGE_CLUSTER;
    struct word words[] = {{"NAME", s->name},
                           {"TITLE", capitals(a, s->name, " ")},
                           {"TYPE", is_cluster ? S("Provider") : S("Application")},
                           {"SCOPE", is_cluster ? S("Cluster") : S("Namespaced")},
                           {"IMAGE", {0}},
                           {NULL, {0}}};
    words[4].value = s->image.n ? str_fmt(a, "        image: %.*s\n", STR(s->image)) : fill(a, own_image, words);
    put(a, files, S(".registry/app.yaml"), fill(a, app_template, words));
    put(a, files, S(".registry/install.yaml"), fill(a, install_template, words));
    put(a, files, S(".registry/icon.svg"), str_of(icon_template));
}

static void put_stream(struct arena *a, const struct scaffold *s, scaffold_files *files)
{
    struct word words[] = {
        {"NAME", s->name}, {"TITLE", capitals(a, s->name, " ")}, {"IMAGE", s->image}, {"CONTROLLER", {0}}, {NULL, {0}}};
    words[3].value = fill(a, s->image.n ? controller_template : no_controller, words);
    put(a, files, S("crossplane.yaml"), fill(a, crossplane_template, words));
}

/* In the order of their paths. */
static void package_scaffold(struct arena *a, const struct scaffold *s, scaffold_files *ret)
{
    if (s->format == PACKAGE_FORMAT_XPKG)
        put_stream(a, s, ret);
    else
        put_registry(a, s, ret);
    put_crds(a, s, ret);
    qsort(ret->p, ret->n, sizeof *ret->p, by_path);
}

/* reeve package init: writes a package to begin with. All of it or nothing: it is written aside and then moved into place, and what
 * is there stays as it is. */

static const char *const scopes[] = {[PACKAGE_NAMESPACED] = "Namespaced", [PACKAGE_CLUSTER] = "Cluster", NULL};
static const char *const formats[] = {[PACKAGE_FORMAT_REGISTRY] = "registry", [PACKAGE_FORMAT_XPKG] = "xpkg", NULL};

struct initing {
    struct command command;
    str name, image;
    int scope, format;
    bool has_scope;
    flag_texts crd_files;
    const char *directory;
    VEC(struct json) crds;
};

/* ---- What is asked for. ---- */

static int check_name(struct initing *it, struct err *err)
{
    struct oci_reference ref;
    bool is_told = it->name.n > 0;
    if (!is_told)
        it->name = package_directory_name(&it->command.arena, it->directory);
    if (!name_is(NAME_DNS1035_LABEL, it->name))
        return err_set(err, ERR_BAD_REQUEST,
                       "%s \"%.*s\": say --name with small letters, digits and dashes, a letter first",
                       is_told ? "--name" : "the directory's name", STR(it->name));
    if (it->image.n && oci_reference_parse(it->image, &ref, err) < 0) {
        err->code = ERR_BAD_REQUEST;
        return err_wrap(err, "--image");
    }
    return 0;
}

static int check_scope(struct initing *it, struct err *err)
{
    bool is_stream = it->format == PACKAGE_FORMAT_XPKG;
    if (is_stream && it->has_scope && it->scope == PACKAGE_NAMESPACED)
        return err_set(err, ERR_BAD_REQUEST, "--scope Namespaced: an xpkg is for the whole cluster");
    it->scope = is_stream ? PACKAGE_CLUSTER : it->scope;
    return 0;
}

/* Only what a package may bring, so that lint has nothing to say. */
static int take_crd(struct initing *it, const struct read_object *o, struct err *err)
{
    struct arena *a = &it->command.arena;
    struct findings findings = {.arena = a}, warnings = {.arena = a};
    struct crd_checked checked;
    if (!crd_check(a, &o->object, &checked, &findings, &warnings))
        return err_set(err, ERR_INVALID, "%.*s: document %zu: %.*s", STR(o->file), o->document,
                       STR(findings_text(a, &findings)));
    if (!checked.info.is_namespaced && it->scope == PACKAGE_NAMESPACED)
        return err_set(err, ERR_INVALID, "%.*s: CRD %.*s is of cluster scope: say --scope Cluster", STR(o->file),
                       STR(checked.info.name));
    vec_each(&it->crds, other)
    {
        if (str_eq(object_name(other), checked.info.name))
            return err_set(err, ERR_INVALID, "%.*s: CRD %.*s is there twice", STR(o->file), STR(checked.info.name));
    }
    *vec_push(a, &it->crds) = checked.crd;
    return 0;
}

static int read_crds(struct initing *it, struct err *err)
{
    vec_each(&it->crd_files, file)
    {
        read_objects objects = {0};
        if (read_path(&it->command.arena, str_cstr(&it->command.arena, *file), &objects, err) < 0)
            return err->code == ERR_BAD_REQUEST ? (err->code = ERR_INVALID) : err->code;
        vec_each(&objects, o)
        {
            if (take_crd(it, o, err) < 0)
                return err->code;
        }
        if (objects.n == 0)
            return err_set(err, ERR_INVALID, "%.*s: has no CRD", STR(*file));
    }
    return 0;
}

/* ---- Files. ---- */

/* Where the files are while they are written: a directory in the one they are for. */
struct stage {
    struct arena *arena;
    int top; /* the directory they are for */
    const char *path;
    const scaffold_files *files;
    char name[32]; /* of the stage; empty: not made */
    bool is_made;  /* the directory was, too */
};

static str first_part(str path)
{
    str first, rest;
    str_cut(path, '/', &first, &rest);
    return first;
}

static int open_top(struct stage *s, struct err *err)
{
    if (mkdir(s->path, 0777) == 0)
        s->is_made = true;
    else if (errno != EEXIST)
        return err_set(err, ERR_IO, "make directory %s: %m", s->path);
    s->top = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->top < 0 ? err_set(err, ERR_IO, "open directory %s: %m", s->path) : 0;
}

/* Nothing is written over. */
static int check_free(const struct stage *s, struct err *err)
{
    static const char *const manifests[] = {".registry", "crossplane.yaml", "package.yaml"};
    struct stat st;
    for (size_t i = 0; i < COUNT(manifests); i++) {
        if (fstatat(s->top, manifests[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
            return err_set(err, ERR_CONFLICT, "%s is a package already: it has %s", s->path, manifests[i]);
    }
    vec_each(s->files, f)
    {
        const char *first = str_cstr(s->arena, first_part(f->path));
        if (fstatat(s->top, first, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return err_set(err, ERR_CONFLICT, "%s/%s is there already, and stays as it is", s->path, first);
    }
    return 0;
}

static int make_stage(struct stage *s, struct err *err)
{
    (void)snprintf(s->name, sizeof s->name, ".reeve-init-%ld", (long)getpid());
    if (mkdirat(s->top, s->name, 0777) == 0)
        return 0;
    s->name[0] = 0;
    return err_set(err, ERR_IO, "make a directory in %s: %m", s->path);
}

static int write_file(const struct stage *s, const struct scaffold_file *f, struct err *err)
{
    str path = str_fmt(s->arena, "%s/%.*s", s->name, STR(f->path));
    char *whole = str_cstr(s->arena, path);
    for (char *slash = strchr(whole + strlen(s->name) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdirat(s->top, whole, 0777) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "make directory %s: %m", whole);
        *slash = '/';
    }
    int fd = openat(s->top, whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file == NULL)
        return err_set(err, ERR_IO, "write %.*s: %m", STR(f->path));
    bool is_whole = fwrite(f->text.p, 1, f->text.n, file) == f->text.n;
    if (fclose(file) != 0 || !is_whole)
        return err_set(err, ERR_IO, "write %.*s: %m", STR(f->path));
    return 0;
}

/* What is called alike inside and outside of the stage, file by file in the order of their paths. */
static int move_out(const struct stage *s, struct err *err)
{
    str moved = {0};
    vec_each(s->files, f)
    {
        str first = first_part(f->path);
        if (str_eq(first, moved))
            continue;
        const char *from = str_cstr(s->arena, str_fmt(s->arena, "%s/%.*s", s->name, STR(first)));
        if (renameat2(s->top, from, s->top, str_cstr(s->arena, first), RENAME_NOREPLACE) == 0) {
            moved = first;
            continue;
        }
        int code = err_set(err, ERR_IO, "put %.*s into %s: %m", STR(first), s->path);
        if (moved.n) /* there are two at most: what was moved goes back */
            (void)renameat(s->top, str_cstr(s->arena, moved), s->top,
                           str_cstr(s->arena, str_fmt(s->arena, "%s/%.*s", s->name, STR(moved))));
        return code;
    }
    return 0;
}

/* The stage with what is still in it; and the directory, if it is ours and nothing came of it. */
static void clear(struct stage *s, bool has_failed)
{
    for (size_t i = s->files->n; s->name[0] && i-- > 0;) {
        char *path = str_cstr(s->arena, str_fmt(s->arena, "%s/%.*s", s->name, STR(s->files->p[i].path)));
        (void)unlinkat(s->top, path, 0);
        for (char *slash; (slash = strrchr(path, '/'));) {
            *slash = 0;
            (void)unlinkat(s->top, path, AT_REMOVEDIR); /* while others are in it, it stays */
        }
    }
    if (s->name[0])
        (void)unlinkat(s->top, s->name, AT_REMOVEDIR);
    if (s->top >= 0)
        close(s->top);
    if (s->is_made && has_failed)
        (void)rmdir(s->path);
}

/* Signals wait meanwhile: it takes no time. */
static int write_all(struct command *c, const char *path, const scaffold_files *files, struct err *err)
{
    struct stage s = {.arena = &c->arena, .top = -1, .path = path, .files = files};
    struct interrupt interrupt;
    interrupt_hold(&interrupt);
    int code = open_top(&s, err);
    code = code < 0 ? code : check_free(&s, err);
    code = code < 0 ? code : make_stage(&s, err);
    for (size_t i = 0; code == 0 && i < files->n; i++)
        code = write_file(&s, &files->p[i], err);
    code = code < 0 ? code : move_out(&s, err);
    clear(&s, code < 0);
    interrupt_close(&interrupt);
    return code;
}

/* ---- The command. ---- */

static int init(struct initing *it)
{
    struct command *c = &it->command;
    scaffold_files files = {0};
    struct err err;
    if (check_name(it, &err) < 0 || check_scope(it, &err) < 0)
        return command_misused(c, "%s", err.msg);
    if (read_crds(it, &err) < 0)
        return command_fail(c, &err);
    const struct scaffold scaffold = {.name = it->name,
                                      .format = (enum package_format)it->format,
                                      .scope = (enum package_scope)it->scope,
                                      .image = it->image,
                                      .crds = it->crds.p,
                                      .n_crds = it->crds.n};
    package_scaffold(&c->arena, &scaffold, &files);
    if (write_all(c, it->directory, &files, &err) < 0)
        return command_fail(c, &err);
    struct buf out = {0};
    vec_each(&files, f) buf_fmt(&out, "%s/%.*s\n", it->directory, STR(f->path));
    output_text(buf_str(&out));
    buf_done(&out);
    str folder = shell_word(&c->arena, str_of(it->directory));
    term_say(&c->term,
             "Next, when the words in it are yours:\n"
             "  %s package lint %.*s\n"
             "  %s package build %.*s --tag registry.example.org/acme/%.*s:0.1.0",
             help_program(), STR(folder), help_program(), STR(folder), STR(it->name));
    return CLI_OK;
}

/* Paths are shown with one slash behind it. */
static const char *without_slash(struct arena *a, const char *path)
{
    str s = str_of(path);
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    return str_cstr(a, s);
}

int package_init(int argc, char **argv)
{
    struct initing it = {.command = {.name = "package init"}};
    const struct flag flags[] = {
        {.name = "name", .kind = FLAG_TEXT, .into = &it.name},
        {.name = "scope", .kind = FLAG_WORD, .into = &it.scope, .words = scopes, .is_given = &it.has_scope},
        {.name = "format", .kind = FLAG_WORD, .into = &it.format, .words = formats},
        {.name = "crd", .kind = FLAG_TEXTS, .into = &it.crd_files},
        {.name = "image", .kind = FLAG_TEXT, .into = &it.image},
    };
    struct flag_words words;
    int code = command_start(&it.command, flags, COUNT(flags), argc, argv, &words);
    if (!it.command.is_over && words.n != 1) {
        code = command_misused(&it.command, "name one directory");
    } else if (!it.command.is_over) {
        it.directory = without_slash(&it.command.arena, words.p[0]);
        code = init(&it);
    }
    return command_end(&it.command, code);
}
