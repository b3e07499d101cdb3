"""Sessions: an account that trades on a live market for a while, or on the tape of one, under the same terms."""
