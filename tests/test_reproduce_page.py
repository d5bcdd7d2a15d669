"""The results page: made from cells alone, every row linked, nothing resting on a matched temperature."""

import json
import re
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest
from studies.paper.cell_runs import run_cells
from studies.paper.cell_store import FinishedCell, write_cell
from studies.paper.claims_table import ALL_CLAIMS, SIGNS
from studies.paper.further_claims import toy as toy_claim
from studies.paper.own_tables import matched_above, own_tables, tenth_of_the_other_words, wdbc_reductions
from studies.paper.page_blocks import anchor
from studies.paper.paper_claims import FAILS, HOLDS, NOT_RUN, UNKNOWN, Results, sound_says
from studies.paper.paper_numbers import ATTACKERS, EPSILONS, METHODS
from studies.paper.reproduction import Place, ReproductionOptions
from studies.paper.reproductions import REPRODUCTIONS
from studies.paper.results_page import sections, write_page
from studies.paper.table_claims import em_rises, lower_everywhere

from finished_cells import front_cells
from oddshift.app.report.markup import Figure
from oddshift.base.errors import TamperedEvidence

LIGHT = ("toy", "propositions", "delta-thresholds", "failure-bounds", "non-convexity")
SIZE = {"size": {"documents": [6, 2, 2], "positions": [30, 9, 9], "words": [20, 10]}}
SETTINGS = {"corpus": "ag_news", "documents": 10, "epochs": 1, "batch": 4, "width": 8}
SETTINGS |= {"candidates": 16, "observations": 9, "loop": {"rate": 5.0, "loss": 1.0, "first_step": 0.3}}


def cell(name, key, values, seed=0, **settings):
    return FinishedCell(
        name=name, key=key, command=f"python -m studies.paper {name}", settings={**SETTINGS, **settings}, seed=seed,
        data={"ag_news.csv": "ab" * 32}, versions={"oddshift": "0"}, cpu_seconds=1.0, values=values,
    )  # fmt: skip


def row(epsilon, method, rate):
    at = {"T": 1.0, "rate": rate, "null": 0.05, "own": rate + 0.01, "mean_mpl": 1.4}
    rules = {"one": at, "fitted": {**at, "T": 2.0, "rate": 0.0}, "matched": {**at, "rate": 0.5}}
    return {
        "epsilon": epsilon, "method": method, "scales": [1.0, 1.0], "loss": 0.1, "cosine": 0.7,
        "exact": {"rate": 0.0, "mean_mpl": 0.1}, "rules": rules,
    }  # fmt: skip


def network(attacker, seed, falls=0.06):
    rows = [row(e, m, 0.2 - 0.01 * k - (falls if m != "EM" else 0)) for k, e in enumerate(EPSILONS) for m in METHODS]
    values = {"rows": rows, "temperature_curve": [[0.5, 0.4, 0.2, 0.4], [1.0, 0.2, 0.1, 0.2]], **SIZE}
    return cell("table-violations", f"ag_news-{attacker}-{seed}", values, seed, kind="network", attacker=attacker)


def sound(em, ampl):
    """A cell of sound mode with given bounds (lower, upper) for both methods."""
    rows = [
        {
            "epsilon": e, "method": m, "scales": [1.0, 1.0], "exact_epsilon": 1.5, "documents": 40, "top1": 0.5,
            "gain": 0.1, "gain_error": 0.01, **{law: {"mean": low, "lower": low, "upper": high} for law in LAWS},
        }
        for e in EPSILONS
        for m, (low, high) in (("EM", em), ("AmPL", ampl))
    ]  # fmt: skip
    return cell("table-violations", "ag_news-sound-0", {"attacker": "portfolio", "rows": rows, **SIZE}, kind="sound")


