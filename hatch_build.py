"""What wheels and sdists say of where they are from: their commit, and the project's addresses."""

from __future__ import annotations

import os
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class CommitHook(BuildHookInterface[Any]):
    """Pack the commit as `monitor/commit.txt`, without writing it into the source tree.

    An editable installation reads it from git each time, so that it is never an old one.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        module = runpy.run_path(str(Path(self.root, "monitor/commit.py")))
        # The image is built without the repository, and gets the commit as an argument.
        commit = module["find_commit"]() or os.environ.get("PAPER_MONITOR_COMMIT", "")
        if commit and version != "editable":
            self.folder = tempfile.TemporaryDirectory()
            file = Path(self.folder.name, module["BUILT_FROM"].name)
            file.write_text(f"{commit}\n", encoding="utf-8")
            build_data["force_include"][str(file)] = f"monitor/{file.name}"


# The target of a picture or link that is in the repository.
_TARGET = re.compile(r"(?P<before>(?P<sign>!?)\[[^\]]*\]\()(?P<path>(?![a-z]+:|#)[^)\s]+)")


class AddressHook(MetadataHookInterface):
    """Fill in `project.urls` where a workflow builds: each fork names itself.

    The README then has pictures and links that also lead there from PyPI. An sdist keeps both, so
    that a wheel built from it has them, too.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("GITHUB_REPOSITORY")
        metadata["urls"] = {}
        if repository:
            url, tag = f"{os.environ['GITHUB_SERVER_URL']}/{repository}", f"v{metadata['version']}"
            metadata["urls"] = {
                "Repository": url,
                "Documentation": f"{url}/tree/{tag}/docs",
                "Changelog": f"{url}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{url}/issues",
            }
            readme = _with_addresses(readme, url, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def _with_addresses(readme: str, url: str, tag: str) -> str:
    def address(match: re.Match[str]) -> str:
        kind = "raw" if match["sign"] else "blob"
        return f"{match['before']}{url}/{kind}/{tag}/{match['path']}"

    return _TARGET.sub(address, readme)
