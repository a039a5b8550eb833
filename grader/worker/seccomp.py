"""Refuse system calls that no right answer needs: a filter that the kernel holds a process to.

The filter is a short program for the kernel's packet-filter machine (`man 2 seccomp`), written here
by hand so that it needs no library. Calls on the list fail with "operation not permitted". `clone3`
fails as if the kernel didn't know it, since a filter can't look into its arguments; the C library
then takes `clone`, which may start threads and nothing else; `prlimit64` may set a process's own
limits, by the number 0.

Numbers: the kernel's tables `arch/x86/entry/syscalls/syscall_64.tbl` and
`include/uapi/asm-generic/unistd.h`.
"""

import ctypes
import errno
import os
import struct

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
CLONE_THREAD = 0x10000
X32_BIT = 0x40000000  # a second numbering of the same calls on x86-64

ALLOW = 0x7FFF0000
KILL = 0x80000000
REFUSE = 0x00050000  # with an error number

# Loads, comparisons and returns of the machine: class, size, mode.
_LOAD, _EQUAL, _GREATER_OR_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # where they lie in what the filter is given

# Each call refused, with its number on x86-64 and on 64-bit ARM; None where it doesn't exist.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # processes: one that a file's run starts could outlive it, or answer beside it
    "fork": (57, None),
    "vfork": (58, None),
    # the memory of other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    # the share of others: the process that forks has the same user
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    # other processes by descriptor
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # files by handle
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # the kernel itself
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "iopl": (172, None),
    "ioperm": (173, None),
    "personality": (135, 92),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    # clock and names
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    # keys
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # memory and queues that outlive a process
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # memory that is no process's data, and no file system's
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # networks; `socketpair` stays, event loops need it
    "socket": (41, 198),
    # rings of requests that no filter sees
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}

# By machine: what the kernel calls it, its column above, its clone, clone3 and prlimit64.
_MACHINES = {
    "x86_64": (0xC000003E, 0, 56, 435, 302),
    "aarch64": (0xC00000B7, 1, 220, 435, 261),
}


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


_REFUSAL = _step(_RETURN, REFUSE | errno.EPERM)


def _only(number: int, test: int, value: int) -> list[bytes]:
    """Steps that allow a call if its first argument meets a test, and else refuse it."""
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(test, value, 1, 0),
        _REFUSAL,
        _step(_RETURN, ALLOW),
    ]


def program(machine: str) -> bytes | None:
    """The filter for a machine as `os.uname` names it; None where its calls aren't known here."""
    if machine not in _MACHINES:
        return None
    identity, column, clone, clone3, prlimit = _MACHINES[machine]
    numbers = [both[column] for both in _REFUSED.values()]
    refused = sorted(number for number in numbers if number is not None)
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, identity, 1, 0),
        _step(_RETURN, KILL),
        _step(_LOAD, _NUMBER),
        _step(_GREATER_OR_EQUAL, X32_BIT, 0, 1),
        _step(_RETURN, KILL),
        _step(_EQUAL, clone3, 0, 1),
        _step(_RETURN, REFUSE | errno.ENOSYS),
    ]
    for number in refused:
        steps += [_step(_EQUAL, number, 0, 1), _REFUSAL]
    steps += _only(clone, _ANY_BIT, CLONE_THREAD)
    steps += _only(prlimit, _EQUAL, 0)  # its own limits, never those of the process that forks
    return b"".join([*steps, _step(_RETURN, ALLOW)])


def install() -> None:
    """Hold this process, and every thread it will start, to the filter. Raises OSError.

    Does nothing on a machine whose system calls aren't known here.
    """
    code = program(os.uname().machine)
    if code is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: how many steps, and where they lie
    filter_ = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(filter_), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the filter for system calls was refused")
