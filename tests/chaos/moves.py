"""What the clients of the state machine may say: few names, keys and values, so that they often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.chaos import truth

# Leases and jumps are so far apart that the seconds a run takes never decide whether a lease is over.
leases = st.sampled_from([1500.0, 4500.0, truth.MAX_LEASE + 1.0])
jumps = st.sampled_from([1000.0, 4000.0])
names = st.sampled_from(["alpha", "beta"])
keys = st.none() | st.sampled_from(["k1", "k2", "k3", "k4"])
whole = st.integers(-3, 3).map(float)
numbers = st.integers(0, 8)
points = st.fixed_dictionaries({"x": whole, "n": st.integers(1, 50), "kind": st.sampled_from(["a", "b"])})
outcomes = st.one_of(
    st.fixed_dictionaries({"value": whole}),
    st.fixed_dictionaries({"value": whole}),
    st.fixed_dictionaries({"value": whole, "sem": st.just(0.5)}),
    st.fixed_dictionaries({"factor_values": st.fixed_dictionaries({"left": whole, "right": whole})}),
    st.fixed_dictionaries(
        {"state": st.sampled_from(["failed", "abandoned"]), "reason": st.sampled_from(["why", "so"])}
    ),
    st.fixed_dictionaries({"state": st.just("failed"), "value": whole}),
    st.just({}),
)
results = st.builds(lambda number, outcome: {"trial": number} | outcome, numbers, outcomes) | st.builds(
    lambda point, outcome: {"parameters": point} | outcome, points, outcomes
)
batches = st.lists(results, min_size=1, max_size=truth.MAX_RESULTS)
requests = st.fixed_dictionaries(
    {},
    optional={
        "count": st.sampled_from([1, 1, 2, 3, truth.MAX_COUNT + 1]),
        "client_id": st.sampled_from(["c1", "c2"]),
        "lease_seconds": leases,
        "fixed": st.sampled_from([{}, {"kind": "a"}]),
    },
)
