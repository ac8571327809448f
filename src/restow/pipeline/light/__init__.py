"""The light pipeline, without Spark: librdkafka reads, SQLite stores rows and offsets in one transaction.

pipeline.py    LightPipeline: assignment changes and cycles
stores.py      the open tables, and the retries of failing ones
check.py       `restow check`
table.py       LightTable: a SQLite file with records and next offsets
rejected.py    reads rejected records
transforms.py  the functions that turn records into rows
"""
