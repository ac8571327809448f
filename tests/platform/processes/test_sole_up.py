"""At most one `restow up` for a group in a directory; the next one finds and ends what a killed one left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from restow.platform.processes.linux import is_alive, process
from restow.platform.processes.sole_up import SoleUp, UpElsewhere, end_leftovers


def test_a_second_one_learns_the_first_one_s_pid_and_other_groups_and_directories_are_free(tmp_path: Path) -> None:
    with SoleUp("a", tmp_path):
        with pytest.raises(UpElsewhere) as refused, SoleUp("a", tmp_path):
            pass
        assert refused.value.pid == str(os.getpid())
        with SoleUp("b", tmp_path), SoleUp("a", tmp_path / "elsewhere"):
            pass
    with SoleUp("a", tmp_path):
        pass


@pytest.mark.parametrize("behaviour", ["signal.SIG_DFL", "signal.SIG_IGN"])
def test_what_a_killed_one_left_is_found_and_ended(tmp_path: Path, behaviour: str) -> None:
    code = f"import signal, time; signal.signal(signal.SIGTERM, {behaviour}); print(flush=True); time.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as left:
        assert left.stdout
        left.stdout.readline()
        known = process(left.pid)
        assert known
        with SoleUp("a", tmp_path) as first:
            assert first.leftovers() == ()
            first.remember([known])
        with SoleUp("a", tmp_path) as second:
            assert second.leftovers() == (known,)
            end_leftovers(second.leftovers(), grace_s=0.2 if "IGN" in behaviour else 60.0)
            assert not is_alive(known)
            assert second.leftovers() == ()
        assert left.wait(60) == (-signal.SIGKILL if "IGN" in behaviour else -signal.SIGTERM)
