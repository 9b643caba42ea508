/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"
#include "cli/cli_access.h"
#include "cli/cli_plan_internal.h"
#include "cli/help.h"
#include "object/conditions.h"
#include "object/name.h"
#include "object/object.h"

/* Which install a plan is about: the one of that name; or, when nobody said a name, the one that has the package in that place. */

static bool is_in_place(const struct planning *p, const struct planning_install *it, str namespace)
{
    return it->dialect == p->self.dialect && it->is_cluster == p->self.is_cluster &&
           (it->is_cluster || str_eq(object_namespace(&it->object), namespace));
}

static const struct json *find_named(const struct planning *p, str namespace, str name)
{
    vec_each(&p->world.list, it)
    {
        if (is_in_place(p, it, namespace) && str_eq(object_name(&it->object), name))
            return &it->object;
    }
    return NULL;
}

/* One that runs or asks for a package of this family. */
static const struct json *find_family(const struct planning *p, str namespace, str family)
{
    vec_each(&p->world.list, it)
    {
        if (is_in_place(p, it, namespace) && str_eq(rival_family(p->a, rival_reference(p->a, &it->object)), family))
            return &it->object;
    }
    return NULL;
}

static struct json make_install(struct planning *p, str namespace, str name)
{
    struct json object = json_obj(), meta = json_obj(), spec = json_obj();
    const struct dialect *d = p->self.dialect;
    json_add(p->a, &meta, S("name"), json_str(name));
    if (!p->self.is_cluster)
        json_add(p->a, &meta, S("namespace"), json_str(namespace));
    json_add(p->a, &spec, S("package"), json_str(p->source.reference));
    json_add(p->a, &object, S("apiVersion"), json_str(str_fmt(p->a, "%.*s/%.*s", STR(d->group), STR(d->version))));
    json_add(p->a, &object, S("kind"), json_str(d->install[p->self.is_cluster].kind));
    json_add(p->a, &object, S("metadata"), meta);
    json_add(p->a, &object, S("spec"), spec);
    return object;
}

/* The one that is there, asking for another package. */
static struct json change_install(struct planning *p, const struct json *there)
{
    struct json object = json_dup_top(p->a, there);
    const struct json *old = json_get(there, S("spec"));
    struct json spec = json_is_obj(old) ? json_dup_top(p->a, old) : json_obj();
    json_set(p->a, &spec, S("package"), json_str(p->source.reference));
    json_set(p->a, &object, S("spec"), spec);
    return object;
}

/* Nothing that is asked of it now is carried out. */
static void check_deletion(struct planning *p)
{
    const struct json *conditions = json_dig(p->running.install, "status.conditions");
    str why = json_get_text(condition_find(conditions, S("Synced")), S("message"));
    if (object_is_deleting(p->running.install))
        findings_add(&p->findings, S("Terminating"), "%.*s is being uninstalled%s%.*s",
                     STR(rival_title(p->a, &p->self)), why.n ? ": " : "", STR(why));
}

static void see_running(struct planning *p)
{
    struct planning_running *r = &p->running;
    const struct json *status = json_get(r->install, S("status"));
    r->reference = json_get_text(status, S("installedPackage"));
    r->digest = json_get_text(status, S("resolvedPackage"));
    r->version = json_get_text(status, S("version"));
    r->family = rival_family(p->a, r->reference);
}

/* As the server does. */
static int check_name(str name, struct err *err)
{
    struct name_faults faults = name_check(NAME_DNS_SUBDOMAIN, name);
    return faults.n
               ? err_set(err, ERR_BAD_REQUEST, "\"%.*s\" cannot be the name of an install: %s; say another with --name",
                         STR(name), faults.texts[0])
               : 0;
}

