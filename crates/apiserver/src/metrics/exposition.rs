//! The two text formats of metrics: OpenMetrics, as it is encoded, and the older one of Prometheus, made from it.
//!
//! They differ in what a counter's family is called (without and with `_total`), in the unit, and in the end mark.

/// What `Accept` says if OpenMetrics is welcome.
pub const OPENMETRICS: &str = "application/openmetrics-text";
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub const PROMETHEUS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The same metrics in the format of Prometheus. The samples are the same in both.
pub fn prometheus(openmetrics: &str) -> String {
    let mut out = String::with_capacity(openmetrics.len());
    let mut help = None;
    for line in openmetrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            // Written with the type: only that says what the family is called.
            help = rest.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let suffix = if kind == "counter" { "_total" } else { "" };
            if let Some((_, text)) = help.take() {
                out.extend(["# HELP ", name, suffix, " ", text, "\n"]);
            }
            out.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with('#') {
            out.extend([line, "\n"]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_called_what_its_samples_are_called() {
        let openmetrics = "# HELP a Counts.\n# TYPE a counter\na_total{b=\"# TYPE\"} 1\n# HELP c Now.\n# TYPE c gauge\n\
                           # UNIT c bytes\nc 2\n# EOF\n";
        let expected = "# HELP a_total Counts.\n# TYPE a_total counter\na_total{b=\"# TYPE\"} 1\n# HELP c Now.\n\
                        # TYPE c gauge\nc 2\n";
        assert_eq!(prometheus(openmetrics), expected);
    }
}
