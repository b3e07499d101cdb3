"""MIRAI: forecasting which relations there will be between two countries, from events and news."""
