"""The margay command's parts, each a module with one job.

Hot path of `margay run`, in the order of use: cli, options, image, layout,
region, accel, machine, doorbell, node, job, ring, output, report. Nothing
there may import a slow module (argparse, subprocess, dataclasses, difflib) at
the top: an empty job must not pay for them.
"""

VERSION = "0.1.0"
