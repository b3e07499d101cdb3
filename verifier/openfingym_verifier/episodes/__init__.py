"""Episodes of sequential tasks, the instances that they are on, and live sessions."""
