"""`restow plan`: its output, and how it answers a file it can't use."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.paths import ROOT

from restow.cli import main
from restow.model import Assignment, Capacities, ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.packing import Margins, Problem
from restow.study.plan_file import KEYS, read_problem

EXAMPLE = ROOT / "examples" / "plan.json"
ONE, TWO, THREE = (ConsumerId(number) for number in (1, 2, 3))
ORDERS_0, ORDERS_1, ORDERS_2 = (TopicPartition("orders", number) for number in range(3))

GROUP: dict[str, Any] = {
    "capacity": 100,
    "assignment": {"1": ["orders-0"], "2": ["orders-1", "old-0"], "3": []},
    "speeds": {"orders": {"0": 60, "1": 35.5, "2": 90}},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "group.json"


def planned(file: Path, group: dict[str, Any], capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    file.write_text(json.dumps(group))
    assert main(["plan", str(file), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def told(file: Path, group: dict[str, Any], capsys: pytest.CaptureFixture[str], *options: str) -> str:
    file.write_text(json.dumps(group))
    assert main(["plan", str(file), *options]) == 0
    return " ".join(capsys.readouterr().out.split())


# What is read


def test_a_file_is_read_into_the_problem_it_states(file: Path) -> None:
    file.write_text(
        json.dumps(
            GROUP
            | {"capacity": {"default": 100, "3": 150}, "worth": 2, "least_consumers": 1, "most_consumers": 4}
            | {"margins": {"trigger": 1.2, "drain_to": 0.9}}
        )
    )
    stated = Problem(
        speeds=Speeds({ORDERS_0: 60, ORDERS_1: 35.5, ORDERS_2: 90}),
        current=Assignment({ORDERS_0: ONE, ORDERS_1: TWO, TopicPartition("old", 0): TWO}, idle=[THREE]),
        capacities=Capacities(100, SortedMapping({THREE: 150.0})),
        worth=2,
        margins=Margins(trigger=1.2, drain_to=0.9),
        least_consumers=1,
        most_consumers=4,
    )
    assert read_problem(file) == stated
    assert read_problem(file, worth=0.5).worth == 0.5


def test_what_is_left_out_has_its_default(file: Path) -> None:
    file.write_text(json.dumps(GROUP))
    problem = read_problem(file)
    assert (problem.worth, problem.margins, problem.least_consumers, problem.most_consumers) == (1, Margins(), 0, None)


def test_a_margin_that_is_left_out_is_no_higher_than_those_given_allow(file: Path) -> None:
    file.write_text(json.dumps(GROUP | {"margins": {"trigger": 0.8, "fill_to": 0.7}}))
    assert read_problem(file).margins == Margins(trigger=0.8, evict_to=0.8, fill_to=0.7, drain_to=0.7)


# What is printed


def test_json_has_consumers_moves_and_the_next_assignment(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(file, GROUP, capsys, "--packer", "mwf")
    assert isinstance(plan.pop("reasons"), list)
    assert [move.pop("reason", "missing") != "missing" for move in plan["moves"]] == [True, True]
    assert plan == {
        "consumers": [
            {"consumer": 1, "capacity": 100.0, "before": 60.0, "after": 95.5, "partitions": 2},
            {"consumer": 2, "capacity": 100.0, "before": 35.5, "after": 90.0, "partitions": 1},
            {"consumer": 3, "capacity": 100.0, "before": 0.0, "after": None, "partitions": 0},
        ],
        "moves": [
            {"partition": "orders-1", "from": 2, "to": 1, "speed": 35.5},
            {"partition": "orders-2", "from": None, "to": 2, "speed": 90.0},
        ],
        "r": 0.355,
        "infeasible": [],
        "overloaded": [],
        "given_up": ["old-0"],
        "assignment": {"1": ["orders-0", "orders-1"], "2": ["orders-2"]},
    }


def test_the_text_shows_consumers_before_and_after_moves_and_the_r_score(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = told(file, GROUP, capsys, "--packer", "mwf")
    assert "1 100 60 60.0 1 95.5 95.5 2 2 100 35.5 35.5 2 90 90.0 1 3 100 0 0.0 0 – – – closed" in text
    assert "orders-1 35.5 2 1" in text
    assert "orders-2 90 new 2" in text
    assert text.endswith("3 consumers before, 2 after; 1 move; R-score 0.355.")


def test_no_change_is_one_plain_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settled = {"capacity": 100, "assignment": {"1": ["orders-0"]}, "speeds": {"orders": {"0": 60}}}
    text = told(file, settled, capsys, "--packer", "mwf")
    assert text.endswith("No change: everything stays where it is. 1 consumer before, 1 after; 0 moves; R-score 0.000.")
    assert planned(file, settled, capsys, "--packer", "mwf")["moves"] == []


def test_a_partition_faster_than_a_consumer_is_a_warning(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fast = {"capacity": 100, "assignment": {}, "speeds": {"orders": {"0": 140, "1": 20}}}
    assert (
        "Warning: orders-0 alone, at 140, is more than consumer 1 carries (100); "
        "no packing can help, only more partitions or larger consumers."
    ) in told(file, fast, capsys, "--packer", "bfd")
    assert planned(file, fast, capsys, "--packer", "bfd")["infeasible"] == ["orders-0"]


def test_the_example_has_a_consumer_to_relieve_and_one_to_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(EXAMPLE), "--packer", "mwf", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    before = [consumer["before"] for consumer in plan["consumers"]]
    assert (before, len(plan["assignment"])) == ([106.5, 62, 17, 67], 3)


# What is refused


def refusal(file: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    file.write_text(text)
    assert main(["plan", str(file), "--packer", "mwf"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"restow: {file}: ")
    assert err.count("\n") == 1
    return err.removeprefix(f"restow: {file}: ").rstrip("\n")


PARTITION = "it must be a partition: the topic, a dash and the number, like orders-7"
CAPACITY = 'it must be a number above 0, or an object like {"default": 100, "3": 150}'
SPEED = "it must be a number of bytes/s from 0 to 1e+18"
MARGINS_FALL = "none of trigger, evict_to, fill_to, drain_to may be above the one before it"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity": 0}, f"capacity is 0; {CAPACITY}"),
        ({"capacity": "100"}, f'capacity is "100"; {CAPACITY}'),
        ({"capacity": {"default": 100, "3": 0}}, "capacity.3 is 0; it must be a number above 0"),
        ({"capacity": {"3": 100}}, "there is no 'default' in capacity; new consumers need one"),
        (
            {"capacity": {"default": 1, "x": 1}},
            "capacity.x is no consumer; its key must be a whole number, 1 or more",
        ),
        ({"speeds": {"orders": {"7": -1}}}, f"speeds.orders.7 is -1; {SPEED}"),
        ({"speeds": {"orders": {"7": float("nan")}}}, f"speeds.orders.7 is NaN; {SPEED}"),
        ({"speeds": {"orders": {"7": float("inf")}}}, f"speeds.orders.7 is Infinity; {SPEED}"),
        ({"speeds": {"orders": {"7": "12"}}}, f'speeds.orders.7 is "12"; {SPEED}'),
        (
            {"speeds": {"orders": {"7": 1, "07": 1}}},
            "speeds.orders.07 is orders-7 once more; it must be given once",
        ),
        (
            {"assignment": {"1": ["orders-0", "orders-1"], "2": ["orders-1"]}},
            "assignment.2[0] is orders-1, as is assignment.1[1]; a partition has one consumer",
        ),
        (
            {"assignment": {"1": ["orders-0", "orders-0"]}},
            "assignment.1[1] is orders-0, as is assignment.1[0]; a partition has one consumer",
        ),
        ({"assignment": {"1": ["orders"]}}, f'assignment.1[0] is "orders"; {PARTITION}'),
        ({"assignment": {"1": [7]}}, f"assignment.1[0] is 7; {PARTITION}"),
        (
            {"assignment": {"1": "orders-0"}},
            'assignment.1 is "orders-0"; it must be an array of partitions, ["orders-0", "orders-1"]',
        ),
        ({"assignment": {"0": []}}, "assignment.0 is no consumer; its key must be a whole number, 1 or more"),
        ({"assignment": {"01": []}}, "assignment.01 is no consumer; its key must be a whole number, 1 or more"),
        ({"assignment": {"": []}}, "assignment. is no consumer; its key must be a whole number, 1 or more"),
        ({"margins": {"trigger": 0}}, "margins.trigger is 0; it must be a share of the capacity above 0"),
        (
            {"margins": {"tigger": 1}},
            "margins.tigger is no known key; known are trigger, evict_to, fill_to, drain_to",
        ),
        ({"margins": {"fill_to": 1.1}}, "the margin fill_to is 1.1, above the trigger 1.0; it must not be"),
        (
            {"margins": {"evict_to": 0.8, "fill_to": 0.9}},
            f"the margin fill_to is 0.9, above evict_to 0.8; {MARGINS_FALL}",
        ),
        (
            {"margins": {"fill_to": 0.7, "drain_to": 0.8}},
            f"the margin drain_to is 0.8, above fill_to 0.7; {MARGINS_FALL}",
        ),
        ({"worth": -1}, "worth is -1; it must be a number, 0 or more"),
        ({"least_consumers": 1.5}, "least_consumers is 1.5; it must be a whole number, 0 or more"),
        ({"most_consumers": 0}, "most_consumers is 0; it must be a whole number, 1 or more"),
        (
            {"least_consumers": 3, "most_consumers": 2},
            "the most consumers are 2; it must be 1 or more, and no less than the least (3)",
        ),
        (
            {"speed": {}},
            f"speed is no known key; known are {', '.join(KEYS)}",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place_and_what_would_be_right(
    file: Path, change: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(file, json.dumps(GROUP | change), capsys) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("capacity = 100", "line 1, column 1 is not JSON (expecting value); the file must be JSON"),
        ("[]", "the whole is []; it must be an object with capacity, assignment, speeds"),
        ('{"capacity": 1, "speeds": {}}', "there is no 'assignment'; it must be given"),
        (
            '{"capacity": 1, "assignment": {}, "speeds": {"orders": {"7": 1, "7": 2}}}',
            "speeds.orders.7 is given twice; it must be given once",
        ),
        (
            '{"capacity": 1, "speeds": {}, "assignment": {"1": [], "1": []}}',
            "assignment.1 is given twice; it must be given once",
        ),
    ],
)
def test_a_file_that_is_no_plan_is_refused(
    file: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(file, text, capsys) == message


def test_a_missing_file_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(file), "--packer", "mwf"]) == 2
    assert capsys.readouterr() == ("", f"restow: {file}: can't be read (no such file or directory)\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--packer", "best"], "argument --packer: there is no packer 'best'; known are nf, ff, wf, bf, nfd, ffd"),
        (["--worth", "-1"], "argument --worth: '-1' can't be used; it must be a finite number, 0 or more"),
        (["--worth", "nan"], "argument --worth: 'nan' can't be used; it must be a finite number, 0 or more"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_code_2(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["plan", str(EXAMPLE), *options])
    assert exit_.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"restow: {message}")