/* install, self, asked, running (without the old package). ERR_BAD_REQUEST for a name that cannot be one. */
static int planning_find_place(struct planning *p, struct err *err)
{
    const struct package *package = p->source.package;
    str context = command_namespace(p->c), place = context.n ? context : S("default");
    str name = p->name.n ? p->name : str_dup(p->a, package->name); /* the package may be opened again */
    p->self = (struct rival){p->is_stack ? &dialect_stacks : &dialect_packages, p->is_cluster, &p->install};
    p->running.install = find_named(p, place, name);
    if (!p->running.install && p->name.n == 0)
        p->running.install = find_family(p, place, package->family);
    if (!p->running.install && check_name(name, err) < 0)
        return err->code;
    p->install = p->running.install ? change_install(p, p->running.install) : make_install(p, place, name);
    see_running(p);
    if (p->running.install)
        check_deletion(p);
    plan_install_read(p->a, p->self.dialect, &p->install, &p->asked, &p->findings);
    return 0;
}

/* reeve plan: who gains and loses what by a package, before anybody agrees to it. It asks the same functions as the controller that
 * carries it out, and changes nothing. */

enum {
    EXIT_SAME = 0,
    EXIT_CHANGES = 1,
    EXIT_FAILED = 3, /* also: it would be refused */
};

/* ---- The command line. ---- */

