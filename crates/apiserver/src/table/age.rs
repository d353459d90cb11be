//! Durations as kubectl prints them: two or three figures that matter, never more.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use lifecycle::moment::Moment;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;
/// The longest duration upstream can hold: 2^63 nanoseconds.
const LONGEST_MILLIS: i64 = i64::MAX / 1_000_000;

/// How long ago something happened; `<unknown>` if it is not known when.
pub fn since(then: Option<&Time>, now: Moment) -> String {
    match then {
        None => "<unknown>".to_owned(),
        Some(then) => human(now.millis().saturating_sub(then.0.as_millisecond())),
    }
}

/// A duration with a second unit where it matters: `9m59s`, `3h5m`, `2d1h`, `2y3d`. Two seconds in the future and more
/// is `<invalid>`; less is taken for clocks that disagree.
pub fn human(millis: i64) -> String {
    let millis = millis.min(LONGEST_MILLIS);
    match millis {
        ..0 => not_yet(millis),
        0..120_000 => format!("{}s", millis / SECOND),
        _ if millis < 10 * MINUTE => two_units((millis / MINUTE, "m"), (millis % MINUTE / SECOND, "s")),
        _ if millis < 3 * HOUR => format!("{}m", millis / MINUTE),
        _ if millis < 8 * HOUR => two_units((millis / HOUR, "h"), (millis % HOUR / MINUTE, "m")),
        _ if millis < 2 * DAY => format!("{}h", millis / HOUR),
        _ if millis < 8 * DAY => two_units((millis / DAY, "d"), (millis % DAY / HOUR, "h")),
        _ if millis < 2 * YEAR => format!("{}d", millis / DAY),
        _ if millis < 8 * YEAR => two_units((millis / YEAR, "y"), (millis % YEAR / DAY, "d")),
        _ => format!("{}y", millis / YEAR),
    }
}

/// A duration in its largest unit only.
pub fn short_human(millis: i64) -> String {
    let millis = millis.min(LONGEST_MILLIS);
    let units = [(YEAR, "y"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m")];
    match units.into_iter().find(|(unit, _)| millis >= *unit) {
        Some((unit, name)) => format!("{}{name}", millis / unit),
        None if millis < 0 => not_yet(millis),
        None => format!("{}s", millis / SECOND),
    }
}

fn not_yet(millis: i64) -> String {
    if millis > -2 * SECOND { "0s" } else { "<invalid>" }.to_owned()
}

fn two_units((large, large_name): (i64, &str), (small, small_name): (i64, &str)) -> String {
    if small == 0 { format!("{large}{large_name}") } else { format!("{large}{large_name}{small}{small_name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds, long form, short form, as upstream's own code was seen to print them.
    const ROWS: &[(i64, &str, &str)] = &[
        (i64::MIN, "<invalid>", "<invalid>"),
        (-2000, "<invalid>", "<invalid>"),
        (-1999, "0s", "0s"),
        (-1000, "0s", "0s"),
        (-1, "0s", "0s"),
        (0, "0s", "0s"),
        (999, "0s", "0s"),
        (59000, "59s", "59s"),
        (119999, "119s", "1m"),
        (120000, "2m", "2m"),
        (121000, "2m1s", "2m"),
        (599000, "9m59s", "9m"),
        (600000, "10m", "10m"),
        (10740000, "179m", "2h"),
        (10800000, "3h", "3h"),
        (10860000, "3h1m", "3h"),
        (28740000, "7h59m", "7h"),
        (28800000, "8h", "8h"),
        (169200000, "47h", "1d"),
        (172800000, "2d", "2d"),
        (176400000, "2d1h", "2d"),
        (687600000, "7d23h", "7d"),
        (691200000, "8d", "8d"),
        (62985600000, "729d", "1y"),
        (63072000000, "2y", "2y"),
        (63158400000, "2y1d", "2y"),
        (252201600000, "7y364d", "7y"),
        (252288000000, "8y", "8y"),
        (9000000000000, "285y", "285y"),
        (i64::MAX, "292y", "292y"),
    ];

    #[test]
    fn durations_read_as_kubectl_prints_them() {
        for (millis, long, short) in ROWS {
            assert_eq!(human(*millis), *long, "{millis}");
            assert_eq!(short_human(*millis), *short, "{millis}");
        }
    }

    #[test]
    fn an_age_is_counted_from_a_time_that_is_known() {
        let now = Moment::from_millis(1_000_000_000);
        assert_eq!(since(Some(&Moment::from_millis(999_700_000).whole_second()), now), "5m");
        assert_eq!(since(None, now), "<unknown>");
    }
}
