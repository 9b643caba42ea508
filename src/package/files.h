/* SPDX-License-Identifier: Apache-2.0 */
/* What: which files of an image are a package, and how each is read.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none; what is not known is not wanted. */
#pragma once

#include "base/str.h"

enum package_file {
    PACKAGE_FILE_NONE,
    PACKAGE_FILE_YAML,   /* documents */
    PACKAGE_FILE_TEXT,   /* shown as it is: ui-schema */
    PACKAGE_FILE_BINARY, /* icons */
};

/* What a file says. */
enum package_role {
    PACKAGE_ROLE_NONE,
    PACKAGE_ROLE_STREAM, /* package.yaml: format B; the others are format A */
    PACKAGE_ROLE_APP,
    PACKAGE_ROLE_INSTALL,
    PACKAGE_ROLE_BEHAVIOR,
    PACKAGE_ROLE_GROUP,
    PACKAGE_ROLE_RBAC,
    PACKAGE_ROLE_UI_SCHEMA,
    PACKAGE_ROLE_RESOURCE,
    PACKAGE_ROLE_CRD,
    PACKAGE_ROLE_ICON,
};

enum {
    PACKAGE_MAX_FILES = 20000,
    PACKAGE_MAX_DOCUMENTS = 20000,
    PACKAGE_MAX_CRDS = 5000,
    PACKAGE_MAX_METADATA = 512 * 1024,
    PACKAGE_MAX_CRD_BYTES = 2 * 1024 * 1024,
    PACKAGE_MAX_UNPACKED = 200 * 1024 * 1024,
};

/* path: inside the image, without a slash in front: ".registry/resources/x.crd.yaml", "package.yaml". */
enum package_file package_file_kind(str path);
enum package_role package_file_role(str path);
