//! Text that must not reach a log: it can be shown only on purpose.

use std::fmt;

/// A private key, a token, a file that holds one. Neither `Debug` nor anything else prints it; it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub const fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text, for the one place that must have it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_in_debug_output() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2".into()))), "Some([secret])");
    }
}
