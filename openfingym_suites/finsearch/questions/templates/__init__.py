"""Templates of questions, by what they ask about; importing this package registers all of them.

A template is a function whose name says what is asked and whose text is there to read; it has no other description.
"""

from openfingym_suites.finsearch.questions.templates import (  # noqa: F401
    companies,
    companies_compared,
    company_figures,
    company_histories,
    fed,
    fx,
    fx_histories,
    gdp,
    macro,
    macro_histories,
    simulated_days,
    simulated_histories,
    simulated_markets,
    simulated_reports,
    simulated_statistics,
    stocks,
    yields,
)
