"""The forge: from papers to task packages that are proved before anyone runs them.

A paper goes through the stages of :data:`openfingym_forge.stage.STAGES`, each of which passes it on, refuses it with
reasons and quotations, or fails, and keeps everything it did in the paper's folder. What comes out is made of the parts
that the rest of the library has: a kind of task, metrics of the bank, a data set or a file of data. It is checked by
the same ``task check`` as any other task.
"""
