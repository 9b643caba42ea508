/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns.h"

#include "base/clock.h"
#include "kinds/columns_internal.h"
#include "object/conditions.h"
#include "object/go_text.h"
#include "object/selector.h"

#include <stdlib.h>

/* What the columns of built-in kinds mean, by their titles: kinds that share a title mean the same by it. */

struct column_text {
    const char *title, *text;
};

/* In the order of their bytes. */
static const struct column_text texts[] = {
    {"Access Modes", "Who may mount the volume, and how."},
    {"Active", "How many jobs run now."},
    {"Address", "Where it is reached."},
    {"AddressType", "What kind of addresses these are."},
    {"Age", "Time since the object was created."},
    {"AllowVolumeExpansion", "Whether volumes may grow."},
    {"Allowed Disruptions", "How many pods may be evicted now."},
    {"Available", "Pods that have been ready for long enough."},
    {"Capacity", "The size of the volume."},
    {"Claim", "Whose claim the volume is bound to."},
    {"Class", "The class that serves it."},
    {"Cluster-IP", "The address inside the cluster."},
    {"Completions", "Pods that succeeded, of those that have to."},
    {"Condition", "What was decided, and whether it was carried out."},
    {"Container-Runtime", "The program that runs containers on the node."},
    {"Containers", "Names of the containers."},
    {"Controller", "Who is in charge of it."},
    {"Count", "How often it happened."},
    {"Created At", "When the object was created."},
    {"Current", "Pods that are there."},
    {"Data", "How many entries it holds."},
    {"Desired", "Pods that are wanted."},
    {"Duration", "How long it took, or has taken so far."},
    {"Endpoints", "Where it is served from."},
    {"External-IP", "Addresses outside the cluster."},
    {"First Seen", "Time since it happened first."},
    {"Global-Default", "Whether pods without a class get this one."},
    {"Groups", "Groups that get the rights."},
    {"Handler", "What nodes call it."},
    {"Holder", "Who holds it."},
    {"Hosts", "Host names that it serves."},
    {"IP", "The address of the pod."},
    {"Images", "Images of the containers."},
    {"Internal-IP", "The address inside the cluster."},
    {"Kernel-Version", "The kernel of the node."},
    {"Last Schedule", "Time since the last job was started."},
    {"Last Seen", "Time since it happened last."},
    {"Limit", "Limits: used, and allowed."},
    {"Max Unavailable", "How many pods may be missing."},
    {"MaxPods", "Never more pods than these."},
    {"Message", "What happened, in words."},
    {"Min Available", "How many pods must be there."},
    {"MinPods", "Never fewer pods than these."},
    {"Name", "The name of the object, unique for its kind in its namespace."},
    {"Node", "The node that the pod runs on."},
    {"Node Selector", "Labels of the nodes that get a pod."},
    {"Nominated Node", "The node that is being cleared for the pod."},
    {"OS-Image", "The operating system of the node."},
    {"Object", "What it happened to."},
    {"Parameters", "The object with further settings."},
    {"Pod Labels", "Labels of the pods that are made from it."},
    {"Pod-Selector", "The pods that it is about."},
    {"Port(s)", "Ports, and the ports of nodes that lead to them."},
    {"Ports", "Ports that are served."},
    {"PreemptionPolicy", "Whether its pods push out others."},
    {"Provisioner", "Who makes the volumes."},
    {"Readiness Gates", "Conditions that hold, of those the pod needs to be ready."},
    {"Ready", "How much of it is ready, of how much is wanted."},
    {"Reason", "Why, in one word."},
    {"Reclaim Policy", "What becomes of the volume when its claim is gone."},
    {"ReclaimPolicy", "What becomes of a volume when its claim is gone."},
    {"Reference", "What is scaled."},
    {"Replicas", "Pods that there are."},
    {"Request", "Requests: used, and allowed."},
    {"RequestedDuration", "How long the certificate should be valid."},
    {"Requestor", "Who sent the request."},
    {"Restarts", "How often containers were started again, and when last."},
    {"Revision", "The number of the revision; the highest is the newest."},
    {"Role", "The role whose rights are given."},
    {"Roles", "What the node is for."},
    {"Schedule", "When jobs are started."},
    {"Secrets", "How many secrets it names."},
    {"Selector", "Labels of the pods that belong to it."},
    {"ServiceAccounts", "ServiceAccounts that get the rights."},
    {"SignerName", "Who is asked to sign."},
    {"Source", "Who noticed it."},
    {"Status", "How it fares."},
    {"StorageClass", "The class the storage is of."},
    {"Subobject", "Which part of the object it is about."},
    {"Suspend", "Whether no jobs are started for now."},
    {"Targets", "What is measured and what it should come to."},
    {"Timezone", "The time zone of the schedule."},
    {"Type", "What sort of it this is."},
    {"Up-to-date", "Pods made from the newest template."},
    {"Users", "Users that get the rights."},
    {"Value", "The higher, the more important."},
    {"Version", "The version of the kubelet."},
    {"Volume", "The volume the claim is bound to."},
    {"VolumeAttributesClass", "The class of settings that may change."},
    {"VolumeBindingMode", "When volumes are made."},
    {"VolumeMode", "A file system or a bare device."},
};

