//! The command line of unmissed: arguments in, documents out. All the work is done by the library.

mod app;
mod args;
mod bar;
#[cfg(unix)]
mod bus_error;
mod choice_table;
mod cmd;

use app::App;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use unmissed::data::remove_unfinished;

/// How good is a multi-label model really, when its labels are incomplete and long-tailed?
#[derive(Parser)]
#[command(name = "unmissed", version, propagate_version = true, max_term_width = 110, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    global: args::Global,
    #[command(subcommand)]
    command: cmd::Command,
}

const AFTER_HELP: &str =
    "Exit codes: 0 success, 1 a gate of audit or a claim of reproduce failed, 2 wrong usage or bad input, 130 interrupted.";

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Not being able to watch for Ctrl-C is no reason not to work: the default action still stops the process.
    let _ = ctrlc::set_handler(|| {
        remove_unfinished();
        let _ =
            writeln!(std::io::stderr(), "interrupted: unfinished files were removed; a training run can be resumed with --resume");
        std::process::exit(130);
    });
    #[cfg(unix)]
    bus_error::explain();
    let app = App::new(cli.global);
    match app.bound_files().and_then(|()| app.pool()).and_then(|pool| pool.install(|| cli.command.run(&app))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            app.complain(&failure);
            failure.exit_code()
        }
    }
}
