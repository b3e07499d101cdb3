"""The half of the sandbox that runs behind the launcher: standard library only, imported by path.

The launcher starts it as the top-level package ``inside``, in an interpreter that sees no
site-packages, so nothing here may import the rest of the project.
"""
