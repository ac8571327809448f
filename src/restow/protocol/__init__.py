"""The words that the parts of restow exchange over Kafka: every message, its one encoding, and where it travels.

messages.py   the messages: frozen values, checked where they are made
codec.py      a dataclass <-> plain JSON, driven by the types of its fields
records.py    a message <-> a Kafka record (headers and value), and what to do with a record that can't be read
channels.py   which message stands on which topic, written and read by whom
reference.py  docs/protocol.md, written from the above
"""
