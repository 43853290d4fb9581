"""Runs the migrations on the connection that `monitor.store.engine.migrate` hands over.

Its transaction is begun and committed there, so that all migrations are one step.
"""

from alembic import context

from monitor.store.engine.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)

with context.begin_transaction():
    context.run_migrations()
