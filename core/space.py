"""The unit cube: every point of the search space as a row of numbers in [0, 1], and back.

A float, int or ordinal parameter takes one column; a categorical one takes a column per value (one-hot), so that no
order is made up among its values. Columns of a whole-numbered parameter are cells: value k of n lies at
(k + 1/2) / n and owns [k/n, (k+1)/n). Proposed floats are rounded to 12 digits of their range, which makes the
round trip exact: `decode(encode(point)) == point` for every point this module decodes.

No torch here: a process that only needs a random point does not load it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors import SpaceExhausted
from core.parameter import Parameter, Value
from core.problem import Problem

Array = NDArray[np.float64]
Point = dict[str, Value]

DIGITS = 12
# Two different values of a categorical lie at distance 1, like the ends of a range.
ONE_HOT = math.sqrt(0.5)


class Space:
    """Encodes the points of a problem as rows of the unit cube and decodes them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.columns: list[list[int]] = []  # columns of each parameter
        start = 0
        for parameter in problem.parameters:
            width = len(parameter.values or ()) if parameter.type == "categorical" else 1
            self.columns.append(list(range(start, start + width)))
            start += width
        self.n_columns = start
        self.is_continuous = np.zeros(start, dtype=bool)
        self.is_one_hot = np.zeros(start, dtype=bool)
        for parameter, columns in zip(problem.parameters, self.columns, strict=True):
            self.is_continuous[columns] = math.isinf(parameter.n_values)
            self.is_one_hot[columns] = parameter.type == "categorical"

    @property
    def n_dims(self) -> int:
        return len(self.columns)

    def log_size(self, fixed: Iterable[str] = ()) -> float:
        """log of how many points there are when these parameters are held fixed; infinite with a free float."""
        held = set(fixed)
        return math.fsum(math.log(p.n_values) for p in self.problem.parameters if p.name not in held)

    def encode(self, points: Sequence[Mapping[str, Value]]) -> Array:
        """points x n_columns"""
        X = np.zeros((len(points), self.n_columns))
        if not points:
            return X
        for parameter, columns in zip(self.problem.parameters, self.columns, strict=True):
            values = [point[parameter.name] for point in points]
            X[:, columns] = _encode(parameter, values)
        return X

    def decode(self, X: Array) -> list[Point]:
        """The points nearest to the rows of X; any row in the unit cube gives a valid point."""
        columns = [_decode(p, X[:, c]) for p, c in zip(self.problem.parameters, self.columns, strict=True)]
        names = self.problem.names
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def snap(self, X: Array) -> Array:
        """Each row moved to where its decoded point lies. That of a free float lies there already, to 12 digits."""
        moved = X.copy()
        for parameter, columns in zip(self.problem.parameters, self.columns, strict=True):
            if not self.is_continuous[columns[0]]:
                moved[:, columns] = _encode(parameter, _decode(parameter, X[:, columns]))
        return moved

    def neighbors_of(self, j: int, x: Array) -> Array:
        """Rows like x with discrete parameter j at another value: any other of a categorical, else some near it."""
        parameter, columns = self.problem.parameters[j], self.columns[j]
        if parameter.type == "categorical":
            here = int(x[columns].argmax())
            cells = ONE_HOT * np.eye(len(columns))[[k for k in range(len(columns)) if k != here]]
        else:
            cells = self._next_values(parameter, x[columns])
        rows = np.repeat(x[None], len(cells), axis=0)
        rows[:, columns] = cells
        return rows

    def _next_values(self, parameter: Parameter, u: Array) -> Array:
        """values x 1: an ordinal's or int's next lower and higher value, and a tenth of the range each way."""
        value = _decode(parameter, u[None])[0]
        if parameter.values is not None:
            here, low, high = _index(parameter.values, value), 0, len(parameter.values) - 1
        else:
            assert parameter.bounds is not None
            here, (low, high) = int(value), map(int, parameter.bounds)
        jump = max(1, (high - low) // 10)
        near = sorted({min(max(here + step, low), high) for step in (-jump, -1, 1, jump)} - {here})
        return _encode(parameter, [parameter.values[k] for k in near] if parameter.values is not None else near)

    def fixed_columns(self, fixed: Mapping[str, Value]) -> tuple[NDArray[np.bool_], Array]:
        """Which columns one ask holds fixed (parameters with a single value always are), and at what."""
        held = np.zeros(self.n_columns, dtype=bool)
        at = np.full(self.n_columns, 0.5)
        for parameter, columns in zip(self.problem.parameters, self.columns, strict=True):
            if parameter.name in fixed or parameter.n_values == 1:
                held[columns] = True
                value = fixed.get(parameter.name, _only_value(parameter))
                at[columns] = _encode(parameter, [value])[0]
        return held, at


def _only_value(parameter: Parameter) -> Value:
    return _decode(parameter, np.zeros((1, len(parameter.values or (0,)))))[0]


def _encode(parameter: Parameter, values: Sequence[Value]) -> Array:
    """values x columns of this parameter"""
    if parameter.values is not None:
        index = np.array([_index(parameter.values, value) for value in values], dtype=np.int64)
        if parameter.type == "categorical":
            return ONE_HOT * np.eye(len(parameter.values))[index]
        return ((index + 0.5) / len(parameter.values))[:, None]
    assert parameter.bounds is not None
    x = np.array(values, dtype=float)
    low, high = parameter.bounds
    if parameter.type == "int" and parameter.scale == "linear":
        return ((x - low + 0.5) / (high - low + 1))[:, None]
    low, high = _ends(parameter)
    if low == high:
        return np.full((len(x), 1), 0.5)
    x = np.log(x) if parameter.scale == "log" else x
    return np.clip((x - low) / (high - low), 0, 1)[:, None]


def _ends(parameter: Parameter) -> tuple[float, float]:
    """The ends of the range in the parameter's own scale; an int's cells reach half a step beyond its bounds."""
    assert parameter.bounds is not None
    low, high = parameter.bounds
    half = 0.5 if parameter.type == "int" else 0.0
    if parameter.scale == "log":
        return math.log(low - half), math.log(high + half)
    return low - half, high + half


def _decode(parameter: Parameter, U: Array) -> list[Value]:
    """U: points x columns of this parameter"""
    if parameter.values is not None:
        if parameter.type == "categorical":
            return [parameter.values[i] for i in U.argmax(axis=1)]
        return [parameter.values[i] for i in _cell(U[:, 0], len(parameter.values))]
    assert parameter.bounds is not None
    low, high = parameter.bounds
    if parameter.type == "int" and parameter.scale == "linear":
        return [int(low) + int(k) for k in _cell(U[:, 0], high - low + 1)]
    start, end = _ends(parameter)
    raw = start + np.clip(U[:, 0], 0, 1) * (end - start)
    x = np.exp(raw) if parameter.scale == "log" else raw
    if parameter.type == "int":
        return [int(v) for v in np.clip(np.rint(x), low, high)]
    return [_rounded(parameter, float(v), float(u)) for v, u in zip(x, U[:, 0], strict=True)]


def _cell(u: Array, n: float) -> NDArray[np.int64]:
    return np.clip(np.floor(u * n), 0, n - 1).astype(np.int64)


def _rounded(parameter: Parameter, x: float, u: float) -> float:
    """x to 12 digits of its range (of itself on a log scale); the ends are the bounds, exactly."""
    assert parameter.bounds is not None
    low, high = parameter.bounds
    if u <= 0 or low == high:
        return float(low)
    if u >= 1:
        return float(high)
    digits = DIGITS - math.floor(math.log10(high - low))
    x = float(f"{x:.{DIGITS}g}") if parameter.scale == "log" else round(x, digits)
    return min(max(x, float(low)), float(high))


def _index(values: Sequence[Value], value: Value) -> int:
    return next(i for i, v in enumerate(values) if v == value and isinstance(v, bool) == isinstance(value, bool))


def random_points(
    problem: Problem,
    rng: np.random.Generator,
    count: int = 1,
    *,
    taken: Sequence[Mapping[str, Value]] = (),
    fixed: Mapping[str, Value] | None = None,
) -> list[Point]:
    """Uniform random points, distinct from each other and from the `taken` ones, with some values fixed."""
    space = Space(problem)
    held, at = space.fixed_columns(fixed or {})
    points: list[Point] = []
    seen = {key(problem, point) for point in taken}
    for _ in range(100):
        for point in space.decode(np.where(held, at, rng.random((max(4, 2 * count), space.n_columns)))):
            if len(points) < count and key(problem, point) not in seen:
                seen.add(key(problem, point))
                points.append(point)
        if len(points) == count:
            return points
    for point in _all_points(problem, fixed or {}):  # random draws keep missing: few points are left
        if len(points) < count and key(problem, point) not in seen:
            seen.add(key(problem, point))
            points.append(point)
    if len(points) < count:
        raise SpaceExhausted(f"asked for {count} new points, but only {len(points)} are left in the search space")
    return points


def key(problem: Problem, point: Mapping[str, Value]) -> tuple[object, ...]:
    """Equal for equal points and for no others (true is not 1)."""
    values = [point[name] for name in problem.names]
    return (
        *values,
        *[name for name, value in zip(problem.names, values, strict=True) if value is True or value is False],
    )


def _all_points(problem: Problem, fixed: Mapping[str, Value]) -> Iterable[Point]:
    """Every point of a finite space with the fixed values; nothing where a free parameter is a float range."""
    from itertools import product

    choices: list[Iterable[Value]] = []
    for p in problem.parameters:
        if p.name in fixed:
            choices.append([fixed[p.name]])
        elif p.values is not None:
            choices.append(p.values)
        elif p.type == "int" and p.bounds is not None:
            choices.append(range(int(p.bounds[0]), int(p.bounds[1]) + 1))
        elif p.n_values == 1 and p.bounds is not None:
            choices.append([float(p.bounds[0])])
        else:
            return
    for row in product(*choices):
        yield dict(zip(problem.names, row, strict=True))
