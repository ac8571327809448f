"""`restow check` without brokers: every error of the file, and what can be said of transforms and tables anyway."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from restow.cli.main import main
from restow.errors import RestowError
from restow.kafka.admin import Admin, Cluster
from restow.kafka.errors import NotAllowed
from restow.model import TopicPartition
from restow.pipeline import check
from restow.pipeline.check import Finding, TransformSample, Trial, Verdict, check_brokers, check_topics, exit_code
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer
from restow.pipeline.spark.check import SparkTrial
from restow.pipeline.spark.writing import write_files
from restow.protocol.topic_service import TopicService
from restow.settings import Settings, read_settings

NOWHERE = '[group]\nname = "lake"\n[kafka]\nbootstrap = "127.0.0.1:1"\n[consumer]\npipeline = "light"\n'
"""No broker listens on port 1."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(check, "BROKERS_WITHIN_S", 1.0)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "checked_shop", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))  # the command extends it
    (tmp_path / "checked_shop.py").write_text("def same(records):\n    return records\n\n\nlist = 3\n")
    return tmp_path / "restow.toml"


def checked(file: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    file.write_text(text)
    code = main(["check", "--config", str(file)])
    return code, capsys.readouterr().out.splitlines()


def test_every_error_of_the_file_is_listed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = checked(file, '[group]\nname = "A"\n[kafak]\n[consumer]\ncycle_s = 0\n', capsys)
    assert code == 1
    assert [line.partition(";")[0] for line in lines] == [
        f"wrong    {file}: there is no table [kafak]",
        f"wrong    {file}: [kafka] bootstrap is missing",
        f'wrong    {file}: [group] name = "A" can\'t be used',
        f"wrong    {file}: [consumer] cycle_s = 0.0 can't be used",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[kafka\n", "this is not TOML"),
        ('[group]\nname = "lake"\n[kafka]\nbootstrap = "h:1"\n', "there is no [consume.NAME], so nothing is consumed"),
    ],
)
def test_a_file_that_says_nothing_is_wrong(
    file: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    code, [line] = checked(file, text, capsys)
    assert (code, line.startswith(f"wrong    {file}: {says}")) == (1, True)


def test_a_missing_file_is_wrong(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", str(file)]) == 1
    assert capsys.readouterr().out.startswith(f"wrong    there is no {file}; write one")


def test_without_brokers_the_rest_is_checked_and_the_answer_is_that_it_cannot_be_told(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = checked(
        file, f'{NOWHERE}[consume.orders]\ntable = "lake/orders.db"\ntransform = "checked_shop:same"\n', capsys
    )
    assert code == 2
    assert lines[0] == f"right    {file}"
    assert lines[1].startswith("unknown  brokers: can't list the topics: 127.0.0.1:1 doesn't answer (")
    assert "Connection refused" in lines[1]
    columns = "topic, partition, offset, timestamp_ms, key, value"
    assert lines[2:] == [
        "unknown  [consume.orders] topic: the brokers can't be asked",
        f"right    [consume.orders] transform: no records to try; its rows have {columns}",
        f"right    [consume.orders] table: {file.parent}/lake/orders.db doesn't exist and will be created",
    ]
    assert not (file.parent / "lake").exists(), "nothing is created"


def test_what_is_wrong_with_transforms_and_tables_is_said_for_each(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file.parent / "notes.txt").write_text("no database, but long enough to be taken for one" * 20)
    with closing(sqlite3.connect(file.parent / "other.db")) as database:
        database.execute("CREATE TABLE records (id INTEGER)")
    code, lines = checked(
        file,
        NOWHERE
        + '[consume.a]\ntable = "notes.txt"\ntransform = "checked_shop:list"\n'
        + '[consume.b]\ntable = "other.db"\ntransform = "nowhere:b"\n'
        + '[consume."^c.*"]\ntable = "notes.txt/c.db"\n[consume.d]\ntable = "/proc/lake/d.db"\n[consume.e]\n',
        capsys,
    )
    assert code == 1
    there = file.parent
    words = dict(line.removeprefix("wrong    ").split(": ", 1) for line in lines if line.startswith("wrong"))
    assert words == {
        '[consume."^c.*"] table': (
            f"the table {there}/notes.txt/c.db can't be written: {there}/notes.txt is not a directory; correct the "
            "rights, or name another place"
        ),
        "[consume.a] transform": "the transform checked_shop:list is not a function; it must take and give records",
        "[consume.a] table": (
            f"the table {there}/notes.txt can't be used: file is not a database; name another file, "
            "or correct its rights"
        ),
        "[consume.b] transform": (
            "the transform nowhere:b can't be imported: ModuleNotFoundError: No module named 'nowhere'"
        ),
        "[consume.b] table": (
            f"the file {there}/other.db has a table records with the columns id, which is not restow's; "
            "name another file"
        ),
        "[consume.d] table": (
            "the table /proc/lake/d.db can't be written: /proc: No such file or directory; correct the rights, or name "
            "another place"
        ),
    }
    assert "right    [consume.e] table: none, so that records are only counted" in lines


def test_light_consumers_are_checked_without_spark(file: Path) -> None:
    file.write_text(f"{NOWHERE}[consume.orders]\n")
    program = (
        "import sys; from restow.cli.main import main; from restow.pipeline import check; "
        "check.BROKERS_WITHIN_S = 0.5; "
        f"code = main(['check', '--config', {str(file)!r}]); assert 'pyspark' not in sys.modules; sys.exit(code)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, "restow: 0 wrong, 2 unknown\n")


def test_rejected_credentials_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def cluster(self: Admin) -> Cluster:
        del self
        raise NotAllowed("h:1 rejects our credentials: Authentication failed; check sasl.* and ssl.* in [kafka]")

    monkeypatch.setattr(Admin, "cluster", cluster)
    [finding] = check_brokers(settings())
    assert str(finding) == (
        "wrong    brokers: h:1 rejects our credentials: Authentication failed; check sasl.* and ssl.* in [kafka]"
    )


# Topics.

CLUSTER = Cluster((1,), {"orders": (1, 1), "events-a": (1,), "events-b": (1,), "lake-monitor": (1,)})


def test_a_missing_topic_is_wrong_and_a_pattern_waits_for_topics() -> None:
    text = '[consume.orders]\n[consume.order]\n[consume."^events-.*"]\n[consume."^none-.*"]\n[consume.events-b]\n'
    found = {name: (finding, parts) for name, finding, parts in check_topics(settings(text), CLUSTER)}
    assert {name: str(finding) for name, (finding, _) in found.items()} == {
        "^events-.*": 'right    [consume."^events-.*"] topic: matches events-a with 1 partition',
        "^none-.*": 'right    [consume."^none-.*"] topic: no topic on h:1 matches it yet; one will be read if it comes',
        "events-b": "right    [consume.events-b] topic: events-b has 1 partition",
        "order": (
            "wrong    [consume.order] topic: there is no topic order on h:1, or the right Describe on it is missing; "
            "create it, or correct the name"
        ),
        "orders": "right    [consume.orders] topic: orders has 2 partitions",
    }
    assert found["orders"][1] == (TopicPartition("orders", 0), TopicPartition("orders", 1))


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["right"], 0),
        (["right", "unknown"], 2),
        (["right", "unknown", "wrong"], 1),
    ],
)
def test_the_exit_code_is_0_if_right_1_if_wrong_and_2_if_it_cannot_be_told(verdicts: list[str], code: int) -> None:
    assert exit_code(dict.fromkeys(map(Verdict, verdicts), 1)) == code
    assert str(Finding(Verdict.UNKNOWN, "brokers", "don't answer")) == "unknown  brokers: don't answer"


# Delta tables.


def settings(text: str = "") -> Settings:
    return read_settings(f'[group]\nname = "lake"\n[kafka]\nbootstrap = "h:1"\n{text}', "restow.toml", {})


def schema_of(**columns: str) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


PARTITIONS = (TopicPartition("orders", 0),)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "orders"
    sink = DeltaSink(str(path), Writer("lake", 1, 1), settings().table, write_files)
    sink.register({PARTITIONS[0]: 0}, schema_of(id="long", name="string"))
    sink.close()
    return path


def look_at(path: Path | str, schema: str | None) -> str:
    trial = SparkTrial(settings())
    try:
        sample = None if schema is None else TransformSample(1, 1, (), schema)
        return trial.table(TopicService(table=str(path)), PARTITIONS, sample)
    finally:
        trial.close()


def test_a_table_that_fits_gets_columns_or_does_not_exist_is_right(table: Path) -> None:
    log = sorted(file.name for file in (table / "_delta_log").iterdir())
    assert look_at(table, schema_of(id="long", name="string")) == f"{table} exists and has all columns"
    assert look_at(table, schema_of(id="long", at="date")) == f"{table} exists, and 1 column will be added: at"
    assert look_at(table, None) == f"{table} exists; its columns are not compared, because the transform fails"
    new = table.with_name("new")
    assert look_at(new, schema_of(id="long")) == f"{new} doesn't exist and will be created"
    assert sorted(file.name for file in (table / "_delta_log").iterdir()) == log, "nothing is changed"
    assert not new.exists()


def test_a_table_with_other_columns_other_files_or_without_rights_is_wrong(table: Path, tmp_path: Path) -> None:
    def refusal(path: Path | str, schema: str = schema_of(id="long")) -> str:
        with pytest.raises(DeltaTableError) as error:
            look_at(path, schema)
        return str(error.value)

    assert refusal(table, schema_of(id="string")) == (
        f"the table {table}: column id is long in the table and string in the batch; cast it in the transform, or name "
        "another table. The table has (id long, name string), the batch (id string)"
    )
    parquet = tmp_path / "parquet"
    parquet.mkdir()
    (parquet / "part-1.parquet").write_bytes(b"")
    assert refusal(parquet) == (
        f"{parquet} is not a Delta table, but has other files, such as part-1.parquet; name another place"
    )
    assert (
        refusal(parquet / "part-1.parquet")
        == f"{parquet}/part-1.parquet is a file, not a Delta table; name another place"
    )
    assert refusal("/proc/lake/orders") == (
        "the table /proc/lake/orders can't be written: /proc: No such file or directory; correct the rights, or name "
        "another place"
    )


def test_without_a_pipeline_that_can_start_the_topics_are_said_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Trial:
        raise RestowError("Java 17 or newer is needed, and there is none")

    monkeypatch.setattr(check, "BROKERS_WITHIN_S", 0.5)
    text = "[consume.a]\n[consume.b]\n"
    lines = [str(finding) for finding in check.check(settings(text), no_java, str)]
    assert lines[1:] == [
        "wrong    spark: Java 17 or newer is needed, and there is none",
        "unknown  [consume.a] topic: the brokers can't be asked",
        "unknown  [consume.b] topic: the brokers can't be asked",
    ]
