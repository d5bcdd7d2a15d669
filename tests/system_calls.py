"""A process that is killed at any one of its system calls: the system's own tracing (ptrace), nothing simulated."""

import ctypes
import os
import signal

TRACEME, SYSCALL, SETOPTIONS = 0, 24, 0x4200
EXIT_KILL, GOOD = 0x00100000, 0x00000001  # a tracer that dies takes the traced with it; stops at calls are told apart


def _ptrace(request, pid, data=0):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, pid, None, data) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def can_trace():
    """Whether this system lets a process trace its child."""
    try:
        return run_until(lambda: None, None)[0] == 0
    except (OSError, AttributeError):
        return False


def run_until(work, call):
    """Do some work in a process of its own, killed at the `call`-th stop: a system call has one before and one after.

    Gives how it ended (0; 1 when the work failed; minus the signal) and how many stops there were. With None it runs to
    its end.
    """
    child = os.fork()
    if child == 0:
        try:
            _ptrace(TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise OSError("tracing is not allowed")
    _ptrace(SETOPTIONS, child, EXIT_KILL | GOOD)
    stops, give = 0, 0
    while True:
        if stops != call:
            _ptrace(SYSCALL, child, give)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status), stops
        reason, give = os.WSTOPSIG(status), 0
        if reason == signal.SIGTRAP | 0x80:
            stops += 1
            if stops == call:
                os.kill(child, signal.SIGKILL)
        elif reason not in (signal.SIGTRAP, signal.SIGSTOP):
            give = reason
