"""Nobody may read a secret where it does not belong: Ansible's output, the engine's descriptions, processes, logs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.stack import token

from .site import Site, processes_that_know, say

PROJECTS = ("shop", "bank", "scratch")


def needles(site: Site) -> list[str]:
    """The secrets in force, their tokens, and the view's password."""
    found = [site.password()]
    for name in ("secret", "secret.previous"):
        path = site.secrets / name
        if path.exists():
            secret = path.read_text().strip()
            found += [secret, *(token(project, secret).rpartition(".")[2] for project in PROJECTS)]
    return found


def check(site: Site) -> None:
    """A run that tells all it can changes nothing and shows no secret; and no secret lies anywhere else."""
    done = site.play("telebrowser.telebrowser.site", "--check", "--diff", "-vvv")
    recap = re.search(r"changed=(\d+)\s+unreachable=0\s+failed=0", done.stdout)
    assert recap and recap.group(1) == "0", f"a check after a run would change something: {changes(done.stdout)}"
    nowhere(site, {"ansible's output": done.stdout + done.stderr})


def nowhere(site: Site, texts: dict[str, str]) -> None:
    """No needle in the texts, in docker inspect, in a process, in a log."""
    wanted = needles(site)
    places = dict(texts)
    for name in (site.browser, site.gateway):
        places[f"docker inspect {name}"] = site.docker("inspect", name)
        places[f"docker logs {name}"] = site.docker("logs", name, check=False)
    for path in logs(site):
        places[str(path)] = path.read_text(errors="replace")
    # The needle itself is never printed.
    hits = [f"{where} (needle {number})" for where, text in places.items() for number, needle in enumerate(wanted) if needle in text]
    hits += processes_that_know([needle.encode() for needle in wanted])
    assert not hits, f"secrets in: {hits}"
    say(f"no secret and no token in {len(places)} texts and in no process")


def logs(site: Site) -> list[Path]:
    """What the stack wrote as it ran."""
    return [*site.data.glob("run/*.log*"), *site.data.glob("audit/*")]


def changes(output: str) -> list[str]:
    """The tasks that say they changed something."""
    found, task = [], ""
    for line in output.splitlines():
        if line.startswith("TASK ["):
            task = line
        elif line.startswith("changed:"):
            found.append(task)
    return found
