use super::*;
use crate::cells;
use crate::report::{Cell, Column, Shown, Table};
use unicode_width::UnicodeWidthStr;

fn rendered(name: &str, document: &Document, width: Option<usize>) -> String {
    let mut out = Vec::new();
    find(name).unwrap().render(document, &Screen::of_width(width), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn evaluation() -> Document {
    let columns = [Column::new("metric"), Column::new("k"), Column::new("value").fixed(4), Column::new("time").unit("s")];
    let mut table = Table::new("evaluation", columns).titled("What was found");
    table.row(cells!["precision", 1_usize, 0.812345678, 1.5]);
    table.row(cells!["weighted_precision", 10_usize, -0.25, None::<f64>]);
    table.row([Cell::from("share"), Cell::Missing, Cell::float(0.123, Shown::Percent(1)), Cell::from(1.25e-7)]);
    Document::new().table(table).note("A note.")
}

#[test]
fn a_table_for_the_terminal() {
    let expected = "\
What was found
metric               k    value  time (s)
─────────────────────────────────────────
precision            1   0.8123     1.500
weighted_precision  10  -0.2500         –
share                –    12.3%  1.250e-7

A note.
";
    let drawn = rendered("table", &evaluation(), Some(80));
    assert_eq!(drawn, expected, "\n{drawn}");
    assert_eq!(rendered("table", &evaluation(), None), expected);
}

#[test]
fn long_texts_are_wrapped_and_wide_tables_become_records() {
    let mut table = Table::new("t", ["name", "value"]);
    table.row(cells!["a long text that has to be wrapped somewhere to fit into sixty columns of a terminal", 123456_usize]);
    let expected = "\
name                                                   value
────────────────────────────────────────────────────────────
a long text that has to be wrapped somewhere to fit   123456
into sixty columns of a terminal
";
    let drawn = rendered("table", &Document::new().table(table), Some(60));
    assert_eq!(drawn, expected, "\n{drawn}");

    let mut table = Table::new("t", (0..20).map(|i| format!("column {i}")));
    table.row((0..20).map(|i| Cell::from(1_000_000 + i)));
    let drawn = rendered("table", &Document::new().table(table), Some(60));
    assert!(drawn.contains("column 0   1000000\ncolumn 1   1000001\n"), "\n{drawn}");
}

#[test]
fn a_number_and_its_sign_stay_on_one_line() {
    let drawn = rendered("table", &Document::new().note("It would be beyond 100 % which cannot be"), Some(22));
    assert_eq!(drawn, "It would be beyond\n100 % which cannot be\n");
}

#[test]
fn json_is_the_data_or_else_the_tables() {
    let document = evaluation().data(serde_json::json!({"rows": [0.1]})).unwrap();
    assert_eq!(rendered("json", &document, None), "{\n  \"rows\": [\n    0.1\n  ]\n}\n");
    let mut table = Table::new("t", ["name", "value"]);
    table.row(cells!["a", 0.1]).row(cells!["b", f64::NAN]);
    let one = rendered("json", &Document::new().table(table.clone()), None);
    let rows = serde_json::json!([{"name": "a", "value": 0.1}, {"name": "b", "value": null}]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&one).unwrap(), rows);
    let other = Table::new("other", ["x"]);
    let two = rendered("json", &Document::new().table(table).table(other), None);
    let both = serde_json::json!({"t": rows, "other": []});
    assert_eq!(serde_json::from_str::<serde_json::Value>(&two).unwrap(), both);
}

#[test]
fn csv_joins_tables_with_the_same_columns() {
    let table = |name: &str, value: f64| {
        let mut table = Table::new(name, ["name", "value"]);
        table.row(cells![name.to_owned(), value]);
        table
    };
    let document = Document::new().table(table("a, \"b\"", 1e-300)).table(table("=1+1", 2.0)).table(Table::new("c", ["x"]));
    assert_eq!(rendered("csv", &document, None), "name,value\n\"a, \"\"b\"\"\",1e-300\n'=1+1,2.0\n\nx\n");
}

#[test]
fn markdown_as_github_draws_it() {
    let expected = "\
**What was found**

| metric | k | value | time (s) |
| :--- | ---: | ---: | ---: |
| precision | 1 | 0.8123 | 1.500 |
| weighted\\_precision | 10 | -0.2500 | – |
| share | – | 12.3% | 1.250e-7 |

A note.
";
    assert_eq!(rendered("markdown", &evaluation(), None), expected);
}

#[test]
fn latex_with_booktabs() {
    let expected = "\
% What was found
\\begin{tabular}{lrrr}
\\toprule
metric & k & value & time (s) \\\\
\\midrule
precision & 1 & 0.8123 & 1.500 \\\\
weighted\\_precision & 10 & $-$0.2500 & -- \\\\
share & -- & 12.3\\% & $1.250 \\times 10^{-7}$ \\\\
\\bottomrule
\\end{tabular}
% A note.
";
    assert_eq!(rendered("latex", &evaluation(), None), expected);
}

const HOSTILE: &str = "a|b & 50% \\ {x} _y_ ^~#$ [*] `c`\n<script>alert(1)</script>\u{1b}[31m\0\u{202e},\"q\"";

fn hostile() -> Document {
    let mut table = Table::new(HOSTILE, [Column::new(HOSTILE).unit(HOSTILE), Column::new("b")]).titled(HOSTILE);
    table.row(cells![HOSTILE, 1_usize]);
    Document::new().table(table).note(HOSTILE)
}

#[test]
fn hostile_texts_are_tamed() {
    let markdown = rendered("markdown", &hostile(), None);
    let row = markdown.lines().find(|line| line.starts_with("| a")).unwrap();
    assert!(row.starts_with("| a\\|b &amp; 50% \\\\ {x} \\_y\\_ ^\\~\\#\\$ \\[\\*\\] \\`c\\` &lt;script&gt;"), "{row}");
    let latex = rendered("latex", &hostile(), None);
    let row = latex.lines().find(|line| line.ends_with("& 1 \\\\")).unwrap();
    let expected =
        "a\\textbar{}b \\& 50\\% \\textbackslash{} \\{x\\} \\_y\\_ \\textasciicircum{}\\textasciitilde{}\\#\\$ {[}{*}{]} `c` ";
    assert!(row.starts_with(expected), "{row}");
    let csv = rendered("csv", &hostile(), None);
    let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(&reader.records().next().unwrap().unwrap()[0], crate::data::printable(HOSTILE));
}

/// What every renderer owes to every document.
#[test]
fn conformance() {
    let mut missing = Table::new("m", ["a", "b"]);
    missing.row([]).row(cells![f64::NAN, f64::INFINITY]);
    let mut wide = Table::new("w", ["名前", "שם", "n"]).titled("漢字".repeat(50));
    wide.row(cells!["漢字かな交じり文".repeat(10), "שלום עולם", 1.0]);
    wide.row(cells!["👩‍👩‍👧‍👦é".repeat(30), "x".repeat(5000), -1e300]);
    let mut many = Table::new("many", (0..40).map(|i| format!("a rather long column name {i}")));
    many.row((0..40).map(|i| Cell::from(f64::from(i).sqrt())));
    let documents = [
        Document::new(),
        Document::new().note("n ".repeat(300)),
        Document::new().table(Table::new("no columns", [] as [&str; 0])),
        Document::new().table(Table::new("no rows", ["a", "b"])),
        Document::new().table(missing).table(Table::new("no rows", ["a"])),
        Document::new().table(wide),
        Document::new().table(many),
        hostile(),
        evaluation(),
    ];
    for renderer in RENDERERS {
        let name = renderer.name();
        assert!(!renderer.summary().is_empty() && find(name).is_ok());
        for document in &documents {
            for width in [None, Some(0), Some(60), Some(61), Some(100), Some(1_000_000)] {
                let text = rendered(name, document, width);
                assert!(text.is_empty() || text.ends_with('\n'), "{name}: {text:?}");
                if name != "json" {
                    let harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
                    assert!(text.chars().all(harmless), "{name}: {text:?}");
                }
                if let (Some(width @ 60..), "table") = (width, name) {
                    let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
                    assert!(widest <= width, "{widest} > {width}\n{text}");
                }
            }
        }
    }
    let names: std::collections::BTreeSet<&str> = RENDERERS.iter().map(|renderer| renderer.name()).collect();
    assert_eq!(names.len(), RENDERERS.len());
}

/// The summary comes first, a limit keeps it, and says what is left out and how to see it.
#[test]
fn a_screen_holds_what_comes_first() {
    use crate::evaluate::Severity;
    use crate::report::{Limit, Screen};
    let mut table = Table::new("numbers", ["n"]);
    (0..30).for_each(|n| {
        table.row(cells![n]);
    });
    let document = Document::new().table(table).note("A note.").lead("Summary.", Some(Severity::Error)).lead("More.", None);
    let drawn = |screen: Screen| {
        let mut out = Vec::new();
        find("table").unwrap().render(&document, &screen, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let limited = Screen { lines: Some(Limit { lines: 10, rest: "--all shows them" }), ..Screen::default() };
    let text = drawn(limited);
    assert!(text.starts_with("Summary.\nMore.\n\n") && text.lines().count() == 10, "{text}");
    assert_eq!(text.lines().last(), Some("… and 28 more lines: --all shows them"));
    let whole = drawn(Screen::default());
    assert_eq!(whole.lines().count(), 37);
    assert_eq!(drawn(Screen { lines: Some(Limit { lines: 37, rest: "" }), ..Screen::default() }), whole);
    let painted = drawn(Screen { colour: true, ..Screen::default() });
    assert!(painted.starts_with("\u{1b}[1;31mSummary.\u{1b}[0m\nMore.\n") && !whole.contains('\u{1b}'), "{painted}");
    let machine = |name: &str| rendered(name, &document, None);
    assert!(
        machine("markdown").starts_with("Summary.")
            && machine("latex").starts_with("% Summary.")
            && !machine("csv").contains("Summary")
    );
}
