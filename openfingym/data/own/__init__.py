"""Reading what an author brings to ``openfingym task new --from``: graphs and tables, in the forms people have."""
