"""Read a MySQL DDL statement into what it does, see the yml beside this file.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _parse_mysql_ddl as main

__all__ = ["main"]
