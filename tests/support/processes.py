"""Child processes: that they cannot outlive the tests, and how to find and kill them."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with_parent(sig: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """For `Popen(preexec_fn=...)`: the kernel sends `sig` when the parent is gone (only on Linux)."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    libc = ctypes.CDLL(None)  # loaded here: between fork and exec only async-signal-safe calls are sound
    return lambda: libc.prctl(PR_SET_PDEATHSIG, sig)


def children(pid: int) -> list[int]:
    """The processes that this one has started and that still run, zombies left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it ended while we looked
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on."""
    return [found for child in children(pid) for found in (child, *descendants(child))]


def watch(pid: int) -> list[int]:
    """A pidfd for every descendant, but for those that end while we look."""
    watched = []
    for child in descendants(pid):
        with suppress(ProcessLookupError):
            watched.append(os.pidfd_open(child))
    return watched


def kill_tree(pid: int) -> None:
    """Kill -9 a process, then all that it has started, and wait until those are gone."""
    watched = watch(pid)
    os.kill(pid, signal.SIGKILL)
    for process in watched:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
    outlived = gone(watched, seconds=30)
    if outlived:
        raise RuntimeError(f"{outlived} killed processes are still there")


def gone(watched: Iterable[int], seconds: float) -> int:
    """Wait until the processes of these pidfds have ended, and close them; how many have not."""
    waiting = set(watched)
    while waiting:
        ended, _, _ = select.select(list(waiting), [], [], seconds)
        if not ended:
            break
        waiting -= set(ended)
        for process in ended:
            os.close(process)
    for process in waiting:
        os.close(process)
    return len(waiting)
