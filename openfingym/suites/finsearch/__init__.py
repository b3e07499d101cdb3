"""FinSearchComp: dated questions about companies, markets and economies, with tools that know nothing later."""
