//! Documents of threads: written, read as of any point, carried by forks, and each branch's own.

mod carried;
mod compared;
mod kept;
mod streams;
mod turns;
mod writes;
