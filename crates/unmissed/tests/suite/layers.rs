//! Folders follow the data, and imports only point backwards along that line. What is not part of the line is its base, which
//! imports none of the stages.

use std::path::Path;

/// Requests name what stages before them hold (metrics, estimators, rates); the stages that carry them out come after. The prelude
/// names parts of all of them.
const FLOW: [&str; 14] = [
    "data",
    "propensity",
    "metrics",
    "tree",
    "request",
    "evaluate",
    "losses",
    "predict",
    "optimize",
    "train",
    "audit",
    "report",
    "experiments",
    "prelude",
];

/// Macros live at the root of the crate, whatever they are made of.
const MACROS: [(&str, &str); 1] = [("cells", "report")];

#[test]
fn imports_point_backwards() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut stages = Vec::new();
    for_each_file(&source, &mut |path, text| {
        let module = module_of(path.strip_prefix(&source).unwrap());
        let Some(first) = module.first() else { return };
        stages.extend(FLOW.iter().position(|stage| stage == first));
        let bad = forbidden(&module, text);
        assert!(bad.is_empty(), "{} belongs to '{first}' and imports from {bad:?}, which come after it", path.display());
    });
    stages.sort_unstable();
    stages.dedup();
    assert_eq!(stages.len(), FLOW.len(), "the folders of some stages were not found");
}

#[test]
fn every_way_to_import_is_seen() {
    for (file, text, expected) in [
        ("data/csr.rs", "use crate::report::Cell;", vec!["report"]),
        ("data/csr.rs", "use crate::{error::Result, report};", vec!["report"]),
        ("data/csr.rs", "pub(crate) use crate::{\n    error::{Error, Result},\n    train::{one::A, two::*},\n};", vec!["train"]),
        ("data/csr.rs", "fn f() -> crate::audit::AuditResult { g::<crate::report::Cell>() }", vec!["audit", "report"]),
        ("data/csr.rs", "use ::{crate::predict::Model};", vec!["predict"]),
        ("data/csr.rs", "use super::super::train::Trainer;", vec!["train"]),
        ("data/mod.rs", "use super::{error, losses::Loss};", vec!["losses"]),
        ("data/csr.rs", "mod tests { use super::super::super::audit; }", vec!["audit"]),
        ("data/csr.rs", "use crate as all;", vec!["crate"]),
        ("data/csr.rs", "use crate::*;", vec!["crate"]),
        ("data/csr.rs", "let row = cells![1];", vec!["report"]),
        ("data/csr.rs", "let path = 'a'; let b: &'static str = \"\\\"\"; use crate::report;", vec!["report"]),
        ("audit/run.rs", "use crate::report::plot::Series;", vec!["report"]),
        ("spec.rs", "use crate::data::Labels;", vec!["data"]),
        ("request/audit.rs", "use crate::{evaluate::Rate, error::Error};", vec!["evaluate"]),
        // What is allowed.
        ("report/cell.rs", "use crate::{audit::AuditResult, data::{Csr, report}}; use crate::request::Rate;", vec![]),
        ("data/csr.rs", "use crate::data::report; use super::super::error; fn crate_report() {}", vec![]),
        ("evaluate/finish.rs", "mod tests { use super::super::report; } use super::report::Row;", vec![]),
        ("data/csr.rs", "// crate::report::a\n/// [`crate::report`]\n/* crate::report::b /* */ crate::report */", vec![]),
        ("data/csr.rs", "f(\"crate::report::c\", r#\"crate::report::\"d\"\"#, b\"crate::report::e\");", vec![]),
    ] {
        assert_eq!(forbidden(&module_of(Path::new(file)), text), expected, "{file}: {text}");
    }
}

