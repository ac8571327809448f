"""The files that `restow init` writes: read with the real reader, and every default in them is the schema's."""

import ast
import re
import tomllib
from dataclasses import fields
from typing import Any

import pytest

from restow.protocol.topic_service import TopicService
from restow.settings import Settings, read_settings
from restow.starter.columns import shape_of
from restow.starter.facts import TopicFacts, consumable, needed_consumers
from restow.starter.names import function_names, group_from
from restow.starter.settings_text import Start, settings_text
from restow.starter.transforms_text import transforms_text

ODD = b'{"id": "a", "it\'s \\"odd\\"": 1, "a`b": {"c": 1}, "": 2, "\\ud800": 3, "x\\"\\"\\"": 4}'
TOPICS = (
    TopicFacts("a.b", 3, 1_000, 5_000_000.0, 25.0, shape_of([ODD, b"plain", *[ODD] * 4])),
    TopicFacts("a-b", 1, shape=shape_of([b"\xff"])),
    TopicFacts("class", 1, shape=shape_of([b"text"])),
    TopicFacts("0rders", 1, 0, shape=shape_of([])),
    TopicFacts("unseen"),
)
DEFAULT = re.compile(r"# ([a-z_]+ = .*)")


def start(*, light: bool = False, properties: dict[str, str] | None = None) -> Start:
    functions = function_names(topic.name for topic in TOPICS)
    return Start("shop", "127.0.0.1:9092", properties or {}, light, TOPICS, functions, "transforms", 3, "three cores")


def test_the_settings_are_what_was_found_and_defaults() -> None:
    settings = read_settings(settings_text(start()), "restow.toml", {})
    bare = '[kafka]\nbootstrap = "127.0.0.1:9092"\n[group]\nname = "shop"\n[controller]\nmost_consumers = 3\n'
    consumed = "".join(
        f'[consume."{topic}"]\ntable = "lake/{topic}"\ntransform = "transforms:{function}"\n'
        for topic, function in start().functions.items()
    )
    assert settings == read_settings(bare + consumed, "restow.toml", {})


def test_every_default_that_is_shown_is_the_schema_s() -> None:
    """A line that begins with `# key = value` can be uncommented, and changes nothing."""
    text = settings_text(start())
    shown = DEFAULT.findall(text)
    assert len(shown) > 10, "the pattern that finds them is broken"
    uncommented = DEFAULT.sub(r"\1", text)
    assert read_settings(uncommented, "restow.toml", {}) == read_settings(text, "restow.toml", {})
    keys = {each.name for each in fields(TopicService)}
    for table, content in tomllib.loads(uncommented).items():
        kind: Any = {each.name: each.type for each in fields(Settings)}
        assert table in kind
        if table == "consume":
            assert all(topic.keys() <= keys for topic in content.values())


def test_properties_are_written_as_they_are_given_and_secrets_stay_in_the_environment() -> None:
    properties = {"security.protocol": "SASL_SSL", "sasl.password": "${PASSWORD}"}
    text = settings_text(start(properties=properties))
    assert '"sasl.password" = "${PASSWORD}"' in text
    kafka = read_settings(text, "restow.toml", {"PASSWORD": "hush"}).kafka
    assert dict(kafka.properties) == {"security.protocol": "SASL_SSL", "sasl.password": "hush"}


def test_a_light_group_has_sqlite_tables_and_functions_over_records() -> None:
    settings = read_settings(settings_text(start(light=True)), "restow.toml", {})
    assert settings.consumer.pipeline == "light"
    assert settings.consume["a.b"].table == "tables/a.b.db"


@pytest.mark.parametrize("light", [False, True])
def test_the_module_has_a_function_for_each_topic(light: bool) -> None:
    text = transforms_text("shop", TOPICS, start().functions, light=light)
    text.encode()
    tree = ast.parse(text)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["a_b", "a_b_2", "class_", "topic_0rders", "unseen"]
    assert all(len(line) <= 120 for line in text.splitlines())
    if not light:
        odd = text[text.index("A_B_FIELDS") : text.index("def a_b_2")]
        assert '"`it\'s \\"odd\\"` bigint",' in odd
        assert 'F.col("fields.`a``b`").alias("a_b"),' in odd
        assert '"fields.id",' in odd
        assert "The types are those of 6 sampled records" in odd
        assert "1 of them were no JSON objects" in odd


def test_the_light_functions_drop_tombstones() -> None:
    module: dict[str, Any] = {}
    exec(transforms_text("shop", TOPICS, start().functions, light=True), module)
    record = module["Record"]
    kept, tombstone = record("a.b", 0, 1, None, b"k", b"v"), record("a.b", 0, 2, None, b"k", None)
    assert module["a_b"]([kept, tombstone]) == [kept]


@pytest.mark.parametrize(
    ("directory", "group"),
    [
        ("shop", "shop"),
        ("My Shop_2", "my-shop-2"),
        ("2026-orders", "orders"),
        ("x" * 60, "x" * 40),
        ("données", "donn-es"),
        ("", None),
        ("42", None),
    ],
)
def test_a_group_is_called_after_its_directory(directory: str, group: str | None) -> None:
    assert group_from(directory) == group


def test_internal_topics_and_those_of_restow_s_groups_are_no_candidates() -> None:
    restows = [f"lake-{channel}" for channel in ("monitor", "controller", "query", "service", "status")]
    known = dict.fromkeys(["orders", "customer-service", "__consumer_offsets", "_schemas", *restows])
    assert consumable(known) == ("customer-service", "orders")


def test_the_number_of_consumers_follows_the_speeds() -> None:
    def topics(*speeds: float | None) -> tuple[TopicFacts, ...]:
        return tuple(
            TopicFacts("t", 1, 10, None if speed is None else 10.0, 1.0 if speed is None else speed) for speed in speeds
        )

    assert needed_consumers(topics(None, 0.0), 100.0, 0.85) == 1
    assert needed_consumers(topics(85.0, 85.0), 100.0, 0.85) == 2
    assert needed_consumers(topics(86.0, 85.0), 100.0, 0.85) == 3


def test_a_topic_of_json_or_text_shows_how_it_is_read_without_code() -> None:
    lines = settings_text(start()).splitlines()
    assert [line for line in lines if "without code" in line] == [
        (
            '# in place of the transform, without code: format = "json" and schema = "a.b.json", which restow check '
            "--infer writes"
        ),
        '# in place of the transform, without code: format = "text"',
    ]
    assert "without code" not in settings_text(start(light=True))
