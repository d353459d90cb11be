//! Settles one rank per regular container from the annotation and the containers' own variables.
//!
//! The annotation beats the variable. What must be refused is returned as errors, what is only odd as warnings: the
//! validating step denies on errors, the mutating step runs before other injectors and overlooks names it does not
//! know yet.

use std::collections::{BTreeMap, HashSet};

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec};
use thiserror::Error;

use super::annotation::{self, AnnotationError, RankTextError};
use super::{EFFECTIVE_ANNOTATION, PRIORITY_ANNOTATION, PRIORITY_ENV};

/// The rank of every regular container that has one; all others are 0. Lower ranks exit first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks(BTreeMap<String, i32>);

impl Ranks {
    pub fn of(&self, container: &str) -> i32 {
        self.0.get(container).copied().unwrap_or(0)
    }

    /// Whether nobody waits for anybody among `spec`'s regular containers.
    pub fn are_equal(&self, spec: &PodSpec) -> bool {
        let mut ranks = spec.containers.iter().map(|container| self.of(&container.name));
        let first = ranks.next();
        ranks.all(|rank| Some(rank) == first)
    }

    /// The canonical form that admission writes for nodes to read.
    pub fn to_annotation(&self) -> String {
        let map: serde_json::Map<String, serde_json::Value> =
            self.0.iter().map(|(name, rank)| (name.clone(), (*rank).into())).collect();
        serde_json::Value::Object(map).to_string()
    }
}

impl FromIterator<(String, i32)> for Ranks {
    fn from_iter<I: IntoIterator<Item = (String, i32)>>(entries: I) -> Self {
        Ranks(entries.into_iter().collect())
    }
}

/// Why a pod's ranks are denied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RankError {
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    #[error("{PRIORITY_ANNOTATION}: the pod has no container named {container:?}")]
    UnknownContainer { container: String },
    #[error(
        "{PRIORITY_ANNOTATION}: {container:?} is an init container: init containers have no rank; native sidecars \
         already end after all regular containers, in reverse order of declaration"
    )]
    InitContainer { container: String },
    #[error(
        "{PRIORITY_ANNOTATION}: {container:?} is an ephemeral container: it ends with the last rank and has none of its own"
    )]
    EphemeralContainer { container: String },
    #[error("{PRIORITY_ENV} of container {container:?} is not an integer: {value:?}")]
    EnvNotAnInteger { container: String, value: String },
    #[error("{PRIORITY_ENV} of container {container:?} is outside -2147483648..2147483647: {value:?}")]
    EnvOutOfRange { container: String, value: String },
    #[error("{PRIORITY_ENV} of container {container:?} must be a literal value, not valueFrom")]
    EnvNotLiteral { container: String },
}

/// What is odd about a pod's ranks but not refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RankWarning {
    #[error("{PRIORITY_ANNOTATION} is empty and counts as absent")]
    EmptyAnnotation,
    #[error(
        "container {container:?}: the annotation gives rank {annotation}, {PRIORITY_ENV} gives {env}; the annotation counts"
    )]
    AnnotationBeatsEnv { container: String, annotation: i32, env: i32 },
    #[error("the settled ranks in {EFFECTIVE_ANNOTATION} cannot be read, so no container waits for another: {cause}")]
    UnreadableSettledRanks { cause: String },
}

/// A pod's ranks and everything worth saying about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    pub ranks: Ranks,
    pub errors: Vec<RankError>,
    pub warnings: Vec<RankWarning>,
}

/// Settles the ranks a pod's author gave. An erroneous entry has no effect beside its error.
pub fn settle(pod: &Pod) -> Settled {
    let Some(spec) = &pod.spec else { return Settled::default() };
    let mut settled = Settled::default();
    let annotated = read_annotation(pod, &mut settled);
    refuse_foreign_names(spec, &annotated, &mut settled.errors);
    for container in &spec.containers {
        let from_env = read_env(container, &mut settled.errors);
        let rank = match (annotated.get(&container.name).copied(), from_env) {
            (Some(annotation), Some(env)) if annotation != env => {
                let container = container.name.clone();
                settled.warnings.push(RankWarning::AnnotationBeatsEnv { container, annotation, env });
                Some(annotation)
            }
            (annotation, env) => annotation.or(env),
        };
        if let Some(rank) = rank {
            settled.ranks.0.insert(container.name.clone(), rank);
        }
    }
    settled
}

