"""Settings of scikit-learn's models, judged by threefold cross-validation on its own data; the seed draws the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.problems.base import CATEGORICAL, FLOAT, INT, Array, BenchmarkProblem, Kind, Scale

Setting = tuple[Kind, tuple[float, float], Scale]
KERNELS = ("rbf", "poly", "sigmoid", "linear")
LOSSES = ("squared_error", "absolute_error", "huber")


def _a(low: float, high: float, scale: Scale = "linear") -> Setting:
    return FLOAT, (low, high), scale


def _whole(low: int, high: int, scale: Scale = "linear") -> Setting:
    return INT, (low, high), scale


def _one_of(n: int) -> Setting:
    return CATEGORICAL, (0, n - 1), "linear"


def svm(*, seed: int = 0) -> BenchmarkProblem:
    """A support vector machine on 400 handwritten digits; percent of them that are taken for another one."""
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC

    X, y = _rows(load_digits, 400, seed)

    def error(C: float, gamma: float, kernel: float, degree: float, coef0: float, tol: float) -> float:
        model = SVC(
            C=C, gamma=gamma, kernel=KERNELS[int(kernel)], degree=int(degree), coef0=coef0, tol=tol, max_iter=20_000
        )  # fmt: skip
        return 100 * (1 - _score(model, X / 16, y, "accuracy"))

    return _problem(
        "svm",
        [_a(1e-3, 1e3, "log"), _a(1e-5, 1e2, "log"), _one_of(4), _whole(1, 6), _a(-2, 2), _a(1e-5, 1e-1, "log")],
        error,
    )


def boosting(*, seed: int = 0) -> BenchmarkProblem:
    """Boosted trees that say the progression of diabetes of 250 patients; percent of its variance not explained."""
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor

    X, y = _rows(load_diabetes, 250, seed)

    def error(
        rate: float, trees: float, depth: float, subsample: float, leaf: float, features: float, loss: float
    ) -> float:
        model = GradientBoostingRegressor(
            learning_rate=rate, n_estimators=int(trees), max_depth=int(depth), subsample=subsample,
            min_samples_leaf=int(leaf), max_features=features, loss=LOSSES[int(loss)], random_state=0,
        )  # fmt: skip
        return -100 * _score(model, X, y, "neg_mean_squared_error") / float(y.var())

    return _problem(
        "boosting",
        [
            _a(1e-3, 1, "log"), _whole(5, 100, "log"), _whole(1, 8), _a(0.2, 1), _whole(1, 50, "log"), _a(0.1, 1),
            _one_of(3),
        ],
        error,
    )  # fmt: skip


def pipeline(*, seed: int = 0) -> BenchmarkProblem:
    """Scaling, principal components and one of two classifiers on 300 tumours; the logarithmic loss.

    Half of the settings are those of the classifier that is not used.
    """
    from sklearn import preprocessing
    from sklearn.datasets import load_breast_cancer
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    X, y = _rows(load_breast_cancer, 300, seed)
    scalers: tuple[Callable[[], Any], ...] = (
        preprocessing.FunctionTransformer,
        preprocessing.StandardScaler,
        preprocessing.MinMaxScaler,
        preprocessing.RobustScaler,
        lambda: preprocessing.QuantileTransformer(n_quantiles=50),
    )

    def error(
        scaler: float, components: float, whiten: float, neighbors: float, k: float, p: float, weights: float,
        C: float, l1: float,
    ) -> float:  # fmt: skip
        model: Any = LogisticRegression(C=C, l1_ratio=float(l1), solver="liblinear", max_iter=200)
        if neighbors:
            model = KNeighborsClassifier(int(k), p=p, weights="distance" if weights else "uniform")
        steps = scalers[int(scaler)](), PCA(int(components), whiten=bool(whiten)), model
        return -_score(make_pipeline(*steps), X, y, "neg_log_loss")

    return _problem(
        "pipeline",
        [
            _one_of(5), _whole(1, 30), _one_of(2), _one_of(2), _whole(1, 50, "log"), _a(1, 4), _one_of(2),
            _a(1e-4, 1e3, "log"), _one_of(2),
        ],
        error,
    )  # fmt: skip


ALL: tuple[Callable[..., BenchmarkProblem], ...] = (svm, boosting, pipeline)


def _problem(name: str, settings: Sequence[Setting], error: Callable[..., float]) -> BenchmarkProblem:
    kinds, bounds, scales = zip(*settings, strict=True)
    return BenchmarkProblem(
        name=name, bounds=bounds, terms=lambda x: np.array([-error(*map(float, x))]), scales=scales, kinds=kinds
    )


def _rows(load: Callable[..., tuple[Array, Array]], n: int, seed: int) -> tuple[Array, Array]:
    X, y = load(return_X_y=True)
    rows = np.random.default_rng([seed, 0x5C1]).permutation(len(X))[:n]
    return X[rows], y[rows]


def _score(model: Any, X: Array, y: Array, scoring: str) -> float:
    from sklearn.model_selection import cross_val_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that did not converge: their score says so
        return float(cross_val_score(model, X, y, cv=3, scoring=scoring).mean())
