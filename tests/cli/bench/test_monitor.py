"""`restow bench monitor`: real partitions on the embedded broker, recorded ones above what it carries."""

import json

import pytest

from restow.cli.bench import monitor
from restow.cli.support.options import Parser
from restow.kafka.sampler import Interest, Sampler


@pytest.mark.kafka
def test_it_measures_real_and_recorded_partitions(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="restow bench")
    monitor.add(parser.add_subparsers(parser_class=Parser))
    args = parser.parse_args(["monitor", "--partitions", "3,6000", "--json"])
    assert args.run(args) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["partitions"], row["sources"]) for row in rows] == [(3, "real"), (6000, "recorded")]
    for row in rows:
        assert row["cpu_s"] == pytest.approx(sum(row[step]["cpu_s"] for step in ("sample", "measure", "publish")))
        assert 80 * row["partitions"] < row["record_bytes"] < 200 * row["partitions"] + 200
    assert rows[1]["memory_mb"] > rows[0]["memory_mb"] > 0


def test_a_recording_answers_as_a_broker_does(caplog: pytest.LogCaptureFixture) -> None:
    sample = Sampler(monitor.recording("orders", 3), Interest(["orders"])).sample()
    assert (sample.end_offset.tolist(), sample.size_bytes.tolist()) == ([1000, 1001, 1002], [1000, 1001, 1002])
    assert (sample.leader.tolist(), sample.start_offset.tolist(), caplog.messages) == ([1, 1, 1], [0, 0, 0], [])
