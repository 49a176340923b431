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
use unmissed::data::{printable, printable_lines, remove_unfinished};

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
    let cli = parsed();
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

/// The arguments. Clap repeats wrong ones as they are, and the names of files come from elsewhere (`unmissed convert *`): so the
/// complaint is made from printable arguments.
fn parsed() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let shown = std::env::args_os().map(|argument| printable(&argument.to_string_lossy()).into_owned());
        match Cli::try_parse_from(shown) {
            Err(same) if same.use_stderr() => same.exit(),
            // What was wrong has become right, such as text that was not UTF-8.
            _ => {
                let _ = writeln!(std::io::stderr(), "{}", printable_lines(error.render().to_string().trim_end()));
                std::process::exit(error.exit_code())
            }
        }
    })
}
