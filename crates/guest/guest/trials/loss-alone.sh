# shellcheck shell=bash
# Linux alone on an air that loses frames: what the monitor says of it, against the truth.
TRIAL=loss-alone
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

scenario_networks
kernel_paths
listen_to_retries
download=$(scenario_download)
stop_listening
medium_end
wifi-meter judge --truth /share/truth --scenario-links fifth,two-fifths \
    --retries "fifth 20 $(retries 1)" --retries "two-fifths 40 $(retries 2)" >/run/judged
printf '{"trial":"%s","download":%s,%s\n' "$TRIAL" "$download" "$(sed 's/^{//' /run/judged)" \
    | tee /share/figures.json
