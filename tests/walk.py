"""The pages of the first hours word for word, as a new user types them: `make walk`.

Each page that installs begins in a copy of the checkout with an empty home. Commands run in a
private network and see servers of the tests under the names that the pages write; packages come
from a folder that is filled before. Settings that a page shows are put into the `monitor.yaml` of
the folder, and checked. At the end it lists all that did not run, and why.

With `--wheel FILE` there is no checkout: README and Getting started, with that wheel installed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme
import yaml

from tests.servers.slack import HOOK, TOKEN, SlackServer
from tests.servers.smtp import ScriptedSmtp

ROOT = Path(__file__).parents[1]
README = "README.md"
DOCKER = "docs/docker.md"
RECIPES = "docs/recipes.md"
# Each installs, and the pages after it are read with that installation.
FIRST_HOUR = (README, "docs/getting-started.md")
PAGES = (README, DOCKER, "docs/getting-started.md", "docs/upgrading.md", RECIPES)
# One that is not private: sources refuse private addresses. Caddy's is that of its recipe.
ADDRESS = "11.0.0.1"
CADDY = "172.30.57.2"
HOSTS = (
    *("smtp.example.org", "smtp.gmail.com", "slack.com", "hooks.slack.com", "www.nature.com"),
    *("rss.arxiv.org", "oaipmh.arxiv.org", "export.arxiv.org", "huggingface.co"),
)
# What is typed where a page waits for it; README assumes that it was.
TYPED = {
    "SMTP_PASSWORD": "a password",
    "SLACK_BOT_TOKEN": TOKEN,
    "SLACK_WEBHOOK": f"https://hooks.slack.com{HOOK}",
}
SECRETS = {"PROXY_SECRET": "a-secret-of-the-proxy-and-the-pages", "WEB_TOKEN": "a" * 32}
TIMEOUT = 600  # seconds for a command, far beyond what one takes on a busy machine
LEFT_OUT = (
    (r"make (test|check|bench|faults)\b", "takes long; CI runs it, or you do"),
    (r"sudo\b|systemctl\b", "changes the machine"),
    (r"docker\b", "there is no Docker here"),
    (r"git\b.* pull\b", "there is no newer version"),
)
# What a container runs in its folder /data, which is `data` beside the Compose file.
IN_CONTAINER = re.compile(
    r"docker compose (?:exec|run)(?: -T| --rm| --env \S+)* paper-monitor (?:paper-monitor )?(.+)"
)
SERVE = """
rm -f ~/serve.out  # of a service before this one
{command} > ~/serve.out 2>&1 & service=$!
for _ in $(seq {seconds}); do
    grep -q '"event": "pages served"' ~/serve.out && break
    kill -0 $service 2>/dev/null || break
    sleep 1
