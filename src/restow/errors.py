"""The base of restow's errors. Each message is one line: where, what, and what would be right.

    RestowError            something the user can act on; the CLI prints it and exits with its `exit_code`
    └── InvalidInput       invalid input: a file, an option, a setting, a record; exit code 2

Bugs are none of these: they are assertions and keep their traceback.
"""


class RestowError(Exception):
    """An error that the user can act on. The message says how."""

    exit_code = 1


class InvalidInput(RestowError):
    """Invalid input. The message names the place, the value and what would be right."""

    exit_code = 2
