//! Which part of a log is wanted: read from the query, checked, and written for the agent.

use jiff::Timestamp;
use model::field::{Errors, Path};

use crate::percent;
use crate::query::Query;
use crate::status::{Qualified, Status};

const STREAMS: [&str; 3] = ["All", "Stderr", "Stdout"];
const ALL: &str = "All";

/// The options of a request for a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    pub container: String,
    follow: bool,
    previous: bool,
    timestamps: bool,
    since_seconds: Option<i64>,
    since_time: Option<Timestamp>,
    tail_lines: Option<i64>,
    limit_bytes: Option<i64>,
    stream: String,
}

impl LogOptions {
    /// Reads and checks the options of a request for the log of this pod.
    pub fn parse(query: &Query, pod: &str) -> Result<LogOptions, Status> {
        let on = |name: &str| query.switch(name).unwrap_or(false);
        let options = LogOptions {
            container: query.first("container").unwrap_or_default().to_owned(),
            follow: on("follow"),
            previous: on("previous"),
            timestamps: on("timestamps"),
            since_seconds: number(query, "sinceSeconds")?,
            since_time: time(query, "sinceTime")?,
            tail_lines: number(query, "tailLines")?,
            limit_bytes: number(query, "limitBytes")?,
            stream: query.first("stream").filter(|stream| !stream.is_empty()).unwrap_or(ALL).to_owned(),
        };
        let errors = options.errors();
        if errors.is_empty() {
            Ok(options)
        } else {
            Err(Status::invalid(Qualified::core("PodLogOptions"), pod, &errors))
        }
    }

    fn errors(&self) -> Errors {
        let root = Path::root();
        let mut errors = Errors::new();
        if let Some(lines) = self.tail_lines.filter(|lines| *lines < 0) {
            errors.invalid(root.child("tailLines"), lines, "must be greater than or equal to 0");
        }
        if let Some(bytes) = self.limit_bytes.filter(|bytes| *bytes < 1) {
            errors.invalid(root.child("limitBytes"), bytes, "must be greater than 0");
        }
        match (self.since_seconds, self.since_time) {
            (Some(_), Some(_)) => {
                errors.forbidden(root.child(""), "at most one of `sinceTime` or `sinceSeconds` may be specified");
            }
            (Some(seconds), None) if seconds < 1 => {
                errors.invalid(root.child("sinceSeconds"), seconds, "must be greater than 0");
            }
            (_, _) => {}
        }
        if !STREAMS.contains(&self.stream.as_str()) {
            errors.not_supported(root.child("stream"), self.stream.as_str(), &STREAMS);
        }
        if self.stream != ALL && self.tail_lines.is_some() {
            errors.forbidden(root.child(""), "`tailLines` and specific `stream` are mutually exclusive for now");
        }
        errors
    }

    /// The query for the agent.
    pub fn query(&self) -> String {
        let switches = [("follow", self.follow), ("previous", self.previous), ("timestamps", self.timestamps)];
        let numbers =
            [("sinceSeconds", self.since_seconds), ("tailLines", self.tail_lines), ("limitBytes", self.limit_bytes)];
        let switches = switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| format!("{name}=true"));
        let numbers = numbers.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        let time = self
            .since_time
            .map(|time| format!("sinceTime={}", percent::encode(&time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())));
        let stream = format!("stream={}", percent::encode(&self.stream));
        switches.chain(numbers).chain(time).chain([stream]).collect::<Vec<_>>().join("&")
    }
}

fn number(query: &Query, name: &str) -> Result<Option<i64>, Status> {
    let Some(text) = query.first(name) else { return Ok(None) };
    let unreadable = |_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
    text.parse().map(Some).map_err(unreadable)
}

fn time(query: &Query, name: &str) -> Result<Option<Timestamp>, Status> {
    let Some(text) = query.first(name).filter(|text| !matches!(*text, "" | "null")) else { return Ok(None) };
    let unreadable = |_| Status::bad_request(format!("{name}: {text:?} is not a time as in 2006-01-02T15:04:05Z"));
    text.parse().map(Some).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_the_agent() {
        let sent = "container=a&follow=true&previous=0&timestamps=1&tailLines=5&limitBytes=10&\
                    sinceTime=2026-01-02T03:04:05.6%2B01:00";
        let options = LogOptions::parse(&Query::parse(sent), "web").unwrap();
        assert_eq!(options.container, "a");
        let expected =
            "follow=true&timestamps=true&tailLines=5&limitBytes=10&sinceTime=2026-01-02T02%3A04%3A05Z&stream=All";
        assert_eq!(options.query(), expected);
        assert_eq!(LogOptions::parse(&Query::default(), "web").unwrap().query(), "stream=All");
    }

    #[test]
    fn options_that_make_no_sense_are_refused_in_upstreams_words() {
        let rows = [
            ("tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
            ("limitBytes=0", "limitBytes: Invalid value: 0: must be greater than 0"),
            ("sinceSeconds=0", "sinceSeconds: Invalid value: 0: must be greater than 0"),
            (
                "sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z",
                ": Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
            ),
            ("stream=Both", "stream: Unsupported value: \"Both\": supported values: \"All\", \"Stderr\", \"Stdout\""),
            (
                "stream=Stdout&tailLines=1",
                ": Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
            ),
        ];
        for (query, message) in rows {
            let refused = LogOptions::parse(&Query::parse(query), "web").unwrap_err();
            assert_eq!(refused.code, 422, "{query}");
            assert_eq!(refused.message, format!("PodLogOptions \"web\" is invalid: {message}"), "{query}");
        }
    }

    #[test]
    fn options_that_cannot_be_read_are_refused() {
        for query in ["tailLines=", "limitBytes=a", "sinceSeconds=1s", "sinceTime=yesterday"] {
            assert_eq!(LogOptions::parse(&Query::parse(query), "web").unwrap_err().code, 400, "{query}");
        }
    }
}
