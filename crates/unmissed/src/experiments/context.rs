//! What experiments work with, and where finished parts are kept.

use super::data_folders::{DataFolder, YahooR3};
use crate::data::{Output, printable_json};
use crate::error::{Error, Result};
use crate::progress::Progress;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How large experiments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Seconds: to see whether everything works; the results mean nothing.
    Tiny,
    /// Minutes: rough results.
    Quick,
    /// The paper's.
    Full,
}

impl Size {
    /// One of three values.
    pub(super) fn pick<T>(self, tiny: T, quick: T, full: T) -> T {
        match self {
            Size::Tiny => tiny,
            Size::Quick => quick,
            Size::Full => full,
        }
    }
}

/// What experiments work with.
pub struct Context<'a> {
    /// How large they are.
    pub size: Size,
    /// The seed of everything random.
    pub seed: u64,
    /// Data sets that the user has.
    pub data: Vec<DataFolder>,
    /// The user's copy of Yahoo R3.
    pub yahoo_r3: Option<YahooR3>,
    /// Where finished parts are kept; nowhere when `None`.
    pub kept: Option<PathBuf>,
    /// Receives progress.
    pub progress: &'a dyn Progress,
}

impl Context<'_> {
    /// A part of an experiment: read when it was finished before with the same settings, made and kept otherwise.
    ///
    /// `what` names the part for people (and its file), `settings` are all that its numbers depend on besides size, seed
    /// and version.
    pub(super) fn part<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        settings: &Value,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(folder) = &self.kept else { return make() };
        let path = folder.join(self.file(what, settings));
        if let Some(part) = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            return Ok(part);
        }
        self.progress.begin(what, 0);
        let part = make()?;
        std::fs::create_dir_all(folder).map_err(|cause| Error::io("cannot create the folder", folder, cause))?;
        write_json(&path, &part)?;
        Ok(part)
    }

    fn file(&self, what: &str, settings: &Value) -> String {
        let all = json!([env!("CARGO_PKG_VERSION"), what, format!("{:?}", self.size), self.seed, settings]);
        let letters = what.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
        let name: String = letters.take(60).collect();
        format!("{name}-{}.json", &blake3::hash(all.to_string().as_bytes()).to_hex()[..16])
    }
}

/// Writes anything as JSON.
fn write_json(path: &Path, content: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(content).map_err(|cause| Error::value(format!("cannot be written as json: {cause}")))?;
    let mut output = Output::create(path)?;
    output.put(printable_json(&json).as_bytes())?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn finished_parts_are_not_made_again_unless_their_settings_change() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Some(folder.path().join("parts"));
        let mut context = Context { size: Size::Tiny, seed: 1, data: Vec::new(), yahoo_r3: None, kept, progress: &Silent };
        let made = std::cell::Cell::new(0);
        let ask = |context: &Context<'_>, settings: u32| {
            context.part("some part", &json!(settings), || {
                made.set(made.get() + 1);
                Ok(vec![0.1, f64::from(settings)])
            })
        };
        assert_eq!(ask(&context, 7).unwrap(), ask(&context, 7).unwrap());
        assert_eq!(made.get(), 1);
        ask(&context, 8).unwrap();
        context.seed = 2;
        ask(&context, 7).unwrap();
        assert_eq!(made.get(), 3);
        // A part that was cut off is made again.
        let broken = context.kept.clone().unwrap().join(context.file("some part", &json!(7)));
        std::fs::write(broken, b"[0.1,").unwrap();
        ask(&context, 7).unwrap();
        assert_eq!(made.get(), 4);
    }
}
