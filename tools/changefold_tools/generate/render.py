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
    from changefold_tools.generate.table_history import Incarnation, TableShape

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
    until = shape.past_until or ""
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
    if shape.past_until is not None:
        # Its DROP, as a moment that no other table of the name can share.
        name += "__until_" + re.sub(r"[^a-z0-9]+", "_", shape.past_until)
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
    """The moment of a DDL: this project made it, so it has no character to escape."""
    return f"'{sequence}'"


def _names(argument: str, names: list[str]) -> str:
    """An argument with names of columns: on one line, where that is short enough."""
    line = f"{argument}=[{', '.join(map(jinja_text, names))}]"
    is_short = len(line) < _WIDTH
    return line if is_short else f"{argument}={_jinja_list(names, 8)}"


_WIDTH: Final = 80
"""Of an argument, behind its indentation."""


def _image(name: str) -> str:
    """A column of a struct, inside a Jinja string."""
    return "image.`" + name.replace("`", "``") + "`"


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

    # ---------- the history model

    def history(self) -> str:
        """Return the text of the model of its versions."""
        return (
            HEADER.format(origin=self.origin) + "{{ config(\n"
            f"{identity_lines(self.shape)}{self._lives()}{self._source_names()}"
            ") }}\n\n"
            "with\n\n"
            f"{self._images()}"
            f"{self._typed()}"
            f"{self._versions()}"
        )

    def _lives(self) -> str:
        """Whose versions it has, as a setting of the model."""
        entries = []
        for life in self.shape.lives:
            parts = [f"'table_uid': {jinja_text(life.table_uid)}"]
            if life.key_since:
                parts.append(f"'key_since': {_moment(life.key_since)}")
            entries.append(f"        {{{', '.join(parts)}}},\n")
        return f"    lives=[\n{''.join(entries)}    ],\n"

    def _source_names(self) -> str:
        """Names of columns at the source, where they differ, as a setting."""
        entries = "".join(
            f"        {jinja_text(kept)}: {jinja_text(name)},\n"
            for kept, name in self.shape.source_names.items()
        )
        return f"    source_names={{\n{entries}    }},\n" if entries else ""

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

    def _images(self) -> str:
        """The relation of the versions, with the texts that columns held at the time."""
        arguments = [_names("columns", list(self.shape.columns))]
        renames = self._renames()
        if renames:
            arguments.append(renames)
        if self.shape.reshaped_at:
            arguments.append(f"ddls={_moments(self.shape.reshaped_at, 8)}")
        call = (
            "{{ changefold.versions_of_table(\n"
            + "".join(f"        {argument},\n" for argument in arguments)
            + "    ) }}"
        )
        texts = {name: self._text_over_time(name) for name in self.shape.columns}
        if all(text == "image." + sql_name(name) for name, text in texts.items()):
            return f"images as (\n\n    {call}\n\n),\n\n"
        columns = ",\n".join(
            _indented(f"{text} as {sql_name(name)}", 12) for name, text in texts.items()
        )
        return (
            f"written as (\n\n    {call}\n\n),\n\n"
            "-- What each column held at the time, by the DDLs between the writing of the\n"
            "-- row and that time.\n"
            "images as (\n\n"
            "    select\n"
            "        * except (image),\n"
            "        struct(\n"
            f"{columns}\n"
            "        ) as image\n"
            "    from written\n\n"
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
        bounds = []
        if life.added_at is not None:
            # A row from before may have the value of another column of the name.
            since = "written_sequence" if life.default is None else "held_at"
            bounds.append(f"{since} > '{life.added_at}'")
        if life.dropped_at is not None:
            bounds.append(f"held_at <= '{life.dropped_at}'")
        return bounds, text

    def _values(self) -> str:
        """The typed values of all columns, for a struct."""
        return ",\n".join(
            _indented(f"{self._value(name)} as {sql_name(name)}", 12)
            for name in self.shape.columns
        )

    def _typed(self) -> str:
        """The relation with the typed values."""
        unknown = self._unknown()
        known = "        {{ changefold.unknown_columns() }} as unknown_columns,\n"
        return (
            f"{unknown}"
            "typed as (\n\n"
            "    select\n"
            "        *,\n"
            f"{'' if unknown else known}"
            "        struct(\n"
            f"{self._values()}\n"
            "        ) as record\n"
            f"    from {'marked' if unknown else 'images'}\n\n"
            "),\n\n"
        )

    def _versions(self) -> str:
        """The last relation."""
        keyless = "" if self.shape.key_columns else ",\n        has_key=false"
        columns = _names("columns", self._fallible)
        return (
            "versions as (\n\n"
            "    {{ changefold.typed_versions(\n"
            "        'typed',\n"
            f"        {columns}{self._rounded}{keyless},\n"
            "    ) }}\n\n"
            ")\n\n"
            "select * from versions\n"
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
            "    from images\n\n"
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
        return _dump(
            {
                "name": f"scd2_{self.name}",
                "description": _description(
                    f"One row per version of a row of {self.shape.database}."
                    f"{self.shape.table}, told apart by {', '.join(keys)}. Versions of a "
                    "key do not overlap; at most one is open; a deleted row has none."
                    + self._notes()
                ),
                "columns": columns,
            }
        )

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
                        "name": "values_fit_and_are_known",
                        "description": (
                            "Every value of the source fits the type that its column "
                            "has here, and was told by a message or follows from a rule "
                            "of the source. One row per table with versions where that "
                            "is not so, with the condition that does not hold. A value "
                            "that does not fit is null, and its text stands in "
                            "`_cdc_conversion_failures`: zero dates are such values; "
                            "times that say more than their column, which are there "
                            "too, are none. One that is not known is null, and its name "
                            "stands in `_cdc_unknown_columns`; a snapshot of the table "
                            "tells it."
                        ),
                        "arguments": {
                            "conditions": [
                                "conversion_failures = 0",
                                "coalesce(size(unknown_values), 0) <= 0",
                            ]
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
