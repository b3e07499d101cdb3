"""Workspaces, in which an agent works step by step: programs run one after another in one container, and files stay.

::

    async with open_workspace(backend, package, gate, seed=0, limits=limits, rollout_id=ticket.rollout_id) as workspace:
        execution = await workspace.run_python("print(1 + 1)", timeout_s=60)

A :class:`WorkspacePool` starts some of them in advance, for rollouts that are still to come.
"""

from openfingym.workspace.answers import Execution, FolderEntry, WorkspaceError
from openfingym.workspace.pool import WorkspacePool
from openfingym.workspace.starting import open_workspace
from openfingym.workspace.workspace import Workspace

__all__ = ["Execution", "FolderEntry", "Workspace", "WorkspaceError", "WorkspacePool", "open_workspace"]
