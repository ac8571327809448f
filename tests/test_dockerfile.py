"""The Dockerfile, checked without building it: its user, its content, and that every source file exists."""

import json
import re
from dataclasses import dataclass, field

import pytest
from tests.support.paths import ROOT

from restow.java.runtime import INSTALL
from restow.settings import Kubernetes


@dataclass
class Stage:
    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)
    """Instructions and what follows them, in order."""

    def all(self, instruction: str) -> list[str]:
        return [rest for each, rest in self.steps if each == instruction]

    @property
    def environment(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for rest in self.all("ENV") for pair in rest.split())

    @property
    def commands(self) -> list[str]:
        return [command.strip() for rest in self.all("RUN") for command in rest.split("&&")]

    @property
    def packages(self) -> list[str]:
        """The Debian packages that it installs."""
        found = [command for command in self.commands if command.startswith("apt-get install")]
        assert all("--no-install-recommends" in command for command in found)
        return [word for command in found for word in command.split()[2:] if not word.startswith("-")]


def stages() -> list[Stage]:
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    found: list[Stage] = []
    for line in text.replace("\\\n", " ").splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(base, name))
        elif found and instruction:
            found[-1].steps.append((instruction, " ".join(rest.split())))
    return found


@pytest.fixture(scope="module")
def image() -> dict[str, Stage]:
    """The stages by name; the final one is called "last"."""
    *before, last = stages()
    return {**{stage.name: stage for stage in before}, "last": last}


def test_it_has_four_stages_and_the_last_builds_on_the_first(image: dict[str, Stage]) -> None:
    assert {name: stage.base for name, stage in image.items()} == {
        "base": "${BASE}",
        "dependencies": "base",
        "build": "dependencies",
        "last": "base",
    }


def test_the_final_image_has_no_build_tools(image: dict[str, Stage]) -> None:
    assert image["base"].packages == ["ca-certificates", INSTALL.split()[-1], "python3"]
    assert image["dependencies"].packages == ["python3-pip"]
    assert image["build"].packages == []
    assert image["last"].packages == []
    installed = [command for stage in ("base", "last") for command in image[stage].commands]
    assert not [command for command in installed if re.search(r"\b(pip|gcc|make|curl|wget)\b", command)]
    assert any(command.startswith("rm -rf /var/lib/apt/lists/*") for command in image["base"].commands)


def test_it_runs_restow_as_the_user_of_pods_and_not_as_root(image: dict[str, Stage]) -> None:
    last = image["last"]
    user = Kubernetes().user_id
    assert last.all("USER") == [f"{user}:{user}"]
    assert [instruction for instruction, _ in last.steps[-4:]] == ["USER", "WORKDIR", "ENTRYPOINT", "CMD"]
    assert json.loads(last.all("ENTRYPOINT")[0]) == ["restow"]
    assert f"echo 'restow:x:{user}:{user}:restow:/tmp:/usr/sbin/nologin' >> /etc/passwd" in last.commands
    assert not [rest for rest in last.all("COPY") if "--chown" in rest]  # the process can't change its own code


def test_it_writes_to_tmp_and_finds_the_caches_that_the_build_made(image: dict[str, Stage]) -> None:
    build, last = image["build"].environment, image["last"].environment
    assert (
        {name: last[name] for name in build}
        == build
        == {
            "NUMBA_CPU_NAME": "generic",
            "RESTOW_CACHE": "/opt/restow/cache",
        }
    )
    assert (last["HOME"], last["MPLCONFIGDIR"], last["PYTHONDONTWRITEBYTECODE"]) == ("/tmp", "/tmp/matplotlib", "1")
    assert image["last"].all("WORKDIR") == ["/tmp"]


def test_every_package_is_pinned_by_hash(image: dict[str, Stage]) -> None:
    installs = [
        command for stage in image.values() for command in stage.commands if re.search(r"pip .*\binstall\b", command)
    ]
    assert len(installs) == 2
    assert "--require-hashes --requirement /build/requirements/run.txt" in installs[0]
    assert "--no-deps" in installs[1]


def test_every_copied_source_exists_and_is_in_the_build_context(image: dict[str, Stage]) -> None:
    included = [line.removeprefix("!") for line in dockerignore() if line.startswith("!")]
    copied = []
    for stage in image.values():
        for rest in stage.all("COPY"):
            *sources, _ = rest.split()
            if sources[0].startswith("--from="):
                assert sources[0].removeprefix("--from=") in image
            else:
                copied += sources
    assert sorted(copied) == sorted(included)
    assert all((ROOT / source).exists() for source in copied)


def test_nothing_else_is_in_the_build_context() -> None:
    everything, *exceptions = dockerignore()
    assert everything == "*"
    assert [line for line in exceptions if not line.startswith("!")] == ["**/__pycache__", "**/*.egg-info"]


def dockerignore() -> list[str]:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]
