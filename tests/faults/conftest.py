from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.scenes import Stage, stage


@pytest.fixture(scope="session")
def receivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("faults")) as opened:
        yield opened
