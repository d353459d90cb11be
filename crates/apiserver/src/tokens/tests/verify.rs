//! Which tokens are believed, and who they say someone is.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;
use crate::identity::extra;
use crate::tokens::{MAX_TOKEN_BYTES, VerifyError, discovery};

fn judged(spec: &Value, objects: &Objects, now: Timestamp) -> Result<crate::tokens::Accepted, VerifyError> {
    let issuer = issuer();
    let token = granted(&issuer, spec).token;
    verifier(&issuer).verify(token.expose().as_bytes(), objects, now)
}

#[test]
fn a_pods_token_makes_its_service_account_with_everything_known_about_it() {
    let issuer = issuer();
    let granted = granted(&issuer, &bound("Pod", "p1"));
    let accepted = verifier(&issuer).verify(granted.token.expose().as_bytes(), &objects(), later(10)).expect("good");
    let user = accepted.user;
    assert_eq!(user.name, "system:serviceaccount:prod:web");
    assert_eq!(user.uid, "sa-uid");
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:prod", "system:authenticated"]);
    let said = |key: &str| user.extra[key].join(",");
    assert_eq!(said(extra::POD_NAME), "p1");
    assert_eq!(said(extra::POD_UID), "pod-uid");
    assert_eq!(said(extra::NODE_NAME), "n1");
    assert_eq!(said(extra::NODE_UID), "node-uid");
    assert_eq!(said(extra::CREDENTIAL_ID), granted.credential_id);
    assert_eq!(accepted.audiences, ["api"]);
    assert_eq!(accepted.stale_seconds, None);
}

#[test]
fn time_is_judged_with_a_minute_of_leeway_on_both_sides() {
    for (now, expected) in
        [(-61, Some(VerifyError::NotYetValid)), (-60, None), (3660, None), (3661, Some(VerifyError::Expired))]
    {
        assert_eq!(judged(&json!({}), &objects(), later(now)).err(), expected, "at {now}");
    }
}

#[test]
fn an_extended_token_tells_how_stale_it_is() {
    let mut spec = bound("Pod", "p1");
    spec["expirationSeconds"] = json!(3607);
    let accepted = judged(&spec, &objects(), later(4607)).expect("still good");
    assert_eq!(accepted.stale_seconds, Some(1000));
}

#[test]
fn a_token_of_another_audience_is_refused_here_and_accepted_there() {
    let issuer = issuer();
    let token = granted(&issuer, &json!({"audiences": ["vault", "db"]})).token;
    let (token, verifier) = (token.expose().as_bytes(), verifier(&issuer));
    let refused = verifier.verify(token, &objects(), later(1)).expect_err("refused");
    let message = "token audiences [\"vault\" \"db\"] is invalid for the target audiences [\"api\"]";
    assert_eq!(refused.to_string(), message);
    let asked = ["x".to_owned(), "db".to_owned()];
    assert_eq!(verifier.verify_for(token, &asked, &objects(), later(1)).expect("good").audiences, ["db"]);
}

#[test]
fn a_token_dies_with_what_it_is_bound_to() {
    type Change = fn(&mut Objects);
    let cases: [(Value, Change, &str); 8] = [
        (json!({}), |all| all.accounts.clear(), "serviceaccounts \"web\" not found"),
        (
            json!({}),
            |all| drop(all.accounts.insert("prod/web".into(), record("new"))),
            "service account UID (new) does not match claim (sa-uid)",
        ),
        (bound("Pod", "p1"), |all| all.pods.clear(), "service account token has been invalidated"),
        (
            bound("Pod", "p1"),
            |all| drop(all.pods.insert("prod/p1".into(), pod("new", "web", "n1"))),
            "pod UID (new) does not match service account pod ref claim (pod-uid)",
        ),
        (bound("Secret", "s1"), |all| all.secrets.clear(), "service account token has been invalidated"),
        (
            bound("Secret", "s1"),
            |all| drop(all.secrets.insert("prod/s1".into(), record("new"))),
            "secret UID (new) does not match service account secret ref claim (secret-uid)",
        ),
        (bound("Node", "n1"), |all| all.nodes.clear(), "service account token has been invalidated"),
        (
            bound("Node", "n1"),
            |all| drop(all.nodes.insert("n1".into(), record("new"))),
            "node UID (new) does not match service account node ref claim (node-uid)",
        ),
    ];
    for (spec, change, message) in cases {
        let mut objects = objects();
        assert!(judged(&spec, &objects, later(1)).is_ok());
        change(&mut objects);
        assert_eq!(judged(&spec, &objects, later(1)).expect_err("refused").to_string(), message);
    }
    let mut without_node = objects();
    without_node.nodes.clear();
    assert!(judged(&bound("Pod", "p1"), &without_node, later(1)).is_ok(), "a pod's token outlives the node object");
}

