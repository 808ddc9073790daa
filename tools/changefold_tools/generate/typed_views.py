"""Text of the models that type the versions of rows: casts over `row_versions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from changefold_tools.generate.escaping import jinja_text, sql_name
from changefold_tools.generate.render import (
    HEADER,
    TableModels,
    _indented,
    _jinja_list,
    _moment,
    _moments,
    identity_lines,
)

if TYPE_CHECKING:
    from changefold_tools.generate.table_history import Incarnation


class TypedViews(TableModels):
    """The files of one source table whose versions `row_versions` has."""

    def history(self) -> str:
        """Return the text of the model of its versions."""
        return (
            HEADER.format(origin=self.origin) + "{{ config(\n"
            f"{identity_lines(self.shape)}{self._lives()}{self._source_names(4)}"
            ") }}\n\n"
            "with\n\n"
            f"{self._images('')}"
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

    @property
    def _ddls(self) -> list[str]:
        """The DDLs that changed columns; at one that converted values rows begin anew."""
        return [
            version["valid_from_sequence"]
            for version in self.shape.versions
            if any(change["kind"] != "retyped" for change in version["image_changes"])
        ]

    def _has_rows_before(self, life: Incarnation) -> bool:
        return True

    def _converted(self, text: str, life: Incarnation) -> str:
        return text

    def _unchanged(self) -> str:
        return ""

    def _tests(self, keys: list[str]) -> dict[str, Any]:
        """None of its own: `row_versions` is tested once for all tables."""
        return {}

    def _images(self, prefix: str) -> str:
        """The relation of the versions, with the texts that columns held at the time."""
        arguments = [_names("columns", list(self.shape.columns))]
        renames = self._renames()
        if renames:
            arguments.append(renames)
        if self._ddls:
            arguments.append(f"ddls={_moments(self._ddls, 8)}")
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


def _names(argument: str, names: list[str]) -> str:
    """An argument with names of columns: on one line, where that is short enough."""
    line = f"{argument}=[{', '.join(map(jinja_text, names))}]"
    is_short = len(line) < _WIDTH
    return line if is_short else f"{argument}={_jinja_list(names, 8)}"


_WIDTH: Final = 80
"""Of an argument, behind its indentation."""
