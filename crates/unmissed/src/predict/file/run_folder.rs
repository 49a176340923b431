//! The folder of a training run that is not finished yet: a manifest that says what is trained, on which data, and files of finished work.

use crate::data::Output;
use crate::error::{Error, Result};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
/// How the names of files of finished work end.
const FINISHED: &str = "block";

/// The folder `MODEL.partial`, locked until it is dropped: no second run writes into it.
pub(super) struct RunFolder {
    pub(super) model: PathBuf,
    folder: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// The folder of a model.
    pub(super) fn of(model: &Path) -> PathBuf {
        let mut name = model.as_os_str().to_owned();
        name.push(".partial");
        name.into()
    }

    pub(super) fn open(model: &Path) -> Result<RunFolder> {
        if model.is_dir() {
            return Err(Error::value("is a directory").expected("the name of a file to write").in_file(model));
        }
        let folder = RunFolder::of(model);
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
            return Err(Error::value(format!("the folder {} does not exist", parent.display())).in_file(model));
        }
        fs::create_dir_all(&folder).map_err(|cause| Error::io("cannot make the folder", &folder, cause))?;
        let path = folder.join(LOCK);
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|cause| Error::io("cannot create", &path, cause))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(Error::value("another run is at work on this model")
                .in_file(&folder)
                .hint("wait for it, or write elsewhere"));
        }
        Ok(RunFolder { model: model.to_path_buf(), folder, _lock: lock })
    }

    /// Starts a new run. Finished work of another one is not thrown away: that is for the user to decide.
    pub(super) fn create(&self, manifest: &Value) -> Result<()> {
        let entries = fs::read_dir(&self.folder).map_err(|cause| Error::io("cannot read the folder", &self.folder, cause))?;
        if entries.flatten().any(|entry| entry.path().extension().is_some_and(|end| end == FINISHED)) {
            return Err(Error::value("an unfinished run left blocks here")
                .in_file(&self.folder)
                .hint("resume it (--resume), or remove the folder"));
        }
        self.write_manifest(manifest)
    }

    /// Resumes a run that was interrupted, or starts one when there is none. What is trained, and on what, must be the same.
    pub(super) fn resume(&self, manifest: &Value) -> Result<()> {
        let path = self.folder.join(MANIFEST);
        let Ok(bytes) = fs::read(&path) else { return self.write_manifest(manifest) };
        let found: Value = serde_json::from_slice(&bytes)
            .map_err(|cause| Error::format(format!("cannot read the manifest of the unfinished run ({cause})")).in_file(&path))?;
        let mut differences = Vec::new();
        compare("", &found, manifest, &mut differences);
        match differences.first() {
            None => Ok(()),
            Some((key, before, now)) => Err(Error::value(format!("the unfinished run is another one: '{key}' differs"))
                .expected(before.clone())
                .found(now.clone())
                .in_file(&self.folder)
                .hint("resume with the settings and data of that run, or remove the folder to start anew")),
        }
    }

    fn write_manifest(&self, manifest: &Value) -> Result<()> {
        let mut output = Output::create(self.folder.join(MANIFEST))?;
        output.put(format!("{manifest:#}\n").as_bytes())?;
        output.finish()
    }

    /// The file of a piece of finished work.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{FINISHED}"))
    }

    /// Removes everything: the model is there.
    pub(super) fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.folder).map_err(|cause| Error::io("cannot remove the folder", &self.folder, cause))
    }
}

/// A run that failed before it finished anything leaves nothing behind.
impl Drop for RunFolder {
    fn drop(&mut self) {
        let Ok(mut entries) = fs::read_dir(&self.folder) else { return };
        let own = [MANIFEST, LOCK];
        let is_own = |entry: fs::DirEntry| own.iter().any(|name| entry.file_name() == *name);
        if entries.all(|entry| entry.is_ok_and(is_own)) {
            // The folder itself stays if something appears in it meanwhile.
            own.iter().for_each(|name| drop(fs::remove_file(self.folder.join(name))));
            drop(fs::remove_dir(&self.folder));
        }
    }
}

/// Where two JSON values differ, deepest first, and what each has there.
fn compare(key: &str, before: &Value, now: &Value, differences: &mut Vec<(String, String, String)>) {
    if let (Value::Object(before), Value::Object(now)) = (before, now) {
        let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        for name in names {
            let path = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            compare(&path, before.get(name).unwrap_or(&Value::Null), now.get(name).unwrap_or(&Value::Null), differences);
        }
    } else if before != now {
        differences.push((key.to_owned(), before.to_string(), now.to_string()));
    }
}
