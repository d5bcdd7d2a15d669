"""A release in the making: a fresh folder, no link followed, nothing written over, and nothing left of the dead."""

import os
import signal
import stat

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger
from oddshift.protect.ledger.releases import StagedFolder
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch
from oddshift.protect.staging import PREFIX, SIDECAR, clear_dead, refuse_existing, staging_for

TERMS = ClaimTerms(policy="p", epsilon=1.0)


@pytest.fixture
def ledger(tmp_path):
    (tmp_path / "policy").mkdir()
    return Ledger(tmp_path / "policy" / LEDGER)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def claim(ledger, staged, number=1):
    return ledger.claim([KeyBatch(number.to_bytes(16, "big"))], TERMS, staged).release


def test_the_folder_is_fresh_and_for_its_owner_alone(place):
    before = os.umask(0)
    try:
        with staging_for(place / "out.csv") as one, staging_for(place / "out.csv") as other:
            assert one.home != other.home
            for home in (one.home, other.home):
                assert home.parent == place
                assert stat.S_IMODE(home.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    assert names(place) == []


def test_publishing_names_the_file_and_its_sidecar(place):
    with staging_for(place / "out.csv") as staging:
        staging.part.write_text("released")
        staging.publish(b"{}")
        assert staging.is_visible()
    assert (place / "out.csv").read_text() == "released"
    assert (place / f"out.csv{SIDECAR}").read_bytes() == b"{}"
    assert len(names(place)) == 2


def test_publishing_a_folder(place):
    with staging_for(place / "out") as staging:
        staging.part.mkdir()
        (staging.part / "a.txt").write_text("released")
        assert not staging.is_visible()
        staging.publish(b"{}")
        assert staging.is_visible()
    assert names(place / "out") == ["a.txt"]


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("taken", ["out", f"out{SIDECAR}"])
@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder"])
def test_nothing_is_written_over(place, tmp_path, is_folder, taken, kind):
    target = tmp_path / "precious"
    if kind != "dangling":
        target.write_text("mine")
    with staging_for(place / "out") as staging:
        if is_folder:
            staging.part.mkdir()
            (staging.part / "a.txt").write_text("x")
        else:
            staging.part.write_text("x")
        {
            "file": lambda: (place / taken).write_text("mine"),
            "link": lambda: (place / taken).symlink_to(target),
            "dangling": lambda: (place / taken).symlink_to(target),
            "folder": (place / taken).mkdir,
        }[kind]()
        with pytest.raises(InvalidInput, match="exists, expected a new name"):
            refuse_existing(place / "out")
        with pytest.raises(InvalidInput, match="exists, expected a new name"):
            staging.publish(b"{}")
        assert not staging.is_visible()
    assert names(place) == [taken]
    assert target.exists() == (kind != "dangling")
    assert not target.exists() or target.read_text() == "mine"


def test_links_with_the_names_of_old_are_left_alone(place, tmp_path):
    """An attacker lays links where hidden folders and locks used to be; nothing behind them is touched."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    (place / ".out.csv.parts").symlink_to(precious)
    (place / "lock").symlink_to(precious / "file")
    with staging_for(place / "out.csv") as staging:
        staging.part.write_text("released")
        staging.publish(b"{}")
    assert (precious / "file").read_text() == "mine"
    assert names(place) == [".out.csv.parts", "lock", "out.csv", f"out.csv{SIDECAR}"]


def test_a_link_in_the_folder_is_removed_and_not_followed(place, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    with staging_for(place / "out.csv") as staging:
        (staging.home / "link").symlink_to(precious)
        (staging.home / "folder").mkdir()
        (staging.home / "folder" / "link").symlink_to(precious)
        staging.discard()
        assert names(staging.home) == []
        (staging.home / "link").symlink_to(precious)
    assert (precious / "file").read_text() == "mine"
    assert names(place) == []


def release_until(ledger, out, step):
    """Release in one go, as a process does, which is killed at that step."""
    with staging_for(out) as staging:
        staging.part.write_text("drawn")
        release = ledger.prepare(TERMS, staging.staged)
        if step == "prepared":
            os.kill(os.getpid(), signal.SIGKILL)
        ledger.claim([KeyBatch((1).to_bytes(16, "big"))], TERMS, release=release)
        if step != "claimed":
            ledger.publishing(release)
        if step == "linked":
            os.link(staging.part, out)
        if step in ("named", "finished"):
            staging.publish(b"{}")
        if step == "finished":
            (staging.home / "keys").write_text("keys")
            ledger.finish(release, clear=staging.discard)
        os.kill(os.getpid(), signal.SIGKILL)


def dies(ledger, out, step):
    """A child of this process, which has everything imported already, releases until it is killed."""
    child = os.fork()
    if child == 0:
        try:
            release_until(Ledger(ledger.path), out, step)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("step", "state"),
    [("claimed", "crashed"), ("publishing", "crashed"), ("linked", "finished"), ("named", "finished")],
)
def test_what_a_killed_process_leaves_is_removed_and_settled(ledger, place, step, state):
    dies(ledger, place / "out", step)
    assert [name for name in names(place) if name.startswith(PREFIX)]
    assert clear_dead(ledger) == 1
    assert ledger.totals().releases == {state: 1}
    assert (place / "out").exists() == (state == "finished")
    assert not [name for name in names(place) if name.startswith(PREFIX)]
    assert clear_dead(ledger) == 0
    with pytest.raises(InvalidInput, match="released before"):
        claim(ledger, None)


def test_a_process_killed_before_its_claim_leaves_neither_folder_nor_release(ledger, place):
    dies(ledger, place / "out", "prepared")
    assert len(names(place)) == 1
    assert clear_dead(ledger) == 1
    assert names(place) == []
    assert ledger.totals().releases == {}
    assert claim(ledger, None) > 1


def test_a_process_killed_after_its_release_leaves_an_empty_folder_at_most(ledger, place):
    dies(ledger, place / "out", "finished")
    assert ledger.totals().releases == {"finished": 1}
    assert list(place.glob(f"{PREFIX}*/*")) == []


def test_the_living_are_left_alone(ledger, place):
    with staging_for(place / "out") as staging:
        release = claim(ledger, staging.staged)
        assert clear_dead(ledger) == 0
        assert staging.home.is_dir()
        ledger.publishing(release)


def test_another_folder_in_the_place_of_a_dead_one_is_not_deleted(ledger, place, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    for number, kind in enumerate(("link", "folder"), 1):
        path = place / f"{PREFIX}{kind}"
        claim(ledger, StagedFolder(str(path), 1, 2), number)
        path.symlink_to(precious) if kind == "link" else path.mkdir()
    assert clear_dead(ledger) == 2
    assert (precious / "file").read_text() == "mine"
    assert len(names(place)) == 2


def test_a_folder_on_another_machine_is_left_to_it(ledger, tmp_path):
    claim(ledger, StagedFolder(str(tmp_path / "not" / "mounted"), 1, 2))
    assert clear_dead(ledger) == 0
    assert ledger.totals().releases == {"claimed": 1}


def test_a_missing_place_is_refused(place):
    with pytest.raises(InvalidInput, match="is not a folder, expected one to write out into"):
        refuse_existing(place / "no" / "out")
