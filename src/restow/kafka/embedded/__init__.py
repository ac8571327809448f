"""The embedded broker: real Apache Kafka as child processes on loopback, for tests, benchmarks and the demo.

broker.py         a cluster of one to three KRaft nodes
node.py           one node: its configuration, its Java process and its log
data.py           the directory that holds the nodes' data
ports.py          free ports on the loopback interface
build_archive.py  the program that archives the broker's classes, for `make`
"""
