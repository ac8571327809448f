"""Which cluster, and with which credentials: the pod's service account, or a kubeconfig.

lightkube supports tokens, token files (read again when the cluster rejects an old token: those of service accounts
are rotated), client certificates, user and password, and programs that print a token.
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
"""The newest version that lightkube knows; both have the token in the same place of their answer."""


def cluster_of(settings: Kubernetes, environment: Mapping[str, str] = os.environ) -> SingleConfig:
    """Raises InvalidInput if there are no usable credentials."""
    try:
        found = _config(settings, environment).get(settings.context)
    except (ConfigError, KeyError, TypeError, OSError, msgspec.MsgspecError) as error:
        raise InvalidInput(f"the credentials for Kubernetes can't be used: {_one_line(error)}") from None
    assert found is not None
    if found.user is None:
        raise InvalidInput(f"the context {found.context_name} of the kubeconfig names no user; it must name one")
    return found._replace(user=_with_current_exec(found.user))


def is_local(cluster: SingleConfig) -> bool:
    """Whether the API server is on this machine; then proxy settings of the environment don't apply."""
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
    """Runs a token program of version v1, which lightkube doesn't know, as v1beta1."""
    if user.exec is None or user.exec.apiVersion != EXEC_V1:
        return user
    info = {"apiVersion": EXEC_V1, "kind": "ExecCredential", "spec": {"interactive": False}}
    env = [*(user.exec.env or []), NameValue("KUBERNETES_EXEC_INFO", json.dumps(info))]
    program = UserExec(EXEC_KNOWN, user.exec.command, env=env, args=user.exec.args)
    return msgspec.structs.replace(user, exec=program)


def _one_line(error: Exception) -> str:
    reason = f"it has no '{error.args[0]}'" if isinstance(error, KeyError) else str(error)
    return " ".join(reason.split())
