"""The limits on a connection's size and time, before any route is chosen."""

from __future__ import annotations

import asyncio
import http
import json
import resource
import socket
import struct

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from .requests import ApiError

# Largest request line with its headers, largest trailers, and largest overhead around the data of one chunk, in bytes.
# Input is parsed in pieces, so a limit may be exceeded by one piece.
HEAD_BYTES, PIECE = 65_536, 16_384
# Time limit in seconds for a request's headers.
HEAD_SECONDS = 15
BODY_HEADERS = (b"content-length", b"transfer-encoding")
# Bytes and seconds of reading after a refusal, because many clients read no answer before they have sent everything.
DISCARDED_BYTES, DISCARDING_SECONDS = 2**20, 2
# Time limit in seconds for a client to read some of a waiting answer; nginx has the same limit.
UNREAD_SECONDS = 60
# Largest number of requests that one connection may send ahead. A single read may contain 14,000.
MOST_QUEUED = 100
MOST_CONNECTIONS = 4096
# Number of connections that the kernel holds until they are accepted. asyncio accepts all of them before it looks at
# any.
BACKLOG = 64
# Number of file descriptors that are not connections: files of models and adapters, pipes, listeners.
OTHER_DESCRIPTORS = 64


def most_connections() -> int:
    """Largest number of open connections: as many as the limit of file descriptors allows, up to MOST_CONNECTIONS."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    # Each port has its own backlog.
    return max(16, min(MOST_CONNECTIONS, soft - OTHER_DESCRIPTORS - 2 * BACKLOG))


class Room:
    """The limit on connections. At the limit, the oldest waiting connection is closed for a new one.

    `waiting` has the connections for which the server has nothing to do: no request has arrived completely, or only the
    client still has to read an answer.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.waiting: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Puts a connection behind all other waiting ones."""
        self.remove(connection)
        self.waiting[connection] = None

    def remove(self, connection: Connection) -> None:
        """Removes a connection from those that may be closed for a new one."""
        self.waiting.pop(connection, None)

    def close_oldest(self) -> bool:
        """False: none waits."""
        oldest = next(iter(self.waiting), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.transport.abort()
        return True


class Connection(HttpToolsProtocol):
    """uvicorn's connection with additional limits: on headers, on times, and on open connections."""

    def __init__(self, *arguments, room: Room, **named) -> None:
        super().__init__(*arguments, **named)
        self._room = room
        # Number of bytes since the parser's last result.
        self._unused = self._discarded = 0
        self._in_body = self._refused = False
        self._timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        # The request that is being answered, because uvicorn only knows the latest one.
        self._answered: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """If there are too many connections, closes the one that has waited longest."""
        super().connection_made(transport)
        # With it, pause_writing is called even if only a little of an answer waits for its reader.
        transport.set_write_buffer_limits(0)
        if len(self.connections) > self._room.most and not self._room.close_oldest():
            self._refuse(ApiError(503, "too many requests are under way", code="too_many_connections"))
            return
        self._room.add(self)
        self._start_timer(HEAD_SECONDS, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """Drops the connection and aborts the current answer, even if further requests wait behind it."""
        self._room.remove(self)
        self._stop_timer()
        self._stop_unread_timer()
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Passes on the received data, until it is too much."""
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            self._unused += len(piece)
            if self._refused:
                break
            super().data_received(piece)
            if self._unused > HEAD_BYTES:
                message = f"the request line and the headers have more than {HEAD_BYTES} bytes"
                self._refuse(ApiError(431, message, code="headers_too_large"))
        if self._refused:
            self._discarded += len(data)
            if self._discarded > DISCARDED_BYTES:
                self.transport.abort()
        # A timer limits a request that has begun to arrive. While the answer is computed, none runs.
        elif self._timer is None and not self._is_busy() and (self._unused or self._in_body):
            self._start_timer(HEAD_SECONDS, self._expire)

    def on_message_begin(self) -> None:
        """Called by the parser."""
        self._in_body = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """The parser also calls it for trailers, which are ignored, because the request was checked without them."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        self._unused, self._in_body = 0, True
        self._stop_timer()
        if self._refused or self._is_refused_for_its_head():
            return
        # A request that waits behind another must not cost the other its answer.
        if not self._is_busy():
            self._room.add(self)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._unused = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Called by the parser. From now on the connection is kept until its answer has been sent."""
        self._unused, self._in_body = 0, False
        if self._is_busy():
            self._room.remove(self)
        else:
            # It was answered before its body arrived, and may send another request at any time.
            self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Called when an answer has been sent."""
        super().on_response_complete()
        if not self._is_busy() and self in self.connections:
            self._room.add(self)

    def pause_writing(self) -> None:
        """Called when the client does not read its answer, so that no more of it is produced."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Called when the client has read nearly everything that waited."""
        self._stop_unread_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Called when the parser refuses the received data."""
        self._refuse(ApiError(400, msg))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _unsupported_upgrade_warning(self) -> None:
        """Prevents clients from writing into the log. They are answered in HTTP/1.1."""

    def _is_refused_for_its_head(self) -> bool:
        if len(self.pipeline) >= MOST_QUEUED:
            self._refused = True
            self.transport.abort()
        # The parser takes the rest for another protocol. So the body would be lost, or read as a request.
        elif self.parser.should_upgrade() and any(n in BODY_HEADERS and value != b"0" for n, value in self.headers):
            message = "this server speaks HTTP/1.1 only; send a request that has a body without the header Upgrade"
            self._refuse(ApiError(400, message))
        return self._refused

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expire(self) -> None:
        self._timer = None
        if self._unused and not self._in_body:
            message = f"the headers did not arrive within {HEAD_SECONDS} s"
            self._refuse(ApiError(408, message, code="request_timeout"))
        else:
            self.transport.close()

    def _refuse(self, error: ApiError) -> None:
        """Answers in OpenAI's form, briefly reads further data of the client, then closes."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self._unset_keepalive_if_required()
        if self._is_busy():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            # Half of an answer may have been sent already.
            if self.pipeline or self.cycle.response_started:
                self.transport.abort()
                return
        body = json.dumps(error.body()).encode()
        head = [f"HTTP/1.1 {error.status} {http.HTTPStatus(error.status).phrase}", "content-type: application/json"]
        head += [f"content-length: {len(body)}", "connection: close", "", ""]
        self.transport.write("\r\n".join(head).encode() + body)
        self.transport.write_eof()
        self._room.add(self)
        self._start_timer(DISCARDING_SECONDS, self.transport.abort)

    def _wait_for_reader(self) -> None:
        self._stop_unread_timer()
        size = self.transport.get_write_buffer_size()
        self._unread_timer = self.loop.call_later(UNREAD_SECONDS, self._look_at_reader, size)

    def _look_at_reader(self, size_before: int) -> None:
        if self.transport.get_write_buffer_size() < size_before:
            self._wait_for_reader()
            return
        # Otherwise the kernel would offer the same bytes again and again.
        linger = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _start_timer(self, seconds: float, then) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, then)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
