"""`restow reload`: has the consumers on this machine restarted, one after the other, with changed transforms."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.local_modules import local_modules
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_line
from restow.controller.roll import code_in
from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId
from restow.settings import Settings

DESCRIPTION = """\
Brings changed transforms to running consumers. The controller restarts the consumers that loaded other modules, one
after the other, so that only one consumer's partitions pause; nothing is lost or stored twice. If the new code can't be
run, the restarts stop at the first consumer, and the others continue with the code that they have loaded.

It prints which consumers are to be restarted; the controller's log has the progress. Try the code with `restow check`
first. A controller also compares the code when it starts. After a change of restow.toml itself, restart the controller.
"""

EPILOG = """\
What counts as changed: the modules that restow.toml names in `transform`, and the modules that those import, if they
are beside restow.toml or on PYTHONPATH; and the files that `schema` names. Installed packages don't count.

Pods get new transforms with their manifests: restow manifests | kubectl apply --server-side -f -
"""

PODS = (
    "the consumers of group {group} are pods; `restow manifests --config {config} | kubectl apply --server-side -f -` "
    "restarts them one after the other with the new modules"
)


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "reload", help="bring changed transforms to running consumers", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if settings.group.platform != "processes":
        raise InvalidInput(PODS.format(group=settings.group.name, config=args.config))
    from restow.platform.processes.location import directory_of
    from restow.platform.processes.reloading import request_reload

    modules = local_modules(settings, args.config, os.environ)
    for file, reason in modules.errors.items():
        raise RestowError(f"nothing is reloaded: {file} can't be imported: {reason}")
    directory = directory_of(settings)
    codes = _codes(settings, directory)
    try:
        request_reload(settings.group.name, directory)
    except OSError as error:
        raise RestowError(f"nothing is reloaded: the request can't be written in {directory}: {error}") from None
    print_line(_outcome(settings, directory, modules.digest, codes))
    return 0


def _codes(settings: Settings, directory: Path) -> dict[ConsumerId, object]:
    """The code that each consumer was started with."""
    from restow.platform.processes.supervisors import Supervisors

    consumers = Supervisors(settings.group.name, directory).consumers()
    return {consumer: code_in(local.settings) for consumer, local in consumers.items() if local.wanted}


def _outcome(settings: Settings, directory: Path, code: str | None, codes: Mapping[ConsumerId, object]) -> str:
    from restow.platform.processes.roles import running_roles

    group = settings.group.name
    what = f"code {code}" if code else "no modules of its own"
    if not codes:
        return f"nothing to restart: group {group} has no consumers here"
    outdated = [consumer for consumer, known in codes.items() if known != code]
    if not outdated:
        return f"nothing to restart: every consumer of group {group} has {what} already"
    names = f"{'consumer' if len(outdated) == 1 else 'consumers'} {', '.join(map(str, outdated))}"
    controllers = [role for role in running_roles(group, directory) if role.name == "controller"]
    if not controllers:
        return f"no controller of group {group} runs here; when one starts, it restarts {names} with {what}"
    return f"the {controllers[0]} restarts {names} with {what}, one after the other; its log has the progress"