/// The ranks a node follows: the settled ones if admission wrote them, else the author's own.
///
/// Ranks that cannot be read mean that nobody waits; the warnings say so.
pub fn on_node(pod: &Pod) -> (Ranks, Vec<RankWarning>) {
    let frozen = annotation_of(pod, EFFECTIVE_ANNOTATION);
    match frozen.map(annotation::parse) {
        Some(Ok(ranks)) => (Ranks(ranks), vec![]),
        Some(Err(error)) => {
            let cause = error.to_string();
            (Ranks::default(), vec![RankWarning::UnreadableSettledRanks { cause }])
        }
        None => {
            let settled = settle(pod);
            (settled.ranks, settled.warnings)
        }
    }
}

fn read_annotation(pod: &Pod, settled: &mut Settled) -> BTreeMap<String, i32> {
    match annotation_of(pod, PRIORITY_ANNOTATION) {
        None => BTreeMap::new(),
        Some("") => {
            settled.warnings.push(RankWarning::EmptyAnnotation);
            BTreeMap::new()
        }
        Some(text) => annotation::parse(text).unwrap_or_else(|error| {
            settled.errors.push(error.into());
            BTreeMap::new()
        }),
    }
}

fn annotation_of<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn refuse_foreign_names(spec: &PodSpec, annotated: &BTreeMap<String, i32>, errors: &mut Vec<RankError>) {
    let init: HashSet<&str> = spec.init_containers.iter().flatten().map(|c| c.name.as_str()).collect();
    let ephemeral: HashSet<&str> = spec.ephemeral_containers.iter().flatten().map(|c| c.name.as_str()).collect();
    let regular: HashSet<&str> = spec.containers.iter().map(|c| c.name.as_str()).collect();
    for name in annotated.keys().filter(|name| !regular.contains(name.as_str())) {
        let container = name.clone();
        errors.push(if init.contains(name.as_str()) {
            RankError::InitContainer { container }
        } else if ephemeral.contains(name.as_str()) {
            RankError::EphemeralContainer { container }
        } else {
            RankError::UnknownContainer { container }
        });
    }
}

/// The container's own rank; of several entries the last counts, as for variables in general.
fn read_env(container: &Container, errors: &mut Vec<RankError>) -> Option<i32> {
    let entry = container.env.as_deref()?.iter().rfind(|env| env.name == PRIORITY_ENV)?;
    match env_rank(&container.name, entry) {
        Ok(rank) => Some(rank),
        Err(error) => {
            errors.push(error);
            None
        }
    }
}

