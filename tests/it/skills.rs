//! The skills extension: skills are listed, and each file is held against its entry before anybody sees it.

use serde_json::{Value, json};
use trunkline::ErrorKind;
use trunkline_tests::*;

use crate::rig::{Rig, everywhere, rig};

const HEAD: &str = "---\nname: pdf\ndescription: Fills forms\n---\n\n";
const SKILL: &str = "skill://acme/pdf/SKILL.md";
const FORMS: &str = "skill://acme/pdf/references/FORMS.md";
/// SHA-256 of what stands at the two, as `sha256sum` has it.
const SKILL_DIGEST: &str = "sha256:52f86948f2604e6d4d57bb2d2145775b24aa2ce24f8041c949dbd1436bf54c8b";
const FORMS_DIGEST: &str = "sha256:7eeb911d90c4bccdd4ff71d9754e32fee79fe6b23fa2a20d5afac640c128996e";

fn entry() -> Value {
    json!({
        "uri": SKILL,
        "frontmatter": {"name": "pdf", "description": "Fills forms"},
        "resources": [
            {"uri": SKILL, "digest": SKILL_DIGEST, "size": HEAD.len()},
            {"uri": FORMS, "digest": FORMS_DIGEST, "size": 6},
        ],
    })
}

fn contents(uri: &str, text: &str) -> Action {
    respond(json!({"contents": [{"uri": uri, "text": text}]}))
}

fn declaring() -> Script {
    Script::new().capabilities(json!({"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}))
}

/// A server of one listed skill.
fn serving(entry: &Value) -> Script {
    declaring()
        .on(on_method("skills/list"), [respond(json!({"skills": [entry]}))])
        .on(on_method("skills/get"), [respond(json!({"skill": entry}))])
        .on(read(SKILL), [contents(SKILL, HEAD)])
        .on(read(FORMS), [respond(json!({"contents": [{"uri": FORMS, "blob": "Zm9ybXMK"}]}))])
}

fn reads(rig: &Rig) -> usize {
    rig.log.sent("resources/read").len()
}

#[tokio::test]
async fn a_skill_is_listed_without_a_file_being_fetched_and_then_read_verified() {
    for rig in everywhere(serving(&entry())) {
        let skills = rig.client.list_skills().await.unwrap();
        let [skill] = &skills[..] else { panic!("{skills:?}") };
        assert_eq!((skill.name().as_str(), skill.description().as_str()), ("pdf", "Fills forms"));
        assert_eq!((skill.uri(), skill.files().unwrap().len(), reads(&rig)), (SKILL, 2, 0));
        assert_eq!(skill.load().await.unwrap(), HEAD);
        assert_eq!(skill.read("references/FORMS.md").await.unwrap(), b"forms\n");
        assert_eq!(skill.read(FORMS).await.unwrap(), b"forms\n");
        assert_eq!(rig.client.skill(SKILL).await.unwrap().raw(), skill.raw());
    }
}

#[tokio::test]
async fn a_file_that_is_not_in_the_entry_is_not_asked_for() {
    let rig = rig(serving(&entry()));
    let skill = rig.client.skill(SKILL).await.unwrap();
    for file in ["references/OTHER.md", "../billing/SKILL.md", "skill://acme/billing/SKILL.md", "file:///etc/passwd"] {
        assert_eq!(skill.read(file).await.unwrap_err().kind(), ErrorKind::NotFound, "{file}");
    }
    assert_eq!(reads(&rig), 0);
}

#[tokio::test]
async fn what_differs_from_its_entry_is_not_given() {
    type Change = fn(&mut Value);
    let altered: [(&str, Change); 4] = [
        ("another digest", |entry| entry["resources"][0]["digest"] = json!(FORMS_DIGEST)),
        ("bytes, not", |entry| entry["resources"][0]["size"] = json!(1)),
        ("\"description\"", |entry| entry["frontmatter"]["description"] = json!("Sends money")),
        ("\"license\"", |entry| entry["frontmatter"]["license"] = json!("MIT")),
    ];
    for (why, alter) in altered {
        let mut entry = entry();
        alter(&mut entry);
        let rig = rig(serving(&entry));
        let error = rig.client.skill(SKILL).await.unwrap().load().await.unwrap_err();
        assert!(error.kind() == ErrorKind::Protocol && error.message().contains(why), "{why}: {error:?}");
        assert_eq!(error.get("uri"), Some(SKILL));
    }
}

#[tokio::test]
async fn what_is_made_up_on_the_way_has_its_front_matter_compared_alone() {
    let mut dynamic = entry();
    dynamic["resources"] = json!("dynamic");
    let rig = rig(serving(&dynamic));
    let skill = rig.client.skill(SKILL).await.unwrap();
    assert!(skill.files().is_none());
    assert_eq!(skill.load().await.unwrap(), HEAD);
    assert_eq!(skill.read("./references/FORMS.md").await.unwrap(), b"forms\n");
    assert_eq!(skill.read("../x.md").await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_bad_entry_costs_itself_and_pages_are_followed() {
    let mut second = entry();
    second["uri"] = json!("skill://pdf/SKILL.md");
    second["resources"] = json!("dynamic");
    let script = declaring()
        .on(on_method("skills/list").cursor("2"), [respond(json!({"skills": [second], "nextCursor": "2"}))])
        .on(on_method("skills/list"), [respond(json!({"skills": [{"uri": 7}, entry()], "nextCursor": "2"}))]);
    let rig = rig(script);
    let skills = rig.client.list_skills().await.unwrap();
    assert_eq!(skills.iter().map(|skill| skill.uri()).collect::<Vec<_>>(), [SKILL, "skill://pdf/SKILL.md"]);
    let told = ["skills[0] was left out: it has no \"uri\"", "skills/list repeats a page cursor; the list ends there"];
    assert_eq!(rig.client.warnings(), told);
}

#[tokio::test]
async fn a_server_that_declares_no_skills_is_not_asked_for_any() {
    let rig = rig(Script::new());
    assert_eq!(rig.client.list_skills().await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(rig.client.skill(SKILL).await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(rig.log.methods().iter().all(|method| !method.starts_with("skills/")));
}

#[test]
fn the_twin_without_async_reads_the_same() {
    let client = trunkline::Client::stdio(crate::smoke::FAKE, serving(&entry()).args()).build_blocking().unwrap();
    let skills = client.list_skills().unwrap();
    assert_eq!(skills[0].load().unwrap(), HEAD);
    assert_eq!(client.skill(SKILL).unwrap().read("references/FORMS.md").unwrap(), b"forms\n");
}
