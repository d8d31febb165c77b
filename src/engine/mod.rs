//! The tool shed: one execution, from what was asked to a whole answer. It resolves settings, renders prompts, admits, calls, retries and
//! validates. It must not know threads, histories, storage or callers' connections.

pub mod backend;
