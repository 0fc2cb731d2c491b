"""The benchmark problems by name.

A name is a base, dimensions where the base takes them, and what is done to it: `camel`, `powell-24-shifted`,
`rastrigin-100`, `additive-30-4`, `hartmann-6-noisy`, `hartmann-6-shifted-noisy`. The seed moves a shifted
optimum and draws a random function, so that every seed of a study is another instance.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path

from benchmarks.problems import additive, choices, classics, cosmo, families, models, rover, synthetic, wind, wlan
from benchmarks.problems.base import Array, BenchmarkProblem
from benchmarks.problems.variants import cornered, noisy, shifted

__all__ = ["CLASSICS", "FAMILIES", "LATER", "PAPER", "PAPER_SHIFTED", "Array", "BenchmarkProblem", "budget_of", "make"]

PAPER = ["camel", "hartmann-6", "powell-24", "rastrigin-100", "cosmo", "wlan", "rover"]
PAPER_SHIFTED = [f"{name}-shifted" for name in PAPER[:4]] + PAPER[4:]
FAMILIES = [
    "additive-10-3",
    "additive-30-4",
    "additive-50-8",
    "additive-100-5",
    "chain-50",
    "rosenbrock-20-shifted",
    "ackley-10-shifted",
    "embedded-50",
    "hartmann-6-noisy",
    "additive-30-4-noisy",
]
CLASSICS = [
    "branin-shifted",
    "shekel-shifted",
    "tilted-8-shifted",
    "michalewicz-10",
    "schwefel-10",
    "salomon-10-shifted",
    "trid-10",
    "zakharov-10-shifted",
    "ellipsoid-12-shifted",
    "dixon-15-shifted",
    "alpine-20-shifted",
    "griewank-20-shifted",
    "levy-20-shifted",
    "styblinski-20-shifted",
]

LATER = [
    "svm",
    "boosting",
    "pipeline",
    "wind-12",
    "pest",
    "branches",
    "switches-20",
    "maxcut-30",
    "whole-12",
    "powell-24-cornered",
    "levy-20-cornered",
    "griewank-20-cornered",
]

_NAME = re.compile(r"(?P<base>[a-z]+)(?P<log>-log)?(?P<sizes>(-\d+)*)(?P<moved>-(shifted|cornered))?(?P<noisy>-noisy)?")


def _bases(seed: int, trees_file: Path | None) -> dict[str, Callable[..., BenchmarkProblem]]:
    """Each takes the sizes in the name, if any."""
    return {
        "camel": synthetic.six_hump_camel,
        "hartmann": lambda n_dims=6: synthetic.hartmann6() if n_dims == 6 else _refuse("hartmann has 6 dimensions"),
        "powell": synthetic.powell,
        "rastrigin": synthetic.rastrigin,
        "cosmo": cosmo.cosmo,
        "wlan": wlan.wlan,
        "rover": partial(rover.rover, trees_file),
        "rosenbrock": families.rosenbrock,
        "ackley": families.ackley,
        "embedded": partial(families.embedded, seed=seed),
        "additive": partial(additive.additive, seed=seed),
        "chain": partial(additive.chain, seed=seed),
        "branin": classics.branin,
        "shekel": classics.shekel,
        "levy": classics.levy,
        "griewank": classics.griewank,
        "michalewicz": classics.michalewicz,
        "schwefel": classics.schwefel,
        "styblinski": classics.styblinski,
        "zakharov": classics.zakharov,
        "dixon": classics.dixon,
        "salomon": classics.salomon,
        "trid": classics.trid,
        "alpine": classics.alpine,
        "ellipsoid": classics.ellipsoid,
        "tilted": classics.tilted,
        **{make.__name__: partial(make, seed=seed) for make in (wind.wind, *choices.ALL, *models.ALL)},
    }


def _refuse(reason: str) -> BenchmarkProblem:
    raise ValueError(reason)


def make(name: str, seed: int = 0, trees_file: Path | None = None) -> BenchmarkProblem:
    """The problem of this name; ValueError says which names there are."""
    match = _NAME.fullmatch(name)
    bases = _bases(seed, trees_file)
    if match is None or match["base"] not in bases or (match["log"] and match["base"] != "wlan"):
        known = ", ".join(PAPER + FAMILIES + CLASSICS + LATER)
        raise ValueError(f"unknown problem {name!r}; there are {known}, wlan-log and the like")
    sizes = [int(size) for size in match["sizes"].split("-")[1:]]
    base = partial(wlan.wlan, "log") if match["log"] else bases[match["base"]]
    try:
        signature(base).bind(*sizes)
    except TypeError as error:
        raise ValueError(f"unknown problem {name!r}: {match['base']} takes other sizes ({error})") from error
    problem = base(*sizes)
    if match["moved"]:
        problem = {"-shifted": shifted, "-cornered": cornered}[match["moved"]](problem, seed)
    return noisy(problem) if match["noisy"] else problem


def budget_of(name: str) -> int:
    """The evaluations the project's table gives a problem."""
    if name.startswith(("camel", "branin")):
        return 40
    return 60 if name.startswith(("hartmann", "shekel")) else 100
