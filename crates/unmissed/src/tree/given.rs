//! `given:FILE`: a hierarchy of the user's own, or a tree that was exported.
//!
//! The file is a csv with the columns `node` and `parent`. A node that is a whole number is that label; any other name is an inner
//! node. No parent means that the node is directly below the root; so is an inner node that is a parent and has no line of its own.
//! Each label has exactly one line, since a tree has one way to each label. Nodes with a single child are left out: there is nothing
//! to decide there.
//!
//! # Assumes
//! The hierarchy is about these labels, by their numbers. How well it divides them is not checked.

use super::shape::{Grown, Tree};
use super::{TreeBuilder, TreeData, TreeSpec};
use crate::data::{Output, Source, not_csv};
use crate::error::{Error, Result};
use crate::sealed::Sealed;
use crate::spec::Named;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// `given:FILE`. See the module's page.
///
/// ```
/// use unmissed::tree::given::{read, write};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("tree.csv");
/// std::fs::write(&path, "node,parent\nfruit,\n0,fruit\n1,fruit\n2,\n")?;
/// let tree = read(&path, 3)?;
/// assert_eq!(tree.labels_below(0).collect::<Vec<_>>(), [&[0, 1][..], &[2]]);
/// write(&tree, &path)?;
/// assert_eq!(read(&path, 3)?, tree);
/// std::fs::write(&path, "node,parent\na,b\nb,a\n0,a\n")?;
/// let cycle = read(&path, 1).unwrap_err().to_string();
/// assert!(cycle.ends_with("tree.csv:2: node 'a' is below itself: expected a parent that leads to the root"), "{cycle}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Given;

impl Sealed for Given {}

impl Named for Given {
    fn name(&self) -> &'static str {
        "given"
    }

    fn summary(&self) -> &'static str {
        "a hierarchy in a csv file 'node,parent'; whole numbers are labels"
    }
}

impl TreeBuilder for Given {
    fn syntax(&self) -> &'static str {
        "given:FILE"
    }

    fn parse(&self, arguments: Option<&str>) -> Result<TreeSpec> {
        match arguments {
            Some(file) if !file.is_empty() => Ok(TreeSpec::of_file(&Given, file.into())),
            _ => Err(Error::value("'given' names no file").expected("given:FILE")),
        }
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn arguments(&self, spec: &TreeSpec) -> String {
        spec.file().map_or_else(String::new, |file| file.display().to_string())
    }

    fn build(&self, spec: &TreeSpec, data: &TreeData<'_>) -> Result<Tree> {
        let file = spec.file().ok_or_else(|| Error::value("'given' names no file").expected("given:FILE"))?;
        read(file, data.label_rows.labels())
    }
}

/// An inner node of the file.
#[derive(Default)]
struct Inner {
    name: String,
    line: u64,
    listed: bool,
    parent: Option<usize>,
    children: Vec<Child>,
}

#[derive(Clone, Copy)]
enum Child {
    Label(u32),
    Node(usize),
}

/// Reads a tree over so many labels.
pub fn read(path: impl AsRef<Path>, labels: usize) -> Result<Tree> {
    let path = path.as_ref();
    let bytes = Source::open(path, true)?.into_bytes()?;
    parse(bytes.as_ref(), labels).map_err(|error| error.in_file(path))
}

