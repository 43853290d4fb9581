from __future__ import annotations

from pathlib import Path

from tests.pipeline.recorded_digests import compose_all, recorded


def test_digests_have_the_recorded_papers_order_marks_and_html(tmp_path: Path) -> None:
    composed = compose_all(tmp_path)
    changed = {
        name: [key for key in facts if facts[key] != recorded().get(name, {}).get(key)]
        for name, facts in composed.items()
        if facts != recorded().get(name)
    }
    assert not changed
    assert composed.keys() == recorded().keys()
