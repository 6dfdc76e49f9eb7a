"""The checks of an HTTP request before it is processed: its sender, its size, and that it is JSON."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from urllib.parse import urlsplit

from starlette.requests import Request as HttpRequest

from .requests import ApiError

# Time limit in seconds for a body.
BODY_SECONDS = 30
# A body that is too large is read to its end and discarded, up to this many bytes, because many clients read no answer
# before they have sent everything.
DISCARDED_BYTES = 16 * 2**20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def check_sender(http: HttpRequest, local_only: bool, names: frozenset[str]) -> None:
    """Raises ApiError for a request that a web page of another site sends through the user's browser.

    Browsers send the header Origin with every such POST. With `local_only` the server listens on a loopback address.
    Then it also refuses other host names, because an attacker can point his own name to 127.0.0.1. Addresses, localhost
    and `names` are allowed.
    """
    host = _name(f"//{http.headers.get('host', '')}")
    if local_only and host and not (_is_address(host) or _is_local(host) or host in names):
        message = f"this server listens for this machine only, not under the name {host[:100]}; see --allowed-host"
        raise ApiError(403, message, code="foreign_host")
    origin = http.headers.get("origin")
    if origin is None:
        return
    name = _name(origin)
    if not name or not (_is_local(name) or name == host or name in names):
        message = f"pages of {origin[:100]} may not use this server; see --allowed-host"
        raise ApiError(403, message, code="foreign_origin")


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_local(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else f".{host}".endswith(".localhost")


async def read_json(http: HttpRequest, limit: int) -> object:
    """The body's JSON value. Raises ApiError.

    It refuses a body of another type (a browser sends JSON to another site only with that site's consent), of more than
    `limit` bytes, that is late, that is not JSON or UTF-8, or whose text cannot be written as UTF-8.
    """
    kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(415, "send JSON, with the header content-type: application/json", code="unsupported_media_type")
    text = await _read_text(http, limit)
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ApiError(400, "the body holds half of a surrogate pair, which is no character") from None
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {str(error)[:200]}") from None
    return value


async def _read_text(http: HttpRequest, limit: int) -> str:
    message = f"the body has more than {limit} bytes, more than any prompt needs"
    too_large = ApiError(413, message, code="request_too_large")
    announced = http.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > DISCARDED_BYTES:
        raise too_large
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in http.stream():
                size += len(chunk)
                if size > DISCARDED_BYTES:
                    raise too_large
                if size <= limit:
                    body += chunk
                else:
                    body.clear()
    except TimeoutError:
        raise ApiError(408, f"the body did not arrive within {BODY_SECONDS} s", code="request_timeout") from None
    if size > limit:
        raise too_large
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise ApiError(400, "the body is not UTF-8") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")
