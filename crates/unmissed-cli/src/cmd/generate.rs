//! `unmissed generate`: artificial data whose truth is known. The flags of each generator come from the library's list.

use crate::app::{App, Outcome};
use crate::args::{self, folder};
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches};
use serde_json::json;
use std::path::PathBuf;
use unmissed::cells;
use unmissed::data::Output;
use unmissed::data::formats::Content;
use unmissed::data::generators::{GENERATORS, Generator, GeneratorSettings};
use unmissed::report::{Document, Table};

/// What to generate, and where to.
pub(crate) struct Args {
    generator: &'static dyn Generator,
    settings: GeneratorSettings,
    seed: u64,
    output: PathBuf,
}

const EXAMPLES: &str = "Examples:
  unmissed generate balls -o balls --train-rows 1000 --test-rows 500 --seed 1
  unmissed generate survey -o survey --users 500 --test-users 100 --controlled-users 200 --items 50";

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let command = command
            .about("Generate artificial data whose truth is known")
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand_help_heading("Generators")
            .subcommand_value_name("GENERATOR");
        GENERATORS.iter().fold(command, |command, generator| command.subcommand(subcommand(*generator)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn subcommand(generator: &'static dyn Generator) -> Command {
    let parameters = generator.parameters().iter().map(|parameter| {
        clap::Arg::new(parameter.name)
            .long(parameter.name)
            .value_name("VALUE")
            .help(parameter.help)
            .default_value(parameter.default)
    });
    let seed = clap::Arg::new("seed").long("seed").value_name("N").help("Seed of all random choices");
    let output = clap::Arg::new("output").long("output").short('o').value_name("DIR").help("Folder for the files").required(true);
    Command::new(generator.name())
        .about(generator.summary())
        .arg(output.value_parser(clap::value_parser!(PathBuf)))
        .arg(seed.default_value("0").value_parser(clap::value_parser!(u64)))
        .args(parameters)
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let generator = *GENERATORS.iter().find(|generator| generator.name() == name).ok_or_else(missing)?;
        let mut settings = GeneratorSettings::of(generator);
        for parameter in generator.parameters() {
            if let Some(value) = matches.get_one::<String>(parameter.name) {
                let set = settings.set(parameter.name, value.clone());
                set.map_err(|error| clap::Error::raw(ErrorKind::InvalidValue, error))?;
            }
        }
        Ok(Args {
            generator,
            settings,
            seed: matches.get_one("seed").copied().unwrap_or_default(),
            output: matches.get_one::<PathBuf>("output").cloned().ok_or_else(missing)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    app.progress().begin(&format!("generating {}", args.generator.name()), 0);
    let generated = args.generator.generate(&args.settings, args.seed)?;
    let folder = folder(&args.output)?;
    let mut table = Table::new("generated", ["file", "rows", "features", "labels", "labels per row"]);
    for (stem, data) in generated.parts {
        let file = format!("{stem}.txt");
        let (rows, positives) = (data.rows(), data.labels().nnz());
        let features = data.features().map(|features| features.cols());
        table.row(cells![file.clone(), rows, features, data.labels().cols(), positives as f64 / rows as f64]);
        args::write(&Content::Data(data), &folder.join(file), Some("xmc"), app)?;
    }
    for csv in &generated.tables {
        let mut output = Output::create(folder.join(format!("{}.csv", csv.stem)))?;
        output.put(csv.to_csv().as_bytes())?;
        output.finish()?;
        app.note(&format!("wrote {}", folder.join(format!("{}.csv", csv.stem)).display()));
    }
    let settings: serde_json::Map<_, _> = args.settings.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let data = json!({"generator": args.generator.name(), "settings": settings, "seed": args.seed, "folder": folder});
    let document = Document::new().table(table).data(data)?;
    app.emit(&generated.notes.into_iter().fold(document, Document::note))
}
