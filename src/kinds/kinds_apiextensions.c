/* SPDX-License-Identifier: Apache-2.0 */
/* apiextensions.k8s.io/v1: CustomResourceDefinition. The schema of a schema refers to itself. */
#define SHAPE_PACKAGE "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

static const struct shape_field custom_resource_definition_names_fields[] = {
    STRING("plural", 1, REQUIRED), STRING("singular", 2), STRINGS("shortNames", 3, ATOMIC),
    STRING("kind", 4, REQUIRED),   STRING("listKind", 5), STRINGS("categories", 6, ATOMIC),
};
SHAPE(custom_resource_definition_names, "CustomResourceDefinitionNames");

static const struct shape_field external_documentation_fields[] = {
    STRING("description", 1),
    STRING("url", 2),
};
SHAPE(external_documentation, "ExternalDocumentation");

static const struct shape_field validation_rule_fields[] = {
    STRING("rule", 1, REQUIRED),    STRING("message", 2),
    STRING("messageExpression", 3), STRING("reason", 4, PTR, NAMED("v1.FieldValueErrorReason")),
    STRING("fieldPath", 5),         BOOL("optionalOldSelf", 6, PTR),
};
SHAPE(validation_rule, "ValidationRule");

static const struct shape json_schema_props;

static const struct shape_field json_schema_props_fields[] = {
    STRING("id", 1),
    STRING("$schema", 2, NAMED("v1.JSONSchemaURL")),
    STRING("$ref", 3, PTR),
    STRING("description", 4),
    STRING("type", 5),
    STRING("format", 6),
    STRING("title", 7),
    RAW("default", 8, PTR),
    DOUBLE("maximum", 9, PTR),
    BOOL("exclusiveMaximum", 10),
    DOUBLE("minimum", 11, PTR),
    BOOL("exclusiveMinimum", 12),
    INT64("maxLength", 13, PTR),
    INT64("minLength", 14, PTR),
    STRING("pattern", 15),
    INT64("maxItems", 16, PTR),
    INT64("minItems", 17, PTR),
    BOOL("uniqueItems", 18),
    DOUBLE("multipleOf", 19, PTR),
    RAW_LIST("enum", 20, ATOMIC),
    INT64("maxProperties", 21, PTR),
    INT64("minProperties", 22, PTR),
    STRINGS("required", 23, ATOMIC),
    SCHEMA_OR_ARRAY("items", 24, json_schema_props, PTR),
    LIST("allOf", 25, json_schema_props, ATOMIC),
    LIST("oneOf", 26, json_schema_props, ATOMIC),
    LIST("anyOf", 27, json_schema_props, ATOMIC),
    RECORD("not", 28, json_schema_props, PTR),
    RECORD_MAP("properties", 29, json_schema_props),
    SCHEMA_OR_BOOL("additionalProperties", 30, json_schema_props, PTR),
    RECORD_MAP("patternProperties", 31, json_schema_props),
    SCHEMA_OR_STRINGS_MAP("dependencies", 32, json_schema_props, NAMED("v1.JSONSchemaDependencies")),
    SCHEMA_OR_BOOL("additionalItems", 33, json_schema_props, PTR),
    RECORD_MAP("definitions", 34, json_schema_props, NAMED("v1.JSONSchemaDefinitions")),
    RECORD("externalDocs", 35, external_documentation, PTR),
    RAW("example", 36, PTR),
    BOOL("nullable", 37),
    BOOL("x-kubernetes-preserve-unknown-fields", 38, PTR),
    BOOL("x-kubernetes-embedded-resource", 39),
    BOOL("x-kubernetes-int-or-string", 40),
    STRINGS("x-kubernetes-list-map-keys", 41, ATOMIC),
    STRING("x-kubernetes-list-type", 42, PTR),
    STRING("x-kubernetes-map-type", 43, PTR),
    LIST("x-kubernetes-validations", 44, validation_rule, KEYED("rule"), MERGE("rule"), NAMED("v1.ValidationRules")),
};
SHAPE(json_schema_props, "JSONSchemaProps");

static const struct shape_field custom_resource_validation_fields[] = {
    RECORD("openAPIV3Schema", 1, json_schema_props, PTR),
};
SHAPE(custom_resource_validation, "CustomResourceValidation");

EMPTY_SHAPE(custom_resource_subresource_status, "CustomResourceSubresourceStatus");

static const struct shape_field custom_resource_subresource_scale_fields[] = {
    STRING("specReplicasPath", 1, REQUIRED),
    STRING("statusReplicasPath", 2, REQUIRED),
    STRING("labelSelectorPath", 3, PTR),
};
SHAPE(custom_resource_subresource_scale, "CustomResourceSubresourceScale");

