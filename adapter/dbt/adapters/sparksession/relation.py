"""How relations and functions are written in SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.contracts.relation import (
    Policy,  # dbt reads the hints at run time
    RelationType,
)
from dbt.adapters.spark.relation import SparkQuotePolicy, SparkRelation


@dataclass
class SparkSessionQuotePolicy(SparkQuotePolicy):
    """Names from a topic may hold any character, so they are always quoted."""

    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class SparkSessionRelation(SparkRelation):
    """A table, a view or a function of the session."""

    quote_policy: Policy = field(default_factory=SparkSessionQuotePolicy)

    def render(self) -> str:
        """Return the name as SQL; a session function has no schema on Spark."""
        if self.type == RelationType.Function:
            return str(self.identifier)
        return super().render()
