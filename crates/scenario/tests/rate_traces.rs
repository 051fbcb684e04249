//! Problems of a rate trace are reported by line; another file format is named.

mod sound;

use sound::{edited, messages};

#[test]
fn files_that_are_not_rate_traces_are_refused_by_format() {
    let file = |name: &str| edited("lte.down", name);
    let form = "write the time of one delivery in whole milliseconds, such as 17";
    let table = [
        ("text.down", format!("traces/text.down:3:1: this is not a time; {form}")),
        ("minus.down", format!("traces/minus.down:1:1: this time is negative; {form}")),
        (
            "back.down",
            "traces/back.down:3:1: this time is earlier than the one on the line above; sort the trace: times may be equal, but never decrease"
                .to_owned(),
        ),
        (
            "empty.down",
            "traces/empty.down:1:1: the trace delivers nothing; give one time in milliseconds on each line, the last above 0".to_owned(),
        ),
        (
            "latin.down",
            format!("traces/latin.down:2:1: this is not a time; {form}"),
        ),
        (
            "gzip.down",
            "traces/gzip.down:1:1: the file is packed with gzip, not a rate trace; unpack it first, with gunzip".to_owned(),
        ),
        (
            "air.pcapng",
            "traces/air.pcapng:1:1: the file is a packet capture (pcapng), not a rate trace; name a rate trace of Mahimahi".to_owned(),
        ),
        (
            "columns.down",
            "traces/columns.down:1:1: the file has 2 columns of numbers; give one time on each line, in whole milliseconds; if the first column has them, remove the others"
                .to_owned(),
        ),
        (
            "epoch.down",
            "traces/epoch.down:1:1: the times are seconds since 1970; give whole milliseconds since the first delivery, one on each line"
                .to_owned(),
        ),
        (
            "micros.down",
            "traces/micros.down:3:1: the times exceed one day; if they are microseconds, divide them by 1000, otherwise shorten the trace, as it repeats anyway"
                .to_owned(),
        ),
        (
            "gone.down",
            "bad.toml:10:14: cannot read \"gone.down\": entity not found; name a Mahimahi trace, relative to the directory of the scenario"
                .to_owned(),
        ),
    ];
    for (name, expected) in table {
        assert_eq!(messages(file(name)), [expected]);
    }
}
