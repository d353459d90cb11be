//! The table of every kind that has no columns of its own: name and age.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lifecycle::moment::Moment;

use super::{Column, Row, since};

pub const GENERIC_COLUMNS: &[Column] = &[Column::NAME, Column::AGE];

/// The row of any object.
pub fn generic_row(metadata: &ObjectMeta, now: Moment) -> Row {
    let name = metadata.name.clone().unwrap_or_default();
    Row::new(vec![name, since(metadata.creation_timestamp.as_ref(), now)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_object_shows_its_name_and_its_age() {
        let metadata = ObjectMeta {
            name: Some("a".to_owned()),
            creation_timestamp: Some(Moment::from_millis(0).whole_second()),
            ..ObjectMeta::default()
        };
        let row = generic_row(&metadata, Moment::from_millis(61_000));
        assert_eq!(row.cells, ["a", "61s"]);
        assert_eq!(generic_row(&ObjectMeta::default(), Moment::from_millis(0)).cells, ["", "<unknown>"]);
    }
}
