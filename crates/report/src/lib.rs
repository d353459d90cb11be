//! Plans, findings and records in the forms people and programs read.
