"""A group's first files, for `restow init`: a commented restow.toml and a module of transforms, from what a broker has.

facts.py            what is known of a topic: partitions, speed, records of a sample
columns.py          columns and their types, from a sample of JSON records
types.py            types of JSON values, from a sample
json_schema.py      the JSON Schema of a sample, for `restow check --infer`
names.py            names of functions, tables and groups
settings_text.py    restow.toml
transforms_text.py  the module of transforms

Pure: `restow.kafka.survey` looks at the broker, and the command line asks and writes.
"""
