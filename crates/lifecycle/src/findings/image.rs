//! What an image's name tells: what is in it, and whether a shell is.

/// An image's name, taken apart without judging it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image<'a> {
    /// Registry and path, without tag and digest.
    pub(super) path: &'a str,
    /// The last part of the path, by which people know the image.
    pub(super) name: &'a str,
    /// Empty if there is none.
    pub(super) tag: &'a str,
}

impl<'a> Image<'a> {
    pub(super) fn of(reference: &'a str) -> Image<'a> {
        let tagged = reference.split_once('@').map_or(reference, |(tagged, _)| tagged);
        let last = tagged.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = tagged[last..].split_once(':').unwrap_or((&tagged[last..], ""));
        Image { path: &tagged[..last + name.len()], name, tag }
    }

    /// Whether the image is of a kind that ships no shell. Variants for debugging do ship one.
    pub(super) fn looks_shell_less(&self) -> bool {
        if self.tag.contains("debug") || self.tag == "dev" || self.tag.ends_with("-dev") {
            return false;
        }
        let bare = ["scratch", "static", "pause"].contains(&self.name) || self.name.starts_with("static-");
        bare || self.tag.contains("distroless") || self.path.contains("distroless") || self.path.contains("chainguard")
    }

    /// Whether the program inside is the Apache web server.
    pub(super) fn looks_like_apache(&self) -> bool {
        self.name == "httpd" || self.name.contains("apache") || self.tag.contains("apache")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_last_part_without_tag_and_digest() {
        let rows = [
            ("nginx", "nginx", "nginx", ""),
            ("nginx:1.27-alpine", "nginx", "nginx", "1.27-alpine"),
            ("registry:5000/web/nginx@sha256:00", "registry:5000/web/nginx", "nginx", ""),
            ("registry:5000/web/nginx:1@sha256:00", "registry:5000/web/nginx", "nginx", "1"),
            ("", "", "", ""),
            ("a/", "a/", "", ""),
            (":@/", "", "", ""),
        ];
        for (reference, path, name, tag) in rows {
            assert_eq!(Image::of(reference), Image { path, name, tag }, "{reference}");
        }
    }

    #[test]
    fn images_without_a_shell_are_known_by_their_name() {
        let bare = ["gcr.io/distroless/static-debian12", "cgr.dev/chainguard/nginx:latest", "envoy:distroless-v1.30"];
        assert!(bare.iter().all(|image| Image::of(image).looks_shell_less()));
        let with_shell = ["alpine", "gcr.io/distroless/base:debug", "cgr.dev/chainguard/node:latest-dev", "statics"];
        assert!(!with_shell.iter().any(|image| Image::of(image).looks_shell_less()));
    }
}
