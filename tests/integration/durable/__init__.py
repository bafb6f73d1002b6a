"""Tests of failures, which share one durable cluster: five Java processes start for all of them together.

The folder is a package so that pytest ends the cluster behind its last test.
"""

# The shortest life of a token that leaves time for a request on a busy machine.
TOKEN_SECONDS = 5
# Watermarks are made every 10 s otherwise.
OFTEN = {"controller.watermarking.frequency.seconds": "2"}