done
kill -TERM $service
wait $service
status=$?
grep -q '"event": "pages served"' ~/serve.out || status=1
cat ~/serve.out
exit $status
"""
STARTS = re.compile(r"docker compose up -d\b")
COMPOSE_PARTS = {"services", "networks"}
WITHOUT = {"PostgreSQL": "there is no PostgreSQL here"}
# What a page does in a clone, for those who have a wheel alone: in place of a whole line, or of the
# words that install the clone.
DEMO_WITH_WHEEL = (
    "python3 -m venv .venv",
    ".venv/bin/pip install --quiet {wheel}",
    ".venv/bin/paper-monitor demo demo",
)
INSTALLS = re.compile(r"\bpip install \.(?=\s|$)")
FEED = """<rss version="2.0"><channel><title>Feed</title><lastBuildDate>{day}</lastBuildDate>
<pubDate>{day}</pubDate><item><title>A language model agent for grasping robots</title>
<link>https://example.org/1</link><description>An LLM agent.</description>
<pubDate>{day}</pubDate></item></channel></rss>"""
DAILY_PAPER = {
    "id": "2611.00001",
    "title": "A language model agent for folding laundry",
    "summary": "An LLM agent that folds laundry. It is trained with reinforcement learning.",
    "authors": [{"name": "Ada Lovelace"}],
}


@dataclass
class Step:
    """A line for the shell, or settings to put into a file; `section` is the heading above."""

    section: str
    line: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    file: str = ""


def steps_of(page: str) -> Iterator[Step]:
    """Yield what a page tells its reader to type and to write."""
    section = ""
    before = ""
    lines = iter(page.splitlines())
    for line in lines:
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif line.startswith("```"):
            block = "\n".join(iter(lambda: next(lines, "```"), "```"))
            if line == "```yaml":
                named = re.search(r"[Ii]n `([\w/.-]+\.yaml)`", before)
                yield Step(section, settings=yaml.safe_load(block), file=named[1] if named else "")
        elif line.startswith("    "):
            command = line.strip()
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            yield Step(section, command)
        if line:
            before = line


def merge(into: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    for name, value in more.items():
        both = isinstance(value, dict) and isinstance(into.get(name), dict) and "kind" not in value
        into[name] = merge(into[name], value) if both else value
    return into


@dataclass
class Walk:
    """A reader of one page: the folder they are in and the environment of their shell."""

    work: Path
    environment: dict[str, str]
    wheel: Path | None = None
    failed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.work / "home"
        self.home.mkdir(parents=True)
        self.checkout = self.work / "checkout"
        ignored = shutil.ignore_patterns(
            *(".venv*", ".git", ".node", ".hypothesis", "demo", "data", ".*_cache"), "__pycache__"
        )
        if self.wheel:
            self.checkout.mkdir()
        else:
            shutil.copytree(ROOT, self.checkout, ignore=ignored)
        self.environment |= {"HOME": str(self.home)}
        self.go(self.checkout)

    def go(self, folder: Path) -> None:
        (self.work / "cwd").write_text(str(folder))

    @property
    def folder(self) -> Path:
        return Path((self.work / "cwd").read_text().strip())

    def run(self, line: str, written: str = "") -> None:
        """Run a line in the folder and with the variables that the ones before it left."""
        written = written or line
        waits_for = re.match(r"read -rs (\w+)", line)
        state = self.work / "state"
        cwd = self.work / "cwd"
        script = f'. {state} 2>/dev/null; cd "$(cat {cwd})"\n{line}\nstatus=$?\n'
        script += f"pwd > {cwd}; export -p > {state}; exit $status"
        started = time.monotonic()
        try:
            done = subprocess.run(
                ["bash", "-c", script],
                env=self.environment,
                input=f"{TYPED[waits_for[1]]}\n" if waits_for else "",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
            status = done.returncode
            said = done.stdout
        except subprocess.TimeoutExpired:
            status = -1
            said = f"did not end in {TIMEOUT} seconds"
        print(f"{'ok  ' if not status else 'FAIL'} {time.monotonic() - started:5.1f} s  {written}")
        if status:
            self.failed.append(written)
            print(f"{said}\nstatus {status}", flush=True)

    def type(self, line: str) -> None:
        """Run a line of a page: services until they serve, what a container runs without it."""
        if container := IN_CONTAINER.match(line):
            words = container[1].replace("/data/", "./")
            # The line may end with a comment.
            self.run(f"(cd data && paper-monitor {words}\n)", f"{line}   # without a container")
        elif STARTS.match(line):
            self.serve("cd data\npaper-monitor serve", f"{line}   # without a container")
        elif why := next((why for pattern, why in LEFT_OUT if re.match(pattern, line)), ""):
            self.left_out.append(f"{line}: {why}")
        elif self.wheel and (commands := self._with_wheel(line)):
            for command in commands:
                self.run(command)
        elif re.match(r"\S*paper-monitor serve\b", line):
            self.serve(line.split(" #")[0], line)
        elif " docs/examples/" in line:
            self.run(f"(cd {self.checkout} && {line})", line)
        else:
            self.run(line)

    def _with_wheel(self, line: str) -> list[str]:
        """Return what stands for a line of a clone where there is a wheel alone."""
        if line.startswith("make demo"):
            return [command.format(wheel=self.wheel) for command in DEMO_WITH_WHEEL]
        installs = INSTALLS.search(line)
        return [INSTALLS.sub(f"pip install --quiet {self.wheel}", line)] if installs else []

    def serve(self, command: str, written: str) -> None:
        """Start a service, and end it as soon as its pages are served."""
        self.run(f"({SERVE.format(command=command, seconds=TIMEOUT // 2)})", written)

    def write(self, settings: dict[str, Any], file: str, *, replace: bool) -> None:
        """Put settings into a file, monitor.yaml by default, and check it."""
        path = self.folder / (file or "monitor.yaml")
        known = yaml.safe_load(path.read_text()) if path.exists() and not replace else {}
        path.write_text(yaml.safe_dump(merge(known, settings), sort_keys=False))
        self.run(f"paper-monitor check --config {path}")

    def page(self, name: str, *, apart: bool) -> None:
        """Follow a page; with `apart`, each section in a folder that `init` made."""
        section = ""
        for step in steps_of((ROOT / name).read_text(encoding="utf-8")):
            if apart and step.section != section and not step.line.startswith("sudo"):
                section = step.section
                print(f"== {section}")
                self.go(self.checkout if step.line == "mkdir data" else self.home)
                if step.line != "mkdir data":
                    folder = re.sub(r"\W+", "-", section).lower()
                    self.run(f"paper-monitor init {folder} && cd {folder}")
            if step.settings.keys() & COMPOSE_PARTS:  # for `check_files`
                continue
            if step.section in WITHOUT:
                self.left_out.append(f"{step.line or step.settings}: {WITHOUT[step.section]}")
            elif step.line:
                self.type(step.line)
            else:
                self.write(step.settings, step.file, replace=apart and not step.file)


class Web(BaseHTTPRequestHandler):
    """Slack for slack.com, a paper a day for huggingface.co, for the other names a feed.

    Of arXiv's archive it says that it is empty.
    """

    slack: SlackServer

    def do_GET(self) -> None:
        day = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
        body = FEED.format(day=day)
        if "oai" in self.headers["Host"]:
            body = '<OAI-PMH><error code="noRecordsMatch">none</error></OAI-PMH>'
        if self.headers["Host"] == "huggingface.co":
            [day] = parse_qs(urlsplit(self.path).query)["date"]
            paper = DAILY_PAPER | {"id": f"2611.{day[8:]:0>5}", "publishedAt": f"{day}T08:00:00Z"}
            self._answer(200, json.dumps([{"paper": paper}]).encode(), "application/json")
            return
        self._answer(200, body.encode(), "application/xml")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        to_slack = http.client.HTTPConnection(urlsplit(self.slack.base_url).netloc)
        to_slack.request("POST", self.path, body, dict(self.headers))
        answer = to_slack.getresponse()
        self._answer(answer.status, answer.read(), "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def network(folder: Path) -> Iterator[tuple[SlackServer, ScriptedSmtp]]:
    """Let the names of the pages lead to servers of the tests; only in a network of one's own."""
    for command in (
        "link set lo up",
        f"addr add {ADDRESS}/32 dev lo",
        f"addr add {CADDY}/32 dev lo",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    names = f"127.0.0.1 localhost\n{ADDRESS} {' '.join(HOSTS)}\n"
    names += f"{CADDY} paper-monitor papers.example.org\n"
    for file, text in (("/etc/hosts", names), ("/etc/resolv.conf", "nameserver 127.0.0.1\n")):
        (folder / Path(file).name).write_text(text)
        subprocess.run(["mount", "--bind", folder / Path(file).name, file], check=True)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*HOSTS).configure_cert(context)
    offered = ("STARTTLS", "AUTH PLAIN LOGIN", "8BITMIME")
    with ExitStack() as stack:
        slack = stack.enter_context(SlackServer())
        smtp = ScriptedSmtp(offered, context, address=(ADDRESS, 587))
        stack.enter_context(smtp)
        web = ThreadingHTTPServer((ADDRESS, 443), type("To", (Web,), {"slack": slack}))
        web.socket = context.wrap_socket(web.socket, server_side=True)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        stack.callback(web.shutdown)
        yield slack, smtp


