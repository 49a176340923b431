//! How much room words take, and how they are broken into lines. The measures are those of DejaVu Sans, rounded by kinds of letters:
//! enough to place words, not to set type.

use crate::report::text::plain;

/// The width of a text in units of the drawing.
pub(in crate::report) fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(advance).sum::<f64>()
}

/// The advance of a letter, in parts of the size of the font.
fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '/' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '"' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
        'A'..='Z' | '=' | '+' | '<' | '>' | '~' | '#' | '&' | '−' => 0.76,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.42,
        // Scripts whose letters are squares.
        '\u{1100}'.. => 1.0,
        _ => 0.62,
    }
}

/// The text in lines that are at most this wide, broken at spaces and after commas, and inside a word that is wider.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive([' ', ',']) {
        if !line.is_empty() && width(&line, size) + width(word.trim_end(), size) > most {
            lines.push(std::mem::take(&mut line));
        }
        for letter in word.chars() {
            if letter != ' ' && !line.is_empty() && width(&line, size) + width(letter.encode_utf8(&mut [0; 4]), size) > most {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// A text on one line, not longer than a chart can bear.
pub(super) fn bounded(text: &str) -> String {
    const MOST: usize = 300;
    cut(&plain(text), MOST)
}

/// A text that fits into so many letters.
pub(in crate::report) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_inside_long_ones() {
        assert_eq!(wrapped("a b c", 12.0, 500.0), ["a b c"]);
        assert_eq!(wrapped("one two three", 10.0, 50.0), ["one two", "three"]);
        assert_eq!(wrapped("jpv:a=0.5,b=0.4", 10.0, 80.0), ["jpv:a=0.5,", "b=0.4"]);
        let long = wrapped(&format!("x {} y", "long".repeat(50)), 10.0, 100.0);
        assert!(long.len() > 5 && long.iter().all(|line| width(line, 10.0) <= 101.0), "{long:?}");
        assert_eq!(long.concat().replace(' ', "").len(), 202);
        assert!(wrapped("", 10.0, 100.0).is_empty() && wrapped("   ", 10.0, 100.0).is_empty());
    }

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!((cut("漢字漢字", 2).as_str(), cut("ab", 2).as_str()), ("漢字…", "ab"));
    }
}
