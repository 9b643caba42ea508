/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* networking.k8s.io/v1: Ingress, IngressClass and NetworkPolicy. */
#define SHAPE_PACKAGE "io.k8s.api.networking.v1"

static const struct shape_field service_backend_port_fields[] = {
    STRING("name", 1),
    INT32("number", 2),
};
ATOMIC_SHAPE(service_backend_port, "ServiceBackendPort");

static const struct shape_field ingress_service_backend_fields[] = {
    STRING("name", 1, REQUIRED),
    RECORD("port", 2, service_backend_port),
};
SHAPE(ingress_service_backend, "IngressServiceBackend");

static const struct shape_field ingress_backend_fields[] = {
    RECORD("service", 4, ingress_service_backend, PTR),
    RECORD("resource", 3, shape_typed_local_object_reference, PTR),
};
SHAPE(ingress_backend, "IngressBackend");

static const struct shape_field http_ingress_path_fields[] = {
    STRING("path", 1),
    STRING("pathType", 3, PTR, REQUIRED, NAMED("v1.PathType")),
    RECORD("backend", 2, ingress_backend, REQUIRED),
};
SHAPE(http_ingress_path, "HTTPIngressPath");

static const struct shape_field http_ingress_rule_value_fields[] = {
    LIST("paths", 1, http_ingress_path, REQUIRED, ATOMIC),
};
SHAPE(http_ingress_rule_value, "HTTPIngressRuleValue");

static const struct shape_field ingress_rule_fields[] = {
    STRING("host", 1),
    RECORD("http", 1, http_ingress_rule_value, PTR, WITHIN(2)),
};
SHAPE(ingress_rule, "IngressRule");

static const struct shape_field ingress_tls_fields[] = {
    STRINGS("hosts", 1, ATOMIC),
    STRING("secretName", 2),
};
SHAPE(ingress_tls, "IngressTLS");

static const struct shape_field ingress_spec_fields[] = {
    STRING("ingressClassName", 4, PTR),
    RECORD("defaultBackend", 1, ingress_backend, PTR),
    LIST("tls", 2, ingress_tls, ATOMIC),
    LIST("rules", 3, ingress_rule, ATOMIC),
};
SHAPE(ingress_spec, "IngressSpec");

static const struct shape_field ingress_port_status_fields[] = {
    INT32("port", 1, REQUIRED),
    STRING("protocol", 2, REQUIRED, NAMED("v1.Protocol")),
    STRING("error", 3, PTR),
};
SHAPE(ingress_port_status, "IngressPortStatus");

static const struct shape_field ingress_load_balancer_ingress_fields[] = {
    STRING("ip", 1),
    STRING("hostname", 2),
    LIST("ports", 4, ingress_port_status, ATOMIC),
};
SHAPE(ingress_load_balancer_ingress, "IngressLoadBalancerIngress");

static const struct shape_field ingress_load_balancer_status_fields[] = {
    LIST("ingress", 1, ingress_load_balancer_ingress, ATOMIC),
};
SHAPE(ingress_load_balancer_status, "IngressLoadBalancerStatus");

static const struct shape_field ingress_status_fields[] = {
    RECORD("loadBalancer", 1, ingress_load_balancer_status),
};
SHAPE(ingress_status, "IngressStatus");

static const struct shape_field ingress_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, ingress_spec),
    RECORD("status", 3, ingress_status),
};
SHAPE(ingress, "Ingress");

static const struct shape_field ip_block_fields[] = {
    STRING("cidr", 1, REQUIRED),
    STRINGS("except", 2, ATOMIC),
};
SHAPE(ip_block, "IPBlock");

static const struct shape_field network_policy_peer_fields[] = {
    RECORD("podSelector", 1, shape_label_selector, PTR),
    RECORD("namespaceSelector", 2, shape_label_selector, PTR),
    RECORD("ipBlock", 3, ip_block, PTR),
};
SHAPE(network_policy_peer, "NetworkPolicyPeer");

static const struct shape_field network_policy_port_fields[] = {
    STRING("protocol", 1, PTR, NAMED("v1.Protocol")),
    INT_OR_STRING("port", 2, PTR),
    INT32("endPort", 3, PTR),
};
SHAPE(network_policy_port, "NetworkPolicyPort");

static const struct shape_field network_policy_ingress_rule_fields[] = {
    LIST("ports", 1, network_policy_port, ATOMIC),
    LIST("from", 2, network_policy_peer, ATOMIC),
};
SHAPE(network_policy_ingress_rule, "NetworkPolicyIngressRule");

