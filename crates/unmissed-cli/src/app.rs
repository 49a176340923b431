//! What all commands share: where results and notes go, how failures end the process.

use crate::args::Global;
use crate::bar::Bar;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use unmissed::data::printable_lines;
use unmissed::error::ErrorKind;
use unmissed::progress::Progress;
use unmissed::report::{Document, Limit, Screen, renderers};

/// The result of a command.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input, bad usage, or the operating system.
    Error(unmissed::Error),
    /// Standard output could not be written.
    Stdout(io::Error),
    /// A failed gate; the results were written all the same.
    Gate(String),
}

impl Failure {
    /// Whether the reader of our output closed the pipe.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let kind = match self {
            Failure::Stdout(cause) => Some(cause.kind()),
            Failure::Error(error) => error.io_kind(),
            Failure::Gate(_) => None,
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Error(error) if error.kind() == ErrorKind::Interrupted => ExitCode::from(130),
            Failure::Gate(_) => ExitCode::from(1),
            _ => ExitCode::from(2),
        }
    }
}

impl From<unmissed::Error> for Failure {
    fn from(error: unmissed::Error) -> Self {
        Failure::Error(error)
    }
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        Failure::Stdout(cause)
    }
}

/// The state of one run.
pub(crate) struct App {
    global: Global,
    bar: Bar,
}

impl App {
    pub(crate) fn new(global: Global) -> App {
        let visible = !global.quiet && io::stderr().is_terminal();
        App { global, bar: Bar::new(visible) }
    }

    /// Bounds what compressed files may expand to.
    pub(crate) fn bound_files(&self) -> Outcome<()> {
        unmissed::data::set_max_size(self.global.max_size)?;
        Ok(())
    }

    /// The threads that the command runs on.
    pub(crate) fn pool(&self) -> Outcome<rayon::ThreadPool> {
        let threads = self.global.threads.map_or(0, usize::from);
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|cause| Failure::Error(unmissed::Error::value(format!("cannot start threads: {cause}"))))
    }

    /// The name of the renderer.
    pub(crate) fn format(&self) -> &str {
        &self.global.format
    }

    pub(crate) fn progress(&self) -> &dyn Progress {
        &self.bar
    }

    /// Prints a result in the format that was asked for.
    pub(crate) fn emit(&self, document: &Document) -> Outcome<()> {
        self.draw(document, &Screen { width: width(), lines: None, colour: colour() })
    }

    /// Prints a result that may be long: as much of it as a screen holds, or `all`, and in a pipe as wide as a terminal usually is.
    pub(crate) fn emit_page(&self, document: &Document, all: bool) -> Outcome<()> {
        let lines = (!all).then_some(Limit { lines: LINES, rest: "--all shows them, --format json has everything" });
        self.draw(document, &Screen { width: width().or(Some(WIDTH)), lines, colour: colour() })
    }

    fn draw(&self, document: &Document, screen: &Screen) -> Outcome<()> {
        self.bar.clear();
        let renderer = renderers::find(&self.global.format)?;
        let mut out = io::BufWriter::new(io::stdout().lock());
        renderer.render(document, screen, &mut out)?;
        out.flush()?;
        Ok(())
    }

    /// Prints text to standard output.
    pub(crate) fn print(&self, text: &[u8]) -> Outcome<()> {
        let mut out = io::stdout().lock();
        out.write_all(text)?;
        out.flush()?;
        Ok(())
    }

    /// Tells people something that is not a result.
    pub(crate) fn note(&self, text: &str) {
        if !self.global.quiet {
            self.bar.clear();
            // Names of files and models come from elsewhere, and must not steer the terminal. A closed standard error leaves nobody to tell.
            let _ = writeln!(io::stderr(), "{}", printable_lines(text));
        }
    }

    /// Tells people why the command failed.
    pub(crate) fn complain(&self, failure: &Failure) {
        self.bar.clear();
        let text = match failure {
            Failure::Error(error) => format!("error: {error:#}"),
            Failure::Stdout(cause) => format!("error: cannot write to standard output: {cause}"),
            Failure::Gate(why) => format!("failed: {why}"),
        };
        let _ = writeln!(io::stderr(), "{}", printable_lines(&text));
    }
}

/// The width that tables may take: the terminal's, or any in a pipe.
fn width() -> Option<usize> {
    let (columns, _) = io::stdout().is_terminal().then(terminal_size::terminal_size)??;
    Some(usize::from(columns.0))
}

/// The lines that a long result takes unless all of it is asked for.
const LINES: usize = 40;
/// The width of a long result in a pipe.
const WIDTH: usize = 80;

/// Colours are for terminals whose users have not said no (https://no-color.org).
fn colour() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}
