"""Sessions: an account that trades for a while on a live market, or on the tape of one, under the same terms."""
