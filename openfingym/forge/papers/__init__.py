"""Papers: reading them from a folder or from arXiv, in the forms PDF, HTML, LaTeX and text; the first two stages."""
