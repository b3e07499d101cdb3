"""The forge: from papers to task packages that are proved before anyone runs them.

A paper goes through the stages of :data:`openfingym.forge.stage.STAGES`, each of which passes it on, refuses it with
reasons and quotations, or fails, and keeps everything it did in the paper's folder. The forge ends in what the rest
of the library has: a kind of task, a metric of the bank, a source or a file of data, ``task check``. It has no second
way to describe any of these.
"""
