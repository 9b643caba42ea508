/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/sandbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "oci/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The table of system calls that reeve-fetch may make, as a filter for the kernel. Part of the sandbox. */

struct syscalls_use {
    bool network; /* sockets of IPv4 and IPv6 */
    bool write;   /* files are made, renamed, removed */
};

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

/* For good. Needs PR_SET_NO_NEW_PRIVS. */
static int syscalls_restrict(const struct syscalls_use *use, struct err *err)
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

/* ---- Landlock. The headers may be older than the kernel that runs us, so what came later is named here. ---- */

#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_REFER (UINT64_C(1) << 13)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_IOCTL_DEV (UINT64_C(1) << 15)
#define FS_ALL_V1 ((UINT64_C(1) << 13) - 1)
/* write and remove files, make directories and files: not links, devices, sockets or pipes */
#define FS_WRITE ((UINT64_C(1) << 1) | (UINT64_C(1) << 5) | (UINT64_C(1) << 7) | (UINT64_C(1) << 8))
#define NET_BIND (UINT64_C(1) << 0)
#define NET_CONNECT (UINT64_C(1) << 1)
#define SCOPE_ALL (UINT64_C(3)) /* abstract sockets, signals */
#define RULE_NET_PORT 2

struct ruleset_attr {
    uint64_t fs, net, scoped;
};

struct net_port_attr {
    uint64_t allowed, port;
};

static int failed(struct err *err, const char *what)
{
    return err_set(err, ERR_INTERNAL, "sandbox: %s: %m", what);
}

static struct ruleset_attr handled_by(int version, size_t *ret_size)
{
    struct ruleset_attr attr = {.fs = FS_ALL_V1};
    *ret_size = sizeof attr.fs;
    if (version >= LANDLOCK_REFER)
        attr.fs |= FS_REFER;
    if (version >= LANDLOCK_TRUNCATE)
        attr.fs |= FS_TRUNCATE;
    if (version >= LANDLOCK_IOCTL)
        attr.fs |= FS_IOCTL_DEV;
    if (version >= LANDLOCK_PORTS) {
        attr.net = NET_BIND | NET_CONNECT;
        *ret_size = offsetof(struct ruleset_attr, scoped);
    }
    if (version >= LANDLOCK_SCOPES) {
        attr.scoped = SCOPE_ALL;
        *ret_size = sizeof attr;
    }
    return attr;
}

/* Rights to a path and all below it. */
static int allow_path(int rules, const char *path, uint64_t rights, bool may_lack, struct err *err)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return may_lack && (errno == ENOENT || errno == ENOTDIR) ? 0 : failed(err, path);
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= ~(FS_READ_DIR | FS_REFER);
    struct landlock_path_beneath_attr attr = {.allowed_access = rights, .parent_fd = fd};
    int code = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0 ? failed(err, path) : 0;
    close(fd);
    return code;
}

static int allow_all(int rules, const struct sandbox *s, const struct ruleset_attr *handled, struct err *err)
{
    for (const char *const *path = s->read; path && *path; path++) {
        if (allow_path(rules, *path, FS_READ_FILE | FS_READ_DIR, true, err) < 0)
            return err->code;
    }
    uint64_t rights = (FS_READ_FILE | FS_READ_DIR | FS_WRITE | FS_REFER | FS_TRUNCATE) & handled->fs;
    if (s->write && allow_path(rules, s->write, rights, false, err) < 0)
        return err->code;
    for (size_t i = 0; handled->net && i < s->n_ports; i++) {
        struct net_port_attr attr = {NET_CONNECT, s->ports[i]};
        if (syscall(SYS_landlock_add_rule, rules, RULE_NET_PORT, &attr, 0) < 0)
            return failed(err, "allow a port");
    }
    return 0;
}

static int restrict_access(const struct sandbox *s, struct err *err)
{
    size_t size;
    int version = landlock_version();
    if (version <= 0)
        return version == 0 ? 0 : failed(err, "ask for landlock");
    struct ruleset_attr handled = handled_by(version, &size);
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
    if (rules < 0)
        return failed(err, "make rules of landlock");
    int code = allow_all(rules, s, &handled, err);
    if (code == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
        code = failed(err, "put landlock up");
    close(rules);
    return code;
}

/* ---- Limits. ---- */

static int limit(__rlimit_resource_t what, uint64_t most, struct err *err)
{
    struct rlimit now, want = {most, most};
    if (getrlimit(what, &now) < 0)
        return failed(err, "read a limit");
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < want.rlim_max)
        want.rlim_cur = want.rlim_max = now.rlim_max;
    return setrlimit(what, &want) < 0 ? failed(err, "set a limit") : 0;
}

static int set_limits(const struct sandbox *s, struct err *err)
{
    int code = 0;
#ifndef BASE_ASAN /* which maps terabytes of shadow */
    code = limit(RLIMIT_AS, s->memory, err);
#endif
    code = code < 0 ? code : limit(RLIMIT_CPU, s->cpu_seconds, err);
    code = code < 0 ? code : limit(RLIMIT_FSIZE, s->write ? s->file_bytes : 0, err);
    code = code < 0 ? code : limit(RLIMIT_NOFILE, 64, err);
    code = code < 0 ? code : limit(RLIMIT_NPROC, 0, err);
    code = code < 0 ? code : limit(RLIMIT_CORE, 0, err);
    return code;
}

void sandbox_clear(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (syscall(SYS_close_range, 3U, ~0U, 0U) < 0) {
        for (int fd = 3; fd < 65536; fd++)
            close(fd);
    }
    clearenv(); /* NOLINT(concurrency-mt-unsafe): there is one thread */
}

int sandbox_enter(const struct sandbox *s, struct err *err)
{
    const struct syscalls_use use = {.network = s->n_ports > 0, .write = s->write != NULL};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return failed(err, "give up privileges");
    int code = restrict_access(s, err);
    code = code < 0 ? code : set_limits(s, err);
    return code < 0 ? code : syscalls_restrict(&use, err);
}
