"""What arrives at the controller: it says once that no speeds do."""

import logging
import time

import pytest

from restow.controller.events import SpeedsMeasured
from restow.model import Speeds
from restow.roles.arrivals import Arrivals


def test_missing_speeds_are_reported_once_and_so_is_their_arrival(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    arrivals = Arrivals("lake-monitor", lambda _: None)
    arrivals.expect_speeds()
    arrivals.look_for_speeds([])
    assert caplog.messages == []
    arrivals._speeds_due_s = time.monotonic()
    arrivals.look_for_speeds([])
    arrivals.look_for_speeds([])
    missing = "no speeds on lake-monitor for 5 s, and without them nothing is assigned; does `restow monitor` run?"
    assert caplog.messages == [missing]
    arrivals.look_for_speeds([SpeedsMeasured("2026-03-01T12:00:00.250Z", Speeds({}))])
    arrivals.look_for_speeds([])
    assert caplog.messages == [missing, "speeds arrive on lake-monitor"]
