//! Text that must fit.

/// The text, or as much of it as fits with an ellipsis at its end.
pub fn clipped(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_left_alone_and_the_rest_is_cut() {
        assert_eq!([clipped("wörter", 6), clipped("wörter", 5), clipped("wörter", 0)], ["wörter", "wört…", "…"]);
    }
}
