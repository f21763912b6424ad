use std::fs;
use std::path::PathBuf;

use super::FileStore;
use crate::error::{Error, ErrorKind};
use crate::oauth::{Login, LoginKey, TokenStore};

struct Bench {
    dir: tempfile::TempDir,
    key: LoginKey,
    login: Login,
}

impl Bench {
    fn new() -> Self {
        let mut login = Login::new("https://as", "https://a.example/mcp", Some("access-1".into()));
        login.refresh_token = Some("refresh-1".into());
        Self {
            dir: tempfile::tempdir().unwrap(),
            key: LoginKey::new("https://a.example/mcp?key=hunter22", Some("me")),
            login,
        }
    }

    fn store(&self) -> FileStore {
        FileStore::new(self.dir.path().join("logins"))
    }

    /// The only record.
    fn file(&self) -> PathBuf {
        let files = fs::read_dir(self.dir.path().join("logins")).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }
}

fn file_of(error: &Error) -> PathBuf {
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.hint().unwrap().contains("log in again"), "{error:?}");
    error.get("file").unwrap().into()
}

#[tokio::test]
async fn what_one_store_keeps_another_finds() {
    let bench = Bench::new();
    assert_eq!(bench.store().load(&bench.key).await.unwrap(), None);
    assert!(bench.store().keys().unwrap().is_empty());
    bench.store().remove(&bench.key).await.unwrap();
    bench.store().save(&bench.key, &bench.login).await.unwrap();
    assert_eq!(bench.store().load(&bench.key).await.unwrap(), Some(bench.login.clone()));
    let other = LoginKey::new("https://b.example/mcp", None);
    assert_eq!(bench.store().load(&other).await.unwrap(), None);
    bench.store().save(&other, &bench.login).await.unwrap();
    let keys: Vec<_> = bench.store().keys().unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(keys, [bench.key.clone(), other.clone()]);
    bench.store().remove(&other).await.unwrap();
    assert!(!bench.text().contains("hunter22") && !bench.file().display().to_string().contains("hunter22"));
    bench.store().remove(&bench.key).await.unwrap();
    assert_eq!(bench.store().load(&bench.key).await.unwrap(), None);
}

#[tokio::test]
#[cfg(unix)]
async fn a_file_that_others_can_read_is_closed_to_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.store().save(&bench.key, &bench.login).await.unwrap();
    fs::set_permissions(bench.file(), fs::Permissions::from_mode(0o640)).unwrap();
    let store = bench.store();
    assert_eq!(store.load(&bench.key).await.unwrap(), Some(bench.login.clone()));
    assert_eq!(fs::metadata(bench.file()).unwrap().permissions().mode() & 0o777, 0o600);
    store.load(&bench.key).await.unwrap();
    let warning = format!("{} could be read by others; it no longer can", bench.file().display());
    assert_eq!(store.warnings(), [warning]);
}

#[tokio::test]
async fn a_damaged_file_is_told_and_kept() {
    let bench = Bench::new();
    bench.store().save(&bench.key, &bench.login).await.unwrap();
    let (file, whole) = (bench.file(), bench.text());
    let half = whole[..whole.len() / 2].to_owned();
    let other = whole.replace("a.example/mcp?", "b.example/mcp?");
    for (damaged, told) in [
        ("", "it is no JSON at 1:0"),
        (&half, "it is no JSON at"),
        ("{\"version\": \"refresh-1\"}", "something else is expected at 1:"),
        (&whole.replace("\"version\": 1", "\"version\": 2"), "a later version"),
        (&other, "it is the login for"),
    ] {
        fs::write(&file, damaged).unwrap();
        let error = bench.store().load(&bench.key).await.unwrap_err();
        assert!(error.message().contains(told), "{error}");
        assert_eq!(file_of(&error), file);
        assert!(!format!("{error:?}").contains("refresh-1"), "{error:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), damaged, "nothing of it was changed");
    }
    fs::write(&file, &half).unwrap();
    assert_eq!(file_of(bench.store().keys().unwrap()[0].as_ref().unwrap_err()), file);
    bench.store().save(&bench.key, &bench.login).await.unwrap();
    assert_eq!(bench.store().load(&bench.key).await.unwrap(), Some(bench.login.clone()));
    assert_eq!(fs::read_to_string(file.with_extension("json.damaged")).unwrap(), half);
}

#[tokio::test]
async fn what_is_sealed_opens_for_whoever_has_the_key() {
    let bench = Bench::new();
    bench.store().save(&bench.key, &bench.login).await.unwrap();
    let key = FileStore::new_key().unwrap();
    let sealed = bench.store().sealed(move || Ok(key.clone()));
    assert_eq!(sealed.load(&bench.key).await.unwrap(), Some(bench.login.clone()), "what was written before");
    sealed.save(&bench.key, &bench.login).await.unwrap();
    assert!(!bench.text().contains("access-1") && !bench.text().contains("refresh-1"), "{}", bench.text());
    assert_eq!(sealed.load(&bench.key).await.unwrap(), Some(bench.login.clone()));
    assert_eq!(sealed.keys().unwrap().remove(0).unwrap(), bench.key);

    let without = bench.store().load(&bench.key).await.unwrap_err();
    assert!(without.message().contains("a key that is not at hand"), "{without}");
    let other = bench.store().sealed(FileStore::new_key).load(&bench.key).await.unwrap_err();
    assert!(other.message().contains("another key"), "{other}");
    let locked = bench.store().sealed(|| Err(Error::config("the keyring is locked")));
    assert_eq!(locked.load(&bench.key).await.unwrap_err().message(), "the keyring is locked");
    assert!(bench.store().sealed(|| Ok("x".into())).save(&bench.key, &bench.login).await.is_err());
    assert_eq!(sealed.load(&bench.key).await.unwrap(), Some(bench.login.clone()), "nobody has changed it");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_told() {
    let bench = Bench::new();
    fs::write(bench.dir.path().join("logins"), "").unwrap();
    for error in [
        bench.store().save(&bench.key, &bench.login).await.unwrap_err(),
        bench.store().load(&bench.key).await.unwrap_err(),
        bench.store().lock(&bench.key).await.unwrap_err(),
        bench.store().keys().unwrap_err(),
    ] {
        assert!(error.kind() == ErrorKind::Config && error.message().contains("logins"), "{error}");
    }
}

#[tokio::test]
async fn a_login_is_held_by_one() {
    let bench = Bench::new();
    let (a, b) = (bench.store(), bench.store());
    let held = a.lock(&bench.key).await.unwrap();
    b.lock(&LoginKey::new("https://b.example/mcp", None)).await.unwrap();
    let mut waiting = Box::pin(b.lock(&bench.key));
    assert!(tokio::time::timeout(std::time::Duration::ZERO, &mut waiting).await.is_err());
    drop(held);
    waiting.await.unwrap();
    a.save(&bench.key, &bench.login).await.unwrap();
    assert_eq!(a.keys().unwrap().len(), 1, "locks are no logins");
}
