//! What the commands compute and write.

use crate::workdir::Workdir;

#[test]
fn stats_of_a_small_file_by_hand() {
    let dir = Workdir::new();
    // Counts: label 0 three times, 1 once, 2 twice, 3 never.
    dir.write("d.txt", b"4 2 4\n0,2 0:1\n0,1,2 1:1\n0\n\n");
    let s = &dir.json("stats d.txt")[0]["statistics"];
    let expected = [
        ("rows", 4.0),
        ("features", 2.0),
        ("labels", 4.0),
        ("labels_occurring", 3.0),
        ("positives", 6.0),
        ("labels_per_row_mean", 1.5),
        ("labels_per_row_median", 1.5),
        ("labels_per_row_max", 3.0),
        ("rows_without_labels", 1.0),
        ("rows_per_label_mean", 1.5),
        ("few_positives_share", 1.0),
        ("min_ir", 1.0 / 3.0),
        ("rows_to_largest", 4.0 / 3.0),
        ("ilir", 3.0),
        // Labels 0 and 2 hold 5 of 6 positives: 83 % by two of four labels.
        ("pos80", 0.5),
    ];
    for (name, value) in expected {
        assert!((s[name].as_f64().unwrap() - value).abs() < 1e-12, "{name}: {}", s[name]);
    }
}

#[test]
fn stats_draws_several_data_sets() {
    let dir = Workdir::with_data();
    dir.run("stats train.txt test.txt -o plot.svg").ok();
    let svg = dir.read("plot.svg");
    assert!(svg.contains("<svg") && svg.contains("train") && svg.contains("test"));
    dir.run("stats train.txt -o plot.png").ok();
    assert!(std::fs::read(dir.path("plot.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(dir.run("stats train.txt -o plot.jpg").refused().contains(".svg"));
}

#[test]
fn conversions_there_and_back_are_exact() {
    let dir = Workdir::with_data();
    let original = dir.read("train.txt");
    for (middle, back) in [("m.npz", "m.x.npz"), ("m.txt.gz", "m.txt.gz"), ("m.xmc.zst", "m.xmc.zst")] {
        dir.run(&format!("convert train.txt {middle}")).ok();
        dir.run(&format!("convert {back} back.txt")).ok();
        assert_eq!(dir.read("back.txt"), original, "{middle}");
    }
}

#[test]
fn conversions_name_what_they_drop() {
    let dir = Workdir::with_data();
    let finished = dir.run("convert train.txt labels.scores");
    assert_eq!(finished.code, Some(0));
    assert!(finished.stderr.contains("scores cannot store this, so it was dropped: features"), "{}", finished.stderr);
    dir.write("ratings.csv", b"user,item,rating\nann,x,5\nann,y,2\nbob,y,4\n");
    dir.run("convert ratings.csv positive.txt --from ratings --positive 4").ok();
    assert_eq!(dir.read("positive.txt"), "2 0 2\n0\n1\n");
}

#[test]
fn split_merges_filters_and_keeps_every_row() {
    let dir = Workdir::with_data();
    let json = dir.json("split train.txt test.txt --min-positives 20 --test 0.25 --seed 3 -o out");
    assert_eq!((json["train_rows"].as_u64(), json["test_rows"].as_u64()), (Some(300), Some(100)));
    let kept = json["labels_kept"].as_u64().unwrap();
    assert_eq!(dir.read("out/labels.csv").lines().count() as u64, kept + 1);
    let stats = &dir.json("stats out/train.txt")[0]["statistics"];
    assert_eq!(stats["labels"].as_u64(), Some(kept));
}

#[test]
fn surveys_become_training_and_controlled_sets() {
    let dir = Workdir::with_data();
    let json = dir.json("split ratings.csv --controlled random.csv --from ratings --positive 4 -o out");
    assert_eq!((json["shown"].as_f64(), json["items"].as_u64()), (Some(4.0), Some(12)));
    assert_eq!((json["train_users"].as_u64(), json["controlled_users"].as_u64()), (Some(20), Some(10)));
    assert_eq!(dir.read("out/items.txt"), (0..12).map(|item| format!("{item}\n")).collect::<String>());
    assert_eq!(dir.read("out/train_users.txt"), (0..20).map(|user| format!("{user}\n")).collect::<String>());
    assert_eq!(dir.read("out/controlled_users.txt"), (20..30).map(|user| format!("{user}\n")).collect::<String>());
    assert_eq!(dir.json("stats out/controlled_shown.txt")[0]["statistics"]["labels_per_row_mean"], 4.0);
    let all = dir.json("split ratings.csv --controlled random.csv --from ratings --positive 4 --train-users all -o all");
    assert_eq!(all["train_users"], 30);
    let message = dir.run("split random.csv --controlled random.csv --from ratings --positive 4 -o no").refused();
    assert!(message.contains("all"), "{message}");
    let message = dir.run("split ratings.csv --controlled random.csv --from ratings -o no").refused();
    assert!(message.contains("--positive"), "{message}");
    assert!(!dir.path("no").exists());
}

#[test]
fn generated_data_are_what_was_asked_for() {
    let dir = Workdir::new();
    dir.run("generate balls -o b --labels 7 --dim 2 --train-rows 50 --test-rows 20").ok();
    assert!(dir.read("b/train.txt").starts_with("50 2 7\n"));
    assert!(dir.read("b/test.txt").starts_with("20 2 7\n"));
    let message = dir.run("generate balls -o b --radius 2,3").refused();
    assert!(message.contains("'radius'"), "{message}");
    let finished = dir.run("generate bals -o b");
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("balls"), "{}", finished.stderr);
}

#[test]
fn a_model_is_converted_into_what_training_would_have_written() {
    let dir = Workdir::with_data();
    let options = "--loss logistic --decay 0.001 -q";
    dir.run(&format!("train train.txt -o full.safetensors {options}")).ok();
    dir.run(&format!("train train.txt -o trained.safetensors {options} --half --prune 0.05")).ok();
    dir.run("convert full.safetensors small.safetensors --half --prune 0.05").ok();
    for name in ["trained", "small"] {
        dir.run(&format!("predict {name}.safetensors test.txt -k 5 -o {name}.txt")).ok();
    }
    assert_eq!(dir.read("trained.txt"), dir.read("small.txt"));
    let size = |name: &str| std::fs::metadata(dir.path(name)).unwrap().len();
    assert!(size("small.safetensors") < size("full.safetensors"));
    dir.run("train train.txt -o tree.safetensors --tree -q").ok();
    assert!(dir.run("convert tree.safetensors other.safetensors --half").stderr.contains("train it with a larger --prune"));
}
