"""Consumers as processes on this machine: the embedded default. They outlive the controller; the next one finds them.

Why supervisors. A consumer that crashes must be restarted, and a consumer that is being deleted must be ended, even
while no controller runs; and a controller may die at any instruction. So each consumer has a small process above it,
its *supervisor*, and the controller never starts, watches or ends a consumer itself. The controller writes the desired
state to disk, atomically, and the supervisor makes it so:

    controller ── wish.json ──> supervisor ── starts, restarts, ends ──> consumer and all processes it starts
               <── status.json ──

Whenever the controller dies, the disk holds either the old desired state or the new one, each complete. A consumer may
be left without a supervisor: the controller died before starting it, the supervisor was killed, or the machine
rebooted. The next controller that looks starts one (`Supervisors.repair`). If the platform object restarted consumers
itself, then without a controller a crashed consumer would stay down, and a consumer that ignores SIGTERM would stay up.

linux.py         processes identified by pid, start time and boot id; signals that can't hit a reused pid
files.py         a consumer's directory on disk: desired state and status
supervisor.py    the supervisor process: standard library and the modules here only, little memory
children.py      what a supervisor does to the processes below it: start, find, end
logs.py          log files of bounded size
spawning.py      starts supervisors
supervisors.py   the controller's side: writes desired state, starts supervisors, removes what is gone
platform.py      `LocalProcesses`, the Platform for the controller
location.py      finds the directory of a group's processes, relative to restow.toml
identity.py      the platform's identity: the machine and the directory
controllers.py   locks of controllers, by which the next one knows that a controller is dead
roles.py         which controllers and monitors run, so that `restow down` can end them
sole_up.py       at most one `restow up` for a group, and what a killed one left
reloading.py     asks the controller to read the transforms' modules again, for `restow reload`
ending.py        ends a whole group, for `restow down`

This module imports nothing: a supervisor loads it too.
"""
