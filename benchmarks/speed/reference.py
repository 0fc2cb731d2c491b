"""The paper's own implementation, where a checkout of it is at hand: asks in processes that may be cut off.

Only its public interface is used, as its README shows it. It is told to use one core. It works in processes of its
own, so its seconds are the clock's. It draws at random, and one ask takes twice as long as another.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

from benchmarks.arena.pool import ONE_THREAD
from benchmarks.problems import Array, BenchmarkProblem
from benchmarks.speed.measure import Measurement

NAME = "reference"

_PROGRAM = """
import json, sys, time
import numpy as np
from dumbo.optimize import DuMBOOptimizer
if __name__ == "__main__":
    data = json.load(open(sys.argv[1]))
    optimizer = DuMBOOptimizer(np.array(data["bounds"]), X=np.array(data["X"]), y=np.array(data["y"]),
                               n_samples_per_iteration=5, n_cores=1)
    start = time.perf_counter()
    optimizer.next_query()
    print("seconds", time.perf_counter() - start)
"""


def measure_reference(
    checkout: Path, history: str, problem: BenchmarkProblem, X: Array, limit: float, repeats: int = 1
) -> Measurement:
    """The mean of a few asks on the history; cut off after `limit` seconds each, which it then took at least."""
    data = {"bounds": problem.bounds, "X": X.tolist(), "y": [problem.f(x) for x in X]}
    with tempfile.TemporaryDirectory() as folder:
        program, given = Path(folder) / "ask.py", Path(folder) / "history.json"
        program.write_text(_PROGRAM)
        given.write_text(json.dumps(data))
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(checkout)}
        command = [sys.executable, str(program), str(given)]
        asks = [_timed(command, environment, limit) for _ in range(repeats)]
    seconds = mean(took for took, _ in asks)
    return Measurement(history, problem.n_dims, len(X), NAME, seconds, seconds, {}, any(cut for _, cut in asks))


def _timed(command: list[str], environment: dict[str, str], limit: float) -> tuple[float, bool]:
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # it starts processes of its own
            return limit, True
    lines = [line.split() for line in out.splitlines() if line.startswith("seconds ")]
    if process.returncode or not lines:
        raise RuntimeError(f"the reference implementation failed:\n{err[-2000:]}")
    return float(lines[-1][1]), False
