"""Apache Kafka on this machine: one to three KRaft nodes as child processes, on loopback."""
