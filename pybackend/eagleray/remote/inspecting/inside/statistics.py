"""Statistics of the numbers of a tensor or array: of all, of the first, or of runs that are spread over it."""

from __future__ import annotations

import math
import operator

from .limits import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

BINS = 32
_AT_ONCE_BY_LIBRARY = 2**16
# A number of JSON is exact up to this one.
_EXACT = 2**53


class Tally:
    """Sums over numbers that come in parts; `library` is numpy, or None to calculate in Python.

    NaN and infinite numbers are counted, and are in nothing else.  Squares are of the distance from the first number, so
    that a small deviation from a large mean isn't lost.
    """

    def __init__(self, library: Any = None) -> None:
        self.library = library
        self.count = self.nan = self.not_finite = self.zeros = 0
        self.total = self.squares = self.origin = 0.0
        self.low: Any = None
        self.high: Any = None

    def add(self, row: Sequence[Any]) -> None:
        if self.library is not None:
            self._add_by_library(self.library.asarray(row))
            return
        numbers = list(row)
        self.count += len(numbers)
        total = float(sum(numbers))
        if not math.isfinite(total):
            self.nan += sum(map(operator.ne, numbers, numbers))
            finite = [number for number in numbers if number - number == 0]
            self.not_finite = self.not_finite + len(numbers) - len(finite)
            numbers, total = finite, float(sum(finite))
        if numbers:
            self.zeros += numbers.count(0)
            self._add_finite(min(numbers), max(numbers), total)
            distances = [number - self.origin for number in numbers]
            self.squares += sum(map(operator.mul, distances, distances))

    def _add_by_library(self, numbers: Any) -> None:
        self.count += numbers.size
        if numbers.dtype.kind == "f":
            self.nan += int(self.library.isnan(numbers).sum())
            finite = numbers[self.library.isfinite(numbers)]
            self.not_finite += numbers.size - finite.size
            numbers = finite
        if numbers.size:
            self.zeros += int((numbers == 0).sum())
            wide = numbers.astype("f8")
            self._add_finite(numbers.min().item(), numbers.max().item(), float(wide.sum()))
            distances = wide - self.origin
            self.squares += float((distances * distances).sum())

    def _add_finite(self, low: Any, high: Any, total: float) -> None:
        if self.low is None:
            self.low, self.high, self.origin = low, high, float(low)
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.total += total

    def add_to_bins(self, bins: list[int], row: Sequence[Any]) -> None:
        """Counts finite numbers in bins of the same width from the least to the largest."""
        scale, last = len(bins) / (self.high - self.low), len(bins) - 1
        if self.library is not None:
            numbers = self.library.asarray(row)
            wide = numbers[self.library.isfinite(numbers)].astype("f8")
            places = ((wide - self.low) * scale).astype("i8").clip(0, last)
            counts = self.library.bincount(places, minlength=len(bins)).tolist()
            bins[:] = map(operator.add, bins, counts)
            return
        # The program may have changed the numbers since the first time.
        for number in row:
            if number - number == 0:
                bins[max(0, min(last, int((number - self.low) * scale)))] += 1

    def result(self) -> dict[str, Any]:
        """Numbers that were counted, and what they are; `of` and `how` come from the caller."""
        finite = self.count - self.not_finite
        mean = self.total / finite if finite else math.nan
        from_origin = mean - self.origin
        variance = self.squares / finite - from_origin * from_origin if finite else math.nan
        return {
            "count": self.count,
            "nan": self.nan,
            "inf": self.not_finite - self.nan,
            "zeros": self.zeros,
            "min": plain_number(self.low),
            "max": plain_number(self.high),
            "mean": plain_number(mean) if finite else None,
            "std": plain_number(math.sqrt(max(0.0, variance))) if finite else None,
        }


def statistics(array: Any, most: int, library: Any = None) -> dict[str, Any]:
    """Statistics of at most `most` numbers; `how` says which: "all", "first" when time was up, or "spread".

    `bins` is [] where all numbers are the same, or time was up.  Raises Unreadable.
    """
    is_whole = array.count <= most

    def rows() -> Any:
        if not is_whole:
            return array.spread(most)
        return array.rows() if library is None else array.rows(_AT_ONCE_BY_LIBRARY)

    tally, bins = Tally(library), [0] * BINS
    how = "all" if is_whole else "spread"
    try:
        for row in rows():
            tally.add(row)
        if tally.low is None or tally.low == tally.high or math.isinf(tally.high - tally.low):
            bins = []
        else:
            for row in rows():
                tally.add_to_bins(bins, row)
    except Refused:
        bins = []
        if tally.count < array.count and is_whole:
            how = "first"
    return {**tally.result(), "of": array.count, "how": how, "bins": bins}


def plain_number(number: Any) -> Any:
    """A number as a value of JSON: text where JSON has none."""
    if type(number) is bool:
        return int(number)
    if type(number) is int and abs(number) > _EXACT:
        return str(number)
    if type(number) is float and not math.isfinite(number):
        return repr(number)
    return number
