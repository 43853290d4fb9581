"""`check`, `config` and the start of the program, with webhooks and without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Say
from tests.house import House

URL = "https://example.org/hooks/a-secret-path"


def with_template(house: House, text: str) -> None:
    folder = house.folder / "own" / "webhook"
    folder.mkdir(parents=True)
    (folder / "mine.json.j2").write_text(text)
    house.settings["templates"] = "own"
    house.settings["channels"]["team"] = {"kind": "webhook", "url": URL, "template": "mine"}
    house.settings["subscriptions"]["lab"]["channels"] = ["team"]


def test_check_renders_a_template_of_ones_own(house: House, say: Say) -> None:
    with_template(house, '{"text": "{{ (notice or digest)|markdown|join(" ") }}"}')
    assert say("check", "--json").status == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"text": "{{ digest.heading }}"}', "'None' has no attribute 'heading'"),
        ('{"text": {{ (notice or digest)|markdown|first }} }', "its output is not JSON"),
        ('{{ "text"|tojson }}', "its output should be a JSON object, or a list of some"),
        ("{% if %}", "Expected an expression"),
        ('{"text": {{ data|marked }}}', "No filter named 'marked'"),
    ],
)
def test_check_says_what_is_wrong_with_a_template(
    house: House, say: Say, text: str, fault: str
) -> None:
    with_template(house, text)
    answer = say("check", "--json")
    assert answer.status == 2
    assert [one["message"] for one in answer.json["faults"] if fault in one["message"]]


def test_a_folder_of_templates_that_is_elsewhere_is_looked_for_beside_its_file(
    house: House, say: Say
) -> None:
    with_template(house, "{}")
    house.settings["channels"]["team"]["template"] = "min"
    [fault] = say("check", "--json").json["faults"]
    assert fault["message"].endswith("did you mean “mine”?")
    assert fault["where"] == "channels.team.template"


def test_the_configuration_shows_no_secret(house: House, say: Say) -> None:
    secret = "whsec_aHVudGVyMi1zaWduaW5nLWlzLW5vdC1zaG93bi1hdC1hbGw="
    hook = {"kind": "webhook", "url": URL, "secret": [secret], "headers": {"X-Key": "hush-hush"}}
    house.settings["channels"]["team"] = hook
    for words in (("config",), ("config", "--json"), ("check",)):
        answer = say(*words)
        for hidden in ("a-secret-path", "aHVudGVy", "hush-hush"):
            assert hidden not in answer.out + answer.err, words


def test_without_a_webhook_nothing_of_it_is_imported(house: House) -> None:
    house.make_due()
    loaded = "import sys; from monitor.cli import main; sys.argv[0] = 'paper-monitor'\n"
    loaded += "try:\n    main()\nfinally:\n    print('monitor.channels.webhook' in sys.modules)"
    house.write()
    for words in (["check"], ["run", "--now", house.clock.at.isoformat()], ["status"]):
        said = _python(house.folder, loaded, *words)
        assert said.strip().endswith("False"), words


def _python(folder: Path, code: str, *words: str) -> str:
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout
