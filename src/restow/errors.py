"""The few errors of restow. Each message is one line that says where, what, and what would be right.

    RestowError            anything a person can act on; the CLI prints it and exits with its `exit_code`
    └── InvalidInput       what a person wrote (a file, an option, a setting) can't be used; exit code 2

A bug is never one of these: bugs are assertions and keep their traceback.
"""


class RestowError(Exception):
    """Something a person can act on. The message says how."""

    exit_code = 1


class InvalidInput(RestowError):
    """What a person wrote can't be used. The message names the place, the value and what would be right."""

    exit_code = 2
