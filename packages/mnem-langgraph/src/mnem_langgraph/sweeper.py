"""A thread that sweeps again and again, with the interface of LangGraph's SQLite store."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Sweeper"]

_log = logging.getLogger(__name__)


class Sweeper:
    """Calls a function each so many seconds; what it raises is logged and the next time comes."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @staticmethod
    def idle() -> Future[None]:
        """What :meth:`start` returns when there is nothing to do."""
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def start(self, seconds: float) -> Future[None]:
        """Begin, unless it runs; cancelling the future stops it."""
        ended: Future[None] = Future()
        ended.add_done_callback(self._when_cancelled)
        if self._thread is None or not self._thread.is_alive():
            self._stop.clear()
            self._thread = threading.Thread(
                target=self._run, args=(seconds, ended), daemon=True, name="mnem-ttl-sweeper"
            )
            self._thread.start()
        return ended

    def stop(self, timeout: float | None) -> bool:
        """Stop; False when it did not end in time."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
            if self._thread.is_alive():
                return False
        self._thread = None
        return True

    def _when_cancelled(self, ended: Future[None]) -> None:
        if ended.cancelled():
            self._stop.set()

    def _run(self, seconds: float, ended: Future[None]) -> None:
        while not self._stop.wait(seconds):
            self._once()
        if not ended.cancelled():
            ended.set_result(None)

    def _once(self) -> None:
        try:
            swept = self._sweep()
        except Exception:  # noqa: BLE001 a store that is busy must not end the sweeping
            _log.warning("could not sweep expired items", exc_info=True)
        else:
            _log.debug("swept %d expired items", swept)
