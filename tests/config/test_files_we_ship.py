"""The files that come with Paper Monitor: the starter."""

from __future__ import annotations

from pathlib import Path

from monitor import config


def test_the_starter_works_as_it_is_with_no_environment(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    file.write_text(config.starter(), encoding="utf-8")
    settings = config.load(file, {})

    assert settings.warnings == ()
    assert [(name, one.kind) for name, one in settings.sources.items()] == [
        ("daily-papers", "huggingface")
    ]
    assert [entry.kind for entry in settings.channels.values()] == ["file"]
    assert config.topics_of(settings, settings.subscriptions["me"]) == tuple(settings.topics)


def test_what_is_commented_out_in_the_starter_works_too(tmp_path: Path) -> None:
    lines = config.starter().splitlines()
    section = next(number for number, line in enumerate(lines) if "where papers come from" in line)
    opened = [line.replace("# ", "", 1) if _is_setting(line) else line for line in lines[section:]]
    file = tmp_path / "monitor.yaml"
    file.write_text("\n".join(lines[:section] + opened), encoding="utf-8")
    variables = {"SMTP_PASSWORD": "p", "SLACK_BOT_TOKEN": "t"}
    variables |= {"TEAM_URL": "https://example.org/digests", "PHONE_TOPIC": "papers"}
    settings = config.load(file, variables)

    assert {"daily-papers", "arxiv", "nature", "saved-page"} == set(settings.sources)
    assert settings.sources["saved-page"].options.path == f"{tmp_path}/dumps/*.txt"
    assert settings.subscriptions["me"].email == ("ada@example.org",)
    assert {"webhook", "ntfy"} <= {entry.kind for entry in settings.channels.values()}
    assert settings.smtp is not None
    assert settings.slack is not None
    assert settings.operator is not None


def _is_setting(line: str) -> bool:
    text = line.strip().removeprefix("# ").lstrip()
    return line.strip().startswith("# ") and text.split(" ")[0].endswith(":")
