# SPDX-License-Identifier: Apache-2.0
"""The part of a unit's walls that can be put up without systemd, as it would: system calls, address families, memory that is both
written and run, privileges. To be called between fork and exec; programs that are started inherit it."""
import ctypes
import errno
import os
import re
import struct

from world import must

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 38, 22, 24
SECCOMP_MODE_FILTER = 2
ALLOW, ERRNO = 0x7fff0000, 0x00050000
LOAD, JUMP_IF_EQUAL, JUMP_IF_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
PROT_WRITE, PROT_EXEC = 2, 4
FAMILIES = {'AF_UNIX': 1, 'AF_INET': 2, 'AF_INET6': 10}


def read_unit(path):
    """{name: [value, ...]} of the section Service."""
    values = {}
    with open(path, encoding='utf-8') as file:
        for line in file.read().partition('[Service]')[2].partition('\n[')[0].splitlines():
            match = re.match(r'(\w+)=(.*)', line)
            if match:
                values.setdefault(match.group(1), []).append(match.group(2))
    return values


def expand(name):
    """Names of calls in a set of systemd's."""
    if not name.startswith('@'):
        return {name}
    found = set()
    for line in must('systemd-analyze', 'syscall-filter', '--no-pager', name).splitlines()[1:]:
        word = line.partition('#')[0].strip()
        if word:
            found |= expand(word)
    return found


def allowed_calls(values):
    """Names, as a list of rows leaves them: later rows add, or with ~ take away."""
    names = expand('@default')
    for row in values:
        words = set().union(*(expand(word) for word in row.lstrip('~').split()))
        names = names - words if row.startswith('~') else names | words
    return names


def call_numbers():
    """{name: number} on this machine."""
    text = must('cc', '-E', '-dM', '-include', 'sys/syscall.h', '-x', 'c', '/dev/null')
    return {name: int(number) for name, number in re.findall(r'#define __NR_(\w+) (\d+)$', text, re.MULTILINE)}


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack('=HBBI', code, if_true, if_false, value)


def argument(number):
    return instruction(LOAD, 16 + 8 * number)  # the low half, on little-endian machines


class Walls:
    """Made before fork; up() is called after it."""

    def __init__(self, unit):
        values = read_unit(unit)
        numbers = call_numbers()
        names = allowed_calls(values['SystemCallFilter'])
        assert {'read', 'write', 'openat', 'execve'} <= names and not {'ptrace', 'mount', 'reboot', 'bpf'} & names, names
        families = [FAMILIES[word] for word in values['RestrictAddressFamilies'][0].split()]
        program = []
        # Rules with arguments first.
        if values['MemoryDenyWriteExecute'] == ['yes']:
            program += self._refuse(numbers['mmap'], errno.EPERM, [argument(2), instruction(0x54, PROT_WRITE | PROT_EXEC),
                                                                   instruction(JUMP_IF_EQUAL, PROT_WRITE | PROT_EXEC, 0, 1)])
            program += self._refuse(numbers['mprotect'], errno.EPERM, [argument(2), instruction(JUMP_IF_BITS, PROT_EXEC, 0, 1)])
        rule = [argument(0)]
        for i, family in enumerate(families):
            rule.append(instruction(JUMP_IF_EQUAL, family, len(families) - i, 0))
        program += self._refuse(numbers['socket'], errno.EAFNOSUPPORT, rule)
        program.append(instruction(LOAD, 0))
        for name in sorted(names & set(numbers)):
            program += [instruction(JUMP_IF_EQUAL, numbers[name], 0, 1), instruction(RETURN, ALLOW)]
        program.append(instruction(RETURN, ERRNO | errno.EPERM))
        self._program = ctypes.create_string_buffer(b''.join(program))
        self._head = ctypes.create_string_buffer(struct.pack('HP', len(program), ctypes.addressof(self._program)))
        self._libc = ctypes.CDLL(None, use_errno=True)

    @staticmethod
    def _refuse(call, code, rule):
        """rule falls through to the refusal, or jumps over it."""
        return [instruction(LOAD, 0), instruction(JUMP_IF_EQUAL, call, 0, len(rule) + 1), *rule, instruction(RETURN, ERRNO | code)]

    def up(self):
        if os.geteuid() == 0:
            for capability in range(64):
                self._libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, self._head)):
            if self._libc.prctl(*words):
                raise OSError(ctypes.get_errno(), 'prctl')
