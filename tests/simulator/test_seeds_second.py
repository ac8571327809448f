"""The second half of the seeds, and that everything occurs in them too."""

import pytest
from tests.support.simulator.seeds import assert_everything_occurred, run_all

pytestmark = pytest.mark.slow


def test_150_more_seeds_are_well_and_everything_occurs_in_them() -> None:
    assert_everything_occurred(run_all(range(151, 301)))
