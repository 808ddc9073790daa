"""Read one DDL statement of MySQL or TiDB into typed actions.

``sqlglot`` splits the text into tokens (its MySQL tokenizer knows quoting, comments,
introducers and literals). Its parser is not used: it turns ``RENAME TABLE`` and most
forms of ``ALTER TABLE`` into an opaque command. A small recursive-descent reader takes
its place, one function or method per clause of the grammar.

What the reader does not know is never guessed: the statement comes back with
``understood=False`` and a sentence that says where reading stopped.

Sources: MySQL 8.0 and 9 reference manuals, 15.1 "Data Definition Statements"; MariaDB's
documentation of its statements (WAIT, system versioning, IGNORED indexes); TiDB's
documentation of its ALTER TABLE; the text that TiCDC sends, which TiDB's parser has
restored (back-quoted names, upper-case keywords, TiDB features in ``/*T! */``).
"""

from changefold.mysql.ddl.actions import (
    Action,
    AddColumn,
    AddKey,
    ConvertCharset,
    CreateDatabase,
    CreateTable,
    DdlColumn,
    DdlKey,
    DdlStatement,
    DropColumn,
    DropDatabase,
    DropKey,
    DropTable,
    ForeignKey,
    ModifyColumn,
    NoEffect,
    NoRowEffect,
    Partition,
    PartitionAction,
    Partitioning,
    RecoverDatabase,
    RecoverTable,
    RenameColumn,
    RenameKey,
    RenameTable,
    SetDefault,
    SqlValue,
    TableCharset,
    TableComment,
    TableName,
    TruncateTable,
)
from changefold.mysql.ddl.statements import parse_ddl

__all__ = [
    "Action",
    "AddColumn",
    "AddKey",
    "ConvertCharset",
    "CreateDatabase",
    "CreateTable",
    "DdlColumn",
    "DdlKey",
    "DdlStatement",
    "DropColumn",
    "DropDatabase",
    "DropKey",
    "DropTable",
    "ForeignKey",
    "ModifyColumn",
    "NoEffect",
    "NoRowEffect",
    "Partition",
    "PartitionAction",
    "Partitioning",
    "RecoverDatabase",
    "RecoverTable",
    "RenameColumn",
    "RenameKey",
    "RenameTable",
    "SetDefault",
    "SqlValue",
    "TableCharset",
    "TableComment",
    "TableName",
    "TruncateTable",
    "parse_ddl",
]
