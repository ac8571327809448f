"""`restow manifests`: prints everything that a person applies to run the group of a restow.toml on Kubernetes."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from restow.cli.support.config import add_config, text_of
from restow.cli.support.modules_beside import modules_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import note
from restow.errors import InvalidInput
from restow.settings import Settings, read_settings
from restow.settings.exposure import check_no_secret, variables

CONFIG: Final = "restow.toml"
LARGEST_BYTES: Final = 1_000_000
"""What a ConfigMap takes is a little more."""

DESCRIPTION = """\
Prints, as YAML, everything that runs the group of a restow.toml on Kubernetes: a namespace, service accounts, the
controller's Role with what it calls and nothing else, a ConfigMap, the Deployments of the monitor and the controller.
The controller makes the consumers. Above it stand, as comments, how to apply it and which rights Kafka must give.

  restow manifests | kubectl apply --server-side -f -

The same restow.toml gives the same text on every machine. Applied again after a change, the monitor and the controller
are restarted with it, and the controller sees to the consumers, one after the other.
"""

EPILOG = """\
restow.toml:
  [group]
  name = "lake"
  platform = "kubernetes"
  [consumer]
  image = "registry.example/restow:0.1.0"   made with the Dockerfile; all roles run it
  [kubernetes]
  namespace = "lake"                        left out: the group's name
  service_account = "lake-consumer"         what consumers run as; left out: the namespace's default

It goes into the ConfigMap as it is, with the modules of its transforms that lie beside it (NAME.py; packages belong in
the image). So no secret may stand in it: refer to one, and give pods the variable from a Secret:
  [kafka]
  sasl.password = "${KAFKA_PASSWORD}"
  [[kubernetes.pod.spec.containers]]
  name = "consumer"                         for the monitor and the controller too
  envFrom = [{ secretRef = { name = "kafka" } }]
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "manifests", help="print what runs a group on Kubernetes", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    file: Path = args.config
    text = text_of(file)
    settings = settings_in(text, str(file), os.environ)
    check(settings, text, str(file))
    modules = modules_of(settings, file.absolute().parent)
    files = {**modules.beside, CONFIG: text}
    if sum(len(name) + len(content.encode()) for name, content in files.items()) > LARGEST_BYTES:
        largest = max(files, key=lambda name: len(files[name]))
        raise InvalidInput(
            f"{largest} and what lies beside it is too much for a ConfigMap (1 MB); put modules in the image"
        )
    from restow.platform.kubernetes.manifest_header import check_provided, header
    from restow.platform.kubernetes.manifests import as_yaml, documents

    names = variables(text)
    check_provided(settings, str(file), names)
    sys.stdout.write(as_yaml(documents(settings, files), header(settings, file.name, names, modules.elsewhere)))
    for name, service in settings.consume.items():
        if service.table and "://" not in service.table and not Path(service.table).is_absolute():
            note(
                f'[consume.{name}] table = "{service.table}" is a place in each consumer\'s own container; name a store'
            )
    return 0


class Standing(dict[str, str]):
    """An environment in which a variable that isn't set stands for its own name: who prints needs to know no secret."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"${{{name}}}"


def settings_in(text: str, file: str, environment: Mapping[str, str]) -> Settings:
    try:
        return read_settings(text, file, Standing(environment))
    except InvalidInput as error:
        if "${" not in str(error):
            raise
        raise InvalidInput(f"{error}; set the variable here too, or write its value out") from None


def check(settings: Settings, text: str, file: str) -> None:
    """What would not work in a pod, or would show what nobody should see."""
    if settings.group.platform != "kubernetes":
        raise InvalidInput(
            f'{file}: [group] platform = "{settings.group.platform}" has no manifests; write platform = "kubernetes"'
        )
    if not settings.consume:
        raise InvalidInput(f"{file}: there is nothing to consume; write a table [consume.TOPIC] for each topic")
    for key, value in (("kubeconfig", settings.kubernetes.kubeconfig), ("context", settings.kubernetes.context)):
        if value is not None:
            raise InvalidInput(
                f"{file}: [kubernetes] {key} is for a controller that runs outside; the one in the cluster has its own "
                "credentials: leave it out"
            )
    if settings.consumer.image is not None and "${" in settings.consumer.image:
        raise InvalidInput(
            f'{file}: [consumer] image = "{settings.consumer.image}" can\'t be used; write the image out'
        )
    check_no_secret(text, file)
