"""Delta tables as sinks: files and offsets are taken by one commit, exactly once. docs/exactly-once.md explains how.

sink.py         the table as a sink: commits files and offsets together, or refuses both
rejects.py      RejectTable: the dead-letter table
claims.py       what makes a table and its dead-letter table one
ledger.py       application transactions in the table's log, which hold the offsets
local_log.py    reads and appends entries of a log on a local disk, without listing it
checkpoints.py  checkpoints of such a log, and the expiry of its entries
staging.py      names of staging directories and of transaction ids
schemas.py      whether a batch fits the table, and which columns the table lacks
fitting.py      adds those columns, and widens the batch's types
features.py     refuses tables that demand what restow can't check
stores.py       object stores: how they are reached, and whether commits there are safe
files.py        files below a table's root, on a disk or in an object store
objects.py      the same for object stores
log_copy.py     a copy of a log in an object store, to look up many transactions
footers.py      reads the footer of a Parquet file
statistics.py   column statistics for data skipping, from the footers
maintenance.py  compaction and vacuum in a process of their own, when they are due
compaction.py   rewrites many small files as few large ones
vacuum.py       deletes files that no reader needs
errors.py       what delta-rs raises, and the error of a table
"""
