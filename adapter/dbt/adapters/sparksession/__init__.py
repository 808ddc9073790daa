"""dbt adapter ``sparksession``: dbt-spark on a SparkSession that dbt itself opens."""

from dbt.adapters.base import AdapterPlugin
from dbt.include import sparksession

from dbt.adapters.sparksession.connections import SparkSessionCredentials
from dbt.adapters.sparksession.impl import SparkSessionAdapter

Plugin = AdapterPlugin(
    adapter=SparkSessionAdapter,  # type: ignore[arg-type]  # dbt-spark types it so too
    credentials=SparkSessionCredentials,
    include_path=sparksession.PACKAGE_PATH,
    dependencies=["spark"],
)
