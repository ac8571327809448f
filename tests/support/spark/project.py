"""A user's directory with restow.toml and transforms, in which tests run restow's commands."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable
from tests.support.paths import TRANSFORMS

from restow.kafka.clients import make_producer
from restow.settings import Kafka

QUICK = '"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"'


def rows_of(table: Path | str, columns: str) -> list[tuple[Any, ...]]:
    """The table's rows in the order of its files, read by DuckDB."""
    files = sorted(DeltaTable(table).file_uris())
    if not files:
        return []
    with duckdb.connect() as engine:
        return engine.execute(f"SELECT {columns} FROM read_parquet({files})").fetchall()


@dataclass
class Project:
    """A directory with restow.toml and transforms, and a topic with numbers."""

    kafka: Kafka
    topic: str
    directory: Path

    def configure(self, tables: str, spark: str = "") -> None:
        (self.directory / "shop.py").write_text((TRANSFORMS / "transforms_on_spark.py").read_text())
        properties = "".join(f"{name} = {json.dumps(value)}\n" for name, value in self.kafka.properties.items())
        text = f'[kafka]\nbootstrap = "{self.kafka.bootstrap}"\n{properties}[group]\nname = "{self.topic}"\n'
        (self.directory / "restow.toml").write_text(f"{text}[spark]\n{QUICK}\n{spark}\n{tables}")

    def write(self, count: int) -> None:
        producer = make_producer(self.kafka, {"acks": "all"})
        for number in range(count):
            producer.produce(self.topic, str(number), partition=number % 2)
        assert producer.flush(30) == 0

    def restow(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """It leaves no temporary files."""
        tmp = self.directory / "tmp"
        tmp.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "restow", *arguments, "--config", "restow.toml"]
        environment = {**os.environ, "RESTOW_CORES": "1", "RESTOW_MEMORY_MB": "1024", "TMPDIR": str(tmp)}
        done = subprocess.run(
            command, cwd=self.directory, capture_output=True, text=True, check=False, timeout=180, env=environment
        )
        assert [file for file in tmp.rglob("*") if file.name != f"restow-{os.getuid()}"] == []
        return done
