"""Being ``python3 PATH`` in a process that has started already."""

import sys

# What `importlib.machinery` hands on, which takes a while to import itself.
from _frozen_importlib_external import SourceFileLoader


def run_as_main(path: str) -> None:
    """Run a program as the interpreter runs the one it is given; ``sys.path`` must be as it should find it.

    Call it with nothing of ours below but a module's own code: what the program raises passes through.

    Raises:
        SystemExit: the program raised; it has been reported as the interpreter does.
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
            shown = error.__traceback__.tb_next if error.__traceback__ else None
            raise
    except Exception as error:
        sys.excepthook(type(error), error.with_traceback(shown), shown)
        raise SystemExit(1) from None
