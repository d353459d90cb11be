//! Reading one object.

use super::attempt;
use super::shape;
use crate::answer::Answer;
use crate::api::{Api, stored};
use crate::call::Call;
use crate::negotiate::{Layout, Output, Shape};
use crate::options::{ResourceVersion, parse_get};
use crate::status::Status;

impl Api {
    /// Shows the object that a request names.
    pub async fn get(&self, call: &Call) -> Result<Answer, Status> {
        match parse_get(&call.query)?.version {
            ResourceVersion::Newest => self.catch_up().await?,
            ResourceVersion::Any => self.fresh()?,
            ResourceVersion::At(version) => self.not_older_than(version).await?,
        };
        let Some(item) = self.cache.shelf(stored(call.kind)).get(&call.place()) else {
            return Err(Status::not_found(call.kind.facts().named_resource(), call.name()));
        };
        if call.output == (Output { shape: Shape::Whole, layout: Layout::Compact }) && call.kind.stored_as().is_none() {
            return Ok(Answer::json(200, item.object()));
        }
        let current = attempt::decode(call.kind, &item)?;
        let served = match call.kind.stored_as() {
            None => item.object(),
            Some(_) => current.object.to_json().into(),
        };
        shape::answer(call, 200, &*current.object, served, (self.clock)())
    }
}
