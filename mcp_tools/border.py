"""How errors cross the border between a tool and its client.

Every error that a person may see leaves as a tool result with `is_error`, text, and `{code, message, hint,
trace_id}` as structured content, from which `rebuilt` makes the error again. Anything else is logged with its
traceback (fastmcp's log, on stderr) and leaves as 'internal error'.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec

import mcp_types
from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from pydantic import ValidationError as PydanticValidationError

from core.errors import InvalidInput, QuaereError, rebuild

P = ParamSpec("P")
_log = logging.getLogger(__name__)


def _plain(error: ValidationError) -> str:
    cause = error.__cause__
    if not isinstance(cause, PydanticValidationError):
        return str(error)
    first = cause.errors(include_input=False, include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {first['msg'].removeprefix('Value error, ')}"


def error_result(error: QuaereError) -> ToolResult:
    fields = {"code": error.code, "message": error.message, "hint": error.hint, "trace_id": error.trace_id}
    text = f"{error.message}\nHint: {error.hint}" if error.hint else error.message
    return ToolResult(content=text, structured_content=fields, is_error=True)


class Border(Middleware):
    """Nothing but results leaves: refused arguments and unexpected errors become error results."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        try:
            return await call_next(context)
        except ValidationError as error:
            return error_result(InvalidInput(_plain(error), hint="see the tool's input schema"))
        except ToolError as error:
            if error.__cause__ is None:  # fastmcp logs the traceback of all others
                _log.exception("tool %s failed", context.message.name)
            return error_result(QuaereError("internal error", hint="the log of the Quaere process has the details"))


def guarded(tool: Callable[P, Awaitable[ToolResult]]) -> Callable[P, Awaitable[ToolResult]]:
    @functools.wraps(tool)
    async def run(*args: P.args, **kwargs: P.kwargs) -> ToolResult:
        try:
            return await tool(*args, **kwargs)
        except QuaereError as error:
            return error_result(error)

    return run


def rebuilt(result: mcp_types.CallToolResult) -> QuaereError:
    """The error that `error_result` wrote, or the text of another server's."""
    fields = result.structured_content
    if isinstance(fields, dict) and "code" in fields:
        return rebuild(
            str(fields["code"]),
            str(fields.get("message", "")),
            str(fields.get("hint", "")),
            str(fields.get("trace_id", "")),
        )
    text = " ".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))
    return QuaereError(text or "the tool failed without saying why")
