"""Check the types that a topic declares, see the yml beside this file.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _check_connect_types as main

__all__ = ["main"]
