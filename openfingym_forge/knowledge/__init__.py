"""The knowledge base: what all papers of a forge say and what became of them, to be searched, shown and counted."""
