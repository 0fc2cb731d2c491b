"""Imported once, in the process that workers are forked from, so that a new worker need not import torch.

The thread counts must stand in the environment before torch is first imported: with several worker processes
more than one thread each only makes them wait for each other.
"""

# ruff: noqa: E402
import os

for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_variable] = "1"

import torch

import core.ask
import core.prediction  # noqa: F401

torch.set_num_threads(1)
