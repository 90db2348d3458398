"""Runs ``netlab`` or a script in this Python without what Python for Windows lacks.

``without_posix.py -m netlab WORDS…`` or ``without_posix.py SCRIPT WORDS…``. The lists are what
``dir(os)`` and its like have on Linux and not on Windows, but for what a numpy and a subprocess of
Linux take for granted (``os.uname``, ``SIGKILL``). It is no Windows: paths, line ends and the names
that files may have stay those of this system.
"""

from __future__ import annotations

import os
import runpy
import signal
import stat
import subprocess  # before msvcrt is there: it would take this for Windows
import sys
import time
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from types import ModuleType
from typing import Any

MODULES = "fcntl termios pwd grp resource syslog readline spwd nis"
IN_OS = """
O_ACCMODE O_ASYNC O_CLOEXEC O_DIRECT O_DIRECTORY O_DSYNC O_LARGEFILE O_NDELAY O_NOATIME O_NOCTTY
O_NOFOLLOW O_NONBLOCK O_PATH O_RSYNC O_SYNC O_TMPFILE F_LOCK RTLD_NOW WNOHANG chown chroot confstr
ctermid environb fchdir fchmod fchown fdatasync fork forkpty fpathconf fstatvfs fwalk getegid
getenvb geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getrandom getresuid getsid
getuid getxattr initgroups killpg lchown listxattr lockf major makedev minor mkfifo mknod nice
openpty pathconf pipe2 posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev readv
register_at_fork removexattr sched_getaffinity sched_setaffinity sched_yield sendfile setegid
seteuid setgid setgroups setpgid setpgrp setpriority setregid setsid setuid setxattr splice statvfs
sync sysconf tcgetpgrp ttyname wait wait3 wait4 waitid writev
"""
IN_SIGNAL = """
SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGTTIN
SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIG_BLOCK alarm getitimer pause pthread_kill
pthread_sigmask setitimer siginterrupt sigpending sigwait
"""
IN_TIME = "CLOCK_MONOTONIC CLOCK_REALTIME clock_gettime clock_gettime_ns clock_getres tzset"


def take_away() -> None:
    """All that Windows lacks; and its own way to lock is there."""
    for name in MODULES.split():
        sys.modules[name] = None  # type: ignore[assignment]  # its import fails
    for module, names in ((os, IN_OS), (signal, IN_SIGNAL), (time, IN_TIME)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for supported in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        supported.clear()
    for name in ("mkdir", "replace", "rename", "rmdir", "unlink"):
        setattr(os, name, by_path_alone(getattr(os, name)))
    os.open = no_folders(by_path_alone(os.open))
    os.listdir = no_descriptors(os.listdir)
    msvcrt: Any = ModuleType("msvcrt")
    msvcrt.LK_UNLCK, msvcrt.LK_NBLCK, msvcrt.locking = 0, 2, locking
    sys.modules["msvcrt"] = msvcrt
    assert subprocess.__name__ in sys.modules


def by_path_alone(call: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any, **more: Any) -> Any:
        for name in ("dir_fd", "src_dir_fd", "dst_dir_fd"):
            if more.pop(name, None) is not None:
                raise NotImplementedError(f"{name} unavailable on this platform")
        return call(*arguments, **more)

    return called


def no_folders(open_by: Callable[..., int]) -> Callable[..., int]:
    def opened(path: Any, *arguments: Any, **more: Any) -> int:
        descriptor = open_by(path, *arguments, **more)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise PermissionError(13, "Permission denied", path)
        return descriptor

    return opened


def no_descriptors(listdir: Callable[..., Any]) -> Callable[..., Any]:
    def listed(path: Any = ".") -> Any:
        if isinstance(path, int):
            raise TypeError("listdir: path should be string, not int")
        return listdir(path)

    return listed


def locking(descriptor: int, mode: int, _size: int) -> None:
    """As Windows has it: refused with EACCES, and of the file's one holder."""
    try:
        flock(descriptor, LOCK_EX | LOCK_NB if mode == 2 else LOCK_UN)
    except BlockingIOError:
        raise PermissionError(13, "Permission denied") from None


if __name__ == "__main__":
    take_away()
    sys.argv = sys.argv[1:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
