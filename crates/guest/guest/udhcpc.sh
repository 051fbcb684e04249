#!/bin/bash
# What udhcpc calls when a lease changes. Each interface gets its address and a default route of its own. Of
# two default routes, that of the interface with the smaller number comes first.
# shellcheck disable=SC2154 # udhcpc sets interface, ip, mask and router
set -eu
case $1 in
deconfig)
    ip address flush dev "$interface"
    ;;
bound | renew)
    ip address replace "$ip/$mask" dev "$interface"
    if [ -n "${router:-}" ]; then
        ip route replace default via "$router" dev "$interface" metric "1${interface//[!0-9]/}0"
    fi
    printf 'ip=%s\nrouter=%s\n' "$ip" "${router:-}" >"/run/lease-$interface"
    ;;
esac
