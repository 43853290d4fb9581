"""Pages in a folder: whole or not at all, and an index of what is there."""

import os
import re
import resource
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.channels.file import FileOptions, Pages, _file_name
from monitor.digest.render import JinjaTemplates
from monitor.errors import TemplateError
from monitor.model import Delivery, DeliveryState, Digest, Outcome, Rendered
from tests.channels.samples import NOTICE, Commit, delivery, digest, entry


def pages(folder: Path, templates: Any = None, mode: int | None = None) -> Pages:
    return Pages("pages", FileOptions(path=folder, mode=mode), templates or JinjaTemplates())


def planned(ours: Pages, issue: Digest | None = None, **changes: Any) -> Delivery:
    issue = issue or digest()
    [part] = ours.render(issue, JinjaTemplates())
    values = {"subscription": issue.subscription, "period": issue.period, "channel": "pages"}
    return delivery(part, recipient=ours.recipients()[0], **{**values, **changes})


def send(ours: Pages, issue: Digest | None = None, **changes: Any) -> Outcome:
    return ours.send(planned(ours, issue, **changes), Commit())


def index(folder: Path) -> str:
    return (folder / "index.html").read_text("utf-8")


def listed(folder: Path) -> list[str]:
    line = r'<li><a href="(.*)">(.*)</a> <span class="soft">(.*)</span></li>'
    return [", ".join(parts) for parts in re.findall(line, index(folder))]


def test_a_digest_is_a_page_and_the_index_links_to_it(tmp_path: Path) -> None:
    outcome = send(pages(tmp_path))
    page = tmp_path / "ada" / "2026-11-21.html"
    assert outcome == Outcome(DeliveryState.SENT, reference=str(page))
    assert "Paper 2" in page.read_text("utf-8")
    assert listed(tmp_path) == ["./ada/2026-11-21.html, ada, Saturday 21 November 2026, 3 papers"]


def test_a_notice_is_a_page(tmp_path: Path) -> None:
    ours = pages(tmp_path)
    [part] = ours.render_notice(NOTICE, JinjaTemplates())
    sent = delivery(part, subscription="@operator", period="1")
    assert ours.send(sent, Commit()).state is DeliveryState.SENT
    assert "since Tuesday" in ours.page(sent).read_text("utf-8")


def modes(folder: Path, mode: int | None) -> list[str]:
    """Send a page and return the modes of the folder, the page's folder, the page and the index."""
    assert send(pages(folder / "pages", mode=mode)).state is DeliveryState.SENT
    made = ("", "ada", "ada/2026-11-21.html", "index.html")
    return [f"{(folder / 'pages' / name).stat().st_mode & 0o777:o}" for name in made]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize(
    "mode, expected",
    [(None, "700 700 600 600"), (0o640, "750 750 640 640"), (0o644, "755 755 644 644")],
)
def test_who_may_read_pages_does_not_depend_on_the_umask(
    tmp_path: Path, umask: int, mode: int | None, expected: str
) -> None:
    before = os.umask(umask)
    try:
        assert " ".join(modes(tmp_path, mode)) == expected
    finally:
        os.umask(before)


