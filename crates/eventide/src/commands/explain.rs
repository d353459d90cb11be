//! `eventide explain`: how pods will end, before they run.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use lifecycle::exit_order::Reserve;
use lifecycle::findings::{self, Severity, Subject};
use lifecycle::forecast::{Assumptions, forecast};
use lifecycle::grace::{self, Asked};
use lifecycle::termination::{Plan, PlanSettings};
use model::field::Path;
use model::gates::FeatureGates;
use model::manifest::Document;
use report::explain::{Explanation, Width, to_json, to_svg, to_text};

use crate::cli::Global;
use crate::failure::{Failure, YELLOW};
use crate::manifest_file;

mod admitted;

use admitted::Admitted;

/// Show how pods will end: order, hooks, signals, deadlines, and what may go wrong
///
/// Reads Pods and the pod templates of Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs and CronJobs; several
/// documents per file, YAML or JSON.
///
/// Examples:
///
///   eventide explain -f examples/sidecar.yaml
///
///   eventide explain -f app.yaml --grace 10 --assume exits,web=5s,web.hook=2s
///
///   helm template . | eventide explain -f - --fail-on warning
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// A manifest; - reads standard input; may be given several times
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Plan for a delete with this grace period instead of the pod's own
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    grace: Option<i64>,
    /// What containers and hooks do: exits, hangs, or NAME=DURATION and NAME.hook=DURATION, separated by commas
    #[arg(long, default_value = "hangs", value_name = "WHAT")]
    assume: String,
    /// Exit with 1 if there is a finding this bad or worse
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// In which form
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    Info,
    Warning,
    Error,
}

impl FailOn {
    const fn severity(self) -> Severity {
        match self {
            FailOn::Info => Severity::Info,
            FailOn::Warning => Severity::Warning,
            FailOn::Error => Severity::Error,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
    Svg,
}

/// Explains every pod of every file, or refuses them all.
pub fn run(arguments: &Arguments, global: &Global) -> anyhow::Result<ExitCode> {
    let assumptions = Assumptions::parse(&arguments.assume).map_err(|error| refused(&format!("--assume: {error}")))?;
    let admitted = admit(&arguments.files, global.feature_gates)?;
    check_assumed_names(&assumptions, &admitted)?;
    let explanations: Vec<Explanation> =
        admitted.iter().map(|pod| explain(pod, arguments, &assumptions, global.feature_gates)).collect();
    print(&explanations, arguments.output)?;
    let worst = explanations.iter().flat_map(|explanation| &explanation.findings).map(|finding| finding.severity).max();
    let failed = arguments.fail_on.is_some_and(|fail_on| worst >= Some(fail_on.severity()));
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Reads, defaults and validates everything; every mistake in every file is reported together.
fn admit(files: &[String], gates: FeatureGates) -> anyhow::Result<Vec<Admitted>> {
    let mut mistakes = String::new();
    let mut admitted = vec![];
    for file in files {
        let documents = match manifest_file::read(file) {
            Ok(documents) => documents,
            Err(error) => {
                let _ = writeln!(mistakes, "{error}");
                continue;
            }
        };
        tracing::debug!(file, documents = documents.len(), "manifest read");
        for document in documents {
            let title = title(&document);
            match Admitted::new(document, gates) {
                Ok(pod) => admitted.push(pod),
                Err(errors) => {
                    for error in &errors {
                        let _ = writeln!(mistakes, "{}: {title}: {error}", manifest_file::name(file));
                    }
                }
            }
        }
    }
    if mistakes.is_empty() { Ok(admitted) } else { Err(refused(mistakes.trim_end())) }
}

fn title(document: &Document) -> String {
    format!("{} {:?}", document.kind, document.name.as_deref().unwrap_or(""))
}

fn refused(message: &str) -> anyhow::Error {
    Failure::Refused(message.to_owned()).into()
}

fn check_assumed_names(assumptions: &Assumptions, admitted: &[Admitted]) -> anyhow::Result<()> {
    let specs = admitted.iter().filter_map(|pod| pod.pod.spec.as_ref());
    let mut names: Vec<&str> = vec![];
    for spec in specs {
        names.extend(spec.init_containers.iter().flatten().map(|container| container.name.as_str()));
        names.extend(spec.containers.iter().map(|container| container.name.as_str()));
        names.extend(spec.ephemeral_containers.iter().flatten().map(|container| container.name.as_str()));
    }
    assumptions.check_names(&names).map_err(|error| refused(&format!("--assume: {error}")))
}

fn explain(admitted: &Admitted, arguments: &Arguments, assumptions: &Assumptions, gates: FeatureGates) -> Explanation {
    for warning in &admitted.warnings {
        anstream::eprintln!("{}warning:{} {warning}", YELLOW.render(), YELLOW.render_reset());
    }
    let pod = &admitted.pod;
    let spec = pod.spec.as_ref();
    let plan = Plan::of_pod(pod, PlanSettings { gates, ..PlanSettings::default() });
    let spec_seconds = spec.and_then(|spec| spec.termination_grace_period_seconds);
    let asked = Asked { deletion_seconds: arguments.grace, spec_seconds, ..Asked::default() };
    let root = Path::root();
    let path = if admitted.path.is_empty() { root } else { root.child(admitted.path) };
    let findings = spec.map_or_else(Vec::new, |spec| {
        findings::of_pod(&Subject {
            metadata: Some(&pod.metadata),
            spec,
            workload: admitted.workload,
            path,
            gates,
            reserve: Reserve::default(),
            grace_seconds: arguments.grace,
        })
    });
    Explanation {
        kind: admitted.kind,
        namespace: admitted.namespace.clone(),
        name: admitted.name.clone(),
        assumed: arguments.assume.clone(),
        forecast: forecast(&plan, grace::of_pod(None, asked).grace(), assumptions),
        findings,
    }
}

fn print(explanations: &[Explanation], output: Output) -> anyhow::Result<()> {
    match output {
        Output::Text => {
            let width = Width::columns(terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0)));
            let texts: Vec<String> = explanations.iter().map(|explanation| to_text(explanation, width)).collect();
            anstream::stdout().lock().write_all(texts.join("\n\n").as_bytes())?;
        }
        Output::Json => writeln!(std::io::stdout(), "{:#}", to_json(explanations))?,
        Output::Svg => std::io::stdout().write_all(to_svg(explanations).as_bytes())?,
    }
    Ok(())
}
