//! A folder with some data to run commands in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use unmissed::predict::file::{self, Setting, TrainOutcome, Trial};
use unmissed::predict::{About, Block, Model, Normalize};
use unmissed::request::{Adam, Criterion, Solver};

pub struct Workdir {
    folder: TempDir,
}

pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Workdir {
    pub fn new() -> Workdir {
        Workdir { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with the files that the examples in the help use.
    pub fn with_data() -> Workdir {
        let dir = Workdir::new();
        dir.run("generate balls -o . --labels 12 --dim 3 --radius 0.3,0.7 --train-rows 300 --test-rows 100 --seed 1").ok();
        std::fs::rename(dir.path("train.txt"), dir.path("train_late.txt")).unwrap();
        dir.run("mask train_late.txt --propensity power:gamma=0.5 -o train.txt").ok();
        std::fs::rename(dir.path("train.txt.propensities.csv"), dir.path("known.csv")).unwrap();
        dir.write("controlled.txt", controlled(&dir.read("test.txt")).as_bytes());
        dir.write("p.txt", predictions(&dir.read("test.txt"), 5).as_bytes());
        dir.write("q.txt", predictions(&dir.read("test.txt"), 3).as_bytes());
        dir.write("seen.txt", (0..100).map(|row| format!("{row} {}\n", row * 7 % 12)).collect::<String>().as_bytes());
        dir.write("names.txt", (0..12).map(|label| format!("label {label}\n")).collect::<String>().as_bytes());
        let line = |label: u32| format!("{label},{},{}\n", 1 + label % 4, f64::from(label % 3) / 20.0 - 0.05);
        dir.write("lines.csv", (0..12).map(line).fold("label,a,b\n".to_owned(), |text, line| text + &line).as_bytes());
        dir.write("hierarchy.tsv", (1..12).map(|label| format!("{label}\t{}\n", label / 3)).collect::<String>().as_bytes());
        dir.write("bought.tsv", (0..12).map(|label| format!("{label}\t{}\n", (label + 1) % 12)).collect::<String>().as_bytes());
        dir.write("viewed.tsv", (0..36).map(|i| format!("{}\t{}\n", i % 12, i * 7)).collect::<String>().as_bytes());
        let rating = |user: u32, item: u32, factor: u32| format!("{user},{item},{}\n", (user * factor + item * item) % 5 + 1);
        let ratings = (0..30).flat_map(|user| (0..12).map(move |item| rating(user, item, 7))).collect::<String>();
        let random = (20..30).flat_map(|user| (0..4).map(move |i| rating(user, (user + 3 * i) % 12, 3))).collect::<String>();
        dir.write("ratings.csv", ratings.as_bytes());
        dir.write("random.csv", random.as_bytes());
        // Takes training data, test data and where to write, as every trainer in an example of `crossfit`.
        dir.write("trainer.sh", b"awk 'NR == 1 { print $1, $3; next } { print \"0:1 3:0.5\" }' $2 > $3\n");
        dir.run("annotate plan --test test.txt --predictions p.txt --budget 60 -o answers").ok();
        dir.write("answers/judged.csv", judged(&dir.read("answers/pairs.csv")).as_bytes());
        sample_model(&dir.path("model.safetensors"));
        dir.run("predict model.safetensors test.txt -k 12 -o scores.txt").ok();
        dir.run("train train.txt -o tree.safetensors --tree kmeans:branch=2,leaf=4").ok();
        dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Everything in the folder and below.
    pub fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, base: &Path, files: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, base, files);
                } else {
                    files.push(path.strip_prefix(base).unwrap().display().to_string());
                }
            }
        }
        let mut files = Vec::new();
        walk(self.folder.path(), self.folder.path(), &mut files);
        files.sort();
        files
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("unmissed"));
        command.current_dir(self.folder.path());
        command
    }

    /// Runs `unmissed` with space-separated arguments.
    pub fn run(&self, arguments: &str) -> Finished {
        self.run_args(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    pub fn run_args(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command().args(arguments).output().unwrap())
    }

    /// Standard output as JSON.
    pub fn json(&self, arguments: &str) -> serde_json::Value {
        serde_json::from_str(&self.run(&format!("{arguments} --format json")).ok()).unwrap()
    }
}

