//! Spec strings: `name`, `name:preset` and `name:key=value,key=value`, which name every registry entry.
//!
//! The registries look names up through [`find`], so an unknown name gets suggestions everywhere.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An entry of a registry: something with a name that users type and a line that tells them what it is. Open: front ends have lists of
/// their own.
pub trait Named {
    /// The name that users type.
    fn name(&self) -> &'static str;
    /// One line for lists and help.
    fn summary(&self) -> &'static str;
}

/// A parsed spec string.
///
/// ```
/// use unmissed::spec::Spec;
/// let spec: Spec = "jpv:a=0.5,b=0.4".parse()?;
/// assert_eq!(spec.name(), "jpv");
/// assert_eq!(spec.number("a")?, Some(0.5));
/// assert_eq!(spec.number("c")?, None);
/// let preset: Spec = "jpv:wikipedia".parse()?;
/// assert_eq!(preset.words(), ["wikipedia"]);
/// assert_eq!(spec.to_string(), "jpv:a=0.5,b=0.4");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Spec {
    name: String,
    words: Vec<String>,
    pairs: Vec<(String, String)>,
}

impl Spec {
    /// The spec of an entry and the text after its colon.
    pub fn new(name: &str, arguments: Option<&str>) -> Result<Spec> {
        let broken = |what: &str| {
            let text = arguments.map_or_else(|| name.to_owned(), |arguments| format!("{name}:{arguments}"));
            Err(Error::value(format!("cannot read the spec '{text}'"))
                .expected("'name', 'name:word' or 'name:key=value,key=value'")
                .found(what))
        };
        if name.is_empty() {
            return broken("no name");
        }
        let mut spec = Spec { name: name.to_owned(), words: Vec::new(), pairs: Vec::new() };
        for argument in arguments.into_iter().flat_map(|a| a.split(',')) {
            match argument.split_once('=') {
                Some(("", _)) => return broken("a value without a key"),
                Some((key, _)) if spec.get(key).is_some() => {
                    return broken(&format!("'{key}' twice"));
                }
                Some((key, value)) => spec.pairs.push((key.to_owned(), value.to_owned())),
                None if argument.is_empty() => return broken("an empty argument"),
                None => spec.words.push(argument.to_owned()),
            }
        }
        Ok(spec)
    }

    /// The spec of an entry of ours without arguments.
    pub(crate) fn named(name: &'static str) -> Spec {
        Spec { name: name.to_owned(), words: Vec::new(), pairs: Vec::new() }
    }

    /// The part before the colon.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments without `=`: presets and file names, in order.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The value of `key`, as written.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The value of `key` as a finite number.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some(text) = self.get(key) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => {
                Err(Error::value(format!("'{self}': {key} is not a number")).expected("a finite number").found(format!("'{text}'")))
            }
        }
    }

    /// Refuses keys and words that the entry does not know, so that a misspelt option is never ignored.
    pub fn allow(&self, keys: &[&str], words: &[&str]) -> Result<()> {
        for (key, _) in &self.pairs {
            if !keys.contains(&key.as_str()) {
                return Err(unknown(&format!("option of '{}'", self.name), key, keys));
            }
        }
        for word in &self.words {
            if !words.contains(&word.as_str()) {
                let choices: Vec<&str> = words.iter().chain(keys).copied().collect();
                return Err(unknown(&format!("option of '{}'", self.name), word, &choices));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let words = self.words.iter().cloned();
        let pairs = self.pairs.iter().map(|(k, v)| format!("{k}={v}"));
        for (i, argument) in words.chain(pairs).enumerate() {
            write!(f, "{}{argument}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, arguments) = split(text);
        Spec::new(name, arguments)
    }
}

impl TryFrom<String> for Spec {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Spec> for String {
    fn from(spec: Spec) -> String {
        spec.to_string()
    }
}

/// A text taken apart at its first colon: the name, and the arguments as written.
pub(crate) fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(name, arguments)| (name, Some(arguments)))
}

/// The entry called `name`, or an error that suggests near names. `what` says what was looked for, as in "format".
pub fn find<'a, T: Named + ?Sized>(entries: &[&'a T], what: &str, name: &str) -> Result<&'a T> {
    entries.iter().find(|entry| entry.name() == name).copied().ok_or_else(|| {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name()).collect();
        unknown(what, name, &names)
    })
}

/// The error for a name that does not exist among `choices`.
pub fn unknown(what: &str, name: &str, choices: &[&str]) -> Error {
    let error = Error::value(format!("unknown {what} '{name}'"));
    // Swapped or missing letters, or the beginning of a longer name.
    let distance = |choice: &str| strsim::damerau_levenshtein(choice, name);
    let is_near = |choice: &&&str| distance(choice) <= 1 + choice.len() / 4 || (name.len() > 1 && choice.starts_with(name));
    let near = choices.iter().filter(is_near).min_by_key(|choice| distance(choice));
    match near {
        Some(choice) => error.hint(format!("did you mean '{choice}'?")),
        None if choices.is_empty() => error.hint("it takes none"),
        None => error.expected(format!("one of {}", choices.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_specs_say_what_is_wrong() {
        for (text, found) in
            [("", "no name"), (":a=1", "no name"), ("x:", "an empty"), ("x:=1", "without a key"), ("x:a=1,a=2", "twice")]
        {
            let message = text.parse::<Spec>().unwrap_err().to_string();
            assert!(message.contains(found), "{text}: {message}");
        }
    }

    #[test]
    fn unknown_options_are_refused_with_a_suggestion() {
        let spec: Spec = "power:gama=1".parse().unwrap();
        let message = spec.allow(&["beta", "gamma"], &[]).unwrap_err().to_string();
        assert_eq!(message, "unknown option of 'power' 'gama'; did you mean 'gamma'?");
        assert!(spec.number("gama").unwrap().is_some());
        assert!("power:gamma=x".parse::<Spec>().unwrap().number("gamma").is_err());
    }
}