static int by_title(const void *title, const void *row)
{
    return strcmp(title, ((const struct column_text *)row)->title);
}

/* What a title of built-in kinds means, or NULL. */
static const char *column_description(const char *title)
{
    const struct column_text *row = bsearch(title, texts, COUNT(texts), sizeof *texts, by_title);
    return row ? row->text : NULL;
}

/* "5h" or "5h7m": the second part is left out when it is zero. */
static str two_parts(struct arena *a, int64_t first, char unit, int64_t second, char small)
{
    if (second == 0)
        return str_fmt(a, "%lld%c", (long long)first, unit);
    return str_fmt(a, "%lld%c%lld%c", (long long)first, unit, (long long)second, small);
}

str column_duration(struct arena *a, int64_t s)
{
    const int64_t minute = 60, hour = 60 * minute, day = 24 * hour, year = 365 * day;
    if (s < -1)
        return S("<invalid>");
    if (s < 0)
        return S("0s");
    if (s < 2 * minute)
        return two_parts(a, s, 's', 0, 0);
    if (s < 10 * minute)
        return two_parts(a, s / minute, 'm', s % minute, 's');
    if (s < 3 * hour)
        return two_parts(a, s / minute, 'm', 0, 0);
    if (s < 8 * hour)
        return two_parts(a, s / hour, 'h', s % hour / minute, 'm');
    if (s < 48 * hour)
        return two_parts(a, s / hour, 'h', 0, 0);
    if (s < 8 * day)
        return two_parts(a, s / day, 'd', s % day / hour, 'h');
    if (s < 2 * year)
        return two_parts(a, s / day, 'd', 0, 0);
    if (s < 8 * year)
        return two_parts(a, s / year, 'y', s % year / day, 'd');
    return two_parts(a, s / year, 'y', 0, 0);
}

str column_age(struct arena *a, str timestamp, int64_t now)
{
    int64_t then;
    uint32_t nanos;
    if (!time_parse(timestamp, &then, &nanos))
        return S("<unknown>");
    return column_duration(a, now - then);
}

/* ---- Custom resources. ---- */

/* Text as kubectl prints a value found by a JSONPath. */
static struct json printed(struct arena *a, const struct json *v)
{
    if (json_is_str(v))
        return *v;
    struct buf b = {.arena = a};
    if (json_is_null(v))
        buf_add_str(&b, S("<no value>"));
    else if (v->type == JSON_REAL || v->type == JSON_UINT)
        go_text_real(&b, json_to_real(v));
    else
        json_encode(&b, v, JSON_SORTED);
    return json_str(buf_str(&b));
}

static struct json date(struct arena *a, str text, int64_t now)
{
    int64_t then;
    uint32_t nanos;
    if (text.n == 0)
        return json_str(S("<unknown>"));
    if (!time_parse(text, &then, &nanos))
        return json_str(S("<invalid>"));
    return json_str(column_duration(a, now - then));
}

/* A hit that does not fit the column's type shows nothing. */
static struct json typed(struct arena *a, const char *type, const struct json *v, int64_t now)
{
    str t = str_of(type);
    if (str_eq(t, S("string")))
        return printed(a, v);
    if (str_eq(t, S("integer")) && json_is_num(v)) {
        double d = json_to_real(v);
        bool fits = d >= -0x1p63 && d < 0x1p63; /* else what the processor of a Go server makes of it */
        return v->type == JSON_INT ? *v : json_int(fits ? (int64_t)d : INT64_MIN);
    }
    if (str_eq(t, S("number")) && json_is_num(v))
        return json_real(json_to_real(v));
    if (str_eq(t, S("boolean")) && json_type(v) == JSON_BOOL)
        return *v;
    if (str_eq(t, S("date")) && json_is_str(v))
        return date(a, json_text(v), now);
    return json_null();
}

static const char *dup_text(struct arena *a, const struct json *obj, str key)
{
    return str_cstr(a, json_get_text(obj, key));
}

static struct json creation_age(struct arena *a, const struct json *obj, int64_t now)
{
    return json_str(column_age(a, json_text(json_dig(obj, "metadata.creationTimestamp")), now));
}

static struct json nothing(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)obj;
    (void)now;
    return json_null();
}

static struct column of_definition(struct arena *a, const struct json *def)
{
    int64_t priority = 0;
    json_to_int(json_get(def, S("priority")), &priority);
    str path = json_get_text(def, S("jsonPath")), description = json_get_text(def, S("description"));
    if (description.n == 0)
        description = str_fmt(a, "Custom resource definition column (in JSONPath format): %.*s", STR(path));
    struct column c = {
        .name = dup_text(a, def, S("name")),
        .type = dup_text(a, def, S("type")),
        .format = dup_text(a, def, S("format")),
        .description = str_cstr(a, description),
        .priority = (int)priority,
    };
    struct err ignored;
    if (jsonpath_compile(a, path, &c.path, &ignored) < 0)
        c.cell = nothing;
    return c;
}

