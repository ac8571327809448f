"""Local processes keep the contract of all platforms."""

import pytest
from tests.platform.conftest import ProcessMaker
from tests.platform.contract import PlatformContract, PlatformMaker


class TestLocalProcesses(PlatformContract):
    @pytest.fixture
    def platform_maker(self, processes: ProcessMaker) -> PlatformMaker:
        return processes
