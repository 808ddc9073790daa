"""Which archives the workers of Python do without."""

from pathlib import Path

from changefold.worker_daemon import without_own_archives


def test_archives_within_an_installed_pyspark_are_left_out(tmp_path: Path) -> None:
    library = tmp_path / "site-packages"
    archives = [
        library / "pyspark" / "python" / "lib" / "pyspark.zip",
        library / "pyspark" / "jars" / "spark-core.jar",
    ]
    for archive in archives:
        archive.parent.mkdir(parents=True)
        archive.touch()
    path = [*map(str, archives), str(library)]
    assert without_own_archives(path) == [str(library)]


def test_archives_of_a_spark_elsewhere_stay(tmp_path: Path) -> None:
    archive = tmp_path / "spark" / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    archive.touch()
    (tmp_path / "site-packages" / "pyspark").mkdir(parents=True)
    path = [str(archive), str(tmp_path / "site-packages")]
    assert without_own_archives(path) == path


def test_archives_stay_where_no_pyspark_is_installed(tmp_path: Path) -> None:
    archive = tmp_path / "pyspark" / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert without_own_archives([str(archive)]) == [str(archive)]


def test_folders_of_code_stay(tmp_path: Path) -> None:
    within = tmp_path / "pyspark" / "python"
    within.mkdir(parents=True)
    path = [str(within), str(tmp_path)]
    assert without_own_archives(path) == path
