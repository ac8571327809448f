"""`restow monitor`: publishes until a stop signal, ends cleanly, and answers mistakes with one line."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from restow.cli import main
from restow.kafka.admin import Admin
from restow.model import TopicPartition
from restow.settings import Kafka

COMMAND = (sys.executable, "-c", "import sys; from restow.cli import main; sys.exit(main())")


@pytest.mark.parametrize("told_by", [signal.SIGTERM, signal.SIGINT])
def test_it_publishes_until_a_stop_signal_and_exits_with_0(
    told_by: signal.Signals,
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    config, published = tmp_path / "restow.toml", TopicPartition(f"{prefix}-monitor", 0)
    admin.create_topic(f"{prefix}-orders", 2)
    config.write_text(
        f'[kafka]\nbootstrap = "{kafka.bootstrap}"\n[group]\nname = "{prefix}"\n'
        f'[monitor]\ntopics = ["^{prefix}-ord.*"]\nsample_every_s = 0.1\npublish_every_s = 0.1\n'
    )
    with subprocess.Popen(
        [*COMMAND, "monitor", "--config", str(config)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            # Asked for a topic before it is there, librdkafka may go on to remember that it isn't.
            eventually(lambda: published.topic in admin.cluster().leaders)
            eventually(lambda: admin.end_offsets([published]).get(published, 0) >= 2)
            process.send_signal(told_by)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out) == (0, "")
    assert err.endswith(f"Z INFO    monitor     measuring ^{prefix}-ord.* at {kafka.bootstrap}\n")
    assert err.count("\n") == 1


def test_without_topics_of_interest_there_is_nothing_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "restow.toml"
    config.write_text('[kafka]\nbootstrap = "localhost:9092"\n[group]\nname = "lake"\n')
    assert main(["monitor", "--config", str(config)]) == 2
    assert capsys.readouterr() == (
        "",
        (
            f"restow: {config}: monitor.topics is empty, and there is no [consume.TOPIC]; "
            'name a topic or a pattern, like ["^orders-.*"]\n'
        ),
    )
