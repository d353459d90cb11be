//! Headers and what they lead to; the rows of `Accept` are those upstream's own negotiation was seen to choose.

use super::*;

const WHOLE: Option<Shape> = Some(Shape::Whole);
const TABLE: Option<Shape> = Some(Shape::Table(MetaVersion::V1));

fn shape(accept: &str, endpoint: Endpoint) -> Option<Shape> {
    output(accept, endpoint).ok().map(|output| output.shape)
}

#[test]
fn an_accept_header_chooses_what_upstream_would_choose_for_json() {
    let rows = [
        ("", WHOLE),
        ("*/*", WHOLE),
        ("*", WHOLE),
        ("application/*", WHOLE),
        ("application/json", WHOLE),
        ("application/json;q=0", WHOLE),
        ("text/html, */*;q=0.1", WHOLE),
        ("application/json;stream=watch", WHOLE),
        ("application/json;stream=other", None),
        ("application/json;sv=v2", None),
        ("json", None),
        ("APPLICATION/JSON", None),
        (" application / json ", WHOLE),
        ("application/json/x", None),
        (",,", None),
        (";;;", None),
        ("application/json;as", WHOLE),
        ("application/json;as=a=b", WHOLE),
        ("application/yaml", None),
    ];
    for (accept, expected) in rows {
        assert_eq!(shape(accept, Endpoint::Objects), expected, "{accept:?}");
    }
}

#[test]
fn tables_and_metadata_are_given_to_those_who_ask() {
    let list = Some(Shape::PartialObjectMetadataList(MetaVersion::V1));
    let rows = [
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
            TABLE,
        ),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Some(Shape::Table(MetaVersion::V1Beta1))),
        ("application/json;as=Table;v=v2;g=meta.k8s.io", None),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", WHOLE),
        (
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Some(Shape::PartialObjectMetadata(MetaVersion::V1)),
        ),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            list,
        ),
        ("*/*;as=Table;v=v1;g=meta.k8s.io", TABLE),
        ("application/json; as = Table ; v=v1;g=meta.k8s.io", TABLE),
        ("application/json;q=0.5, application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9", TABLE),
        ("*/*, application/json;q=0.1;as=Table;v=v1;g=meta.k8s.io", TABLE),
        ("application/json;q=x,application/json;as=Table;v=v1;g=meta.k8s.io;q=0.1", TABLE),
    ];
    for (accept, expected) in rows {
        assert_eq!(shape(accept, Endpoint::Objects), expected, "{accept:?}");
    }
    assert_eq!(shape("application/json;as=Table;v=v1;g=meta.k8s.io", Endpoint::Plain), None);
}

#[test]
fn protobuf_alone_is_refused_and_json_beside_it_is_chosen() {
    let refused = output("application/vnd.kubernetes.protobuf", Endpoint::Objects).map_err(Status::from).unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (406, "only the following media types are accepted: application/json")
    );
    assert_eq!(shape("application/vnd.kubernetes.protobuf,application/json", Endpoint::Objects), WHOLE);
}

#[test]
fn discovery_is_aggregated_for_those_who_ask() {
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    assert_eq!(shape(accept, Endpoint::Discovery), Some(Shape::AggregatedDiscovery));
    assert_eq!(shape(accept, Endpoint::Objects), WHOLE);
}

#[test]
fn an_answer_is_indented_on_request() {
    let pretty = output("application/json;sv=v1;pretty=1", Endpoint::Objects).unwrap();
    assert_eq!(pretty.layout, Layout::Pretty);
}

#[test]
fn bodies_are_json_or_yaml_and_json_when_nothing_is_said() {
    assert_eq!(body(""), Ok(BodyFormat::Json));
    assert_eq!(body("application/json; charset=utf-8"), Ok(BodyFormat::Json));
    assert_eq!(body("Application/YAML"), Ok(BodyFormat::Yaml));
    for unknown in ["application/cbor", "text/plain", ";", "application/x-www-form-urlencoded"] {
        assert_eq!(body(unknown), Err(NegotiateError::UnknownBody), "{unknown}");
    }
    assert_eq!(Status::from(NegotiateError::UnknownBody).code, 415);
}

#[test]
fn a_body_may_be_protobuf_but_a_patch_may_not() {
    let protobuf = "application/vnd.kubernetes.protobuf";
    assert_eq!((body(protobuf), patch(protobuf)), (Ok(BodyFormat::Protobuf), Err(NegotiateError::UnknownPatch)));
}

#[test]
fn there_are_three_kinds_of_patches() {
    assert_eq!(patch("application/json-patch+json"), Ok(PatchFormat::Json));
    assert_eq!(patch("application/merge-patch+json;charset=utf-8"), Ok(PatchFormat::Merge));
    assert_eq!(patch("application/strategic-merge-patch+json"), Ok(PatchFormat::StrategicMerge));
    for unknown in ["", "application/json", "application/apply-patch+yaml"] {
        assert_eq!(patch(unknown), Err(NegotiateError::UnknownPatch), "{unknown}");
    }
    assert_eq!(
        Status::from(NegotiateError::UnknownPatch).message,
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
    );
}

#[test]
fn gzip_is_used_where_the_client_names_it() {
    assert_eq!(encoding("gzip"), Encoding::Gzip);
    assert_eq!(encoding("deflate, gzip"), Encoding::Gzip);
    for without in ["", "deflate", "gzip;q=0", "identity"] {
        assert_eq!(encoding(without), Encoding::Identity, "{without}");
    }
}

#[test]
fn a_flood_of_clauses_is_cut_off() {
    let flood = "text/html,".repeat(MAX_CLAUSES) + "application/json";
    assert_eq!(output(&flood, Endpoint::Objects), Err(NegotiateError::NotAcceptable));
}
