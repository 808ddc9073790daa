"""What the actions of a DDL do to the columns and keys of a table."""

from __future__ import annotations

import re

import msgspec

from changefold.connect.types import PREFIX
from changefold.mysql.charsets import in_charset, narrower_charset
from changefold.mysql.conversion import convert_value
from changefold.mysql.ddl import (
    Action,
    AddColumn,
    AddKey,
    ConvertCharset,
    CreateTable,
    DdlColumn,
    DdlKey,
    DropColumn,
    DropKey,
    ModifyColumn,
    RenameColumn,
    RenameKey,
    SetDefault,
    TableCharset,
)
from changefold.mysql.text_changes import may_change_text
from changefold.schemas.defaults import is_open_type, original_default_of, type_of
from changefold.schemas.model import DdlEvent, ImageChange, SchemaColumn
from changefold.schemas.table_state import (
    TableChange,
    TableState,
    find_column,
    is_named,
)


def fill_table(table: TableState, action: CreateTable) -> None:
    """Give a new table its columns and keys."""
    table.charset, table.collation = action.charset, action.collation
    table.partitioning = action.partitioning
    for column in action.columns:
        table.add(schema_column(_with_table_defaults(table, column), 0))
    # TiDB numbers the keys of the table first and then those written with a column.
    for key in action.keys:
        table.add_key(key)
    for column in action.columns:
        _add_inline_keys(table, column)


def _add_inline_keys(table: TableState, column: DdlColumn) -> None:
    if column.is_primary_key:
        table.add_key(DdlKey("primary", "PRIMARY", (column.name,)))
    if column.is_unique:
        table.add_key(DdlKey("unique", None, (column.name,)))


def schema_column(column: DdlColumn, column_id: int) -> SchemaColumn:
    """Return a column as a DDL defines it."""
    return SchemaColumn(
        column_id=column_id,
        name=column.name,
        type=column.type,
        nullable=column.nullable,
        default=column.default,
        generated=column.generated,
        expression=column.expression,
        comment=column.comment,
        charset=column.charset,
        collation=column.collation,
        auto_increment=column.auto_increment,
    )


def _with_table_defaults(table: TableState, column: DdlColumn) -> DdlColumn:
    """Give a text column what its table says of texts."""
    if column.charset or column.collation:
        return column
    mysql_type = type_of(column.type)
    if table.charset == "binary":
        column = msgspec.structs.replace(column, type=str(mysql_type.as_binary()))
    elif mysql_type.is_text or mysql_type.elements:
        column = msgspec.structs.replace(
            column, charset=table.charset, collation=table.collation
        )
    return column


def _move(
    change: TableChange, column_id: int, *, first: bool, after: str | None
) -> None:
    """Put a column where FIRST or AFTER says; without them it stays."""
    columns = change.table.columns
    column = columns.pop(change.table.index(column_id))
    neighbour = None
    if after is not None:
        neighbour = find_column(columns, after) or change.column_of(after)
    if first:
        columns.insert(0, column)
    elif neighbour is not None and neighbour is not column:
        columns.insert(change.table.index(neighbour.column_id) + 1, column)
    else:
        columns.append(column)


def add_column(change: TableChange, action: AddColumn, event: DdlEvent) -> None:
    """Add a column, with its value in the rows that are there."""
    table = change.table
    definition = _with_table_defaults(table, action.column)
    present = find_column(table.columns, definition.name)
    if present is not None and action.if_not_exists:
        return
    if present is not None and present.column_id in table.revealed_ids:
        # It was dropped without a DDL, as it was added.
        _drop_column(change, present.name)
    elif present is not None:
        change.unknown(f"Column `{definition.name}` was there when it was added")
        return
    value, accuracy = original_default_of(definition, event)
    column = table.add(
        msgspec.structs.replace(
            schema_column(definition, 0),
            original_default=value,
            original_default_accuracy=accuracy,
        )
    )
    if action.first or action.after is not None:
        _move(change, column.column_id, first=action.first, after=action.after)
    _add_inline_keys(table, definition)
    change.add_image(
        ImageChange(
            column_id=column.column_id,
            kind="added",
            to_name=column.name,
            to_type=column.type,
            value=value,
            value_accuracy=accuracy,
            generated=column.generated,
        )
    )


