//! From one token to the next: once, whoever needs it, and however many.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::json;
use trunkline::{ErrorKind, Login, LoginKey, MemoryStore, OAuth, Result, StoreGuard, TokenStore};

use super::{Stage, echo};

#[tokio::test]
async fn p69_parallel_calls_with_an_old_token_refresh_it_once() {
    let stage = Stage::new();
    stage.authority.set(|it| it.delay = 50);
    let client = stage.client();
    echo(&client, "first").await.unwrap();
    stage.authority.expire();
    let calls = join_all((0..10).map(|n| {
        let client = client.clone();
        async move { echo(&client, &n.to_string()).await }
    }));
    for (n, outcome) in calls.await.into_iter().enumerate() {
        assert_eq!(outcome.unwrap(), json!(n));
    }
    assert_eq!(stage.authority.grants("refresh_token"), 1);
    assert_eq!(stage.person.asked().len(), 1);
    stage.assert_orderly();
}

#[tokio::test]
async fn p69_clients_that_share_a_store_refresh_once_together() {
    let stage = Stage::new();
    stage.authority.set(|it| it.delay = 50);
    let store = MemoryStore::default();
    let clients: Vec<_> = (0..5).map(|_| stage.client_with(OAuth::new().store(store.clone()))).collect();
    for client in &clients {
        echo(client, "first").await.unwrap();
    }
    assert_eq!(stage.person.asked().len(), 1, "the login of one is that of all");
    stage.authority.expire();
    for outcome in join_all(clients.iter().map(|client| echo(client, "x"))).await {
        assert_eq!(outcome.unwrap(), json!("x"));
    }
    assert_eq!(stage.authority.grants("refresh_token"), 1);
    let key = LoginKey::new(&stage.server.url(), None);
    let kept = store.load(&key).await.unwrap().unwrap().refresh_token.unwrap();
    assert_eq!(stage.authority.good_refresh_tokens(), [kept.expose().to_owned()]);
    stage.assert_orderly();
}

/// A store that another process uses without a lock: between one reading and the next, it has renewed the login.
#[derive(Clone, Default)]
struct Raced {
    inner: MemoryStore,
    armed: Arc<AtomicBool>,
    newer: Arc<Mutex<Option<Login>>>,
    removed: Arc<AtomicUsize>,
}

impl TokenStore for Raced {
    async fn load(&self, key: &LoginKey) -> Result<Option<Login>> {
        let found = self.inner.load(key).await?;
        if self.armed.swap(false, Ordering::SeqCst) {
            let newer = self.newer.lock().unwrap().clone();
            self.inner.save(key, &newer.unwrap()).await?;
        }
        Ok(found)
    }

    async fn save(&self, key: &LoginKey, login: &Login) -> Result<()> {
        self.inner.save(key, login).await
    }

    async fn remove(&self, key: &LoginKey) -> Result<()> {
        self.removed.fetch_add(1, Ordering::SeqCst);
        self.inner.remove(key).await
    }

    async fn lock(&self, _: &LoginKey) -> Result<StoreGuard> {
        Ok(StoreGuard::default())
    }
}

