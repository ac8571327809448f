"""Puts a Spark pipeline together from the settings: the command line asks for one."""

import time
from collections.abc import Callable, Mapping

from restow.consumer.pipeline import Plans
from restow.model import ConsumerId
from restow.pipeline.delta.staging import Writer
from restow.pipeline.delta.table import DeltaLake
from restow.pipeline.pipeline import SparkPipeline
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.session import Resources
from restow.settings import Settings

NO_CONSUMER = ConsumerId(0)
"""Of those who store without being one of the group's consumers."""


def spark_pipeline(
    settings: Settings,
    name: str,
    consumer: ConsumerId,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    plans: Plans | None = None,
) -> SparkPipeline:
    """`environment` has what the platform gives: RESTOW_CORES and RESTOW_MEMORY_MB."""
    cores, memory_mb = environment.get("RESTOW_CORES"), environment.get("RESTOW_MEMORY_MB")
    resources = Resources(name, float(cores) if cores else None, int(memory_mb) if memory_mb else None)
    # Our number among the incarnations isn't known before Spark is warm; in names of directories the time serves.
    writer = Writer(settings.group.name, consumer, incarnation=time.time_ns() // 1_000_000)
    engine = Engine(settings, resources, say)
    return SparkPipeline(settings, engine, lambda uri: DeltaLake(uri, writer, settings.table, say), say, plans)
