"""A data set is released with a ledger on PostgreSQL: workers claim their parts, one old record refuses all of them."""

import json
import signal

import pytest
from benchmarks.data_set import manifest_problems

from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution
from oddshift.base.spacy_import import sparing_torch
from oddshift.protect import Ledger, ProtectSettings, SetMeans, protect
from oddshift.protect.dataset import part, steps
from oddshift.protect.dataset.steps import MANIFEST
from oddshift.protect.policies import save_policy
from oddshift.protect.staging import PREFIX
from policies import NAMES, names_policy

POLICY = names_policy()
FREE = ProtectSettings(allow_uncertified=True)
FILES, ROWS = 4, 6


def text_of(file, row):
    return f"{NAMES[row]} met {NAMES[file]} on day {file * ROWS + row}."


@pytest.fixture
def home(tmp_path):
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        write(tmp_path, file, [text_of(file, row) for row in range(ROWS)])
    return tmp_path


def write(home, file, texts):
    lines = [json.dumps({"id": f"{file}-{n}", "text": text}) + "\n" for n, text in enumerate(texts)]
    (home / "in" / f"{file}.jsonl").write_text("".join(lines))


def release(home, postgres, settings=FREE, out="out", **means):
    return protect(home / "in", home / out, POLICY, Ledger(postgres), settings, means=SetMeans(**means))


def released(home, out="out"):
    paths = sorted(path for path in (home / out).iterdir() if path.name != MANIFEST)
    return [json.loads(line)["text"] for path in paths for line in path.read_text().splitlines()]


def left_over(home):
    return [path for path in home.iterdir() if path.name.startswith(PREFIX)]


def states(postgres):
    return Ledger(postgres).totals().releases


def test_parts_are_claimed_one_by_one_and_the_set_is_released_once(home, postgres):
    done = release(home, postgres)
    assert (done.records, done.parts, len(released(home))) == (24, FILES, 24)
    assert manifest_problems(home / "out") == []
    assert states(postgres) == {"finished": 1}
    assert Ledger(postgres).totals().records == 24
    with pytest.raises(InvalidInput, match=r"0\.jsonl: 6 of 6 records were released before"):
        release(home, postgres, out="again")


def test_one_old_record_in_the_last_part_refuses_the_set_before_anything_is_drawn(home, postgres, monkeypatch):
    protect_one(home, postgres, text_of(FILES - 1, 3))
    drawn = []
    monkeypatch.setattr(steps, "draw_part", lambda task: drawn.append(task) or part.draw_part(task))
    with pytest.raises(InvalidInput, match=r"3\.jsonl: 1 of 6 records was released before.*: row 4"):
        release(home, postgres)
    assert (drawn, left_over(home), states(postgres)) == ([], [], {"abandoned": 1, "finished": 1})
    write(home, FILES - 1, ["New."])
    assert release(home, postgres).records == 19, "what the other parts had claimed is free again"


def protect_one(home, postgres, text):
    (home / "one.jsonl").write_text(json.dumps({"text": text}) + "\n")
    protect(home / "one.jsonl", home / "one-out.jsonl", POLICY, Ledger(postgres), FREE)


@pytest.mark.slow
def test_two_processes_claim_and_draw_while_the_server_restarts(home, postgres, postgres_server, monkeypatch):
    survey = steps.joined_claim

    def restarting(claims, firsts):
        postgres_server.stop(signal.SIGQUIT)
        postgres_server.start()
        return survey(claims, firsts)

    monkeypatch.setattr(steps, "joined_claim", restarting)
    with sparing_torch():  # as in a command
        done = release(home, postgres, execution=Execution("processes", 2))
    assert (done.records, Ledger(postgres).totals().records) == (24, 24)


@pytest.mark.cluster
@pytest.mark.slow
def test_partitions_of_a_dask_frame_claim_before_they_are_drawn(home, postgres):
    """The recipe of docs/production.md, in processes."""
    pd, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    save_policy(home / "policy", POLICY)
    texts = [text_of(file, row) for file in range(FILES) for row in range(ROWS)]
    parts = frames.from_pandas(pd.DataFrame({"text": texts}), npartitions=4)

    def drawn(frame, policy=str(home / "policy"), address=postgres):
        from oddshift.base.spacy_import import sparing_torch
        from oddshift.protect import Ledger, Sanitizer
        from oddshift.protect.policies import load_policy

        with sparing_torch():
            sanitizer = Sanitizer(load_policy(policy), ledger=Ledger(address))
            return frame.assign(text=sanitizer.texts(list(frame["text"])))

    asked = parts.map_partitions(drawn, meta={"text": str})
    assert len(asked.compute(scheduler="processes", num_workers=2)) == len(texts)
    assert Ledger(postgres).totals().records == len(texts)
    with pytest.raises(InvalidInput, match="6 of 6 records were released before"):
        asked.compute(scheduler="synchronous")
