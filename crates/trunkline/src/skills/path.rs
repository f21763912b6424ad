//! From what a skill calls one of its files to the file's URI.

/// The URI of `file` below `root`: a URI below it, or a path as a file system would resolve it. None where it leads out.
pub(super) fn within(root: &str, file: &str) -> Option<String> {
    let path = match file.strip_prefix(root) {
        Some(rest) => rest.strip_prefix('/')?,
        None if file.contains("://") || file.starts_with('/') => return None,
        None => file,
    };
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| format!("{root}/{}", parts.join("/")))
}
