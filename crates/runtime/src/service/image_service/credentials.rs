//! As whom an image is pulled: what a request says, in the order in which other runtimes read it.

use cri::v1::AuthConfig;
use tonic::Status;

use crate::images::reference::Reference;
use crate::images::registry::Credentials;

/// The credentials for the registry of an image. Those that name another server are not sent to this one.
pub fn of(auth: Option<&AuthConfig>, reference: &Reference) -> Result<Credentials, Status> {
    let Some(auth) = auth.filter(|auth| is_for(&auth.server_address, reference)) else {
        return Ok(Credentials::Anonymous);
    };
    if !auth.username.is_empty() {
        return Ok(Credentials::Basic { username: auth.username.clone(), password: auth.password.clone() });
    }
    if !auth.identity_token.is_empty() {
        return Ok(Credentials::IdentityToken(auth.identity_token.clone()));
    }
    if !auth.registry_token.is_empty() {
        return Ok(Credentials::RegistryToken(auth.registry_token.clone()));
    }
    if !auth.auth.is_empty() {
        return Credentials::from_base64(&auth.auth).map_err(|error| Status::invalid_argument(error.to_string()));
    }
    if !auth.password.is_empty() {
        return Err(Status::invalid_argument("the credentials have a password, but no user name"));
    }
    Ok(Credentials::Anonymous)
}

/// Whether a server's address, perhaps an URL, is that of the image's registry.
fn is_for(server: &str, reference: &Reference) -> bool {
    let server = server.split_once("://").map_or(server, |(_, rest)| rest);
    let host = server.split('/').next().unwrap_or_default();
    // The name of any image there says what the registry is called, whatever alias is used.
    let named = || format!("{host}/a/b").parse::<Reference>();
    host.is_empty() || host == reference.host() || named().is_ok_and(|named| named.registry() == reference.registry())
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    fn basic(username: &str, password: &str) -> Credentials {
        Credentials::Basic { username: username.into(), password: password.into() }
    }

    fn read(auth: &AuthConfig) -> Result<Credentials, Code> {
        of(Some(auth), &"registry.example:5000/a".parse().unwrap()).map_err(|status| status.code())
    }

    #[test]
    fn every_form_is_read() {
        let none = AuthConfig::default;
        let rows = [
            (none(), Ok(Credentials::Anonymous)),
            (AuthConfig { username: "me".into(), password: "x".into(), ..none() }, Ok(basic("me", "x"))),
            (AuthConfig { auth: "bWU6eA==".into(), ..none() }, Ok(basic("me", "x"))),
            (AuthConfig { identity_token: "i".into(), ..none() }, Ok(Credentials::IdentityToken("i".into()))),
            (AuthConfig { registry_token: "r".into(), ..none() }, Ok(Credentials::RegistryToken("r".into()))),
            (AuthConfig { auth: "!".into(), ..none() }, Err(Code::InvalidArgument)),
            (AuthConfig { password: "x".into(), ..none() }, Err(Code::InvalidArgument)),
        ];
        for (auth, wanted) in rows {
            assert_eq!(read(&auth), wanted, "{auth:?}");
        }
        assert_eq!(of(None, &"a".parse().unwrap()).unwrap(), Credentials::Anonymous);
    }

    #[test]
    fn credentials_go_to_the_server_that_they_name_alone() {
        let rows = [
            ("", "registry.example:5000/a", true),
            ("registry.example:5000", "registry.example:5000/a", true),
            ("https://registry.example:5000/v2/", "registry.example:5000/a", true),
            ("registry.example", "registry.example:5000/a", false),
            ("https://index.docker.io/v1/", "busybox", true),
            ("registry-1.docker.io", "busybox", true),
            ("https://evil.example", "busybox", false),
        ];
        for (server, image, sent) in rows {
            let auth = AuthConfig { username: "me".into(), server_address: server.into(), ..Default::default() };
            let read = of(Some(&auth), &image.parse().unwrap()).unwrap();
            assert_eq!(read != Credentials::Anonymous, sent, "{server} {image}");
        }
    }
}
