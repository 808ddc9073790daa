"""A Spark cluster on loopback: a master and workers, as processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark

from changefold_tools.devtools.kafka_broker import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

EXECUTOR_PACKAGES: Final = (
    *("fastavro", "msgspec", "numpy", "pandas", "pyarrow", "sqlglot"),
)
"""What the functions of this project import on an executor."""

_PATIENCE_SECONDS: Final = 60
_ROOT: Final = Path(__file__).parents[2]


def executor_python(folder: Path) -> Path:
    """Make a virtual environment as executors need it, without this project.

    Returns:
        Its ``python``.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603
    python = folder / "bin" / "python"
    constraints = str(_ROOT / "constraints.txt")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--constraint", constraints]
    subprocess.run([*pip, *EXECUTOR_PACKAGES], check=True)  # noqa: S603
    return python


@contextlib.contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """Run a master and workers of two cores each, and stop them at the end.

    An application gets half of all cores, so that there are two at a time.

    Args:
        folder: For their logs and working directories.
        workers: How many.

    Yields:
        The URL of the master.

    Raises:
        RuntimeError: If a worker does not register.
    """
    port, web = free_ports(2)
    url = f"spark://127.0.0.1:{port}"
    master = ["master.Master", "--port", str(port), "--webui-port", str(web)]
    worker = ["worker.Worker", url, "--webui-port", "0", "--cores", "2"]
    with contextlib.ExitStack() as processes:
        processes.enter_context(_process(folder / "master", master))
        for number in range(workers):
            own = folder / f"worker_{number}"
            command = [*worker, "--memory", "2g", "--work-dir", str(own)]
            processes.enter_context(_process(own, command))
        _wait_for_workers(f"http://127.0.0.1:{web}/json/", workers)
        yield url


def _java_home() -> str:
    named = os.environ.get("JAVA_HOME")
    return named or str(Path(shutil.which("java") or "").resolve().parents[1])


@contextlib.contextmanager
def _process(folder: Path, arguments: list[str]) -> Iterator[None]:
    """Run a part of the cluster in its own folder, with nothing of this process."""
    folder.mkdir()
    program, *options = arguments
    home = Path(pyspark.__file__).parent
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 # Spark itself
            [
                str(home / "bin" / "spark-class"),
                f"org.apache.spark.deploy.{program}",
                *("--host", "127.0.0.1", *options),
            ],
            cwd=folder,
            env={
                # Not that of this process, whose `python3` may have every package.
                "PATH": os.defpath,
                "JAVA_HOME": _java_home(),
                "SPARK_HOME": str(home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_MASTER_OPTS": "-Dspark.deploy.defaultCores=2",
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_workers(state: str, workers: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    alive = 0
    while alive < workers:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{alive} of {workers} workers have registered.")
        time.sleep(0.2)
        with (
            contextlib.suppress(OSError),  # not up yet
            urllib.request.urlopen(state) as answer,  # noqa: S310 # loopback
        ):
            alive = json.load(answer)["aliveworkers"]
