/* SPDX-License-Identifier: Apache-2.0 */
/* What controllers keep to make pods from: PodTemplate and ControllerRevision. */
#include "kinds/strategy_internal.h"
#include "kinds/strategy_pod.h"

static void fill_template(struct arena *a, struct json *object)
{
    pod_fill_template(a, make_obj(a, object, S("template")));
}

static void validate_template(struct field_errors *errs, const struct json *object)
{
    pod_check_template(errs, AT(NULL, "template"), json_get(object, S("template")));
}

static void validate_revision(struct field_errors *errs, const struct json *object)
{
    check_not_negative(errs, AT(NULL, "revision"), json_get(object, S("revision")));
    if (json_is_null(json_get(object, S("data"))))
        check_required(errs, AT(NULL, "data"), "data is mandatory");
}

/* The data is shown as JSON, not as Go's bytes. */
static void validate_revision_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_immutable(errs, AT(NULL, "data"), json_get(object, S("data")), json_get(current, S("data")));
}

static const struct strategy rows[] = {
    {
        .kind = "PodTemplate",
        .fill = fill_template,
        .validate = validate_template,
    },
    {
        .group = "apps",
        .kind = "ControllerRevision",
        .validate = validate_revision,
        .validate_update = validate_revision_update,
        .changes_come_last = true,
    },
};
STRATEGIES(strategies_templates, rows);
