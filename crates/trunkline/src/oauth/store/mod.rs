//! The stores that come with the library: one in memory, one in files.

mod file;
mod folder;
mod memory;
mod seal;
#[cfg(test)]
mod tests;

pub use file::FileStore;
pub use memory::MemoryStore;
