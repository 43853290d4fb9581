"""The container image, as far as its files tell: no engine is needed."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from monitor.config import load, starter
from monitor.http.request import DEADLINE
from monitor.service.scheduler import STOPS_WITHIN
from tests.audit import report
from tests.cli.conftest import whole

ROOT = Path(__file__).parent.parent
DATA = "/data"
SOURCES = {".py", ".j2", ".txt", ".yaml", ".toml", ".md", ".json", ".jsonl", ".bib"}


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, in order, each with what it is given."""
    text = (ROOT / "Dockerfile").read_text()
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    pairs = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, rest) for name, rest in pairs]


def last(wanted: str) -> str:
    return next(rest for name, rest in reversed(instructions()) if name == wanted)


def copied() -> list[str]:
    """What the image takes from the checkout."""
    given = [rest.split() for name, rest in instructions() if name == "COPY"]
    return [path for words in given if not words[0].startswith("--") for path in words[:-1]]


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a path out of the build: the last line that fits decides."""
    out = False
    for line in (ROOT / ".dockerignore").read_text().split():
        pattern = line.removeprefix("!").removeprefix("**/")
        whole = fnmatch(path, pattern) or fnmatch(path, f"{pattern}/*")
        if whole or (line.startswith("**/") and fnmatch(path, f"*/{pattern}*")):
            out = not line.startswith("!")
    return out


ONE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["paper-monitor"]
MANY: dict[str, Any] = yaml.safe_load((ROOT / "compose.scale.yaml").read_text())["services"]
OURS = [ONE, MANY["serve"], MANY["worker"], MANY["web"]]


def is_command(words: list[str]) -> bool:
    """Whether the command line knows these words: a command, its subcommands, its options."""
    command: Any = whole()
    for word in words:
        options = {
            name for param in command.params for name in (*param.opts, *param.secondary_opts)
        }
        if word.startswith("--"):
            if word not in options:
                return False
        elif word in getattr(command, "commands", ()):
            command = command.commands[word]
        elif hasattr(command, "commands"):
            return False
    return True


def test_the_image_takes_all_that_the_wheel_is_made_of():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    about = ["README.md", *project["project"]["license-files"]]
    needed = {"pyproject.toml", *about, *wheel["packages"], *wheel["force-include"]}
    assert set(copied()) == needed | {"requirements", "hatch_build.py"}


def locked(name: str) -> dict[str, list[str]]:
    """The versions that requirements/ has of each package; each is held to have a hash."""
    text = (ROOT / "requirements" / name).read_text()
    assert not re.search(r"://|--(extra-)?index-url|--find-links", text)
    found: dict[str, list[str]] = {}
    for entry in re.split(r"\n(?=\S)", re.sub(r" *# .*", "", text).strip()):
        first, *hashes = entry.splitlines()
        pinned = re.match(r"([a-z0-9-]+)(?:\[[a-z,]+\])?==(\S+)", first)
        assert pinned, first
        assert any(one.strip().startswith("--hash=sha256:") for one in hashes), first
        found.setdefault(pinned[1], []).append(pinned[2])
    return found


def test_the_image_is_locked_to_what_the_project_needs():
    """After a change of dependencies, `make lock`."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    image = locked("image.txt")
    build = locked("build.txt")
    extras = re.findall(r"--extra (\w+)", (ROOT / "Makefile").read_text())
    assert extras == ["scale", "apprise"]
    optional = [line for extra in extras for line in project["optional-dependencies"][extra]]
    wanted = [*project["dependencies"], *optional]
    for lock, lines in ((image, wanted), (build, pyproject["build-system"]["requires"])):
        for one in map(Requirement, lines):
            versions = lock.get(canonicalize_name(one.name), [])
            assert versions, f"{one.name} is not locked"
            assert all(version in one.specifier for version in versions), one
    assert not {"pytest", "mypy", "pip"} & image.keys()


def test_nothing_is_installed_without_a_hash():
    """But for the wheel that the image builds itself, without a network."""
    runs = [rest for name, rest in instructions() if name == "RUN"]
    installs = [one for run in runs for one in run.split("&&") if re.search(r"\binstall\b.*-", one)]
    pip = [one for one in installs if "pip" in one]
    assert len(pip) == 3
    assert all("--require-hashes" in one or "--no-index" in one for one in pip)
    [wheel] = [one for run in runs for one in run.split("&&") if "pip wheel" in one]
    assert "--no-build-isolation" in wheel


