//! Files for what servers send. Their names are made of what a stranger wrote, so nothing but a plain name inside
//! the chosen directory comes out; nothing is replaced unasked and no link is followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exit::{Failure, Outcome};

/// The longest name, in bytes, that is given to a file.
const LONGEST: usize = 100;

/// Names that mean a device on Windows, in any case and with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// A plain file name for contents that came from `source` (a URI, a name): its last segment without anything that
/// could lead elsewhere, and an extension that fits the media type where there is none.
pub(crate) fn file_name(source: &str, mime_type: &str, fallback: &str) -> String {
    let path = source.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let last = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\', ':']).next().unwrap_or_default();
    let legal = |c: char| if c.is_alphanumeric() || "-_.+@ ".contains(c) { c } else { '_' };
    let mut name: String = last.chars().map(legal).collect();
    name = name.trim_matches(['.', ' ', '_']).to_owned();
    let mut end = name.len().min(LONGEST);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    if name.is_empty() {
        name = fallback.to_owned();
    }
    if is_device(&name) {
        name.insert(0, '_');
    }
    match extension(mime_type) {
        Some(extension) if !name.contains('.') => format!("{name}.{extension}"),
        _ => name,
    }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    DEVICES.iter().any(|device| match stem.strip_prefix(device) {
        Some("") => true,
        Some(rest) => matches!(*device, "com" | "lpt") && rest.chars().count() == 1,
        None => false,
    })
}

fn extension(mime_type: &str) -> Option<&'static str> {
    let kind = mime_type.split(';').next().unwrap_or_default().trim();
    Some(match kind {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "application/json" => "json",
        "text/plain" => "txt",
        "text/html" => "html",
        "text/markdown" => "md",
        "text/csv" => "csv",
        "application/octet-stream" | "" => "bin",
        _ => return None,
    })
}

/// Writes a new file in `dir` (made where it is missing); where the name is taken, `name-2`, `name-3`, ...
pub(crate) fn in_dir(dir: &Path, name: &str, bytes: &[u8]) -> Outcome<PathBuf> {
    fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    for n in 1..10_000 {
        let path = dir.join(if n == 1 { name.to_owned() } else { format!("{stem}-{n}{extension}") });
        match create(&path) {
            Ok(file) => return fill(file, &path, bytes),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, &error)),
        }
    }
    Err(Failure::usage(format!("There are too many files named {name} in {}", dir.display())))
}

/// Writes this very file; an existing one is replaced only with `force`.
pub(crate) fn to_file(path: &Path, bytes: &[u8], force: bool) -> Outcome<PathBuf> {
    match create(path) {
        Ok(file) => fill(file, path, bytes),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && force => {
            let temporary = path.with_extension(format!("{}.part", std::process::id()));
            let file = create(&temporary).map_err(|error| failed(&temporary, &error))?;
            fill(file, &temporary, bytes)?;
            fs::rename(&temporary, path).map_err(|error| failed(path, &error))?;
            Ok(path.to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::usage(format!("{} exists already", path.display())).hint("Use --force to replace it"))
        }
        Err(error) => Err(failed(path, &error)),
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn fill(mut file: File, path: &Path, bytes: &[u8]) -> Outcome<PathBuf> {
    match file.write_all(bytes) {
        Ok(()) => Ok(path.to_owned()),
        Err(error) => {
            let _ = fs::remove_file(path); // half a file is worse than none
            Err(failed(path, &error))
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("Can't write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p77_names_are_plain_and_fit_the_type() {
        let long = "x".repeat(5000);
        let long_name = "x".repeat(LONGEST);
        let wide = "é".repeat(500);
        for (source, mime, name) in [
            ("file:///../../../tmp/pwn", "image/png", "pwn.png"),
            ("../../x", "", "x.bin"),
            ("..", "text/plain", "file.txt"),
            ("", "image/png", "file.png"),
            ("demo://logo.png", "image/png", "logo.png"),
            ("demo://logo.png?size=2#top", "image/png", "logo.png"),
            ("a\0b\u{1b}[2J", "application/x-own", "a_b__2J"),
            ("CON", "", "_CON.bin"),
            ("dir/lpt1.txt", "", "_lpt1.txt"),
            ("concert", "audio/wav", "concert.wav"),
            ("C:\\Windows\\win.ini", "", "win.ini"),
            ("C:evil", "", "evil.bin"),
            (".bashrc", "", "bashrc.bin"),
            ("a b", "text/plain; charset=utf-8", "a b.txt"),
            (&long, "application/x-own", &long_name),
        ] {
            assert_eq!(file_name(source, mime, "file"), name, "{source:?}");
        }
        assert!(file_name(&wide, "", "file").len() <= LONGEST + 4);
    }

    #[test]
    fn p77_nothing_is_replaced_and_nothing_lands_outside() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("new");
        let names: Vec<_> =
            (0..3).map(|n| in_dir(&inside, "logo.png", &[n]).unwrap().file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["logo.png", "logo-2.png", "logo-3.png"]);
        assert_eq!(fs::read(inside.join("logo.png")).unwrap(), [0]);
    }

    #[cfg(unix)]
    #[test]
    fn p77_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "mine").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(to_file(&link, b"theirs", false).is_err());
        to_file(&link, b"theirs", true).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"mine");
        assert_eq!(fs::read(&link).unwrap(), b"theirs");
    }
}
