"""A real control plane: etcd, kube-apiserver with RBAC, kube-controller-manager, kube-scheduler, on loopback.

    with ControlPlane() as control_plane:
        control_plane.admin("some-namespace").list(Pod)

Everything is in one temporary directory, certificates and tokens included, which is removed at the end. However its
owner ends, no process is left (restow's lifeline.py). `conftest.py` starts one for each process that runs tests.
"""

import os
import shutil
import ssl
import tempfile
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from httpx2 import Timeout
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.authentication_v1 import TokenRequestSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import (
    ConfigMap,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    ServiceAccount,
    ServiceAccountToken,
)
from lightkube.resources.storage_v1 import StorageClass
from tests.support.kubernetes.cluster import commands
from tests.support.kubernetes.cluster.authority import Authority, User, write_kubeconfig, write_tokens
from tests.support.kubernetes.cluster.programs import Program

from restow.kafka.embedded.ports import choose_ports

ADMIN = User("admin", ("system:masters",))
CONTROLLERS = User("system:kube-controller-manager")
SCHEDULER = User("system:kube-scheduler")
NODE_NAME = "localhost"
NODE = User(f"system:node:{NODE_NAME}", ("system:nodes",))

STORAGE_CLASS = "host-path"
ANSWER_WITHIN_S = 60.0


