//! etcd's messages and clients, made from `proto/etcd.proto` when building.

// Made by a program for all cases; not ours to tidy.
#![allow(clippy::all, clippy::pedantic, unused_qualifications, dead_code)]

tonic::include_proto!("etcdserverpb");
