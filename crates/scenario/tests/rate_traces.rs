//! Problems of a rate trace are reported by line; another file format is named.

mod sound;

use sound::{edited, messages};

#[test]
fn a_file_that_is_no_rate_trace_is_called_what_it_is() {
    let file = |name: &str| edited("lte.down", name);
    let form = "a line is the time of one delivery in whole milliseconds, such as 17";
    let table = [
        ("text.down", format!("traces/text.down:3:1: this is not a time; {form}")),
        ("minus.down", format!("traces/minus.down:1:1: this time is negative; {form}")),
        (
            "back.down",
            "traces/back.down:3:1: this time is before that of the line above: time runs backwards; sort the trace: times may be equal, but never decrease"
                .to_owned(),
        ),
        (
            "empty.down",
            "traces/empty.down:1:1: the trace never delivers; give one time in milliseconds a line, the last above 0".to_owned(),
        ),
        (
            "latin.down",
            format!("traces/latin.down:2:1: this is not a time; {form}"),
        ),
        (
            "gzip.down",
            "traces/gzip.down:1:1: the file is packed with gzip, no rate trace; unpack it first, with gunzip".to_owned(),
        ),
        (
            "air.pcapng",
            "traces/air.pcapng:1:1: the file is a packet capture (pcapng), no rate trace; name a rate trace of Mahimahi".to_owned(),
        ),
        (
            "columns.down",
            "traces/columns.down:1:1: the file has 2 columns of numbers; give one time a line, in whole milliseconds: the first column \
             alone, if it has them"
                .to_owned(),
        ),
        (
            "epoch.down",
            "traces/epoch.down:1:1: the times are seconds since 1970; give whole milliseconds since the first delivery, one time a line"
                .to_owned(),
        ),
        (
            "micros.down",
            "traces/micros.down:3:1: the times go on for more than a day; if they are microseconds, divide them by 1000, otherwise cut \
             the trace: it is repeated anyway"
                .to_owned(),
        ),
        (
            "gone.down",
            "bad.toml:10:14: cannot read \"gone.down\": entity not found; name a Mahimahi trace, counted from the directory of \
             the scenario"
                .to_owned(),
        ),
    ];
    for (name, expected) in table {
        assert_eq!(messages(file(name)), [expected]);
    }
}