impl Finished {
    fn of(output: Output) -> Finished {
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The output of a run that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// The message of a run that must have been refused: one line, exit code 2, nothing on standard output.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!(self.code, Some(2), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        let message = self.stderr.strip_prefix("error: ").expect(&self.stderr).trim_end().to_owned();
        assert!(!message.contains('\n'), "{message}");
        message
    }
}

/// A csv of pairs with a judgement for each, by a rule.
fn judged(pairs: &str) -> String {
    let mut lines = pairs.lines();
    let header = format!("{}\n", lines.next().unwrap());
    let answer = |line: &str| {
        let cells: Vec<usize> = line.split(',').skip(1).take(2).map(|cell| cell.parse().unwrap()).collect();
        format!("{line}{}\n", (cells[0] + cells[1]) % 2)
    };
    header + &lines.map(answer).collect::<String>()
}

/// Twelve labels on the three features of the balls, some weights zero, with what training leaves in a model.
fn sample_model(path: &Path) {
    let weight = |at: usize| if at.is_multiple_of(5) { 0.0 } else { (at as f32 - 17.0) / 6.0 };
    let bias = (0..12).map(|label| label as f32 / 12.0 - 1.0).collect();
    let model = Model::new(3, Normalize::L2, vec![Block { first: 0, bias, weights: (0..36).map(weight).collect() }]).unwrap();
    let mut about = About::new("logistic", 1);
    about.rows = Some(300);
    about.label_counts = Some((1..13).map(|label| label * 7).collect());
    let trial = |decay, loss, chosen| {
        let setting = Setting { learning_rate: Some(0.02), decay };
        Trial { setting, epoch: Some(12), loss: Some(loss), metric: None, seconds: None, chosen }
    };
    about.outcome = Some(TrainOutcome {
        solver: Solver::Adam(Adam { epochs: 12, ..Adam::default() }),
        decay: 0.001,
        clip: None,
        weighted: false,
        criterion: Some(Criterion::Loss),
        decided_on_rows: Some(30),
        tuning: Some(vec![trial(0.0, 0.31, false), trial(0.001, 0.29, true)]),
        choice: None,
        calibration: None,
        effective_sample_size: None,
        raised_propensities: 0,
        shrunken_propensities: false,
        stack: None,
        later: None,
    });
    file::write(&model, &about, path).unwrap();
}

/// Each row of a data set was shown every third label, counted from its own number: 4 of 12.
fn controlled(text: &str) -> String {
    let mut lines = text.lines();
    let mut controlled = format!("{}\n", lines.next().unwrap());
    for (row, line) in lines.enumerate() {
        let (labels, features) = line.split_once(' ').unwrap();
        let shown = |label: &&str| label.parse::<usize>().is_ok_and(|label| (row + label) % 3 == 0);
        let kept: Vec<&str> = labels.split(',').filter(shown).collect();
        controlled.push_str(&format!("{} {features}\n", kept.join(",")));
    }
    controlled
}

/// For each row four labels: the true ones first, except in every `wrong`th row.
fn predictions(text: &str, wrong: usize) -> String {
    let rows = text.lines().skip(1).enumerate().map(|(row, line)| {
        let truth: Vec<usize> = line.split(' ').next().unwrap().split(',').filter_map(|label| label.parse().ok()).collect();
        let others = (0..12).map(|i| (i * 5 + row) % 12).filter(|label| !truth.contains(label));
        let first = if row % wrong == 0 { Vec::new() } else { truth.clone() };
        let labels = first.into_iter().chain(others).take(4).enumerate();
        labels.map(|(rank, label)| format!("{label}:{}", 10 - rank)).collect::<Vec<_>>().join(" ") + "\n"
    });
    let rows: Vec<String> = rows.collect();
    format!("{} 12\n{}", rows.len(), rows.concat())
}
