"""A sample of seeds for `make quick`, beside the 300 of test_seeds_*.py: other seeds, so that none runs twice."""

import pytest
from tests.support.simulator.seeds import run_all


@pytest.mark.parametrize("seed", range(301, 305))
def test_a_seed_is_well(seed: int) -> None:
    run_all([seed])