class ControlPlane:
    def __init__(self, hyperkube: Path, etcd: str) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="restow-kubernetes-"))
        self._home.chmod(0o711)  # the controllers run as another user and must pass; private files have their own modes
        self.lifeline = os.pipe()
        self.place = self._make_place(hyperkube, etcd)
        self._tokens = write_tokens(self.place.tokens, (ADMIN, CONTROLLERS, SCHEDULER, NODE))
        self.kubeconfig = self.kubeconfig_of(ADMIN)
        self._clients: list[Client] = []
        self._etcd = self.program("etcd", commands.etcd(self.place))
        self._api_server = self.program("kube-apiserver", commands.api_server(self.place))
        controllers = commands.controller_manager(self.place, self._chown(self.kubeconfig_of(CONTROLLERS)))
        self._controllers = self.program("kube-controller-manager", controllers)
        scheduler = commands.scheduler(self.place, self.kubeconfig_of(SCHEDULER))
        self._scheduler = self.program("kube-scheduler", scheduler)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when the API server is ready; the controllers and the scheduler may take a moment longer."""
        self._etcd.start()
        self.start_api_server()
        for program in (self._controllers, self._scheduler):
            program.start()
        self._make_storage_class()

    def stop(self) -> None:
        """Kills all programs and removes all files."""
        if os.geteuid() != 0 and self._api_server.is_running:
            self._remove_volumes()
        for client in self._clients:
            client.close()
        for program in (self._scheduler, self._controllers, self._api_server, self._etcd):
            program.kill()
        for end in self.lifeline:
            os.close(end)
        shutil.rmtree(self._home, ignore_errors=True)

    # Faults.

    def stop_api_server(self) -> None:
        """Cuts every connection to it. Nodes and their pods keep running."""
        self._api_server.kill()

    def start_api_server(self) -> None:
        """At the same address, with the same objects. Watches can't be resumed: the server has lost its history and
        answers older versions with 410."""
        self._api_server.start()
        self._api_server.wait_until(self._is_ready, "ready")

    def restart_api_server(self) -> None:
        self.stop_api_server()
        self.start_api_server()

    def mend(self) -> None:
        """Starts the API server again if a test left it stopped."""
        if not self._api_server.is_running:
            self.start_api_server()

    # Clients.

    def admin(self, namespace: str = "default") -> Client:
        """May do anything. Closed at the cluster's end, if not before."""
        return self.client(self.kubeconfig, namespace)

    def client(self, kubeconfig: Path, namespace: str = "default") -> Client:
        client = Client(KubeConfig.from_file(kubeconfig), namespace, timeout=Timeout(ANSWER_WITHIN_S), trust_env=False)
        self._clients.append(client)
        return client

    def kubeconfig_of(self, user: User) -> Path:
        name = user.name.replace(":", "-")
        return self._write_kubeconfig(name, self._tokens[user], "default")

    def service_account(self, name: str, namespace: str) -> Path:
        """A kubeconfig with a service account's token, valid for an hour."""
        request = TokenRequestSpec(audiences=[], expirationSeconds=3600)
        with self.admin(namespace) as client:
            answer = client.create(ServiceAccountToken(metadata=ObjectMeta(), spec=request), name)
        assert answer.status is not None
        assert answer.status.token is not None
        return self._write_kubeconfig(f"{namespace}-{name}", answer.status.token, namespace)

    # Namespaces and volumes.

    def make_namespace(self, name: str) -> None:
        """Returns when pods can be created in it."""
        with self.admin(name) as client:
            client.create(Namespace(metadata=ObjectMeta(name=name)))
            self._controllers.wait_until(lambda: _exists(client, ServiceAccount, "default"), "making service accounts")
            self._controllers.wait_until(lambda: _exists(client, ConfigMap, "kube-root-ca.crt"), "handing out its root")

    def delete_namespace(self, name: str) -> None:
        """With everything in it. Does not wait."""
        with self.admin() as client:
            client.delete(Namespace, name)

    def volume(self, claim: str, namespace: str) -> Path:
        """The directory on this machine behind a bound claim."""
        with self.admin(namespace) as client:
            found = client.get(PersistentVolumeClaim, claim)
            assert found.spec is not None
            assert found.spec.volumeName, f"the claim {claim} is not bound"
            volume = client.get(PersistentVolume, found.spec.volumeName)
        assert volume.spec is not None
        assert volume.spec.hostPath is not None
        path = Path(volume.spec.hostPath.path)
        return self.place.volumes / path.name if os.geteuid() == 0 else path

    # Programs.

    def program(self, name: str, command: tuple[str, ...]) -> Program:
        """A program that ends when this cluster's owner does."""
        return Program(name, command, self._home, self.lifeline[0])

    def check(self) -> None:
        """Raises RestowError if a program has ended."""
        for program in (self._etcd, self._api_server, self._controllers, self._scheduler):
            program.check()

    @property
    def logs(self) -> tuple[Path, ...]:
        return tuple(sorted(self._home.glob("*.log")))

    def _make_place(self, hyperkube: Path, etcd: str) -> commands.Place:
        authority = Authority(self._home / "authority")
        api_port, etcd_port, peer_port = choose_ports(3)
        place = commands.Place(
            home=self._home,
            hyperkube=hyperkube,
            etcd=etcd,
            api_port=api_port,
            etcd_port=etcd_port,
            peer_port=peer_port,
            authority=authority,
            server=authority.certificate("localhost"),
            client=authority.certificate("kube-apiserver", "system:masters"),
            signer=authority.certificate("service-accounts"),
        )
        self._chown(place.signer.key)
        place.volumes.mkdir()
        self._chown(place.volumes)
        with suppress(FileExistsError):
            commands.VOLUMES.mkdir()
            commands.VOLUMES.chmod(0o1777)  # like /tmp itself: all host-path provisioners share it
        return place

    def _chown(self, path: Path) -> Path:
        """Gives a file to the user that the controllers run as."""
        if os.geteuid() == 0:
            os.chown(path, commands.CONSUMER_USER, commands.CONSUMER_USER)
        return path

    def _write_kubeconfig(self, name: str, token: str, namespace: str) -> Path:
        path = self._home / f"{name}.kubeconfig"
        return write_kubeconfig(path, self.place.api, self.place.authority.root.certificate, token, namespace)

    def _make_storage_class(self) -> None:
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        with self.admin() as client:
            client.create(
                StorageClass(
                    provisioner="kubernetes.io/host-path",
                    metadata=ObjectMeta(name=STORAGE_CLASS, annotations=default),
                    reclaimPolicy="Delete",
                    volumeBindingMode="Immediate",
                )
            )

    def _remove_volumes(self) -> None:
        """Those outside the cluster's own directory."""
        with self.admin() as client:
            for volume in client.list(PersistentVolume):
                if volume.spec is not None and volume.spec.hostPath is not None:
                    shutil.rmtree(volume.spec.hostPath.path, ignore_errors=True)

    def _is_ready(self) -> bool:
        request = urllib.request.Request(
            f"{self.place.api}/readyz", headers={"Authorization": f"Bearer {self._tokens[ADMIN]}"}
        )
        context = ssl.create_default_context(cafile=str(self.place.authority.root.certificate))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(request, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _exists(client: Client, kind: type[ServiceAccount] | type[ConfigMap], name: str) -> bool:
    try:
        client.get(kind, name)
    except ApiError as error:
        if error.status.code != 404:
            raise
        return False
    return True
