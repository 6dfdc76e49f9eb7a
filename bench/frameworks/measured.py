"""Runs a program, and adds to the tags of its result what it used: seconds of processor time, MiB of memory.

The last two tags are numbers: processor time of the program and all that it started, and the largest resident memory of
one of these processes.
"""

import json
import resource
import subprocess
import sys

run = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=False)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if run.returncode == 0:
    result = json.loads(run.stdout.strip().splitlines()[-1])
    seconds = used.ru_utime + used.ru_stime
    result["tags"] = [*result.get("tags", []), f"{seconds:.2f}", str(used.ru_maxrss // 1024)]
    print(json.dumps(result))
sys.exit(run.returncode)
