"""The import check: imports point one way, packages form no cycle, edge libraries stay at their edge, pure modules stay
pure, and each package's docstring names its modules.

The rules are the tables below; a new module, library or harmless standard module is one line in one of them.
A rule that ends in `.*` covers a package and everything in it, any other rule one module; the longest rule wins.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.import_graph import (
    Import,
    all_imports,
    imports_of,
    modules,
    package_cycles,
    undocumented_members,
)


@dataclass(frozen=True)
class Layer:
    name: str
    modules: tuple[str, ...]
    pure: bool = False


LAYERS = (  # from the ground up: a module imports only from its own layer and from those before it in this list
    Layer("compiler", ("restow.packing.compiler",)),  # reads the sources of what it compiles
    Layer(
        "model",
        ("restow", "restow.errors", "restow.model", "restow.text", "restow.backoff", "restow.frozen"),
        pure=True,
    ),
    Layer("durable", ("restow.durable", "restow.clock")),
    Layer(
        "machines",
        (
            *("restow.packing.*", "restow.protocol.*", "restow.settings.*", "restow.platform.*"),
            *("restow.monitor.*", "restow.controller.*", "restow.consumer.*", "restow.picture.*"),
            "restow.metrics.*",
            *("restow.starter.*", "restow.rivals.*", "restow.advice.*"),
        ),
        pure=True,
    ),
    Layer("studies", ("restow.study.*", "restow.simulator.*")),
    Layer(
        "edges",
        (
            *("restow.java.*", "restow.kafka.*", "restow.pipeline.*"),
            *("restow.platform.processes.*", "restow.platform.kubernetes.*"),
            *("restow.metrics.board", "restow.metrics.collector", "restow.metrics.server", "restow.metrics.targets"),
            *("restow.lifeline", "restow.health", "restow.logs", "restow.waiting", "restow.scratch"),
            "restow.loopback",
        ),
    ),
    Layer(
        "processes",
        (
            *("restow.roles.*", "restow.page.*", "restow.demo.*", "restow.study.monitor_live"),
            *("restow.throughput.*", "restow.handover.*"),
            *("restow.controller.journal", "restow.controller.segments", "restow.controller.history"),  # files
            "restow.consumer.volume",
        ),
    ),
    Layer("cli", ("restow.cli.*", "restow.__main__")),
)

LIBRARIES = {  # the libraries of restow, and where each may be imported
    "confluent_kafka": ("restow.kafka.*",),
    "deltalake": ("restow.pipeline.*",),
    "duckdb": ("restow.pipeline.*",),
    "google": ("restow.pipeline.*",),  # google.protobuf
    "httpx2": ("restow.platform.kubernetes.*",),
    "kafka": ("restow.kafka.*",),
    "lightkube": ("restow.platform.kubernetes.*",),
    "matplotlib": ("restow.study.*",),
    "msgspec": ("restow.platform.kubernetes.*", "restow.protocol.*"),
    "numba": ("restow.packing.compiler",),
    "numpy": ("restow.packing.*", "restow.monitor.*", "restow.study.*", "restow.simulator.*"),
    "polars": ("restow.throughput.loop",),  # a peer that restow is measured against
    "prometheus_client": ("restow.metrics.*",),
    "py4j": ("restow.pipeline.*",),
    # Structured Streaming, a peer that restow is measured against, and the transform of both.
    "pyspark": (
        *("restow.pipeline.*", "restow.demo.shop"),
        *("restow.throughput.streaming", "restow.throughput.transform", "restow.handover.spark_transform"),
    ),
    "obstore": ("restow.pipeline.delta.objects",),
    "pyarrow": ("restow.pipeline.*",),
    "rich": ("restow.cli.*",),
    "starlette": ("restow.page.*",),
    "uvicorn": ("restow.page.*",),
    "yaml": ("restow.platform.kubernetes.*",),
}

PURE_STANDARD_MODULES = frozenset(  # they read no clock, no random source, no file, no environment, and write no log
    [
        "abc",
        "array",
        "ast",
        "base64",
        "binascii",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "decimal",
        "difflib",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "itertools",
        "json",
        "keyword",
        "math",
        "numbers",
        "operator",
        "re",
        "statistics",
        "string",
        "struct",
        "textwrap",
        "tomllib",
        "types",
        "typing",
        "unicodedata",
        "zlib",
    ]
)
IMPURE_MEMBERS = {"numpy.random": "a random source", "numpy.load": "a file", "numpy.save": "a file"}
IMPURE_CALLS = ("__import__", "breakpoint", "eval", "exec", "input", "open", "print")


def covers(rule: str, module: str) -> bool:
    package = rule.removesuffix(".*")
    return module == package or (rule != package and module.startswith(f"{package}."))


def height_of(module: str) -> int | None:
    """The layer of a module, counted from the ground. A name in a module has the module's layer. The longest rule wins,
    so that one module may be in another layer than the rest of its package."""
    for name in (module, module.rpartition(".")[0]):
        rules = [
            (rule.removesuffix(".*"), height)
            for height, layer in enumerate(LAYERS)
            for rule in layer.modules
            if covers(rule, name)
        ]
        if rules:
            return max(rules, key=lambda rule: len(rule[0]))[1]
    return None


def is_placed(module: str) -> bool:
    return any(covers(rule, module) for layer in LAYERS for rule in layer.modules)


def import_breach(module: str, imported: str) -> str | None:
    height = height_of(module)
    assert height is not None
    layer, top = LAYERS[height], imported.partition(".")[0]
    if top == "restow":
        target = height_of(imported)
        if target is not None and target > height:
            return f"imports {imported}, which is above it: {layer.name} must not import {LAYERS[target].name}"
    elif top in sys.stdlib_module_names:
        if layer.pure and top not in PURE_STANDARD_MODULES:
            return (
                f"imports {top}, but the layer {layer.name} is pure; if {top} reads no clock, no random source, no "
                "file and no environment, and writes no log, add it to PURE_STANDARD_MODULES in tests/test_imports.py"
            )
    elif top not in LIBRARIES:
        return f"imports {top}, which is no library of restow; add it to LIBRARIES in tests/test_imports.py if it is"
    elif not any(covers(rule, module) for rule in LIBRARIES[top]):
        return f"imports {top}, which belongs in {' and '.join(LIBRARIES[top])} alone"
    return None


def impurities_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    full_names = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            yield node.lineno, f"calls {node.func.id}(), but it is pure"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            member = f"{full_names.get(node.value.id, '')}.{node.attr}"
            if member in IMPURE_MEMBERS:
                yield node.lineno, f"uses {member}, {IMPURE_MEMBERS[member]}, but it is pure"
    for _, lineno, imported in imports_of(tree, "", is_package=False):
        for member, what in IMPURE_MEMBERS.items():
            if imported == member or imported.startswith(f"{member}."):
                yield lineno, f"imports {imported}, {what}, but it is pure"


def breaches(module: str, source: str, is_package: bool = False) -> list[str]:
    """The rules that a module breaks, one line each."""
    if not is_placed(module):
        return [f"{module} is in no layer; add it to one in LAYERS in tests/test_imports.py"]
    tree = ast.parse(source)
    found = [
        (lineno, breach)
        for _, lineno, imported in imports_of(tree, module, is_package)
        if (breach := import_breach(module, imported))
    ]
    if LAYERS[height_of(module) or 0].pure:
        found += impurities_of(tree)
    return [f"{module}:{lineno} {breach}" for lineno, breach in sorted(found)]


@pytest.mark.parametrize(("module", "path"), modules(), ids=[module for module, _ in modules()])
def test_every_module_keeps_the_rules(module: str, path: Path) -> None:
    assert breaches(module, path.read_text(), is_package=path.name == "__init__.py") == []


def test_the_check_reads_the_real_modules() -> None:
    assert {"restow", "restow.model", "restow.packing", "restow.packing.plan", "restow.cli.main"} <= dict(
        modules()
    ).keys()


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("restow.packing.ours", "import numpy\nfrom restow.packing.compiler import compiler"),
        ("restow.packing.plan", "from . import problem\nfrom .problem import Problem\nfrom ..model import Speeds"),
        ("restow.study.latency", "import random, os\nopen('x')\nfrom restow import packing, __version__"),
        ("restow.simulator.world", "from restow.controller import machine\nimport random"),
        ("restow.platform.kubernetes", "import lightkube.models"),
        ("restow.platform.kubernetes.client", "from lightkube import Client"),
        ("restow.kafka.clients", "from confluent_kafka import Consumer\nimport logging"),
        ("restow.pipeline.spark.session", "from pyspark.sql import SparkSession"),
        ("restow.roles.controller", "from restow.controller.machine import step\nfrom restow.kafka import clients"),
        ("restow.cli.main", "from restow.controller import process\nimport rich.table\nprint('x')"),
    ],
)
def test_what_keeps_the_rules_passes(module: str, source: str) -> None:
    assert breaches(module, source) == []


def breach_of(module: str, source: str) -> str:
    [breach] = breaches(module, source)
    return breach


@pytest.mark.parametrize(
    ("module", "source", "imported", "layers"),
    [
        ("restow.model", "from restow.packing import PackingPlan", "restow.packing.PackingPlan", ("model", "machines")),
        ("restow.errors", "import restow.cli", "restow.cli", ("model", "cli")),
        ("restow.packing.plan", "from ..study import latency", "restow.study.latency", ("machines", "studies")),
        ("restow.packing.plan", "from restow import study", "restow.study", ("machines", "studies")),
        (
            "restow.controller.machine",
            "from restow.roles.controller import run",
            "restow.roles.controller.run",
            ("machines", "processes"),
        ),
        ("restow.simulator.world", "from restow.kafka import clients", "restow.kafka.clients", ("studies", "edges")),
        ("restow.kafka.admin", "import restow.roles.monitor", "restow.roles.monitor", ("edges", "processes")),
        ("restow.roles.consumer", "from restow.cli.main import main", "restow.cli.main.main", ("processes", "cli")),
    ],
)
def test_an_upward_import_is_a_breach(module: str, source: str, imported: str, layers: tuple[str, str]) -> None:
    low, high = layers
    assert breach_of(module, source) == (
        f"{module}:1 imports {imported}, which is above it: {low} must not import {high}"
    )


def test_an_upward_import_hidden_in_a_function_or_behind_type_checking_is_a_breach() -> None:
    hidden = "def f():\n    from restow import cli\nif TYPE_CHECKING:\n    import restow.kafka"
    assert breaches("restow.packing.plan", hidden) == [
        "restow.packing.plan:2 imports restow.cli, which is above it: machines must not import cli",
        "restow.packing.plan:4 imports restow.kafka, which is above it: machines must not import edges",
    ]


@pytest.mark.parametrize("module", ["restow.new", "restow.new.part", "restow.modelling"])
def test_a_module_in_no_layer_is_a_breach(module: str) -> None:
    assert breach_of(module, "") == f"{module} is in no layer; add it to one in LAYERS in tests/test_imports.py"


@pytest.mark.parametrize(
    ("module", "library", "home"),
    [
        (
            "restow.roles.consumer",
            "pyspark",
            (
                "restow.pipeline.* and restow.demo.shop and restow.throughput.streaming and "
                "restow.throughput.transform and restow.handover.spark_transform"
            ),
        ),
        ("restow.roles.controller", "confluent_kafka", "restow.kafka.*"),
        ("restow.roles.monitor", "kafka", "restow.kafka.*"),
        ("restow.platform.processes", "httpx2", "restow.platform.kubernetes.*"),
        ("restow.controller.machine", "lightkube", "restow.platform.kubernetes.*"),
        ("restow.packing.plan", "matplotlib", "restow.study.*"),
        ("restow.study.latency", "rich", "restow.cli.*"),
        ("restow.study.latency", "numba", "restow.packing.compiler"),
        ("restow.model", "numpy", "restow.packing.* and restow.monitor.* and restow.study.* and restow.simulator.*"),
    ],
)
def test_an_edge_library_away_from_its_edge_is_a_breach(module: str, library: str, home: str) -> None:
    assert breach_of(module, f"import {library}") == f"{module}:1 imports {library}, which belongs in {home} alone"


def test_an_unknown_library_is_a_breach() -> None:
    assert breach_of("restow.cli.main", "import requests") == (
        "restow.cli.main:1 imports requests, which is no library of restow; "
        "add it to LIBRARIES in tests/test_imports.py if it is"
    )


@pytest.mark.parametrize("module", ["restow.model", "restow.packing.plan", "restow.controller.machine"])
@pytest.mark.parametrize(
    "standard",
    [
        "time",
        "datetime",
        "random",
        "secrets",
        "os",
        "pathlib",
        "io",
        "logging",
        "subprocess",
        "socket",
        "threading",
        "asyncio",
        "sys",
        "tempfile",
        "uuid",
    ],
)
def test_a_pure_module_must_not_import_what_reaches_the_world(module: str, standard: str) -> None:
    layer = "model" if module == "restow.model" else "machines"
    expected = f"{module}:1 imports {standard}, but the layer {layer} is pure; if {standard} reads no clock"
    assert breach_of(module, f"import {standard}").startswith(expected)
    assert breach_of(module, f"from {standard} import anything").startswith(expected)


@pytest.mark.parametrize("call", IMPURE_CALLS)
def test_a_pure_module_must_not_call_what_reaches_the_world(call: str) -> None:
    assert (
        breach_of("restow.packing.plan", f"x = {call}('x')") == f"restow.packing.plan:1 calls {call}(), but it is pure"
    )


@pytest.mark.parametrize(
    ("source", "breach"),
    [
        ("import numpy as np\nnp.random.default_rng()", "2 uses numpy.random, a random source, but it is pure"),
        ("from numpy import random", "1 imports numpy.random, a random source, but it is pure"),
        ("from numpy.random import rand", "1 imports numpy.random.rand, a random source, but it is pure"),
        ("import numpy\nnumpy.load('x')", "2 uses numpy.load, a file, but it is pure"),
    ],
)
def test_a_pure_module_must_not_reach_the_world_through_numpy(source: str, breach: str) -> None:
    assert breach_of("restow.packing.plan", source) == f"restow.packing.plan:{breach}"


# Cycles between packages.


def test_no_two_packages_import_each_other() -> None:
    assert "\n".join(package_cycles(all_imports())) == ""


def graph(*edges: str) -> list[Import]:
    """`restow.a.x -> restow.b.y`, one import each."""
    ends = [edge.split(" -> ") for edge in edges]
    return [Import(source, 1, target) for source, target in ends]


@pytest.mark.parametrize(
    "edges",
    [
        (),
        ("restow.a.x -> restow.b.y", "restow.a.x -> restow.c", "restow.b.y -> restow.c"),
        ("restow.a.x -> restow.a.y", "restow.a.y -> restow.a.x"),  # within a package
        ("restow.a.x -> restow.__version__", "restow.a.x -> restow", "restow -> restow.a"),  # the root is no package
        ("restow.a.x -> json.decoder", "json.decoder -> restow.a.x"),
    ],
)
def test_imports_that_point_one_way_are_no_cycle(edges: tuple[str, ...]) -> None:
    assert package_cycles(graph(*edges)) == []


def test_a_cycle_is_reported_with_the_imports_that_close_it() -> None:
    closing = ("restow.a.x -> restow.b.y", "restow.b.z -> restow.a")
    [report] = package_cycles(graph(*closing, "restow.b.y -> restow.c", "restow.d -> restow.a"))
    assert report.split("\n") == [
        "restow.a and restow.b import each other:",
        "  restow.a.x:1 -> restow.b.y",
        "  restow.b.z:1 -> restow.a",
    ]


def test_a_cycle_through_several_packages_is_found_and_separate_ones_are_told_apart() -> None:
    found = graph(
        *("restow.a.x -> restow.b", "restow.b -> restow.c.y", "restow.c.z -> restow.a"),
        *("restow.d -> restow.e", "restow.e -> restow.d", "restow.a.x -> restow.d"),
    )
    assert [each.partition(":")[0] for each in package_cycles(found)] == [
        "restow.a and restow.b and restow.c import each other",
        "restow.d and restow.e import each other",
    ]


def test_a_cycle_closed_inside_a_function_is_found() -> None:
    tree = ast.parse("def f():\n    from restow.b import g")
    found = [*imports_of(tree, "restow.a.x", is_package=False), *graph("restow.b -> restow.a.x")]
    assert len(package_cycles(found)) == 1


# A package's docstring names all of its modules.

PACKAGES = {module: path.parent for module, path in modules() if path.name == "__init__.py"}


@pytest.mark.parametrize("directory", PACKAGES.values(), ids=PACKAGES)
def test_the_docstring_of_a_package_names_all_of_its_modules(directory: Path) -> None:
    assert undocumented_members(directory) == []


def test_what_a_docstring_leaves_out_is_reported(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    for name in ("__init__.py", "log.py", "event_log.py", "part/__init__.py"):
        (tmp_path / name).touch()
    (tmp_path / "__init__.py").write_text('"""A package.\n\nevent_log.py  a module\n"""')
    assert undocumented_members(tmp_path) == ["log.py", "part/"]
    (tmp_path / "__init__.py").write_text('"""A package of `log.py`, event_log.py and part/ alone."""')
    assert undocumented_members(tmp_path) == []
