/* SPDX-License-Identifier: Apache-2.0 */
/* Readers ask while the loop thread takes in changes, lists again and loses watches. The thread sanitizer watches this program
 * too (tools/test). */
#include "control/informer.h"
#include "lib/fake.h"
#include "object/object.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 1500, NAMES = 40, OWNERS = 3 };

static const str labels[] = {S_INIT("app")};

struct world {
    struct informer *informer;
    _Atomic bool is_over;
    _Atomic uint32_t wrong; /* a line */
};

/* Asserts would end the wrong thread. */
#define CHECK(w, truth) ((truth) ? (void)0 : atomic_store(&(w)->wrong, __LINE__))

static void check_list(struct world *w, struct items list, str app, str owner)
{
    for (size_t i = 0; i < list.n; i++) {
        struct arena a ARENA_SCOPE = {0};
        struct json tree = item_tree(&a, list.p[i]);
        CHECK(w, str_eq(object_name(&tree), item_name(list.p[i])));
        CHECK(w, str_eq(object_rv(&tree), item_version(list.p[i])));
        CHECK(w, app.n == 0 || str_eq(object_label(&tree, S("app")), app));
        const struct json *owners = object_owners(&tree);
        CHECK(w, owner.n == 0 || (json_len(owners) == 1 && str_eq(json_get_text(&owners->items[0], S("uid")), owner)));
        CHECK(w, i == 0 || str_cmp(item_name(list.p[i - 1]), item_name(list.p[i])) < 0);
    }
    items_done(&list);
}

static void *read_on(void *arg)
{
    struct world *w = arg;
    uint64_t seen = 0;
    for (uint32_t round = 0; !atomic_load(&w->is_over); round++) {
        struct arena a ARENA_SCOPE = {0};
        struct json tree;
        str name = str_fmt(&a, "n%u", round % NAMES);
        const struct item *item = informer_get(w->informer, S("a"), name);
        CHECK(w, item == NULL || str_eq(item_name(item), name));
        if (item)
            item_unref(item_ref(item));
        item_unref(item);
        if (informer_read(w->informer, &a, S("a"), name, &tree))
            CHECK(w, str_eq(object_name(&tree), name));
        str app = round % 2 ? S("even") : S("odd"), owner = str_fmt(&a, "owner%u", round % OWNERS);
        check_list(w, informer_list(w->informer, S("a")), (str){0}, (str){0});
        check_list(w, informer_by_label(w->informer, S("app"), app), app, (str){0});
        check_list(w, informer_by_owner(w->informer, owner), (str){0}, owner);
        seen += informer_is_synced(w->informer);
    }
    CHECK(w, seen > 0);
    return NULL;
}

static void change(struct fake *server, uint32_t round)
{
    struct arena a ARENA_SCOPE = {0};
    uint32_t name = round * 7 % NAMES;
    if (round % 5 == 0) {
        fake_remove(server, str_cstr(&a, str_fmt(&a, "/api/v1/namespaces/a/configmaps/n%u", name)));
        return;
    }
    str object =
        str_fmt(&a,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"n%u\",\"namespace\":\"a\","
                "\"labels\":{\"app\":\"%s\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
                "\"name\":\"o\",\"uid\":\"owner%u\"}]},\"data\":{\"round\":\"%u\"}}",
                name, round % 2 ? "even" : "odd", round % OWNERS, round);
    fake_put(server, str_cstr(&a, object));
}

static void on_changed(void *ctx, const struct informer_change *change)
{
    ++*(size_t *)ctx;
}

static void run(struct loop *loop, struct fake *server, struct informer *informer)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        change(server, round);
        if (round % 100 == 50)
            fake_cut_watches(server, FAKE_CUT_CLEAN);
        if (round % 100 == 99)
            informer_relist(informer);
        loop_turn(loop, 0);
    }
}

static void readers_see_whole_objects(void **state)
{
    static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);
    struct err err;
    struct loop *loop;
    size_t told = 0;
    struct world w = {0};
    assert_int_equal(loop_new(&loop, &err), 0);
    struct fake *server = fake_new(&(struct fake_options){.loop = loop, .clock = clock_system});
    struct client *client = client_new(
        &(struct client_options){.loop = loop, .transport = fake_transport(server), .random = random_system});
    w.informer = informer_new(&(struct informer_options){.loop = loop,
                                                         .client = client,
                                                         .resource = configmaps,
                                                         .labels = labels,
                                                         .n_labels = 1,
                                                         .by_owner = true,
                                                         .random = random_system});
    informer_add_handler(w.informer, &(struct informer_handler){.changed = on_changed, .ctx = &told});
    informer_start(w.informer);
    while (!informer_is_synced(w.informer))
        loop_turn(loop, 1000000);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &w), 0);
    run(loop, server, w.informer);
    atomic_store(&w.is_over, true);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&w.wrong), 0);
    assert_true(told > 0);
    informer_free(w.informer);
    client_stop(client);
    client_free(client);
    fake_free(server);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
