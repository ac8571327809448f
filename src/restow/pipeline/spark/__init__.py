"""Spark: the session and its JVM, reading exact offset ranges, running transforms, writing Parquet files.

engine.py         runs target cycles, each as one Spark job
diagnosis.py      says why a cycle failed, and on which record
check.py          `restow check`
worker.py         the thread that makes all calls to Spark
session.py        starts the session
warm_up.py        a small first cycle, so that the next ones are fast
rehearsal.py      cycles of a consumer without partitions, which store nothing
reading.py        reads offset ranges with Spark's Kafka connector
properties.py     translates librdkafka's properties for the Java client
rows.py           makes the rows of tables, for the engine
transforms.py     makes the rows of a cycle, with a user's transform or query
context.py        the second argument of a transform: options, static tables
lineage.py        carries each record's topic, partition, offset and timestamp into its rows
parse_once.py     keeps Spark from parsing records once more for a filter
counting.py       counts records and bytes that are read
partitions.py     adds the columns of partition_by, like the day of a timestamp
bad_records.py    leaves bad records out, and makes the rows of dead letters
trials.py         runs the jobs of a search for bad records
writing.py        writes Parquet files
failures.py       reduces a Spark error to one line
jvm.py            starts the JVM and finds Java classes
garbage.py        warns of a Java heap that is too small
jars.py           the jars of Spark's Kafka connector, and of Avro
class_archive.py  the JVM options for the class archive
prepare.py        fetches the jars and builds the class archive, once on a machine
build_archive.py  the program that builds the class archive
"""
