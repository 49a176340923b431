//! `train --tree`, and what other commands do with models on trees.

use crate::workdir::Workdir;

#[test]
fn trees_are_trained_searched_and_inspected() {
    let dir = Workdir::with_data();
    let trained = dir.json("train train.txt -o t.safetensors --tree kmeans:branch=3,leaf=3 --trees 2 --seed 4");
    assert_eq!((trained["summary"]["labels"].as_u64(), trained["summary"]["trees"].as_u64()), (Some(12), Some(2)));
    dir.run("train train.txt -o again.safetensors --tree kmeans:branch=3,leaf=3 --trees 2 --seed 4").ok();
    assert_eq!(std::fs::read(dir.path("t.safetensors")).unwrap(), std::fs::read(dir.path("again.safetensors")).unwrap());
    dir.run("predict t.safetensors test.txt -k 3 -o t.txt").ok();
    assert_eq!(dir.read("t.txt").lines().count(), 101);
    assert!(dir.read("t.txt").lines().skip(1).all(|line| line.split(' ').count() == 3));
    let found = dir.json("evaluate --test test.txt --predictions t.txt -k 1 --metrics precision");
    assert!(found.to_string().contains("precision"));
    let inspected = dir.run("inspect t.safetensors").ok();
    assert!(inspected.contains("kmeans:branch=3,leaf=3") && inspected.contains("made by"), "{inspected}");
    let capped = dir.run("predict t.safetensors test.txt --max-nodes 1 -o c.txt");
    assert!(capped.stderr.contains("may not have their best labels"), "{}", capped.stderr);
    let beam = dir.run("predict t.safetensors test.txt --beam 1 -o b.txt");
    assert!(beam.stderr.contains("approximately"), "{}", beam.stderr);
}

#[test]
fn trees_are_written_and_given_again() {
    let dir = Workdir::with_data();
    dir.run("train train.txt -o t.safetensors --tree random:branch=3,leaf=3 --tree-out tree.csv").ok();
    let text = dir.read("tree.csv");
    assert!(text.starts_with("node,parent\n") && text.lines().count() > 12, "{text}");
    dir.run("train train.txt -o g.safetensors --tree given:tree.csv").ok();
    dir.write("cycle.csv", b"node,parent\na,b\nb,a\n");
    let refused = dir.run("train train.txt -o g.safetensors --tree given:cycle.csv").refused();
    assert!(refused.starts_with("cycle.csv: label 0 is missing"), "{refused}");
    let lines: String = (0..12).map(|label| format!("{label},a\n")).collect();
    dir.write("cycle.csv", format!("node,parent\na,b\nb,a\n{lines}").as_bytes());
    let refused = dir.run("train train.txt -o g.safetensors --tree given:cycle.csv").refused();
    assert!(refused.starts_with("cycle.csv:2: node 'a' is below itself"), "{refused}");
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let dir = Workdir::with_data();
    for (options, says) in [
        ("--tree oak", "unknown tree 'oak'"),
        ("--tree --trees 0", "number of trees"),
        ("--tree huffman --trees 2", "is the same"),
        ("--tree --cost 0", "cost"),
        ("--tree --trees 2 --tree-out tree.csv", "--tree-out"),
        ("--tree --loss logistic", "cannot be used with"),
        ("--tree --tune", "cannot be used with"),
        ("--trees 3", "--tree"),
        ("--tree --correction count", "--propensity"),
    ] {
        let finished = dir.run(&format!("train train.txt -o x.safetensors {options}"));
        assert_eq!(finished.code, Some(2), "{options}: {}", finished.stderr);
        assert!(finished.stderr.contains(says), "{options}: {}", finished.stderr);
    }
    assert!(dir.run("predict model.safetensors test.txt --beam 3 -o x.txt").refused().contains("models on trees"));
    assert!(dir.run("predict tree.safetensors test.txt --logits -o x.txt").refused().contains("no logits"));
}

#[test]
fn propensities_correct_trees() {
    let dir = Workdir::with_data();
    dir.run("train train.txt -o plugin.safetensors --tree --propensity table:known.csv").ok();
    dir.run("train train.txt -o count.safetensors --tree --propensity table:known.csv --correction count").ok();
    dir.run("train train.txt -o plain.safetensors --tree").ok();
    dir.run("predict plugin.safetensors test.txt -k 4 -o a.txt").ok();
    dir.run("predict plain.safetensors test.txt -k 4 --propensity table:known.csv -o b.txt").ok();
    dir.run("predict count.safetensors test.txt -k 4 -o c.txt").ok();
    assert_eq!(dir.read("a.txt"), dir.read("b.txt"));
    let twice = dir.run("predict plugin.safetensors test.txt --propensity jpv -o d.txt");
    assert!(twice.stderr.contains("corrects a second time"), "{}", twice.stderr);
}

