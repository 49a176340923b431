use super::*;
use crate::data::Labels;
use crate::data::formats::{read, write};

fn scores() -> Csr<'static, f32> {
    Csr::from_arrays(5, vec![0, 2, 2, 4], vec![4, 0, 1, 2], vec![0.5f32, 0.0, -1.25, 1e-30]).unwrap()
}

fn data(features: bool) -> Content {
    let labels = Labels::from_ids(4, [vec![1], vec![], vec![3, 0]]).unwrap();
    Content::Data(Dataset::new(features.then(|| Features::Sparse(scores())), labels).unwrap())
}

#[test]
fn scores_come_back_with_their_zeros_and_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.npz");
    let content = Content::Scores(scores());
    let written = write(&content, &path, None).unwrap();
    assert_eq!((written.format, &written.files[..]), ("npz", &[path.clone()][..]));
    assert_eq!(read(&path, &ReadOptions::default()).unwrap(), content);
    assert_eq!(read(&path, &ReadOptions { mmap: false, ..Default::default() }).unwrap(), content);
}

#[test]
fn data_are_two_files_whatever_the_name_and_either_reads_both() {
    for name in ["d.npz", "d.x.npz", "d.y.npz"] {
        let folder = tempfile::tempdir().unwrap();
        let files = write(&data(true), folder.path().join(name), None).unwrap().files;
        assert_eq!(files, ["d.x.npz", "d.y.npz"].map(|name| folder.path().join(name)));
        for file in files {
            assert_eq!(read(file, &ReadOptions::default()).unwrap(), data(true));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(read(folder.path().join("d.npz"), &ReadOptions::default()).unwrap(), data(true));
        std::fs::remove_file(folder.path().join("d.x.npz")).unwrap();
        assert!(read(folder.path().join("d.npz"), &ReadOptions::default()).is_err());
    }
}

#[test]
fn labels_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.y.npz");
    write(&data(false), &path, None).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap(), data(false));
    let path = folder.path().join("d.npz");
    assert_eq!(write(&data(false), &path, None).unwrap().files, [&*path]);
    let Content::Scores(scores) = read(&path, &ReadOptions::default()).unwrap() else { panic!("one file is scores") };
    assert_eq!(scores.values(), [1.0; 3]);
}

#[test]
fn stored_zeros_are_not_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.y.npz");
    write(&Content::Scores(scores()), &path, None).unwrap();
    let Content::Data(data) = read(&path, &ReadOptions::default()).unwrap() else { panic!("labels are data") };
    assert_eq!(data.labels().row_ids(0), [4]);
}

#[test]
fn different_numbers_of_rows_name_both_files() {
    let folder = tempfile::tempdir().unwrap();
    write(&data(true), folder.path().join("d.npz"), None).unwrap();
    let short = scores().select_rows(&[0]);
    write(&Content::Scores(short), folder.path().join("d.y.npz"), None).unwrap();
    let message = read(folder.path().join("d.x.npz"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("d.x.npz: features and labels have different numbers of rows"), "{message}");
    assert!(message.contains("d.y.npz make one data set"), "{message}");
}

#[test]
fn a_damaged_sibling_is_the_one_to_blame() {
    let folder = tempfile::tempdir().unwrap();
    write(&data(true), folder.path().join("d.npz"), None).unwrap();
    std::fs::write(folder.path().join("d.y.npz"), b"PK\x03\x04").unwrap();
    let error = read(folder.path().join("d.x.npz"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.path(), Some(&*folder.path().join("d.y.npz")));
}

#[test]
fn compression_by_name_is_refused() {
    let error = write(&data(false), "d.npz.gz", Some("npz")).unwrap_err();
    assert!(error.to_string().contains("already compressed"), "{error}");
}