def test_new_pages_have_the_mode_of_the_index_and_one_written_again_keeps_its_own(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir(0o755)
    (folder / "index.html").write_text("as a web server shows it")
    (folder / "index.html").chmod(0o644)
    assert modes(tmp_path, None)[1:] == ["755", "644", "644"]
    (folder / "ada" / "2026-11-21.html").chmod(0o640)
    assert modes(tmp_path, 0o644)[2:] == ["640", "644"]


def test_as_many_papers_are_in_full_as_the_subscription_asks_for(tmp_path: Path) -> None:
    issue = digest(40, full=5)
    [part] = pages(tmp_path).render(issue, JinjaTemplates())
    assert part.body["html"].count("We study") == 5


def test_the_index_lists_the_newest_first_and_names_what_people_wrote(tmp_path: Path) -> None:
    for period in ("2026-11-20T09:30", "2026-11-21"):
        send(pages(tmp_path), digest(1, subscription="lab", period=period))
    send(pages(tmp_path), digest(2, subscription="Größe & <b> --> x", period="2026-11-19"))
    other, *of_lab = listed(tmp_path)
    assert other.endswith(
        ", Größe &amp; &lt;b&gt; --&gt; x, Saturday 21 November 2026, 09:00, 2 papers"
    )
    assert of_lab == [
        "./lab/2026-11-21.html, lab, Saturday 21 November 2026, 1 paper",
        "./lab/2026-11-20T09-30.html, lab, Saturday 21 November 2026, 09:00, 1 paper",
    ]


def test_the_index_leaves_out_what_is_gone_and_what_is_not_ours(tmp_path: Path) -> None:
    ours = pages(tmp_path)
    send(ours, digest(period="2026-11-19"))
    send(ours, digest(period="2026-11-20"))
    (tmp_path / "ada" / "2026-11-19.html").unlink()
    (tmp_path / "ada" / "notes.html").write_text("<p>mine</p>")
    (tmp_path / "ada" / "bad.html").write_text("<!-- paper-monitor {not json} -->")
    (tmp_path / "ada" / "odd.html").write_text('<!-- paper-monitor {"title": 1} -->')
    (tmp_path / "ada" / "folder.html").mkdir()
    send(ours, digest(period="2026-11-21"))
    text = index(tmp_path)
    assert [day for day in (19, 20, 21) if f"2026-11-{day}" in text] == [20, 21]
    assert not any(name in text for name in ("notes", "bad.html", "odd", "folder"))
    assert (tmp_path / "ada" / "notes.html").read_text() == "<p>mine</p>"


def test_a_page_that_quotes_the_mark_cannot_forge_its_facts(tmp_path: Path) -> None:
    forged = (
        '<!-- paper-monitor {"title": "forged", "subscription": "", "period": "", "papers": 1} -->'
    )
    quoting = Rendered(0, {"html": f"<p>{forged}</p>\n", "title": "true --> x", "papers": 3})
    pages(tmp_path).send(delivery(quoting), Commit())
    assert "true --&gt; x" in index(tmp_path) and "forged" not in index(tmp_path)
    assert (tmp_path / "ada" / "2026-11-21.html").read_text("utf-8").count("-->") == 2


@given(st.text(max_size=300), st.text(max_size=300))
def test_names_of_files_are_safe_and_distinct(one: str, other: str) -> None:
    one, other = (name.encode("utf-8", "replace").decode() for name in (one, other))
    for name in (_file_name(one), _file_name(other)):
        assert name.isascii() and 0 < len(name) < 100 and not name.startswith(".")
        assert not set(name) & set('/\\:*?"<>|')
    assert (_file_name(one) == _file_name(other)) == (one == other)


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "..", "index.html", "a/b", "C:\\x"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    assert send(pages(folder), digest(subscription=name, period=name)).state is DeliveryState.SENT
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")} == {"out"}
    assert (folder / "index.html").is_file()
    assert len([path for path in folder.rglob("*.html") if path.is_file()]) == 2


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    elsewhere = tmp_path / "elsewhere"
    for made in (folder, elsewhere):
        made.mkdir()
    (elsewhere / "2026-11-21.html").write_text("theirs")
    (folder / "ada").symlink_to(elsewhere)
    ours = pages(folder)
    long = planned(ours, digest(700, full=1))
    assert long.rendered.body["more"]
    for sent in (planned(ours), long):
        outcome = ours.send(sent, Commit())
        assert outcome.state is DeliveryState.RETRY and outcome.channel_down
        assert f"{folder / 'ada'} is a link" in outcome.error
    assert [path.name for path in elsewhere.iterdir()] == ["2026-11-21.html"]
    assert (elsewhere / "2026-11-21.html").read_text() == "theirs"


def test_a_page_that_is_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    elsewhere = tmp_path / "theirs.html"
    elsewhere.write_text("theirs")
    elsewhere.chmod(0o777)
    (folder / "ada").mkdir(parents=True)
    (folder / "ada" / "2026-11-21.html").symlink_to(elsewhere)
    assert send(pages(folder)).state is DeliveryState.SENT
    assert elsewhere.read_text() == "theirs"
    assert (folder / "ada" / "2026-11-21.html").lstat().st_mode & 0o777 == 0o600


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    assert send(pages(tmp_path / "out")).state is DeliveryState.SENT
    assert (tmp_path / "disk" / "ada" / "2026-11-21.html").is_file()


def test_the_hand_off_is_committed_before_the_page_stands(tmp_path: Path) -> None:
    ours = pages(tmp_path)
    sent = planned(ours)

    def commit() -> bool:
        assert not ours.page(sent).exists()
        [draft] = ours.page(sent).parent.iterdir()
        assert b"Paper 2" in draft.read_bytes()
        return True

    assert ours.send(sent, commit).state is DeliveryState.SENT


def test_a_full_disk_is_the_channels_fault_and_leaves_the_old_page(tmp_path: Path) -> None:
    ours = pages(tmp_path)
    send(ours)
    old = ours.page(planned(ours)).read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        outcome = send(ours, digest([entry(1, "x" * 5_000)]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert "File too large" in outcome.error and "2026-11-21.html" in outcome.error
    assert ours.page(planned(ours)).read_bytes() == old
    assert len(list((tmp_path / "ada").iterdir())) == 1


def test_a_page_stands_even_when_the_index_cannot_be_made(tmp_path: Path) -> None:
    class Broken(JinjaTemplates):
        def render(self, name: str, **values: Any) -> str:
            raise TemplateError("web/index.html.j2:3: unexpected end")

    outcome = send(pages(tmp_path, Broken()))
    assert outcome.state is DeliveryState.SENT
    assert "web/index.html.j2:3" in outcome.error
    assert (tmp_path / "ada" / "2026-11-21.html").is_file()


def test_K05_what_became_of_a_page_is_seen_from_the_file(tmp_path: Path) -> None:
    ours = pages(tmp_path)
    sent = planned(ours, state=DeliveryState.UNKNOWN)
    found = [ours.reconcile(sent)]
    ours.send(sent, Commit())
    found.append(ours.reconcile(sent))
    os.truncate(ours.page(sent), 10)
    found.append(ours.reconcile(sent))
    states = [outcome and outcome.state for outcome in found]
    assert states == [DeliveryState.RETRY, DeliveryState.SENT, DeliveryState.RETRY]
