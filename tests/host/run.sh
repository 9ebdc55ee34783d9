#!/bin/sh
# Runs host test programs, one command line per argument, and sums their "N passed, N failed". The
# exit status is 0 only if all of them passed.
passed=0
failed=0
for command in "$@"; do
	echo "$command"
	output=$(timeout 120 $command 2>&1)
	status=$?
	last=$(printf '%s\n' "$output" | tail -n 1)
	printf '%s\n' "$output"
	p=$(printf '%s\n' "$last" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p')
	f=$(printf '%s\n' "$last" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p')
	if [ -z "$p" ] || { [ "$status" -ne 0 ] && [ "$f" = 0 ]; }; then
		echo "$command ended with status $status"
		f=$((${f:-0} + 1))
	fi
	passed=$((passed + ${p:-0}))
	failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
