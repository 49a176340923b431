//! What a document is drawn on.

/// What a document is drawn on: how wide and long it is, and whether it has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Character columns, where that matters; `None` is no limit.
    pub width: Option<usize>,
    /// Lines; `None` is no limit.
    pub lines: Option<Limit>,
    /// Whether texts may be coloured.
    pub colour: bool,
}

/// How many lines are written, and how readers get the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The most lines.
    pub lines: usize,
    /// What to do to see the rest, as in `--all shows them`.
    pub rest: &'static str,
}

impl Screen {
    /// A screen of this width.
    pub fn of_width(width: Option<usize>) -> Screen {
        Screen { width, ..Screen::default() }
    }
}
