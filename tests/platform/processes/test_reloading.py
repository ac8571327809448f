"""Requests to reload: each is seen once by every controller that runs when it is made."""

import time
from pathlib import Path

from restow.platform.processes.reloading import ReloadRequests, request_reload


def test_a_request_is_seen_once_by_each_controller_that_runs(tmp_path: Path) -> None:
    first, second = ReloadRequests("lake", tmp_path), ReloadRequests("lake", tmp_path)
    other = ReloadRequests("other", tmp_path)
    assert not first.is_new()
    for _ in range(3):
        request_reload("lake", tmp_path)
        assert (first.is_new(), first.is_new()) == (True, False)
        assert second.is_new()
        time.sleep(0.01)  # the clock of a file system is coarse
    assert not ReloadRequests("lake", tmp_path).is_new(), "a starting controller reads the modules anyway"
    assert not other.is_new()


def test_a_directory_that_is_removed_is_no_request(tmp_path: Path) -> None:
    request_reload("lake", tmp_path)
    requests = ReloadRequests("lake", tmp_path)
    (tmp_path / "run" / "lake" / "reload.json").unlink()
    assert not requests.is_new()
    request_reload("lake", tmp_path)
    assert requests.is_new()
