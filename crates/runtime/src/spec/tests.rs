//! A container of every kind of request.
