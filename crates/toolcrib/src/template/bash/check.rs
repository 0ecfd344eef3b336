//! Which places a value may stand in.
use super::Bash;
use crate::template::TemplateProblem;
pub(super) fn check(_bash: &mut Bash) -> Vec<TemplateProblem> {
    Vec::new()
}
