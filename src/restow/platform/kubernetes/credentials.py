"""Which cluster, and as whom: the controller's own service account, or a kubeconfig.

The kinds of credentials are lightkube's: tokens, token files (read again when the cluster refuses an old one, as those
of service accounts are renewed), client certificates, user and password, and programs that print a token.
"""

import ipaddress
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG, SERVICE_ACCOUNT, KubeConfig, SingleConfig
from lightkube.config.models import NameValue, User, UserExec
from lightkube.core.exceptions import ConfigError

from restow.errors import InvalidInput
from restow.settings import Kubernetes

EXEC_V1: Final = "client.authentication.k8s.io/v1"
EXEC_KNOWN: Final = "client.authentication.k8s.io/v1beta1"
"""The newest that lightkube knows; the answers of both have the token in the same place."""


def cluster_of(settings: Kubernetes, environment: Mapping[str, str] = os.environ) -> SingleConfig:
    """Raises InvalidInput where nothing, or nothing that can be used, is found."""
    try:
        found = _config(settings, environment).get(settings.context)
    except (ConfigError, KeyError, TypeError, OSError, msgspec.MsgspecError) as error:
        raise InvalidInput(f"the credentials for Kubernetes can't be used: {_one_line(error)}") from None
    assert found is not None
    if found.user is None:
        raise InvalidInput(f"the context {found.context_name} of the kubeconfig names no user; it must name one")
    return found._replace(user=_with_current_exec(found.user))


def is_local(cluster: SingleConfig) -> bool:
    """On this machine: no proxy leads there, whatever the environment says."""
    host = urlsplit(cluster.cluster.server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _config(settings: Kubernetes, environment: Mapping[str, str]) -> KubeConfig:
    if settings.kubeconfig:
        return _from_file(settings.kubeconfig)
    if settings.context is None and "KUBERNETES_SERVICE_HOST" in environment:
        return KubeConfig.from_service_account(SERVICE_ACCOUNT)
    file = environment.get("KUBECONFIG") or DEFAULT_KUBECONFIG
    if os.pathsep in file:
        raise ConfigError("KUBECONFIG names several files; name one as [kubernetes] kubeconfig")
    return _from_file(file)


def _from_file(name: str) -> KubeConfig:
    file = Path(name).expanduser()
    return KubeConfig.from_dict(msgspec.yaml.decode(file.read_bytes(), type=dict[str, Any]), fname=file)


def _with_current_exec(user: User) -> User:
    """A program that prints a token, asked in the words of today's kubeconfigs."""
    if user.exec is None or user.exec.apiVersion != EXEC_V1:
        return user
    asked = {"apiVersion": EXEC_V1, "kind": "ExecCredential", "spec": {"interactive": False}}
    env = [*(user.exec.env or []), NameValue("KUBERNETES_EXEC_INFO", json.dumps(asked))]
    program = UserExec(EXEC_KNOWN, user.exec.command, env=env, args=user.exec.args)
    return msgspec.structs.replace(user, exec=program)


def _one_line(error: Exception) -> str:
    words = f"it has no '{error.args[0]}'" if isinstance(error, KeyError) else str(error)
    return " ".join(words.split())
