/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns of built-in kinds mean, by their titles: kinds that share a title mean the same by it. */
#include "kinds/columns_internal.h"

#include <stdlib.h>

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

const char *column_description(const char *title)
{
    const struct column_text *row = bsearch(title, texts, COUNT(texts), sizeof *texts, by_title);
    return row ? row->text : NULL;
}
