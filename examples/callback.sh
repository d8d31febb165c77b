#!/bin/sh
# A callback for `antiphon coordinate`: asks once for more and is content then. What it is told is one line of JSON, in which counts of 0 are
# left out; what it says is what comes next. `antiphon coordinate --help` has all of both.
if grep -q turnsStarted; then
  echo '{"stop": {}}'
else
  echo '{"continue": {"text": "What would you pack?"}}'
fi
