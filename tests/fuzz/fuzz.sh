#!/bin/sh
# Runs the fuzzers, from the top folder; `make fuzz`, `make fuzz-corpus` and `make fuzz-coverage`
# build the programs and call this. search SECONDS   all targets at once, starting from the corpus;
# new inputs go to build/fuzz/found, failing ones to build/fuzz/failed merge            makes the
# corpus again: the fewest files with the same coverage coverage         shows the lines of the
# engine that the corpus reaches
set -u
targets="messages blocks frames"
corpus=tests/fuzz/corpus
found=build/fuzz/found
failed=build/fuzz/failed

search() {
	mkdir -p $failed
	pids=
	for target in $targets; do
		mkdir -p $found/$target
		seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
		echo "build/fuzz/fuzz_$target -seed=$seed for $1 s: build/fuzz/$target.log"
		build/fuzz/fuzz_$target -seed=$seed -max_total_time="$1" -max_len=2048 -timeout=10 \
			-print_final_stats=1 -artifact_prefix=$failed/$target- \
			$found/$target $corpus/$target >build/fuzz/$target.log 2>&1 &
		pids="$pids $target:$!"
	done
	trap 'for pid in $pids; do kill "${pid#*:}" 2>/dev/null; done' INT TERM
	status=0
	for pid in $pids; do
		target=${pid%:*}
		if wait "${pid#*:}"; then
			echo "$target: nothing found; $(grep executed_units build/fuzz/$target.log)"
			continue
		fi
		status=1
		echo "$target: FAILED"
		grep -E 'not so:|does not end|ERROR:|SUMMARY:|runtime error:' build/fuzz/$target.log
		input=$(sed -n 's/.*Test unit written to //p' build/fuzz/$target.log)
		echo "again, with its steps: FUZZ_TRACE=1 build/fuzz/fuzz_$target $input"
	done
	return $status
}

merge() {
	for target in $targets; do
		mkdir -p $found/$target
		rm -rf build/fuzz/merged
		mkdir -p build/fuzz/merged
		build/fuzz/fuzz_$target -set_cover_merge=1 -use_counters=0 -max_len=2048 \
			build/fuzz/merged $corpus/$target $found/$target >build/fuzz/merge.log 2>&1 ||
			{ tail -5 build/fuzz/merge.log; return 1; }
		rm -rf ${corpus:?}/$target
		mv build/fuzz/merged $corpus/$target
		echo "$target: $(ls $corpus/$target | wc -l) files"
	done
}

coverage() {
	out=build/fuzz/coverage
	for target in $targets; do
		LLVM_PROFILE_FILE=$out/$target.raw $out/fuzz_$target -runs=0 $corpus/$target \
			>$out/$target.log 2>&1 || { tail -5 $out/$target.log; return 1; }
	done
	llvm-profdata-14 merge $out/messages.raw $out/blocks.raw $out/frames.raw -o $out/all.profile
	llvm-cov-14 report $out/fuzz_messages -object $out/fuzz_blocks -object $out/fuzz_frames \
		-instr-profile $out/all.profile -show-branch-summary=0 net/portals net/link net/frames
}

"$@"