#[test]
fn something_being_deleted_counts_for_a_minute_after_its_end() {
    let mut objects = objects();
    objects.pods.get_mut("prod/p1").expect("a pod").record.deletion = Some(later(100));
    assert!(judged(&bound("Pod", "p1"), &objects, later(160)).is_ok());
    assert_eq!(judged(&bound("Pod", "p1"), &objects, later(161)), Err(VerifyError::Invalidated));
    objects.accounts.get_mut("prod/web").expect("an account").deletion = Some(later(100));
    let refused = judged(&bound("Pod", "p1"), &objects, later(161)).expect_err("refused");
    assert_eq!(refused.to_string(), "service account prod/web has been deleted");
}

/// A token whose header and claims were changed after signing, or that was signed by someone else.
fn forged(token: &str, header: Option<Value>, change: impl Fn(&mut Value)) -> Vec<u8> {
    let parts: Vec<&str> = token.split('.').collect();
    let read =
        |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON") };
    let mut claims = read(parts[1]);
    change(&mut claims);
    let header = header.unwrap_or_else(|| read(parts[0]));
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{}", encode(&header), encode(&claims), parts[2]).into_bytes()
}

#[test]
fn whatever_was_not_signed_by_us_is_refused() {
    let issuer = issuer();
    let token = granted(&issuer, &json!({})).token;
    let (token, verifier) = (token.expose(), verifier(&issuer));
    let refuse = |token: &[u8]| verifier.verify(token, &objects(), later(1)).expect_err("refused");
    let same = |_: &mut Value| {};
    let kid = issuer.key.verifying_key().id();

    let escalated = forged(token, None, |claims| claims["sub"] = json!("system:serviceaccount:kube-system:admin"));
    assert_eq!(refuse(&escalated), VerifyError::BadSignature);
    for alg in ["none", "HS256", "RS256", "ES384", "es256", ""] {
        let header = json!({"alg": alg, "kid": kid});
        assert_eq!(refuse(&forged(token, Some(header), same)), VerifyError::WrongAlgorithm, "{alg}");
    }
    let critical = json!({"alg": "ES256", "kid": kid, "crit": ["exp"]});
    assert_eq!(refuse(&forged(token, Some(critical), same)), VerifyError::WrongAlgorithm);
    let unknown = json!({"alg": "ES256", "kid": "someone"});
    assert_eq!(refuse(&forged(token, Some(unknown), same)), VerifyError::UnknownKey);
    let nameless = json!({"alg": "ES256"});
    assert_eq!(refuse(&forged(token, Some(nameless), same)), VerifyError::BadSignature, "the header is signed too");
    let foreign = forged(token, None, |claims| claims["iss"] = json!("https://elsewhere.example"));
    assert_eq!(refuse(&foreign), VerifyError::ForeignIssuer);

    let unsigned = &token[..=token.rfind('.').expect("a dot")];
    assert_eq!(refuse(unsigned.as_bytes()), VerifyError::BadSignature);
    let other = self::issuer();
    let theirs = granted(&other, &json!({})).token;
    assert_eq!(refuse(theirs.expose().as_bytes()), VerifyError::UnknownKey);
}

