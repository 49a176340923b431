//! Names and texts from users, made safe for the place where they are shown: terminals, messages and spreadsheets.
//!
//! Pages need neither: their templates escape what they show.

use std::borrow::Cow;

/// One printable line. Control characters (which could steer a terminal), line separators and characters that turn the direction of
/// writing (which make a text read as another) become escapes.
///
/// ```
/// use unmissed::data::printable;
/// assert_eq!(printable("caf\u{e9}, \u{75c5}\u{9662}"), "caf\u{e9}, \u{75c5}\u{9662}");
/// assert_eq!(printable("a\nb\u{1b}[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Lines, each of them printable, for messages that have several.
///
/// ```
/// use unmissed::data::printable_lines;
/// assert_eq!(printable_lines("a\n\tb\n"), "a\n\\tb\n");
/// ```
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One printable line of at most so many characters; what is longer ends in `…`.
///
/// ```
/// use unmissed::data::brief;
/// assert_eq!((brief("pneumonia", 9).as_ref(), brief("pneumonia", 5).as_ref()), ("pneumonia", "pneu…"));
/// ```
pub fn brief(text: &str, most: usize) -> Cow<'_, str> {
    // Escapes only lengthen a text, so what is cut first need not be escaped.
    let long = text.char_indices().nth(most).map(|_| ());
    let front = text.char_indices().nth(most + 1).map_or(text, |(end, _)| &text[..end]);
    let shown = printable(front);
    if long.is_none() && shown.chars().count() <= most {
        return shown;
    }
    let mut cut: String = shown.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    Cow::Owned(cut)
}

/// A printable line that no spreadsheet takes for a formula: what begins like one gets a quote in front, also behind a semicolon, at
/// which some spreadsheets divide lines. Quoting as csv needs it is left to whoever writes the file ([`csv_cell`](super::csv_cell)).
///
/// ```
/// use unmissed::data::spreadsheet_safe;
/// assert_eq!(spreadsheet_safe("=HYPERLINK(1)"), "'=HYPERLINK(1)");
/// assert_eq!((spreadsheet_safe("a=b").as_ref(), spreadsheet_safe(" @x").as_ref()), ("a=b", "' @x"));
/// assert_eq!(spreadsheet_safe("a;=b;c"), "a;'=b;c");
/// ```
pub fn spreadsheet_safe(text: &str) -> Cow<'_, str> {
    if !text.split(';').any(is_formula) {
        return printable(text);
    }
    // The raw text decides: an escaped tab in front no longer looks like one.
    let pieces = text.split(';').map(|piece| format!("{}{}", if is_formula(piece) { "'" } else { "" }, printable(piece)));
    Cow::Owned(pieces.collect::<Vec<_>>().join(";"))
}

/// Full-width signs count as the plain ones.
fn is_formula(text: &str) -> bool {
    let signs = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    text.trim_start_matches(|c: char| c.is_whitespace() || is_unsafe(c)).starts_with(signs)
}

/// JSON that means the same and is printable: what [`printable`] would escape becomes one of JSON's own escapes. Below U+0020, they are
/// there already.
///
/// ```
/// use unmissed::data::printable_json;
/// assert_eq!(printable_json("[\n\"a\u{9b}\u{202e}b\"]"), "[\n\"a\\u009b\\u202eb\"]");
/// ```
pub fn printable_json(json: &str) -> Cow<'_, str> {
    // Line ends and indentation are the only control characters of JSON, and everything else that is unsafe is inside a text.
    let is_raw = |c: char| c >= '\u{7f}' && is_unsafe(c);
    if !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_raw(c) { out.push_str(&format!("\\u{:04x}", u32::from(c))) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_printable_changes_and_nothing_else_passes() {
        for text in ["", "plain", "ünïcode 標籤 😀", "a,b\"c"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
        }
        for c in ['\0', '\n', '\r', '\t', '\u{7f}', '\u{9b}', '\u{2028}', '\u{202e}', '\u{2066}'] {
            assert!(printable(&format!("a{c}b")).starts_with("a\\"), "{c:?}");
        }
    }

    #[test]
    fn brief_texts_keep_their_length_whatever_is_in_them() {
        for text in ["", "a", "\u{1b}\u{1b}\u{1b}", "ééééééé", "\u{202e}abcdef"] {
            for most in 1..10 {
                assert!(brief(text, most).chars().count() <= most, "{text:?} {most}");
            }
        }
        assert_eq!(brief("\nab", 4), "\\nab");
        assert_eq!(brief("\nabc", 4), "\\na…");
    }

    #[test]
    fn formulas_are_disarmed_also_behind_white_space() {
        for text in ["=1", "+1", "-1", "@a", "\t=1", "\r=1", " =1", "\n-1", "\u{ff1d}1"] {
            assert!(spreadsheet_safe(text).starts_with('\''), "{text:?}");
        }
        for text in ["a;=1", "a; +1", ";\u{1b}=1", "a;b;\t@c", "\u{1b}=1"] {
            let shown = spreadsheet_safe(text);
            assert!(shown.split(';').any(|piece| piece.starts_with('\'')), "{text:?}: {shown}");
        }
        assert_eq!((spreadsheet_safe("1-1").as_ref(), spreadsheet_safe("a; b-c").as_ref()), ("1-1", "a; b-c"));
    }

    #[test]
    fn printable_json_parses_to_the_same() {
        let texts = ["\u{7f}\u{80}\u{9f}", "\u{200e}\u{200f}\u{202a}\u{2069}\u{2028}", "\n\u{1b}\"\\é標", "plain"];
        let json = serde_json::to_string_pretty(&texts).unwrap();
        let shown = printable_json(&json);
        assert!(shown.chars().all(|c| c == '\n' || !is_unsafe(c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), texts);
    }
}
