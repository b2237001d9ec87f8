"""How jobs are carried out; one module per way, each with `run_jobs(work, store, watch)`."""
