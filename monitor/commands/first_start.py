"""The first start in an empty folder: a configuration is written, and a demo shown until its edit.

Until then `.first-start/` is beside the configuration. `written.yaml` in it is the configuration as
it was written, by which an edit is noticed, also by a later version that would write another one;
`demo/` is the demo.

A container's health check asks where the demo is, so this imports little.
"""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from monitor.config import starter
from monitor.config.content import content
from monitor.errors import MonitorError
from monitor.private_files import create_file, make_folder

# An ext4 file system that is mounted as a volume has it from the beginning.
_NOT_OURS = "lost+found"
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_configuration(target: Path, text: str) -> None:
    """Write a new configuration, beside a folder for its dumps.

    Raises OSError, FileExistsError where there is a configuration.
    """
    make_folder(target.parent / "dumps")
    with create_file(target) as file:
        file.write(text.encode())


@dataclass(frozen=True, slots=True)
class FirstStart:
    """The first start with a configuration that may not be there yet."""

    config: Path

    @property
    def folder(self) -> Path:
        return self.config.absolute().parent / ".first-start"

    @property
    def demo(self) -> Path:
        return self.folder / "demo"

    @property
    def _written(self) -> Path:
        return self.folder / "written.yaml"

    @property
    def is_due(self) -> bool:
        """Whether it has begun and not ended, or the folder is empty, but for hidden files."""
        return self.has_begun or self._is_in_empty_folder()

    @property
    def has_begun(self) -> bool:
        return self._written.exists()

    def begin(self) -> None:
        """Write the configuration where there is none. Raises MonitorError."""
        if self.config.exists():
            return
        text = starter()
        try:
            make_folder(self.folder)
            self._written.write_text(text, encoding="utf-8")
            write_configuration(self.config, text)
        except OSError as fault:
            user = f"{os.geteuid()}:{os.getegid()}"
            hint = f"let the user {user} write there, or run the container as its owner (--user)"
            raise MonitorError(
                f"{self.folder.parent} cannot be written: {fault.strerror}",
                hint if fault.errno in _REFUSED else "",
            ) from fault

    def is_edited(self) -> bool:
        """Return whether the configuration is no longer the one that was written."""
        return _bytes(self.config) != _bytes(self._written)

    def clear_demo(self) -> None:
        """Remove the demo, also one that a killed process left behind. Raises OSError."""
        if self.demo.exists():
            shutil.rmtree(self.demo)

    def end(self) -> None:
        """Remove all that is left of the first start, which then never comes again."""
        self._written.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_in_empty_folder(self) -> bool:
        folder = self.config.absolute().parent
        return folder.is_dir() and all(
            path.name.startswith(".") or path.name == _NOT_OURS for path in folder.iterdir()
        )


def _bytes(file: Path) -> bytes:
    """Return the content of a file, empty where it cannot be read."""
    try:
        return content(file)
    except OSError:
        return b""


def configuration_in_use(config: Path) -> Path:
    """Return the configuration of the demo while the first start shows it, else `config`."""
    first = FirstStart(config)
    return configuration_of(first.demo) if first.has_begun else config


def configuration_of(demo: Path) -> Path:
    return demo / "monitor.yaml"
