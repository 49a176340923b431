//! Texts from files, made safe before they reach a terminal, a page or a chart.
//!
//! Label names and file names are other people's data. An escape sequence among them could repaint a terminal, an override
//! of the writing direction could make a table lie, and XML does not allow control characters at all.

use std::borrow::Cow;

/// The text on one line, without escape sequences, control characters and overrides of the writing direction. Right-to-left
/// letters stay.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| !is_space(c) && !is_stripped(c)) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            skip_escape(&mut rest);
        } else if c == '\r' && rest.peek() == Some(&'\n') {
            // The newline gives the space.
        } else if is_space(c) {
            clean.push(' ');
        } else if !is_stripped(c) {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

/// A page without the characters that could make it lie; lines stay.
pub(super) fn harmless_page(page: String) -> String {
    if page.chars().all(|c| c == '\n' || !is_stripped(c)) {
        return page;
    }
    page.chars().filter(|c| *c == '\n' || !is_stripped(*c)).collect()
}

fn is_space(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_stripped(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Skips what follows an escape character: `[...m` and its kin, `]...` up to a bell or `ESC \`, or a single character.
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            while rest.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
            rest.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            let mut ahead = rest.clone();
            // An unfinished sequence swallows nothing but its introducer, so that no text disappears.
            while let Some(c) = ahead.next() {
                if c == '\u{7}' || (c == '\u{1b}' && ahead.next_if_eq(&'\\').is_some()) {
                    *rest = ahead;
                    return;
                }
            }
            rest.next();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn only_what_can_do_harm_is_taken_away() {
        for (text, clean) in [
            ("plain", "plain"),
            ("a\tb\r\nc\nd", "a b c d"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\y", "xy"),
            ("\u{1b}]never ends", "never ends"),
            ("\u{1b}", ""),
            ("\u{9b}31mc1\0", "31mc1"),
            ("a\u{202e}b\u{2066}c", "abc"),
            ("שלום 漢字", "שלום 漢字"),
        ] {
            assert_eq!(plain(text), clean, "{text:?}");
        }
    }
}