def _named_column(change: TableChange, name: str) -> SchemaColumn | None:
    """Return the column a clause names.

    In a table whose columns are not all known, one that was not seen yet is taken up.
    """
    table = change.table
    column = change.column_of(name)
    if column is None and table.is_complete and not table.has_other_columns:
        change.unknown(f"Column `{name}` is not among the known ones")
    elif column is None:
        column = table.add(SchemaColumn(0, name, ""))
    return column


def alter_keys(table: TableState, action: AddKey | DropKey | RenameKey) -> None:
    """Apply a clause on keys."""
    match action:
        case AddKey():
            table.add_key(action.key)
        case DropKey():
            table.drop_key(action.name)
        case RenameKey():
            for key in table.keys:
                if key.name.lower() == action.name.lower():
                    key.name = action.target


def alter_columns(change: TableChange, action: Action) -> None:
    """Apply a clause on columns or on the character set of the table."""
    table = change.table
    match action:
        case DropColumn():
            if not action.if_exists or change.column_of(action.column):
                _drop_column(change, action.column)
        case RenameColumn():
            _rename_column(change, action.column, action.target)
        case ModifyColumn():
            if not action.if_exists or change.column_of(action.name):
                _modify_column(change, action)
        case SetDefault():
            column = _named_column(change, action.column)
            if column is not None:
                table.replace(msgspec.structs.replace(column, default=action.default))
        case TableCharset():
            table.charset = action.charset or _charset_of(action.collation)
            table.collation = action.collation
        case ConvertCharset():
            _convert_charset(change, action)
        case _:  # comments and the like
            pass


def _charset_of(collation: str | None) -> str | None:
    return None if collation is None else collation.partition("_")[0]


def _drop_column(change: TableChange, name: str) -> None:
    column = _named_column(change, name)
    if column is None:
        return
    change.table.drop_column(column.column_id)
    change.add_image(
        ImageChange(
            column_id=column.column_id,
            kind="dropped",
            from_name=column.name,
            from_type=column.type or None,
        )
    )


def drop_displaced(change: TableChange) -> None:
    """Drop the columns whose name another one got: no DDL told that they were gone."""
    table = change.table
    for before in change.columns_before:
        ids = [c.column_id for c in table.columns if is_named(c, before.name)]
        if len(ids) > 1 and before.column_id in ids:
            _drop_column(change, before.name)
            if before.column_id not in table.revealed_ids:
                reason = f"Column `{before.name}` was there when another got its name"
                change.unknown(reason)


def _rename_column(change: TableChange, name: str, target: str) -> None:
    column = _named_column(change, name)
    if column is None:
        return
    change.table.replace(msgspec.structs.replace(column, name=target))
    change.table.renamed_ids.add(column.column_id)
    if column.name == target:
        return
    change.add_image(
        ImageChange(
            column_id=column.column_id,
            kind="renamed",
            from_name=column.name,
            to_name=target,
            from_type=column.type or None,
            to_type=column.type or None,
        )
    )


def _modify_column(change: TableChange, action: ModifyColumn) -> None:
    """MODIFY and CHANGE replace the whole definition; the column stays the same."""
    table = change.table
    column = _named_column(change, action.name)
    if column is None:
        return
    definition = _with_table_defaults(table, action.column)
    _rename_column(change, action.name, definition.name)
    is_primary = any(
        key.kind == "primary" and column.column_id in key.column_ids
        for key in table.keys
    )
    modified = msgspec.structs.replace(
        schema_column(definition, column.column_id),
        nullable=definition.nullable and not is_primary,
        original_default=column.original_default,
        original_default_accuracy=column.original_default_accuracy,
    )
    _retype(change, column, modified)
    if action.first or action.after is not None:
        _move(change, column.column_id, first=action.first, after=action.after)
    _add_inline_keys(table, definition)


