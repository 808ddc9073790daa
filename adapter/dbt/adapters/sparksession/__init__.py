"""dbt adapter ``sparksession``: dbt-spark on a SparkSession that dbt itself opens."""

from dbt.adapters.base.plugin import AdapterPlugin

from dbt.adapters.sparksession.connections import SparkSessionCredentials
from dbt.adapters.sparksession.impl import SparkSessionAdapter
from dbt.include import sparksession

Plugin = AdapterPlugin(
    adapter=SparkSessionAdapter,  # type: ignore[arg-type]  # dbt-spark types it so too
    credentials=SparkSessionCredentials,
    include_path=sparksession.PACKAGE_PATH,
    dependencies=["spark"],
)
