"""Papers: reading them from a folder or from arXiv, as PDF, HTML, LaTeX or text; the stages ``screen`` and ``read``."""