CADDY_SCRIPT = """
echo "ada@example.org $(caddy hash-password --plaintext secret)" > users
paper-monitor serve --config {checkout}/data/monitor.yaml & pages=$!
PAPERS_HOST=http://papers.example.org caddy run --config Caddyfile & proxy=$!
trap "kill $pages $proxy; wait" EXIT
expect() {{  # expect STATUS ARGUMENTS OF CURL
    status=$1; shift
    got=$(curl --silent --output /dev/null --write-out "%{{http_code}}" "$@")
    [ "$got" = "$status" ] || {{ echo "$* was answered with $got, not $status"; exit 1; }}
}}
expect 200 --retry 30 --retry-delay 1 --retry-all-errors http://papers.example.org/healthz
expect 401 http://papers.example.org/
expect 401 --header "Remote-User: ada@example.org" http://papers.example.org/
expect 200 --user ada@example.org:secret http://papers.example.org/
expect 403 --header "Remote-User: ada@example.org" http://papers.example.org:8080/
expect 200 http://papers.example.org/robots.txt
expect 401 http://papers.example.org/metrics
expect 200 --header "Authorization: Bearer $WEB_TOKEN" http://papers.example.org/metrics
"""


def behind_caddy(walk: Walk) -> Path:
    """Write a script that logs in to the pages of the recipe, as it is but for https."""
    folder = walk.home / "caddy"
    folder.mkdir()
    shutil.copy(ROOT / "docs/examples/Caddyfile", folder)
    script = folder / "walk.sh"
    script.write_text(f"cd {folder}{CADDY_SCRIPT.format(checkout=walk.checkout)}")
    return script


