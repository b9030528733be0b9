"""Work among the processes that torchrun or accelerate started: the first runs the command, the others work for it."""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Any

from quadrag.errors import NotReady, QuadragError, tell_extra
from quadrag.parallel.place import AHEAD, Made, Part

_WAIT = timedelta(days=30)  # the others wait while the first one reads, calls servers and writes


class Ranks:
    """The ranks of a process group; `leads` is whether this is the first one."""

    def __init__(self) -> None:
        """Join the group; a rank that does not lead works until the first one closes it.

        Raises:
            NotReady: torch is not installed.
            QuadragError: one process alone was started.
        """
        self.workers = int(os.environ.get("WORLD_SIZE") or 1)
        if self.workers < 2:
            raise QuadragError(
                "--on torchrun, but one process was started; type `torchrun --nproc_per_node 2 -m quadrag ...`, or "
                "`ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_processes 2 -m quadrag ...`: without "
                "--multi_gpu accelerate starts one on CPUs, whatever number it is given"
            )
        try:
            import torch.distributed as group
        except ImportError as error:
            raise NotReady(f"--on torchrun needs torch ({error}); {tell_extra('local')}") from None
        self._group = group
        group.init_process_group("gloo", timeout=_WAIT)
        self.leads = group.get_rank() == 0
        if not self.leads:
            while (work := self._tell(None)) is not None:
                self._work(*work)

    def each(self, function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
        """Yield what the function makes of each part; see `Place.each`."""
        left = iter(parts)
        while round_ := list(islice(left, AHEAD * self.workers)):
            self._tell((function, round_))
            by_rank = self._work(function, round_)
            for at in range(len(round_)):
                made, error = by_rank[at % self.workers][at // self.workers]
                if error is not None:
                    raise error
                yield made

    def close(self) -> None:
        """End the group."""
        if self.leads:
            self._tell(None)
        self._group.destroy_process_group()

    def _tell(self, work: Any) -> Any:
        """Hand work on from the first rank to all."""
        box = [work]
        self._group.broadcast_object_list(box, src=0)
        return box[0]

    def _work(self, function: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
        """Do this rank's share, each part at its place as `datasets.distributed.split_dataset_by_node` has it."""
        mine = [_try(function, part) for part in parts[self._group.get_rank() :: self.workers]]
        by_rank: list[Any] = [None] * self.workers
        self._group.gather_object(mine, by_rank if self.leads else None, dst=0)
        return by_rank


def _try(function: Callable[[Any], Any], part: Any) -> tuple[Any, Exception | None]:
    try:
        return function(part), None
    except Exception as error:  # it is raised by the first rank, where the others would wait for one that ended
        return None, error
