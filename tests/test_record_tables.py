"""Tables of single records and of certificates, from cells that were made by hand."""

import pytest
from studies.paper.page_blocks import TableBlock
from studies.paper.printed_bounds import failure_bounds
from studies.paper.record_tables import certificates_section, records_section
from studies.paper.toy_values import learned_values

from finished_cells import finished, results_of

NOTHING = results_of()


def method(printed, rate, exact=0.0933, scale=1.0):
    at = {"rate": rate, "null": rate + 0.01, "own": rate + 0.02}
    rules = {"one": {**at, "rate": rate / 2}, "matched": at, "fitted": {**at, "rate": 0.0}}
    return {"printed": printed, "scale": scale, "exact_epsilon": exact, "exact": {"rate": 0.0}, "rules": rules}


def wdbc_cell(layout, seed, rate):
    methods = {"EM": method(35.4, rate), "AmPL": method(13.42, rate / 2, scale=0.25 * (seed + 1))}
    rows = [{"epsilon": 0.1, "attacker": "rnn", "methods": methods}]
    return finished("wdbc", f"{layout}-{seed}", {"rows": rows}, seed)


def test_records_are_averaged_over_seeds_and_have_controls_and_the_exact_maximum():
    section = records_section(results_of(wdbc_cell("one", 0, 0.3), wdbc_cell("one", 1, 0.4)))
    table, other = section.blocks[1:]
    assert other == "WDBC, two tiers, by diagnosis: not run."
    em, ampl = table.rows
    assert em[:-1] == ["0.1", "RNN", "EM", "35.40", "1", "0.0933", "0.00", "17.50", "0.00", "35.00", "36.00", "37.00"]
    assert ampl[4] == "0.25, 0.5", "every scale that a seed chose"
    assert [link.href for link in em[-1]] == ["wdbc/one-0.json", "wdbc/one-1.json"]
    assert len(em) == len(table.head)


def test_certificates_show_printed_and_recomputed_exponents_of_every_cell():
    made = finished("failure-bounds", "failure-bounds", failure_bounds())
    said, table = certificates_section(results_of(made)).blocks
    assert "says nothing" in said
    assert isinstance(table, TableBlock)
    assert len(table.rows) == 27
    first = dict(zip(table.head, table.rows[0], strict=True))
    assert (first["k printed"], first["k by the proposition"]) == ("452,000", "1,251")
    assert first["δ printed"] == first["1.05·p"] == "0.0924"
    assert all(float(row[8]) < 0 for row in table.rows)


@pytest.mark.parametrize("make", [records_section, certificates_section])
def test_without_cells_the_tables_say_so(make):
    assert make(NOTHING).blocks[-1].endswith("not run.")


def test_the_constant_of_the_proposition_is_read_off_the_cells():
    from studies.paper.results_figures import toy_errors

    (figure,) = toy_errors(results_of(finished("toy", "learned-0", learned_values(0))))
    said = float(figure.says.split("2√2/(γ·d) = ")[1].split()[0])
    assert 15 < said < 25  # γ is near .136, the smaller of the toy's posteriors
