"""Consumers as processes on this machine: the embedded default. They outlive the controller and are found again by it.

Why a keeper. Something must restart a consumer that falls and finish its ending, also while no controller lives, and a
controller may die at any instruction. So every consumer has a small process above it, its *keeper*, and the controller
never starts, watches or ends a consumer itself. It writes a wish to disk, atomically, and the keeper makes it true:

    controller ── wish.json ──> keeper ── starts, restarts, ends ──> consumer and all that it starts
               <── status.json ──

Whatever the controller was about to do when it died, the disk holds either the old wish or the new one, and both are
whole. A wish without a living keeper (the controller died between writing and starting it, the keeper was killed, the
machine was restarted) is given one by whoever looks next, this controller or its successor: `Keepers.mend`. Had the
platform object restarted consumers itself, a fallen consumer would stay down, and one that ignores SIGTERM would
stay up, for as long as there is no controller.

linux.py       which process is which: its id together with its start and the machine's, signals that can't go astray
disk.py        files that are replaced whole, and a lock on a directory
files.py       a consumer's place on disk, with the wish and the status in it
keeper.py      the keeper: a process that needs the standard library and its neighbours, and little memory
kept.py        what a keeper does to the processes below it: begins them, finds them, ends every one
logs.py        a consumer's log
spawning.py    starts keepers
keepers.py     the controllers' side: writes wishes, gives them keepers, removes what is gone
consumers.py   `LocalProcesses`, the Platform for the controller
roles.py       which controllers and monitors run, so that `restow down` can end them
ending.py      ends a whole group, for `restow down`

This module imports nothing: a keeper loads it too.
"""
