//! From a manifest to its plan and forecast, part by part, for an ordinary pod and for one of 10,000 containers.

use bench::pods::{ORDINARY, annotation, decode, large};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use k8s_openapi::api::core::v1::Pod;
use lifecycle::exit_order::annotation::parse;
use lifecycle::forecast::{Assumptions, Forecast, forecast};
use lifecycle::grace::Grace;
use lifecycle::termination::{Plan, PlanSettings};
use model::defaults::default_pod;
use model::gates::FeatureGates;
use model::manifest::{Limits, read};
use model::prepare::prepare_for_create;
use model::validation::validate_pod;

const LARGE: usize = 10_000;

fn main() {
    divan::main();
}

/// The pod as admission would have it.
fn admitted(text: &str) -> Box<Pod> {
    let mut pod = decode(text);
    default_pod(&mut pod);
    prepare_for_create(&mut pod);
    pod
}

fn plan(pod: &Pod) -> Plan {
    Plan::of_pod(pod, PlanSettings::default())
}

fn foretell(plan: &Plan) -> Forecast {
    forecast(plan, Grace::from_seconds(600), &Assumptions::everything_hangs())
}

fn explain(text: &str) -> Forecast {
    let pod = admitted(text);
    let errors = validate_pod(&pod, FeatureGates::ALL_ON);
    assert!(errors.is_empty(), "{errors}");
    foretell(&plan(&pod))
}

mod ordinary {
    use super::{
        Bencher, BytesCount, FeatureGates, Forecast, ItemsCount, Limits, ORDINARY, admitted, annotation, explain,
        parse, read, validate_pod,
    };

    #[divan::bench]
    fn read_manifest(bencher: Bencher<'_, '_>) {
        bencher.counter(BytesCount::of_str(ORDINARY)).bench(|| read(ORDINARY.as_bytes(), &Limits::DEFAULT));
    }

    #[divan::bench]
    fn validate(bencher: Bencher<'_, '_>) {
        let pod = admitted(ORDINARY);
        bencher.bench(|| validate_pod(&pod, FeatureGates::ALL_ON));
    }

    #[divan::bench]
    fn whole() -> Forecast {
        explain(ORDINARY)
    }

    #[divan::bench(args = [2, 50, 5_000])]
    fn exit_priority(bencher: Bencher<'_, '_>, containers: usize) {
        let text = annotation(containers);
        bencher.counter(ItemsCount::new(containers)).bench(|| parse(&text));
    }
}

#[divan::bench_group(sample_count = 10, sample_size = 1)]
mod ten_thousand_containers {
    use super::{
        Bencher, BytesCount, FeatureGates, LARGE, Limits, admitted, decode, default_pod, explain, foretell, large,
        plan, prepare_for_create, read, validate_pod,
    };

    #[divan::bench]
    fn a_read_manifest(bencher: Bencher<'_, '_>) {
        let text = large(LARGE);
        bencher.counter(BytesCount::of_str(&text)).bench(|| read(text.as_bytes(), &Limits::DEFAULT));
    }

    #[divan::bench]
    fn b_fill_in(bencher: Bencher<'_, '_>) {
        let pod = decode(&large(LARGE));
        bencher.with_inputs(|| pod.clone()).bench_refs(|pod| {
            default_pod(pod);
            prepare_for_create(pod);
        });
    }

    #[divan::bench]
    fn c_validate(bencher: Bencher<'_, '_>) {
        let pod = admitted(&large(LARGE));
        bencher.bench(|| validate_pod(&pod, FeatureGates::ALL_ON));
    }

    #[divan::bench]
    fn d_plan(bencher: Bencher<'_, '_>) {
        let pod = admitted(&large(LARGE));
        bencher.bench(|| plan(&pod));
    }

    #[divan::bench]
    fn e_forecast(bencher: Bencher<'_, '_>) {
        let plan = plan(&admitted(&large(LARGE)));
        bencher.bench(|| foretell(&plan));
    }

    #[divan::bench]
    fn whole(bencher: Bencher<'_, '_>) {
        let text = large(LARGE);
        bencher.bench(|| explain(&text));
    }
}