def _retype(change: TableChange, before: SchemaColumn, after: SchemaColumn) -> None:
    """Put a column in place of itself and note if its values may be converted."""
    if before.type.startswith(PREFIX):
        # Rows told how a value comes, not what the column was.
        before = msgspec.structs.replace(before, type="")
    is_regenerated = (before.generated, before.expression) != (
        after.generated,
        after.expression,
    )
    is_computed = is_regenerated and after.generated is not None
    to_charset = (
        _narrower_charset(before, after) if change.may_lose_characters else None
    )
    if before.type == after.type and not is_regenerated and to_charset is None:
        change.table.replace(after)
        return
    is_open = bool(before.type) and is_open_type(before.type)
    if is_open and not is_regenerated and before.type != after.type:
        change.unknown(f"The whole type of `{before.name}` before is not known")
        change.table.replace(after)
        return
    changes_text = (
        is_regenerated
        or not before.type
        or to_charset is not None
        or _may_change(before, after)
    )
    change.table.replace(_with_converted_default(before, after, to_charset))
    change.add_image(
        ImageChange(
            column_id=after.column_id,
            kind="retyped",
            from_name=before.name,
            to_name=after.name,
            from_type=before.type or None,
            to_type=after.type,
            changes_text=changes_text,
            value_accuracy="unknown" if is_computed else None,
            generated=after.generated,
            to_charset=to_charset,
        )
    )


def _narrower_charset(before: SchemaColumn, after: SchemaColumn) -> str | None:
    """Return the character set after of a text that may lose characters."""
    if not before.type or not all(type_of(c.type).is_text for c in (before, after)):
        return None
    charsets = (
        column.charset or _charset_of(column.collation) for column in (before, after)
    )
    return narrower_charset(*charsets)


def doubt_generated(change: TableChange) -> None:
    """Note the stored columns that the source computes anew from changed ones.

    So does an ALTER TABLE that copies the rows (MySQL 8.0 manual, 15.1.9.2).
    """
    changed = {
        name.lower()
        for image in change.images
        if image.kind == "retyped" and image.changes_text
        for name in (image.from_name, image.to_name)
        if name is not None
    }
    told = {image.column_id for image in change.images}
    for column in change.table.columns:
        words = re.findall(r"[\w$]+", (column.expression or "").lower())
        if (
            column.generated == "stored"
            and column.column_id not in told
            and not changed.isdisjoint(words)
        ):
            change.add_image(
                ImageChange(
                    column_id=column.column_id,
                    kind="retyped",
                    from_name=column.name,
                    to_name=column.name,
                    from_type=column.type,
                    to_type=column.type,
                    value_accuracy="unknown",
                    generated=column.generated,
                )
            )


def _may_change(before: SchemaColumn, after: SchemaColumn) -> bool:
    return may_change_text(type_of(before.type), type_of(after.type))


def _with_converted_default(
    before: SchemaColumn, after: SchemaColumn, to_charset: str | None
) -> SchemaColumn:
    """Convert the value of rows before the column, as the DDL converted theirs."""
    if after.original_default is None or not before.type:
        return after
    types = type_of(before.type), type_of(after.type)
    value: str | None
    try:
        value = convert_value(after.original_default, *types)
    except ValueError:
        value = None
    if to_charset is not None and value is not None:
        value = in_charset(value, to_charset)
    if value is None:
        return msgspec.structs.replace(
            after, original_default=None, original_default_accuracy="unknown"
        )
    return msgspec.structs.replace(after, original_default=value)


def _convert_charset(change: TableChange, action: ConvertCharset) -> None:
    """CONVERT TO sets the character set of every text column and of the table."""
    table = change.table
    charset = action.charset
    table.charset, table.collation = charset, action.collation
    for column in tuple(table.columns):
        if not column.type or column.type.startswith(PREFIX):
            continue
        mysql_type = type_of(column.type)
        if not (mysql_type.is_text or mysql_type.elements):
            continue
        if charset == "binary":
            mysql_type = mysql_type.as_binary()
        after = msgspec.structs.replace(
            column,
            type=str(mysql_type),
            charset=charset,
            collation=action.collation,
        )
        _retype(change, column, after)
