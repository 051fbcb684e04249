# shellcheck shell=bash
# `slowhand up` on a walk from an access point to one of another channel, over a radio that serves one channel
# at a time: it looks at other channels while it still has the first one, and then moves.
TRIAL=joins-moves
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

download_on_a_walk
carries 2 || fail "the second access point is not in use after the walk"
stop
medium_end
has_text "$LOGS/slowhand" 'moves to a better channel' || fail "the first access point was lost, not left"
printf '{"trial":"%s","download":%s}\n' "$TRIAL" "$download" | tee /share/figures.json
