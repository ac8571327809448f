"""Whole pictures every ten seconds, changes at once but at most one a second."""

from tests.support.picture_driver import PictureDriver, pair

from restow.picture.parts import Assembler
from restow.picture.publication import Publication


def keys(publication: Publication, driver: PictureDriver) -> list[bytes]:
    due = publication.due(driver.state, driver.chronicle, driver.now_s, driver.picture)
    return [record.key for record in due]


def test_a_whole_picture_every_ten_seconds_and_nothing_between_if_nothing_changes() -> None:
    driver, publication = pair(), Publication()
    published = []
    for _ in range(25):
        published.append(keys(publication, driver))
        driver.ticks(1)
        driver.measures()
        driver.reports(1)
    whole = [b"whole-0"]
    assert published == [whole, *[[]] * 9, whole, *[[]] * 9, whole, *[[]] * 4]


def test_a_change_is_published_at_once_but_at_most_one_a_second() -> None:
    driver, publication = pair(), Publication()
    assert keys(publication, driver) == [b"whole-0"]
    driver.ticks(2)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    assert keys(publication, driver) == [b"change"]
    driver.is_ready(3)
    assert keys(publication, driver) == [], "not within the same second"
    driver.ticks(1)
    assert keys(publication, driver) == [b"change"]
    driver.ticks(1)
    assert keys(publication, driver) == []


def test_a_change_that_is_larger_than_a_part_becomes_a_whole_picture() -> None:
    driver, publication = pair(), Publication(largest_bytes=800)
    publication.due(driver.state, driver.chronicle, driver.now_s, driver.picture)
    driver.ticks(2)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    assert b"change" not in keys(publication, driver)


def test_no_picture_is_drawn_in_vain() -> None:
    driver, publication = pair(), Publication()
    keys(publication, driver)

    def unexpected() -> None:
        raise AssertionError("drawn, and not published")

    driver.ticks(5)
    driver.measures()
    assert publication.due(driver.state, driver.chronicle, driver.now_s, unexpected) == ()  # type: ignore[arg-type]


def test_a_reader_follows_whole_pictures_and_changes() -> None:
    driver, publication, reader = pair(), Publication(), Assembler()
    for second in range(40):
        driver.ticks(1)
        if second == 3:
            driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
        if second == 6:
            driver.is_ready(3)
        if second == 7:
            driver.settles()
        for record in publication.due(driver.state, driver.chronicle, driver.now_s, driver.picture):
            reader.take(record.value)
        assert reader.picture is not None
        now = driver.picture()
        assert reader.picture.overview.stage is now.overview.stage
        assert {p: s.consumer for p, s in reader.picture.partitions.items()} == {
            p: s.consumer for p, s in now.partitions.items()
        }
