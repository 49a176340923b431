//! `unmissed completions`: scripts that let a shell complete commands and options.

use crate::app::{App, Outcome};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print the completion script of a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  unmissed completions bash\n  unmissed completions fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "unmissed", &mut script);
    app.print(&script)
}
