"""Reads the partitions it is told, stores what becomes of them, and answers.

events.py, effects.py   what can happen, and what is to be done about it
machine.py              step(state, event) -> (state, effects): the one entry
"""