const struct columns *columns_of_crd(struct arena *a, const struct json *printer_columns)
{
    size_t n = json_len(printer_columns), at = 0;
    struct column *list = ARENA_ARRAY(a, struct column, n + 2);
    list[at++] = (struct column){.name = "Name", .type = "string", .format = "name", .field = "metadata.name"};
    if (n == 0)
        list[at++] = (struct column){.name = "Age", .type = "date", .cell = creation_age};
    json_each_item(printer_columns, def)
    {
        list[at++] = of_definition(a, def);
    }
    struct columns *made = ARENA_NEW(a, struct columns);
    *made = (struct columns){list, at};
    return made;
}

/* ---- Tables. ---- */

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

struct json columns_define(struct arena *a, const struct columns *columns)
{
    struct json list = json_arr_sized(a, columns->n);
    for (size_t i = 0; i < columns->n; i++) {
        const struct column *c = &columns->list[i];
        const char *description = c->description ? c->description : column_description(c->name);
        json_push(a, &list,
                  json_build(a, "{name: %s, type: %s, format: %s, description: %s, priority: %d}", or_empty(c->name),
                             or_empty(c->type), or_empty(c->format), or_empty(description), c->priority));
    }
    return list;
}

static struct json cell(struct arena *a, const struct column *c, const struct json *obj, int64_t now)
{
    if (c->cell)
        return c->cell(a, obj, now);
    if (c->path) {
        const struct json *hit = jsonpath_first(a, c->path, obj);
        return hit ? typed(a, c->type, hit, now) : json_null();
    }
    str text = json_text(json_dig(obj, c->field));
    return json_str(text.n ? text : str_of(or_empty(c->absent)));
}

struct json columns_cells(struct arena *a, const struct columns *columns, const struct json *obj, int64_t now)
{
    struct json list = json_arr_sized(a, columns->n);
    for (size_t i = 0; i < columns->n; i++)
        json_push(a, &list, cell(a, &columns->list[i], obj, now));
    return list;
}

bool columns_of_metadata(const struct columns *columns)
{
    for (size_t i = 0; i < columns->n; i++) {
        const struct column *c = &columns->list[i];
        bool is_field = !c->cell && !c->path && str_has_prefix(str_of(c->field), S("metadata."));
        if (!is_field && c->cell != creation_age)
            return false;
    }
    return true;
}

static const struct column default_list[] = {
    {.name = "Name", .type = "string", .format = "name", .field = "metadata.name"},
    {.name = "Created At", .type = "date", .field = "metadata.creationTimestamp", .absent = "0001-01-01T00:00:00Z"},
};

const struct columns columns_default = {default_list, 2};

struct json column_creation_age(struct arena *a, const struct json *obj, int64_t now)
{
    return json_str(column_age(a, column_text(obj, "metadata.creationTimestamp"), now));
}

int64_t column_int(const struct json *obj, const char *path)
{
    int64_t i = 0;
    json_to_int(json_dig(obj, path), &i);
    return i;
}

str column_text(const struct json *obj, const char *path)
{
    return json_text(json_dig(obj, path));
}

void column_join(struct buf *b, str piece, const char *separator)
{
    if (b->n)
        buf_add_str(b, str_of(separator));
    buf_add_str(b, piece);
}

bool column_condition_is_true(const struct json *conditions, str type)
{
    return str_eq(json_get_text(condition_find(conditions, type), S("status")), S("True"));
}

/* One text of each container of the template, commas between. */
static struct json of_template(struct arena *a, const struct json *obj, str key)
{
    struct buf b = {.arena = a};
    const struct json *template = json_dig(obj, "spec.template");
    if (template == NULL)
        template = json_get(obj, S("template")); /* of a PodTemplate */
    const struct json *containers = json_dig(template, "spec.containers");
    json_each_item(containers, c)
    {
        if (c != containers->items)
            buf_add_char(&b, ',');
        buf_add_str(&b, json_get_text(c, key));
    }
    return json_str(buf_str(&b));
}

struct json column_template_names(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return of_template(a, obj, S("name"));
}

struct json column_template_images(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return of_template(a, obj, S("image"));
}

struct json column_selector(struct arena *a, const struct json *selector, const char *invalid, const char *empty)
{
    struct selector s;
    struct err ignored;
    struct buf b = {.arena = a};
    if (selector_from_object(a, selector, &s, &ignored) < 0)
        return json_str(str_of(invalid));
    selector_format(&b, &s);
    return json_str(b.n ? buf_str(&b) : str_of(empty));
}

static int by_key(const void *l, const void *r)
{
    return str_cmp(json_key(l), json_key(r));
}

str column_labels(struct arena *a, const struct json *labels)
{
    struct buf b = {.arena = a};
    struct json sorted = json_is_obj(labels) ? json_dup_top(a, labels) : json_obj();
    if (sorted.n)
        qsort(sorted.members, sorted.n, sizeof *sorted.members, by_key);
    json_each_member(&sorted, m)
        column_join(&b, str_fmt(a, "%.*s=%.*s", STR(json_key(m)), STR(json_text(&m->val))), ",");
    return b.n ? buf_str(&b) : S("<none>");
}