def test_what_is_compiled_stays_so():
    """Nobody can write into the running container: what is not compiled is, at every start.

    So it is compiled where it stays, from sources that nothing changes any more.
    """
    names = [name for name, _ in instructions()]
    final = len(names) - names[::-1].index("FROM")
    user = names.index("USER")
    assert final < user
    build = [rest for name, rest in instructions()[:final] if name == "RUN"]
    run = [rest for name, rest in instructions()[final:user] if name == "RUN"]
    [compiles] = [rest for rest in run if "compileall" in rest]
    assert "paper-monitor demo" in compiles and "rm -r /tmp/demo" in compiles
    assert not any("paper-monitor demo" in rest or "compileall" in rest for rest in build)
    pip = [one for rest in build for one in rest.split("&&") if "pip --python" in one]
    assert len(pip) == 2 and all("--no-compile" in one for one in pip)
    # Some engines round times to whole seconds, others cut them off.
    assert any("-name '*.py' -exec touch --date" in rest for rest in build)
    [imported] = re.findall(r'python -c "import ([^"]*)"', compiles)
    for module in re.split(r",\s*", imported):
        importlib.import_module(module)


def test_the_base_may_be_pinned_and_no_secret_is_in_the_files():
    bases = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert bases == ["${BASE}"] * 2
    argument, *commits = (rest for name, rest in instructions() if name == "ARG")
    assert commits == ['COMMIT=""'] * 2  # for the package, and for the label
    assert argument.startswith("BASE=")
    default = argument.removeprefix("BASE=")
    assert ONE["build"]["args"] == {
        "BASE": f"${{PAPER_MONITOR_BASE:-{default}}}",
        "COMMIT": "${COMMIT:-}",
    }
    for name in ONE["environment"]:
        assert re.fullmatch(r"[A-Z_]+", name), f"{name}: only the name, its value is the user's"


def test_an_audit_without_answers_is_no_good_one(capsys: pytest.CaptureFixture[str]):
    good = {"name": "one", "version": "1", "vulns": []}
    bad = {"name": "two", "version": "2", "vulns": [{"id": "PYSEC-1"}]}
    unknown = {"name": "three", "skip_reason": "not found"}
    assert [report([good]), report([good, bad]), report([good, unknown])] == [0, 1, 2]
    assert report([bad, unknown]) == 1
    assert "two 2: PYSEC-1" in capsys.readouterr().out


def test_the_build_sees_what_it_copies_and_nothing_of_a_working_copy():
    files = [file for path in copied() for file in [ROOT / path, *(ROOT / path).rglob("*.*")]]
    sources = [file.relative_to(ROOT) for file in files if file.suffix in SOURCES]
    assert len(sources) > 100
    assert [path for path in sources if ignored(str(path))] == []
    for stray in (".git/config", ".env", "data/monitor.yaml", "secrets/db_password", ".venv/bin/x"):
        assert ignored(stray)
    assert ignored("monitor/store/__pycache__/schema.pyc")
    assert ignored("seeds/monitor.db-wal")


def test_the_image_runs_a_command_that_exists_as_nobody_special():
    entry = json.loads(last("ENTRYPOINT"))
    command = json.loads(last("CMD"))
    assert entry == ["paper-monitor"]
    assert is_command(command)
    # The demo listens on the port that is published.
    assert command == ["serve", "--first-start", f"0.0.0.0:{last('EXPOSE')}"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last("USER"))  # numbers, and not root's
    assert last("STOPSIGNAL") == "SIGTERM"


def test_health_is_asked_of_the_service_itself():
    timings, _, command = last("HEALTHCHECK").partition("CMD")
    assert json.loads(command) == ["paper-monitor", "doctor", "--alive"]
    assert is_command(["doctor", "--alive"])
    seconds = {name: int(value) for name, value in re.findall(r"--([a-z-]+)=(\d+)", timings)}
    assert seconds["timeout"] < seconds["interval"] <= seconds["start-period"]


def test_all_that_is_written_is_in_the_one_volume(tmp_path: Path):
    assert last("VOLUME") == last("WORKDIR") == DATA
    assert f"PAPER_MONITOR_CONFIG={DATA}/monitor.yaml" in last("ENV")
    [mount] = ONE["volumes"]
    assert mount["target"] == DATA
    # Docker would make the folder as root, and the service could not write to it.
    assert mount["bind"] == {"create_host_path": False}
    file = tmp_path / "monitor.yaml"
    file.write_text(starter())
    settings = load(file)
    paths = [settings.store.removeprefix("sqlite:///"), settings.channels["pages"].options.path]
    assert all(Path(path).is_relative_to(tmp_path) for path in paths)


