//! Pages with names and texts from anywhere: nothing of them may become a part of the page.

use unmissed::audit::{Audit, Naming};
use unmissed::data::{Csr, Dataset, Labels, Names, NamesOf, Texts};
use unmissed::evaluate::judged::{AnnotationPlan, PairNames, PlanData};
use unmissed::report::page;
use unmissed::request::{AnnotateRequest, AuditRequest};

/// Renders the page of an audit and the page to judge with; names and texts are the lines of `bytes`.
pub fn render(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n').chain(std::iter::repeat(""));
    let mut line = || lines.next().unwrap_or_default();
    let models = [format!("a{}", line()), format!("b{}", line())];
    let (heading, command) = (line(), line());
    let labels: Vec<String> = (0..3).map(|label| format!("{label}{}", line())).collect();
    let rows: Vec<String> = (0..2).map(|row| format!("{row}{}", line())).collect();
    let texts = Texts::new([line(), line()]);
    let (Ok(labels), Ok(rows)) = (Names::new(NamesOf::Labels, &labels), Names::new(NamesOf::Rows, &rows)) else { return };

    let observed = || Labels::from_ids(3, [vec![0], vec![1, 2]]).expect("labels below 3");
    let test = Dataset::new(None, observed()).expect("labels alone are a data set");
    let train = Dataset::new(None, observed()).expect("labels alone are a data set");
    let a = Csr::from_rows(3, [[(1, 0.9f32), (2, 0.8)], [(0, 0.5), (2, 0.4)]]).expect("labels below 3");
    let b = Csr::from_rows(3, [[(0, 0.9f32), (2, 0.8)], [(1, 0.5), (0, 0.4)]]).expect("labels below 3");
    let naming = Naming { labels: Some(&labels), rows: Some(&rows), texts: Some(&texts) };
    if let Ok(audit) = Audit::new(&test, &[(&models[0], &a), (&models[1], &b)])
        && let Ok(audit) = audit.train(&train).names(naming)
        && let Ok(result) = audit.request(AuditRequest { name: heading.into(), ..AuditRequest::default() }).source(command, Vec::new()).run()
    {
        check(&page::render(&result).expect("a result can be shown"));
    }

    let data = PlanData { truth: test.labels(), models: &[("model", &a)], train: None };
    let plan = AnnotationPlan::new(&data, &AnnotateRequest { budget: 4, ..AnnotateRequest::default() }).expect("four pairs of a small pool");
    let names = PairNames { labels: Some(&labels), rows: Some(&rows), texts: Some(&texts) };
    check(&page::judge::render(&plan, &names, heading).expect("a plan can be shown"));
}

/// The page has its own elements and no others, whatever stands between them.
fn check(page: &str) {
    let lower = page.to_lowercase();
    assert_eq!(lower.matches("<script").count(), 2, "the page's data and its script");
    assert_eq!(lower.matches("</script").count(), 2);
    assert_eq!(lower.matches("</style").count(), 1);
    for element in ["<img", "<iframe", "<object", "<embed", "<link", "<base", "<form", "<!--", "<![cdata"] {
        assert!(!lower.contains(element), "{element}");
    }
    assert!(!page.chars().any(|c| c == '\0' || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)));
}
