"""`retention.pages`: pages that were delivered long ago are deleted, and no others."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from monitor.model import DeliveryState
from monitor.pipeline.cleanup import upkeep
from monitor.store.engine import schema
from tests.house import AGENTS, BANDITS, House


def clean_up(house: House, *, after_days: float = 0, **retention: str) -> list[str]:
    """Return the names of the pages that are left."""
    house.settings["retention"] = retention
    house.clock.move(days=after_days)
    with house.opened() as app:
        upkeep(app.runtime)
    return sorted(page.name for page in (house.folder / "pages" / "lab").iterdir())


@pytest.fixture
def delivered(house: House) -> House:
    """A house with pages of Saturday and Sunday, at the time of the second."""
    house.settings["subscriptions"]["lab"]["topics"] = ["agents", "bandits"]
    house.settings["topics"]["bandits"] = {"query": "bandits"}
    house.make_due(AGENTS)
    house.run()
    house.next_morning(BANDITS)
    return house


def test_pages_are_kept_for_ever_unless_a_time_is_set(delivered: House) -> None:
    both = clean_up(delivered, after_days=900)
    assert len(both) == 2
    assert clean_up(delivered, pages="901d") == both, "just as old, and no older"


def test_old_pages_are_deleted_and_the_index_follows(delivered: House) -> None:
    first, second = clean_up(delivered, after_days=29, pages="30d")
    assert clean_up(delivered, after_days=0.5, pages="30d") == [second]
    text = (delivered.folder / "pages" / "index.html").read_text("utf-8")
    assert second in text and first not in text
    delivered.run()
    assert [page.name for page in (delivered.folder / "pages" / "lab").iterdir()] == [second]


@pytest.mark.parametrize("state", ["unknown", "handing_off", "retry", "failed"])
def test_a_page_that_is_not_surely_delivered_stays(delivered: House, state: str) -> None:
    """Whether an uncertain one was delivered is seen from its file."""
    with delivered.opened() as app, app.runtime.database.writing() as tx:
        tx.execute(sa.update(schema.delivery).values(state=state))
    assert len(clean_up(delivered, after_days=400, pages="1d")) == 2


def test_the_age_counts_from_the_delivery(house: House) -> None:
    """What waited for its folder for long is not deleted as soon as it is there."""
    house.make_due(AGENTS)
    folder = house.folder / "pages" / "lab"
    folder.parent.mkdir()
    folder.symlink_to(house.folder / "dumps")
    house.run()
    assert DeliveryState.SENT not in house.states()
    folder.unlink()
    house.run_after(hours=1)
    assert house.states() == [DeliveryState.SENT]
    assert clean_up(house, pages="30m") == ["2026-11-21.html"]
    assert clean_up(house, after_days=0.1, pages="30m") == []


def test_pages_of_another_store_and_of_a_folder_that_was_left_stay(delivered: House) -> None:
    other = delivered.folder / "pages" / "theirs"
    other.mkdir()
    page, _ = sorted((delivered.folder / "pages" / "lab").iterdir())
    content = page.read_bytes().replace(b'"subscription": "lab"', b'"subscription": "theirs"')
    (other / page.name).write_bytes(content)
    clean_up(delivered, after_days=90, pages="30d")
    assert (other / page.name).read_bytes() == content

    delivered.settings["channels"]["pages"]["path"] = "elsewhere/"
    delivered.next_morning(AGENTS)
    before = sorted((delivered.folder / "pages").rglob("*"))
    clean_up(delivered, after_days=90, pages="30d")
    assert sorted((delivered.folder / "pages").rglob("*")) == before
