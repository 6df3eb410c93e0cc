"""How far a backup or a restore is."""

from deedbox.kernel.backup.archive import Progress


class Counted:
    """Counts what is done of one stage, and tells of it when a thousandth more is done."""

    def __init__(self, tell: Progress | None, stage: str, total: int, done: int = 0) -> None:
        self._tell, self._stage, self._total, self.done = tell, stage, total, done
        self._told = -1

    def __call__(self, size: int) -> None:
        self.done += size
        share = self.done * 1000 // (self._total or 1)
        if self._tell is not None and share != self._told:
            self._told = share
            self._tell(self._stage, self.done, self._total)
