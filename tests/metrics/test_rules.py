"""The alerts and the dashboard: tested by promtool, complete, and about metrics that exist."""

import json
import re
import subprocess
from itertools import chain
from typing import Any

import pytest
import yaml
from tests.support.paths import ROOT
from tests.support.prometheus import programs

from restow.metrics.families import FAMILIES

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"][0]["rules"]
TESTS: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text())["tests"]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "restow.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
NAMES = {
    name
    for family in chain(*FAMILIES.values())
    for name in (family.name, *(f"{family.name}_{end}" for end in ("bucket", "sum", "count") if family.buckets))
}


@pytest.mark.slow  # needs promtool, which `make test` provides
@pytest.mark.parametrize("command", [("check", "rules", "rules.yml"), ("test", "rules", "rules_test.yml")])
def test_promtool_is_content(command: tuple[str, ...]) -> None:
    done = subprocess.run([programs().promtool, *command], cwd=PROMETHEUS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_seen_firing_by_a_test() -> None:
    fired = {each["alertname"] for test in TESTS for each in test["alert_rule_test"] if each.get("exp_alerts")}
    assert fired == {rule["alert"] for rule in RULES}


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in RULES), *QUERIES])
def test_an_expression_is_about_metrics_that_exist(expression: str) -> None:
    named = set(re.findall(r"\b((?:restow|kafka_consumergroup)_[a-z_]+)", expression))
    assert named
    assert named <= NAMES


def test_the_alerts_are_about_flags_that_exist() -> None:
    """docs/operations.md has every flag; another test keeps it complete."""
    known = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    named = [
        name for rule in RULES for names in re.findall(r'flag=~?"([^"]+)"', rule["expr"]) for name in names.split("|")
    ]
    assert len(named) > 4
    assert set(named) <= {name.removesuffix(" TOPIC") for name in known}


def test_the_dashboard_chooses_the_data_source_the_namespace_and_the_group() -> None:
    assert [each["name"] for each in DASHBOARD["templating"]["list"]] == ["datasource", "namespace", "group"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            assert target["datasource"]["uid"] == "${datasource}"
            assert 'namespace=~"$namespace", group=~"$group"' in target["expr"]


def test_no_panel_covers_another() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
