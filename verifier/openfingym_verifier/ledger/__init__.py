"""The ledger: its tables, its append-only log with a Merkle tree, its one writer, and receipts."""
