"""The engine against the reference model of tests/model: the same random steps on both.

tests/model/objects.py and portals.py are the model, sequences.py makes the
steps, build/host/model-engine is the engine under ASan and UBSan.
"""
from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pytest

from model.compare import Comparison, Engine
from model.sequences import Sequence
from model.soak import PROGRAM, run

pytestmark = pytest.mark.host

SEED = 1                    # make soak tries others
STEPS = 100_000
EXAMPLES, EXAMPLE_STEPS = 100, 50


@pytest.fixture(scope="module")
def engine():
    with Engine(PROGRAM) as running:
        yield running


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
          print_blob=False,
          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large,
                                 HealthCheck.large_base_example])
@given(data=st.data())
def test_shrinking(data):
    """Few steps at a time, that Hypothesis makes shorter and simpler when they differ."""
    with Engine(PROGRAM) as engine:
        comparison = Comparison(engine)
        sequence = Sequence(comparison.world, lambda n: data.draw(st.integers(0, n - 1)))
        while len(comparison.steps) < EXAMPLE_STEPS:
            for step in sequence.next():
                comparison.apply(step)
        comparison.settle()


def test_long():
    seen = run(SEED, STEPS)
    assert seen["steps"] >= STEPS
