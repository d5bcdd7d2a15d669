"""Domains of columns, and tables released cell by cell from them."""

import numpy as np
import pytest

import encoding
import oddshift as od
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.data.codecs.table.domains import FEWEST_SHARED, Grid, category_values, number_places, number_values
from oddshift.data.formats.cells import CellType
from oddshift.mechanisms import MechanismSettings, Tiered, build_mechanism
from oddshift.model.records import SLOT
from oddshift.protect import Sanitizer
from oddshift.protect.policies import make_policy
from oddshift.protect.pseudonyms import refuse_unknown_columns

WHOLE, CENTS = CellType(family="integer"), CellType(family="decimal", digits=2)


def people(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return {
        "age": age.tolist(),
        "pay": [f"{x:.2f}" for x in np.exp(rng.normal(7, 1.5, rows))],
        "sex": rng.choice(["f", "m"], rows).tolist(),
        "born": [f"{d:02d}/{m:02d}/{y}" for d, m, y in zip(age % 28 + 1, age % 12 + 1, 2020 - age, strict=True)],
        "smokes": (rng.random(rows) < 0.3).tolist(),
    }


EVERY = TableSettings(numeric=("age", "pay"), dates=("born",), categorical=("sex", "smokes"))


def test_equal_steps_are_round_and_inside_the_range():
    values, spacing = number_values(np.arange(18.0, 90.0), WHOLE, 20, "auto")
    assert spacing == "equal"
    assert values.tolist() == list(range(20, 90, 5))
    fine, _ = number_values(np.linspace(0.013, 0.0187, 300), CENTS, 20, "equal")
    assert len(fine) == 2, "no finer than the column's own precision"


def test_a_number_that_repeats_is_its_own_grid_and_rare_ones_are_not():
    kept, how = number_values(np.repeat([1.5, 2.5, 9.0], 5), CENTS, 20, "auto")
    assert (kept.tolist(), how) == ([1.5, 2.5, 9.0], "distinct")
    values, spacing = number_values(np.array([20.0, 31.0, 42.0]), WHOLE, 20, "auto")
    assert spacing == "equal"
    assert set(values.tolist()) == set(range(20, 43, 2)), "three people's numbers are nobody's grid"


@pytest.mark.parametrize(("shift", "epsilon"), [(0.0, 0.3), (0.0, 4.0), (-3000.0, 1.0)])
def test_skewed_columns_have_shares_and_keep_their_mean_under_any_noise(shift, epsilon):
    rng = np.random.default_rng(0)
    numbers = np.exp(rng.normal(4, 1.4, 3000)).round(2) + shift
    values, found = number_values(numbers, CENTS, 20, "auto")
    assert found == "quantile"
    assert 10 <= len(values) <= 25
    column = {"x": numbers.tolist()}
    codec = TableCodec.fit(column, TableSettings(numeric=("x",)))
    mechanism = build_mechanism(MechanismSettings(), codec.space, codec.tiers, epsilon)
    encoded = codec.encode(column)
    released = np.array(encoded.decode(mechanism.sample(encoded.records.points, rng))["x"])
    spread = float(numbers.mean() - shift)
    assert abs(released.mean() - numbers.mean()) < 0.15 * spread
    ratios = TableCodec.fit(column, TableSettings(numeric=("x",), binning="log" if not shift else "equal"))
    other = build_mechanism(MechanismSettings(), ratios.space, ratios.tiers, min(epsilon, 0.3))
    away = np.array(ratios.encode(column).decode(other.sample(ratios.encode(column).records.points, rng))["x"])
    assert away.mean() - numbers.mean() > spread, "on another grid the largest values take over"


def test_few_skewed_numbers_have_ratios():
    numbers = np.exp(np.random.default_rng(0).normal(4, 1.5, FEWEST_SHARED - 1)).round(2)
    assert number_values(numbers, CENTS, 20, "auto")[1] == "log"


def test_zero_is_a_value_of_a_skewed_column_that_has_it():
    numbers = np.append(np.zeros(300), np.exp(np.random.default_rng(0).normal(3, 2, 700)))
    for asked in ("auto", "log"):
        values, spacing = number_values(numbers, CENTS, 20, asked)
        assert values[0] == 0.0
        assert (np.diff(number_places(values, numbers, spacing)) > 0).all()


def test_no_released_value_is_private_unless_it_is_on_the_grid():
    """Nudging every number by less than a step leaves the grid as it is."""
    rng = np.random.default_rng(3)
    numbers = rng.uniform(0, 1000, 500).round(2)
    inner = np.clip(numbers, 20, 980)
    one, _ = number_values(np.append(inner, [7.31, 993.17]), CENTS, 20, "equal")
    two, _ = number_values(np.append(inner, [9.77, 991.03]), CENTS, 20, "equal")
    assert one.tolist() == two.tolist()
    with pytest.raises(InvalidInput, match="negative"):
        number_values(-numbers, CENTS, 20, "log")


def test_categories_in_order_and_the_most_frequent_of_many():
    assert category_values(["b", "a", "b"], 5) == ("b", "a")
    assert category_values(["a", "b", "c", "c", "b", "d"], 2) == ("b", "c")


@pytest.mark.parametrize(("low", "high", "step"), [(0, 0, 1), (5, 1, 1), (0, 1, 0), (0, 1e9, 1)])
def test_bad_grids(low, high, step):
    with pytest.raises(InvalidInput, match=r"step|low < high"):
        Grid(low=low, high=high, step=step)


def test_a_released_cell_is_a_value_of_its_own_column_and_type():
    columns = people()
    made = encoding.table(columns, EVERY)
    mechanism = build_mechanism(MechanismSettings(), made.space, made.tiers, 0.05)
    assert isinstance(mechanism, Tiered)
    assert mechanism.keeps_tier
    outputs = mechanism.sample(made.encoded.records.points, np.random.default_rng(0))
    assert made.encoded.crossing(outputs) == 0
    back = made.encoded.decode(outputs)
    assert all(type(age) is int and age % 5 == 0 for age in back["age"])
    assert all(isinstance(pay, str) and len(pay.partition(".")[2]) == 2 for pay in back["pay"])
    assert set(back["sex"]) == {"f", "m"}
    assert all(type(smokes) is bool for smokes in back["smokes"])
    assert all(len(born) == 10 and born[2] == born[5] == "/" for born in back["born"])
    real = set(zip(*columns.values(), strict=True))
    assert not real & set(zip(*(back[name] for name in columns), strict=True)), "no released row is anybody's"


def test_the_exact_epsilon_of_the_product_is_that_of_each_column():
    """A cell shifts odds within its column by at most ε·d, and a row by the sum over its cells."""
    columns = {"a": [0, 1, 2, 3] * 10, "b": ["x", "y"] * 20}
    made = encoding.table(columns, TableSettings(numeric=("a",), categorical=("b",)))
    mechanism = build_mechanism(MechanismSettings(), made.space, made.tiers, 1.3)
    rows = np.array([[i, 4 + j] for i in range(4) for j in range(2)])
    log = mechanism.log_matrix
    product = log[rows[:, 0]][:, rows[:, 0]] + log[rows[:, 1]][:, rows[:, 1]]
    apart = made.space.distances[np.ix_(rows[:, 0], rows[:, 0])] + made.space.distances[np.ix_(rows[:, 1], rows[:, 1])]
    whole = od.true_epsilon(product, apart)
    assert whole <= mechanism.exact_epsilon + 1e-9 <= 1.3 + 1e-9
    assert "2 cells of a row are released one by one" in " ".join(made.codec.notes)


def test_a_mechanism_that_leaves_the_column_is_refused_at_release():
    made = encoding.table(people(60), EVERY)
    policy = make_policy(made.codec, od.Exponential(made.space, 1e-4), made.tiers)
    with pytest.raises(InvalidInput, match="a value of another column"):
        Sanitizer.seeded_for_experiments(policy, 0).columns(people(60))


def test_missing_cells_stay_as_they_are_and_are_public():
    columns = {"a": [1, None, 3, 1, 3] * 8, "b": ["x", "NA", "y", "x", ""] * 8}
    made = encoding.table(columns, TableSettings(numeric=("a",), categorical=("b",)))
    encoded = made.encoded
    assert encoded.decode(encoded.records.points) == columns
    assert encoded.counts.found == encoded.counts.perturbed == 80 - 8 - 16
    assert "missing cells stay missing in a, b: which cells are empty is public" in made.codec.notes
    context = encoded.records.context
    second = context.tokens[context.offsets[1] : context.offsets[2]].tolist()
    assert [context.symbols[t] for t in second] == ["a is missing", "b is missing"]
    assert context.tokens[: context.offsets[1]].tolist() == [SLOT, SLOT]


def test_a_missing_cell_can_be_a_secret_value():
    columns = {"a": [1, None, 3, 1, 3] * 8, "b": ["x", "NA", "y", "x", ""] * 8}
    made = encoding.table(columns, TableSettings(numeric=("a",), categorical=("b",), missing="value"))
    assert len(made.space) == 3 + 3
    encoded = made.encoded
    assert encoded.records.lengths.tolist() == [2] * 40
    assert encoded.records.context is None
    assert encoded.decode(encoded.records.points)["b"][:5] == ["x", None, "y", "x", None]
    assert (made.space.distances[2, :2] > 0).all()


def test_public_numbers_are_cut_for_attackers():
    rng = np.random.default_rng(0)
    far = rng.normal(0, 1, 300)
    columns = {"a": rng.integers(0, 5, 300).tolist(), "far": far.tolist(), "at": ["p", "q"] * 150}
    made = encoding.table(columns, TableSettings(numeric=("a",), public=("far", "at")))
    symbols = made.encoded.records.context.symbols
    assert sum(symbol.startswith("far in share") for symbol in symbols) == 12
    assert {"at=p", "at=q"} < set(symbols)
    with pytest.raises(InvalidInput, match="'far' has cells that are not numbers"):
        made.codec.encode({**columns, "far": ["x"] * 300})


def test_masked_columns_come_out_empty():
    columns = {"a": [1, 2] * 20, "name": ["Ann"] * 40}
    made = encoding.table(columns, TableSettings(numeric=("a",), masked=("name",)))
    assert made.codec.released == ("a", "name")
    assert made.encoded.decode(made.encoded.records.points)["name"] == [None] * 40
    assert "left empty on release: column name" in made.codec.notes


def test_declared_domains_are_not_taken_from_the_data():
    one, two = ({"a": cells, "b": ["x", "y"] * 2} for cells in ([1, 2, 3, 4], [90, 2, 7, 50]))
    settings = TableSettings(
        numeric=("a",), categorical=("b",), domains={"a": Grid(low=0, high=100, step=10), "b": ("x", "y", "z")}
    )
    first, second = (TableCodec.fit(columns, settings) for columns in (one, two))
    np.testing.assert_array_equal(first.space.points, second.space.points)
    assert len(first.space) == 11 + 3
    assert not any("fit part" in note for note in first.notes)
    outside = first.encode({"a": [500, 5], "b": ["w", "z"]})
    assert outside.counts.unseen == 2, "one number and one category"
    assert outside.decode(outside.records.points) == {"a": [100, 0], "b": [None, "z"]}


def test_the_choice_of_every_grid_is_said():
    (first, *_) = encoding.table(people(), EVERY).codec.notes
    assert first.startswith("these values were taken from the fit part and count as public, `domains` declares others")
    assert "pay (equal shares, because they are skewed)" in first
    assert first.count("(equal steps)") == 1, "columns with one kind of grid are named together"


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ({"a": [None, None]}, {"categorical": ("a",)}, "has no value"),
        ({"a": ["x", "y"]}, {"dates": ("a",)}, "not a column of dates"),
        ({"a": [1, 2]}, {"numeric": ("a",), "domains": {"a": (1,)}}, "has 1 values, expected at least two"),
        ({"a": ["x"]}, {"categorical": ("a",), "domains": {"a": Grid(low=0, high=1, step=1)}}, "a grid for a column"),
    ],
)
def test_columns_that_have_no_domain(columns, settings, message):
    with pytest.raises(InvalidInput, match=message):
        TableCodec.fit(columns, TableSettings(**settings))


def test_columns_that_the_policy_does_not_know_are_refused_unless_allowed():
    codec = encoding.table({"a": [1, 2, 3, 4], "b": list("xyxy")}, TableSettings(numeric=("a",), public=("b",))).codec
    refuse_unknown_columns(codec, ("a", "b"))
    refuse_unknown_columns(codec, ("a", "new"), ("new",))
    with pytest.raises(InvalidInput, match=r"column 'new' \(and 1 more\) is not known to the policy"):
        refuse_unknown_columns(codec, ("a", "new", "newer"))
