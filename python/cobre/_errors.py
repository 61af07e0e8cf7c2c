# SPDX-License-Identifier: Apache-2.0
"""The exceptions of cobre. What they say comes from the library."""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from typing import Any


class CobreError(Exception):
    """An error of the library: kind, message, context and suggestion, as in its JSON."""

    def __init__(self, kind: str, message: str, context: dict[str, Any], suggestion: str) -> None:
        super().__init__(kind, message, context, suggestion)
        self.kind = kind
        self.message = message
        self.context = context
        self.suggestion = suggestion

    def __str__(self) -> str:
        return f"{self.message} ({self.suggestion})" if self.suggestion else self.message


class CollectiveError(CobreError):
    """A collective failed, and with it the communicator: a rank died, left, made another call, ..."""

    @property
    def cause(self) -> str | None:
        """Why: "peer died", "peer left", "mismatch", "stalled", "interrupted", "aborted" or "transport"."""
        return self.context.get("cause")

    @property
    def culprit(self) -> int | None:
        """The rank that died, left, differs, ...; None if it is not known."""
        return self.context.get("culprit")


class ArgumentError(CobreError, ValueError):
    """An argument does not fit the call. This rank has not entered it."""


class CommunicatorError(CobreError):
    """The communicator cannot be used: it was freed, or belongs to another process."""


class AllocationError(CobreError, MemoryError):
    """There is not enough memory; where a region was asked for, on all ranks alike."""


class OpenError(CobreError):
    """No communicator could be opened."""


class Issue:
    """One error of a case, or a warning: where it is, and what to do about it."""

    __slots__ = ("file", "line", "place", "message", "suggestion", "warning", "more")

    def __init__(self, file: str, line: int, place: str, message: str, suggestion: str, warning: bool, more: int) -> None:
        self.file = file
        self.line = line
        self.place = place
        self.message = message
        self.suggestion = suggestion
        self.warning = warning
        self.more = more

    def __str__(self) -> str:
        where = self.file + (f":{self.line}" if self.line else "")
        more = f" (and {self.more} more)" if self.more else ""
        return ": ".join(filter(None, [where, self.place, self.message])) + more

    def __repr__(self) -> str:
        return f"<{'warning' if self.warning else 'error'}: {self}>"

    def __reduce__(self) -> Any:
        return Issue, tuple(getattr(self, name) for name in self.__slots__)


class CaseError(CobreError, ValueError):
    """A case has errors: .issues lists all of them, each with file, line, place, message and suggestion."""

    issues: list[Issue] = []

    @classmethod
    def of(cls, path: str, issues: list[Issue]) -> CaseError:
        errors = [issue for issue in issues if not issue.warning]
        count = len(errors) + sum(issue.more for issue in errors)
        text = "\n".join(f"  {issue}" + (f" ({issue.suggestion})" if issue.suggestion else "") for issue in errors[:20])
        message = f"{path or 'the problem'}: {count} error{'' if count == 1 else 's'}\n{text}"
        error = cls("InvalidCase", message, {"file": path}, "")
        error.issues = issues
        return error


class SolverError(CobreError):
    """An LP could not be solved, or a solver is not there."""


class PolicyError(CobreError):
    """A policy file is damaged, or does not belong to the case."""


class FileError(CobreError):
    """A file or folder cannot be read or written, or holds a run already."""


class ConvergenceError(CobreError):
    """train(..., require="converged") has ended, and no rule has found that it converged. result: the Training."""

    result: Any = None

    @classmethod
    def of(cls, result: Any) -> ConvergenceError:
        error = cls("NotConverged", f"it has not converged: {result.stop}", {"stop": result.stop}, "what was trained is in .result")
        error.result = result
        return error


class WorkerError(CobreError):
    """A worker of launch() or train() failed: its rank, its exit code (negative: the signal that killed it), and the exception that it raised.

    inner is None when the worker said nothing, as one that was killed; else its traceback is the cause of inner. result: what
    train() had made before, if there is anything; else None.
    """

    def __init__(self, rank: int, exit_code: int, inner: BaseException | None) -> None:
        self.rank = rank
        self.exit_code = exit_code
        self.inner = inner
        self.result: Any = None
        super().__init__("WorkerFailed", str(self), {"rank": rank, "exit_code": exit_code}, "")

    def __reduce__(self) -> Any:
        return WorkerError, (self.rank, self.exit_code, self.inner), {"result": self.result}

    def __str__(self) -> str:
        if self.inner is not None:
            return f"worker {self.rank} raised {type(self.inner).__name__}: {self.inner}"
        if self.exit_code < 0:
            return f"worker {self.rank} was killed by signal {-self.exit_code}"
        return f"worker {self.rank} ended with exit code {self.exit_code} before it had a result"


for _family in (CobreError, CollectiveError, ArgumentError, CommunicatorError, AllocationError, OpenError, WorkerError, CaseError,
                SolverError, PolicyError, FileError, ConvergenceError, Issue):  # fmt: skip
    _family.__module__ = "cobre"  # which a traceback shows

_FAMILIES = {
    "CollectiveFailed": CollectiveError,
    "InvalidBufferSize": ArgumentError,
    "InvalidRoot": ArgumentError,
    "InvalidArgument": ArgumentError,
    "InvalidCommunicator": CommunicatorError,
    "AllocationFailed": AllocationError,
    "BackendNotAvailable": OpenError,
    "InvalidBackend": OpenError,
    "InitializationFailed": OpenError,
    "MissingConfiguration": OpenError,
    "InvalidCase": CaseError,
    "InvalidPolicy": PolicyError,
    "FileFailed": FileError,
    "LpFailed": SolverError,
    "SolverNotAvailable": SolverError,
}


def make_error(text: str) -> CobreError:
    """The exception for a line of the library's JSON."""
    import json

    error = json.loads(text)
    family = _FAMILIES.get(error["kind"], CobreError)
    return family(error["kind"], error["message"], error["context"], error["suggestion"])
