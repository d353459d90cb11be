//! Things by id, or by as much of an id as tells them apart.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::EngineError;

pub struct Shelf<T> {
    what: &'static str,
    things: RwLock<BTreeMap<String, Arc<T>>>,
}

impl<T> Shelf<T> {
    pub fn new(what: &'static str) -> Shelf<T> {
        Shelf { what, things: RwLock::default() }
    }

    pub fn put(&self, id: &str, thing: T) -> Arc<T> {
        let thing = Arc::new(thing);
        self.things.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), thing.clone());
        thing
    }

    pub fn remove(&self, id: &str) {
        self.things.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    pub fn find(&self, id: &str) -> Result<Arc<T>, EngineError> {
        let things = self.things.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(thing) = things.get(id) {
            return Ok(thing.clone());
        }
        let mut alike = things.range(id.to_owned()..).take_while(|(known, _)| known.starts_with(id));
        match (alike.next().filter(|_| !id.is_empty()), alike.next()) {
            (Some((_, thing)), None) => Ok(thing.clone()),
            (Some(_), Some(_)) => Err(EngineError::Ambiguous { what: self.what, id: id.to_owned() }),
            (None, _) => Err(EngineError::NotFound { what: self.what, id: id.to_owned() }),
        }
    }

    /// Like `find`, where nothing is an answer too.
    pub fn find_if_there(&self, id: &str) -> Result<Option<Arc<T>>, EngineError> {
        match self.find(id) {
            Ok(thing) => Ok(Some(thing)),
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn all(&self) -> Vec<Arc<T>> {
        self.things.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_shortened_as_long_as_it_means_one() {
        let shelf = Shelf::new("container");
        shelf.put("abc1", 1);
        shelf.put("abd2", 2);
        assert_eq!(*shelf.find("abc").unwrap(), 1);
        assert!(matches!(shelf.find("ab"), Err(EngineError::Ambiguous { .. })));
        for missing in ["", "x", "abc12"] {
            assert!(matches!(shelf.find(missing), Err(EngineError::NotFound { .. })), "{missing}");
        }
        shelf.remove("abc1");
        assert_eq!(*shelf.find("ab").unwrap(), 2);
    }
}
