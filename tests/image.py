"""The image, built by buildah on a base made by debootstrap, and run: part of `make walk`.

The base stands in for the one that the Dockerfile names: Debian's own Python, of the same version.
Packages are fetched before, so that the build needs no network. Without root or a tool it says
what did not run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE = "docker.io/library/python:3.11-slim-bookworm"
PACKAGES = "ca-certificates,python3,python3-pip,python3-venv,python-is-python3"
TOOLS = ("buildah", "debootstrap")
# Feeds that somebody moves in with, each of a host of its own, and the processes that a container
# allowed until 0.2.0, of which threads are some.
FEEDS = 150
PROCESSES = 128
# As the service's user: a demo, its pages, what the health check asks, and an end by SIGTERM.
SCRIPT = """
set -ex
export PAPER_MONITOR_CONFIG=/data/demo/monitor.yaml
test "$(id -u)" = 10001
test ! -w /opt/paper-monitor
paper-monitor --version | grep "(commit $(echo "$COMMIT" | cut -c -12))"
paper-monitor demo > /dev/null
echo "web: {listen: 127.0.0.1:8080}" >> $PAPER_MONITOR_CONFIG
paper-monitor serve 2> log & serve=$!
page="import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz')"
for second in $(seq 60); do
    python -c "$page" 2> error && break
    sleep 1
