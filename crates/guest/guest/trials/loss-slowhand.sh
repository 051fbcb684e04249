# shellcheck shell=bash
# `slowhand up` on an air that loses frames: what the monitor and the daemon say of it, against the truth.
TRIAL=loss-slowhand
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

scenario_networks
slowhand_up
listen_to_retries
download=$(scenario_download)
stop_listening
slowhand_down
medium_end
wifi-meter judge --truth /share/truth --scenario-links fifth,two-fifths --estimates $LOGS/estimates \
    --retries "fifth 20 $(retries 1)" --retries "two-fifths 40 $(retries 2)" >/run/judged
printf '{"trial":"%s","download":%s,%s\n' "$TRIAL" "$download" "$(sed 's/^{//' /run/judged)" \
    | tee /share/figures.json
