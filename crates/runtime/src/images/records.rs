//! Which images there are and how they are called; as one document on disk. Pure: whoever changes it saves it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ImageId;
use super::digest::Digest;
use super::reference::Reference;

/// One image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub id: ImageId,
    pub manifest: Digest,
    /// Chain ids, lowest first.
    pub layers: Vec<Digest>,
    pub tags: Vec<String>,
    pub digests: Vec<String>,
    pub size: u64,
}

/// All images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    images: BTreeMap<ImageId, Record>,
}

/// How a new image is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub tags: Vec<String>,
    pub digests: Vec<String>,
}

impl Records {
    pub fn get(&self, id: &ImageId) -> Option<&Record> {
        self.images.get(id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.images.values()
    }

    pub fn retain(&mut self, keep: impl FnMut(&ImageId, &mut Record) -> bool) {
        self.images.retain(keep);
    }

    /// Adds an image and its names. A tag belongs to one image only: it moves.
    pub fn add(&mut self, mut record: Record, names: Names) {
        for other in self.images.values_mut() {
            other.tags.retain(|tag| !names.tags.contains(tag));
        }
        if let Some(known) = self.images.remove(&record.id) {
            (record.tags, record.digests) = (known.tags, known.digests);
        }
        merge(&mut record.tags, names.tags);
        merge(&mut record.digests, names.digests);
        self.images.insert(record.id, record);
    }

    /// The image of a complete name.
    pub fn find(&self, reference: &Reference) -> Option<&Record> {
        match (reference.digest(), reference.tagged()) {
            (Some(digest), _) => {
                let name = reference.with_digest(digest);
                self.images.values().find(|record| record.digests.contains(&name))
            }
            (None, Some(tagged)) => self.images.values().find(|record| record.tags.contains(&tagged)),
            (None, None) => None,
        }
    }

    /// Takes a name from its image. The last name of a repository takes the repository's digests along, and the last
    /// name of all takes the image; whether anything changed.
    pub fn untag(&mut self, reference: &Reference) -> bool {
        let Some(id) = self.find(reference).map(|record| record.id) else { return false };
        let Some(record) = self.images.get_mut(&id) else { return false };
        match reference.digest() {
            Some(digest) => record.digests.retain(|name| *name != reference.with_digest(digest)),
            None => record.tags.retain(|name| Some(name) != reference.tagged().as_ref()),
        }
        let repository = reference.name();
        if !record.tags.iter().any(|tag| tag.starts_with(&format!("{repository}:"))) {
            record.digests.retain(|name| !name.starts_with(&format!("{repository}@")));
        }
        if record.tags.is_empty() && record.digests.is_empty() {
            self.images.remove(&id);
        }
        true
    }

    /// Forgets an image with all its names; whether it was there.
    pub fn forget(&mut self, id: &ImageId) -> bool {
        self.images.remove(id).is_some()
    }
}

fn merge(into: &mut Vec<String>, more: Vec<String>) {
    into.extend(more);
    into.sort();
    into.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(content: &str) -> Record {
        let id = ImageId::new(Digest::of(content.as_bytes()));
        let (layers, tags, digests) = (Vec::new(), Vec::new(), Vec::new());
        Record { id, manifest: Digest::of(b"m"), layers, tags, digests, size: 1 }
    }

    fn names(tags: &[&str], digests: &[String]) -> Names {
        Names { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), digests: digests.to_vec() }
    }

    fn found(records: &Records, name: &str) -> Option<ImageId> {
        records.find(&name.parse().unwrap()).map(|record| record.id)
    }

    #[test]
    fn a_tag_moves_and_the_digest_stays() {
        let (old, new) = (record("old"), record("new"));
        let (old_id, new_id) = (old.id, new.id);
        let by_digest = format!("docker.io/library/a@{}", Digest::of(b"1"));
        let mut records = Records::default();
        records.add(old, names(&["docker.io/library/a:1"], std::slice::from_ref(&by_digest)));
        records.add(new, names(&["docker.io/library/a:1"], &[]));
        assert_eq!(found(&records, "a:1"), Some(new_id));
        assert_eq!(found(&records, &by_digest), Some(old_id));
    }

    #[test]
    fn the_last_name_takes_the_image_along() {
        let image = record("x");
        let id = image.id;
        let by_digest = format!("docker.io/library/a@{}", Digest::of(b"1"));
        let mut records = Records::default();
        records.add(image, names(&["docker.io/library/a:1", "docker.io/library/a:2"], &[by_digest]));
        assert!(records.untag(&"a:1".parse().unwrap()));
        assert_eq!(records.get(&id).map(|record| record.digests.len()), Some(1));
        assert!(!records.untag(&"a:1".parse().unwrap()));
        assert!(records.untag(&"a:2".parse().unwrap()));
        assert_eq!(records.get(&id), None);
    }

    #[test]
    fn a_second_pull_adds_names_to_the_image() {
        let mut records = Records::default();
        records.add(record("x"), names(&["docker.io/library/a:1"], &[]));
        records.add(record("x"), names(&["docker.io/library/b:1"], &[]));
        assert_eq!(records.iter().map(|record| record.tags.len()).collect::<Vec<_>>(), [2]);
    }
}
