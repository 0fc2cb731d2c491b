"""The peak memory of one inferred ask, measured in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks import problems
from benchmarks.arena.pool import ONE_THREAD
from benchmarks.speed.histories import points
from benchmarks.speed.measure import measure


def peak_bytes(problem_name: str, n_obs: int) -> int:
    """Of a process that loads everything, tells a history and asks."""
    command = [sys.executable, "-m", "benchmarks.speed.memory", problem_name, str(n_obs)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the ask whose memory was measured failed:\n{done.stderr[-2000:]}")
    return int(done.stdout.split()[-1])


def main(problem_name: str, n_obs: int) -> None:
    problem = problems.make(problem_name)
    measure("dumbo", problem_name, problem, points(problem, n_obs), repeats=1, initial_trials=1)
    print(_peak_of_this_process())


def _peak_of_this_process() -> int:
    """Bytes, by Linux' own account. `getrusage` would not do: its peak begins with that of the process before exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
