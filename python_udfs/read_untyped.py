"""Read a row that came without a schema by the types of others, see the yml beside this file.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _read_untyped as main

__all__ = ["main"]
