"""The plot of a simulated run."""

import numpy as np

from restow.simulator.measures import Series
from restow.study.simulation_plot import picture

SERIES = Series(
    time_s=[10.0, 20.0, 30.0],
    consumers=[1, 2, 2],
    load_bytes_per_s=[5e5, 1.5e6, 1.6e6],
    backlog_bytes=[0.0, 4e6, 1e6],
    overloaded=[0, 1, 0],
    moves=[0, 3, 5],
    latency_s=[1.0, 6.0, 2.0],
)


def test_there_is_a_panel_for_each_thing_over_the_same_time() -> None:
    panels = picture(SERIES, 1e6, "seed 1").get_axes()
    assert [panel.get_ylabel() for panel in panels] == ["consumers", "moves in 10 s", "backlog, MB", "latency, s"]
    assert panels[-1].get_xlabel() == "minutes"
    legend = panels[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "load, in capacities",
        "consumers",
        "of them overloaded",
    ]


def test_moves_are_drawn_as_they_happen_and_sizes_in_megabytes() -> None:
    _, moves, backlog, _ = picture(SERIES, 1e6, "seed 1").get_axes()
    assert np.asarray(moves.get_lines()[0].get_ydata()).tolist() == [0, 3, 2]
    assert np.asarray(backlog.get_lines()[0].get_ydata()).tolist() == [0, 4, 1]
