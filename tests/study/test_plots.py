"""The plots: their contents, labels that don't overlap, and how files are written."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from restow.errors import InvalidInput
from restow.study.labels import Label, place
from restow.study.packing import Row
from restow.study.packing_plot import picture
from restow.study.plot_file import check_plot_file
from restow.study.plots import save


def row(d: int | None, packer: str, worth: float | None, cbs: float, r: float) -> Row:
    return Row(d, packer, worth, cbs, r, consumers=110.0, moves=50.0)


ROWS = [
    one
    for d in (5, 25)
    for one in (
        row(d, "mwf", None, 11.8, 9.2),
        row(d, "bfd", None, 0.0, 24.0),
        row(d, "ffd", None, 0.0, 24.1),
        row(d, "restow", 30.0, 0.0, 14.0),
        row(d, "restow", 0.5, 11.0, 1.4),
        row(d, "restow", 1.0, 4.0, 4.0),
    )
]


def annotations(figure: Figure) -> list[list[str]]:
    return [
        sorted(text.get_text() for text in panel.texts if isinstance(text, Annotation)) for panel in figure.get_axes()
    ]


def test_there_is_a_panel_for_each_d_with_every_packer_and_worth_named() -> None:
    figure = picture(ROWS)
    assert [panel.get_title() for panel in figure.get_axes()] == ["d = 5", "d = 25"]
    assert annotations(figure) == [["0.5", "1", "30", "bfd, ffd", "mwf"]] * 2


def test_our_curve_goes_from_the_least_worth_to_the_most() -> None:
    first, _ = picture(ROWS).get_axes()
    [curve] = [line for line in first.get_lines() if line.get_label() == "restow, by worth"]
    assert np.asarray(curve.get_xydata()).tolist() == [[1.4, 11.0], [4.0, 4.0], [14.0, 0.0]]


def test_a_trace_has_one_panel_of_its_own() -> None:
    figure = picture([row(None, "mwf", None, 0.0, 0.0)])
    assert [panel.get_title() for panel in figure.get_axes()] == ["recorded trace"]


def test_labels_of_a_crowd_do_not_overlap() -> None:
    figure = Figure(figsize=(6, 4), dpi=100)
    panel = figure.subplots()
    panel.set(xlim=(0, 10), ylim=(0, 10))
    place(panel, [Label(f"packer-{index}", 5 + index * 0.3, 5 + index % 2 * 0.2, "black") for index in range(6)])
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in panel.texts]  # without the line that leads to it
    assert len(boxes) == 6
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.slow
def test_the_same_rows_give_the_same_svg(tmp_path: Path) -> None:
    for name in ("one.svg", "other.svg"):
        save(picture(ROWS), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()
    assert (tmp_path / "one.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("picture.pdf", "can't draw into a '.pdf' file; its name must end in .png or .svg"),
        ("picture", "can't draw into a '' file; its name must end in .png or .svg"),
        ("a-file/picture.png", "can't be written (file exists); name a file in a directory you may write to"),
        ("a-directory.png", "is a directory; name a file"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path, name: str, complaint: str) -> None:
    (tmp_path / "a-file").touch()
    (tmp_path / "a-directory.png").mkdir()
    with pytest.raises(InvalidInput) as refused:
        check_plot_file(tmp_path / name)
    assert str(refused.value) == f"{tmp_path / name}: {complaint}"
