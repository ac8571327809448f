"""Writes the results of `restow bench handover` into docs/handover.md, with the plot that the README shows.

restow bench handover --json > handover.json          on an idle machine, in parts if that is needed
.venv/bin/python -m bench.handover_page handover.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.large_groups import write_between_marks

from restow.study.handover import Row, joined
from restow.study.handover_plot import picture
from restow.study.plots import save

PAGE: Final = Path("docs/handover.md")
PLOT: Final = Path("docs/images/handover.png")
MARKS: Final = ("<!-- bench/handover_page.py begin -->", "<!-- bench/handover_page.py end -->")
HEADING: Final = (
    "| contender | change | moved | pause p50 s | pause p99 s | unmoved paused | in effect s | duplicates | lost |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table(rows: Sequence[Row]) -> str:
    lines = [HEADING]
    for row in rows:
        times = (f"{row.pause_p50_s:.2f}", f"{row.pause_p99_s:.2f}", str(row.unmoved_paused), f"{row.in_effect_s:.1f}")
        cells = (row.contender, row.change, str(row.moved), *times, str(row.duplicates), str(row.lost))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    rows = joined(map(Path, sys.argv[1:]))
    save(picture(rows), PLOT)
    drawn = f"![Pauses of moved partitions, by contender and change](images/{PLOT.name})"
    write_between_marks(PAGE, f"{drawn}\n\n{table(rows)}\n", *MARKS)
    sys.stdout.write(f"{PAGE} and {PLOT} have {len(rows)} rows\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
