//! Lengths of time in few characters.

/// `5 s`, `1.5 s`, `300 ms`, `2 min`, `1 h 30 min`.
pub fn words(millis: i64) -> String {
    let (whole_seconds, rest) = (millis / 1000, millis % 1000);
    match (whole_seconds, rest) {
        (0, 0) => "0 s".to_owned(),
        (0, rest) => format!("{rest} ms"),
        (1..=119, 0) => format!("{whole_seconds} s"),
        (1..=119, rest) => format!("{whole_seconds}.{} s", format!("{rest:03}").trim_end_matches('0')),
        (120..=7199, _) => with_rest(whole_seconds / 60, "min", whole_seconds % 60, "s"),
        (seconds, _) => with_rest(seconds / 3600, "h", seconds % 3600 / 60, "min"),
    }
}

fn with_rest(amount: i64, unit: &str, rest: i64, rest_unit: &str) -> String {
    if rest == 0 { format!("{amount} {unit}") } else { format!("{amount} {unit} {rest} {rest_unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short_and_exact() {
        let rows = [
            (0, "0 s"),
            (300, "300 ms"),
            (1_500, "1.5 s"),
            (30_000, "30 s"),
            (61_250, "61.25 s"),
            (120_000, "2 min"),
            (125_000, "2 min 5 s"),
            (7_200_000, "2 h"),
            (9_000_000, "2 h 30 min"),
        ];
        for (millis, text) in rows {
            assert_eq!(words(millis), text);
        }
    }
}
