"""Isolation forest (Liu, Ting and Zhou 2008) on the features of the nodes. No label and no edge is used.

Sparse features, such as words, are first reduced to principal directions; the number of words is kept beside them.
"""

import interface
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import IsolationForest

DIRECTIONS = 32

graph = interface.load_graph()
test = interface.load_test_inputs()
rows = graph.features
if isinstance(rows, np.ndarray):
    features = rows
else:
    words = csr_matrix((rows.values, rows.indices, rows.indptr), rows.shape)
    reduced = TruncatedSVD(min(DIRECTIONS, rows.shape[1] - 1), random_state=interface.seed).fit_transform(words)
    features = np.column_stack([reduced, np.diff(rows.indptr)])

forest = IsolationForest(n_estimators=300, random_state=interface.seed).fit(features)
print(f"{len(features)} nodes, {features.shape[1]} features")
print(interface.submit(-forest.score_samples(features[test])))
