"""One error tree. Each error says in `hint` what a person can do, and `retryable` whether trying again may help.

`code` is what crosses a process border (a tool, REST, JSON output); `rebuild` turns it back into the class.
"""

from __future__ import annotations


class QuaereError(Exception):
    """Root of every error that a person may see.

    `code` is stable and machine-readable; `exit_code` is the command line's (2: bad input, 3: not found,
    4: a document was refused, 5: a model or the way to it, 6: the library); `status` is REST's.
    """

    code = "internal"
    exit_code = 1
    status = 500
    retryable = False

    def __init__(self, message: str, *, hint: str = "", trace_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.trace_id = trace_id


class InvalidInput(QuaereError):
    code, exit_code, status = "invalid_input", 2, 422


class TooBroad(InvalidInput):
    """A question of the graph has too many matches to look at them all."""

    code = "too_broad"


class NotFound(QuaereError):
    code, exit_code, status = "not_found", 3, 404


class NothingIngested(QuaereError):
    """The library, or the part of it that was asked for, holds no document that is ready."""

    code, exit_code, status = "nothing_ingested", 3, 409


class DocumentRefused(QuaereError):
    """A document can't be read, and nothing of it was stored."""

    code, exit_code, status = "document_refused", 4, 422


class PasswordNeeded(DocumentRefused):
    code = "password_needed"


class CorruptDocument(DocumentRefused):
    code = "corrupt_document"


class NoText(DocumentRefused):
    code = "no_text"


class Cancelled(QuaereError):
    """A person cancelled the job; nothing of its document was stored."""

    code, exit_code, status = "cancelled", 4, 409


class LLMError(QuaereError):
    """The language model, or the way to it, failed. Subclasses say how."""

    code, exit_code, status = "llm_error", 5, 502


class LLMNotConfigured(LLMError):
    code, status = "llm_not_configured", 409


class LLMUnavailable(LLMError):
    """Connection refused, cut or timed out, or 429/5xx after the last retry."""

    code, status, retryable = "llm_unavailable", 503, True


class LLMRejected(LLMError):
    """401, 403, 404 or another 4xx: the same request will be refused again."""

    code = "llm_rejected"
    status_of_endpoint = 0


class LLMTruncated(LLMError):
    """finish_reason=length: the reply is cut short. `text` is what came of it, without thinking."""

    code = "llm_truncated"
    text = ""


class LLMTooLong(LLMRejected):
    """The prompt does not fit the model's window; `window` is what the endpoint said of it, 0 for nothing."""

    code, status = "llm_too_long", 422
    window = 0


class LLMBudget(LLMError):
    """The budget of the question or the job is spent; nothing was sent."""

    code, status = "llm_budget", 409


class LLMFiltered(LLMError):
    code = "llm_filtered"


class LLMBadReply(LLMError):
    """Empty, null, no choices, an HTML page, or not of the schema that was asked for."""

    code = "llm_bad_reply"


class ServiceError(QuaereError):
    """An embedding or reranking model behind HTTP, or the way to it, failed. Subclasses say how."""

    code, exit_code, status = "service_error", 5, 502


class ServiceUnavailable(ServiceError):
    """Connection refused, cut or timed out, or 429/5xx after the last retry."""

    code, status, retryable = "service_unavailable", 503, True


class ServiceRejected(ServiceError):
    """401, 403, 404 or another 4xx: the same request will be refused again. `told` is what the service said."""

    code = "service_rejected"
    status_of_service = 0
    told = ""


class ServiceBadReply(ServiceError):
    """Not JSON, of another shape or count than was asked for, or with a value that is no number."""

    code = "service_bad_reply"


class LibraryError(QuaereError):
    code, exit_code, status = "library_error", 6, 500


class LibraryBusy(LibraryError):
    """Another process owns the library and does not answer."""

    code, status, retryable = "library_busy", 503, True


class EmbeddingChanged(LibraryError):
    """The library was embedded by another model than the one configured now."""

    code, status = "embedding_changed", 409


def _subclasses(root: type[QuaereError]) -> dict[str, type[QuaereError]]:
    found = {root.code: root}
    for child in root.__subclasses__():
        found.update(_subclasses(child))
    return found


def rebuild(code: str, message: str, hint: str = "", trace_id: str = "") -> QuaereError:
    """The error that crossed a process border, as the class it had; an unknown code gives the root class."""
    kind = _subclasses(QuaereError).get(code, QuaereError)
    return kind(message, hint=hint, trace_id=trace_id)
