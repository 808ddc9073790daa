"""A recorded topic on a cluster, and another build that comes with the first one.

One of the two waits for the other; the second ends with a test of the balance, which a
message that landed twice fails. Exits with 1 unless the tables equal the source.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from changefold_tools.verify.run import Recording, verify

PROJECT: Final = Path(__file__).parents[2]
RECORDED: Final = PROJECT / "tests" / "golden" / "ticdc" / "midstream"
BUILD: Final = [
    *(sys.executable, "-c", "from dbt.cli.main import cli; cli()"),
    *("build", "--select", "+balance", "every_event_has_one_place"),
    *("--indirect-selection", "empty", "--target-path", "target_of_rival"),
]


class Rival:
    """Called before each command on the project: for the schemas, then for all."""

    def __init__(self) -> None:
        self._build: subprocess.Popen[str] | None = None
        self.said = ""
        self.one_waited = False

    def __call__(self, project: Path) -> None:
        """Come with the first command, and be done before the second."""
        if self._build is None:
            # As in a bucket: no file can be locked.
            os.environ["CHANGEFOLD_WAREHOUSE"] = (project / "warehouse").as_uri()
            self._build = subprocess.Popen(  # noqa: S603 # dbt, in this Python
                BUILD,
                cwd=project,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        elif not self.said:
            self.said = self._build.communicate()[0]
            if self._build.returncode:
                raise SystemExit(self.said)
            log = (project / "logs" / "dbt.log").read_text("utf-8")  # of both
            self.one_waited = "Another build works on the warehouse" in log


def main() -> int:
    """Return 0 if all tables equal the source and one of the builds had to wait."""
    rival = Rival()
    recording = Recording(RECORDED, "simple_avro")
    is_equal = verify(recording, PROJECT, before_run=rival, target="cluster")
    print(rival.said, f"one waited: {rival.one_waited}")  # noqa: T201 # of a failed test
    was_judged = "every_event_has_one_place" in rival.said
    return 0 if is_equal and was_judged and rival.one_waited else 1


if __name__ == "__main__":
    sys.exit(main())
