"""A client of `millrace rpc`: sessions of the Millrace agent for Python programs.

It needs Python 3.9 or later and the `millrace` command, and no other package.

    from millrace import Millrace

    with Millrace() as agent:
        session = agent.open(cwd=".")
        print(session.ask("Which tests fail?").answer)
"""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Sequence

VERSION = 1
#: Maximum number of events that wait for `stream`. The agent waits while there are more.
MAX_EVENTS = 1000


class MillraceError(Exception):
    """An error that the agent returned. `code` is a number of JSON-RPC, and `data` locates the error."""

    def __init__(self, code: int, message: str, data: Optional[dict] = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data or {}


@dataclass(frozen=True)
class Result:
    """How a run ended. `stop` is for example {"reason": "stop"}. `answer` is the last text of the model."""

    stop: dict
    answer: str
    error: Optional[str] = None


#: Decides about a tool call. Returns True, False, or the changed input of the call.
Approve = Callable[[dict], Any]


class Millrace:
    """The agent process. Use it with `with`, so that the process ends."""

    def __init__(self, command: Sequence[str] = ("millrace", "rpc"), **options: Any) -> None:
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )
        self._ids = itertools.count(1)
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._pending: set[int] = set()
        self._answers: dict[int, dict] = {}
        self._sessions: dict[str, Session] = {}
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.about = self.call("initialize", version=VERSION)

    def open(
        self,
        cwd: Optional[str] = None,
        session: Optional[str] = None,
        after: Optional[int] = None,
        incarnation: Optional[str] = None,
        approve: Optional[Approve] = None,
        on_event: Optional[Callable[[dict], None]] = None,
    ) -> "Session":
        """Opens a new session, or an existing one. `on_event` gets the events after the offset `after`.

        `on_event` and `stream` see the same events. `on_event` must not call the agent.
        """
        opened = Session(self, session or "", approve, on_event)
        if session is not None:
            self._sessions[session] = opened
        opened.info = self.call(
            "session.open", cwd=cwd, session=session, after=after, incarnation=incarnation
        )
        opened.id = opened.info["session"]
        self._sessions[opened.id] = opened
        return opened

    def list(self, cwd: Optional[str] = None) -> Iterator[dict]:
        """Yields the stored sessions, newest first."""
        after: Optional[int] = 0
        while after is not None:
            page = self.call("session.list", cwd=cwd, after=after)
            yield from page["sessions"]
            after = page.get("next")

    def call(self, method: str, **params: Any) -> dict:
        """Calls a method and returns its result. Parameters that are None are left out."""
        given = {name: value for name, value in params.items() if value is not None}
        id_ = next(self._ids)
        line = json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": given})
        with self._changed:
            self._pending.add(id_)
            self._changed.notify_all()
        with self._writing:
            try:
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError):
                self._has_ended = True
        with self._changed:
            self._changed.wait_for(lambda: id_ in self._answers or self._has_ended)
            self._pending.discard(id_)
            ended = {"error": {"code": -32000, "message": "The agent process has ended"}}
            message = self._answers.pop(id_, ended)
        if "error" in message:
            error = message["error"]
            raise MillraceError(error["code"], error["message"], error.get("data"))
        return message["result"]

    def close(self) -> int:
        """Ends the process. A run in progress is stopped, and its records stay. Returns the exit code."""
        for session in self._sessions.values():
            session._stop_stream()
        self._process.stdin.close()
        code = self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        return code

    def __enter__(self) -> "Millrace":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _read(self) -> None:
        for line in self._process.stdout:
            message = json.loads(line)
            if "method" in message:
                session = self._sessions.get(message["params"]["session"])
                if session is not None:
                    session._receive(message["method"], message["params"])
                continue
            with self._changed:
                if message["id"] in self._pending:
                    self._answers[message["id"]] = message
                    self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()


class Session:
    """One session. `ask` waits for the answer to a message, and `stream` yields the events of the run."""

    def __init__(self, agent: Millrace, id_: str, approve: Any, on_event: Any) -> None:
        self.id = id_
        self.info: dict = {}
        self._agent = agent
        self._approve = approve
        self._on_event = on_event
        self._asked: set[str] = set()
        self._events: Optional[deque] = None

    def ask(self, text: str, **options: Any) -> Result:
        """Sends a message, waits for the end of the run, and returns its result."""
        self.send(text, **options)
        return self.wait()

    def send(self, text: str, **options: Any) -> str:
        """Sends a message and returns its id. A message with the same `message` id is sent once."""
        return self._call("send", text=text, **options)["message"]

    def stream(self, text: str, **options: Any) -> Iterator[dict]:
        """Sends a message, and yields the events up to the end of the run."""
        changed, events = self._agent._changed, deque()
        self._events = events
        try:
            self.send(text, **options)
            while True:
                with changed:
                    changed.wait_for(lambda: events or self._agent._has_ended)
                    if not events:
                        return
                    event = events.popleft()
                    changed.notify_all()
                yield event
                if event["type"] == "run_finished":
                    return
        finally:
            self._stop_stream()

    def wait(self) -> Result:
        """Waits until no run is in progress."""
        return Result(**self._call("wait"))

    def read(self) -> dict:
        """Returns the transcript: whole messages without deltas."""
        return self._call("read")

    def approve(self, call: str, **options: Any) -> None:
        self._call("approve", call=call, **options)

    def deny(self, call: str, **options: Any) -> None:
        self._call("deny", call=call, **options)

    def stop(self) -> None:
        """Stops the run in progress. The result of the run then says that it was aborted."""
        self._call("stop")

    def close(self) -> None:
        """Stops following the session. Its records stay in the store."""
        self._stop_stream()
        self._call("close")
        self._agent._sessions.pop(self.id, None)

    def _call(self, method: str, **params: Any) -> dict:
        return self._agent.call(f"session.{method}", session=self.id, **params)

    def _stop_stream(self) -> None:
        with self._agent._changed:
            self._events = None
            self._agent._changed.notify_all()

    def _receive(self, method: str, params: dict) -> None:
        if method == "approvals" and self._approve is not None:
            for waiting in params["waiting"]:
                key = waiting["asker"] + " " + waiting["call"]
                if key not in self._asked:
                    self._asked.add(key)
                    threading.Thread(target=self._decide, args=(waiting,), daemon=True).start()
        if method != "event":
            return
        if self._on_event is not None:
            self._on_event(params["event"])
        with self._agent._changed:
            # A call that waits for its answer must not wait for the reader of the events.
            self._agent._changed.wait_for(
                lambda: self._events is None or len(self._events) < MAX_EVENTS or self._agent._pending
            )
            if self._events is not None:
                self._events.append(params["event"])
                self._agent._changed.notify_all()

    def _decide(self, waiting: dict) -> None:
        place = {"call": waiting["call"], "asker": waiting["asker"]}
        try:
            decision = self._approve(waiting)
        except Exception as error:
            return self.deny(**place, reason=f"The program failed to decide: {error}")
        if decision is False or decision is None:
            return self.deny(**place)
        self.approve(**place, **({} if decision is True else {"input": decision}))
