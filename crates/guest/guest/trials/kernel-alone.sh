# shellcheck shell=bash
# Linux alone: an endpoint for each of two access points over one radio, a download, and the loss of one.
TRIAL=kernel-alone
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

two_networks
ip mptcp limits set subflows 8 add_addr_accepted 8
for n in 1 2; do
    source_route $n
    # shellcheck disable=SC2154 # source_route sets it
    ip mptcp endpoint add "$ip" dev "sta$n" subflow
done
download_and_kill 8000000 1000000
