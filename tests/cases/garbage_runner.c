/* SPDX-License-Identifier: Apache-2.0 */
/* The garbage collector on a whole API server: see cluster.h. */
#include "cases/cluster.h"

int main(int argc, char **argv)
{
    return cluster_main(argc, argv, "garbage");
}