#[tokio::test]
async fn p69_a_refused_refresh_token_is_looked_up_again_before_anybody_is_asked() {
    let stage = Stage::new();
    stage.authority.set(|it| it.rotation = false);
    let store = Raced::default();
    let client = stage.client_with(OAuth::new().store(store.clone()));
    echo(&client, "x").await.unwrap();
    let key = LoginKey::new(&stage.server.url(), None);
    let good = store.inner.load(&key).await.unwrap().unwrap();
    // the other process's login is good; this one's refresh token is not known
    let mut old = good.clone();
    old.refresh_token = Some("refresh-of-yesterday".into());
    store.inner.save(&key, &old).await.unwrap();
    *store.newer.lock().unwrap() = Some(good);
    stage.authority.expire();
    store.armed.store(true, Ordering::SeqCst);
    assert_eq!(echo(&client, "y").await.unwrap(), json!("y"));
    assert_eq!(stage.authority.grants("refresh_token"), 2);
    assert_eq!((stage.person.asked().len(), store.removed.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn p69_a_login_that_can_t_be_renewed_is_asked_for_and_never_deleted() {
    let stage = Stage::new();
    let store = Raced::default();
    let oauth = OAuth::new().store(store.clone());
    echo(&stage.client_with(oauth.clone()), "x").await.unwrap();
    stage.authority.revoke();
    let error = stage.refused(&stage.headless(oauth.clone())).await;
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.hint().unwrap().contains("trunkline login fake"), "{error:?}");
    assert_eq!(stage.authority.grants("refresh_token"), 1);
    let key = LoginKey::new(&stage.server.url(), None);
    assert!(store.inner.load(&key).await.unwrap().is_some());
    assert_eq!(echo(&stage.client_with(oauth), "x").await.unwrap(), json!("x"));
    assert_eq!((stage.person.asked().len(), store.removed.load(Ordering::SeqCst)), (2, 0));
}

#[tokio::test]
async fn a_kept_login_is_used_again_without_a_person() {
    let stage = Stage::new();
    let store = MemoryStore::default();
    let oauth = OAuth::new().store(store.clone());
    echo(&stage.client_with(oauth.clone()), "x").await.unwrap();
    let before = stage.server.log().requests().len();
    assert_eq!(echo(&stage.headless(oauth.clone()), "y").await.unwrap(), json!("y"));
    let after: Vec<_> = stage.server.log().requests().split_off(before);
    assert!(after.iter().all(|request| request.header("authorization").is_some()), "{after:?}");
    stage.authority.expire();
    assert_eq!(echo(&stage.headless(oauth), "z").await.unwrap(), json!("z"));
    assert_eq!(stage.authority.grants("refresh_token"), 1);
    stage.assert_orderly();
}

#[tokio::test]
async fn a_token_that_is_nearly_over_is_renewed_before_it_is_refused() {
    let stage = Stage::new();
    let store = MemoryStore::default();
    let oauth = OAuth::new().store(store.clone());
    let first = stage.client_with(oauth.clone());
    echo(&first, "x").await.unwrap();
    first.disconnect().await;
    let key = LoginKey::new(&stage.server.url(), None);
    let mut login = store.load(&key).await.unwrap().unwrap();
    login.expires_at = Some(login.issued_at); // as if an hour had gone by
    store.save(&key, &login).await.unwrap();
    let before = stage.server.log().requests().len();
    echo(&stage.headless(oauth), "y").await.unwrap();
    assert_eq!(stage.authority.grants("refresh_token"), 1);
    let old = login.access_token.unwrap();
    let after = stage.server.log().requests().split_off(before);
    let shown =
        after.iter().filter(|request| request.header("authorization").is_some_and(|it| it.contains(old.expose())));
    assert_eq!(shown.count(), 0, "the old one was sent to nobody");
    stage.assert_orderly();
}

#[tokio::test]
async fn a_refresh_token_stays_where_no_other_is_given() {
    let stage = Stage::new();
    stage.authority.set(|it| it.rotation = false);
    let client = stage.client();
    for _ in 0..3 {
        echo(&client, "x").await.unwrap();
        stage.authority.expire();
    }
    assert_eq!((stage.authority.grants("refresh_token"), stage.person.asked().len()), (2, 1));
    stage.assert_orderly();
}

#[tokio::test]
async fn a_client_that_is_not_known_any_more_registers_anew() {
    let stage = Stage::new();
    let client = stage.client();
    echo(&client, "x").await.unwrap();
    stage.authority.forget_clients();
    stage.authority.expire();
    assert_eq!(echo(&client, "y").await.unwrap(), json!("y"));
    assert_eq!((stage.authority.requests("/register"), stage.person.asked().len()), (2, 2));
}

#[tokio::test]
async fn a_server_that_refuses_every_token_asks_the_person_once() {
    let stage = Stage::new();
    stage.server.set(|it| {
        it.patch = json!({"resource": null});
        it.resource = Some("http://127.0.0.1:1/other".to_owned()); // what it wants is never got
    });
    stage.authority.know_resource(&stage.server.url());
    let error = stage.refused(&stage.client()).await;
    assert_eq!((error.kind(), error.get("status")), (ErrorKind::Auth, Some("401")));
    assert_eq!(stage.person.asked().len(), 1);
}

#[tokio::test]
async fn logging_in_and_out_by_hand() {
    let stage = Stage::new();
    let store = MemoryStore::default();
    let client = stage.client_with(OAuth::new().store(store.clone()));
    let login = client.login().await.unwrap();
    assert_eq!((login.issuer, login.resource), (stage.authority.issuer(), stage.server.url()));
    assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    client.login().await.unwrap();
    assert_eq!(stage.person.asked().len(), 2, "a login by hand is a new one");
    assert!(client.logout().await.unwrap() && !client.logout().await.unwrap());
    assert!(store.load(&client.login_key().unwrap()).await.unwrap().is_none());
    echo(&client, "y").await.unwrap();
    assert_eq!(stage.person.asked().len(), 3);
    let plain = super::at(&stage.server).bearer("T-1").build().unwrap();
    assert_eq!(plain.login().await.unwrap_err().kind(), ErrorKind::Unsupported);
}
