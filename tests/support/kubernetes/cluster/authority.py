"""Certificates and tokens of one cluster, made when it starts and removed with it. Used by `control_plane.py`."""

import json
import secrets
import subprocess
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from restow.errors import RestowError
from restow.kafka.embedded.ports import LOOPBACK


@dataclass(frozen=True, slots=True)
class Certificate:
    certificate: Path
    key: Path


class Authority:
    """Signs the certificates of one cluster's servers, and the API server's own as their client."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self.root = self._make("root", "/CN=restow-test", "-addext", "basicConstraints=critical,CA:TRUE")

    def certificate(self, name: str, group: str = "") -> Certificate:
        """For a server on the loopback interface, and for a client of that name and group."""
        subject = f"/O={group}/CN={name}" if group else f"/CN={name}"
        signed = ("-CA", str(self.root.certificate), "-CAkey", str(self.root.key))
        hosts = f"subjectAltName=IP:{LOOPBACK},DNS:localhost,DNS:{name}"
        usage = "extendedKeyUsage=serverAuth,clientAuth"
        return self._make(name, subject, *signed, "-addext", hosts, "-addext", usage)

    def _make(self, name: str, subject: str, *options: str) -> Certificate:
        made = Certificate(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", str(made.key))
        _openssl("req", "-x509", "-days", "2", "-subj", subject, *key, "-out", str(made.certificate), *options)
        return made


def _openssl(*arguments: str) -> None:
    answer = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RestowError(f"openssl {arguments[0]} failed: {answer.stderr.strip()}")


@dataclass(frozen=True, slots=True)
class User:
    """A user that the API server knows by a token."""

    name: str
    groups: tuple[str, ...] = ()


def write_tokens(path: Path, users: tuple[User, ...]) -> dict[User, str]:
    """A token for each user, as the API server reads them (--token-auth-file)."""
    tokens = {user: secrets.token_urlsafe(24) for user in users}
    _write_private(
        path, "".join(f'{token},{user.name},{user.name},"{",".join(user.groups)}"\n' for user, token in tokens.items())
    )
    return tokens


def write_kubeconfig(path: Path, server: str, root: Path, token: str, namespace: str = "default") -> Path:
    """Everything in one file, as JSON, which YAML allows."""
    cluster = {"server": server, "certificate-authority-data": b64encode(root.read_bytes()).decode()}
    context = {"cluster": "test", "user": "test", "namespace": namespace}
    _write_private(
        path,
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "test", "cluster": cluster}],
                "users": [{"name": "test", "user": {"token": token}}],
                "contexts": [{"name": "test", "context": context}],
                "current-context": "test",
            },
            indent=2,
        ),
    )
    return path


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
