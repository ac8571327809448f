"""Writes the results of `restow bench consumer` into docs/throughput.md: the table, the plot, and where the time went.

restow bench consumer --only base --json > base.json 2> base.log         and so on, on an idle machine
.venv/bin/python -m bench.throughput_page --results base.json,tables.json --notes base.log,tables.log
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.large_groups import write_between_marks

from restow.study.plots import save
from restow.study.throughput import Row, joined, ratios
from restow.study.throughput_plot import picture

PAGE: Final = Path("docs/throughput.md")
PLOT: Final = Path("docs/throughput.png")
MARKS: Final = ("<!-- bench/throughput_page.py begin -->", "<!-- bench/throughput_page.py end -->")
HEADING: Final = (
    "| case | contender | MB/s | records/s | CPU s/GB | memory MB | restow is |\n|---|---|---|---|---|---|---|"
)
TOLD: Final = re.compile(
    r"first commit after|restow's cycles|its CPU time|capacity_bytes_per_s|in the run|slowest case"
)
"""The lines of a run that the page has."""


def table(rows: Sequence[Row]) -> str:
    factors, lines = ratios(rows), [HEADING]
    for row in rows:
        factor = factors.get(row.case, {}).get(row.contender)
        cells = (
            *(str(row.case), row.contender, f"{row.mb_per_s:.1f}", f"{row.records_per_s:,.0f}"),
            *(f"{row.cpu_s_per_gb:.1f}", f"{row.memory_mb:,.0f}", "" if factor is None else f"{factor:.2f} x"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def told(notes: Iterable[Path]) -> str:
    """What the runs said of speeds, steps and capacity."""
    lines = [line.removeprefix("restow: ") for file in notes for line in file.read_text().splitlines()]
    return "\n".join(f"    {line}" for line in lines if TOLD.search(line))


def files(text: str) -> list[Path]:
    return [Path(part) for part in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=files, required=True, help="outputs of --json, separated by commas")
    parser.add_argument("--notes", type=files, default=[], help="what the same runs wrote to stderr")
    options = parser.parse_args()
    rows, _ = joined(options.results)
    save(picture(rows), PLOT)
    drawn = f"![Throughput of one consumer and its peers, by case]({PLOT.name})"
    text = "\n\n".join(part for part in (drawn, table(rows), told(options.notes)) if part)
    write_between_marks(PAGE, f"{text}\n", *MARKS)
    sys.stdout.write(f"{PAGE} and {PLOT} have {len(rows)} rows\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
