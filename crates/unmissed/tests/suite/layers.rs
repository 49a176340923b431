//! Folders follow the data, and imports only point backwards along that line.

use std::path::Path;

const FLOW: [&str; 10] =
    ["data", "propensity", "metrics", "request", "evaluate", "losses", "predict", "train", "report", "experiments"];

#[test]
fn imports_point_backwards() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut checked = 0;
    for (place, folder) in FLOW.iter().enumerate() {
        for_each_file(&source.join(folder), &mut |path, text| {
            for later in &FLOW[place + 1..] {
                // Documentation may look ahead, code may not.
                let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                let forbidden = format!("crate::{later}");
                let bad =
                    code.filter(|line| line.contains(&format!("{forbidden}::")) || line.contains(&format!("{forbidden};"))).count();
                assert_eq!(bad, 0, "{} imports from '{later}', which comes after '{folder}'", path.display());
            }
            checked += 1;
        });
    }
    assert!(checked > 10, "the folders were not found");
}

fn for_each_file(folder: &Path, look: &mut dyn FnMut(&Path, &str)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            for_each_file(&path, look);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            look(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
