"""TEM of mldp-text run with tilted noise: its own code, with numpy's Gumbel noise and choice replaced while it runs.

Carvalho et al., TEM: High Utility Metric Differential Privacy on Text (SDM 2023): a race between the words within a
radius and one mark for all others, which then gives one of these at random. Its rare outputs lie near that radius.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from studies.tilted_race import TiltedRace

BAND = 0.3
"""Words this near to the radius are favoured: between two points at most this far apart it cuts no others."""

FAILED = "(failed)"
_PLAIN = 0.05  # share of draws that are not tilted
_NEAR = 0.9  # share of the tilted choices beyond the radius that fall into the band


def radius_of(n: int, epsilon: float) -> float:
    """The radius of TEM over n words, with its failure probability of 0.001."""
    return round(2 / epsilon * math.log((1 - 0.001) * n / 0.001), 1)


class TiltedPoint:
    """The race of one word: who takes part, whom to favour, and what the largest weights are."""

    def __init__(self, gaps: np.ndarray, point: int, epsilon: float) -> None:
        """From the distances of a word to all words, its own number, and ε."""
        radius = radius_of(len(gaps), epsilon)
        self.inside, self.outside = np.flatnonzero(gaps <= radius), np.flatnonzero(gaps > radius)
        mark = -radius + 2 * math.log(len(gaps) / len(self.inside)) / epsilon
        scores = np.append(-gaps[self.inside], mark)
        near = np.flatnonzero(gaps[self.inside] > radius - BAND)
        self.near = self.outside[gaps[self.outside] <= radius + BAND]
        own = int(np.searchsorted(self.inside, point))
        tilted = 1 - _PLAIN  # half of it for the words within the radius, half for those beyond
        shares = np.append(np.full(len(near), tilted / 2 / max(1, len(near))), tilted / (2 if len(near) else 1))
        self.race = TiltedRace(epsilon / 2 * scores, own, np.append(near, len(self.inside)), shares)
        self.chances = np.zeros(len(gaps))  # of every word beyond the radius, when the mark is favoured
        if len(self.outside):
            self.chances[self.outside] = (1 - _NEAR * (len(self.near) > 0)) / len(self.outside)
            self.chances[self.near] += _NEAR / max(1, len(self.near))
        most = np.full(len(gaps) + 1, -math.log(self.race.plain))
        most[self.inside[near]] = self.race.log_most[:-1]
        if len(self.outside):
            most[self.outside] = self.race.log_most[-1] - self.log_rest(self.outside)
        else:
            most[-1] = self.race.log_most[-1]
        self.log_most = np.minimum(most, -math.log(self.race.plain))

    def log_rest(self, words: np.ndarray | int) -> Any:
        """ln of the chance of these words beyond the radius, the mark favoured, over that without."""
        return np.log(self.chances[words] * len(self.outside))


class TiltedTem:
    """Draws (word, log weight, largest log weight of that word) from TEM's own code."""

    def __init__(
        self, replace_word: Callable[[str], str], words: list[str], vectors: np.ndarray, epsilon: float
    ) -> None:
        """Take over numpy's Gumbel noise and choice in this process, for good."""
        self.replace_word, self.words, self.vectors, self.epsilon = replace_word, words, vectors, epsilon
        self.number = {word: k for k, word in enumerate(words)} | {FAILED: len(words)}
        self.rng, self.made = np.random.default_rng(0), {}
        self.noise, self.used, self.favoured, self.chosen = np.empty(0), 0, -1, -1
        np.random.gumbel, np.random.choice = self._gumbel, self._choice  # type: ignore[assignment]

    def draw(self, point: int, n: int) -> list[Any]:
        """Draw n times from one point."""
        if point not in self.made:
            gaps = np.linalg.norm(self.vectors - self.vectors[point], axis=1)
            self.made[point] = TiltedPoint(gaps, point, self.epsilon)
        return [self._once(point, self.made[point]) for _ in range(n)]

    def _once(self, point: int, tilted: TiltedPoint) -> list[Any]:
        self.favoured, self.noise = tilted.race.draw(self.rng)
        self.used, self.chosen, self.current = 0, -1, tilted
        try:
            word = str(self.replace_word(self.words[point]))
        except ValueError:  # it wants a word beyond its radius and there is none
            word = FAILED
        if self.used != len(self.noise):
            raise RuntimeError(f"TEM drew {self.used} times, its definition says {len(self.noise)}")
        rest = np.zeros(len(tilted.race.targets))
        if self.chosen >= 0:
            rest[-1] = tilted.log_rest(self.chosen)
        y = self.number[word]
        return [word, tilted.race.log_weight(self.noise, rest), float(tilted.log_most[y])]

    def _gumbel(self, loc: float, scale: float) -> float:
        if loc != 0 or scale != 2 / self.epsilon:
            raise RuntimeError(f"TEM drew Gumbel noise ({loc}, {scale}), its definition says (0, {2 / self.epsilon})")
        self.used += 1
        return -scale * math.log(self.noise[self.used - 1])

    def _choice(self, words: list[str]) -> str:
        if not len(words):
            raise ValueError("no word lies beyond the radius")
        is_tilted = self.favoured == len(self.current.race.targets) - 1
        chances = self.current.chances[self.current.outside] if is_tilted else None
        self.chosen = int(self.rng.choice(self.current.outside, p=chances))
        return self.words[self.chosen]