done
python -c "$page"
paper-monitor doctor --alive
kill $serve
wait $serve
"""
MOVING_IN = f"""
set -ex
mkdir /data/moved && cd /data/moved
cat > feeds.py << 'EOF'
import http.server, sys
FEED = '<rss version="2.0"><channel><title>F</title><item><title>Sand Moves by %s</title>'
FEED += '<guid>%s</guid></item></channel></rss>'
LINE = '<outline type="rss" text="Feed %d" xmlUrl="http://127.0.1.%d:9001/feed.xml"/>'
class Feeds(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        host = self.headers["Host"]
        body = (FEED % (host, host)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *parts):
        pass
lines = "".join(LINE % (number, number) for number in range(1, {FEEDS} + 1))
open("feeds.opml", "w").write('<opml version="2.0"><body>' + lines + "</body></opml>")
server = http.server.ThreadingHTTPServer(("0.0.0.0", 9001), Feeds)
print("ready", flush=True)
server.serve_forever()
EOF
python feeds.py > ready & feeds=$!
until grep ready ready; do sleep 1; done
paper-monitor init --opml feeds.opml .
sed -i 's/, title: Feed/, allow_private: true&/' monitor.yaml
export PAPER_MONITOR_CONFIG=/data/moved/monitor.yaml
paper-monitor check
limited="import os, resource; resource.setrlimit(resource.RLIMIT_NPROC, ({PROCESSES},) * 2); "
limited="$limited os.execvp('paper-monitor', ['paper-monitor', 'serve'])"
python -c "$limited" 2> log & serve=$!
read_all="import json, sys; s = json.load(sys.stdin)['sources']; "
read_all="$read_all sys.exit(sum(x['outcome'] == 'ok' for x in s) < {FEEDS})"
for second in $(seq 120); do
    paper-monitor status --json > status.json || true
    python -c "$read_all" < status.json && break
    sleep 1
done
python -c "$read_all" < status.json
kill -0 $serve
test -z "$(grep -i "can't start new thread" log)"  # "!" would hide a failure from set -e
kill $serve
wait $serve
kill $feeds
"""


# From an empty folder over the demo to the service, as the image's own command does it.
FIRST_START = """
set -ex
mkdir /data/closed /data/first && chmod 500 /data/closed && cd /data/first
first="paper-monitor serve --first-start 0.0.0.0:8080"
PAPER_MONITOR_CONFIG=/data/closed/monitor.yaml $first 2> /tmp/refused || status=$?
test $status = 1
grep "/data/closed cannot be written.*10001:10001" /tmp/refused
export PAPER_MONITOR_CONFIG=/data/first/monitor.yaml
$first 2> /tmp/log & serve=$!
await() { for second in $(seq 240); do "$@" > /tmp/answer 2>&1 && return; sleep 1; done; false; }
shows="import sys, urllib.request as r; page = r.urlopen('http://127.0.0.1:8080/').read().decode()"
shows="$shows; sys.exit(sys.argv[1] not in page)"
await python -c "$shows" "This is the demo"
paper-monitor doctor --alive
test "$(stat --format %u%a monitor.yaml)" = 10001600
echo "topcis: {}" >> monitor.yaml
await grep "topcis.*configuration not applied" /tmp/log
python -c "$shows" "This is the demo"
sed -i -e /topcis/d -e "s/daily 08:00/weekdays 08:00/" monitor.yaml
await grep '"event": "serving"' /tmp/log
await python -c "$shows" "Log in"
await paper-monitor doctor --alive
test ! -e .first-start
grep '"command": "paper-monitor web login"' /tmp/log
test -z "$(grep token= /tmp/log)"
kill $serve
wait $serve
"""


class ImpossibleError(Exception):
    """This machine cannot build images: the message says what failed."""


def build(folder: Path) -> None:
    """Build the image and run it; raises CalledProcessError, and ImpossibleError."""
    storage = folder / "storage.conf"
    storage.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n'
    )
    environment = {
        **os.environ,
        "BUILDAH_ISOLATION": "chroot",
        "CONTAINERS_STORAGE_CONF": str(storage),
    }

    def run(*command: object) -> str:
        words = [str(word) for word in command]
        print(" ".join(words)[:150], flush=True)
        ran = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True)
        if ran.returncode:
            print(ran.stdout[-4000:], ran.stderr[-4000:])
            ran.check_returncode()
        return ran.stdout.strip()

    base = folder / "base"
    packages = folder / "packages"
    source = folder / "source"
    try:
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", base)
        run("tar", "--directory", base, "--create", "--file", folder / "bare.tar", ".")
        container = run("buildah", "from", "scratch")
        run("buildah", "add", container, folder / "bare.tar", "/")
        run("buildah", "run", container, "--", "true")
    except subprocess.CalledProcessError as fault:
        raise ImpossibleError(" ".join(map(str, fault.cmd[:2]))) from fault
    for names in ("build", "image"):
        required = ("--require-hashes", "--requirement", ROOT / f"requirements/{names}.txt")
        run(sys.executable, "-m", "pip", "download", "--no-deps", "--dest", packages, *required)
    run("buildah", "run", container, "--", "sh", "-c", "rm /usr/lib/python3*/EXTERNALLY-MANAGED")
    (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /packages\n")
    run("buildah", "add", container, folder / "pip.conf", "/etc/")
    run("buildah", "commit", container, BASE)
    run("git", "clone", "--quiet", ROOT, source)
    commit = run("git", "-C", source, "rev-parse", "HEAD")
    build = ("buildah", "bud", "--pull-never", "--volume", f"{packages}:/packages:ro")
    run(*build, "--build-arg", f"COMMIT={commit}", "--tag", "paper-monitor", source)
    container = run("buildah", "from", "--pull-never", "localhost/paper-monitor")
    run("buildah", "run", "--env", f"COMMIT={commit}", container, "--", "sh", "-c", SCRIPT)
    run("buildah", "run", container, "--", "sh", "-c", FIRST_START)
    run("buildah", "run", container, "--", "sh", "-c", MOVING_IN)


def main() -> int:
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing or os.geteuid():
        needed = f"{' and '.join(missing)}" if missing else "root"
        print(f"THE IMAGE WAS NOT BUILT: this needs {needed}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            build(Path(folder))
        except ImpossibleError as fault:
            print(f"THE IMAGE WAS NOT BUILT: {fault} failed")
            return 0
    print("The image was built, and runs.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
