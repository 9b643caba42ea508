/* SPDX-License-Identifier: Apache-2.0 */
/* A program for the kernel's packet filter: instructions of {code, jump if true, jump if false, number}. It is written from a
 * table, one group of instructions for each row:
 *
 *   load number of the call
 *   not the number of this row: skip to the next row
 *   (rows with a condition) load the low half of an argument; unless it fits: return the row's errno
 *   return ALLOW
 *   …
 *   return KILL_PROCESS
 *
 * Conditions look at the low 32 bits of arguments that are int for the kernel, so there is nothing in the high half to hide in. */
#include "oci/syscalls.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#define ARCHITECTURE 0
#endif

/* When a row counts. */
enum use { ALWAYS, NETWORK, WRITE, NO_WRITE };

/* What is asked of an argument. */
enum test {
    ANY,
    NO_BITS, /* none of value */
    ONE_OF,  /* value or other */
    AT_MOST, /* value */
    SELF,    /* the number of this process */
};

struct row {
    unsigned nr;
    enum use use;
    enum test test;
    unsigned arg;
    uint32_t value, other;
    int refused; /* errno for arguments that do not fit */
};

/* One that is fine whatever it is given, while it is used at all. */
#define PLAIN(name, use_)                \
    {                                    \
        .nr = __NR_##name, .use = (use_) \
    }
#define ONLY(name, use_, test_, arg_, value_, other_, refused_)                                  \
    {                                                                                            \
        __NR_##name, (use_), (test_), (arg_), (uint32_t)(value_), (uint32_t)(other_), (refused_) \
    }

/* open() and the like of the C library are openat for the kernel. What is only refused, not fatal, is what libraries try in good
 * faith and can do without: interface lists over netlink, the name service cache, modules of the name service. */
static const struct row rows[] = {
    /* bytes of what is open */
    PLAIN(read, ALWAYS),
    PLAIN(write, ALWAYS),
    PLAIN(readv, ALWAYS),
    PLAIN(writev, ALWAYS),
    PLAIN(pread64, ALWAYS),
    PLAIN(lseek, ALWAYS),
    PLAIN(close, ALWAYS),
    PLAIN(fstat, ALWAYS),
    PLAIN(fadvise64, ALWAYS),
    PLAIN(ppoll, ALWAYS),
#ifdef __NR_poll
    PLAIN(poll, ALWAYS),
#endif
    ONLY(fcntl, ALWAYS, AT_MOST, 1, F_SETFL, 0, EINVAL), /* descriptors and their flags: no owners, leases, seals */
    ONLY(ioctl, ALWAYS, ONE_OF, 1, FIONBIO, FIONREAD, ENOTTY),

    /* files; landlock says which */
    ONLY(openat, NO_WRITE, NO_BITS, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY), 0,
         EACCES),
    PLAIN(newfstatat, ALWAYS),
    PLAIN(statx, ALWAYS),
    PLAIN(getdents64, ALWAYS),
    PLAIN(openat, WRITE),
    PLAIN(mkdirat, WRITE),
    PLAIN(renameat2, WRITE),
#ifdef __NR_renameat
    PLAIN(renameat, WRITE),
#endif
#ifdef __NR_rename
    PLAIN(rename, WRITE),
#endif
#ifdef __NR_mkdir
    PLAIN(mkdir, WRITE),
