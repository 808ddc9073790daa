"""Secrets of a profile come from the environment and stay out of sight."""

from __future__ import annotations

import re

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparksession.connections import SparkSessionCredentials
from dbt.adapters.sparksession.errors import explain
from dbt.adapters.sparksession.secrets import (
    MASK,
    check_settings,
    hidden_keys,
    java_pattern,
    mask,
    redaction,
    secret_keys,
)

SECRET = "p/ss$1.+ }x"  # noqa: S105  # it opens nothing


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_CATALOG", SECRET)


@pytest.mark.parametrize(
    "key",
    [
        "credential",
        "token",
        "jdbc.password",
        "header.Authorization",
        "s3.secret-access-key",
        "client.secret-access-key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.bucket.raw.access.key",
        "spark.hadoop.fs.azure.account.key.one.dfs.core.windows.net",
        "spark.hadoop.javax.jdo.option.ConnectionPassword",
        "spark.kafka.sasl.jaas.config",
        "spark.ssl.keyStorePassword",
    ],
)
def test_a_secret_that_stands_in_the_profile_is_refused(key: str) -> None:
    with pytest.raises(DbtRuntimeError, match=re.escape(f"secret in `{key}`")) as said:
        check_settings("spark_config", {key: "hunter2"})
    assert "hunter2" not in str(said.value)
    check_settings("spark_config", {key: f"id:{SECRET}"})
    check_settings("spark_config", {key: ""})


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://me:{}@host/db",
        "jdbc:postgresql://host:5432/db?user=me&password={}",
        "jdbc:sqlserver://host;databaseName=db;password={};encrypt=true",
    ],
)
def test_the_password_of_a_url_comes_from_the_environment(url: str) -> None:
    with pytest.raises(DbtRuntimeError, match="secret in `uri`"):
        check_settings("catalog_properties", {"uri": url.format("hunter2")})
    check_settings("catalog_properties", {"uri": url.format("p%2Fss%241.%2B%20%7Dx")})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("token-refresh-enabled", "false"),
        ("oauth2-server-uri", "https://host:8181/v1/oauth/tokens"),
        ("spark.hadoop.fs.s3a.aws.credentials.provider", "org.apache.Provider"),
        ("uri", "jdbc:sqlite:file:{warehouse}/catalog.db?busy_timeout=20000"),
        ("uri", "jdbc:postgresql://host:5432/db?user=me@example.org"),
    ],
)
def test_what_is_no_secret_may_stand_in_the_profile(key: str, value: str) -> None:
    check_settings("catalog_properties", {key: value})


@pytest.mark.parametrize(
    "key", ["spark.driver.extraJavaOptions", "spark.jars.repositories"]
)
def test_a_secret_on_a_command_line_is_refused(key: str) -> None:
    settings = {key: f"-Dx.password={SECRET}"}
    with pytest.raises(DbtRuntimeError, match="the list of processes") as said:
        check_settings("spark_config", settings)
    assert SECRET not in str(said.value)
    assert hidden_keys(settings) == set()


def test_a_profile_is_checked_and_not_shown() -> None:
    with pytest.raises(DbtRuntimeError, match="`catalog_properties`: expected the sec"):
        SparkSessionCredentials(catalog_properties={"token": "hunter2"})
    for value in ("s3a://id:hunter2@raw/lake", f"s3a://id:{SECRET}@raw/lake"):
        with pytest.raises(DbtRuntimeError, match="`warehouse`: expected no password"):
            SparkSessionCredentials(warehouse=value)
    credentials = SparkSessionCredentials(catalog_properties={"token": SECRET})
    assert SECRET not in repr(credentials)
    assert SECRET not in str(list(credentials.connection_info()))


def test_spark_redacts_the_settings_with_a_secret() -> None:
    credentials = SparkSessionCredentials(
        catalog_properties={"uri": f"jdbc:x://me:{SECRET}@host"},
        spark_config={"spark.redaction.regex": "mine", "spark.x": "1"},
    )
    settings = credentials.session_settings()
    assert secret_keys(settings) == {"spark.sql.catalog.lake.uri"}
    assert hidden_keys(settings) == {"spark.sql.catalog.lake.uri"}
    pattern = settings["spark.redaction.regex"]
    assert re.search(pattern, "spark.sql.catalog.lake.uri")
    assert re.search(pattern, "mine")
    assert not re.search(pattern, "spark.x")
    assert re.search(redaction({}), "spark.PassWord")


def test_a_secret_is_masked_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_PART", "p/ss")
    monkeypatch.setenv("DBT_ENV_SECRET_EMPTY", " ")
    monkeypatch.setenv("DBT_ENV_SECRET_ENCODED", "a%2Bb")
    text = f"1 {SECRET} p%2Fss%241.%2B%20%7Dx p%2Fss%241.%2B+%7Dx p/ss a%2Bb a+b"
    assert mask(text) == "1" + f" {MASK}" * 6
    assert explain(f"No driver for {SECRET}\n") == f"No driver for {MASK}"


def test_the_pattern_of_the_log_has_no_signs_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_CATALOG", "a$ é")
    first, *_ = java_pattern().split("|")
    assert first == r"a\x{25}24\x{25}20\x{25}C3\x{25}A9"
    assert r"a\x{24}\x{20}\x{e9}" in java_pattern().split("|")
    monkeypatch.delenv("DBT_ENV_SECRET_CATALOG")
    assert java_pattern() == ""