static int read_line(struct planning *p, int argc, char **argv)
{
    static const char *const outputs[] = {
        [OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json", [OUTPUT_YAML] = "yaml", NULL};
    const struct flag own[] = {
        {.name = "cluster", .kind = FLAG_YES, .into = &p->is_cluster},
        {.name = "name", .kind = FLAG_TEXT, .into = &p->name},
        {.name = "stack", .kind = FLAG_YES, .into = &p->is_stack},
        {.name = "offline", .kind = FLAG_YES, .into = &p->is_offline},
        {.letter = 't', .name = "tag", .kind = FLAG_TEXT, .into = &p->tag},
        {.name = "namespaced-package-groups", .kind = FLAG_TEXT, .into = &p->namespaced_groups},
        {.name = "insecure-pass-full-deployment", .kind = FLAG_YES, .into = &p->pass_full_deployment},
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &p->output, .words = outputs},
        PACKAGE_FLAGS(&p->images),
    };
    struct flag_words words;
    int code = command_start(p->c, own, COUNT(own), argc, argv, &words);
    if (p->c->is_over)
        return code;
    p->c->is_over = true;
    if (words.n != 1)
        return command_misused(p->c, words.n ? "name one package" : "name a package: an image, or a directory");
    if (p->is_cluster && p->c->has_namespace)
        return command_misused(p->c, "--cluster is for the whole cluster, -n for a namespace: say one of them");
    if (p->tag.n && !package_is_directory(words.p[0]))
        return command_misused(p->c, "--tag says what a directory is called; %s has a name", words.p[0]);
    struct err err;
    if (p->namespaced_groups.n && plan_groups_check(p->namespaced_groups, &err) < 0)
        return command_misused(p->c, "--namespaced-package-groups: %s", err.msg);
    p->what = words.p[0];
    p->c->is_over = false;
    return CLI_OK;
}

/* ---- The steps. ---- */

/* Neither -n nor --cluster: the package says for whom it is. */
static void decide_scope(struct planning *p)
{
    if (!p->c->has_namespace && p->source.package->scope == PACKAGE_CLUSTER)
        p->is_cluster = true;
}

/* The install that is there may say that its images come from elsewhere. */
static int apply_source(struct planning *p, struct err *err)
{
    struct package_source other;
    if (p->source.is_directory || p->asked.image.n == 0 || str_eq(p->asked.image, p->source.reference))
        return 0;
    int code = package_source_pull(p->c, &p->images, p->asked.image, &other, err);
    if (code < 0)
        return code;
    package_source_close(&p->source);
    p->source = other;
    return 0;
}

/* ---- The digest of a directory: it must be packed for that, which takes longer than all else, and is done only when there is something
 * to compare it with. What there is, the server has told before the directory is opened, so that it is read once. ---- */

/* Whether a package was named after its digest, because nobody gave it a version. */
static bool has_version_of_digest(const struct package *package)
{
    str algorithm, hex;
    str_cut(package->digest, ':', &algorithm, &hex);
    return str_has_prefix(hex, package->version);
}

static bool is_family_installed(const struct planning *p, str family)
{
    vec_each(&p->world.list, it)
    {
        str installed = json_text(json_dig(&it->object, "status.installedPackage"));
        if (installed.n && str_eq(rival_family(p->a, installed), family))
            return true;
    }
    return false;
}

static int open_packed(struct planning *p, struct err *err)
{
    package_source_close(&p->source);
    p->images.is_quick = false;
    return package_source_open(p->c, &p->images, p->what, p->tag, &p->source, err);
}

static int open_package(struct planning *p, struct err *err)
{
    str name =
        p->tag.n ? p->tag : package_directory_name(p->a, p->what); /* of a directory, which is all that can be quick */
    p->images.is_quick = !is_family_installed(p, rival_family(p->a, name));
    int code = package_source_open(p->c, &p->images, p->what, p->tag, &p->source, err);
    bool is_nameless = code == 0 && p->source.is_directory && has_version_of_digest(p->source.package);
    return is_nameless && p->images.is_quick ? open_packed(p, err) : code;
}

/* Once it is known what runs, which may be of another family. */
static int find_digest(struct planning *p, struct err *err)
{
    return p->source.is_directory && p->images.is_quick && p->running.digest.n ? open_packed(p, err) : 0;
}

static void carry(struct findings *to, const struct findings *from)
{
    vec_each(&from->list, it)
    {
        *vec_push(to->arena, &to->list) = *it;
    }
    to->more += from->more;
}

/* What has to be there before an install can be asked for. The namespace of the cluster's controllers is made when it is missing. */
static void check_server(struct planning *p)
{
    if (!p->world.has_kinds)
        findings_add(
            &p->plan.warnings, (str){0},
            "this server does not know packages yet: a reeve manager has to be set up for it, which binds people to "
            "roles of its own");
    if (!p->asked.is_cluster && command_lacks_namespace(p->c, p->asked.namespace))
        findings_add(&p->plan.warnings, (str){0}, "namespace %.*s does not exist yet: kubectl create namespace %.*s",
                     STR(p->asked.namespace), STR(shell_word(p->a, p->asked.namespace)));
}

/* The server of "reeve up" knows which user asks for an install; reeve manager on another server does not. */
static bool knows_requester(struct planning *p)
{
    struct client_request request = {.method = S("GET"), .target = S("/version")};
    struct json version;
    struct err ignored;
    return client_raw(p->c->session.client, p->a, &request, &version, &ignored) == 0 &&
           str_find(json_get_text(&version, S("gitVersion")), S("+reeve-")) >= 0;
}

/* The kinds of which this user does not hold all access, cluster-wide. What cannot be found out is not held. */
static void add_not_held(struct planning *p, struct rules access, struct buf *ret)
{
    rules_each(access, rule)
    {
        strs_each(rule->resources, resource)
        {
            struct authz_attributes what = {
                .is_resource = true, .verb = S("*"), .group = rule->api_groups.p[0], .resource = *resource};
            struct authz_decision decision = {0};
            if (self_check(p->c, &what, &decision, NULL) < 0 || !decision.allowed)
                buf_fmt(ret, "%s%.*s.%.*s", ret->n ? ", " : "", STR(*resource), STR(what.group));
        }
    }
}

/* Whether the install would wait for approval of its cluster-wide access, as controllers/installs/installs_needs.h has it. */
static void check_access(struct planning *p)
{
    struct rules access = plan_cluster_access(&p->asked, &p->plan);
    struct buf missing = {.arena = p->a};
    if (!access.n || str_eq(p->running.digest, p->source.package->digest))
        return;
    add_not_held(p, access, &missing);
    str command = str_fmt(p->a, "%s approve %.*s -n %.*s", help_program(), STR(shell_word(p->a, p->asked.name)),
                          STR(shell_word(p->a, p->asked.namespace)));
    if (missing.n)
        findings_add(
            &p->plan.warnings, (str){0},
            "the install will wait for approval, because you do not hold cluster-wide access to %.*s; a user who "
            "does approves it with: %.*s",
            STR(buf_str(&missing)), STR(command));
    else if (knows_requester(p))
        findings_add(&p->plan.warnings, (str){0},
                     "the install will not wait for approval of cluster-wide access: you hold this access");
    else
        findings_add(
            &p->plan.warnings, (str){0},
            "the install will wait for approval of cluster-wide access, because this server does not record who asks "
            "for it; you hold this access and approve it with: %.*s",
            STR(command));
}

static int make(struct planning *p, struct err *err)
{
    int code = planning_find_place(p, err);
    if (code == 0)
        code = find_digest(p, err);
    if (code == 0)
        code = apply_source(p, err);
    if (code == 0)
        code = planning_meet_others(p, err);
    if (code < 0)
        return code;
    plan_make(p->a,
              &(struct plan_args){.package = p->source.package,
                                  .install = &p->asked,
                                  .facts = &p->facts,
                                  .options = {.pass_full_deployment = p->pass_full_deployment,
                                              .namespaced_groups = p->namespaced_groups}},
              &p->plan);
    carry(&p->findings, &p->plan.findings);
    vec_each(&p->approvals, change)
    {
        findings_add(&p->plan.warnings, (str){0}, "it waits until a user who may update that CRD approves it: %.*s",
                     STR(*change));
    }
    if (p->findings.list.n || !p->world.is_known)
        return 0;
    check_server(p);
    check_access(p);
    if ((code = planning_see_before(p, err)) < 0 || (code = planning_check_names(p, err)) < 0 || p->findings.list.n)
        return code;
    return planning_see_people(p, err);
}

static void show(struct planning *p)
{
    struct buf text = {.arena = p->a};
    if (p->output == OUTPUT_JSON || p->output == OUTPUT_YAML) {
        struct json tree = planning_tree(p);
        output_tree(&tree, p->output == OUTPUT_YAML);
        return;
    }
    planning_print(&text, p);
    output_text(buf_str(&text));
}

/* Who has no server can have a plan all the same. */
static int fail(struct planning *p, const struct err *err)
{
    int code = command_fail(p->c, err);
    if (!p->world.is_known || err->code == ERR_UNAVAILABLE || err->code == ERR_UNAUTHORIZED)
        term_say(&p->c->term, "Without a server: %s plan %.*s --offline", help_program(),
                 STR(shell_word(p->a, str_of(p->what))));
    return code;
}

static int tell(struct planning *p, const struct err *err)
{
    return err->code == ERR_BAD_REQUEST ? command_misused(p->c, "%s", err->msg) : command_fail(p->c, err);
}

static int see_server(struct planning *p, struct err *err)
{
    if (!p->is_offline && command_connect(p->c, err) < 0)
        return err->code;
    return planning_see_world(p, err);
}

/* Of a package that makes no sense and a server that does not answer, the package is told of: it is what the command is about. */
static int run(struct planning *p)
{
    struct err err, unseen;
    int seen = see_server(p, &unseen);
    if (open_package(p, &err) < 0)
        return tell(p, &err);
    decide_scope(p);
    if (seen == 0)
        seen = planning_check_seen(p, &unseen);
    if (seen < 0)
        return fail(p, &unseen);
    if (make(p, &err) < 0)
        return tell(p, &err);
    if (p->findings.list.n == 0)
        planning_compare(p);
    show(p);
    return p->findings.list.n ? EXIT_FAILED : p->has_changes ? EXIT_CHANGES : EXIT_SAME;
}

static void planning_done(struct planning *p)
{
    package_source_close(&p->source);
    package_source_close(&p->running.old);
    vec_each(&p->others, other)
    {
        package_source_close(other);
    }
    map_done(&p->world.by_name);
    rights_done(&p->rights);
}

int cli_plan(int argc, char **argv)
{
    struct command c = {.name = "plan",
                        .takes = TAKES_SERVER | TAKES_NAMESPACE | TAKES_TIMEOUT,
                        .failed = EXIT_FAILED,
                        .timeout_ns = INT64_C(300) * 1000000000};
    struct planning p = {.c = &c, .a = &c.arena, .findings = {.arena = &c.arena}};
    int code = read_line(&p, argc, argv);
    if (!c.is_over)
        code = run(&p);
    planning_done(&p);
    return command_end(&c, code);
}
