//! Connections are reviewed like changes: webhooks see the options of an `exec`, `attach`, `portforward` or `proxy` as an
//! object, may refuse them, and may change them. Logs are only read, so nobody reviews them.

use serde_json::{Map, Value, json};

use super::ClientSide;
use crate::admission::{Body, Operation, Review};
use crate::api::Api;
use crate::call::Call;
use crate::kind::Subresource;
use crate::options::DryRun;
use crate::query::Query;
use crate::status::Status;

const SWITCHES: [&str; 4] = ["stdin", "stdout", "stderr", "tty"];

/// The options that a connection of this sort has: the name of their kind.
#[derive(Clone, Copy)]
enum Options {
    Stream(&'static str),
    Ports,
    Path(&'static str),
}

impl Options {
    fn of(call: &Call, subresource: Subresource) -> Option<Options> {
        match subresource {
            Subresource::Exec => Some(Options::Stream("PodExecOptions")),
            Subresource::Attach => Some(Options::Stream("PodAttachOptions")),
            Subresource::PortForward => Some(Options::Ports),
            Subresource::Proxy if call.kind.facts().resource == "nodes" => Some(Options::Path("NodeProxyOptions")),
            Subresource::Proxy => Some(Options::Path("PodProxyOptions")),
            Subresource::Log
            | Subresource::Part(_)
            | Subresource::Scale
            | Subresource::Binding
            | Subresource::Eviction
            | Subresource::Token => None,
        }
    }

    const fn kind(self) -> &'static str {
        match self {
            Options::Stream(kind) | Options::Path(kind) => kind,
            Options::Ports => "PodPortForwardOptions",
        }
    }
}

/// Asks the webhooks; what they change is what is passed on.
pub async fn admit(
    api: &Api,
    call: &mut Call,
    subresource: Subresource,
    client: &mut ClientSide,
) -> Result<Vec<String>, Status> {
    let Some(options) = Options::of(call, subresource) else { return Ok(Vec::new()) };
    let sent = to_value(options, &call.query, &client.rest);
    let body = Body { group: "", version: "v1", kind: options.kind(), value: sent.clone(), old: None };
    let review =
        Review { call: &*call, operation: Operation::Connect, subresource: Some(subresource), options: DryRun::No };
    let again = |value: &Value| Ok(value.clone());
    let (admitted, warnings) = api.admission.review_body(api, &review, body, &again).await?;
    if admitted != sent {
        take_over(options, &admitted, call, client);
    }
    Ok(warnings)
}

fn to_value(options: Options, query: &Query, rest: &[String]) -> Value {
    let mut fields = Map::new();
    fields.insert("kind".to_owned(), json!(options.kind()));
    fields.insert("apiVersion".to_owned(), json!("v1"));
    match options {
        Options::Stream(_) => {
            let on = SWITCHES.iter().filter(|name| query.switch(name) == Some(true));
            fields.extend(on.map(|name| ((*name).to_owned(), json!(true))));
            let container = query.first("container").filter(|name| !name.is_empty());
            fields.extend(container.map(|name| ("container".to_owned(), json!(name))));
            let command: Vec<&str> = query.all("command").collect();
            if !command.is_empty() {
                fields.insert("command".to_owned(), json!(command));
            }
        }
        Options::Ports => {
            // What is no number is refused later, when the connection is made.
            let ports = query.all("ports").flat_map(|ports| ports.split(','));
            let ports: Vec<i32> = ports.filter_map(|port| port.parse().ok()).collect();
            if !ports.is_empty() {
                fields.insert("ports".to_owned(), json!(ports));
            }
        }
        Options::Path(_) => {
            fields.insert("path".to_owned(), json!(format!("/{}", rest.join("/"))));
        }
    }
    Value::Object(fields)
}

fn take_over(options: Options, admitted: &Value, call: &mut Call, client: &mut ClientSide) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |name: &str| admitted[name].as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    match options {
        Options::Stream(_) => {
            let on = SWITCHES.into_iter().filter(|name| admitted[*name] == true).map(|name| (name, "true".to_owned()));
            let container = admitted["container"].as_str().map(|name| ("container", name.to_owned()));
            let command = list("command").into_iter().map(|argument| ("command", argument));
            call.query = Query::of(on.chain(container).chain(command));
        }
        Options::Ports => call.query = Query::of(list("ports").into_iter().map(|port| ("ports", port))),
        Options::Path(_) => {
            let path = admitted["path"].as_str().unwrap_or_default();
            client.rest = path.trim_start_matches('/').split('/').map(str::to_owned).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_an_exec_are_shown_as_upstream_shows_them() {
        let query = Query::parse("stdin=true&tty=0&stdout=1&container=main&command=sh&command=-c&command=a%20b");
        let shown = to_value(Options::Stream("PodExecOptions"), &query, &[]);
        let expected = json!({
            "kind": "PodExecOptions", "apiVersion": "v1", "stdin": true, "stdout": true, "container": "main",
            "command": ["sh", "-c", "a b"],
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn ports_are_numbers_and_paths_begin_at_the_root() {
        let ports = to_value(Options::Ports, &Query::parse("ports=80,443&ports=8080"), &[]);
        assert_eq!(ports["ports"], json!([80, 443, 8080]));
        let path = to_value(Options::Path("PodProxyOptions"), &Query::default(), &["a".to_owned(), "b".to_owned()]);
        assert_eq!(path["path"], "/a/b");
    }
}
