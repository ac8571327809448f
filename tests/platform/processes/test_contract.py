"""Local processes fulfil the platform contract."""

import pytest
from tests.platform.processes.conftest import ProcessMaker
from tests.support.platform_contract import PlatformContract, PlatformMaker


class TestLocalProcesses(PlatformContract):
    @pytest.fixture
    def platform_maker(self, processes: ProcessMaker) -> PlatformMaker:
        return processes
