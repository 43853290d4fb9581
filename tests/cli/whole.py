"""The command line with all of its commands loaded."""

from __future__ import annotations

from typing import Any

from typer.main import get_command

from monitor.cli import LazyCommand, app


def whole(group: Any = None) -> Any:
    """Return the group of all commands, or another one, with their parameters."""
    group = group or get_command(app)
    for name, command in group.commands.items():
        loaded = command.load() if isinstance(command, LazyCommand) else command
        group.commands[name] = whole(loaded) if hasattr(loaded, "commands") else loaded
    return group
