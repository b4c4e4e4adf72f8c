"""Keys of a table that was read from another version, looked up in the user's own checkout before they are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eagleray.features.presets.checkout.files import Definition, Files, installed_folders
from eagleray.features.presets.checkout.keys import Find, Started, key_finder
from eagleray.features.presets.launch import Launch
from eagleray.features.presets.recognise import Recognised
from eagleray.features.presets.table import Entry, Offer, Table


@dataclass(frozen=True)
class CheckoutKeys:
    """Finds the keys of a program's configuration in its checkout."""

    find: Find

    def of_entry(self, entry: Entry, recognised: Recognised) -> Definition | None:
        """Where the key of a table's entry is defined."""
        return self.find(entry.key.replace("{section}", recognised.section))

    def of_offer(self, offer: Offer, recognised: Recognised) -> bool:
        """Whether one of the keys that an option sets is defined."""
        return any(self.of_entry(entry, recognised) for entry in (*offer.entries, *offer.flags))


def looked_up(
    recognised: Recognised | None,
    tables: Sequence[Table],
    launch: Launch | None,
    folders: Sequence[Path],
    python: str,
    hints: Sequence[str] = (),
) -> tuple[Recognised | None, CheckoutKeys | None]:
    """The framework with the keys of the user's checkout, else of the package installed for `python`.

    No keys for a version that was read, and where no configuration was found.  For a version outside all ranges, the
    table whose keys fit the checkout best is taken.
    """
    if recognised is None or launch is None:
        return recognised, None
    if recognised.table.was_read(recognised.version.text):
        return recognised, None
    words = tuple(word.text for word in launch.words)
    started = Started(launch.target, launch.module, words, tuple(hints))
    files = Files(folders, installed_folders(python))
    others = [] if recognised.known else [t for t in tables if _is_alike(t, recognised.table)]
    best: tuple[Recognised, CheckoutKeys | None] = (recognised, None)
    most = 0
    for table in (recognised.table, *others):
        find = key_finder(started, table.configuration, files) if table.configuration else None
        keys = CheckoutKeys(find) if find else None
        count = _count(replace(recognised, table=table), keys)
        if count > most:
            best, most = (replace(recognised, table=table), keys), count
    return best


def _is_alike(table: Table, other: Table) -> bool:
    return table.framework == other.framework and table is not other


def _count(recognised: Recognised, keys: CheckoutKeys | None) -> int:
    """How many of the table's options have a key in the checkout."""
    offers = recognised.table.offers.values()
    return sum(keys.of_offer(offer, recognised) for offer in offers) if keys else 0