def check_files(walk: Walk) -> None:
    """Check the Compose files, the unit and the rules with the tools of those who read them."""
    scripts = Path(sys.executable).parent
    os.chdir(walk.checkout)
    (walk.checkout / "data").mkdir(exist_ok=True)
    walk.go(walk.checkout)
    if not shutil.which("podman"):  # `config` asks for its version alone
        (walk.home / "podman").write_text("#!/bin/sh\necho podman version 5.0.0\n")
        (walk.home / "podman").chmod(0o755)
    variables = "DB_PASSWORD=a PROXY_SECRET=b PAPERS_HOST=papers.example.org"
    for overlay in ("compose.yaml", "compose.scale.yaml", "compose.yaml compose.proxy.yaml"):
        files = " ".join(f"--file {file}" for file in overlay.split())
        command = f"{scripts}/podman-compose {files} config"
        walk.run(f"{variables} PATH=$PATH:{walk.home} {command} > config.out")
    written = [*walk.checkout.glob("compose*.yaml")]
    for page in ("docs/docker.md", "docs/scale.md", "docs/recipes.md"):
        for step in steps_of((ROOT / page).read_text(encoding="utf-8")):
            if step.settings.keys() & COMPOSE_PARTS:
                written.append(walk.home / f"{Path(page).stem}-{len(written)}.yaml")
                written[-1].write_text(yaml.safe_dump(step.settings))
    schema = f"{scripts}/check-jsonschema --builtin-schema vendor.compose-spec"
    walk.run(
        f"{schema} {' '.join(map(str, written))}", f"the schema of Compose: {len(written)} files"
    )
    examples = ROOT / "docs/examples"
    for program, command in (
        ("systemd-analyze", f"systemd-analyze verify {examples}/paper-monitor.service"),
        (
            "systemd-analyze",
            "XDG_RUNTIME_DIR=~ systemd-analyze --user verify ~/.config/systemd/user/*.service",
        ),
        ("promtool", f"promtool check rules {examples}/alerts.yml"),
        ("caddy", f"bash {behind_caddy(walk)}"),
    ):
        if shutil.which(program):
            walk.run(f"{command} > check.out")
        else:
            walk.left_out.append(f"{command}: {program} is not installed")


def inside(folder: Path, wheels: Path, wheel: Path | None) -> int:
    """Walk the pages in the private network; return how many commands failed."""
    failed: list[str] = []
    left_out: list[str] = []
    with network(folder) as (slack, smtp):
        environment = SECRETS | {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheels),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_COMPILE": "0",  # thousands of modules; those that are imported are compiled then
            "SSL_CERT_FILE": str(folder / "ca.pem"),
        }
        walk = None
        for number, page in enumerate(FIRST_HOUR if wheel else PAGES):
            print(f"== {page}")
            if page in FIRST_HOUR:
                typed = TYPED if page == README else {}
                walk = Walk(folder / str(number), environment | typed, wheel)
            assert walk
            if page == DOCKER:
                walk.go(walk.checkout)
            walk.page(page, apart=page == RECIPES)
            if page == README and not smtp.received:
                failed.append(f"{page}: no mail arrived")
            failed = failed + walk.failed
            left_out = left_out + walk.left_out
            walk.failed = []
            walk.left_out = []
        assert walk
        if not wheel:
            (walk.home / "opt/paper-monitor").parent.mkdir()
            (walk.home / "opt/paper-monitor").symlink_to(walk.home / ".local/paper-monitor")
            subprocess.run(["mount", "--bind", walk.home / "opt", "/opt"], check=True)
            check_files(walk)
            failed = failed + walk.failed
            left_out = left_out + walk.left_out
        print(
            f"\nThe mail server got {len(smtp.received)} mails, Slack {len(slack.posts)} messages."
        )
        if not (smtp.received and (wheel or slack.posts)):
            failed.append("nothing arrived by mail or in Slack")
    print("\nDid not run:", *(left_out or ["nothing"]), sep="\n  ")
    print("\nFailed:", *(failed or ["nothing"]), sep="\n  ")
    return len(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description="The pages, as a new user types them.")
    parser.add_argument(
        "--wheel", type=Path, metavar="FILE", help="with this wheel, without a clone"
    )
    parser.add_argument("--inside", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    wheel: Path | None = arguments.wheel and arguments.wheel.resolve(strict=True)
    if arguments.inside:
        return bool(inside(*arguments.inside, wheel))
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder) / "wheels"
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", wheels]
        subprocess.run([*pip, str(wheel or ROOT), "hatchling>=1.26", "editables"], check=True)
        for own in wheels.glob("paper_monitor-*"):
            own.unlink()
        apart = ["unshare", "--map-root-user", "--net", "--mount", "--kill-child"]
        if not shutil.which("unshare") or subprocess.run([*apart, "true"], check=False).returncode:
            print("NOTHING WAS WALKED: there is no private network here (unshare)")
            return 0
        again = [sys.executable, "-m", "tests.walk", "--inside", folder, str(wheels)]
        again += ["--wheel", str(wheel)] if wheel else []
        return subprocess.run([*apart, *again], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
