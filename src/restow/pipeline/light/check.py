"""`restow check` without Spark: runs transforms on a sample of records without storing, and looks at SQLite files."""

from pathlib import Path

from restow.kafka.newest import newest_offsets, records_at
from restow.kafka.reading import Record
from restow.model import TopicPartition
from restow.pipeline.check import TransformSample
from restow.pipeline.light.table import LightTableError, preview
from restow.pipeline.light.transforms import check_service, rows_of
from restow.pipeline.places import place_of
from restow.pipeline.probing import probe
from restow.protocol.topic_service import TopicService
from restow.settings import Settings


class LightTrial:
    """Implements Trial."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def transform(self, service: TopicService, partitions: tuple[TopicPartition, ...]) -> TransformSample:
        check_service(service)
        offsets = newest_offsets(self._settings.kafka, partitions) if partitions else {}
        sampled = records_at(self._settings.kafka, self._settings.group.name, offsets) if any(offsets.values()) else {}
        rows = [rows_of(service.transform, records) for records in sampled.values() if records]
        return TransformSample(sum(map(len, sampled.values())), sum(map(len, rows)), Record._fields)

    def table(
        self,
        service: TopicService,
        partitions: tuple[TopicPartition, ...],  # noqa: ARG002  a table of records fits every topic
        sample: TransformSample | None,  # noqa: ARG002  and every transform
    ) -> str:
        place = place_of(service.table or "", self._settings)
        exists = preview(place.uri, self._settings.group.name, place.former)
        if reason := probe(Path(place.uri).parent):
            raise LightTableError(
                f"the table {place.uri} can't be written: {reason}; correct the rights, or name another place"
            )
        return f"{place.uri} exists and can be written" if exists else f"{place.uri} doesn't exist and will be created"
