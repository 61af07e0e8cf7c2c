"""What the programs share that the tests start as ranks."""

import contextlib
import sys


@contextlib.contextmanager
def raises(kind, text=""):
    """What happens inside raises an exception of that kind, which says so."""
    try:
        yield
    except kind as error:
        assert text in str(error), f"{text!r} is not in {error!r}"
        assert type(error) is not SystemError
    else:
        raise AssertionError(f"no {kind}")


def run(programs):
    """The function that argv[1] names."""
    programs[sys.argv[1]]()
