"""Assembly: from a blueprint and its data to the files of a task package.

The files follow from the blueprint and the data alone: a template for each kind of task is filled in with typed values.
No word of a paper stands where it could act; what an agent reads is composed here.
"""
