"""`serve` on a store that reaches a limit on the size of files, and is given room again."""

from __future__ import annotations

import resource
import threading

from tests.house import AGENTS, FOLDING, House, dump
from tests.patience import PATIENCE, wait
from tests.servers.smtp import ScriptedSmtp
from tests.service.serve import serve


def test_K10_a_service_stops_sending_at_a_limit_and_goes_on_by_itself(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port)
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.settings["topics"]["all"] = {"query": "agents OR folding"}
    house.add("1.txt", AGENTS)
    process = serve(house, 0.1)
    log: list[str] = []
    assert process.stderr is not None
    reader = threading.Thread(target=log.extend, args=(process.stderr,))
    reader.start()
    try:
        wait(lambda: len(smtp.received) == 1)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
        wait(lambda: any("a limit on the size of files is reached" in line for line in log))
        (house.folder / "more").mkdir()
        (house.folder / "more" / "2.txt").write_text(dump(FOLDING))
        house.settings["sources"]["more"] = {"kind": "huggingface-page", "path": "more/*.txt"}
        house.write()  # a new source is read as soon as there is room
        at_limit = [*log]  # a write that fails while there is room again finds no limit to name
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        wait(lambda: len(smtp.received) == 2, seconds=180)
    finally:
        process.terminate()
        status = process.wait(PATIENCE)
        reader.join(PATIENCE)
        process.stderr.close()
    assert status == 0
    assert not any("restore a backup" in line for line in at_limit)
    assert [FOLDING[0].encode() in mail.content for mail in smtp.received] == [False, True]
