# shellcheck shell=bash
# Linux alone on a walk past three access points of one channel.
TRIAL=walk-alone
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

scenario_networks
kernel_paths
download=$(scenario_download)
medium_end
wifi-meter judge --truth /share/truth --scenario-links lobby,hall,library >/run/judged
printf '{"trial":"%s","download":%s,%s\n' "$TRIAL" "$download" "$(sed 's/^{//' /run/judged)" \
    | tee /share/figures.json
