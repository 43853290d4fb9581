"""Imports what a run of the program imports, so that a fork of this process need not."""

import gc
from importlib import import_module

MODULES = """
alembic.command
encodings.idna
monitor.app
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

gc.freeze()  # a collection in a fork would copy every page that it looks at
