"""Replies that were paid for, in an SQLite file that many processes share: the same is never asked twice.

The key of a reply is everything that can change it: the endpoint's fingerprint and the whole request. A reply is used
only when it is on disk: `put` returns a future that is done after the commit. One thread writes, all replies that come
within a few milliseconds in one transaction, with `synchronous=FULL` in WAL mode: what the future has announced
survives a crash of the process and one of the machine. What is lost to `kill -9` is what was in flight.

So that two processes do not pay for the same at the same time, a key is claimed while it is asked: by a record lock on
a byte of `FILE.claims`, which the system gives back when a process ends, however it ends.
"""

import errno
import fcntl
import hashlib
import json
import os
import queue
import sqlite3
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from rubric_anchors.core.errors import SetupError
from rubric_anchors.core.ids import canonical
from rubric_anchors.models.chat import Reply, Request, Token, Usage

WAIT_SECONDS: Final = 60.0
"""How long a process waits for another that is writing."""
GATHER_SECONDS: Final = 0.004
"""How long a transaction waits for further replies."""
_END: Final = object()


def reply_key(fingerprint: str, request: Request) -> str:
    """The id of a request to the endpoint of that fingerprint."""
    turns: list[JsonValue] = [[turn.role, turn.content] for turn in request.turns]
    whole = canonical([fingerprint, turns, request.schema, request.seed, request.alternatives])
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


class ReplyStore:
    """Replies by key. Usable from any thread; after a fork the child makes its own."""

    def __init__(self, path: str | Path) -> None:
        """Raises SetupError where the file cannot be used."""
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = self._connect()
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT) WITHOUT ROWID")
            connection.close()
            self._claims = open(self.path.with_name(f"{self.path.name}.claims"), "ab")  # noqa: SIM115  kept open
        except (OSError, sqlite3.Error) as error:
            raise SetupError(f"the cache of replies {self.path} cannot be used: {error}; name another file") from error
        self._guard = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        """The writer and the readers' connections of this process."""
        self._pid = os.getpid()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, args=(self._queue,), name="replies", daemon=True)
        self._writer.start()

    def _here(self) -> None:
        """A forked child has neither its parent's writer nor any use for its connections."""
        if self._pid != os.getpid():
            with self._guard:
                if self._pid != os.getpid():
                    self._begin()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def get(self, key: str) -> Reply | None:
        """The reply under `key`, of whichever process. Raises SetupError where the file cannot be read."""
        self._here()
        connection = getattr(self._local, "connection", None)
        try:
            if connection is None:
                connection = self._local.connection = self._connect()
                self._readers.append(connection)
            row = connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise SetupError(f"the cache of replies {self.path} cannot be read: {error}; name another file") from error
        return None if row is None else _from_json(row[0])

    def put(self, key: str, reply: Reply) -> "Future[None]":
        """Keeps a reply. The future is done when it is on disk; it fails with SetupError where that cannot be."""
        self._here()
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # who waits may go, the reply is kept all the same
        self._queue.put((key, _to_json(reply), done))
        return done

    def claim(self, key: str) -> bool:
        """Whether this process is now the one to ask `key`; False while another one is. Within a process nothing is
        kept apart. Where the file system has no locks, everybody may ask."""
        try:
            fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place_of(key))
        except BlockingIOError:
            return False
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        return True

    def release(self, key: str) -> None:
        """The opposite of `claim`."""
        with suppress(OSError, ValueError):
            fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, _place_of(key))

    def close(self) -> None:
        """Writes what is left and ends the writer. A second call does nothing."""
        if self._pid == os.getpid() and self._writer.is_alive():
            self._queue.put(_END)
            self._writer.join()
            for connection in self._readers:
                connection.close()
            self._claims.close()

    def _write(self, waiting: "queue.SimpleQueue[Any]") -> None:
        connection: sqlite3.Connection | None = None
        ended = False
        while not ended:
            batch = [waiting.get()]
            until = time.monotonic() + GATHER_SECONDS
            while batch[-1] is not _END and (left := until - time.monotonic()) > 0:
                try:
                    batch.append(waiting.get(timeout=left))
                except queue.Empty:
                    break
            if batch[-1] is _END:
                batch.pop()
                ended = True
            try:
                connection = connection or self._connect()
                connection.execute("BEGIN IMMEDIATE")
                rows = [(key, text) for key, text, _ in batch]
                connection.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?)", rows)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                if connection is not None and connection.in_transaction:
                    connection.execute("ROLLBACK")
                failure = SetupError(
                    f"the cache of replies {self.path} cannot be written: {error}; free some space or name another file"
                )
                for _, _, done in batch:
                    done.set_exception(failure)
            else:
                for _, _, done in batch:
                    done.set_result(None)
        if connection is not None:
            connection.close()


def _place_of(key: str) -> int:
    """The byte that stands for a key; two keys on one byte only wait for each other."""
    return int(key[:15], 16)


def _to_json(reply: Reply) -> str:
    tokens = [[token.text, token.logp, token.alternatives] for token in reply.tokens]
    usage = [reply.usage.prompt, reply.usage.cached, reply.usage.completion]
    # ASCII, so that a lone surrogate in a reply cannot break the file.
    return json.dumps([reply.text, reply.finish, tokens, usage])


def _from_json(text: str) -> Reply:
    said, finish, tokens, usage = json.loads(text)
    return Reply(
        said,
        finish,
        tuple(Token(text, logp, tuple((name, value) for name, value in others)) for text, logp, others in tokens),
        Usage(*usage),
    )
