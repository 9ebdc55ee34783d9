#!/bin/bash
# Checks the models of this folder with spin, in variants: tests/spin/check.sh BUILD [PART], only
# those with PART in their names. Takes some 5 minutes of processor time. Each line below has a
# model, the expected result, and the macros of the variant. "right": spin examines every state and
# finds no error; for grants.pml also no endless run. "wrong": a rule is missing, and spin must find
# an error, as a model that cannot fail proves nothing. With -DLIVE link.pml must have no endless
# run either, so every message arrives.
set -e
here=$(dirname "$(realpath "$0")")
part=$2
mkdir -p "$1"
cd "$1"

# The number of errors that a search finds, or "?" if it was incomplete.
search() { # NAME SPIN-OPTIONS...
	name=$1
	shift
	./"$name" -m500000 "$@" >"$name.log" 2>&1 || true
	if grep -q 'errors: 0$' "$name.log" &&
		grep -q 'not completed\|too small\|out of memory' "$name.log"; then
		echo "?"
	else
		sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$name.log"
	fi
}

states() {
	sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' "$1"
}

while read -r model finds macros; do
	[ -n "$model" ] || continue
	name=$model$(echo "$macros" | tr -d ' =' | sed 's/-D/-/g')
	case $name in *"$part"*) ;; *) continue ;; esac
	mkdir -p "$name.d"
	# shellcheck disable=SC2086
	(cd "$name.d" && spin -a $macros "$here/$model.pml" >spin.log 2>&1) ||
		{ cat "$name.d/spin.log"; exit 1; }
	gcc -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=3000 "$name.d/pan.c" -o "$name"
	errors=$(search "$name")
	said="$(states "$name.log") states"
	case $model$macros in grants* | *LIVE*) ends=1 ;; *) ends=0 ;; esac
	if [ "$ends$errors" = 10 ]; then
		gcc -O1 -w -DNP -DCOLLAPSE -DMEMLIM=3000 "$name.d/pan.c" -o "$name-ends"
		errors=$(search "$name-ends" -l)
		said="$said, $(states "$name-ends.log") looking for runs without end"
	fi
	case $finds$errors in right0 | wrong[1-9]*) ;; *) said="$said: NOT AS IT SHOULD BE" ;; esac
	echo "$name: $finds, errors: $errors, $said"
	case $said in *NOT*) exit 1 ;; esac
done <<END
link right
link right -DRESTART
link right -DGIVEUP
link right -DRESTART -DGIVEUP
link right -DRESTART -DLETGO
link right -DGIVEUP -DWAITS
link right -DLIVE
link right -DLIVE -DRESTART -DGIVEUP
link right -DLIVE -DGIVEUP -DLETGO
link right -DLIVE -DWAITS
link wrong -DRESTART -DANYONE
link wrong -DLETGO -DPLAIN
link wrong -DWAITS -DTWICE
link wrong -DLIVE -DDEAF
link wrong -DLIVE -DRESTART -DSILENT
lock right
lock right -DNODES=2 -DROUNDS=3 -DDEATH
lock wrong -DWITHOUT=1
lock wrong -DWITHOUT=2
lock wrong -DWITHOUT=3
lock wrong -DNODES=2 -DROUNDS=2 -DDEATH -DWITHOUT=4
grants right
grants right -DFAULTS=4
grants right -DPARTS=6 -DFAULTS=3
grants right -DPARTS=6 -DPLACES=2 -DFAULTS=3
grants right -DPARTS=5 -DPLACES=1 -DFAULTS=3
grants right -DPARTS=6 -DPLACES=2 -DMESSAGE=2 -DFAULTS=3
grants right -DPLACES=2 -DGIVEUP
grants right -DPARTS=6 -DMESSAGE=3 -DCOPIED -DFAULTS=3
grants right -DRESETS -DBURSTS
grants right -DOTHERS
grants right -DBURSTS -DFAULTS=3
grants right -DBURSTS -DPLACES=2
grants wrong -DWITHOUT=1 -DPARTS=6 -DPLACES=2 -DFAULTS=3
grants wrong -DWITHOUT=2 -DPARTS=6 -DPLACES=2 -DFAULTS=3
grants wrong -DWITHOUT=3
grants wrong -DWITHOUT=4
grants wrong -DWITHOUT=5 -DGIVEUP
grants wrong -DWITHOUT=6 -DBURSTS
grants wrong -DWITHOUT=7 -DOTHERS
grants wrong -DWITHOUT=8 -DRESETS -DBURSTS
END
