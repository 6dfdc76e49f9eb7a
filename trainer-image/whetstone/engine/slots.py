"""The tokens of each cache slot: reuse of finished turns, eviction of idle slots.

Slots below `active` are used for decoding; the rest are an archive. An evicted idle sequence is copied to the archive,
and back when its conversation continues. This is far cheaper than computing its keys and values again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .forward import KeyValueCache

# Smallest number of shared tokens for which a copy is worthwhile.
MIN_SHARED = 32


@dataclass
class Slot:
    """One slot. `ids` are the tokens whose keys and values it holds; `version` names the weights that computed them."""

    index: int
    ids: list[int] = field(default_factory=list)
    version: str | None = None
    busy: bool = False
    used_at: int = 0


class SlotTable:
    """Assigns slots; `acquire` returns the longest usable cached prefix."""

    def __init__(self, cache: KeyValueCache, active: int) -> None:
        self._cache = cache
        self._slots = [Slot(index) for index in range(cache.slots)]
        self._active, self._archive = self._slots[:active], self._slots[active:]
        self._clock = 0

    @property
    def free(self) -> int:
        """Number of active slots without a running request."""
        return sum(not slot.busy for slot in self._active)

    def acquire(self, ids: list[int], version: str) -> tuple[Slot, int]:
        """A busy slot for a prompt, and the number of its leading tokens that are cached (always < len(ids)).

        Needs `free > 0`. The slot's `ids` are cut to the cached prefix.
        """
        source, shared = self._longest(ids, version)
        whole = source is not None and shared == len(source.ids) and not source.busy
        if whole and source.index < len(self._active):
            slot = source
        else:
            slot = min((s for s in self._active if not s.busy), key=lambda s: (bool(s.ids), s.used_at))
            if slot is not source:
                self._save(slot, source)
                if source is not None:
                    self._cache.copy_prefix(source.index, slot.index, shared)
            if whole:
                source.ids, source.used_at = [], 0
        shared = min(shared, len(ids) - 1)
        slot.ids, slot.version, slot.busy, slot.used_at = ids[:shared], version, True, self._tick()
        self._cache.reset_mask(slot.index, shared)
        return slot, shared

    def release(self, slot: Slot) -> None:
        """Ends a request's use of a slot; its tokens stay for reuse."""
        slot.busy, slot.used_at = False, self._tick()

    def forget(self, version: str) -> None:
        """Drops the cached tokens of removed or replaced weights."""
        for slot in self._slots:
            if slot.version == version and not slot.busy:
                slot.ids, slot.version = [], None

    def _tick(self) -> int:
        self._clock += 1
        return self._clock

    def _save(self, slot: Slot, source: Slot | None) -> None:
        """Before a slot is overwritten, copies its idle sequence to the oldest archive slot, but not over `source`."""
        places = [place for place in self._archive if place is not source]
        if not places or len(slot.ids) < MIN_SHARED:
            return
        keep = min(places, key=lambda s: s.used_at)
        if keep.used_at < slot.used_at:
            self._cache.copy_prefix(slot.index, keep.index, len(slot.ids))
            keep.ids, keep.version, keep.used_at = slot.ids, slot.version, slot.used_at

    def _longest(self, ids: list[int], version: str) -> tuple[Slot | None, int]:
        """The slot with the longest useful common prefix: a whole idle sequence, or at least MIN_SHARED tokens."""
        best, length = None, 0
        for slot in self._slots:
            if slot.version != version or len(slot.ids) <= length:
                continue
            known = slot.ids
            if not slot.busy and len(known) <= len(ids) and known == ids[: len(known)]:
                best, length = slot, len(known)
            elif known[:MIN_SHARED] == ids[:MIN_SHARED] and len(ids) > MIN_SHARED:
                shared = _common(known, ids)
                if shared > length and shared >= MIN_SHARED:
                    best, length = slot, shared
        return best, length


def _common(left: list[int], right: list[int]) -> int:
    """Length of the common prefix, by bisection over slice comparisons."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
