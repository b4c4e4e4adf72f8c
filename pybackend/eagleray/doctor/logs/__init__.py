"""Log files: `run_session`, `cluster_copies`, `slurm_output` and `archives` get them, `files` lists them, `literal_scan` searches them,
`lines` parses a line, and `context` and `traceback_prefixes` read what is around it.

`doctor/log_reading.py` runs this for a diagnosis, and `doctor/diagnosing.py` takes causes from the lines.
"""