LAWS = ("uniform", "anchored")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Cells of all light names, computed once."""
    results = tmp_path_factory.mktemp("page") / "results"
    for name in LIGHT:
        cells = REPRODUCTIONS[name].cells(ReproductionOptions(seeds=1))
        run_cells(cells, Place(results, results), command=f"python -m studies.paper {name}")
    return results


@pytest.fixture
def with_table(folder, tmp_path):
    """The same cells and a table of one corpus, two seeds of each network."""
    import shutil

    copied = tmp_path / "results"
    shutil.copytree(folder, copied)
    for attacker in ATTACKERS:
        for seed in range(2):
            write_cell(copied, network(attacker, seed))
    return copied


def test_the_paper_agrees_with_its_own_table_where_it_counts():
    found = own_tables()
    assert (found.lower, found.p_below, found.p_equal, found.p_above) == (27, 20, 2, 5)
    assert found.mean_drop == pytest.approx(4.127, abs=1e-3)
    assert found.mean_relative == pytest.approx(29.88, abs=0.01)
    assert found.pooled_relative == pytest.approx(31.69, abs=0.01)
    assert found.largest_absolute == (("ag_news", "lstm", 2.6), pytest.approx(10.28))
    assert found.largest_relative[0] == ("ag_news", "rnn", 2.6)
    assert found.u_below_em == pytest.approx(3.175, abs=1e-3)
    assert (found.within_one_sd, found.em_rises, found.ampl_falls, found.transformer_highest) == (11, 8, 7, 7)
    assert found.first_above_em == (("ag_news", "transformer", 2.4),)
    assert wdbc_reductions() == (pytest.approx(58.09, abs=0.01), pytest.approx(46.64, abs=0.01))
    assert matched_above() == 8
    assert tenth_of_the_other_words() == pytest.approx(5492.8)


def test_a_page_without_corpora_says_what_was_not_run(folder):
    written, drawn = write_page(folder)
    said, shown = written.read_text(), drawn.read_text()
    assert "AG News: not run." in said
    assert "Not run at all: wdbc, table-violations" in said
    assert NOT_RUN in said
    assert "| 452,000 | 1,251 |" in said
    assert "539 to 3,669" in said
    assert shown.startswith("<!doctype html>")
    assert "http://" not in shown.replace("http://www.w3.org", "")
    assert "https://" not in shown


def test_every_link_leads_to_a_cell(with_table):
    written, drawn = write_page(with_table)
    links = set(re.findall(r"\]\(results/([^)]+)\)", written.read_text()))
    links |= set(re.findall(r'href="([^"#:]+\.json)"', drawn.read_text()))
    assert len(links) > 20
    for link in links:
        assert (drawn.parent / link).is_file(), link


def test_the_page_is_the_same_again_and_changes_with_a_cell(with_table):
    first = write_page(with_table)[0].read_text()
    assert write_page(with_table)[0].read_text() == first
    other = network("lstm", 0, falls=-0.05)
    write_cell(with_table, other)
    assert write_page(with_table)[0].read_text() != first


def test_claims_come_first_each_in_one_row_with_verdict_and_reason(with_table):
    said, shown = (path.read_text() for path in write_page(with_table))
    first = said.split("\n## ")[2]
    rows = [line.split(" | ") for line in first.splitlines() if re.match(r"\| \d+\. ", line)]
    assert len(rows) == len(ALL_CLAIMS)
    for number, (make, row) in enumerate(zip(ALL_CLAIMS, rows, strict=True), 1):
        claim = make(Results.of(with_table))
        assert row[0] == f"| {number}. {claim.says}"
        assert row[6] == f"**{claim.verdict}**"
        assert row[7] == f"**{claim.as_used}**: {claim.why}".replace("|", "\\|")
        sign, kind = SIGNS[claim.as_used]
        judged = f'<b class="state {kind}">{sign} {claim.as_used}</b><br>{escape(claim.why, quote=False)}</span></td>'
        card = shown.split(f'<th scope="row">{number}. ')[1].split("</tr>")[0]
        assert judged in card
        assert card.count("data-name=") == 8, "a card on a narrow screen names every entry"


def test_every_link_inside_the_page_leads_to_a_title(with_table):
    said, shown = (path.read_text() for path in write_page(with_table))
    titles = {anchor(line.lstrip("# ")) for line in said.splitlines() if line.startswith("#")}
    inside = set(re.findall(r"\]\(#([^)]+)\)", said))
    assert inside
    assert inside <= titles
    ids = re.findall(r' id="([^"]+)"', shown)
    assert len(ids) == len(set(ids))
    assert inside <= set(ids)


def test_a_damaged_cell_is_refused(with_table):
    path = with_table / "toy" / "exact.json"
    path.write_text(path.read_text().replace("1.84568", "1.94568"))
    with pytest.raises(TamperedEvidence, match=r"exact\.json"):
        write_page(with_table)


def test_every_row_of_the_table_has_null_and_own(with_table):
    said = write_page(with_table)[0].read_text()
    table = next(part for part in said.split("### ") if part.startswith("AG News\n"))
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) == 45
    assert all(float(r[5]) == 5.0 and float(r[6]) > 10 for r in rows)
    assert all("±" in r[4] for r in rows)


def test_no_verdict_rests_on_a_matched_temperature(with_table):
    before = [make(Results.of(with_table)).verdict for make in ALL_CLAIMS]
    for attacker in ATTACKERS:
        for seed in range(2):
            made = network(attacker, seed)
            for each in made.values["rows"]:
                each["rules"]["matched"] = {**each["rules"]["matched"], "rate": 0.001, "T": 50.0}
            write_cell(with_table, made)
    assert [make(Results.of(with_table)).verdict for make in ALL_CLAIMS] == before


@pytest.mark.parametrize(
    ("em", "ampl", "verdict"),
    [
        ((0.0, 0.01), (0.0, 0.01), UNKNOWN),
        ((0.10, 0.12), (0.01, 0.03), HOLDS),
        ((0.10, 0.12), (0.05, 0.11), UNKNOWN),
        ((0.01, 0.02), (0.10, 0.20), FAILS),
    ],
)
def test_bounds_of_sound_mode_stand_next_to_the_main_claim(with_table, em, ampl, verdict):
    write_cell(with_table, sound(em, ampl))
    claim = lower_everywhere(Results.of(with_table))
    said, decided = sound_says(Results.of(with_table))
    assert (claim.sound, decided) == (said, verdict)
    assert "9 of 9 at T = 1 and" in claim.paper_mode
    assert "own falls too in 9 of 9" in claim.controls
    assert (claim.verdict, claim.as_used) == (UNKNOWN, FAILS), "no surface; and what cannot violate falls as well"


def test_claims_follow_the_cells(with_table):
    assert "rises in 0 of 3" in em_rises(Results.of(with_table)).paper_mode
    assert toy_claim(Results.of(with_table)).verdict == HOLDS
    exact = Results.of(with_table).cells["toy"]["exact"]
    write_cell(with_table, replace(exact, values={**exact.values, "joint": 1.5}))
    assert toy_claim(Results.of(with_table)).verdict == FAILS
    (with_table / "toy" / "exact.json").unlink()
    assert toy_claim(Results.of(with_table)).verdict == UNKNOWN


def test_all_claims_have_a_reason_and_one_of_three_verdicts(with_table):
    claims = [make(Results.of(with_table)) for make in ALL_CLAIMS]
    assert len(claims) >= 30
    assert {claim.verdict for claim in claims} <= {HOLDS, FAILS, UNKNOWN}
    assert all(claim.reason and claim.says and claim.paper for claim in claims)


def figure_cells():
    """One small cell of every name that has a figure."""
    at = {"T": 1.0, "rate": 0.2, "null": 0.1, "own": 0.2, "mean_mpl": 1.0}
    surface, losses = front_cells("ag_news")
    yield cell("table-violations", surface.key, surface.values, kind="surface", attacker="transformer")
    yield cell("tradeoff", "ag_news", losses.values)
    rows = [{"epsilon": e, "one": at, "fitted": at, "exact": {"rate": 0.0, "mean_mpl": 0.1}} for e in GRID]
    yield cell("epsilon-sweep", "ag_news", {"rows": rows, "transition": 2.2, **SIZE})
    shares = [{"share": s, "documents": 3, "cosine": s, "one": at, "fitted": at} for s in (0.6, 1.0)]
    yield cell("learning-curve", "ag_news", {"rows": shares, **SIZE})
    rules = {"one": at, "fitted": at}
    kinds = [{"epsilon": 2.5, "kind": k, "cosine": 0.5, "rules": rules} for k in ("matched", "mismatched")]
    yield cell("embedding-mismatch", "ag_news-rnn", {"attacker": "rnn", "rows": kinds, **SIZE})
    loss = {"loss": 0.2, "outputs": 100.0, "remapped_loss": 0.1, "remapped_outputs": 3.0}
    methods = [
        {"attacker": a, "epsilon": 2.5, "method": m, "scales": [1, 1], **loss}
        for a in ATTACKERS
        for m in ("EM", "AmPL")
    ]
    readings = {"AmPL-1": {"scales": [0.1, 1.0], "loss": 0.4}}
    yield cell("utility", "ag_news", {"rows": methods, "constant_word": 0.15, "readings_of_ampl_1": readings, **SIZE})
    networks = {a: {"counts": [0.5, 0.5], "fitted": 2.0, **at} for a in ATTACKERS}
    controls = {key: [0.5, 0.5] for key in ("null", "own", "exact")}
    values = {"bins": 2, "span": 6.0, "networks": networks, "controls": controls, "epsilon": 2.5, **SIZE}
    yield cell("mpl-distributions", "ag_news", values)
    watched = [{"setting": "default", "value": "", **at}]
    loops = [
        {
            "method": "AmPL",
            "rate_weight": 5.0,
            "first_step": 0.3,
            "start": 1.0,
            "scales": [0.5, 0.6],
            "rate": 0.1,
            "loss": 0.3,
        }
    ]
    yield cell("open-settings", "ag_news", {"rows": watched, "loops": loops, "temperatures": [], **SIZE})


GRID = [0.5 * k for k in range(1, 11)]


def test_every_figure_is_drawn_from_its_cell(with_table):
    before = len(figures(with_table))
    for made in figure_cells():
        write_cell(with_table, made)
    write_cell(with_table, sound((0.0, 0.1), (0.0, 0.1)))
    found = figures(with_table)
    assert len(found) >= before + 9
    assert len({figure.title for figure in found}) == len(found)
    page = write_page(with_table)[1].read_text()
    assert page.count("<figure") == len(found)
    for name in ("epsilon-sweep/ag_news", "learning-curve/ag_news", "tradeoff/ag_news", "toy/learned-0"):
        assert f'href="{name}.json"' in page.split('id="figures"')[1].split("</section>")[0], name
    assert "EM 100 → 3" in write_page(with_table)[0].read_text()
    claims = [make(Results.of(with_table)) for make in ALL_CLAIMS]
    with_paper_mode = [claim for claim in claims if claim.paper_mode not in {"-", NOT_RUN}]
    assert len(with_paper_mode) > 12
    assert not [claim.says for claim in with_paper_mode if claim.controls in {"-", NOT_RUN}], "null and own everywhere"


def figures(folder):
    section = next(section for section in sections(Results.of(folder)) if section.key == "figures")
    return [block for block in section.blocks if isinstance(block, Figure)]


def content_of(page):
    """What a page says; the report's style may change without the page being written again."""
    return page[page.index("<main>") : page.index("</main>")]


def test_the_committed_page_is_that_of_the_committed_cells(tmp_path):
    docs = Path(__file__).resolve().parent.parent / "docs"
    content = sections(Results.of(docs / "results"))
    from studies.paper.results_page import html, markdown

    assert (docs / "results.md").read_text() == markdown(content, "results")
    assert content_of((docs / "results" / "index.html").read_text()) == content_of(html(content))


def test_committed_cells_hold_no_path_of_a_machine():
    docs = Path(__file__).resolve().parent.parent / "docs" / "results"
    for path in docs.rglob("*.json"):
        text = path.read_text()
        assert "/work" not in text
        assert "/tmp" not in text
        assert json.loads(text)["command"].startswith(("python -m studies.paper ", "oddshift reproduce "))
        assert np.isfinite(json.loads(text)["cpu_seconds"])