static const struct shape_field network_policy_egress_rule_fields[] = {
    LIST("ports", 1, network_policy_port, ATOMIC),
    LIST("to", 2, network_policy_peer, ATOMIC),
};
SHAPE(network_policy_egress_rule, "NetworkPolicyEgressRule");

static const struct shape_field network_policy_spec_fields[] = {
    RECORD("podSelector", 1, shape_label_selector, REQUIRED),
    LIST("ingress", 2, network_policy_ingress_rule, ATOMIC),
    LIST("egress", 3, network_policy_egress_rule, ATOMIC),
    STRINGS("policyTypes", 4, ATOMIC, NAMED("v1.PolicyType")),
};
SHAPE(network_policy_spec, "NetworkPolicySpec");

static const struct shape_field network_policy_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, network_policy_spec),
};
SHAPE(network_policy, "NetworkPolicy");

static const struct shape_field ingress_class_parameters_reference_fields[] = {
    STRING("apiGroup", 1, PTR), STRING("kind", 2, REQUIRED), STRING("name", 3, REQUIRED),
    STRING("scope", 4, PTR),    STRING("namespace", 5, PTR),
};
SHAPE(ingress_class_parameters_reference, "IngressClassParametersReference");

static const struct shape_field ingress_class_spec_fields[] = {
    STRING("controller", 1),
    RECORD("parameters", 2, ingress_class_parameters_reference, PTR),
};
SHAPE(ingress_class_spec, "IngressClassSpec");

static const struct shape_field ingress_class_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, ingress_class_spec),
};
SHAPE(ingress_class, "IngressClass");

static const struct kind networking_kinds[] = {
    {
        NAMES("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "ingressclass"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        .shape = &ingress_class,
        .columns = &columns_ingress_classes,
    },
    {
        NAMES("networking.k8s.io", "v1", "Ingress", "ingresses", "ingress"),
        .short_names = LIST_OF("ing"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        SUBRESOURCES(STATUS),
        .shape = &ingress,
        .columns = &columns_ingresses,
    },
    {
        NAMES("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "networkpolicy"),
        .short_names = LIST_OF("netpol"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        .shape = &network_policy,
        .columns = &columns_network_policies,
    },
};

const struct kind_table kinds_networking = {networking_kinds, ROWS(networking_kinds)};

/* discovery.k8s.io/v1: EndpointSlice. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.discovery.v1"

static const struct shape_field endpoint_conditions_fields[] = {
    BOOL("ready", 1, PTR),
    BOOL("serving", 2, PTR),
    BOOL("terminating", 3, PTR),
};
SHAPE(endpoint_conditions, "EndpointConditions");

static const struct shape_field for_zone_fields[] = {
    STRING("name", 1, REQUIRED),
};
SHAPE(for_zone, "ForZone");

static const struct shape_field endpoint_hints_fields[] = {
    LIST("forZones", 1, for_zone, ATOMIC),
};
SHAPE(endpoint_hints, "EndpointHints");

static const struct shape_field endpoint_fields[] = {
    STRINGS("addresses", 1, REQUIRED, SET),
    RECORD("conditions", 2, endpoint_conditions),
    STRING("hostname", 3, PTR),
    RECORD("targetRef", 4, shape_object_reference, PTR),
    STRING_MAP("deprecatedTopology", 5),
    STRING("nodeName", 6, PTR),
    STRING("zone", 7, PTR),
    RECORD("hints", 8, endpoint_hints, PTR),
};
SHAPE(endpoint, "Endpoint");

static const struct shape_field endpoint_port_fields[] = {
    STRING("name", 1, PTR),
    STRING("protocol", 2, PTR, NAMED("v1.Protocol")),
    INT32("port", 3, PTR),
    STRING("appProtocol", 4, PTR),
};
ATOMIC_SHAPE(endpoint_port, "EndpointPort");

static const struct shape_field endpoint_slice_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    STRING("addressType", 4, REQUIRED, NAMED("v1.AddressType")),
    LIST("endpoints", 2, endpoint, REQUIRED, ATOMIC),
    LIST("ports", 3, endpoint_port, WRITTEN, ATOMIC),
};
SHAPE(endpoint_slice, "EndpointSlice");

static const struct kind discovery_kinds[] = {
    {
        NAMES("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION | KIND_GENERATION_LABELS,
        .shape = &endpoint_slice,
        .columns = &columns_endpoint_slices,
    },
};

const struct kind_table kinds_discovery = {discovery_kinds, ROWS(discovery_kinds)};
