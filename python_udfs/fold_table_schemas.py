"""Fold DDL events into the schemas that tables had over time, see the yml.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _fold_table_schemas as main

__all__ = ["main"]
