"""Rows as texts: one by one, with what is special about them, or column by column."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress, starmap
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from changefold.connect.mismatch import Convert, MismatchError, as_text
from changefold.connect.nested import untyped
from changefold.connect.numbers import plain
from changefold.connect.types import UNTYPED
from changefold.connect.unavailable import Markers, any_markers
from changefold.errors import CdcDecodeError
from changefold.json.encode import json_text, member_path, shorten
from changefold.json.fields import Json, check_column_name, missing, wrong_type

__all__ = ["Column", "RowShape", "RowTexts", "undeclared"]

Text: TypeAlias = str | UnsetType | None
"""Text of a value; ``UNSET`` if it is unavailable."""


class Column(msgspec.Struct, frozen=True, gc=False):
    """A column of a row.

    Attributes:
        name: Its name; empty if it is that of any other column.
        convert: Returns the text of a value.
        markers: Values that stand for an unavailable one.
        may_be_null: Whether null is a value of it.
        is_bytes: Whether its texts have a character for each byte.
    """

    name: str
    convert: Convert
    markers: Markers
    may_be_null: bool
    is_bytes: bool = False

    def is_unavailable(self, value: object) -> bool:
        """Tell whether a value stands for an unavailable one."""
        if type(value) is str:
            return value in self.markers.texts
        return isinstance(value, (list, dict)) and value in self.markers.nodes

    def texts(self, values: tuple[object, ...]) -> Sequence[Text]:
        """Return the texts of values of many rows.

        Raises:
            MismatchError: If one of them is not of the type.
        """
        kinds = set(map(type, values)) - {type(None)}
        texts = cast("tuple[str | None, ...]", values)
        if (
            kinds <= {str}
            and self.convert in _AS_THEY_CAME
            and self.markers.texts.isdisjoint(values)
        ):
            return texts
        if len(kinds) != 1 or kinds & {list, dict} or _has_long(texts, kinds):
            return list(map(self._text, values))
        # Rows share many values: prices, states, times of creation.
        known = {value: self._text(value) for value in set(values)}
        return list(map(known.__getitem__, values))

    def _text(self, value: object) -> Text:
        if value is None:
            return None
        if self.is_unavailable(value):
            return UNSET
        return as_text(self.convert(value))


def _has_long(texts: Iterable[str | None], kinds: set[type]) -> bool:
    return str in kinds and max(map(len, filter(None, texts)), default=0) > _LONG


_LONG: Final = 64
"""Longer texts are not looked for among the others."""


class RowTexts(msgspec.Struct):
    """A row as texts.

    Attributes:
        texts: By the column.
        unavailable: The columns that the source did not send, which have no text.
        contradicted: The columns whose values are not of their declared types, and what
            was expected: their texts are the values as they came.
    """

    texts: dict[str, str | None]
    unavailable: tuple[str, ...] = ()
    contradicted: Mapping[str, CdcDecodeError] = {}


class RowShape:
    """What a schema says of a row, or what was declared of it.

    Attributes:
        columns: The columns by their names, in order.
        column_types: JSON object of the column and the text of its type, see
            `connect.types`.
        other: How any other column is read. ``None`` for a schema: a row must have its
            columns and no others, while what was declared did not come with it.
    """

    def __init__(
        self,
        columns: Mapping[str, Column],
        column_types: str,
        other: Column | None = None,
    ) -> None:
        self.columns = columns
        self.column_types = column_types
        self.other = other
        self._loose: RowShape | None = None
        self._types: dict[tuple[tuple[str, ...], bool], str] = {}
        self._makers: dict[tuple[str, ...], Callable[..., object]] = {}

    def loose(self, placeholder: str) -> "RowShape":
        """Return how rows with some of the columns, or others, are read.

        Args:
            placeholder: As in `row_shape`.
        """
        if self.other is not None:
            return self
        if self._loose is None:
            other = undeclared(placeholder).other
            self._loose = RowShape(self.columns, self.column_types, other)
        return self._loose

    def types_of(self, names: Iterable[str], *, is_whole: bool) -> str:
        """Return `column_types`, with the other columns of a row.

        Args:
            names: The columns of the row.
            is_whole: Whether it has all that the table had, as a row after a change does:
                then what was declared and is not there, the table got later or lost.
        """
        key = tuple(names), is_whole
        found = self._types.get(key)
        if found is None:
            types: dict[str, str] = msgspec.json.decode(self.column_types)
            if is_whole:
                types = {name: text for name, text in types.items() if name in key[0]}
            others = [name for name in key[0] if name not in self.columns]
            found = json_text(types | dict.fromkeys(others, UNTYPED))
            _keep(self._types, key, found)
        return found

    def texts(self, row: object, path: str, *, nulls: bool = False) -> RowTexts:
        """Return the texts of a row.

        Args:
            row: An object of the message, its numbers as `json.parse.strict_tokens` has
                them.
            path: Where it lies in the message.
            nulls: Whether any column may be null, as in a row before a change of which
                only the key is known.

        Raises:
            CdcDecodeError: If the row is not as the schema says.
        """
        if not isinstance(row, dict):
            raise wrong_type("object", row, path)
        columns = self._columns_of(row, path)
        texts: dict[str, str | None] = {}
        unavailable: list[str] = []
        contradicted: dict[str, CdcDecodeError] = {}
        for name, column in columns.items():
            value = row[name]
            if value is None:
                if not (column.may_be_null or nulls):
                    raise _no_value(row, name, path)
                texts[name] = None
            elif column.is_unavailable(value):
                unavailable.append(name)
            else:
                try:
                    texts[name] = as_text(column.convert(value))
                except MismatchError as error:
                    mismatch = _mismatch(error, member_path(path, name))
                    if self.other is None:
                        raise mismatch from None
                    contradicted[name] = mismatch
                    texts[name] = _as_it_came(value, column)
        return RowTexts(texts, tuple(unavailable), contradicted)

    def rows(
        self, names: tuple[str, ...], rows: list[dict[str, Any]], *, nulls: bool = False
    ) -> tuple[list[bytes], list[tuple[str, ...]]]:
        """Return the texts of many rows as JSON objects.

        Args:
            names: The columns that each of them has, in this order.
            rows: The rows.
            nulls: As in `texts`.

        Returns:
            The objects, and of each row the columns that are unavailable; no such list
            if no row has one.

        Raises:
            ValueError: If one of them is not as it should be.
        """
        make = self._makers.get(names)
        if make is None:
            make = _row_maker(names)
            _keep(self._makers, names, make)
        try:
            columns = self._columns_of(rows[0], "$")
            if tuple(columns) != names:
                raise ValueError("columns in another order than in the schema")
            texts = []
            values = zip(*map(dict.values, rows), strict=True)
            for column, cells in zip(columns.values(), values, strict=True):
                if not (column.may_be_null or nulls) and None in cells:
                    raise ValueError("a null in a column that has none")
                texts.append(column.texts(cells))
        except (CdcDecodeError, MismatchError) as error:
            raise ValueError(error) from None
        encoded = list(map(_encode, starmap(make, zip(*texts, strict=True))))
        if not any(UNSET in cells for cells in texts):
            return encoded, []
        return encoded, [
            tuple(compress(names, (text is UNSET for text in row)))
            for row in zip(*texts, strict=True)
        ]

    def _columns_of(self, row: Json, path: str) -> dict[str, Column]:
        """Return how the columns of a row are read, in order, if it may have them."""
        if self.other is not None:
            for name in row:
                check_column_name(name, path)
            return {name: self.columns.get(name, self.other) for name in row}
        for name, column in self.columns.items():
            # TiCDC's schema has virtual columns, its rows do not.
            if name not in row and not column.may_be_null:
                raise _no_value(row, name, path)
        for name in row:
            if name not in self.columns:
                raise CdcDecodeError(
                    "schema_mismatch",
                    member_path(path, name),
                    f"Expected a column of the schema, got `{shorten(name)}`",
                )
        return {name: column for name, column in self.columns.items() if name in row}


_encode: Final = msgspec.json.Encoder().encode


def _row_maker(names: tuple[str, ...]) -> Callable[..., object]:
    """Return what takes the texts of columns, and is written as an object of them."""
    fields = [(f"column_{number}", Text) for number in range(len(names))]
    renamed = {field: name for (field, _), name in zip(fields, names, strict=True)}
    try:
        return msgspec.defstruct("Row", fields, rename=renamed, gc=False)
    except ValueError:
        # A name with a quote, say.
        return lambda *texts: {
            name: text
            for name, text in zip(names, texts, strict=True)
            if text is not UNSET
        }


_MAX_FORMS: Final = 64


def _keep(known: dict[Any, Any], key: object, value: object) -> None:
    """Remember something of rows with some columns, of which there are few."""
    if len(known) >= _MAX_FORMS:
        known.clear()
    known[key] = value


def _as_it_came(value: object, column: Column) -> str:
    """Return the text of a value that is not of its declared type."""
    text = as_text(untyped(value))
    if column.is_bytes:
        # A byte is a character there.
        return text.encode().decode("latin-1")
    return text


def _no_value(row: Json, name: str, path: str) -> CdcDecodeError:
    error = missing("a value", member_path(path, name), row, name)
    return CdcDecodeError("schema_mismatch", error.path, error.message)


def _mismatch(error: MismatchError, path: str) -> CdcDecodeError:
    path += error.place
    value = error.value
    if isinstance(value, str):
        got = shorten(value)
    elif isinstance(value, int):
        got = shorten(json_text(value))
    else:
        got = wrong_type("", value, path).message.rpartition(" `")[2][:-1]
    return CdcDecodeError(
        error.error_class, path, f"Expected {error.expected}, got `{got}`"
    )


@lru_cache(maxsize=16)
def undeclared(placeholder: str) -> RowShape:
    """Return the shape of rows of which nothing is known: values stay as they came.

    Args:
        placeholder: As in `row_shape`.
    """
    markers = any_markers(placeholder)
    return RowShape({}, "{}", Column("", untyped, markers, may_be_null=True))


_AS_THEY_CAME: Final = (plain, untyped)
"""How texts stay what they are."""
