//! Whatever a client claims to be, the answer is a user or a refusal, never a panic.

use apiserver::authenticate::{self, Credentials};
use apiserver::tokens::{Directory, MAX_TOKEN_BYTES, PodRecord, Record, Verifier, VerifyError, read_unverified};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use proptest::prelude::*;

const ISSUER: &str = "https://issuer.example";

/// Everything exists with an empty UID: nothing but the signature keeps a forged token out.
struct Everything;

impl Directory for Everything {
    fn service_account(&self, _: &str, _: &str) -> Option<Record> {
        Some(Record::default())
    }

    fn secret(&self, _: &str, _: &str) -> Option<Record> {
        Some(Record::default())
    }

    fn pod(&self, _: &str, _: &str) -> Option<PodRecord> {
        Some(PodRecord::default())
    }

    fn node(&self, _: &str) -> Option<Record> {
        Some(Record::default())
    }
}

fn verifier() -> Verifier {
    let directory = tempfile::tempdir().expect("a directory");
    let key = apiserver::certificates::load_or_create_signing_key(directory.path()).expect("a key");
    Verifier::new(ISSUER.to_owned(), vec!["api".to_owned()], vec![key.verifying_key().clone()])
}

/// Three segments that look like a token, each part sound or not.
fn any_token() -> impl Strategy<Value = Vec<u8>> {
    let header = prop_oneof![
        Just(r#"{"alg":"ES256"}"#.to_owned()),
        Just(r#"{"alg":"none"}"#.to_owned()),
        "\\{\"alg\":\"ES256\",\"kid\":\"[a-z]{0,3}\"\\}",
        ".{0,20}",
    ];
    let number = prop_oneof!["-?[0-9]{1,22}", "-?[0-9]{1,3}e[0-9]{1,3}", "null", "\"x\""];
    let claims = (number.clone(), number, "\"[a-z]{0,3}\"|\\[\"api\"\\]|1").prop_map(|(exp, iat, aud)| {
        format!(
            r#"{{"iss":"{ISSUER}","sub":"s","aud":{aud},"exp":{exp},"iat":{iat},"nbf":0,
            "kubernetes.io":{{"namespace":"n","serviceaccount":{{"name":"a"}}}}}}"#
        )
    });
    let payload = prop_oneof![claims, ".{0,40}", "\\[{0,300}"];
    let signature = prop::collection::vec(any::<u8>(), 0..70);
    (header, payload, signature).prop_map(|(header, payload, signature)| {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (header, payload) = (encode(header.as_bytes()), encode(payload.as_bytes()));
        format!("{header}.{payload}.{}", encode(&signature)).into_bytes()
    })
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![any_token(), prop::collection::vec(any::<u8>(), 0..200), "[A-Za-z0-9._=-]{0,200}".prop_map(Into::into)]
}

proptest! {
    #[test]
    fn no_bytes_that_we_did_not_sign_make_a_user(bytes in any_bytes(), seconds in 0_i64..4_000_000_000) {
        let now = Timestamp::from_second(seconds).expect("a time");
        let header = [b"Bearer ", bytes.as_slice()].concat();
        let credentials = Credentials { certificate: None, authorization: Some(&header) };
        let found = authenticate::authenticate(credentials, &verifier(), &Everything, now);
        prop_assert!(!matches!(found, Ok(Some(_))), "{found:?}");
        prop_assert!(verifier().verify(&bytes, &Everything, now).is_err());
    }

    #[test]
    fn reading_without_believing_never_panics(bytes in any_bytes()) {
        if let Ok(read) = read_unverified(&bytes) {
            prop_assert_eq!(read.claims.iss, ISSUER);
        }
    }

    #[test]
    fn a_certificate_of_any_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(authenticate::Certified::read(&bytes).user_at(Timestamp::UNIX_EPOCH).is_err());
    }

    #[test]
    fn what_is_too_long_is_refused_by_its_length(extra in 1_usize..100) {
        let token = vec![b'a'; MAX_TOKEN_BYTES + extra];
        prop_assert_eq!(read_unverified(&token), Err(VerifyError::TooLong));
    }
}
