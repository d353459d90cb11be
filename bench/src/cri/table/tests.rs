//! Figures become rows.

use super::*;
use crate::cri::memory::Helpers;

fn column(name: &str, millis: &[u64]) -> Column {
    let mut column = Column { name: name.to_owned(), ..Column::default() };
    for millis in millis {
        column.samples.add(Operation::StopContainer, Duration::from_millis(*millis));
    }
    column
}

#[test]
fn a_row_tells_median_and_both_tenths_and_the_last_against_the_first() {
    let hundred: Vec<u64> = (0..=100).collect();
    let mut columns = [column("a", &hundred), column("b", &[500]), column("c", &[5, 5, 5])];
    let table = durations(&mut columns);
    let expected = "| ms: median / p10 / p90 | a | b | c | c : a |\n| --- | --- | --- | --- | --- |\n\
        | StopContainer(30), exits at once | 50.0 / 10.0 / 90.0 | 500 / 500 / 500 | 5.00 / 5.00 / 5.00 | 0.100 |\n";
    assert_eq!(table, expected);
}

#[test]
fn one_runtime_is_compared_with_none() {
    let table = durations(&mut [column("a", &[7])]);
    let expected = "| ms: median / p10 / p90 | a |\n| --- | --- |\n\
        | StopContainer(30), exits at once | 7.00 / 7.00 / 7.00 |\n";
    assert_eq!(table, expected);
}

#[test]
fn what_was_not_measured_leaves_its_cell_empty_and_has_no_ratio() {
    let table = durations(&mut [column("a", &[7]), column("b", &[])]);
    assert!(table.ends_with("| 7.00 / 7.00 / 7.00 |  | – |\n"), "{table}");
}

#[test]
fn rows_stand_in_the_order_of_a_life_and_batches_by_their_size() {
    let mut samples = Samples::default();
    let given = [Operation::StopAtOnce(100), Operation::WholeEnd, Operation::StopAtOnce(20), Operation::Floor];
    for operation in given {
        samples.add(operation, Duration::from_millis(1));
    }
    let table = durations(&mut [Column { samples, ..Column::default() }]);
    let at = |text: &str| table.find(text).unwrap_or_else(|| panic!("{text} in {table}"));
    assert!(at("the floor") < at("stop + remove") && at("stop + remove") < at("| 20 Stop"));
    assert!(at("| 20 Stop") < at("| 100 Stop"));
}

#[test]
fn memory_of_helpers_is_shared_among_the_pods() {
    let together = Memory { resident: 100.0, proportional: 40.0, private_dirty: 20.0 };
    let footprint =
        Footprint { daemon: Memory { resident: 250.0, ..Memory::default() }, helpers: Helpers { count: 20, together } };
    let idle = Memory { resident: 12.5, ..Memory::default() };
    let table = memory(&[Column { name: "a".into(), idle, loaded: Some((10, footprint)), ..Column::default() }]);
    let expected = "| MiB | a |\n| --- | --- |\n| daemon RSS, idle | 12.5 |\n| daemon RSS, 10 pods | 250 |\n\
        | helper processes per pod (not MiB) | 2.00 |\n| helpers per pod, RSS | 10.0 |\n\
        | helpers per pod, PSS | 4.00 |\n| helpers per pod, private dirty | 2.00 |\n";
    assert_eq!(table, expected);
}

#[tokio::test]
async fn a_call_that_fails_says_which_it_was() {
    let failed = Samples::default().timed(Operation::ExecSync, async { Err::<(), _>(anyhow::anyhow!("no")) }).await;
    assert_eq!(format!("{:#}", failed.unwrap_err()), "ExecSync(true): no");
}
