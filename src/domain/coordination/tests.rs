//! Each transition by name, and the machine against a small model.
