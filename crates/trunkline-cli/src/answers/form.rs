//! A form on a terminal: one field after the other, then a last look before it is sent.

use trunkline::{Answer, Choice, Elicitation, FieldKind, FormField, RawJson};

use super::given::Filled;
use crate::person::Turn;
use crate::render::json::array;
use crate::render::{BOLD, DIM, escape, paint};

/// What a person typed.
enum Typed {
    Text(String),
    Decline,
    Cancel,
}

/// The person doesn't fill it in.
struct Left(Answer);

/// Lets the person fill in what is open, review it, and send it.
pub(crate) async fn fill_in<'a>(turn: &mut Turn<'_>, request: &'a Elicitation, mut filled: Filled<'a>) -> Answer {
    turn.say(&heading(request));
    loop {
        for field in filled.open.clone() {
            match answered(turn, field, filled.value(field)).await {
                Ok(value) => filled.set(field, value),
                Err(Left(answer)) => return answer,
            }
        }
        let content = filled.content();
        if let Err(error) = request.check(&content) {
            turn.say(&format!("  {}", escape::line(error.message())));
            continue;
        }
        match sent(turn, request.server()).await {
            Some(true) => return Answer::accept(content),
            Some(false) => {}
            None => return Answer::decline(),
        }
    }
}

/// Who asks, and why, in words that can't be taken for the program's own.
pub(super) fn heading(request: &Elicitation) -> String {
    let mut out = format!("{} asks:\n{}", paint(BOLD, escape::line(request.server())), quoted(&request.message()));
    let usage = "(Enter takes what stands in brackets; /none leaves out; /decline or Ctrl-D declines, /cancel cancels)";
    out.push_str(&paint(DIM, usage));
    out
}

/// A server's text, set off.
pub(super) fn quoted(text: &str) -> String {
    escape::text(text.trim()).lines().map(|line| format!("  | {line}\n")).collect()
}

/// The value of one field; nothing where it is left out.
async fn answered(turn: &mut Turn<'_>, field: &FormField, before: Option<&RawJson>) -> Result<Option<RawJson>, Left> {
    let question = question(turn, field, before);
    loop {
        let text = match typed(turn.ask(&question).await) {
            Typed::Text(text) => text,
            Typed::Decline => return Err(Left(Answer::decline())),
            Typed::Cancel => return Err(Left(Answer::cancel())),
        };
        match (text.trim(), before) {
            ("", Some(before)) => return Ok(Some(before.clone())),
            ("" | "/none", _) if !field.required() => return Ok(None),
            ("" | "/none", _) => {
                turn.say("  It is needed.");
                continue;
            }
            _ => {}
        }
        match read(field, &text) {
            Ok(value) => return Ok(Some(value)),
            Err(error) => turn.say(&format!("  {}", escape::line(error.message()))),
        }
    }
}

fn typed(line: Option<String>) -> Typed {
    match line.as_deref().map(str::trim) {
        None | Some("/decline") => Typed::Decline,
        Some("/cancel") => Typed::Cancel,
        Some(_) => Typed::Text(line.unwrap_or_default()),
    }
}

/// What is asked for a field; the choices are listed before.
fn question(turn: &Turn<'_>, field: &FormField, before: Option<&RawJson>) -> String {
    let name = escape::line(&field.title().unwrap_or_else(|| field.name().to_owned()));
    let about = field.description().map(|about| format!(" ({})", escape::line(&about))).unwrap_or_default();
    let mut hints = vec![match field.kind() {
        FieldKind::Text { format: None, .. } => String::new(),
        FieldKind::Choice(_) => "number or name".to_owned(),
        FieldKind::Choices { .. } => "numbers or names, with commas".to_owned(),
        kind => kind.words(),
    }];
    hints.push(if field.required() { String::new() } else { "optional".to_owned() });
    hints.retain(|hint| !hint.is_empty());
    let hints = if hints.is_empty() { String::new() } else { format!(", {}", hints.join(", ")) };
    let before = before.map(|value| format!(" [{}]", escape::line(&shown(field, value)))).unwrap_or_default();
    let head = format!("  {}{}{}", paint(BOLD, name), escape::line(&about), paint(DIM, escape::line(&hints)));
    match choices(field.kind()) {
        [] => format!("{head}{before}: "),
        choices => {
            turn.say(&format!("{head}:"));
            for (at, choice) in choices.iter().enumerate() {
                turn.say(&format!("    {}) {}", at + 1, escape::line(&choice.title)));
            }
            format!(" {before}> ")
        }
    }
}

fn choices(kind: &FieldKind) -> &[Choice] {
    match kind {
        FieldKind::Choice(choices) | FieldKind::Choices { of: choices, .. } => choices,
        _ => &[],
    }
}

/// A value as the person would choose it.
fn shown(field: &FormField, value: &RawJson) -> String {
    let title = |value: &RawJson| {
        let known = choices(field.kind()).iter().find(|choice| choice.value == *value);
        known.map(|choice| choice.title.clone()).or_else(|| value.as_text()).unwrap_or_else(|| value.to_string())
    };
    match (field.kind(), value.is_array()) {
        (FieldKind::Choices { .. }, true) => value.items().map(|item| title(&item)).collect::<Vec<_>>().join(", "),
        (FieldKind::Flag, _) => if value.as_bytes() == b"true" { "yes" } else { "no" }.to_owned(),
        _ => title(value),
    }
}

/// The numbers of the list stand for what they number.
fn read(field: &FormField, text: &str) -> trunkline::Result<RawJson> {
    let choices = choices(field.kind());
    let picked = |word: &str| {
        let at = word.trim().parse::<usize>().ok().and_then(|at| at.checked_sub(1));
        at.and_then(|at| choices.get(at)).or_else(|| choices.iter().find(|choice| choice.is_named(word)))
    };
    let value = match field.kind() {
        FieldKind::Choice(_) => picked(text).map(|choice| choice.value.clone()),
        FieldKind::Choices { .. } => {
            let all: Option<Vec<_>> = text.split(',').map(|word| Some(picked(word)?.value.to_string())).collect();
            all.map(|all| RawJson::parse(array(all))).transpose()?
        }
        _ => None,
    };
    match value {
        Some(value) => field.check(&value).map(|()| value),
        None => field.read(text),
    }
}

/// Whether it is sent: yes, after another round of changes, or never.
async fn sent(turn: &mut Turn<'_>, server: &str) -> Option<bool> {
    let question = format!("Send this to {}? [y]es, [e]dit, [n]o: ", escape::line(server));
    loop {
        match turn.ask(&question).await?.trim().to_lowercase().as_str() {
            "y" | "yes" => return Some(true),
            "e" | "edit" => return Some(false),
            "n" | "no" | "/decline" => return None,
            _ => {}
        }
    }
}
