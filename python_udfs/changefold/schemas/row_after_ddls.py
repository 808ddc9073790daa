"""What a row holds after DDLs that changed its columns and sent no row."""

from itertools import groupby
from typing import Literal

import msgspec

from changefold.mysql.charsets import in_charset
from changefold.mysql.wire_forms import WireForm, convert_as_sent

__all__ = ["row_after_ddls"]


class _ColumnMoment(msgspec.Struct, frozen=True):
    """A row of the model `column_moments`; Spark leaves out what is null."""

    since: str
    kind: Literal["added", "dropped", "renamed", "retyped"]
    value_accuracy: str
    wire_form: WireForm
    from_name: str = ""
    to_name: str = ""
    from_type: str = ""
    to_type: str = ""
    default_value: str | None = None
    to_charset: str | None = None


_moments = msgspec.json.Decoder(list[_ColumnMoment]).decode


def row_after_ddls(
    texts: dict[str, str | None], column_moments: str
) -> dict[str, str | None]:
    """Return a row under the columns that DDLs made.

    A column whose value no message tells is left out.

    Args:
        texts: The row, as the message before the DDLs has it.
        column_moments: JSON array of the rows of the model `column_moments` for these
            DDLs, in order.

    Raises:
        msgspec.ValidationError: If the text is not of that form.
    """
    for _, moment in groupby(_moments(column_moments), lambda change: change.since):
        texts = _after_one(texts, list(moment))
    return texts


def _after_one(
    before: dict[str, str | None], changes: list[_ColumnMoment]
) -> dict[str, str | None]:
    """Return a row after one DDL, which may give one column the name of another."""
    gone = {change.from_name for change in changes if change.kind != "added"}
    row = {name: text for name, text in before.items() if name not in gone}
    for change in changes:
        if change.kind == "added":
            if change.value_accuracy == "exact":
                row[change.to_name] = change.default_value
        elif change.kind == "renamed" and change.from_name in before:
            row[change.to_name] = before[change.from_name]
    for change in changes:
        if change.kind != "retyped":
            continue
        # Its name is the new one, if the same DDL has renamed it.
        text = row.pop(change.to_name, before.get(change.from_name))
        if change.value_accuracy == "unknown":
            continue
        if change.from_type:
            text = convert_as_sent(
                text, change.from_type, change.to_type, change.wire_form
            )
        if change.to_charset and text is not None:
            text = in_charset(text, change.to_charset)
            if text is None:
                continue
        row[change.to_name] = text
    return row