/// The stages that a module may not import and does; `crate` when it imports everything.
fn forbidden(module: &[String], text: &str) -> Vec<String> {
    // What comes before all stages may import none of them.
    let own = module.first().and_then(|first| FLOW.iter().position(|stage| stage == first));
    let allowed = own.map_or(&[][..], |own| &FLOW[..=own]);
    let mut found: Vec<String> = roots(module.len(), &tokens(text))
        .into_iter()
        .filter(|root| root == "crate" || (FLOW.contains(&root.as_str()) && !allowed.contains(&root.as_str())))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Names of the crate's root that code mentions: what follows `crate::`, or as many `super::` as lead there from a module at this
/// depth. The root as a whole is `crate`.
fn roots(depth: usize, tokens: &[String]) -> Vec<String> {
    let token = |place: usize| tokens.get(place).map_or("", String::as_str);
    let mut found = Vec::new();
    // For each open brace, whether a module begins there.
    let mut braces: Vec<bool> = Vec::new();
    for place in 0..tokens.len() {
        match token(place) {
            "{" => braces.push(place >= 2 && token(place - 2) == "mod"),
            "}" => drop(braces.pop()),
            "crate" if token(place + 1) == "::" => first_names(tokens, place + 2, &mut found),
            "crate" if token(place + 1) == "as" => found.push("crate".into()),
            // The first `super` of a chain.
            "super" if place < 2 || token(place - 2) != "super" => {
                let up = (0..).take_while(|step| token(place + 2 * step) == "super").count();
                if up == depth + braces.iter().filter(|is_module| **is_module).count() && token(place + 2 * up - 1) == "::" {
                    first_names(tokens, place + 2 * up, &mut found);
                }
            }
            name if token(place + 1) == "!" => {
                found.extend(MACROS.iter().filter(|(own, _)| *own == name).map(|(_, home)| (*home).to_owned()));
            }
            _ => {}
        }
    }
    found
}

/// The first names of what a path goes on with: one, or those of a list in braces.
fn first_names(tokens: &[String], start: usize, found: &mut Vec<String>) {
    let Some(first) = tokens.get(start) else { return };
    if first != "{" {
        found.push(if first == "*" { "crate".into() } else { first.clone() });
        return;
    }
    let (mut depth, mut expects_name) = (0, true);
    for token in &tokens[start..] {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => expects_name = true,
            name if depth == 1 && expects_name => {
                found.push(if ["*", "self"].contains(&name) { "crate".into() } else { name.to_owned() });
                expects_name = false;
            }
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

/// Code as words and signs, without comments, strings and characters: documentation may look ahead.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |place: usize| chars.get(place).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut place = 0;
    while place < chars.len() {
        match (at(place), at(place + 1)) {
            ('/', '/') => place += (place..chars.len()).take_while(|i| at(*i) != '\n').count(),
            ('/', '*') => {
                let mut depth = 0;
                loop {
                    match (at(place), at(place + 1)) {
                        ('/', '*') => (depth, place) = (depth + 1, place + 2),
                        ('*', '/') => (depth, place) = (depth - 1, place + 2),
                        _ => place += 1,
                    }
                    if depth == 0 || place >= chars.len() {
                        break;
                    }
                }
            }
            ('r', '"' | '#') => {
                let hashes = (place + 1..chars.len()).take_while(|i| at(*i) == '#').count();
                if at(place + 1 + hashes) == '"' {
                    let is_end = |i: usize| at(i) == '"' && (1..=hashes).all(|more| at(i + more) == '#');
                    place += 2 + hashes;
                    place += (place..chars.len()).take_while(|i| !is_end(*i)).count() + 1 + hashes;
                } else {
                    place += 1;
                }
            }
            ('"', _) => {
                place += 1;
                while place < chars.len() && at(place) != '"' {
                    place += if at(place) == '\\' { 2 } else { 1 };
                }
                place += 1;
            }
            // A character; a lifetime has no quote behind it.
            ('\'', '\\') => place += 3 + (place + 3..chars.len()).take_while(|i| at(*i) != '\'').count() + 1,
            ('\'', _) if at(place + 2) == '\'' => place += 3,
            (':', ':') => {
                tokens.push("::".into());
                place += 2;
            }
            (c, _) if is_word(c) => {
                let length = (place..chars.len()).take_while(|i| is_word(at(*i))).count();
                let word: String = chars[place..place + length].iter().collect();
                // The letter before a byte string is no word.
                if !(word == "b" && at(place + length) == '"') {
                    tokens.push(word);
                }
                place += length;
            }
            (c, _) => {
                if !c.is_whitespace() {
                    tokens.push(c.into());
                }
                place += 1;
            }
        }
    }
    tokens
}

/// The module of a file, from its path below `src`.
fn module_of(path: &Path) -> Vec<String> {
    let mut module: Vec<String> =
        path.with_extension("").components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| ["mod", "lib"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

fn for_each_file(folder: &Path, look: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            for_each_file(&path, look);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            look(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