fn parse(bytes: &[u8], labels: usize) -> Result<Tree> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(bytes);
    let broken = |cause: csv::Error| not_csv(&cause);
    let header = reader.headers().map_err(broken)?.clone();
    let column = |wanted: &str| {
        let found = header.iter().position(|field| field == wanted);
        found.ok_or_else(|| Error::format(format!("no column '{wanted}'")).expected("a header 'node,parent'").at(1))
    };
    let (node_column, parent_column) = (column("node")?, column("parent")?);
    let mut nodes: Vec<Inner> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut lines = vec![0u64; labels];
    let mut top = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let (name, parent) = (record.get(node_column).unwrap_or(""), record.get(parent_column).unwrap_or(""));
        if name.is_empty() {
            return Err(Error::format("a node without a name").expected("a label or the name of an inner node").at(line));
        }
        let parent = match parent {
            "" => None,
            number if is_label(number) => {
                return Err(Error::format(format!("label {number} has children"))
                    .expected("the name of an inner node as the parent; whole numbers are labels")
                    .at(line));
            }
            parent => Some(inner(&mut nodes, &mut by_name, parent, line)),
        };
        let child = if is_label(name) {
            let label = name.parse::<u32>().ok().filter(|label| (*label as usize) < labels).ok_or_else(|| {
                Error::format("cannot read a label").expected(format!("a whole number below {labels}")).found(name).at(line)
            })?;
            let before = std::mem::replace(&mut lines[label as usize], line);
            if before > 0 {
                return Err(twice(&format!("label {label}"), before, line));
            }
            Child::Label(label)
        } else {
            let node = inner(&mut nodes, &mut by_name, name, line);
            if nodes[node].listed {
                return Err(twice(&format!("node '{name}'"), nodes[node].line, line));
            }
            (nodes[node].listed, nodes[node].line, nodes[node].parent) = (true, line, parent);
            Child::Node(node)
        };
        match parent {
            Some(parent) => nodes[parent].children.push(child),
            None => top.push(child),
        }
    }
    top.extend((0..nodes.len()).filter(|node| !nodes[*node].listed).map(Child::Node));
    if let Some(label) = lines.iter().position(|line| *line == 0) {
        return Err(Error::format(format!("label {label} is missing from the tree"))
            .expected(format!("a line for each of {labels} labels")));
    }
    check_ways_up(&nodes)?;
    if let Some(empty) = nodes.iter().find(|node| node.children.is_empty()) {
        return Err(Error::format(format!("node '{}' has no labels below it", empty.name)).at(empty.line));
    }
    Tree::from_grown(grow(&top, &nodes), labels)
}

