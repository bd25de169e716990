"""How do events reach those who follow a campaign? One connection listens; what is new is read once for each campaign, and handed to all.

The table is the truth: a note only says where to look. Whoever is too slow is sent away, and comes back with Last-Event-ID.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import partial

from api.metrics import Metrics
from api.sse import Frame, frame
from rackproof.errors import RackproofError
from rackproof.store import Store
from rackproof.store.listening import Listener
from rackproof.store.transactions import EVENTS, JOBS, WORK

HEARTBEAT_S = 15.0
#: How often a stream asks whether its listener may still read.
RIGHTS_S = 60.0
#: How often the thread looks whether it is to end, and how often who waits for a job asks by itself.
_LOOK_S = 0.5
_ASK_S = 2.0
#: How long the thread may take to end: it reads the store, which is closed after that.
_END_S = 30.0
_PAGE = 500
_BATCHES_MAX = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Events of a campaign, encoded once for all who follow it.

    more: there are further ones already; over: the campaign has ended, and nothing comes after these.
    """

    frames: tuple[Frame, ...]
    more: bool
    over: bool


class _Follower:
    """One client's place between the thread that reads and the loop that writes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.queue: asyncio.Queue[Batch | None] = asyncio.Queue()
        self.dropped = False


@dataclass(kw_only=True, slots=True)
class _Topic:
    """A campaign that somebody follows; last is the newest event that was handed on."""

    last: int
    followers: set[_Follower] = field(default_factory=set)


class Hub:
    """Everybody who follows something, in one process. Its thread starts with the first of them."""

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._lock = threading.Lock()
        self._topics: dict[int, _Topic] = {}
        self._waiting: dict[int, list[Callable[[], None]]] = {}
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """End every stream, now and for good."""
        self._closed.set()
        with self._lock:
            followers = [follower for topic in self._topics.values() for follower in topic.followers]
            thread = self._thread
        for follower in followers:
            _hand(follower, None)
        if thread is not None:
            thread.join(_END_S)

    async def follow(self, campaign: int, after: int, may: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
        """Events after a number as server-sent events, until the campaign has ended, or may() says no. Raises StoreError."""
        loop = asyncio.get_running_loop()
        follower = _Follower(loop)
        asked = loop.time()
        newest = await asyncio.to_thread(self._store.browse.last_event, campaign)
        self._join(campaign, follower, newest)
        try:
            sent = after
            over, more = False, True
            while more and not self._closed.is_set():
                batch = await asyncio.to_thread(self._read, campaign, sent)
                over, more = batch.over, batch.more
                if batch.frames:
                    sent = batch.frames[-1].seq
                    yield b"".join(one.content for one in batch.frames)
            while not over and not self._closed.is_set():
                if loop.time() - asked > RIGHTS_S:
                    asked = loop.time()
                    if not await asyncio.to_thread(may):
                        return
                try:
                    told = await asyncio.wait_for(follower.queue.get(), HEARTBEAT_S)
                except TimeoutError:
                    yield b":\n\n"
                    continue
                if told is None:
                    return
                over = told.over
                fresh = [one for one in told.frames if one.seq > sent]
                if fresh:
                    sent = fresh[-1].seq
                    yield b"".join(one.content for one in fresh)
        finally:
            self._leave(campaign, follower)

    async def job_ended(self, job: int, ended: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a job has ended; False where it takes longer. ended() asks the store."""
        loop = asyncio.get_running_loop()
        told = asyncio.Event()

        def tell() -> None:
            _in_loop(loop, told.set)

        with self._lock:
            self._waiting.setdefault(job, []).append(tell)
        self._start()
        deadline = loop.time() + timeout_s
        try:
            while not await asyncio.to_thread(ended):
                left = deadline - loop.time()
                if left <= 0 or self._closed.is_set():
                    return False
                try:
                    # Looked at from time to time even where nobody tells: the connection that listens may just be down.
                    await asyncio.wait_for(told.wait(), min(left, _ASK_S))
                except TimeoutError:
                    continue
                told.clear()
            return True
        finally:
            with self._lock:
                waiting = self._waiting[job]
                waiting.remove(tell)
                if not waiting:
                    del self._waiting[job]

    # --- who follows ---

    def _join(self, campaign: int, follower: _Follower, newest: int) -> None:
        with self._lock:
            topic = self._topics.setdefault(campaign, _Topic(last=newest))
            topic.followers.add(follower)
        self._metrics.listeners.inc()
        self._start()

    def _leave(self, campaign: int, follower: _Follower) -> None:
        with self._lock:
            topic = self._topics[campaign]
            topic.followers.discard(follower)
            if not topic.followers:
                del self._topics[campaign]
        self._metrics.listeners.dec()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._listen, name="events", daemon=True)
                self._thread.start()

    # --- the thread ---

    def _listen(self) -> None:
        looked = time.monotonic()
        with Listener(self._store.url, (EVENTS, WORK, JOBS)) as listener:
            while not self._closed.is_set():
                notes = listener.wait(_LOOK_S)
                if time.monotonic() - looked > HEARTBEAT_S:
                    looked = time.monotonic()
                    notes.append((EVENTS, ""))
                if not notes:
                    continue
                try:
                    self._tell(notes)
                except RackproofError as error:
                    # The next note, or the one after the connection is back, brings what was missed.
                    log.warning("events could not be handed on: %s", error)

    def _tell(self, notes: list[tuple[str, str]]) -> None:
        with self._lock:
            followed = set(self._topics)
            waited = set(self._waiting)
        campaigns: set[int] = set()
        jobs: set[int] = set()
        for channel, payload in notes:
            words = payload.split()
            if channel == JOBS:
                jobs |= {int(words[0])} if words else waited
            elif not words:
                campaigns |= followed
            elif channel == EVENTS:
                campaigns.add(int(words[0]))
                self._metrics.events.inc()
            elif words[0] == "ended" and len(words) > 1:
                campaigns.add(int(words[1]))
        for job in jobs & waited:
            with self._lock:
                tellers = list(self._waiting.get(job, ()))
            for tell in tellers:
                tell()
        for campaign in campaigns & followed:
            self._hand_on(campaign)

    def _hand_on(self, campaign: int) -> None:
        while True:
            with self._lock:
                topic = self._topics.get(campaign)
            if topic is None:
                return
            batch = self._read(campaign, topic.last)
            if batch.frames:
                topic.last = batch.frames[-1].seq
            if batch.frames or batch.over:
                with self._lock:
                    followers = list(topic.followers)
                for follower in followers:
                    self._offer(follower, batch)
            if not batch.more:
                return

    def _offer(self, follower: _Follower, batch: Batch) -> None:
        if follower.dropped:
            return
        if follower.queue.qsize() < _BATCHES_MAX:
            _hand(follower, batch)
            return
        follower.dropped = True
        self._metrics.dropped.inc()
        _hand(follower, None)

    def _read(self, campaign: int, after: int) -> Batch:
        # The state first: once it is over, what is read after that is all.
        over = self._store.browse.is_over(campaign)
        events = self._store.events(campaign, after, _PAGE)
        more = len(events) == _PAGE
        return Batch(frames=tuple(frame(event) for event in events), more=more, over=over and not more)


def _hand(follower: _Follower, batch: Batch | None) -> None:
    _in_loop(follower.loop, partial(follower.queue.put_nowait, batch))


def _in_loop(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        log.debug("a listener's loop is closed")
