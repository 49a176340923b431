//! `unmissed man`: the help as manual pages.

use crate::app::{App, Outcome};
use crate::args::folder;
use clap::CommandFactory;
use clap_mangen::Man;
use std::path::{Path, PathBuf};
use unmissed::Error;
use unmissed::data::Output;

/// Write the manual pages: unmissed.1, and one for each command
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  unmissed man -o man1")]
pub(crate) struct Args {
    /// Folder for the pages
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let folder = folder(&args.output)?;
    // 'help' is a command of every command that has some; pages of it would only say that.
    let mut command = crate::Cli::command().disable_help_subcommand(true);
    // Gives commands the names of their pages, and those of their parents' options that they have.
    command.build();
    let pages = write(&command, &folder)?;
    app.note(&format!("wrote {pages} pages into {}", folder.display()));
    Ok(())
}

/// Writes the pages of a command and of those that it has; gives their number.
fn write(command: &clap::Command, folder: &Path) -> Outcome<usize> {
    let page = Man::new(command.clone());
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|cause| Error::io("cannot write", &path, cause))?;
    let mut output = Output::create(&path)?;
    output.put(&text)?;
    output.finish()?;
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| write(command, folder))
        .try_fold(1, |pages, more| -> Outcome<usize> { Ok(pages + more?) })
}