#[test]
fn garbage_is_refused_and_what_is_too_long_is_not_even_read() {
    let issuer = issuer();
    let token = granted(&issuer, &json!({})).token;
    let (token, verifier) = (token.expose(), verifier(&issuer));
    let refuse = |token: &[u8]| verifier.verify(token, &objects(), later(1)).expect_err("refused");
    let padded = format!("{token}=");
    let garbage: [&[u8]; 9] =
        [b"", b".", b"..", b"...", b"a.b.c", b"\xff.\xff.\xff", b"e30.e30", padded.as_bytes(), b"{\"payload\":\"\"}"];
    for garbage in garbage {
        assert_eq!(refuse(garbage), VerifyError::Malformed, "{garbage:?}");
    }
    assert_eq!(refuse(b"e30.e30.e30"), VerifyError::ForeignIssuer);
    let more = format!("{token}.{token}");
    assert_eq!(refuse(more.as_bytes()), VerifyError::Malformed);
    let longest = "a".repeat(MAX_TOKEN_BYTES);
    assert_eq!(refuse(longest.as_bytes()), VerifyError::Malformed);
    assert_eq!(refuse(format!("{longest}a").as_bytes()), VerifyError::TooLong);
}

#[test]
fn a_signed_token_with_a_bond_that_is_not_understood_is_refused() {
    let issuer = issuer();
    let sign = |claims: &Value| {
        let header = json!({"alg": "ES256", "kid": issuer.key.verifying_key().id()});
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let signed = format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
        let signature = issuer.key.sign(signed.as_bytes()).expect("signed");
        format!("{signed}.{}", encode(&signature)).into_bytes()
    };
    let mut said = claims(&granted(&issuer, &json!({})));
    let verifier = verifier(&issuer);
    assert!(verifier.verify(&sign(&said), &objects(), later(1)).is_ok());
    said["aud"] = json!("api");
    said["exp"] = json!(1_800_000_100.9);
    assert!(verifier.verify(&sign(&said), &objects(), later(1)).is_ok(), "a single audience, a fraction of a second");
    said["kubernetes.io"]["validatingwebhookconfiguration"] = json!({"name": "w", "uid": "u"});
    assert_eq!(verifier.verify(&sign(&said), &objects(), later(1)), Err(VerifyError::Malformed));
    said["kubernetes.io"] = json!({"namespace": "prod", "serviceaccount": {"name": "web", "uid": "sa-uid"}});
    said["exp"] = Value::Null;
    assert_eq!(verifier.verify(&sign(&said), &objects(), later(1)), Err(VerifyError::Malformed), "without an end");
}

#[test]
fn others_find_our_key_in_the_discovery_documents() {
    let issuer = issuer();
    let url = format!("https://api.example:6443{}", discovery::KEYS_PATH);
    let configuration: Value = serde_json::from_slice(&discovery::configuration(ISSUER, &url)).expect("JSON");
    assert_eq!(configuration["issuer"], ISSUER);
    assert_eq!(configuration["jwks_uri"], url);
    assert_eq!(configuration["id_token_signing_alg_values_supported"], json!(["ES256"]));

    let keys: Value = serde_json::from_slice(&discovery::keys(&[issuer.key.verifying_key().clone()])).expect("JSON");
    let key = &keys["keys"][0];
    assert_eq!((&key["kty"], &key["crv"], &key["use"]), (&json!("EC"), &json!("P-256"), &json!("sig")));
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().expect("text")).expect("base64");
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let token = granted(&issuer, &json!({})).token;
    let (signed, signature) = token.expose().rsplit_once('.').expect("a signature");
    let header: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split('.').next().expect("a header")).expect("base64"))
            .expect("JSON");
    assert_eq!(header["kid"], key["kid"]);
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, point);
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    assert!(public.verify(signed.as_bytes(), &signature).is_ok());
}
