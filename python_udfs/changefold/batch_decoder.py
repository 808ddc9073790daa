"""What the batch decoder of Debezium and its fuzzer share."""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from changefold.message_batch import Flags

__all__ = ["as_row", "matches"]


def as_row(message: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a message that was parsed, as Arrow takes them."""
    row: dict[str, Any] = {
        name: getattr(message, name) for name in message.__struct_fields__
    }
    error = row["error"]
    if error is not None:
        row["error"] = {
            "class": error.error_class,
            "path": error.path,
            "message": error.message,
        }
    return row


def matches(texts: pa.BinaryArray, pattern: str) -> Flags:
    """Tell which texts an RE2 pattern matches."""
    found = pc.match_substring_regex(texts, pattern)
    flags: np.ndarray[Any, Any] = found.to_numpy(zero_copy_only=False)
    return flags.astype(np.bool_)
