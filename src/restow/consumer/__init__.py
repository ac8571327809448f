"""Reads the partitions it is told, stores what becomes of them, and answers.

events.py, effects.py   what can happen, and what is to be done about it
machine.py              step(state, event) -> (state, effects): the one entry
state.py, saved.py      what it knows, and what of it is kept on its volume
commands.py             a batch of commands and the one change that it makes
answers.py              the answers to them
telling.py, reports.py  what else it tells, and what it did since its last report
pipeline.py             what reads, transforms and stores for it, as a protocol
light.py                a pipeline without Spark, with its tables (light_stores.py, light_table.py) and transforms.py
volume.py               its directory
process.py              the process around all of them
"""
