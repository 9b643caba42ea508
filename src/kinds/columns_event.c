/* SPDX-License-Identifier: Apache-2.0 */
/* Events of both groups: the same columns over two sets of field names. */
#include "kinds/columns_internal.h"

static str either(const struct json *obj, const char *core, const char *events)
{
    str text = column_text(obj, core);
    return text.n ? text : column_text(obj, events);
}

static struct json first_seen(struct arena *a, const struct json *obj, int64_t now)
{
    str at = either(obj, "firstTimestamp", "deprecatedFirstTimestamp");
    return json_str(column_age(a, at.n ? at : column_text(obj, "eventTime"), now));
}

static struct json last_seen(struct arena *a, const struct json *obj, int64_t now)
{
    str at = either(obj, "lastTimestamp", "deprecatedLastTimestamp");
    if (json_is_obj(json_get(obj, S("series"))))
        return json_str(column_age(a, column_text(obj, "series.lastObservedTime"), now));
    return at.n ? json_str(column_age(a, at, now)) : first_seen(a, obj, now);
}

static struct json count(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    if (json_is_obj(json_get(obj, S("series"))))
        return json_int(column_int(obj, "series.count"));
    int64_t n = column_int(obj, "count") + column_int(obj, "deprecatedCount"); /* an event has one of them */
    return json_int(n ? n : 1);
}

/* "pod/web" */
static struct json target(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    struct buf b = {.arena = a};
    str kind = either(obj, "involvedObject.kind", "regarding.kind");
    str name = either(obj, "involvedObject.name", "regarding.name");
    for (size_t i = 0; i < kind.n; i++)
        buf_add_char(&b, char_is_upper(kind.p[i]) ? (char)(kind.p[i] + 32) : kind.p[i]);
    if (name.n)
        buf_fmt(&b, "/%.*s", STR(name));
    return json_str(buf_str(&b));
}

static struct json subobject(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_str(either(obj, "involvedObject.fieldPath", "regarding.fieldPath"));
}

/* "kubelet, node-1" */
static struct json source(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    str component = either(obj, "source.component", "deprecatedSource.component");
    str host = either(obj, "source.host", "deprecatedSource.host");
    component = component.n ? component : either(obj, "reportingComponent", "reportingController");
    host = host.n ? host : column_text(obj, "reportingInstance");
    return json_str(host.n ? str_fmt(a, "%.*s, %.*s", STR(component), STR(host)) : component);
}

static struct json message(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_str(str_trim(either(obj, "message", "note")));
}

static const struct column events[] = {
    CELL_COLUMN("Last Seen", last_seen),
    FIELD_COLUMN("Type", "type", NULL),
    FIELD_COLUMN("Reason", "reason", NULL),
    CELL_COLUMN("Object", target),
    WIDE_CELL_COLUMN("Subobject", subobject),
    WIDE_CELL_COLUMN("Source", source),
    CELL_COLUMN("Message", message),
    WIDE_CELL_COLUMN("First Seen", first_seen),
    WIDE_CELL_COLUMN("Count", count),
    {.name = "Name", .type = "string", .format = "name", .field = "metadata.name", .priority = 1},
};
COLUMNS(columns_events, events);
