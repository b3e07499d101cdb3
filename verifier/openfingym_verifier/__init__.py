"""The verifier: the only part of OpenFinGym that ever holds labels.

It loads the truth of some tasks into memory, gives rollouts signed tokens, scores what agents
submit, rations the feedback and keeps a durable, hash-chained record of all of it.

* ``openfingym_verifier.serving.serve`` runs it as a service;
* ``openfingym_verifier.embedded.EmbeddedVerifier`` runs it as a child of the calling process;
* ``openfingym_verifier.audit.log.verify_chain`` checks a state directory's record.
"""