/// What lines choose among all labels is what they choose from stored probabilities of all labels, for both kinds of models.
#[test]
fn lines_rank_the_labels_of_new_rows() {
    let dir = Workdir::with_data();
    dir.run("optimize scores.txt --metric macro-f@2 --positives stored --method frank-wolfe --save-weighting found.csv -o b.txt")
        .ok();
    for model in ["model", "tree"] {
        dir.run(&format!("predict {model}.safetensors test.txt -k 12 -o all.txt")).ok();
        for (lines, options) in [("found", ""), ("lines", ""), ("lines", "--at-most")] {
            dir.run(&format!("optimize all.txt --weighting {lines}.csv -k 2 {options} -o stored.txt")).ok();
            dir.run(&format!("predict {model}.safetensors test.txt -k 2 --weighting {lines}.csv {options} -o new.txt")).ok();
            assert_eq!(dir.read("new.txt"), dir.read("stored.txt"), "{model} {lines} {options}");
        }
        dir.run(&format!("predict {model}.safetensors test.txt -k 2 -o plain.txt")).ok();
        assert_ne!(dir.read("new.txt"), dir.read("plain.txt"));
    }
    let predict = |options: &str| dir.run(&format!("predict tree.safetensors test.txt -o x.txt {options}"));
    assert!(predict("--weighting lines.csv --weights log").stderr.contains("cannot be used with"));
    assert!(predict("--at-most").stderr.contains("--weighting"));
    dir.write("short.csv", b"label,a,b\n0,1,0\n");
    assert!(predict("--weighting short.csv").refused().starts_with("short.csv: "));
}

#[test]
fn sizes_are_told_before_training_and_kept_to() {
    let dir = Workdir::new();
    dir.run("generate balls -o . --labels 30 --dim 5 --radius 0.3,0.7 --train-rows 1200 --test-rows 10 --seed 1").ok();
    let told = dir.run("train train.txt -o t.safetensors --tree").stderr;
    assert!(told.contains("judged by a tree on a part of the rows") && told.contains("judged by the first parts"), "{told}");
    let refused = dir.run("train train.txt -o x.safetensors --tree --max-model-size 1B").stderr;
    assert!(refused.contains("expected at most 1 B, found about "), "{refused}");
}

/// On Linux, unless it promises memory that it does not have, an allocation that fails would end the process.
#[cfg(target_os = "linux")]
#[test]
fn numbers_of_features_that_no_memory_holds_are_refused() {
    if std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|how| how.trim() == "1") {
        return;
    }
    let dir = Workdir::new();
    dir.write("wide.txt", b"2 4000000000 2\n0 5:1\n1 7:1\n");
    for options in ["--tree", ""] {
        let refused = dir.run(&format!("train wide.txt -o m {options}")).refused();
        assert!(refused.contains("the memory cannot hold the weights of 4000000000 features"), "{options}: {refused}");
        assert_eq!(dir.files(), ["wide.txt"]);
    }
}

#[test]
fn assumed_and_raised_propensities_are_told() {
    let dir = Workdir::with_data();
    let trained = dir.run("train train.txt -o a.safetensors --tree --propensity constant:p=0.01").ok();
    assert!(trained.contains("come from a curve") && trained.contains("--later"), "{trained}");
    assert!(trained.contains(" labels are observed more often than their propensity allows"), "{trained}");
    let trained = dir.run("train train.txt -o b.safetensors --tree --propensity table:known.csv").ok();
    assert!(!trained.contains("come from a curve"), "{trained}");
}

#[test]
fn trees_are_trained_on_later_labels() {
    let dir = Workdir::with_data();
    let trained = dir.run("train train.txt -o l.safetensors --tree --later train_late.txt").ok();
    assert!(trained.contains("Trained on the later labels"), "{trained}");
    dir.run("train train_late.txt -o same.safetensors --tree").ok();
    dir.run("predict l.safetensors test.txt -o l.txt").ok();
    dir.run("predict same.safetensors test.txt -o same.txt").ok();
    assert_eq!(dir.read("l.txt"), dir.read("same.txt"));
    let refused = |options: &str| dir.run(&format!("train train.txt -o x --tree --later train_late.txt {options}")).refused();
    dir.write("rows.csv", b"row\n1\n2\n");
    assert!(refused("--later-rows rows.csv").contains("trees take later labels of all rows"));
    assert!(refused("--propensity jpv").contains("later labels take no propensities"));
    assert!(refused("--controlled controlled.txt --rate 4/12").contains("later labels take no propensities"));
}

#[test]
fn a_model_is_no_list_of_predictions() {
    let dir = Workdir::with_data();
    for model in ["tree.safetensors", "model.safetensors"] {
        let refused = dir.run(&format!("evaluate --test test.txt --predictions {model} -k 1")).refused();
        assert!(refused.contains("a model, not what it predicts") && refused.contains("unmissed predict"), "{refused}");
    }
}
