"""Every page that a crawler finds is valid HTML, by the Nu Html Checker (npm's `vnu-jar`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.web.attack import ADA, BOB, served
from tests.web.crawling import html_pages
from tests.web.test_accessibility import WRONG

ROOT = Path(__file__).parents[2]
# Where `npm install --prefix .node vnu-jar` puts it.
JAR = Path(os.environ.get("VNU_JAR") or ROOT / ".node/node_modules/vnu-jar/build/dist/vnu.jar")


@pytest.mark.skipif(
    not (shutil.which("java") and JAR.exists()),
    reason="HTML IS NOT CHECKED: java or the vnu.jar of npm's vnu-jar is missing",
)
def test_every_page_is_valid_html(tmp_path: Path) -> None:
    """Mails, which have mark-up for Outlook, are left out."""
    folder = tmp_path / "html"
    folder.mkdir()
    addresses: dict[str, str] = {}
    (tmp_path / "site").mkdir()
    with served(tmp_path / "site", is_public=True) as site:
        for user in (ADA, BOB, ""):
            headers = site.proxied(user) if user else {}
            for address, text in html_pages(site, headers, map(site.fill, WRONG)).items():
                if "as=mail" not in address:
                    file = folder / f"{len(addresses)}.html"
                    file.write_text(text, encoding="utf-8")
                    addresses[file.name] = f"{user} {address}"
    command = ["java", "-jar", str(JAR), "--format", "json", "--stdout", "--exit-zero-always"]
    checked = subprocess.run([*command, str(folder)], capture_output=True, check=True)
    faults = {
        f"{addresses[Path(fault['url']).name]}: {fault['message']}"
        for fault in json.loads(checked.stdout)["messages"]
    }
    assert faults == set() and len(addresses) > 100