#endif
    PLAIN(unlinkat, WRITE),
    PLAIN(fsync, WRITE),
    PLAIN(fdatasync, WRITE),
    PLAIN(flock, WRITE),
    PLAIN(fchmod, WRITE),
    PLAIN(ftruncate, WRITE),

    /* memory, none of it to be run */
    PLAIN(brk, ALWAYS),
    PLAIN(munmap, ALWAYS),
    PLAIN(mremap, ALWAYS),
    PLAIN(madvise, ALWAYS),
    ONLY(mmap, ALWAYS, NO_BITS, 2, PROT_EXEC, 0, EPERM),
    ONLY(mprotect, ALWAYS, NO_BITS, 2, PROT_EXEC, 0, EPERM),
    PLAIN(sysinfo, ALWAYS), /* qsort() of more than a kilobyte: how much memory there is */

    /* time, chance, locks of one thread, its end */
    PLAIN(clock_gettime, ALWAYS),
    PLAIN(gettimeofday, ALWAYS),
    PLAIN(clock_nanosleep, ALWAYS),
    PLAIN(nanosleep, ALWAYS),
    PLAIN(restart_syscall, ALWAYS),
    PLAIN(getrandom, ALWAYS),
    PLAIN(futex, ALWAYS),
    PLAIN(sched_yield, ALWAYS),
    PLAIN(getpid, ALWAYS),
    PLAIN(gettid, ALWAYS),
    PLAIN(getuid, ALWAYS),
    PLAIN(geteuid, ALWAYS),
    PLAIN(getgid, ALWAYS),
    PLAIN(getegid, ALWAYS),
    PLAIN(uname, ALWAYS),
    PLAIN(rt_sigaction, ALWAYS),
    PLAIN(rt_sigprocmask, ALWAYS),
    PLAIN(rt_sigreturn, ALWAYS),
    PLAIN(sigaltstack, ALWAYS),
    ONLY(tgkill, ALWAYS, SELF, 0, 0, 0, EPERM), /* abort() */
    PLAIN(exit, ALWAYS),
    PLAIN(exit_group, ALWAYS),

    /* the network, outwards */
    ONLY(socket, NETWORK, ONE_OF, 0, AF_INET, AF_INET6, EAFNOSUPPORT),
    ONLY(socketpair, NETWORK, ONE_OF, 0, AF_INET, AF_INET6, EAFNOSUPPORT), /* libcurl can do without: for its threads */
    PLAIN(eventfd2, NETWORK),                                              /* newer versions of it, for the same */
    PLAIN(connect, NETWORK),
    PLAIN(sendto, NETWORK),
    PLAIN(recvfrom, NETWORK),
    PLAIN(sendmsg, NETWORK),
    PLAIN(recvmsg, NETWORK),
    PLAIN(sendmmsg, NETWORK),
    PLAIN(shutdown, NETWORK),
    PLAIN(getsockopt, NETWORK),
    PLAIN(setsockopt, NETWORK),
    PLAIN(getsockname, NETWORK),
    PLAIN(getpeername, NETWORK),
};

enum { ROWS = COUNT(rows), PER_ROW = 7, HEAD = 6 };

/* ---- The program. ---- */

struct program {
    struct sock_filter at[ROWS * PER_ROW + HEAD + 1];
    unsigned short n;
};

static void add(struct program *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    p->at[p->n++] = (struct sock_filter){code, yes, no, k};
}

static void give(struct program *p, uint32_t verdict)
{
    add(p, BPF_RET | BPF_K, 0, 0, verdict);
}

/* The low half of an argument: all architectures above are little-endian. */
static void load_arg(struct program *p, unsigned arg)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)arg));
}

/* Falls through when the argument fits. */
static void add_test(struct program *p, const struct row *row)
{
    uint32_t refuse = SECCOMP_RET_ERRNO | ((uint32_t)row->refused & SECCOMP_RET_DATA);
    load_arg(p, row->arg);
    if (row->test == NO_BITS) {
        add(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, row->value);
    } else if (row->test == AT_MOST) {
        add(p, BPF_JMP | BPF_JGT | BPF_K, 0, 1, row->value);
    } else {
        add(p, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, row->test == SELF ? (uint32_t)getpid() : row->value);
        add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, row->test == SELF ? (uint32_t)getpid() : row->other);
    }
    give(p, refuse);
}

/* The number of the call is loaded when a row begins. A row that is not for it jumps over its own instructions. */
static void add_row(struct program *p, const struct row *row)
{
    unsigned short jump = p->n;
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, row->nr);
    if (row->test != ANY)
        add_test(p, row);
    give(p, SECCOMP_RET_ALLOW);
    p->at[jump].jf = (uint8_t)(p->n - jump - 1);
}

static bool is_for(const struct row *row, const struct syscalls_use *use)
{
    switch (row->use) {
    case NETWORK:
        return use->network;
    case WRITE:
        return use->write;
    case NO_WRITE:
        return !use->write;
    default:
        return true;
    }
}

int syscalls_restrict(const struct syscalls_use *use, struct err *err)
{
    struct program p = {.n = 0};
    if (ARCHITECTURE == 0)
        return err_set(err, ERR_INTERNAL, "no table of system calls for this architecture");
    add(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    add(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    give(&p, SECCOMP_RET_KILL_PROCESS);
    add(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)); /* numbers of x32 are in no row */
    for (size_t i = 0; i < ROWS; i++) {
        if (is_for(&rows[i], use))
            add_row(&p, &rows[i]);
    }
    give(&p, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog filter = {.len = p.n, .filter = p.at};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        return err_set(err, ERR_INTERNAL, "restrict system calls: %m");
    return 0;
}
