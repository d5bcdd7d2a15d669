"""Both engines of a ledger keep the same promises: races, kills, lost connections, full disks and clocks set back."""

import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger, UserLimit
from oddshift.protect.dataset.part import joined_claim
from oddshift.protect.ledger import postgres as postgres_engine
from oddshift.protect.ledger import releases, sorted_runs, store
from oddshift.protect.ledger.embedded import EmbeddedTransaction
from oddshift.protect.ledger.ledger import is_address
from oddshift.protect.ledger.postgres import PostgresEngine, PostgresTransaction
from oddshift.protect.ledger.releases import StagedFolder
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch
from oddshift.protect.record_keys import WIDTH
from requirements import lacking

ONCE = ClaimTerms(policy="p", epsilon=1.0)
HERE = StagedFolder("/nowhere/.oddshift-1", 1, 2)


def numbered(numbers):
    """Keys of some numbers, spread over all leading bits."""
    high = (np.asarray(list(numbers), dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return KeyBatch(np.stack([high, high], axis=1).astype(">u8").tobytes())


def in_processes(count, work):
    """Call work(number) in so many processes at once; gives what each returned, a small number from 0."""
    start = time.time() + 0.1
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            code = 99
            with suppress(BaseException):
                time.sleep(max(0.0, start - time.time()))
                code = work(number)
            os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def tried(ledger, batch, terms=ONCE, **rest):
    """1 when the claim was refused because its records were released before, 0 when it was made."""
    try:
        Ledger(ledger.path).claim([batch], terms, is_final=True, **rest)
    except InvalidInput as error:
        return 1 if "released before" in str(error) else 2
    return 0


@pytest.mark.parametrize("processes", [2, 8])
def test_of_processes_at_once_exactly_one_claims(any_ledger, processes):
    """The first round also races for making the tables."""
    for turn in range(3):
        own = numbered(range(50 * turn, 50 * turn + 50))
        ended = in_processes(processes, lambda _, own=own: tried(any_ledger, own))
        assert sorted(ended) == [0] + [1] * (processes - 1), f"round {turn}"
    assert any_ledger.totals().records == 150
    assert any_ledger.check() == []


def test_claims_that_overlap_in_other_orders_neither_double_nor_block(any_ledger, monkeypatch):
    """Several statements in one claim: the server may choose one of two to try again."""
    from oddshift.protect.ledger import terms

    monkeypatch.setattr(terms, "AT_ONCE", 20)
    orders = [range(100), range(99, -1, -1), [*range(50, 100), *range(50)]]
    assert sorted(in_processes(3, lambda n: tried(any_ledger, numbered(orders[n])))) == [0, 1, 1]
    assert any_ledger.totals().records == 100


@pytest.mark.parametrize("moment", ["taking", "entering", "committed"])
def test_a_process_that_is_killed_while_it_claims_leaves_all_or_nothing(any_ledger, moment):
    any_ledger.keys()

    def killed(_):
        die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
        kind = EmbeddedTransaction if isinstance(any_ledger.path, os.PathLike) else PostgresTransaction
        if moment != "committed":
            enter = kind.enter
            kind.enter = die if moment == "taking" else lambda self, chosen: die(enter(self, chosen))
        Ledger(any_ledger.path).claim([numbered(range(40))], ONCE, HERE)
        return die()

    assert in_processes(1, killed) == [-signal.SIGKILL]
    if moment == "committed":
        with pytest.raises(InvalidInput, match="released before"):
            any_ledger.claim([numbered(range(40))], ONCE)
        ((number, _, _),) = any_ledger.unfinished()
        any_ledger.settle(number, lambda: False)
        take = ClaimTerms(policy="p", epsilon=1.0, may_take_over=True)
        assert any_ledger.claim([numbered(range(40))], take).records == 40
    else:
        assert any_ledger.claim([numbered(range(40))], ONCE).records == 40
    assert any_ledger.totals().records == 40
    assert any_ledger.check() == []


def test_a_process_that_is_killed_while_it_makes_the_tables_leaves_a_ledger_to_be_made(any_ledger):
    def killed(_):
        for module, name in ((store, "_create"), (postgres_engine.PostgresTransaction, "many")):
            make = getattr(module, name)
            setattr(module, name, lambda *given, make=make: os.kill(os.getpid(), make(*given) or signal.SIGKILL))
        Ledger(any_ledger.path).keys()
        return 0

    assert in_processes(1, killed) == [-signal.SIGKILL]
    assert not any_ledger.exists
    assert any_ledger.unfinished() == []
    assert any_ledger.claim([numbered(range(5))], ONCE).records == 5


def test_of_processes_that_take_records_over_at_once_exactly_one_does(any_ledger):
    dead = any_ledger.claim([numbered(range(30))], ONCE, HERE)
    any_ledger.settle(dead.release, lambda: False)
    take = ClaimTerms(policy="p", epsilon=1.0, may_take_over=True)
    assert sorted(in_processes(4, lambda _: tried(any_ledger, numbered(range(40)), take))) == [0, 1, 1, 1]
    assert any_ledger.totals().records == 40


def test_a_clock_that_is_set_back_makes_nothing_new(any_ledger, monkeypatch):
    any_ledger.claim([numbered(range(5))], ONCE, is_final=True)

    class Earlier(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(1999, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(releases, "datetime", Earlier)
    with pytest.raises(InvalidInput, match="released before"):
        any_ledger.claim([numbered([4])], ONCE, is_final=True)
    assert any_ledger.claim([numbered([5])], ONCE, is_final=True).records == 1


def test_parts_are_claimed_at_once_and_a_part_once(any_ledger):
    """Every part has records of its own and one of the part before; a part that is claimed again is told the same."""
    release = any_ledger.prepare(ONCE, HERE)

    def part(number):
        ledger = Ledger(any_ledger.path)
        batch = numbered(range(10 * number, 10 * number + 11))
        first = ledger.claim_part([batch], ONCE, release, number + 1)
        if not ledger.is_shared:
            return 0
        again = ledger.claim_part([batch], ONCE, release, number + 1)
        return int((first.records, first.elsewhere.tolist()) != (again.records, again.elsewhere.tolist()))

    assert in_processes(4, part) == [0] * 4
    assert any_ledger.totals().records == 41
    any_ledger.all_claimed(release)
    with pytest.raises(InvalidInput, match="is claimed, expected preparing"):
        any_ledger.claim_part([numbered([1000])], ONCE, release, 9)
    any_ledger.abandon(release)
    assert any_ledger.claim([numbered(range(41))], ONCE).records == 41, "what was withdrawn is free"


def test_claims_of_parts_are_joined_by_hand():
    none = np.zeros(0, dtype=np.int64)

    def claim(copies, elsewhere):
        return releases.Claimed(
            1, 2, none, np.array(copies, np.int64).reshape(-1, 2), none, np.array([2]), 1.0,
            elsewhere=np.array(elsewhere, np.int64).reshape(-1, 3),
        )  # fmt: skip

    joined = joined_claim([claim([[3, 1]], []), claim([], [[1, 1, 2]])], np.array([0, 3, 5]))
    assert joined.copies.tolist() == [[3, 1], [4, 2]]
    assert joined.past.tolist() == [2, 5]
    assert joined.records == 4


def test_users_are_held_to_their_budget_by_processes_at_once(any_ledger):
    limit = ClaimTerms(policy="p", epsilon=1.0, limit=UserLimit(budget=10.0, past="drop"))
    any_ledger.keys()

    def spending(number):
        batch = KeyBatch(numbered(range(10 * number, 10 * number + 5)).keys, numbered([7] * 5).keys)
        return Ledger(any_ledger.path).claim([batch], limit, is_final=True).records

    assert sum(in_processes(4, spending)) == 10
    assert any_ledger.totals().user_most_spent == 10.0


def test_a_record_is_refused_by_any_way_to_know_it(any_ledger):
    first = KeyBatch(numbered([1]).keys, b"", (numbered([2]).keys, numbered([3]).keys))
    any_ledger.claim([first], ONCE, is_final=True)
    for known in (1, 2, 3):
        with pytest.raises(InvalidInput, match="released before"):
            any_ledger.claim([numbered([known])], ONCE)
        with pytest.raises(InvalidInput, match="with --id-only equal texts under new ids are other records"):
            any_ledger.claim([KeyBatch(numbered([9]).keys, b"", (numbered([known]).keys,))], ONCE)
    alone = ClaimTerms(policy="p", epsilon=1.0, by_id_only=True)
    assert any_ledger.claim([KeyBatch(numbered([9]).keys, b"", (numbered([3]).keys,))], alone).records == 1
    same = KeyBatch(numbered([20, 21]).keys, b"", (numbered([22, 22]).keys,))
    assert any_ledger.claim([same], ONCE).records == 2, "two ids may have one text within an input"


# Sorted runs against a dictionary


@pytest.mark.parametrize("seed", range(3))
def test_runs_of_any_size_hold_what_a_dictionary_holds(tmp_path, monkeypatch, seed):
    for name, value in {"FEW": 8, "LOOSE": 20, "PAGE": 16, "FAN": 4}.items():
        monkeypatch.setattr(sorted_runs, name, value)
    rng, held, ledger = np.random.default_rng(seed), {}, Ledger(tmp_path / LEDGER)
    for turn in range(60):
        ids = rng.integers(4000, size=int(rng.integers(1, 120)))
        old = {n for n in ids.tolist() if n in held}
        terms = ClaimTerms(policy="p", epsilon=1.0, may_repeat=bool(turn % 3))
        if old and not terms.may_repeat:
            with pytest.raises(InvalidInput, match="released before"):
                ledger.claim([numbered(ids)], terms)
            continue
        found = ledger.claim([numbered(ids)], terms)
        firsts = {n: row for row, n in reversed(list(enumerate(ids.tolist(), 1)))}
        assert found.repeated.tolist() == sorted(row for n, row in firsts.items() if n in held)
        assert found.composed == 1.0 + max((held.get(n, 0) for n in firsts), default=0)
        if turn % 5 == 0:
            ledger.abandon(found.release)
        else:
            for n in firsts:
                held[n] = held.get(n, 0) + 1
    with pytest.raises(InvalidInput, match=f"{len(held):,} of {len(held):,} records"):
        ledger.claim([numbered(held)], ONCE)
    assert ledger.totals().records == len(held)
    assert ledger.check() == []


def test_equal_first_words_are_told_apart_by_the_second(tmp_path):
    high = np.zeros(6000, dtype=np.uint64) + np.uint64(5)
    low = np.random.default_rng(0).permutation(6000).astype(np.uint64)
    keys = np.stack([high, low], axis=1).astype(">u8")
    ledger = Ledger(tmp_path / LEDGER)
    assert ledger.claim([KeyBatch(keys[:5000].tobytes())], ONCE).records == 5000
    assert ledger.claim([KeyBatch(keys[5000:].tobytes())], ONCE).records == 1000
    with pytest.raises(InvalidInput, match="1 of 1 records was"):
        ledger.claim([KeyBatch(keys[17].tobytes())], ONCE)


# Full disks


@contextmanager
def small_disk(place, megabytes):
    """A file system of a few megabytes; a test is skipped where none may be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0777", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        lacking("no file system may be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_on_a_full_disk_a_claim_is_refused_and_changes_nothing(tmp_path):
    with small_disk(tmp_path / "disk", 2) as disk:
        ledger = Ledger(disk / LEDGER)
        ledger.claim([numbered(range(10))], ONCE, is_final=True)
        with pytest.raises(InvalidInput, match="disk is full"):
            ledger.claim([numbered(range(10, 200_000))], ONCE, is_final=True)
        assert ledger.totals().records == 10
        assert ledger.claim([numbered(range(10, 20))], ONCE, is_final=True).records == 10


def test_a_claim_is_withdrawn_on_a_disk_that_is_full_by_then(tmp_path):
    """The ledger keeps a little room for that; without it the records would wait to be taken over."""
    with small_disk(tmp_path / "disk", 2) as disk:
        ledger = Ledger(disk / LEDGER)
        found = ledger.claim([numbered(range(10))], ONCE, HERE)
        with (disk / "ballast").open("wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(bytes(4096))
        ledger.abandon(found.release)
        (disk / "ballast").unlink()
        assert ledger.claim([numbered(range(10))], ONCE).records == 10


def test_on_a_full_server_a_claim_is_refused_and_changes_nothing(postgres_server, tmp_path):
    with small_disk(postgres_server.home / "disk", 24) as disk:
        if os.geteuid() == 0:
            shutil.chown(disk, "postgres")
        postgres_server.run(f"CREATE TABLESPACE small LOCATION '{disk}'")
        postgres_server.run("CREATE DATABASE small TABLESPACE small")
        ledger = Ledger(postgres_server.address.replace("/postgres?", "/small?"))
        try:
            ledger.claim([numbered(range(10))], ONCE, is_final=True)
            with pytest.raises(InvalidInput, match="No space left on device"):
                ledger.claim([numbered(range(10, 300_000))], ONCE, is_final=True)
            assert ledger.totals().records == 10
            assert ledger.claim([numbered(range(10, 20))], ONCE, is_final=True).records == 10
        finally:
            postgres_server.run("DROP DATABASE small WITH (FORCE)")
            postgres_server.run("DROP TABLESPACE small")


# What only a server can go through


@pytest.mark.parametrize("way", ["connection", "server"])
def test_a_claim_survives_a_lost_connection_and_a_restart(postgres, postgres_server, monkeypatch, way):
    ledger, enter, lost = Ledger(postgres), PostgresTransaction.enter, []
    ledger.claim([numbered(range(5))], ONCE, is_final=True)

    def losing(self, chosen):
        if not lost:
            lost.append(way)
            if way == "server":
                postgres_server.stop(signal.SIGQUIT)
                threading.Timer(0.3, postgres_server.start).start()
            else:  # after a claim that takes longer than a lost connection is waited for
                monkeypatch.setattr(postgres_engine, "PATIENCE", 1.0)
                time.sleep(1.1)
                (number,) = self.run("SELECT pg_backend_pid()")[0]
                postgres_server.run(f"SELECT pg_terminate_backend({number})")
        return enter(self, chosen)

    monkeypatch.setattr(PostgresTransaction, "enter", losing)
    assert ledger.claim([numbered(range(5, 30))], ONCE, is_final=True).records == 25
    assert lost == [way]
    assert ledger.totals().records == 30
    assert ledger.totals().releases == {"finished": 2}


@pytest.mark.parametrize("is_part", [False, True])
def test_a_claim_whose_answer_is_lost_is_not_made_twice(postgres, monkeypatch, is_part):
    import psycopg

    ledger, connected, answers = Ledger(postgres), PostgresEngine._connected, []
    number = ledger.prepare(ONCE, HERE)

    @contextmanager
    def deaf(self):
        with connected(self) as connection:
            yield connection
        answers.append(1)
        if len(answers) == 1:  # the transaction is committed, and its answer does not arrive
            raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(PostgresEngine, "_connected", deaf)
    if is_part:
        found = ledger.claim_part([numbered([1, 2, 1])], ONCE, number, 1)
    else:
        found = ledger.claim([numbered([1, 2, 1])], ONCE, release=number)
    assert (found.records, found.copies.tolist(), len(answers)) == (2, [[3, 1]], 2)
    assert ledger.totals().records == 2


def test_a_server_that_does_not_answer_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres_engine, "PATIENCE", 0.1)
    with pytest.raises(InvalidInput, match=r"^the ledger postgresql:///x\?host=.* cannot be used: ") as caught:
        Ledger(f"postgresql:///x?host={tmp_path}").keys()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:Secret-7@host/db",
        "postgresql://host/db?password=Secret-7",
        "postgresql:///db?sslpassword=Secret-7",
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(address):
    with pytest.raises(InvalidInput, match="holds a password, expected it in libpq's own places") as caught:
        Ledger(address).keys()
    assert "Secret" not in str(caught.value)


def test_a_service_of_libpq_leads_to_the_server(postgres, postgres_server, tmp_path, monkeypatch):
    (tmp_path / "services").write_text(f"[oddshift]\nhost={postgres_server.home}\nuser=postgres\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert is_address("service=oddshift")
    Ledger("service=oddshift").claim([numbered([1])], ONCE, is_final=True)
    with pytest.raises(InvalidInput, match="released before"):
        Ledger(postgres).claim([numbered([1])], ONCE)


def test_a_ledger_that_stays_open_keeps_a_connection_for_each_thread(postgres):
    with Ledger(postgres).kept_open() as ledger:
        for number in range(5):
            ledger.claim([numbered([number])], ONCE, is_final=True)
        workers = [threading.Thread(target=ledger.claim, args=([numbered([n])], ONCE)) for n in range(10, 14)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(ledger.engine.opened) == 5
    assert ledger.engine.opened == {}
    assert Ledger(postgres).totals().records == 9


def test_a_server_that_may_forget_what_it_confirmed_is_refused(postgres, postgres_server):
    postgres_server.run("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        with pytest.raises(InvalidInput, match="synchronous_commit off"):
            Ledger(postgres).claim([numbered(range(3))], ONCE, is_final=True)
    finally:
        postgres_server.run("ALTER ROLE postgres RESET synchronous_commit")
    assert Ledger(postgres).claim([numbered(range(3))], ONCE, is_final=True).records == 3


def test_nothing_in_the_tables_can_be_read_without_the_key(postgres, postgres_server):
    ledger = Ledger(postgres)
    keys = ledger.keys()
    batch = KeyBatch(keys.ids(["Ann-Secret"], "id"), keys.users(["Bob-Secret"], "user"))
    ledger.claim([batch], ONCE, is_final=True)
    for table in ("record", "person", "budget", "release", "meta"):
        assert "Secret" not in str(postgres_server.run(f"SELECT * FROM oddshift.{table}"))
    assert len(batch.keys) == WIDTH
    assert "Secret" not in repr(ledger)
