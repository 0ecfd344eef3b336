//! Whether the words of `[[ … ]]` make a condition: bash refuses the whole text otherwise.

use super::syntax::Raw;

const BINARY: &[&str] = &[
    "=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
];
const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";

/// Whether the words follow the grammar of conditions.
pub(super) fn is_sound(words: &[Raw<'_>]) -> bool {
    let mut open = 0usize;
    let mut expects_term = true;
    let mut rest = words.iter().map(Raw::plain).peekable();
    let is_sign = |word: Option<&str>| matches!(word, Some("&&" | "||" | "(" | ")"));
    while let Some(word) = rest.next() {
        match (expects_term, word) {
            (true, Some("!")) => {}
            (true, Some("(")) => open += 1,
            (true, word) if is_sign(word) => return false,
            (true, word) => {
                let takes_one = word.is_some_and(is_unary);
                let takes_two = rest
                    .peek()
                    .is_some_and(|next| next.is_some_and(|next| BINARY.contains(&next)));
                if takes_two && !takes_one {
                    rest.next();
                }
                if (takes_one || takes_two) && rest.next().is_none_or(is_sign) {
                    return false;
                }
                expects_term = false;
            }
            (false, Some("&&" | "||")) => expects_term = true,
            (false, Some(")")) if open > 0 => open -= 1,
            (false, _) => return false,
        }
    }
    !expects_term && open == 0
}

fn is_unary(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next() == Some('-')
        && letters.next().is_some_and(|letter| UNARY.contains(letter))
        && letters.next().is_none()
}
