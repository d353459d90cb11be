//! What only the embedded store promises, seen from inside.
