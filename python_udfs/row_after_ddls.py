"""Bring a row under the columns that DDLs made, see the yml beside this file.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _row_after_ddls as main

__all__ = ["main"]
