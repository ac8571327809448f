"""`restow manifests`: prints the Kubernetes objects that run the group of a restow.toml."""

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
from restow.settings.paths import is_relative, relative_paths

CONFIG: Final = "restow.toml"
LARGEST_BYTES: Final = 1_000_000
"""Kubernetes refuses a ConfigMap above 1 MiB."""

DESCRIPTION = """\
Prints, as YAML, everything that runs the group of a restow.toml on Kubernetes: a namespace, service accounts, a Role
with exactly what the controller calls, a ConfigMap, the volume claim of the event log, the Deployments of monitor,
controller and page, and Services for the page and for Prometheus. The controller creates the consumers. Comments at the
top say how to apply it and which rights Kafka must grant.

  restow manifests | kubectl apply --server-side -f -

The same restow.toml gives the same text on every machine. Apply it again after a change: Kubernetes restarts the
monitor and the controller, and the controller restarts the consumers one after the other.
"""

EPILOG = """\
restow.toml:
  [group]
  name = "lake"
  platform = "kubernetes"
  [consumer]
  image = "registry.example/restow:0.1.0"   built with the Dockerfile; all roles run it
  [kubernetes]
  namespace = "lake"                        default: the group's name
  service_account = "lake-consumer"         of the consumers; default: the namespace's default account

restow.toml goes into the ConfigMap as it is, with the modules of its transforms that are beside it (NAME.py; packages
belong in the image). It must not contain secrets. Refer to a variable instead, and set it from a Secret:
  [kafka]
  sasl.password = "${KAFKA_PASSWORD}"
  [[kubernetes.pod.spec.containers]]
  name = "consumer"                         applies to the monitor and the controller too
  envFrom = [{ secretRef = { name = "kafka" } }]
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "manifests", help="print the Kubernetes objects of a group", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--pod-monitor",
        action="store_true",
        help="also print a PodMonitor, by which the Prometheus operator finds the pods",
    )
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
            f"{largest} and the files beside it are too large for a ConfigMap (1 MB); put modules in the image"
        )
    from restow.platform.kubernetes import names
    from restow.platform.kubernetes.manifest_header import check_provided, header
    from restow.platform.kubernetes.manifests import as_yaml, documents

    found = variables(text)
    check_provided(settings, str(file), found)
    above = header(settings, file.name, found, modules.elsewhere)
    sys.stdout.write(as_yaml(documents(settings, files, args.pod_monitor), above))
    for table, properties in (("kafka", settings.kafka.properties), ("spark", settings.spark.properties)):
        for key, value in properties.written.items():
            if relative_paths(key, value):
                note(
                    f'[{table}] {key} = "{value}" is relative to restow.toml, which is in {names.CONFIG} in pods; put '
                    "the file there, or mount a volume with it and write its absolute path"
                )
    return 0


class Placeholders(dict[str, str]):
    """An environment where an unset variable stands for its own name, so that printing manifests takes no secrets."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return f"${{{name}}}"


def settings_in(text: str, file: str, environment: Mapping[str, str]) -> Settings:
    try:
        return read_settings(text, file, Placeholders(environment))
    except InvalidInput as error:
        if "${" not in str(error):
            raise
        raise InvalidInput(f"{error}; set the variable here too, or write its value out") from None


def check(settings: Settings, text: str, file: str) -> None:
    """Refuses settings that would not work in a pod, or would publish a secret."""
    if settings.group.platform != "kubernetes":
        raise InvalidInput(
            f'{file}: [group] platform = "{settings.group.platform}" has no manifests; write platform = "kubernetes"'
        )
    if not settings.consume:
        raise InvalidInput(f"{file}: there is nothing to consume; write a table [consume.TOPIC] for each topic")
    for key, value in (("kubeconfig", settings.kubernetes.kubeconfig), ("context", settings.kubernetes.context)):
        if value is not None:
            raise InvalidInput(
                f"{file}: [kubernetes] {key} is for a controller outside the cluster; one in a pod has its own "
                "credentials: leave it out"
            )
    if settings.consumer.image is not None and "${" in settings.consumer.image:
        raise InvalidInput(
            f'{file}: [consumer] image = "{settings.consumer.image}" can\'t be used; write the image out'
        )
    for name, service in settings.consume.items():
        if service.table and is_relative(service.table):
            raise InvalidInput(
                f'{file}: [consume.{name}] table = "{service.table}" is relative to restow.toml, and pods can\'t write '
                "there; name a store, like s3://lake/orders, or the absolute path of a volume that [kubernetes.pod] "
                "mounts"
            )
    check_no_secret(text, file)
