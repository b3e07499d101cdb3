"""``python -m openfingym``, the command line."""

from openfingym.cli import main

if __name__ == "__main__":
    main()
