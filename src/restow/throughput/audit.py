"""Checks what restow's consumer has stored: every record up to the offsets in the table's own log, each once."""

from restow.errors import RestowError
from restow.pipeline.audit import stored_in
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.staging import Writer
from restow.throughput.backlog import partitions_of
from restow.throughput.consumer import CONSUMER, GROUP
from restow.throughput.contender import Setting
from restow.throughput.records import kept


def check_stored(setting: Setting) -> int:
    """Returns the number of rows. Raises RestowError if one is missing or doubled."""
    writer, rows = Writer(GROUP, CONSUMER, 0), 0
    for table, path in setting.tables.items():
        ledger = Ledger(str(path))
        own = [each for each in partitions_of(setting.case) if setting.case.table_of(each.topic) == table]
        wanted = sum(kept(ledger[writer.position_id(partition)] or 0) for partition in own)
        stored = stored_in(path)
        if stored.rows != wanted or stored.doubled:
            raise RestowError(
                f"{table} has {stored.rows} rows, {stored.doubled} of them doubled; "
                f"by its offsets it must have {wanted}, each once"
            )
        rows += stored.rows
    return rows
