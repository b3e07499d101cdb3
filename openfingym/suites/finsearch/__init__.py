"""FinSearchComp: dated questions about companies, markets and economies, answered with tools that know nothing later."""
