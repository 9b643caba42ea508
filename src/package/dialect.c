/* SPDX-License-Identifier: Apache-2.0 */
#include "package/dialect.h"

const struct dialect dialect_packages = {
    .group = S_INIT("packages.crossplane.io"),
    .version = S_INIT("v1alpha1"),
    .install = {{S_INIT("PackageInstall"), S_INIT("packageinstalls")},
                {S_INIT("ClusterPackageInstall"), S_INIT("clusterpackageinstalls")}},
    .record = {{S_INIT("Package"), S_INIT("packages")}, {S_INIT("ClusterPackage"), S_INIT("clusterpackages")}},
    .word = S_INIT("package"),
    .title_annotation = S_INIT("package-title"),
    .has_personas = true,
    .has_cluster_crds = true,
};

const struct dialect dialect_stacks = {
    .group = S_INIT("stacks.crossplane.io"),
    .version = S_INIT("v1alpha1"),
    .install = {{S_INIT("StackInstall"), S_INIT("stackinstalls")},
                {S_INIT("ClusterStackInstall"), S_INIT("clusterstackinstalls")}},
    .record = {{S_INIT("Stack"), S_INIT("stacks")}, {S_INIT("ClusterStack"), S_INIT("clusterstacks")}},
    .word = S_INIT("stack"),
    .title_annotation = S_INIT("stack-title"),
    .has_own_role = true,
};
