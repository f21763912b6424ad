//! The directories of `--root`.

use std::path::{Path, PathBuf};

use trunkline::Root;

use crate::exit::{Failure, Outcome};

/// As roots, by their real paths.
pub(crate) fn of(dirs: &[PathBuf]) -> Outcome<Vec<Root>> {
    dirs.iter().map(|dir| root(dir)).collect()
}

fn root(dir: &Path) -> Outcome<Root> {
    let told = |why: String| Failure::usage(format!("--root {}: {why}", dir.display()));
    let path = dir.canonicalize().map_err(|error| told(error.to_string()))?;
    if !path.is_dir() {
        return Err(told("it is no directory".to_owned()));
    }
    let uri = reqwest::Url::from_file_path(&path).map_err(|()| told("it has no URI".to_owned()))?;
    let root = Root::new(uri.as_str().to_owned());
    Ok(match path.file_name() {
        Some(name) => root.named(name.to_string_lossy()),
        None => root,
    })
}
