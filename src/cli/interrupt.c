/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

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
