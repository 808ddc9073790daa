"""Text of the generated models: two SQL files and a yml for each source table.

Names come from a topic, so nothing here trusts them: `escaping` writes them.
"""

from __future__ import annotations

import hashlib
import re
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final

import yaml

from changefold.connect.column_types import common_type
from changefold.connect.types import ConnectType
from changefold_tools.generate.column_names import COPY_COLUMN, VERSION_COLUMNS
from changefold_tools.generate.escaping import (
    comment_line,
    jinja_text,
    markdown,
    sql_name,
    yml_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from changefold.connect.column_types import SourceType, TypeSeed
    from changefold_tools.generate.table_history import (
        Arrival,
        Incarnation,
        TableName,
        TableShape,
    )

HEADER: Final = (
    "-- Written by `make models` from the schema of {origin}. Edit it if you must:\n"
    "-- the next `make models` shows the difference and leaves the file as it is.\n"
)

COPY_KEY: Final = ["_cdc_row_hash", "_cdc_copy"]
"""What identifies a row of such a table."""

_FINE_TIMES: Final = {
    *("IsoTimestamp", "NanoTimestamp", "ZonedTimestamp"),
    *("StructuredTimestamp", "StructuredZonedTimestamp"),
}
"""Types of Kafka Connect that may say more than Spark's timestamps: finer, an offset."""

CURRENT_COLUMNS: Final = (
    "_cdc_op",
    "_cdc_commit_ts",
    "_cdc_conversion_failures",
    "_cdc_unknown_columns",
)
"""Those of them that a current table has too."""


def model_names(
    shapes: Sequence[TableShape], present: Callable[[str], str]
) -> list[str]:
    """Return the part of the models' names that stands for each source table.

    Two tables may want one name: in two topics, or by their hashes. The one whose model
    is there already keeps it, else the first has it; the other gets a longer one, which
    then is its own.

    Args:
        shapes: Of all tables.
        present: Gives the text of the present history model of a name, empty without one.
    """
    found: dict[int, str] = {}
    for place, shape in enumerate(shapes):
        own = identity_lines(shape)
        held = (
            name for name in islice(_wanted_names(shape), 2) if own in present(name)
        )
        name = next(held, "")
        if name and name not in found.values():
            found[place] = name
    taken = set(found.values())
    for place, shape in enumerate(shapes):
        if place not in found:
            found[place] = next(n for n in _wanted_names(shape) if n not in taken)
            taken.add(found[place])
    return [found[place] for place in range(len(shapes))]


def _wanted_names(shape: TableShape) -> Iterator[str]:
    name = model_name(shape)
    yield name
    until = str(shape.names[-1].until) if shape.is_past else ""
    for number in count():
        identity = (shape.topic, shape.database, shape.table, until, str(number))
        digest = hashlib.sha256("\0".join(identity).encode()).hexdigest()
        yield f"{name}_{digest[:12]}"


def identity_lines(shape: TableShape) -> str:
    """Return the lines of a history model that tell which table it is of."""
    return (
        f"    topic={jinja_text(shape.topic)},\n"
        f"    source_database={jinja_text(shape.database)},\n"
        f"    source_table={jinja_text(shape.table)},\n"
    )


def model_name(shape: TableShape) -> str:
    """Return the name that a source table's models have, if no other table wants it.

    A name of lower-case letters, digits and single underscores stays; any other gets
    a short hash.
    """
    name = f"{_slug(shape.database)}__{_slug(shape.table)}"
    if shape.is_past:
        # Its DROP, as a moment that no other table of the name can share.
        name += "__until_" + re.sub(r"[^a-z0-9.]+", "_", str(shape.names[-1].until))
    return name


def model_folder(shape: TableShape) -> str:
    """Return the folder of a table's models."""
    return _slug(shape.database)


def _slug(name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if slug == name and slug:
        return slug
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{slug[:40]}_{digest}".lstrip("_") if slug else f"t_{digest}"


def _jinja_value(value: str | int | tuple[str, ...]) -> str:
    """An argument of a macro: a text, a number or a list of texts."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(jinja_text, value)) + "]"
    return jinja_text(value) if isinstance(value, str) else str(value)


def _jinja_list(texts: list[str], indent: int) -> str:
    return _lines([jinja_text(text) for text in texts], indent)


def _moments(sequences: list[str], indent: int) -> str:
    return _lines([_moment(sequence) for sequence in sequences], indent)


def _lines(literals: list[str], indent: int) -> str:
    if not literals:
        return "[]"
    inner = ",\n".join(" " * (indent + 4) + literal for literal in literals)
    return "[\n" + inner + ",\n" + " " * indent + "]"


def _moment(sequence: str) -> str:
    """The moment of a DDL: this project made it, so it has no character to escape.

    It is found in the model's code, by the macro `ddls_in`.
    """
    return f"'{sequence}'"


def _jinja_names(names: list[TableName], indent: int) -> str:
    """Names over time, as the macro `names_of_table` returns them."""
    entries = []
    for name in names:
        parts = {
            "database": jinja_text(name.database),
            "table": jinja_text(name.table),
        }
        parts |= {"since": _moment(name.since)} if name.since else {}
        parts |= {"until": _moment(name.until)} if name.until else {}
        shown = ", ".join(f"'{key}': {part}" for key, part in parts.items())
        entries.append(" " * (indent + 4) + f"{{{shown}}},\n")
    return "[\n" + "".join(entries) + " " * indent + "]"


def _arrival_lines(arrival: Arrival, relation: str) -> str:
    """An entry of the argument `arrivals` of the macro `row_images`."""
    columns = _jinja_list(list(arrival.shape.columns), 16)
    where = "none" if arrival.condition is None else jinja_text(arrival.condition)
    return (
        "            {\n"
        f"                'at': {_moment(arrival.at)},\n"
        f"                'relation': '{relation}',\n"
        f"                'columns': {columns},\n"
        f"                'where': {where},\n"
        "            },"
    )


def _image(name: str, struct: str = "image") -> str:
    """A column of a struct, inside a Jinja string."""
    return struct + ".`" + name.replace("`", "``") + "`"


def _indented(text: str, by: int = 4) -> str:
    """Every line of a text, moved to the right."""
    return "\n".join(" " * by + line for line in text.splitlines())


def _call_lines(function: str, arguments: list[str]) -> str:
    """A call with an argument a line."""
    inner = ",\n".join(_indented(argument) for argument in arguments)
    return f"{function}(\n{inner}\n)"


class TableModels:
    """The files of one source table."""

    def __init__(self, shape: TableShape, seed: TypeSeed, name: str = "") -> None:
        self.shape = shape
        self._seed = seed
        self.name = name or model_name(shape)
        self.types = {name: self._type(lives) for name, lives in shape.columns.items()}
        self.live_types = {
            name: seed.column_type(shape.columns[name][-1].type).spark_type
            for name in shape.live
        }

    @property
    def files(self) -> dict[str, str]:
        """Path below ``models/`` -> text."""
        folder = model_folder(self.shape)
        return {
            f"history/{folder}/scd2_{self.name}.sql": self.history(),
            f"history/{folder}/scd2_{self.name}.yml": self.history_yml(),
            f"current/{folder}/cur_{self.name}.sql": self.current(),
            f"current/{folder}/cur_{self.name}.yml": self.current_yml(),
        }

    def _type(self, lives: list[Incarnation]) -> str:
        return common_type(
            [
                self._seed.column_type(column_type).spark_type
                for life in lives
                for _, column_type in life.types
            ]
        )

    @property
    def origin(self) -> str:
        """Name of the source table, for a comment."""
        text = f"{self.shape.database}.{self.shape.table}"
        return comment_line(text)

    @property
    def _is_plain(self) -> bool:
        """Whether every row image ever had the columns of the model."""
        return not self.shape.rewritten_at and all(
            len(lives) == 1 and len(lives[0].names) == 1 and lives[0].added_at is None
            for lives in self.shape.columns.values()
        )

    # ---------- the history model

    def history(self) -> str:
        """Return the text of the history model."""
        shape = self.shape
        parts = [
            HEADER.format(origin=self.origin),
            (
                "{{ config(\n"
                f"{identity_lines(shape)}"
                f"    key_columns={_jinja_list(shape.key_columns or COPY_KEY, 4)},\n"
                f"{self._names()}{self._source_names(4)}"
                "    partition_by=['is_current'],\n"
                ") }}\n\n"
                "with\n\n"
                "changes as (\n\n"
                "    select * from {{ ref('changefold', 'changes') }}\n"
                "    where\n"
                "        {{ changefold.is_of_table() }}\n"
                "        and {{ changefold.is_unapplied() }}\n\n"
                "),\n\n"
            ),
            self._arrivals(""),
            self._images(""),
            self._unchanged(),
            self._typed(),
            (
                "checked as (\n\n"
                "    select\n"
                "        *,\n"
                "        {{ changefold.conversion_failures('image', 'record', "
                f"{_jinja_list(self._fallible, 8)}{self._rounded}) }}}}\n"
                "            as conversion_failures\n"
                "    from typed\n\n"
                "),\n\n"
            ),
            self._versions(),
        ]
        return "".join(parts)

    def _versions(self) -> str:
        """The last relations: versions of keys or, without one, of numbered copies."""
        shape = self.shape
        columns, keys, rows = list(shape.columns), shape.key_columns, "checked"
        copies = ""
        if not keys:
            columns, keys, rows = [*columns, *COPY_COLUMN], COPY_KEY, "copies"
            copies = (
                "-- Without a key, equal rows are counted.\n"
                "copies as (\n\n"
                "    {{ changefold.row_copies(\n"
                "        'checked',\n"
                f"        ended_at={self._ended_at()},\n"
                "        snapshots=changefold.snapshots_of_table(),\n"
                "    ) }}\n\n"
                "),\n\n"
            )
        return (
            f"{copies}"
            "versions as (\n\n"
            "    {{ changefold.history_versions(\n"
            f"        '{rows}',\n"
            f"        columns={_jinja_list(columns, 8)},\n"
            f"        key_columns={_jinja_list(keys, 8)},\n"
            "    ) }}\n\n"
            ")\n\n"
            "select * from versions\n"
        )

    def _ended_at(self) -> str:
        """The DDLs that end every row: those that dbt finds, and the model's own."""
        known = _moments(self.shape.ended_at, 8)
        return (
            f"changefold.ended_at() + {known}"
            if self.shape.ended_at
            else "changefold.ended_at()"
        )

    def _names(self) -> str:
        """The names over time, as a setting of the model; nothing for a lasting one."""
        if not self.shape.names:
            return ""
        return f"    names_over_time={_jinja_names(self.shape.names, 4)},\n"

    def _source_names(self, indent: int) -> str:
        """Names of columns at the source, where they differ, as an argument."""
        entries = "".join(
            f"{' ' * (indent + 4)}{jinja_text(kept)}: {jinja_text(name)},\n"
            for kept, name in self.shape.source_names.items()
        )
        start, end = " " * indent + "source_names={\n", " " * indent + "},\n"
        return start + entries + end if entries else ""

    @property
    def _fallible(self) -> list[str]:
        return [name for name, kept in self.types.items() if kept != "string"] + [
            name
            for name, lives in self.shape.columns.items()
            if self.types[name] == "string"
            and any(
                self._seed.column_type(column_type).conversion
                in {"mysql_enum", "mysql_set", "mysql_json"}
                for life in lives
                for _, column_type in life.types
            )
        ]

    @property
    def _rounded(self) -> str:
        """An argument with the columns whose times may be finer than Spark's."""
        names = [
            name
            for name, lives in self.shape.columns.items()
            if self.types[name] != "string"
            and any(
                isinstance(source_type, ConnectType) and source_type.base in _FINE_TIMES
                for life in lives
                for _, source_type in life.types
            )
        ]
        return f", rounded={_jinja_list(names, 8)}" if names else ""

    @property
    def _omissible(self) -> list[str]:
        """The columns that a change may leave out because it did not change them."""
        return [
            name
            for name, lives in self.shape.columns.items()
            if self.types[name] in {"string", "binary"}
            and isinstance(lives[-1].type, ConnectType)
            and name not in self.shape.key_columns
        ]

    def _arrivals(self, prefix: str) -> str:
        """The tables from which rows come by a DDL, up to that DDL."""
        text = ""
        for number, arrival in enumerate(self.shape.arrivals, start=1):
            models = TableModels(arrival.shape, self._seed)
            own = f"{prefix}arrived_{number}_"
            names = _jinja_names(arrival.shape.names, 12)
            text += (
                f"-- What {models.origin} left to this table.\n"
                f"{own}changes as (\n\n"
                "    select * from {{ ref('changefold', 'changes') }}\n"
                "    where\n"
                f"        {{{{ changefold.is_of_table({names}) }}}}\n"
                "        and not {{ changefold.is_increment() }}\n\n"
                "),\n\n"
                f"{models._arrivals(own)}{models._images(own)}"
            )
        return text

    def _images(self, prefix: str) -> str:
        """The images of the rows; every relation's name begins with the prefix."""
        shape = self.shape
        # What a table without a key leaves to another is told apart by whole rows.
        keys = shape.key_columns or (shape.live if prefix else [])
        lines = [
            f"        '{prefix}changes',",
            f"        columns={_jinja_list(list(shape.columns), 8)},",
            f"        key_columns={_jinja_list(keys, 8)},",
        ]
        renames = self._renames()
        if renames:
            lines.append(f"        {renames},")
        if shape.rewritten_at and keys:
            lines.append(f"        rewritten_at={_moments(shape.rewritten_at, 8)},")
        if prefix and shape.source_names:
            lines.append(self._source_names(8).rstrip())
        if prefix:
            lines.append(f"        ended_at={_moments(shape.ended_at, 8)},")
        elif keys:
            lines.append(f"        ended_at={self._ended_at()},")
            lines.append("        snapshots=changefold.snapshots_of_table(),")
        if shape.ended_where and keys:
            lines.append("        ended_where=[")
            lines += [
                f"            ({_moment(at)}, {jinja_text(condition)}),"
                for at, condition in shape.ended_where
            ]
            lines.append("        ],")
        if shape.arrivals:
            lines.append("        arrivals=[")
            lines += [
                _arrival_lines(arrival, f"{prefix}arrived_{number}_images")
                for number, arrival in enumerate(shape.arrivals, start=1)
            ]
            lines.append("        ],")
        call = "{{ changefold.row_images(\n" + "\n".join(lines) + "\n    ) }}"
        if self._is_plain:
            return f"{prefix}images as (\n\n    {call}\n\n),\n\n"
        columns = ",\n".join(
            _indented(f"{self._text_over_time(name)} as {sql_name(name)}", 12)
            for name in self.shape.columns
        )
        return (
            f"{prefix}written as (\n\n    {call}\n\n),\n\n"
            "-- What each column held at the time, by the DDLs between the writing of the\n"
            "-- row and that time.\n"
            f"{prefix}images as (\n\n"
            "    select\n"
            "        * except (image),\n"
            "        struct(\n"
            f"{columns}\n"
            "        ) as image\n"
            f"    from {prefix}written\n\n"
            "),\n\n"
        )

    def _renames(self) -> str:
        """The names of columns over time, as an argument; empty if none was renamed."""
        entries = ""
        for name, lives in self.shape.columns.items():
            if all(len(life.names) == 1 for life in lives):
                continue
            names = [step for life in lives for step in life.names]
            steps = [
                f"({_moment(since or '')}, {jinja_text(old)})"
                for since, old in [(None, names[0][1]), *names[1:]]
            ]
            entries += f"            {jinja_text(name)}: [{', '.join(steps)}],\n"
        return f"renames={{\n{entries}        }}" if entries else ""

    def _text_over_time(self, name: str) -> str:
        """The text of a column at the time, by its DDLs; indented for the struct."""
        arms = [self._arm(name, life) for life in self.shape.columns[name]]
        if len(arms) == 1 and not arms[0][0]:
            return arms[0][1]
        whens = []
        for bounds, text in arms:
            if len(bounds) > 1:
                condition = "when\n" + _indented("\nand ".join(bounds))
            else:
                condition = f"when {bounds[0] if bounds else 'true'}"
            whens.append(f"{condition}\n{_indented('then ' + text)}")
        body = _indented("\n".join(whens))
        return f"case\n{body}\nend"

    def _arm(self, name: str, life: Incarnation) -> tuple[list[str], str]:
        """When one life of a column held, and its text then."""
        text = "image." + sql_name(name)
        if life.added_at is not None and life.default is not None:
            default = f"{{{{ sql_text({jinja_text(life.default)}) }}}}"
            text = _call_lines(
                "if", [f"written_sequence <= '{life.added_at}'", default, text]
            )
        text = self._converted(text, life)
        bounds = []
        if life.added_at is not None and self._has_rows_before(life):
            # A row from before may have the value of another column of the name.
            since = "written_sequence" if life.default is None else "held_at"
            bounds.append(f"{since} > '{life.added_at}'")
        if life.dropped_at is not None:
            bounds.append(f"held_at <= '{life.dropped_at}'")
        return bounds, text

    def _has_rows_before(self, life: Incarnation) -> bool:
        """Whether rows from before a column are rows without it at some time."""
        return bool(self.shape.key_columns)

    def _converted(self, text: str, life: Incarnation) -> str:
        """The text of a column behind the DDLs that gave it another type."""
        for at, old, new in life.converts:
            converted = _call_lines(
                "{{ function('changefold', 'convert_mysql_value') }}",
                [
                    text,
                    f"{{{{ sql_text({jinja_text(str(old))}) }}}}",
                    f"{{{{ sql_text({jinja_text(str(new))}) }}}}",
                    "'{{ changefold.wire_form() }}'",
                ],
            )
            met = f"written_sequence <= '{at}'\nand held_at > '{at}'"
            text = _call_lines("if", [met, converted, text])
        for at in life.unknown_at:
            met = f"written_sequence <= '{at}'\nand held_at > '{at}'"
            text = _call_lines("if", [met, "null", text])
        return text

    def _unchanged(self) -> str:
        """The images with the values that changes did not send."""
        if not self._omissible or not self.shape.key_columns:
            return ""
        texts = [name for name in self._omissible if self.types[name] == "string"]
        bytes_ = [name for name in self._omissible if name not in texts]
        keys = ",\n".join(
            _indented(f"{self._value(name)} as {sql_name(name)}", 12)
            for name in self.shape.key_columns
        )
        return (
            "keyed as (\n\n"
            "    select\n"
            "        *,\n"
            "        struct(\n"
            f"{keys}\n"
            "        ) as row_key\n"
            "    from images\n\n"
            "),\n\n"
            "-- A long value that did not change may not be sent again.\n"
            "whole as (\n\n"
            "    {{ changefold.unchanged_values(\n"
            "        'keyed',\n"
            f"        columns={_jinja_list(list(self.shape.columns), 8)},\n"
            f"        texts={_jinja_list(texts, 8)},\n"
            f"        bytes={_jinja_list(bytes_, 8)},\n"
            f"        key_columns={_jinja_list(self.shape.key_columns, 8)},\n"
            "    ) }}\n\n"
            "),\n\n"
        )

    def _values(self) -> str:
        """The typed values of all columns, for a struct."""
        return ",\n".join(
            _indented(f"{self._value(name)} as {sql_name(name)}", 12)
            for name in self.shape.columns
        )

    def _typed(self) -> str:
        columns = self._values()
        count = (
            f"{{{{ changefold.shape_count('held_at', {_moments(self.shape.reshaped_at, 12)}) }}}}"
            if self.shape.reshaped_at
            else "0"
        )
        unknown = self._unknown()
        return (
            f"{unknown}"
            "typed as (\n\n"
            "    select\n"
            "        *,\n"
            + (
                ""
                if unknown
                else "        {{ changefold.unknown_columns() }} as unknown_columns,\n"
            )
            + "        struct(\n"
            f"{columns}\n"
            "        ) as record,\n"
            "        md5(to_json(struct(\n"
            f"            {count} as shape,\n"
            "            image"
            + (",\n            unknown_columns\n" if unknown else "\n")
            + "        ))) as row_hash\n"
            f"    from {'marked' if unknown else self._whole}\n\n"
            "),\n\n"
        )

    @property
    def unknown_moments(self) -> dict[str, list[tuple[str, str | None]]]:
        """By the column, from which DDL to which nobody tells what older rows have."""
        found = {
            name: [
                (at, life.dropped_at)
                for life in lives
                for at in (
                    *life.unknown_at,
                    *([life.added_at] if life.is_unknown_before else []),
                )
                if at is not None
            ]
            for name, lives in self.shape.columns.items()
        }
        return {name: moments for name, moments in found.items() if moments}

    @property
    def _whole(self) -> str:
        """The relation of the images with all their values."""
        return "whole" if self._unchanged() else "images"

    def _unknown(self) -> str:
        """The relation that tells which values no message told; nothing if all are."""
        if not self.unknown_moments:
            return ""
        entries = []
        for name, moments in self.unknown_moments.items():
            pairs = ", ".join(
                f"({_moment(at)}, {_moment(until) if until else 'none'})"
                for at, until in moments
            )
            entries.append(f"            {jinja_text(name)}: [{pairs}],\n")
        return (
            "-- What no message told, and nobody can compute.\n"
            "marked as (\n\n"
            "    select\n"
            "        *,\n"
            f"        {{{{ changefold.unknown_columns({{\n{''.join(entries)}"
            "        }) }} as unknown_columns\n"
            f"    from {self._whole}\n\n"
            "),\n\n"
        )

    def _value(self, name: str) -> str:
        """The typed value of a column; an arm for each type that it had."""
        kept = self.types[name]
        epochs: list[tuple[str | None, str]] = []
        for life in self.shape.columns[name]:
            for since, column_type in life.types:
                call = self._call(name, column_type, kept)
                if not epochs or epochs[-1][1] != call:
                    epochs.append((since, call))
        if len(epochs) == 1:
            return epochs[0][1]
        arms = [
            f"when held_at > '{since}'\n{_indented('then ' + call)}"
            for since, call in reversed(epochs[1:])
        ]
        body = _indented("\n".join([*arms, f"else {epochs[0][1]}"]))
        return f"case\n{body}\nend"

    def _call(self, name: str, column_type: SourceType, kept: str) -> str:
        own = self._seed.column_type(column_type)
        macro, others = own.call(self.shape.topic, kept)
        arguments = [jinja_text(_image(name)), *map(_jinja_value, others)]
        call = f"{{{{ changefold.{macro}({', '.join(arguments)}) }}}}"
        is_hex = macro == "mysql_bytes" and kept == "string"
        return f"hex({call})" if is_hex else call

    # ---------- the current model

    def current(self) -> str:
        """Return the text of the current model."""
        columns = []
        for name in self.shape.live:
            shown = sql_name(name)
            if self.types[name] != self.live_types[name]:
                shown = f"cast({shown} as {self.live_types[name]}) as {shown}"
            columns.append(shown)
        columns += [] if self.shape.key_columns else list(COPY_COLUMN)
        columns += list(CURRENT_COLUMNS)
        listed = ",\n".join(f"        {column}" for column in columns)
        return (
            HEADER.format(origin=self.origin) + "with\n\n"
            "history as (\n\n"
            f"    select * from {{{{ ref('scd2_{self.name}') }}}}\n"
            "    where is_current\n\n"
            "),\n\n"
            "current_rows as (\n\n"
            "    select\n"
            f"{listed}\n"
            "    from history\n\n"
            ")\n\n"
            "select * from current_rows\n"
        )

    # ---------- yml

    def _column_entries(
        self, names: list[str], types: dict[str, str]
    ) -> list[dict[str, Any]]:
        entries = []
        for name in names:
            life = self.shape.columns[name][-1]
            comment = f"{life.comment.rstrip('.')}. " if life.comment else ""
            source = self.shape.source_names.get(name)
            named = "" if source is None else f"{source}, "
            gone = " Dropped at the source; null since." if life.dropped_at else ""
            form = self._seed.column_type(life.type).form
            entries.append(
                {
                    "name": yml_text(name),
                    "quote": True,
                    "data_type": types[name],
                    "description": _description(
                        f"{comment}{named}{life.type} at the source, kept as {form}.{gone}"
                    ),
                }
            )
        return entries

    def _notes(self) -> str:
        notes = []
        if self.shape.partial:
            notes.append(self.shape.partial)
        notes += self.shape.unknown_since.values()
        if self.shape.unsent:
            notes.append(
                "Left out, as no row message has these virtual generated columns: "
                + ", ".join(self.shape.unsent)
                + "."
            )
        return " ".join(["", *notes])

    def history_yml(self) -> str:
        """Return the yml of the history model."""
        keys = self.shape.key_columns or COPY_KEY
        own = (
            VERSION_COLUMNS if self.shape.key_columns else COPY_COLUMN | VERSION_COLUMNS
        )
        columns = self._column_entries(list(self.shape.columns), self.types)
        columns += [
            {"name": name, "data_type": kept, "description": f"{{{{ doc('{name}') }}}}"}
            for name, kept in own.items()
        ]
        unknown = {
            since: yml_text(reason)
            for since, reason in self.shape.unknown_since.items()
        }
        meta = {"config": {"meta": {"needs_snapshot": unknown}}} if unknown else {}
        return _dump(
            {
                "name": f"scd2_{self.name}",
                **meta,
                "description": _description(
                    f"One row per version of a row of {self.shape.database}."
                    f"{self.shape.table}, told apart by {', '.join(keys)}. Versions of a "
                    "key do not overlap; at most one is open; a deleted row has none."
                    + self._notes()
                ),
                **self._tests(keys),
                "columns": columns,
            }
        )

    def _tests(self, keys: list[str]) -> dict[str, Any]:
        """The data tests of the history model."""
        arguments = {"key_columns": [yml_text(name) for name in keys]}
        test = {"changefold.history_is_consistent": {"arguments": arguments}}
        return {"data_tests": [test]}

    def current_yml(self) -> str:
        """Return the yml of the current model."""
        keys = ", ".join(self.shape.key_columns) or "all its columns and _cdc_copy"
        own = {name: VERSION_COLUMNS[name] for name in CURRENT_COLUMNS}
        own = own if self.shape.key_columns else COPY_COLUMN | own
        columns = self._column_entries(self.shape.live, self.live_types)
        columns += [
            {"name": name, "data_type": kept, "description": f"{{{{ doc('{name}') }}}}"}
            for name, kept in own.items()
        ]
        return _dump(
            {
                "name": f"cur_{self.name}",
                "description": _description(
                    f"One row per row of {self.shape.database}.{self.shape.table} as of "
                    f"the cut, told apart by {keys}: the open versions of its history."
                    + self._notes()
                ),
                "columns": columns,
            }
        )


def table_rows(tables: list[TableModels]) -> dict[str, str]:
    """Return the model that counts the rows of all generated tables, and its yml."""
    selects = [
        "    select\n"
        f"        {{{{ sql_text({jinja_text(table.shape.database)}) }}}} as source_database,\n"
        f"        {{{{ sql_text({jinja_text(table.shape.table)}) }}}} as source_table,\n"
        "        count_if(is_current) as current_rows,\n"
        "        count(*) as versions,\n"
        "        count_if({{ changefold.has_unfit_value('_cdc_conversion_failures') }})\n"
        "            as conversion_failures,\n"
        f"        {{{{ changefold.unknown_values({_jinja_value(tuple(table.unknown_moments))}) }}}}"
        " as unknown_values\n"
        f"    from {{{{ ref('scd2_{table.name}') }}}}\n"
        for table in tables
    ]
    sql = (
        "-- Written by `make models`.\n"
        "with\n\ntable_rows as (\n\n" + "    union all\n".join(selects) + "\n)\n\n"
        "select * from table_rows\n"
    )
    described = {
        "source_database": ("string", "{{ doc('source_database') }}"),
        "source_table": ("string", "{{ doc('source_table') }}"),
        "current_rows": ("bigint", "Rows of the table at the cut."),
        "versions": ("bigint", "Versions of rows in its history, open ones included."),
        "conversion_failures": (
            "bigint",
            "Versions with a value that its column's type can not hold.",
        ),
        "unknown_values": (
            "map<string,bigint>",
            "By the column, in how many versions its value is not known.",
        ),
    }
    yml = _dump(
        {
            "name": "table_rows",
            "description": "One row per source table that has a model: how many rows.",
            "data_tests": [
                {
                    "changefold.rows_are_sound": {
                        "name": "values_fit_their_types",
                        "description": (
                            "Every value of the source fits the type that its column "
                            "has here. One row per table with versions where one does "
                            "not: there the column is null, and its text stands in "
                            "`_cdc_conversion_failures`. Zero dates are such values; "
                            "times that say more than their column, which are there "
                            "too, are none."
                        ),
                        "arguments": {"conditions": ["conversion_failures = 0"]},
                        "config": {
                            "severity": "warn",
                            "meta": {"is_deterministic": True},
                        },
                    }
                },
                {
                    "changefold.rows_are_sound": {
                        "name": "values_are_known",
                        "description": (
                            "Every value was told by a message, or follows from a rule "
                            "of the source. One row per table with versions where one "
                            "does not: there the column is null, its name stands in "
                            "`_cdc_unknown_columns`, and `unknown_values` counts it. A "
                            "snapshot of the table tells them."
                        ),
                        "arguments": {
                            "conditions": ["coalesce(size(unknown_values), 0) <= 0"]
                        },
                        "config": {
                            "severity": "warn",
                            "meta": {"is_deterministic": True},
                        },
                    }
                },
            ],
            "columns": [
                {"name": name, "data_type": kept, "description": text}
                for name, (kept, text) in described.items()
            ],
        }
    )
    return {"current/table_rows.sql": sql, "current/table_rows.yml": yml}


def _description(text: str) -> str:
    return yml_text(markdown(text))


def _dump(model: dict[str, Any]) -> str:
    return "# Written by `make models`.\n" + yaml.safe_dump(
        {"version": 2, "models": [model]},
        sort_keys=False,
        allow_unicode=True,
        width=88,
    )