@pytest.mark.parametrize("service", OURS)
def test_the_service_may_do_no_more_than_it_needs_and_has_time_to_end(service: dict[str, Any]):
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not re.search(r"[:-]0\b", service["user"])
    assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert not {"privileged", "cap_add", "network_mode", "pid"} & service.keys()
    # Pages are published to this machine alone.
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert service["init"] is True  # as process 1 it would not hear a signal while it starts
    least = DEADLINE.total_seconds() if "worker" in service.get("command", ()) else 2 * STOPS_WITHIN
    assert int(service["stop_grace_period"].removesuffix("s")) > least


@pytest.mark.parametrize("service", [ONE, *MANY.values()])
def test_logs_do_not_grow_for_ever(service: dict[str, Any]):
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}


@pytest.mark.parametrize("name", ["serve", "worker"])
def test_a_large_dump_has_room_where_the_store_is_a_server(name: str):
    """/tmp is in memory; PostgreSQL has no folder on this machine to fetch a dump beside."""
    service = MANY[name]
    folder = service["environment"]["TMPDIR"]
    assert f"downloads:{folder}" in service["volumes"]
    assert folder not in [mount.partition(":")[0] for mount in service["tmpfs"]]


def test_many_machines_are_replicas_workers_and_the_database_that_they_wait_for():
    services = MANY
    assert services.keys() == {"serve", "worker", "web", "db"}
    for name, replicas in (("serve", 2), ("worker", 3)):
        assert is_command(services[name]["command"])
        assert services[name]["command"][0] == name
        assert services[name]["deploy"]["replicas"] >= replicas
        assert services[name]["depends_on"] == {"db": {"condition": "service_healthy"}}
        assert services[name]["environment"]["SMTP_PASSWORD"] is None  # its value is the user's
    # A port cannot be published by two replicas.
    assert services["serve"]["command"][1:] == ["--no-pages"]
    assert services["web"]["ports"] == ONE["ports"]
    pages = [name for name in ONE["environment"] if name.startswith(("PAPER_MONITOR_", "WEB_"))]
    assert {name: services["web"]["environment"][name] for name in pages} == {
        name: ONE["environment"][name] for name in pages
    }
    assert "pg_isready" in services["db"]["healthcheck"]["test"]
    assert services["db"]["environment"]["POSTGRES_PASSWORD"].startswith("${DB_PASSWORD:?")


def test_pages_are_on_with_a_token_alone_where_the_port_is_published(tmp_path: Path):
    """The file that `init` writes needs no change: compose.yaml passes on what is in .env."""
    file = tmp_path / "monitor.yaml"
    file.write_text(starter())
    assert load(file, passed_on({})).public_url is None
    settings = load(file, passed_on({"WEB_TOKEN": "a token of the operator"}))
    assert settings.web is not None and settings.web.token
    assert settings.web.token.reveal() == "a token of the operator"
    inside = settings.web.listen.rpartition(":")
    assert inside[0] == "0.0.0.0" and last("EXPOSE") == inside[2]
    assert ONE["ports"] == [f"127.0.0.1:8080:{inside[2]}"]
    assert settings.public_url == "http://localhost:8080"
    own = {"WEB_TOKEN": "a token of the operator", "PUBLIC_URL": "https://papers.example.org"}
    assert load(file, passed_on(own)).public_url == "https://papers.example.org"


def passed_on(variables: dict[str, str]) -> dict[str, str]:
    """The environment of the container, as Compose puts these variables into `${NAME:-...}`."""
    inner = re.compile(r"\$\{([A-Z_]+):([-+])([^${}]*)\}")

    def put(found: re.Match[str]) -> str:
        value = variables.get(found[1], "")
        return found[3] if bool(value) == (found[2] == "+") else value

    filled = {}
    for name, text in ONE["environment"].items():
        while text and inner.search(text):
            text = inner.sub(put, text)
        filled[name] = variables.get(name, "") if text is None else text
    return filled


GUIDE = (ROOT / "docs" / "docker.md").read_text()


def test_the_guide_names_commands_that_exist():
    lines = re.findall(r"docker (?:compose )?(?:exec|run --rm)\b([^`\n#]*)", GUIDE)
    commands = [line.rpartition("paper-monitor ")[2] for line in lines if "paper-monitor " in line]
    assert len(commands) > 5
    assert [command for command in commands if not is_command(shlex.split(command))] == []


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL))
def test_the_guides_files_fit_together(block: str):
    given = yaml.safe_load(block)
    for service in given.get("services", {}).values():
        for secret in service.get("secrets", []):
            assert secret in given["secrets"]
            assert any(
                one.endswith(f"_FILE=/run/secrets/{secret}") for one in service["environment"]
            )
