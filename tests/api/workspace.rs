//! Documents of threads: written, read as of any point, carried by forks, and each branch's own.

mod compared;
mod streams;
mod turns;
mod writes;
