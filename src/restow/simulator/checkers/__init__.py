"""What must never happen, one checker per property. Checkers watch the world itself, not what a controller assumes.
The numbers are those of the properties in docs/simulator.md.

OneReader          1     a consumer is commanded to start a partition, or starts it, while another may still read it
TakenOnce          1, 2  a table that knows its offsets skips one, or stores it twice
NothingLost        2, 3  a record is lost
Progress           4     the group does not recover after the faults
Bounded            4     unanswered commands pile up
LeastKept          4     a late consumer is deleted, and the group then has too few
OneRolls           4     a roll pauses or loses more than one consumer, or leaves one with outdated settings
PinsHold           4     a plan moves a pinned partition, or a pin ends too early or too late
RestartedOnce      4     a restart that a person asked for happens twice, or never
ClosedLate         4     a consumer is closed that was needed minutes ago
OpenedAhead        4     more than one consumer is opened for a prediction
Held               4     something is done for load while people hold the group
OnSchedule         4     a schedule's window is open, and its hold or its limits don't count
OneInCharge        4     a controller that gives signs of life is fenced, or controllers alternate
OnlyValidCommands  5     a stale or repeated command changes what is read, or a consumer reads what it has lost
OnlyIntended       5     a controller changes the platform without a committed intention
OnlyMeasured       5     a bad measurement is believed
OnlyOurs           5     another group's message is read as this group's
OnlyGranted        4, 5  a consumer resumes after a crash what it was not granted, or nothing at all
PoisonStays        4     a partition that kills its readers is handed to another consumer
UnprotectedWaits   1     a partition of a crashed consumer, whose late writes its table takes, goes to another
LearnsWithinBounds 5     a learned capacity leaves its bounds, rises at once, or comes from cold cycles

report.py      how checkers report violations
watch.py       what the processes call; it passes each call on to the checkers concerned
one_reader.py  OneReader
stored.py      TakenOnce, NothingLost
progress.py    Progress, Bounded
in_charge.py   OneInCharge, OnlyIntended
commands.py    OnlyValidCommands
inputs.py      OnlyMeasured, OnlyOurs
group_size.py  LeastKept
rolls.py       OneRolls
granted.py     PinsHold, RestartedOnce
closings.py    ClosedLate, OpenedAhead
holds.py       Held
schedules.py   OnSchedule
crashes.py     OnlyGranted, PoisonStays, UnprotectedWaits
learning.py    LearnsWithinBounds
"""
