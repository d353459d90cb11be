//! Fuzz targets as plain functions, so that tests and libFuzzer run the same code.
