"""What the outcome of a dbt test depends on, and what dbt is told of one that passed."""

from __future__ import annotations

import hashlib
import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
from dbt.adapters.contracts.connection import AdapterResponse
from dbt_common.clients.agate_helper import table_from_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOCK_OR_CHANCE: Final = re.compile(
    r"\bunix_timestamp\s*\(\s*\)"
    r"|\b(now|cur(rent_)?(date|time|timestamp)|localtimestamp"
    r"|rand|randn|random|randstr|uniform|uuid|shuffle|tablesample"
    r"|monotonically_increasing_id|spark_partition_id|input_file_\w+)\b",
    re.IGNORECASE,
)

_RESPONSE: Final = AdapterResponse(_message="passed before, on the same tables")


def is_deterministic(sql: str) -> bool:
    """Tell whether SQL names no function of the clock, of chance or of the plan."""
    return _CLOCK_OR_CHANCE.search(sql) is None


def digest_of_code(modules: Iterable[str]) -> str:
    """Return a text that changes with the code of packages, or with Spark's version.

    Args:
        modules: Modules of these packages.
    """
    found = hashlib.sha256(pyspark.__version__.encode())
    for name in sorted({module.partition(".")[0] for module in modules}):
        origin = Path(str(importlib.import_module(name).__file__))
        is_package = origin.name == "__init__.py"
        for file in sorted(origin.parent.rglob("*.py")) if is_package else [origin]:
            found.update(file.read_bytes())
    return found.hexdigest()


def data_test_passed() -> tuple[AdapterResponse, Any]:  # a table of agate
    """Return what dbt takes for the answer to a data test without failures."""
    columns = ["failures", "should_warn", "should_error"]
    return _RESPONSE, table_from_rows([(0, False, False)], columns)


def unit_test_passed() -> tuple[AdapterResponse, Any]:  # a table of agate
    """Return what dbt takes for the answer to a unit test without differences."""
    return _RESPONSE, table_from_rows([], ["actual_or_expected", "row"])