static const struct shape_field custom_resource_subresources_fields[] = {
    RECORD("status", 1, custom_resource_subresource_status, PTR),
    RECORD("scale", 2, custom_resource_subresource_scale, PTR),
};
SHAPE(custom_resource_subresources, "CustomResourceSubresources");

static const struct shape_field custom_resource_column_definition_fields[] = {
    STRING("name", 1, REQUIRED), STRING("type", 2, REQUIRED), STRING("format", 3),
    STRING("description", 4),    INT32("priority", 5),        STRING("jsonPath", 6, REQUIRED),
};
SHAPE(custom_resource_column_definition, "CustomResourceColumnDefinition");

static const struct shape_field selectable_field_fields[] = {
    STRING("jsonPath", 1, REQUIRED),
};
SHAPE(selectable_field, "SelectableField");

static const struct shape_field custom_resource_definition_version_fields[] = {
    STRING("name", 1, REQUIRED),
    BOOL("served", 2, REQUIRED),
    BOOL("storage", 3, REQUIRED),
    BOOL("deprecated", 7),
    STRING("deprecationWarning", 8, PTR),
    RECORD("schema", 4, custom_resource_validation, PTR),
    RECORD("subresources", 5, custom_resource_subresources, PTR),
    LIST("additionalPrinterColumns", 6, custom_resource_column_definition, ATOMIC),
    LIST("selectableFields", 9, selectable_field, ATOMIC),
};
SHAPE(custom_resource_definition_version, "CustomResourceDefinitionVersion");

static const struct shape_field service_reference_fields[] = {
    STRING("namespace", 1, REQUIRED),
    STRING("name", 2, REQUIRED),
    STRING("path", 3, PTR),
    INT32("port", 4, PTR),
};
SHAPE(service_reference, "ServiceReference");

static const struct shape_field webhook_client_config_fields[] = {
    STRING("url", 3, PTR),
    RECORD("service", 1, service_reference, PTR),
    BYTES("caBundle", 2),
};
SHAPE(webhook_client_config, "WebhookClientConfig");

static const struct shape_field webhook_conversion_fields[] = {
    RECORD("clientConfig", 2, webhook_client_config, PTR),
    STRINGS("conversionReviewVersions", 3, REQUIRED, ATOMIC),
};
SHAPE(webhook_conversion, "WebhookConversion");

static const struct shape_field custom_resource_conversion_fields[] = {
    STRING("strategy", 1, REQUIRED, NAMED("v1.ConversionStrategyType")),
    RECORD("webhook", 2, webhook_conversion, PTR),
};
SHAPE(custom_resource_conversion, "CustomResourceConversion");

static const struct shape_field custom_resource_definition_spec_fields[] = {
    STRING("group", 1, REQUIRED),
    RECORD("names", 3, custom_resource_definition_names, REQUIRED),
    STRING("scope", 4, REQUIRED, NAMED("v1.ResourceScope")),
    LIST("versions", 7, custom_resource_definition_version, REQUIRED, ATOMIC),
    RECORD("conversion", 9, custom_resource_conversion, PTR),
    BOOL("preserveUnknownFields", 10),
};
SHAPE(custom_resource_definition_spec, "CustomResourceDefinitionSpec");

static const struct shape_field custom_resource_definition_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.CustomResourceDefinitionConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 3),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(custom_resource_definition_condition, "CustomResourceDefinitionCondition");

static const struct shape_field custom_resource_definition_status_fields[] = {
    LIST("conditions", 1, custom_resource_definition_condition, KEYED("type"), WRITTEN),
    RECORD("acceptedNames", 2, custom_resource_definition_names),
    STRINGS("storedVersions", 3, ATOMIC, WRITTEN),
};
SHAPE(custom_resource_definition_status, "CustomResourceDefinitionStatus");

static const struct shape_field custom_resource_definition_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, custom_resource_definition_spec, REQUIRED),
    RECORD("status", 3, custom_resource_definition_status),
};
SHAPE(custom_resource_definition, "CustomResourceDefinition");

static const struct kind kinds[] = {
    {
        NAMES("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
              "customresourcedefinition"),
        .short_names = LIST_OF("crd", "crds"),
        .categories = LIST_OF("api-extensions"),
        .verbs = VERBS_ALL,
        .flags = KIND_GENERATION,
        SUBRESOURCES(STATUS),
        .shape = &custom_resource_definition,
    },
};

const struct kind_table kinds_apiextensions = {kinds, ROWS(kinds)};
