//! Names are taken before anything is made under them, so that of two equal requests one is refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::EngineError;

/// Who has which name.
#[derive(Clone, Default)]
pub struct Names(Arc<Mutex<HashMap<String, String>>>);

/// A name that was taken; given back unless it is kept.
pub struct Taken {
    names: Names,
    name: Option<String>,
}

impl Names {
    pub fn take(&self, name: &str, id: &str) -> Result<Taken, EngineError> {
        let mut all = self.all();
        if let Some(holder) = all.get(name) {
            return Err(EngineError::NameTaken { name: name.to_owned(), holder: holder.clone() });
        }
        all.insert(name.to_owned(), id.to_owned());
        Ok(Taken { names: self.clone(), name: Some(name.to_owned()) })
    }

    pub fn give_back(&self, name: &str) {
        self.all().remove(name);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    pub fn keep(mut self) {
        self.name = None;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            self.names.give_back(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_had_by_one_and_given_back_unless_it_is_kept() {
        let names = Names::default();
        let taken = names.take("web_0", "a").unwrap();
        let refused = names.take("web_0", "b").err().unwrap();
        assert_eq!(refused.to_string(), "the name \"web_0\" is reserved for \"a\"");
        drop(taken);
        names.take("web_0", "b").unwrap().keep();
        assert!(names.take("web_0", "c").is_err());
        names.give_back("web_0");
        assert!(names.take("web_0", "c").is_ok());
    }
}