fn env_rank(container: &str, entry: &EnvVar) -> Result<i32, RankError> {
    let container = container.to_owned();
    if entry.value_from.is_some() {
        return Err(RankError::EnvNotLiteral { container });
    }
    let value = entry.value.clone().unwrap_or_default();
    annotation::parse_rank(&value).map_err(|error| match error {
        RankTextError::NotAnInteger => RankError::EnvNotAnInteger { container, value },
        RankTextError::OutOfRange => RankError::EnvOutOfRange { container, value },
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{EnvVarSource, EphemeralContainer};

    use super::*;

    fn container(name: &str, env: &[&str]) -> Container {
        let variable =
            |value: &&str| EnvVar { name: PRIORITY_ENV.into(), value: Some((*value).to_owned()), value_from: None };
        Container { name: name.into(), env: Some(env.iter().map(variable).collect()), ..Container::default() }
    }

    fn pod(annotation: Option<&str>, containers: Vec<Container>) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.annotations = annotation.map(|text| [(PRIORITY_ANNOTATION.to_owned(), text.to_owned())].into());
        pod.spec = Some(PodSpec { containers, ..PodSpec::default() });
        pod
    }

    /// R2
    #[test]
    fn an_empty_annotation_counts_as_absent_with_a_warning() {
        let settled = settle(&pod(Some(""), vec![container("a", &[])]));
        assert_eq!((settled.warnings, settled.errors), (vec![RankWarning::EmptyAnnotation], vec![]));
        assert_eq!(settle(&pod(Some("{}"), vec![container("a", &[])])), Settled::default());
    }

    /// E1, E3
    #[test]
    fn the_last_variable_of_a_container_counts() {
        let settled = settle(&pod(None, vec![container("a", &["1", "2"]), container("b", &["-7"])]));
        assert_eq!((settled.ranks.of("a"), settled.ranks.of("b"), settled.ranks.of("c")), (2, -7, 0));
        for bad in ["+1", " 1", "1 ", "01", "", "1.0"] {
            let settled = settle(&pod(None, vec![container("a", &[bad])]));
            assert!(matches!(settled.errors[..], [RankError::EnvNotAnInteger { .. }]), "{bad:?}");
        }
        let settled = settle(&pod(None, vec![container("a", &["2147483648"])]));
        assert!(matches!(settled.errors[..], [RankError::EnvOutOfRange { .. }]));
    }

    /// E2
    #[test]
    fn a_variable_from_elsewhere_is_denied() {
        let mut c = container("a", &["1"]);
        c.env.as_mut().unwrap()[0].value_from = Some(EnvVarSource::default());
        assert_eq!(settle(&pod(None, vec![c])).errors, [RankError::EnvNotLiteral { container: "a".into() }]);
    }

    /// E4
    #[test]
    fn the_annotation_beats_the_variable_with_a_warning() {
        let settled = settle(&pod(Some(r#"{"a":3}"#), vec![container("a", &["1"])]));
        assert_eq!(settled.ranks.of("a"), 3);
        assert_eq!(
            settled.warnings,
            [RankWarning::AnnotationBeatsEnv { container: "a".into(), annotation: 3, env: 1 }]
        );
        assert!(settle(&pod(Some(r#"{"a":1}"#), vec![container("a", &["1"])])).warnings.is_empty());
    }

    /// R6, R8
    #[test]
    fn names_that_are_not_regular_containers_are_denied() {
        let mut pod = pod(Some(r#"{"init":1,"debug":1,"nobody":1,"a":1}"#), vec![container("a", &[])]);
        let spec = pod.spec.as_mut().unwrap();
        spec.init_containers = Some(vec![container("init", &[])]);
        spec.ephemeral_containers = Some(vec![EphemeralContainer { name: "debug".into(), ..Default::default() }]);
        let settled = settle(&pod);
        assert_eq!(
            settled.errors,
            [
                RankError::EphemeralContainer { container: "debug".into() },
                RankError::InitContainer { container: "init".into() },
                RankError::UnknownContainer { container: "nobody".into() },
            ]
        );
        assert_eq!(settled.ranks.of("a"), 1);
    }

    /// E5, D-12
    #[test]
    fn a_node_reads_the_settled_ranks_and_lets_everyone_go_when_it_cannot() {
        let mut pod = pod(Some(r#"{"a":1}"#), vec![container("a", &[])]);
        let ranks: Ranks = [("b".to_owned(), 2), ("a".to_owned(), 9)].into_iter().collect();
        assert_eq!(ranks.to_annotation(), r#"{"a":9,"b":2}"#);
        pod.metadata.annotations.as_mut().unwrap().insert(EFFECTIVE_ANNOTATION.into(), ranks.to_annotation());
        assert_eq!(on_node(&pod), (ranks, vec![]));
        pod.metadata.annotations.as_mut().unwrap().insert(EFFECTIVE_ANNOTATION.into(), "{".into());
        let (none, warnings) = on_node(&pod);
        assert_eq!(none, Ranks::default());
        assert!(matches!(warnings[..], [RankWarning::UnreadableSettledRanks { .. }]));
    }

    /// N1
    #[test]
    fn equal_ranks_order_nobody() {
        let equal = pod(Some(r#"{"a":1,"b":1}"#), vec![container("a", &[]), container("b", &[])]);
        assert!(settle(&equal).ranks.are_equal(equal.spec.as_ref().unwrap()));
        let unequal = pod(Some(r#"{"a":1}"#), vec![container("a", &[]), container("b", &[])]);
        assert!(!settle(&unequal).ranks.are_equal(unequal.spec.as_ref().unwrap()));
    }
}
