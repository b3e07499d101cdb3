"""The world that is searched: real figures and texts, and a simulated market beside them that says so.

Real rows are those of the bundled vault, under the same names of tables and columns. Companies, exchanges' prices,
indices, futures and pages of the simulated part do not exist, whatever their names remind of.
"""