/// Whether a name is a label's: a whole number.
fn is_label(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

fn twice(what: &str, before: u64, line: u64) -> Error {
    Error::format(format!("{what} occurs twice"))
        .expected("one parent for each node")
        .found(format!("another in line {before}"))
        .at(line)
}

/// The inner node of this name, made if it is new.
fn inner(nodes: &mut Vec<Inner>, by_name: &mut HashMap<String, usize>, name: &str, line: u64) -> usize {
    *by_name.entry(name.to_owned()).or_insert_with(|| {
        nodes.push(Inner { name: name.to_owned(), line, ..Inner::default() });
        nodes.len() - 1
    })
}

/// Every node leads to the root in so few steps that it can be walked.
fn check_ways_up(nodes: &[Inner]) -> Result<()> {
    // 0: not looked at yet, 1: on the present way, 2: leads to the root.
    let mut state = vec![0u8; nodes.len()];
    for start in 0..nodes.len() {
        let (mut at, mut way) = (Some(start), Vec::new());
        while let Some(node) = at {
            match state[node] {
                0 => {
                    state[node] = 1;
                    way.push(node);
                    at = nodes[node].parent;
                }
                1 => {
                    // Of the nodes that lead to each other, the one that comes first in the file.
                    let cycle = way.iter().skip_while(|other| **other != node);
                    let first = cycle.min_by_key(|other| nodes[**other].line).map_or(node, |first| *first);
                    return Err(Error::format(format!("node '{}' is below itself", nodes[first].name))
                        .expected("a parent that leads to the root")
                        .at(nodes[first].line));
                }
                _ => break,
            }
        }
        way.into_iter().for_each(|node| state[node] = 2);
    }
    Ok(())
}

/// Nested nodes, those above below them made first, so that nothing is recursive.
fn grow(top: &[Child], nodes: &[Inner]) -> Grown {
    let mut order: Vec<usize> = Vec::with_capacity(nodes.len());
    let mut waiting: Vec<usize> =
        top.iter().filter_map(|child| if let Child::Node(node) = child { Some(*node) } else { None }).collect();
    while let Some(node) = waiting.pop() {
        order.push(node);
        waiting
            .extend(nodes[node].children.iter().filter_map(|child| if let Child::Node(node) = child { Some(*node) } else { None }));
    }
    let mut grown: Vec<Option<Grown>> = nodes.iter().map(|_| None).collect();
    let together = |children: &[Child], grown: &mut Vec<Option<Grown>>| {
        let take = |child: &Child| match child {
            Child::Label(label) => Some(Grown::Label(*label)),
            Child::Node(node) => grown[*node].take(),
        };
        let mut children: Vec<Grown> = children.iter().filter_map(take).collect();
        match children.pop() {
            Some(only) if children.is_empty() => only,
            last => {
                children.extend(last);
                Grown::Node(children)
            }
        }
    };
    for node in order.into_iter().rev() {
        grown[node] = Some(together(&nodes[node].children, &mut grown));
    }
    together(top, &mut grown)
}

/// Writes a tree so that it can be given again.
pub fn write(tree: &Tree, path: impl AsRef<Path>) -> Result<()> {
    let mut text = String::from("node,parent\n");
    for node in 0..tree.nodes() {
        let parent = if node == 0 { String::new() } else { format!("n{node}") };
        for lane in tree.lanes(node) {
            let name = tree
                .child(lane)
                .map_or_else(|| tree.label(lane).map_or_else(String::new, |l| l.to_string()), |child| format!("n{child}"));
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{name},{parent}");
        }
    }
    let mut output = Output::create(path)?;
    output.put(text.as_bytes())?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_trees_say_where() {
        for (text, labels, expected) in [
            ("", 1, "1: no column 'node'"),
            ("node,above\n", 1, "1: no column 'parent'"),
            ("node,parent\n0,\n", 2, "label 1 is missing from the tree"),
            ("node,parent\n0,\n2,\n", 2, "3: cannot read a label: expected a whole number below 2, found 2"),
            ("node,parent\n0,\n0,a\n", 1, "3: label 0 occurs twice"),
            (
                "node,parent\na,\n0,a\na,b\n",
                1,
                "4: node 'a' occurs twice: expected one parent for each node, found another in line 2",
            ),
            ("node,parent\n0,\n1,0\n", 2, "3: label 0 has children"),
            ("node,parent\na,b\nb,c\nc,a\n0,a\n", 1, "2: node 'a' is below itself"),
            ("node,parent\n0,\na,\n", 1, "3: node 'a' has no labels below it"),
            ("node,parent\n0,\n,\n", 1, "3: a node without a name"),
            ("node,parent\n99999999999999999999,\n", 1, "2: cannot read a label"),
        ] {
            let error = parse(text.as_bytes(), labels).unwrap_err().in_file("t.csv").to_string();
            let expected = if expected.starts_with(|c: char| c.is_ascii_digit()) {
                format!("t.csv:{expected}")
            } else {
                format!("t.csv: {expected}")
            };
            assert!(error.starts_with(&expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn chains_are_left_out_and_deep_trees_rejected() {
        let tree = parse(b"node,parent\na,\nb,a\nc,b\n1,c\n0,c\n", 2).unwrap();
        assert_eq!((tree.nodes(), tree.order()), (1, &[1, 0][..]));
        assert_eq!(parse(b"node,parent\na,\n0,a\n", 1).unwrap().nodes(), 1);
        let mut deep = String::from("node,parent\n");
        for level in 0..2000 {
            let above = if level == 0 { String::new() } else { format!("n{}", level - 1) };
            let _ = writeln!(deep, "n{level},{above}\n{level},{above}");
        }
        deep.push_str("2000,n1999\n2001,n1999\n");
        assert!(parse(deep.as_bytes(), 2002).unwrap_err().to_string().contains("too deep"));
    }
}
