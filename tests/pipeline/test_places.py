"""Tables are found relative to restow.toml. One that an older version put elsewhere is never replaced by a new one."""

from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema
from tests.support.consumer_machines import A0
from tests.support.delta.lake import COLUMNS, P0, P1, lake, store

from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer, WrittenFile
from restow.pipeline.light.stores import Stores
from restow.pipeline.light.table import LightTable
from restow.pipeline.places import Place, TableElsewhere, place_of
from restow.pipeline.sinks import Span
from restow.settings import Settings, Table, read_settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of a restow.toml in a/, read by a process that was started in b/."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    text = '[kafka]\nbootstrap = "127.0.0.1:9"\n[group]\nname = "shop"\n'
    return read_settings(text, "restow.toml", {}).in_directory(str(tmp_path / "a"))


def delta(settings: Settings, group: str = "shop") -> DeltaSink:
    uri, former = place_of("lake/orders", settings)
    return DeltaSink(uri, Writer(group, 1, 7), Table(), _no_spark, former)


def _no_spark(*_: object) -> list[WrittenFile]:
    raise AssertionError("these tests write their files themselves, without Spark")


def refusal(settings: Settings, path: str) -> str:
    return (
        f"there is no table at {settings.directory}/{path}, relative to restow.toml, but one of this group at "
        f"{Path(path).absolute()}, relative to the working directory, where an older version put it; move it to the "
        "first place while the group is down, or write the absolute path of the second as table"
    )


def test_a_table_is_beside_restow_toml_or_where_its_uri_says(settings: Settings, tmp_path: Path) -> None:
    former = tmp_path / "b" / "lake" / "orders"
    assert place_of("lake/orders", settings) == Place(f"{tmp_path}/a/lake/orders", former)
    assert place_of("/lake/orders", settings) == Place("/lake/orders")
    assert place_of("s3://lake/orders", settings) == Place("s3://lake/orders")
    assert place_of("lake/orders", settings.in_directory(str(Path.cwd()))) == Place(str(former))


def test_a_new_delta_table_is_made_beside_restow_toml(settings: Settings, tmp_path: Path) -> None:
    delta(settings).register({P0: 0}, COLUMNS)
    assert DeltaTable.is_deltatable(str(tmp_path / "a" / "lake" / "orders"))
    assert not (tmp_path / "b" / "lake").exists()


def test_a_delta_table_of_this_group_at_the_old_place_is_an_error_that_names_both(
    settings: Settings, tmp_path: Path
) -> None:
    old, new = tmp_path / "b" / "lake" / "orders", tmp_path / "a" / "lake" / "orders"
    lake(old).register({P0: 5}, COLUMNS)
    sink = delta(settings)
    with pytest.raises(TableElsewhere) as caught:
        sink.register({P0: 0, P1: 0}, COLUMNS)
    assert str(caught.value) == refusal(settings, "lake/orders")
    assert not new.exists()
    new.parent.mkdir()
    old.rename(new)
    sink.register({P0: 0, P1: 0}, COLUMNS)
    assert sink.positions([P0, P1]) == {P0: 5, P1: 0}, "the moved table goes on where it was"


def test_a_delta_table_there_that_no_group_has_written_yet_may_be_meant_too(settings: Settings, tmp_path: Path) -> None:
    columns = Schema.from_json(COLUMNS)
    DeltaTable.create(str(tmp_path / "b" / "lake" / "orders"), columns)
    with pytest.raises(TableElsewhere):
        delta(settings).register({P0: 0}, COLUMNS)


def test_another_groups_delta_table_in_the_working_directory_is_left_alone(settings: Settings, tmp_path: Path) -> None:
    theirs = lake(tmp_path / "b" / "lake" / "orders")
    theirs.register({P0: 0}, COLUMNS)
    store(theirs, {P0: Span(0, 2)})
    delta(settings, "billing").register({P0: 0}, COLUMNS)
    assert delta(settings, "billing").positions([P0]) == {P0: 0}
    assert theirs.positions([P0]) == {P0: 2}


def test_a_table_at_its_new_place_is_used_whatever_is_in_the_working_directory(
    settings: Settings, tmp_path: Path
) -> None:
    lake(tmp_path / "b" / "lake" / "orders").register({P0: 5}, COLUMNS)
    lake(tmp_path / "a" / "lake" / "orders").register({P0: 7}, COLUMNS)
    sink = delta(settings)
    sink.register({P0: 0}, COLUMNS)
    assert sink.positions([P0]) == {P0: 7}


def test_a_light_table_of_this_group_at_the_old_place_is_an_error_that_names_both(
    settings: Settings, tmp_path: Path
) -> None:
    with closing(LightTable(str(tmp_path / "b" / "orders.db"), "shop")) as old:
        old.begin({A0: 5})
    stores = Stores(settings)
    with pytest.raises(TableElsewhere) as caught:
        stores.table("orders.db")
    assert str(caught.value) == refusal(settings, "orders.db")
    assert list((tmp_path / "a").iterdir()) == []
    (tmp_path / "b" / "orders.db").rename(tmp_path / "a" / "orders.db")
    assert stores.table("orders.db").positions([A0]) == {A0: 5}
    stores.keep(())


def test_another_groups_light_table_in_the_working_directory_is_left_alone(settings: Settings, tmp_path: Path) -> None:
    with closing(LightTable(str(tmp_path / "b" / "orders.db"), "billing")) as theirs:
        theirs.begin({A0: 5})
    stores = Stores(settings)
    assert stores.table("orders.db").positions([A0]) == {}
    stores.keep(())
    assert (tmp_path / "a" / "orders.db").exists()
