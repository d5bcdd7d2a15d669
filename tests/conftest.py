"""What several tests need: the folder of real data, and a cache folder of their own."""

import gc

import pytest

from added_package import forget, lay_out
from oddshift.data.codecs import data_folder
from oddshift.data.detectors import spans
from requirements import lacking


def pytest_collection_finish():
    """Leave what was imported and collected out of later garbage collections, which would walk through all of it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data():
    """The folder of real data; without it a test is skipped, and fails where CI is set."""
    folder = data_folder().resolve()
    if not (folder / "ag_news.csv").is_file():
        lacking(f"no real data in {folder} (set ODDSHIFT_DATA)")
    return folder


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server; where it is not installed a test is skipped, and fails where CI is set."""
    from postgres_server import PostgresServer, memory_folder, program

    if program("initdb") is None or program("postgres") is None:
        lacking("no PostgreSQL server on this machine (Debian: apt-get install postgresql)")
    server = PostgresServer(memory_folder())
    yield server
    server.close()


@pytest.fixture
def postgres(postgres_server):
    """The address of an empty ledger on the server."""
    postgres_server.clear()
    return postgres_server.address


@pytest.fixture(params=["embedded", "postgres"])
def any_ledger(request, tmp_path):
    """A new ledger of each engine."""
    from oddshift.protect import Ledger

    if request.param == "embedded":
        return Ledger(tmp_path / "releases.db")
    return Ledger(request.getfixturevalue("postgres"))


@pytest.fixture
def lantern(tmp_path, monkeypatch):
    """A package of somebody else on the path: the folder that it is installed in."""
    site = tmp_path / "site-packages"
    lay_out(site)
    monkeypatch.syspath_prepend(site)
    yield site
    forget()


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache folder that nothing was kept in yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def forgetful(empty_cache):
    """Nothing kept on disk, and a function that forgets which spans this process remembers."""
    spans._memory.cache_clear()
    yield spans._memory.cache_clear
    spans._memory.cache_clear()
