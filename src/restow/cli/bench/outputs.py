"""The options that the benchmarks beside peers share: who takes part, and what becomes of the results."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from restow.cli.support.options import list_of, one_of
from restow.cli.support.stopping import interrupt_on_stop_signals
from restow.errors import RestowError
from restow.study.plot_file import check_plot_file


def add_contenders(parser: argparse.ArgumentParser, option: str, contenders: Sequence[str], metavar: str) -> None:
    parser.add_argument(
        option,
        type=list_of(one_of(contenders, "contender")),
        default=contenders,
        metavar=metavar,
        help="who takes part (default: all)",
    )


def add_outputs(parser: argparse.ArgumentParser, printed: str, drawn: str) -> None:
    """`printed` is what --json prints, `drawn` what --plot draws."""
    parser.add_argument("--json", action="store_true", help=f"print {printed} alone")
    parser.add_argument("--plot", type=Path, metavar="FILE", help=f"draw {drawn} into a .png or .svg file")
    parser.add_argument(
        "--join", type=list_of(Path), metavar="FILE,…", help="join earlier outputs of --json instead of measuring"
    )


def begin(args: argparse.Namespace) -> None:
    """Checks the outputs before a long run."""
    if args.plot:
        check_plot_file(args.plot)
    interrupt_on_stop_signals()


def not_measured() -> RestowError:
    return RestowError("no contender could be measured; the lines above say why")
