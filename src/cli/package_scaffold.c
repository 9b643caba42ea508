/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/package_scaffold.h"

#include "json/yaml.h"

#include <stdlib.h>

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

void package_scaffold(struct arena *a, const struct scaffold *s, scaffold_files *ret)
{
    if (s->format == PACKAGE_FORMAT_XPKG)
        put_stream(a, s, ret);
    else
        put_registry(a, s, ret);
    put_crds(a, s, ret);
    qsort(ret->p, ret->n, sizeof *ret->p, by_path);
}
