/* SPDX-License-Identifier: Apache-2.0 */
/* What: one controller on a fake API server; time moves when the test says so.
 * Owns: all of it.
 * Threads: the test's is the loop's; workers are those of the controller.
 * Errors: fail the test. */
#pragma once

#include "controllers/controllers.h"
#include "lib/fake.h"

#define SECOND INT64_C(1000000000)
enum { TURNS = 20000, TURN_NS = 1000000 }; /* how patient the tests are, and how long a turn waits for threads */

struct world {
    struct clock_fake time;
    struct random_seeded chance;
    struct loop *loop;
    struct fake *fake;
    struct client *client;
    struct log log; /* shown if CASES_LOG is set */
    struct control *control;
    bool is_stopped;
    struct arena arena; /* of the test */
};

/* For cmocka: *state is a world on the heap, whose controller has yet to be started. */
int world_set_up(void **state, const struct controller_row *row);
int world_tear_down(void **state);
