"""A PostgreSQL server of a test's own: in a temporary folder, on a Unix socket, without port or password."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def program(name):
    """The path of one of the server's programs, or None."""
    found = [place / name for place in _PLACES if (place / name).is_file()]
    return str(found[0]) if found else shutil.which(name)


def memory_folder(least=1 << 30):
    """A folder in memory, where a test need not wait for a disk (its server crashes, the machine does not), or /tmp."""
    place = "/dev/shm"
    is_roomy = os.access(place, os.W_OK) and shutil.disk_usage(place).free > least
    return place if is_roomy else "/tmp"


class PostgresServer:
    """A server; it refuses to run as root, so root runs it as the user postgres."""

    def __init__(self, place="/tmp", **options):
        self.options = {"shared_buffers": "64MB", "max_wal_size": "256MB", **options}
        self.home = Path(tempfile.mkdtemp(prefix="oddshift-pg-", dir=place))
        self.data = self.home / "data"
        self.process = None
        self.front = []
        if os.geteuid() == 0:
            shutil.chown(self.home, "postgres")
            self.front = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        command = [program("initdb"), "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run([*self.front, *map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.start()

    @property
    def address(self):
        return f"postgresql:///postgres?host={self.home}&user=postgres"

    def start(self):
        options = {"listen_addresses": "", "unix_socket_directories": self.home, "max_connections": 50}
        options |= {"log_min_messages": "panic", **self.options}
        settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [*self.front, program("postgres"), "-D", str(self.data), *settings]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True)
        give_up = time.monotonic() + 60.0
        while True:
            try:
                psycopg.connect(self.address).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        """SIGINT breaks off what runs; SIGQUIT stops at once, as a crash does, and leaves the rest to recovery."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def run(self, statement):
        with psycopg.connect(self.address, autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def clear(self):
        self.run("SET client_min_messages = error; DROP SCHEMA IF EXISTS oddshift CASCADE")

    def close(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.home, ignore_errors=True)
