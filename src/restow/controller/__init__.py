"""Decides how many consumers there are and what each reads, and moves partitions between them without losing any.

events.py, effects.py   what can happen, and what is to be done about it
transitions.py          the states and the ways between them, as data
state.py                what is known; what a consumer may hold is derived from what was sent and what was answered
machine.py              step(state, event) -> (state, effects): the one entry
synchronize.py, sentinel.py, reassign.py, manage.py, patience.py   the states, and what happens when nobody answers
roll.py                 new settings: one consumer after the other is restarted with them
"""
