/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"
#include "base/file.h"
#include "client/https.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

void interrupt_hold(struct interrupt *i)
{
    sigset_t all;
    sigfillset(&all);
    i->fd = -1;
    (void)pthread_sigmask(SIG_BLOCK, &all, &i->before);
}

/* A shell that puts a command into the background of a script makes it ignore Ctrl-C; a descriptor would tell it all the same. */
static void add(sigset_t *set, int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaddset(set, number);
}

void interrupt_open(struct interrupt *i)
{
    sigset_t set;
    sigemptyset(&set);
    add(&set, SIGINT);
    add(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, &i->before);
    i->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int interrupt_take(struct interrupt *i)
{
    struct signalfd_siginfo got;
    return i->fd >= 0 && read(i->fd, &got, sizeof got) == (ssize_t)sizeof got ? (int)got.ssi_signo : 0;
}

void interrupt_close(struct interrupt *i)
{
    if (i->fd >= 0)
        close(i->fd);
    (void)pthread_sigmask(SIG_SETMASK, &i->before, NULL);
}

enum { CA_BYTES = 1024 * 1024 };

static void *run(void *ctx)
{
    struct session *s = ctx;
    loop_run(s->loop);
    return NULL;
}

/* A peer that goes away is an error of the write, and not the end of us. Signals are the main thread's, who may hold them back. */
static int start(struct session *s, struct err *err)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct interrupt interrupt;
    (void)sigaction(SIGPIPE, &ignore, NULL);
    interrupt_hold(&interrupt);
    int failed = pthread_create(&s->thread, NULL, run, s);
    interrupt_close(&interrupt);
    if (failed)
        return err_set(err, ERR_INTERNAL, "cannot start a thread");
    s->is_running = true;
    return 0;
}

int session_open(struct session *s, const struct session_flags *flags, struct err *err)
{
    struct transport *transport;
    struct client_config_args args = {
        .kubeconfig = flags->kubeconfig, .context = flags->context, .env = (const char *const *)environ};
    int code = client_config_load(&s->arena, &args, &s->config, err);
    if (code == 0 && flags->as.n)
        s->config.as =
            (struct client_impersonation){.user = flags->as, .groups = flags->groups.p, .n_groups = flags->groups.n};
    if (code == 0)
        code = loop_new(&s->loop, err);
    struct https_options options = {
        .credentials = {.clock = clock_system, .env = (const char *const *)environ},
        .random = random_of_pool(&s->random),
        .version = S(REEVE_VERSION),
    };
    if (code == 0)
        code = https_new(s->loop, &s->config, &options, &transport, err);
    if (code < 0)
        return code;
    s->client = client_new(&(struct client_options){
        .loop = s->loop, .transport = transport, .random = random_of_pool(&s->random), .is_impatient = true});
    return start(s, err);
}

void session_close(struct session *s)
{
    if (s->is_running) {
        loop_stop(s->loop);
        (void)pthread_join(s->thread, NULL);
    }
    if (s->client)
        client_stop(s->client);
    client_free(s->client);
    loop_free(s->loop);
    arena_done(&s->arena);
    *s = (struct session){0};
}

int session_ca(struct session *s, str *ret_pem, struct err *err)
{
    *ret_pem = s->config.ca_pem;
    if (s->config.ca_file.n == 0)
        return 0;
    return file_read(&s->arena, s->config.ca_file, FILE_ANY, CA_BYTES, ret_pem, err);
}
