//! The reader of bash: cases by hand, hostile sizes, and the real bash as a judge.

mod cases;
mod hostile;
mod oracle;
mod scripts;
