/* SPDX-License-Identifier: Apache-2.0 */
/* What: a hub and a managed cluster, both fake API servers, and the accounts and heartbeat of cluster one between them; time moves
 *       when the test says so.
 * Owns: all of it.
 * Threads: the test's is the loop's; workers are those of the controllers.
 * Errors: fail the test. */
#pragma once

#include "control/control.h"
#include "fleet_kinds.h"
#include "lib/fake.h"

#define SECOND INT64_C(1000000000)
enum { TURNS = 5000, TURN_NS = 1000000 }; /* how patient the tests are, and how long a turn waits for threads */

struct agent_world {
    struct clock_fake time;
    struct random_seeded chance;
    struct loop *loop;
    struct fake *hub, *managed;
    struct client *to_hub, *to_managed;
    struct log log; /* shown if CASES_LOG is set */
    struct control *control;
    bool is_stopped;
    struct arena arena; /* of the test */
};

/* For cmocka: *state is such a world; nothing runs yet. */
int agent_world_set_up(void **state);
int agent_world_tear_down(void **state);
void agent_world_start(struct agent_world *w);
/* Nothing that it knows is left. */
void agent_world_restart(struct agent_world *w);
/* Until no key is at work or waits, and the loop has told all that it knows. */
void agent_world_rest(struct agent_world *w);
/* In steps, with a rest after each. */
void agent_world_pass(struct agent_world *w, int64_t seconds);
bool is_there(struct fake *server, const char *path);
void assert_text(str have, const char *want);

#define AWAIT(w, condition)                                      \
    do {                                                         \
        for (int turn = 0; turn < TURNS && !(condition); turn++) \
            loop_turn((w)->loop, TURN_NS);                       \
        assert_true(condition);                                  \
    } while (0)
