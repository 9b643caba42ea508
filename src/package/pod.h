/* SPDX-License-Identifier: Apache-2.0 */
/* What: whether the Deployment of a package keeps to itself: its pods must not reach the node they run on, nor be anybody but
 *       the package's own account in its own namespace.
 * Owns: nothing.
 * Threads: pure.
 * Errors: findings with the reason InvalidPackage, one for each field that asks for too much.
 *
 *   the node      hostNetwork, hostPID, hostIPC, hostPort; volumes other than the kinds below; privileged containers, added
 *                 capabilities, unmasked /proc, sysctls, profiles of seccomp, AppArmor or SELinux that confine nothing or that
 *                 the node's owner made for others, host processes of Windows; probes and hooks that the kubelet would send to
 *                 another host than the pod
 *   other people  a serviceAccountName or a namespace that is not the install's own
 *
 * What is not understood (a field of another type, a volume of a kind that is not known) is refused. So this holds whether or
 * not the Deployment was checked against its types before. Whatever is let through, the plan still replaces all security
 * contexts by the one that every package gets. */
#pragma once

#include "package/finding.h"
#include "json/json.h"

/* deployment: apps/v1, as in package.h; null is fine. account, namespace: where it will run. */
void package_check_pod(const struct json *deployment, str account, str namespace, struct findings *findings);
