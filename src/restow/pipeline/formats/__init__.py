"""Formats: values of records become columns, by a schema in a file or in a registry.

frames.py           parsed records as a DataFrame: for each record its columns, or an error
parsers.py          JSON, Avro, text and bytes, with Spark's own functions
protobuf.py         Protobuf, with Python's
protobuf_fields.py  the fields of a Protobuf message -> columns
schemas.py          finds the schema of a topic, and makes the parser of it
json_schema.py      JSON Schema -> columns
infer.py            writes JSON Schemas from samples of records
registry.py         a client of schema registries
framing.py          values that begin with the id of their schema
errors.py           what goes wrong with schemas

spark/transforms.py runs transforms on what this makes, and spark/engine.py owns the schemas.
"""
