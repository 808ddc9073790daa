"""Parse messages of Debezium, see the yml beside this file.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _parse_debezium as main

__all__ = ["main"]
