"""Tests of Paper Monitor. Here, and in every process that they start, it is UTC."""

import os
import time

os.environ["TZ"] = "UTC"
time.tzset()
