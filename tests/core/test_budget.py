"""The budget, by a clock that the test moves."""

from __future__ import annotations

from core.budget import Budget
from tests.core.support import Clock


def test_no_seconds_never_expire() -> None:
    """Without a bound nothing expires, however late it gets."""
    clock = Clock()
    budget = Budget(clock)
    clock.now = 1e9
    with budget.phase("fit", 0.1) as expired:
        assert not expired()
    assert budget.cut_short == []


def test_a_share_expires_when_it_is_gone() -> None:
    """Half of ten seconds is over at five, counted from the budget's start, and not before."""
    clock = Clock()
    clock.now = 100.0
    budget = Budget(clock, 10.0)
    half = budget.until(0.5)
    clock.now = 104.9
    assert not half()
    clock.now = 105.0
    assert half()


def test_phases_add_up_their_seconds_and_tell_when_cut() -> None:
    """Time spent is booked per phase, and a phase that ends past its share is labelled."""
    clock = Clock()
    budget = Budget(clock, 10.0)
    for seconds in (2.0, 3.0):
        with budget.phase("fit", 0.4):
            clock.now += seconds
    with budget.phase("rest"):
        clock.now += 1.0
    assert budget.spent == {"fit": 5.0, "rest": 1.0}
    assert budget.cut_short == ["fit"]


def test_a_phase_inside_another_is_booked_once() -> None:
    """Its seconds are not the outer one's, so that all phases add up to the time that passed."""
    clock = Clock()
    budget = Budget(clock)
    with budget.phase("maximise"):
        clock.now += 1.0
        with budget.phase("fit"):
            clock.now += 2.0
        clock.now += 4.0
    assert budget.spent == {"fit": 2.0, "maximise": 5.0}


def test_a_phase_that_fails_is_still_booked() -> None:
    """An error inside a phase passes through, and its seconds count."""
    clock = Clock()
    budget = Budget(clock)
    try:
        with budget.phase("fit"):
            clock.now += 4.0
            raise ValueError
    except ValueError:
        pass
    assert budget.spent == {"fit": 4.0}


def test_shorter_fits_share_the_deadline_and_the_books() -> None:
    """Only the length of fits differs: time passes, and is booked, for both."""
    clock = Clock()
    budget = Budget(clock, 10.0)
    clock.now = 4.0
    short = budget.with_fits_of(3)
    assert (budget.fit_evaluations, short.fit_evaluations) == (50, 3)
    with short.phase("fit", 0.5):
        clock.now = 6.0
    assert short.until(0.5)()
    assert budget.spent == {"fit": 2.0}
    assert budget.cut_short == ["fit"]


def test_shares_divide_the_time_that_is_left() -> None:
    """A third of what is left from now on, booked with the whole; none once it is gone."""
    clock = Clock()
    budget = Budget(clock, 10.0)
    clock.now = 4.0
    share = budget.share(3)
    clock.now = 5.9
    assert not share.until(1.0)()
    clock.now = 6.0
    assert share.until(1.0)()
    with share.phase("fit"):
        clock.now = 11.0
    assert budget.spent == {"fit": 5.0}
    assert budget.share(3).until(1.0)()


def test_a_budget_says_what_it_allows() -> None:
    """To the end and no further; without a bound, anything."""
    clock = Clock()
    budget = Budget(clock, 10.0)
    clock.now = 4.0
    assert budget.allows(6.0)
    assert not budget.allows(6.1)
    assert Budget(clock).share(3).allows(1e9)
