"""Imports and compiles what a run of the program does, so that a fork of this process need not."""

import gc
import logging
import tempfile
import threading
from importlib import import_module
from pathlib import Path

from monitor.log import set_up_logging
from tests.compiled_once import share_compiled
from tests.house import APART, House
from tests.patience import wait
from tests.servers.smtp import ScriptedSmtp

MODULES = """
alembic.command
encodings.idna
monitor.app
monitor.channels.apprise.service
monitor.cli.status
monitor.commands.json_output
monitor.cli.work
monitor.digest.render
monitor.log
monitor.match.index.engine
monitor.commands.status
monitor.service.scheduler
monitor.sources.feed.source
monitor.sources.huggingface_page.source
monitor.store.engine.migrate
monitor.store.restore
psycopg
pydantic.type_adapter
rich.console
rich.table
sqlalchemy.dialects.postgresql.psycopg
sqlalchemy.dialects.sqlite
tests.faults.points
typer._adapters
typer._click.decorators
"""

for name in MODULES.split():
    import_module(name)


def rehearse() -> None:
    """Run an installation that sends a digest, and leave nothing open."""
    set_up_logging(logging.CRITICAL)
    share_compiled()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ScriptedSmtp() as smtp:
        house = House(Path(folder))
        house.by_mail(smtp.port)
        house.make_due()
        house.run(APART)
        assert smtp.received
    wait(lambda: threading.active_count() == 1)


rehearse()
gc.freeze()  # a collection in a fork would copy every page that it looks at
