"""Running a program as ``python3 PATH`` would, in a process that has started already."""

import sys

# `importlib.machinery` has the same class, but takes a while to import.
from _frozen_importlib_external import SourceFileLoader


def run_as_main(path: str) -> None:
    """Run a program as the interpreter runs the one that it is given; ``sys.path`` must be as the program expects it.

    What is not an ``Exception``, such as ``SystemExit`` or ``KeyboardInterrupt``, passes through. So the caller either
    is a module's own code, and the interpreter deals with it, or does what the interpreter would do.

    Raises:
        SystemExit: the program ended with an exception, which has been printed as the interpreter would.
    """
    sys.argv = [path]
    loader = SourceFileLoader("__main__", path)
    main = type(sys)("__main__")
    vars(main).update(
        __file__=path, __loader__=loader, __cached__=None, __annotations__={}, __builtins__=sys.modules["builtins"]
    )
    sys.modules["__main__"] = main
    shown = None
    try:
        code = loader.source_to_code(loader.get_data(path), path)
        try:
            exec(code, vars(main))  # noqa: S102
        except Exception as error:
            # Without this frame, which the program's author does not know.
            shown = error.__traceback__.tb_next if error.__traceback__ else None
            raise
    except Exception as error:
        sys.excepthook(type(error), error.with_traceback(shown), shown)
        raise SystemExit(1) from None
