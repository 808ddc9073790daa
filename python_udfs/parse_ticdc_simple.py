"""Parse messages of TiCDC's Simple protocol in JSON, see the yml beside this file.

A dbt function resource: the node that the lineage shows. The session registers the
code behind it (`changefold.register`).
"""

from changefold.register import _parse_ticdc_simple as main

__all__ = ["main"]
