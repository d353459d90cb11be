//! Signals by number and by name.

use super::{StopSignal, UnknownSignal};
use crate::v1::Signal;

#[test]
fn the_numbers_are_those_of_the_messages() {
    for signal in StopSignal::all() {
        let wire = Signal::try_from(signal.to_cri()).unwrap();
        let spelt = signal.name().replace('+', "PLUS").replace('-', "MINUS");
        assert_eq!(wire.as_str_name(), format!("SIGNAL_{spelt}"));
    }
    assert_eq!(StopSignal::all().count(), 65);
}

#[test]
fn a_signal_comes_back_from_its_number_and_from_its_name() {
    for signal in StopSignal::all() {
        assert_eq!(StopSignal::from_cri(signal.to_cri()), Ok(Some(signal)));
        assert_eq!(StopSignal::named(signal.name()), Some(signal));
    }
}

#[test]
fn zero_leaves_the_choice_to_the_runtime() {
    assert_eq!(StopSignal::from_cri(0), Ok(None));
}

#[test]
fn numbers_and_names_that_do_not_exist_are_refused() {
    for number in [-1, 66, 999, 256, 257, i32::MIN, i32::MAX] {
        assert_eq!(StopSignal::from_cri(number), Err(UnknownSignal { number }));
    }
    assert_eq!(
        UnknownSignal { number: 999 }.to_string(),
        "stop signal 999 is not one of the interface: its numbers are 0 to 65"
    );
    for name in ["", "TERM", "sigterm", "15", "SIGRTMIN+16", "SIGRTMAX-15", "SIGRTMIN+0", "SIGFOO"] {
        assert_eq!(StopSignal::named(name), None, "{name}");
    }
}

#[test]
fn both_names_of_one_signal_reach_the_same_linux_signal_and_stay_apart() {
    for (usual, other, number) in [("SIGCHLD", "SIGCLD", 17), ("SIGABRT", "SIGIOT", 6), ("SIGIO", "SIGPOLL", 29)] {
        let (usual, other) = (StopSignal::named(usual).unwrap(), StopSignal::named(other).unwrap());
        assert_eq!((usual.linux_number(), other.linux_number()), (number, number));
        assert_ne!(usual, other);
        assert_eq!(StopSignal::from_linux(number), Some(usual));
    }
}

#[test]
fn every_linux_signal_has_a_name_except_the_two_of_the_c_library() {
    let nameless: Vec<u8> = (0..=70).filter(|number| StopSignal::from_linux(*number).is_none()).collect();
    assert_eq!(nameless, [0, 32, 33, 65, 66, 67, 68, 69, 70]);
}
