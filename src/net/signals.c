/* SPDX-License-Identifier: Apache-2.0 */
#include "net/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void on_signals(void *ctx, unsigned events)
{
    struct signals *s = ctx;
    struct signalfd_siginfo info;
    (void)events;
    while (read(s->file.fd, &info, sizeof info) == (ssize_t)sizeof info)
        s->fn(s->ctx, (int)info.ssi_signo);
}

int signals_open(struct signals *s, struct loop *l, struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (sigaction(SIGPIPE, &ignore, NULL) < 0 || /* peers go away: write says so */
        sigaction(SIGXFSZ, &ignore, NULL) < 0 || /* a limit of file sizes is a full disk */
        sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return err_set(err, ERR_INTERNAL, "block signals: %m");
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return err_set(err, ERR_IO, "wait for signals: %m");
    s->loop = l;
    s->file = (struct loop_fd){.fd = fd, .fn = on_signals, .ctx = s};
    int code = loop_fd_add(l, &s->file, LOOP_READ, err);
    if (code < 0)
        (void)close(fd);
    return code;
}

void signals_close(struct signals *s)
{
    if (!s->file.is_added)
        return;
    loop_fd_remove(s->loop, &s->file);
    (void)close(s->file.fd);
}
