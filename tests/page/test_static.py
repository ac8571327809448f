"""The page's files: what can be said about them without a browser."""

import re
import subprocess

import pytest
from tests.support.paths import ROOT
from tests.test_docs import FLAGS

STATIC = ROOT / "src/restow/page/static"


def test_every_flag_has_advice() -> None:
    advice = (STATIC / "flags.js").read_text().partition("WHAT_TO_DO = {")[2].partition("};")[0]
    named = {one or two for one, two in re.findall(r'^  (?:"([^"]+)"|(\w+)):', advice, re.MULTILINE)}
    assert named == {flag.removesuffix(" TOPIC") for flag in FLAGS}


def test_every_module_is_loaded_at_once() -> None:
    """One after the other, as imports name them, they would take as many round trips as the imports are deep."""
    preloaded = re.findall(r'rel="modulepreload" href="/static/(\w+\.js)"', (STATIC / "index.html").read_text())
    modules = {file.name for file in STATIC.glob("*.js")} - {"main.js", "types.js"}
    assert sorted(preloaded) == sorted(modules)


def test_every_module_has_checked_types() -> None:
    assert [file.name for file in STATIC.glob("*.js") if not file.read_text().startswith("// @ts-check\n")] == []


def test_nothing_is_loaded_from_outside_and_nothing_is_inline() -> None:
    """The content security policy would stop both, and the page would be broken."""
    index = (STATIC / "index.html").read_text()
    assert re.findall(r"<style|\bstyle=|\son\w+=|<script(?![^>]*\bsrc=)", index) == []
    texts = [file.read_text() for file in STATIC.iterdir()]
    outside = {address for text in texts for address in re.findall(r"https?://[^\"\s]+", text)}
    assert outside == {"http://www.w3.org/2000/svg"}


@pytest.mark.slow
def test_types_are_right() -> None:
    """Says so in a line where there is no node, or no TypeScript and no network."""
    checked = subprocess.run([ROOT / "scripts/check-page"], capture_output=True, text=True, timeout=600, check=False)
    assert checked.returncode == 0, checked.stdout
