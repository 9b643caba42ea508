/* SPDX-License-Identifier: Apache-2.0 */
/* The personas on a whole API server: see cluster.h. The server itself knows what aggregated roles come to. */
#include "cases/cluster.h"

int main(int argc, char **argv)
{
    return cluster_main(argc, argv, "personas");
}
