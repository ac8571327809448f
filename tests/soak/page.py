"""Writes the figures of soaks into docs/soak.md: `python -m tests.soak.page RESULTS…`, as `--result` kept them."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench.large_groups import write_between_marks
from tests.soak.soak import Figures, Recovery, lines
from tests.support.paths import ROOT

from restow.text import counted

PAGE: Final = ROOT / "docs" / "soak.md"
MARKS: Final = ("<!-- tests/soak/page.py begin -->", "<!-- tests/soak/page.py end -->")


def figures_in(files: Iterable[Path]) -> list[Figures]:
    found = []
    for file in files:
        for line in file.read_text().splitlines():
            plain = json.loads(line)
            plain["recoveries"] = tuple(Recovery(**each) for each in plain["recoveries"])
            found.append(Figures(**plain))
    return found


def section(figures: list[Figures]) -> str:
    parts = []
    for pipeline in ("spark", "light"):
        own = [each for each in figures if each.pipeline == pipeline]
        if own:
            hours = sum(each.seconds for each in own) / 3600
            seeds = ", ".join(str(each.seed) for each in own)
            text = "\n".join(f"    {line}" for line in lines(own))
            runs, name = counted(len(own), "run"), "seed" if len(own) == 1 else "seeds"
            parts.append(f"### Pipeline `{pipeline}`: {runs}, {hours:.1f} h, {name} {seeds}\n\n{text}\n")
    return "\n".join(parts)


def main() -> int:
    figures = figures_in(map(Path, sys.argv[1:]))
    write_between_marks(PAGE, section(figures), *MARKS)
    print(f"{PAGE.name} has {sum(each.kills for each in figures)} kills")
    return 0


if __name__ == "__main__":
    sys.exit(main())
