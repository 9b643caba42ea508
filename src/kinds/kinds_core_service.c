/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: Service and Endpoints. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field service_port_fields[] = {
    STRING("name", 1),
    STRING("protocol", 2, NAMED("v1.Protocol")),
    STRING("appProtocol", 6, PTR),
    INT32("port", 3, REQUIRED),
    INT_OR_STRING("targetPort", 4),
    INT32("nodePort", 5),
};
SHAPE(service_port, "ServicePort");

static const struct shape_field client_ip_config_fields[] = {
    INT32("timeoutSeconds", 1, PTR),
};
SHAPE(client_ip_config, "ClientIPConfig");

static const struct shape_field session_affinity_config_fields[] = {
    RECORD("clientIP", 1, client_ip_config, PTR),
};
SHAPE(session_affinity_config, "SessionAffinityConfig");

static const struct shape_field service_spec_fields[] = {
    LIST("ports", 1, service_port, KEYED("port,protocol"), MERGE("port")),
    STRING_MAP("selector", 2, ATOMIC),
    STRING("clusterIP", 3),
    STRINGS("clusterIPs", 18, ATOMIC),
    STRING("type", 4, NAMED("v1.ServiceType")),
    STRINGS("externalIPs", 5, ATOMIC),
    STRING("sessionAffinity", 7, NAMED("v1.ServiceAffinity")),
    STRING("loadBalancerIP", 8),
    STRINGS("loadBalancerSourceRanges", 9, ATOMIC),
    STRING("externalName", 10),
    STRING("externalTrafficPolicy", 11, NAMED("v1.ServiceExternalTrafficPolicy")),
    INT32("healthCheckNodePort", 12),
    BOOL("publishNotReadyAddresses", 13),
    RECORD("sessionAffinityConfig", 14, session_affinity_config, PTR),
    STRINGS("ipFamilies", 19, ATOMIC, NAMED("v1.IPFamily")),
    STRING("ipFamilyPolicy", 17, PTR, NAMED("v1.IPFamilyPolicy")),
    BOOL("allocateLoadBalancerNodePorts", 20, PTR),
    STRING("loadBalancerClass", 21, PTR),
    STRING("internalTrafficPolicy", 22, PTR, NAMED("v1.ServiceInternalTrafficPolicy")),
    STRING("trafficDistribution", 23, PTR),
};
SHAPE(service_spec, "ServiceSpec");

static const struct shape_field port_status_fields[] = {
    INT32("port", 1, REQUIRED),
    STRING("protocol", 2, REQUIRED, NAMED("v1.Protocol")),
    STRING("error", 3, PTR),
};
SHAPE(port_status, "PortStatus");

static const struct shape_field load_balancer_ingress_fields[] = {
    STRING("ip", 1),
    STRING("hostname", 2),
    STRING("ipMode", 3, PTR, NAMED("v1.LoadBalancerIPMode")),
    LIST("ports", 4, port_status, ATOMIC),
};
SHAPE(load_balancer_ingress, "LoadBalancerIngress");

static const struct shape_field load_balancer_status_fields[] = {
    LIST("ingress", 1, load_balancer_ingress, ATOMIC),
};
SHAPE(load_balancer_status, "LoadBalancerStatus");

static const struct shape_field service_status_fields[] = {
    RECORD("loadBalancer", 1, load_balancer_status),
    LIST("conditions", 2, shape_condition, KEYED("type"), MERGE("type")),
};
SHAPE(service_status, "ServiceStatus");

static const struct shape_field shape_service_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, service_spec),
    RECORD("status", 3, service_status),
};
SHARED_SHAPE(shape_service, "Service");

static const struct shape_field endpoint_address_fields[] = {
    STRING("ip", 1, REQUIRED),
    STRING("hostname", 3),
    STRING("nodeName", 4, PTR),
    RECORD("targetRef", 2, shape_object_reference, PTR),
};
ATOMIC_SHAPE(endpoint_address, "EndpointAddress");

static const struct shape_field endpoint_port_fields[] = {
    STRING("name", 1),
    INT32("port", 2, REQUIRED),
    STRING("protocol", 3, NAMED("v1.Protocol")),
    STRING("appProtocol", 4, PTR),
};
ATOMIC_SHAPE(endpoint_port, "EndpointPort");

static const struct shape_field endpoint_subset_fields[] = {
    LIST("addresses", 1, endpoint_address, ATOMIC),
    LIST("notReadyAddresses", 2, endpoint_address, ATOMIC),
    LIST("ports", 3, endpoint_port, ATOMIC),
};
SHAPE(endpoint_subset, "EndpointSubset");

static const struct shape_field shape_endpoints_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    LIST("subsets", 2, endpoint_subset, ATOMIC),
};
SHARED_SHAPE(shape_endpoints, "Endpoints");
