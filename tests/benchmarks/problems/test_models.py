"""Tuning scikit-learn's models: real fits, the same every time, and settings that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from sklearn.svm import SVC

from benchmarks import problems


@pytest.mark.parametrize("name", ["svm", "boosting", "pipeline"])
def test_an_evaluation_is_a_function_of_the_point_and_the_seed(name: str) -> None:
    """The same point has the same value again, and another one on other rows of the data."""
    problem, other = problems.make(name, 0), problems.make(name, 1)
    x = problem.from_unit(np.full(problem.n_dims, 0.4))
    assert problem.f(x) == problems.make(name, 0).f(x)
    assert problem.f(x) != other.f(x)


def test_svm_counts_the_digits_that_are_mistaken() -> None:
    """Close to the error of as good a machine on folds of another kind; a kernel too narrow to see anything is as bad
    as guessing."""
    problem = problems.make("svm", 0)
    good = np.array([10.0, 0.05, 0, 3, 0.0, 1e-3])
    X, y = load_digits(return_X_y=True)
    errors = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X[:400]):
        machine = SVC(C=10.0, gamma=0.05, tol=1e-3).fit(X[train] / 16, y[train])
        errors.append(100 * (machine.predict(X[test] / 16) != y[test]).mean())
    assert -problem.f(good) == pytest.approx(np.mean(errors), abs=4)
    blind = good.copy()
    blind[1] = 100.0
    assert -problem.f(blind) > 80


def test_boosting_explains_more_with_sane_settings() -> None:
    """Eighty small trees leave about half of the variance; deep and hasty ones leave more than there is."""
    problem = problems.make("boosting", 0)
    assert 40 < -problem.f(np.array([0.05, 80, 2, 0.7, 5, 0.5, 0])) < 70
    assert -problem.f(np.array([1.0, 100, 8, 0.2, 1, 1.0, 0])) > 100


def test_settings_of_the_classifier_that_is_not_used_change_nothing() -> None:
    """The number of neighbours means nothing to a regression, nor its penalty to the neighbours."""
    problem = problems.make("pipeline", 0)
    regression = np.array([1, 10, 0, 0, 5, 2.0, 0, 1.0, 0])
    neighbors = np.array([1, 10, 0, 1, 5, 2.0, 0, 1.0, 0])
    for x, unused, used in ((regression, [4, 5, 6], [7, 8]), (neighbors, [7, 8], [4, 6])):
        for j in range(9):
            moved = x.copy()
            moved[j] = {4: 20, 5: 1.0, 6: 1, 7: 0.01, 8: 1}.get(j, x[j])
            if j in unused:
                assert problem.f(moved) == problem.f(x)
            if j in used:
                assert problem.f(moved) != problem.f(x)
