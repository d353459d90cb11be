//! Cells that several kinds show alike.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use model::selector::Labels;
use serde_json::Value;

/// How many of a list are shown before the rest is only counted.
const SHOWN_MAX: usize = 3;

/// The text, unless there is none.
pub fn or_none(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("<none>").to_owned()
}

/// Names and images of the containers in a template.
pub fn container_cells(template: Option<&PodTemplateSpec>) -> [Value; 2] {
    let containers = template.and_then(|template| template.spec.as_ref()).map_or(&[][..], |spec| &spec.containers);
    let names: Vec<_> = containers.iter().map(|container| container.name.as_str()).collect();
    let images: Vec<_> = containers.iter().map(|container| container.image.as_deref().unwrap_or_default()).collect();
    [names.join(",").into(), images.join(",").into()]
}

/// A selector as a query would have it.
pub fn selector_cell(selector: Option<&LabelSelector>) -> Value {
    match Labels::from_object(selector) {
        Ok(labels) => or_none(Some(&labels.to_string())).into(),
        Err(_) => "<error>".into(),
    }
}

/// Labels as a query for them would have it.
pub fn labels_cell(labels: Option<&BTreeMap<String, String>>) -> Value {
    let pairs: Vec<_> = labels.into_iter().flatten().map(|(key, value)| format!("{key}={value}")).collect();
    or_none(Some(&pairs.join(","))).into()
}

/// The first few of a list, and how many more there are. Nothing for an empty one.
pub fn some_of(list: &[String]) -> Option<String> {
    let shown = list.iter().take(SHOWN_MAX).map(String::as_str).collect::<Vec<_>>().join(",");
    match list.len() {
        0 => None,
        1..=SHOWN_MAX => Some(shown),
        count => Some(format!("{shown} + {} more...", count - SHOWN_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_lists_are_cut_after_three() {
        let list = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        let rows = [(0, None), (1, Some("0")), (3, Some("0,1,2")), (5, Some("0,1,2 + 2 more..."))];
        for (count, expected) in rows {
            assert_eq!(some_of(&list(count)).as_deref(), expected, "{count}");
        }
    }

    #[test]
    fn selectors_and_labels_are_shown_as_queries() {
        let selector = |value: Value| serde_json::from_value::<LabelSelector>(value).unwrap();
        assert_eq!(selector_cell(None), "<none>");
        assert_eq!(selector_cell(Some(&LabelSelector::default())), "<none>");
        let both = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]});
        assert_eq!(selector_cell(Some(&selector(both))), "a=b,c");
        let odd = json!({"matchExpressions": [{"key": "c", "operator": "Is"}]});
        assert_eq!(selector_cell(Some(&selector(odd))), "<error>");
        assert_eq!(labels_cell(None), "<none>");
        assert_eq!(labels_cell(Some(&BTreeMap::from([("a".to_owned(), "b".to_owned())]))), "a=b");
    }

    #[test]
    fn containers_are_shown_by_name_and_image() {
        let template = json!({"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b"}]}});
        let template: PodTemplateSpec = serde_json::from_value(template).unwrap();
        assert_eq!(container_cells(Some(&template)), [json!("a,b"), json!("x:1,")]);
        assert_eq!(container_cells(None), [json!(""), json!("")]);
    }
}
