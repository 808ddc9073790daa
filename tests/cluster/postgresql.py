"""A PostgreSQL on loopback that holds an Iceberg catalog."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from changefold_tools.devtools.kafka_broker import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

USER: Final = "lake"
_PATIENCE_SECONDS: Final = 60


@dataclass(frozen=True)
class Server:
    """Where a server answers.

    Attributes:
        url: Of a database, for JDBC.
        password: Of `USER`.
    """

    url: str
    password: str


def find(name: str) -> str | None:
    """Find a program of the server, which Debian keeps off the PATH."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else shutil.which(name)


def _program(name: str) -> str:
    found = find(name)
    if not found:
        raise FileNotFoundError(
            f"PostgreSQL's {name} is missing: Debian has it in the package postgresql."
        )
    return found


@contextlib.contextmanager
def postgresql() -> Iterator[Server]:
    """Run a new server of one database, and remove it at the end.

    Yields:
        Where it answers.

    Raises:
        FileNotFoundError: If PostgreSQL is not installed.
        RuntimeError: If it does not start.
    """
    # It refuses root, and needs a folder whose parents its user may enter.
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="changefold-postgresql-") as name:
        folder, password = Path(name), secrets.token_urlsafe(12)
        (folder / "password").write_text(password)
        if user:
            shutil.chown(folder, user)
            shutil.chown(folder / "password", user)
        data = str(folder / "data")
        (port,) = free_ports(1)
        subprocess.run(  # noqa: S603 # PostgreSQL itself
            [
                *(_program("initdb"), "--pgdata", data, "--username", USER),
                *("--auth", "scram-sha-256", "--pwfile", str(folder / "password")),
            ],
            user=user,
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(  # noqa: S603 # PostgreSQL itself
                [
                    *(_program("postgres"), "-D", data, "-p", str(port)),
                    *("-c", "listen_addresses=127.0.0.1"),
                    *("-c", "unix_socket_directories=", "-c", "fsync=off"),
                ],
                user=user,
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            _wait_for(server, port, folder / "log")
            yield Server(f"jdbc:postgresql://127.0.0.1:{port}/postgres", password)
        finally:
            server.terminate()
            server.wait(timeout=_PATIENCE_SECONDS)


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    ready = [_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while subprocess.run(ready, check=False).returncode:  # noqa: S603
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"PostgreSQL did not start: {log.read_text()[-2000:]}")
        time.sleep(0.1)
