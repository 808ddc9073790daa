"""Convert a value as ALTER TABLE ... MODIFY does, see the yml beside this file.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _convert_mysql_value as main

__all__ = ["main"]
