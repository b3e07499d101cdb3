"""Logistic regression on a node's features, the mean of its neighbours', how far it is from that, and its degree."""

import interface
import numpy as np
from scipy.sparse import csr_matrix, diags
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

graph = interface.load_graph()
nodes, labels = interface.load_train()
test = interface.load_test_inputs()
own = graph.features
if not isinstance(own, np.ndarray):
    words = csr_matrix((own.values, own.indices, own.indptr), own.shape)
    reduced = TruncatedSVD(min(32, words.shape[1] - 1), random_state=interface.seed).fit_transform(words)
    own = np.column_stack([reduced, np.diff(words.indptr)])
own = StandardScaler().fit_transform(own)

first, second = graph.edges
ends = np.concatenate([first, second]), np.concatenate([second, first])
adjacency = csr_matrix((np.ones(2 * len(first)), ends), (graph.nodes, graph.nodes))
degree = np.diff(adjacency.indptr).astype(float)
around = diags(1.0 / np.maximum(degree, 1.0)) @ adjacency @ own
apart = np.linalg.norm(own - around, axis=1)
size = np.linalg.norm(own, axis=1)
x = StandardScaler().fit_transform(np.column_stack([own, around, apart, apart**2, size, np.log1p(degree)]))
model = LogisticRegression(C=0.1, max_iter=2000, class_weight="balanced").fit(x[nodes], labels)
answer = model.predict_proba(x[test])[:, 1]
