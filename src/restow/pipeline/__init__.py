"""The data path of a consumer: Spark reads and transforms records and writes files, delta-rs commits them to tables.

pipeline.py       the Spark pipeline: plans cycles and commits the group's offsets
cycle.py          stores a planned cycle; owns the Spark engine and the sinks
targets.py        groups a cycle's partitions by table and transform
outputs.py        several tables of one topic, each with its own positions
places.py         where a table is, from its path in restow.toml
probing.py        whether files can be created in a directory, and why not
sinks.py          the interface of sinks
start_offsets.py  where a newly assigned partition starts
in_flight.py      the plan of the running cycle, and cycles with unknown outcome
transforms.py     imports a user's transform by its name
user_errors.py    an error in a user's code in one line, with its place
locating.py       finds the record on which a transform fails
searching.py      finds all bad records of a range that failed
bad_records.py    which records a cycle leaves out, and how many a minute
dead_letters.py   searches for bad records in the background, and has cycles reject them
suspects.py       finds a record that kills the process, by its crashes
crash_memory.py   remembers on the volume which ranges crashed the process
rejected_records.py  reads dead-letter tables
retrying.py       `restow rejected retry`
secrets.py        removes secrets from error messages
run_once.py       `restow consume --once`
check.py          `restow check`
audit.py          counts rows of a table with DuckDB
formats/          values of records become columns: JSON, Avro, Protobuf, text
spark/            the session, reading, transforming and writing
delta/            Delta tables: commits, schemas, maintenance
light/            a pipeline without Spark, into SQLite
"""
