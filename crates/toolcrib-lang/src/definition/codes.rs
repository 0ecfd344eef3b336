//! The problems that a file can have: [`CODES`], for `toolcrib explain <code>`.
//!
//! Codes are stable: other programs match on them. Each has an example that shows it; a test reads every one of them.

use super::problem::Severity;
use super::problem::Severity::{Error, Warning};

/// What a code means.
#[derive(Debug)]
pub struct ProblemCode {
    /// The code.
    pub name: &'static str,
    /// How bad it usually is.
    pub severity: Severity,
    /// What is wrong, and why it is not accepted.
    pub meaning: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// A file that has it; `None` where no text shows it.
    pub example: Option<&'static str>,
}

/// Finds a code.
pub fn code(name: &str) -> Option<&'static ProblemCode> {
    CODES.iter().find(|code| code.name == name)
}

/// Every code.
pub static CODES: &[ProblemCode] = &[
    ProblemCode {
        name: "file-too-large",
        severity: Error,
        meaning: "The file is larger than a tool's file may be (256 KB).",
        remedy: "Put what is long into a file of its own that the command reads.",
        example: None,
    },
    ProblemCode {
        name: "not-utf8",
        severity: Error,
        meaning: "The file is not UTF-8, the one encoding of tools' files. A byte order mark is accepted.",
        remedy: "Save it as UTF-8; `iconv -f latin1 -t utf-8` converts one.",
        example: None,
    },
    ProblemCode {
        name: "empty-file",
        severity: Error,
        meaning: "The file says nothing.",
        remedy: "Write at least a `description` and something to run.",
        example: Some("# nothing yet\n"),
    },
    ProblemCode {
        name: "line-separator",
        severity: Error,
        meaning: "The file holds a character (U+0085, U+2028, U+2029) that ends a line to some readers of YAML and not to others.",
        remedy: "Write an ordinary line end, or a space.",
        example: Some("description: Says hello\ntags: [read]\nbash: \"echo a\u{2028}b\"\n"),
    },
    ProblemCode {
        name: "hidden-character",
        severity: Warning,
        meaning: "The file holds a character that cannot be seen or that turns text around, so that it may read differently from what it does.",
        remedy: "Remove it; in double quotes it can be written as an escape, as in \"\\u200b\".",
        example: Some("description: Says hello\ntags: [read]\nbash: echo he\u{202e}llo\n"),
    },
    ProblemCode {
        name: "hidden-text",
        severity: Error,
        meaning: "A description, parameter, schema or tag has a character that its readers do not see (zero width, tags, bidirectional controls, control characters …), also if the file writes it as an escape. A model would read what no person sees.",
        remedy: "Remove it; `check --fix` does where the character itself is in a text. Joiners and selectors that a script or an emoji needs may stay.",
        example: Some("description: \"Says hello\\u200b\"\ntags: [read]\nbash: echo hello\n"),
    },
    ProblemCode {
        name: "look-alike",
        severity: Error,
        meaning: "The tool's name is not that of another tool but looks like it: the two have the same skeleton by Unicode's table of confusables (UTS 39), as `Iist-files` and `list-files` have, or `аpple` with a Cyrillic letter and `apple`. The same name in another scope is not a look-alike; it takes the other's place as always.",
        remedy: "Give the tool another name.",
        example: None,
    },
    ProblemCode {
        name: "several-documents",
        severity: Error,
        meaning: "The file holds more than one YAML document.",
        remedy: "Put each tool in a file of its own.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\n---\ndescription: Another\n",
        ),
    },
    ProblemCode {
        name: "too-much",
        severity: Error,
        meaning: "The file is nested too deeply, or holds too many or too long values. The bounds are generous: 32 levels, 20,000 values, 64 KB a text, 200 steps.",
        remedy: "Split the tool, or put what is long into a file that the command reads.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nmetadata: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
        ),
    },
    ProblemCode {
        name: "yaml-syntax",
        severity: Error,
        meaning: "The text is not YAML.",
        remedy: "Look at the line and the one before it; a text of several lines begins with `|`.",
        example: Some("description: Says hello\ntags: [read]\nbash: \"echo hello\n"),
    },
    ProblemCode {
        name: "indentation",
        severity: Error,
        meaning: "A line is indented in a way that fits nothing around it.",
        remedy: "Begin fields that belong together in the same column; indent what belongs to a field by two spaces.",
        example: Some(
            "description: Says hello\ntags: [read]\nparameters:\n  WHO:\n      type: string\n    description: Whom to greet\nbash: echo {WHO}\n",
        ),
    },
    ProblemCode {
        name: "tab-indentation",
        severity: Error,
        meaning: "A line is indented with a tab; YAML counts spaces only.",
        remedy: "Indent with spaces, two a level.",
        example: Some("description: Says hello\ntags: [read]\nparameters:\n	WHO:\n"),
    },
    ProblemCode {
        name: "needs-quotes",
        severity: Error,
        meaning: "A value begins with, or holds, a character that means something else to YAML: `{`, `[`, a quote, `@`, `%`, or `: ` within it.",
        remedy: "Put the value in quotes, or begin it on the next line after `|`. `check --fix` does.",
        example: Some(
            "description: Says hello\ntags: [read]\nparameters:\n  X:\n    description: A name\nbash: cat\ninput: {X} foo\n",
        ),
    },
    ProblemCode {
        name: "tag",
        severity: Error,
        meaning: "A value has a YAML tag (`!something`). What type a value has is fixed by its field.",
        remedy: "Remove the tag; a text that begins with `!` is put in quotes.",
        example: Some("description: Says hello\ntags: [read]\nbash: !!str echo hello\n"),
    },
    ProblemCode {
        name: "anchor",
        severity: Error,
        meaning: "A value has an anchor (`&name`). A tool's file says each thing where it counts, so that what a person reads is what runs.",
        remedy: "Write the value out where it is used.",
        example: Some("description: Says hello\ntags: [read]\nbash: &hello echo hello\n"),
    },
    ProblemCode {
        name: "alias",
        severity: Error,
        meaning: "A value is an alias (`*name`) of another.",
        remedy: "Write the value out; a text that begins with `*` is put in quotes.",
        example: Some("description: Says hello\ntags: [read]\nbash: *hello\n"),
    },
    ProblemCode {
        name: "merge-key",
        severity: Error,
        meaning: "A mapping takes fields from another by the merge key `<<`.",
        remedy: "Write the fields out.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nmetadata:\n  <<: {category: greetings}\n",
        ),
    },
    ProblemCode {
        name: "directive",
        severity: Error,
        meaning: "The file has a YAML directive (`%YAML`, `%TAG`).",
        remedy: "Remove the line.",
        example: Some("%YAML 1.1\n---\ndescription: Says hello\ntags: [read]\nbash: echo hello\n"),
    },
    ProblemCode {
        name: "key-not-text",
        severity: Error,
        meaning: "A key is a list or a mapping.",
        remedy: "Write a plain word before the colon; a value with braces is put in quotes.",
        example: Some("description: Says hello\ntags: [read]\n{WHO}: hello\nbash: echo hello\n"),
    },
    ProblemCode {
        name: "duplicate-key",
        severity: Error,
        meaning: "A key is given twice in one mapping; which of the two counts would be a guess.",
        remedy: "Remove one of them.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nbash: echo goodbye\n",
        ),
    },
    ProblemCode {
        name: "unknown-key",
        severity: Error,
        meaning: "A field that the format does not have. A misspelt field must not be dropped in silence, least of all a misspelt `security`.",
        remedy: "Use the name that is suggested; `toolcrib explain FIELD` describes each field. `check --fix` renames where there is one near name.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nsecuirty:\n  isolation: container\n",
        ),
    },
    ProblemCode {
        name: "wrong-type",
        severity: Error,
        meaning: "A value is not of the type that its field wants: a list, a mapping, true or false, a number. Types come from the field, not from YAML: `no` is not false, and `version: 1.10` is the text 1.10.",
        remedy: "Write a value of that type; `toolcrib explain FIELD` shows one.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nignore-errors: no\ntimeout: soon\n",
        ),
    },
    ProblemCode {
        name: "out-of-range",
        severity: Error,
        meaning: "A number, time or size is outside of what can be meant or enforced.",
        remedy: "Write a value within the range that the message names.",
        example: Some("description: Says hello\ntags: [read]\nbash: echo hello\ntimeout: 0\n"),
    },
    ProblemCode {
        name: "missing-value",
        severity: Error,
        meaning: "A field is there but has no value.",
        remedy: "Write a value, or remove the line.",
        example: Some("description: Says hello\ntags: [read]\nbash:\n"),
    },
    ProblemCode {
        name: "unknown-value",
        severity: Error,
        meaning: "A value is not one of the words that its field takes.",
        remedy: "Write one of the words.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nsecurity:\n  isolation: contianer\n",
        ),
    },
    ProblemCode {
        name: "missing-field",
        severity: Error,
        meaning: "A field that must be there is not.",
        remedy: "Add it.",
        example: Some("bash: echo hello\ntags: [read]\n"),
    },
    ProblemCode {
        name: "bad-name",
        severity: Error,
        meaning: "A name has characters that names of its kind cannot have, or is too long.",
        remedy: "Choose another name; the message says what it may hold.",
        example: Some("name: say hello\ndescription: Says hello\ntags: [read]\nbash: echo hello\n"),
    },
    ProblemCode {
        name: "duplicate-name",
        severity: Error,
        meaning: "Two steps or two tests have the same name.",
        remedy: "Give each a name of its own.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: greet\n    bash: echo hello\n  - name: greet\n    bash: echo hello again\n",
        ),
    },
    ProblemCode {
        name: "reserved-name",
        severity: Error,
        meaning: "A parameter has the name of one of Toolcrib's variables (WORKSPACE, TEMP, TEMP_DIR, TOOL_NAME, HOME), or a variable begins with TOOLCRIB_. A call could otherwise change what `{TEMP_DIR}` means, and with it what is deleted.",
        remedy: "Choose another name.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: ls {TEMP_DIR}\nparameters:\n  TEMP_DIR:\n    type: string\n    description: Where to look\n",
        ),
    },
    ProblemCode {
        name: "min-version",
        severity: Error,
        meaning: "The tool needs a newer Toolcrib than this one, or a CYCOD after 1.x.",
        remedy: "Install a newer Toolcrib, or lower the version if the tool does without.",
        example: Some(
            "description: Says hello\ntags: [read]\nmin-toolcrib-version: 99.0\nbash: echo hello\n",
        ),
    },
    ProblemCode {
        name: "nothing-to-run",
        severity: Error,
        meaning: "The tool or step does not say what it runs.",
        remedy: "Add one of `bash`, `cmd`, `pwsh`, `run`, `script`, `commands`, `steps`, or `type: alias` with `base-tool`.",
        example: Some("description: Says hello\ntags: [read]\n"),
    },
    ProblemCode {
        name: "two-ways-to-run",
        severity: Error,
        meaning: "The tool or step says more than once what it runs.",
        remedy: "Keep one; several commands are `steps`.",
        example: Some("description: Says hello\ntags: [read]\nbash: echo hello\nrun: echo hello\n"),
    },
    ProblemCode {
        name: "without-effect",
        severity: Warning,
        meaning: "A field is there that can have no effect beside the others.",
        remedy: "Remove it, or add what it needs.",
        example: Some("description: Says hello\ntags: [read]\nbash: echo hello\nshell: python\n"),
    },
    ProblemCode {
        name: "not-in-alias",
        severity: Error,
        meaning: "An alias has a field that only the tool behind it can have.",
        remedy: "Remove it, or write a tool of its own with `use-tool`.",
        example: Some("type: alias\nbase-tool: git-clone\nsecurity:\n  isolation: none\n"),
    },
    ProblemCode {
        name: "uses-itself",
        severity: Error,
        meaning: "A tool calls itself, as its own step or alias, and would never end.",
        remedy: "Name another tool.",
        example: Some(
            "name: loop\ndescription: Says hello\ntags: [read]\nsteps:\n  - name: again\n    use-tool: loop\n",
        ),
    },
    ProblemCode {
        name: "default-unfit",
        severity: Error,
        meaning: "A default does not pass the validation of its own parameter, so a call that relies on it would be refused. A warning where the parameter is also `required`.",
        remedy: "Change the default or the validation.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: seq {COUNT}\nparameters:\n  COUNT:\n    type: number\n    description: How many\n    default: 500\n    validation:\n      maximum: 100\n",
        ),
    },
    ProblemCode {
        name: "required-default",
        severity: Warning,
        meaning: "A parameter is required and has a default, which contradict each other. A call that lacks it gets the default.",
        remedy: "Remove one of the two.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo {WHO}\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\n    required: true\n    default: you\n",
        ),
    },
    ProblemCode {
        name: "example-unfit",
        severity: Warning,
        meaning: "An example does not pass the validation of its own parameter.",
        remedy: "Change the example or the validation.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo {WHO}\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\n    validation:\n      pattern: \"^[a-z]+$\"\n    examples: [R2D2]\n",
        ),
    },
    ProblemCode {
        name: "empty-range",
        severity: Error,
        meaning: "No value could pass: a minimum is larger than its maximum, or the list of values is empty.",
        remedy: "Change one of them.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: seq {COUNT}\nparameters:\n  COUNT:\n    type: number\n    description: How many\n    validation:\n      minimum: 10\n      maximum: 1\n",
        ),
    },
    ProblemCode {
        name: "bad-pattern",
        severity: Error,
        meaning: "A regular expression does not compile, or not within bounds. Patterns run in linear time, so look-around and back-references do not exist, and huge repetitions are refused.",
        remedy: "Write it without them.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo {WHO}\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\n    validation:\n      pattern: \"(a+\"\n",
        ),
    },
    ProblemCode {
        name: "bad-expression",
        severity: Error,
        meaning: "`transform` is not a JavaScript expression.",
        remedy: "Write an expression over `value`, as in \"value.toLowerCase()\".",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo {WHO}\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\n    transform: \"return value\"\n",
        ),
    },
    ProblemCode {
        name: "bad-format",
        severity: Error,
        meaning: "`format` is not words for a program: it is blank, or has characters of the shell, which would be handed to the program as they are.",
        remedy: "Write the words alone, as in \"--param={value}\".",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: grep {PATTERN} notes.txt\nparameters:\n  PATTERN:\n    type: string\n    description: What to look for\n    format: \"--regexp='{value}'\"\n",
        ),
    },
    ProblemCode {
        name: "raw-parameter",
        severity: Warning,
        meaning: "`escape-shell: false` pastes the value into commands as it is, so it can be any command. Every call asks a person.",
        remedy: "Remove the line unless the parameter is meant to be shell text.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: \"{COMMAND}\"\nparameters:\n  COMMAND:\n    type: string\n    description: Any command\n    security:\n      escape-shell: false\n",
        ),
    },
    ProblemCode {
        name: "value-is-program",
        severity: Warning,
        meaning: "The command is a value and nothing else, so the caller decides which program runs. Every call asks a person.",
        remedy: "Write the program's name, or choose among fixed ones with `case`.",
        example: Some(
            "description: Says hello\ntags: [run]\nbash: command {PROGRAM}\nparameters:\n  PROGRAM:\n    type: string\n    description: What to run\n",
        ),
    },
    ProblemCode {
        name: "unused-parameter",
        severity: Warning,
        meaning: "A parameter is used nowhere, so a model fills it in for nothing.",
        remedy: "Write `{NAME}` where its value belongs, or remove it.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\n",
        ),
    },
    ProblemCode {
        name: "shell-variable",
        severity: Warning,
        meaning: "`${NAME}` is a variable of the shell even if a parameter is called `NAME`; nobody sets it, so it is empty.",
        remedy: "Write `{NAME}`. In `awk`, hand the value over with `-v n={NAME}` and write `$n`.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo ${WHO}\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\n",
        ),
    },
    ProblemCode {
        name: "unknown-placeholder",
        severity: Warning,
        meaning: "Braces around capitals look like a placeholder, but there is no parameter of that name, so they stay as they are.",
        remedy: "Declare the parameter, or write `{{NAME}}` to say that the braces are meant.",
        example: Some("description: Says hello\ntags: [read]\nbash: echo {WHOM}\n"),
    },
    ProblemCode {
        name: "ambiguous-number",
        severity: Warning,
        meaning: "A number without quotes, where a text may be meant, loses how it is written: 1.10 becomes 1.1.",
        remedy: "Put it in quotes if the text is meant.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: install\n    use-tool: installer\n    with:\n      VERSION: 1.10\n",
        ),
    },
    ProblemCode {
        name: "step-reference",
        severity: Error,
        meaning: "A text uses the result of a step that may not have run when the text is needed.",
        remedy: "Name the step in `wait-for`, or move the text after it.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: first\n    bash: echo {second.output}\n  - name: second\n    bash: echo hello\n",
        ),
    },
    ProblemCode {
        name: "unknown-step",
        severity: Error,
        meaning: "`wait-for` names a step that does not exist.",
        remedy: "Use the name of a step.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: build\n    bash: echo build\n  - name: check\n    bash: echo check\n    wait-for: [biuld]\n",
        ),
    },
    ProblemCode {
        name: "wait-circle",
        severity: Error,
        meaning: "Steps wait for each other, so that none could start. A step waits for all steps before it unless it has a `wait-for` or `parallel: true`.",
        remedy: "Move the step that waits after those it waits for, or remove one `wait-for`.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: build\n    bash: echo build\n    wait-for: [check]\n  - name: check\n    bash: echo check\n",
        ),
    },
    ProblemCode {
        name: "no-security-tag",
        severity: Warning,
        meaning: "The tool has none of the tags read, write and run, so it counts as high risk and every call asks a person.",
        remedy: "Add what it does: `tags: [read]`, `[write]` or `[run]`.",
        example: Some("description: Says hello\nbash: echo hello\n"),
    },
    ProblemCode {
        name: "loader-variable",
        severity: Error,
        meaning: "A variable that decides what programs run or load (PATH, LD_PRELOAD, BASH_ENV, GIT_… and others) takes its value from a parameter or step. Whoever calls the tool could run anything.",
        remedy: "Write a fixed value, or give the value to the program as an argument.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: ls\nenvironment:\n  variables:\n    LD_PRELOAD: \"{LIBRARY}\"\nparameters:\n  LIBRARY:\n    type: string\n    description: A library\n",
        ),
    },
    ProblemCode {
        name: "bad-permission",
        severity: Error,
        meaning: "An entry of `required-permissions` is not a permission.",
        remedy: "Write `filesystem:read:PATH`, `filesystem:write:PATH` or `network:external:HOST`.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\nsecurity:\n  required-permissions:\n    - \"network:external:https://api.github.com/\"\n",
        ),
    },
    ProblemCode {
        name: "outside-path",
        severity: Error,
        meaning: "A path that must stay in its place leads out of it.",
        remedy: "Write a path without a leading `/` or `~` and without `..`.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo hello\ntests:\n  - name: basic\n    expected:\n      file-exists: ../secrets.txt\n",
        ),
    },
    ProblemCode {
        name: "unknown-parameter",
        severity: Error,
        meaning: "A test gives an argument that the tool does not have.",
        remedy: "Use the name of a parameter, or declare it.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo {WHO}\nparameters:\n  WHO:\n    type: string\n    description: Whom to greet\ntests:\n  - name: basic\n    parameters:\n      WOH: you\n",
        ),
    },
    ProblemCode {
        name: "template-eval",
        severity: Error,
        meaning: "The command hands a value to `eval`, which reads it as shell text.",
        remedy: "Run the command itself, without `eval`.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: eval {X}\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-arithmetic",
        severity: Error,
        meaning: "Bash calculates what stands there (`$(( ))`, `let`, `[[ -eq ]]` …), and while it does it runs commands that a text may hold.",
        remedy: "Make it a parameter of type number.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo $(({X} + 1))\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-code",
        severity: Error,
        meaning: "A value becomes part of a program for an interpreter (`sh -c`, `python -c`, `awk` …), which would read it as code.",
        remedy: "Hand it over as an argument or in the environment: `sh -c 'echo \"$1\"' sh {X}`.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: sh -c \"echo {X}\"\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-input",
        severity: Error,
        meaning: "A value in `input` reaches a program that reads commands or code from its standard input, or that makes words of what it reads.",
        remedy: "Give it to a program that takes what it reads for data, or hand the value over as an argument.",
        example: Some(
            "description: Says hello\ntags: [read]\nrun: bash\ninput: \"echo {X}\"\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-command",
        severity: Error,
        meaning: "A value decides which program runs.",
        remedy: "Write the program's name, or choose among fixed ones with `case`.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: \"{X} --version\"\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-unquoted",
        severity: Error,
        meaning: "A variable that holds a value stands without quotes, so blanks and signs in the value make several words of it.",
        remedy: "Put double quotes around the variable; for several words make the parameter a list.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: y={X}; echo $y\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-shell",
        severity: Error,
        meaning: "The shell of a script has options that change how its text is read.",
        remedy: "Use `-e`, `-u`, `-x` and `-o pipefail` only.",
        example: Some(
            "description: Says hello\ntags: [read]\nscript: echo hello\nshell: bash -i\n",
        ),
    },
    ProblemCode {
        name: "template-name",
        severity: Error,
        meaning: "A value is used as the name of a variable, or is expanded once more.",
        remedy: "Write the variable's name in the template.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: read {X}\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-option",
        severity: Error,
        meaning: "A value could become an option of a program that does more with options than a value should decide.",
        remedy: "Attach it to an option, or put it after `--`.",
        example: None,
    },
    ProblemCode {
        name: "template-expansion",
        severity: Error,
        meaning: "A value stands in a pattern, slice or name inside `${…}`.",
        remedy: "Put the value in a variable first: `x={X}`, then use \"$x\".",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: y=1; echo ${y#{X}}\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-braces",
        severity: Error,
        meaning: "A value stands in a sequence like `{1..9}`, which bash expands before it looks at values.",
        remedy: "Use `$(seq 1 {X})`.",
        example: None,
    },
    ProblemCode {
        name: "template-document",
        severity: Error,
        meaning: "A value stands in a here-document whose delimiter is quoted in an odd way.",
        remedy: "Use a plain delimiter, as in `<<'EOF'`.",
        example: None,
    },
    ProblemCode {
        name: "template-not-understood",
        severity: Error,
        meaning: "A value stands where Toolcrib does not understand the text well enough to put it there safely. What is not understood is refused.",
        remedy: "Put the value in a variable on a line of its own first: `x={X}`, then use \"$x\".",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: |\n  cat <<{X}\n  hello\n  {X}\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-empty",
        severity: Error,
        meaning: "The text names no program to run.",
        remedy: "Write the program and its arguments.",
        example: None,
    },
    ProblemCode {
        name: "template-language",
        severity: Error,
        meaning: "A value stands in the text of a language for which Toolcrib knows no safe way to hand it over.",
        remedy: "Read it from the environment or from the arguments in the program itself, or use a language that is known.",
        example: None,
    },
    ProblemCode {
        name: "template-comment",
        severity: Error,
        meaning: "A value stands in a comment of an expression, where it has no meaning.",
        remedy: "Take it out of the comment.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: a\n    bash: echo {X}\n    run-condition: \"true /* {X} */\"\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-string",
        severity: Error,
        meaning: "A value stands inside a string of an expression, where it is not replaced.",
        remedy: "Write it without quotes: `{X} == \"x\"`.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: a\n    bash: echo {X}\n    run-condition: \"'{X}' == 1\"\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-expression",
        severity: Error,
        meaning: "A condition is not a JavaScript expression.",
        remedy: "Write an expression, as in \"{build.exit-code} == 0\".",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: a\n    bash: echo {X}\n    run-condition: \"{X} ==\"\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-too-long",
        severity: Error,
        meaning: "The text of a program is longer than a program can be given.",
        remedy: "Put it in a file and run that.",
        example: None,
    },
    ProblemCode {
        name: "template-reserved-name",
        severity: Error,
        meaning: "The text uses variables that begin with `__toolcrib_`, which carry the values.",
        remedy: "Choose another name.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo {X} $__toolcrib_x\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-unknown-step",
        severity: Error,
        meaning: "A placeholder names a step that does not exist, or a part that steps do not have.",
        remedy: "Steps have output, stdout, stderr and exit-code.",
        example: Some(
            "description: Says hello\ntags: [read]\nsteps:\n  - name: a\n    bash: echo {X}\n  - name: b\n    bash: echo {a.exitcode}\nparameters:\n  X:\n    type: string\n    description: A value\n",
        ),
    },
    ProblemCode {
        name: "template-unknown-name",
        severity: Warning,
        meaning: "Braces around a name that is nearly a parameter's; they stay as they are.",
        remedy: "Write the parameter's name, or `{{NAME}}` if the braces are meant.",
        example: Some(
            "description: Says hello\ntags: [read]\nbash: echo {DIRECTRY} {DIRECTORY}\nparameters:\n  DIRECTORY:\n    type: string\n    description: A directory\n",
        ),
    },
    ProblemCode {
        name: "unreadable",
        severity: Error,
        meaning: "The file cannot be read, or is not a regular file.",
        remedy: "Look at its permissions; a tool is a plain file in its directory.",
        example: None,
    },
    ProblemCode {
        name: "yml-extension",
        severity: Warning,
        meaning: "The file ends in `.yml`. Tools are `.yaml` files, so that no file is a tool by accident; this one is not loaded.",
        remedy: "Rename it.",
        example: None,
    },
    ProblemCode {
        name: "not-loaded",
        severity: Error,
        meaning: "The file is in order, but its tool cannot be loaded beside the others: tools use each other in a circle, or a built-in tool has its name.",
        remedy: "Do what the message says.",
        example: None,
    },
    ProblemCode {
        name: "unknown-tool",
        severity: Error,
        meaning: "`use-tool` or `base-tool` names a tool that is not there.",
        remedy: "`toolcrib list` shows what there is; a tool of another file is named by its `name`.",
        example: None,
    },
    ProblemCode {
        name: "tool-circle",
        severity: Error,
        meaning: "Tools use each other in a circle, so that a call would never end.",
        remedy: "Take the tool that the message names out of one of them.",
        example: None,
    },
    ProblemCode {
        name: "code-argument",
        severity: Error,
        meaning: "A value stands in the midst of an argument that the other tool reads as code, as in `command: \"ls {DIR}\"` for `shell`: the value would be code, too.",
        remedy: "Write a `bash` step, where values are handed over apart from the code.",
        example: None,
    },
    ProblemCode {
        name: "bad-argument",
        severity: Error,
        meaning: "`with` or `default-parameters` does not fit the other tool: it has no such parameter, needs one that is not given, or takes no such value.",
        remedy: "`toolcrib show TOOL` shows what it takes.",
        example: None,
    },
    ProblemCode {
        name: "shadowed",
        severity: Warning,
        meaning: "Another tool has the same name and comes first: built-in tools before those of the workspace, then yours, then the machine's.",
        remedy: "Rename one of them, or call this one by its bundle.",
        example: None,
    },
    ProblemCode {
        name: "provider-loss",
        severity: Warning,
        meaning: "A provider's format cannot say something that the tool says, so a model of that provider is not told. Arguments are checked all the same.",
        remedy: "Say it in the description as well, or leave it.",
        example: None,
    },
    ProblemCode {
        name: "not-expressible",
        severity: Error,
        meaning: "The tool cannot be put into a provider's format at all, so models of that provider are not offered it.",
        remedy: "Do what the message says.",
        example: None,
    },
    // Of HTTP tools' files.
    ProblemCode {
        name: "json-syntax",
        severity: Error,
        meaning: "The text is not JSON. Comments (`//`, `/* */`) and a comma at the end are accepted; everything else is as RFC 8259 has it.",
        remedy: "Look at the place and what stands before it. `check --fix` puts in quotes and commas that were left out.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": ["read"]
  "impl": {"urlTemplate": "https://example.com/"}
}
"#,
        ),
    },
    ProblemCode {
        name: "not-http",
        severity: Error,
        meaning: "A `.json` file of tools holds an HTTP tool that its user wrote; other kinds of tools, and built-in ones, are not such files.",
        remedy: "Do what the message says: a command is a `.yaml` file, a function is compiled in.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "type": "command",
  "impl": {
    "urlTemplate": "https://example.com/"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "bad-schema",
        severity: Error,
        meaning: "`argSchema` or `outputSchema` is no JSON Schema that can be used: not valid, larger or deeper than the bounds, or with a reference to somewhere else (which would be a request nobody asked for).",
        remedy: "Correct it at the place that the message names; references lead to `#/…` of the same schema.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "outputSchema": {
    "$ref": "https://example.com/schema.json"
  },
  "impl": {
    "urlTemplate": "https://example.com/"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "undescribed-argument",
        severity: Warning,
        meaning: "A property of `argSchema` has no description, so a model has only its name to go by.",
        remedy: "Describe it in a sentence.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string"
      }
    },
    "required": [
      "city"
    ]
  },
  "impl": {
    "urlTemplate": "https://example.com/?q=${city}"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "url-scheme",
        severity: Error,
        meaning: "`urlTemplate` does not start with `http://` or `https://`; nothing else is ever sent for.",
        remedy: "Write the URL out, from the scheme on.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "ftp://example.com/"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "url-host",
        severity: Error,
        meaning: "Host or port of the URL cannot be used: they are no host and no port, hold a user or password, or are read differently by different programs.",
        remedy: "Write the host as in `https://api.example.com`; credentials belong into `auth`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://user@example.com/"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "url-placeholder",
        severity: Error,
        meaning: "A placeholder stands in the scheme, the user, the host or the port. Where a tool sends its requests, and what secrets it tells there, is fixed by its file.",
        remedy: "Write the host out; placeholders stand in path and query.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string",
        "description": "A city"
      }
    },
    "required": [
      "city"
    ]
  },
  "impl": {
    "urlTemplate": "https://${city}.example.com/"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "url-fragment",
        severity: Error,
        meaning: "The URL has a fragment (`#…`), which is never sent.",
        remedy: "Remove it; a `#` that belongs to the path or the query is written `%23`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/#top"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "url-character",
        severity: Error,
        meaning: "The URL holds a character that no URL has, such as a space.",
        remedy: "Write it percent-encoded, as in `%20`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/a b"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "control-character",
        severity: Error,
        meaning: "A text holds a character that would end a line or a text of the protocol (a line end, U+0000).",
        remedy: "Remove it.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/",
    "headers": {
      "X-Note": "a\r\nb"
    }
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "unclosed-placeholder",
        severity: Error,
        meaning: "A `${` has no `}` behind it.",
        remedy: "Close it; a literal `${` is written `$${`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/?q=${city"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "bad-placeholder",
        severity: Error,
        meaning: "A placeholder names nothing that it could stand for: it is empty, no name of a secret, or `${prev.value}` where no request stands before.",
        remedy: "Name a property of `argSchema`, a secret, or `version`, `slug`, `displayName`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/?q=${the city}"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "argument-as-credential",
        severity: Error,
        meaning: "`auth` names an argument. A model could then say who a request is from.",
        remedy: "Name a secret, and give it a name that no argument has.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string",
        "description": "A city"
      }
    },
    "required": [
      "city"
    ]
  },
  "impl": {
    "urlTemplate": "https://example.com/?q=${city}",
    "auth": {
      "type": "bearer",
      "token": "${city}"
    }
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "optional-placeholder",
        severity: Warning,
        meaning: "A placeholder stands for an argument that a call may leave out, and a call that does is refused: nothing is sent with a hole in it.",
        remedy: "Require the argument, or give it a `default`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string",
        "description": "A city"
      }
    }
  },
  "impl": {
    "urlTemplate": "https://example.com/?q=${city}"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "secret-or-argument",
        severity: Warning,
        meaning: "A placeholder is no argument and therefore a secret, but one letter away from an argument.",
        remedy: "Correct the name, or rename the secret if it is one.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string",
        "description": "A city"
      }
    },
    "required": [
      "city"
    ]
  },
  "impl": {
    "urlTemplate": "https://example.com/?q=${city}",
    "headers": {
      "X-City": "${ciy}"
    }
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "secret-in-url",
        severity: Warning,
        meaning: "A secret is part of the URL. Servers and proxies write URLs to their logs.",
        remedy: "Send it in a header or with `auth`, if the server takes it there.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/?key=${API_KEY}"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "secret-over-http",
        severity: Warning,
        meaning: "A secret is sent without encryption: anybody on the way can read it.",
        remedy: "Write `https://`, if the server has it.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "http://example.com/",
    "headers": {
      "X-Key": "${API_KEY}"
    }
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "not-a-placeholder",
        severity: Warning,
        meaning: "A text looks like a placeholder of another template language, and is sent as it stands.",
        remedy: "Write `${NAME}`, with `NAME` a property of `argSchema` or a secret; a brace of a URL that is meant is written `%7B`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/users/{id}"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "credential-in-file",
        severity: Warning,
        meaning: "A credential stands in the file as it is, where everybody who has the file can read it, and where nothing masks it.",
        remedy: "`toolcrib secret set NAME` keeps it; write `${NAME}` in its place.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/",
    "auth": {
      "type": "bearer",
      "token": "abc123"
    }
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "bad-header",
        severity: Error,
        meaning: "A header cannot be set: its name is none, it says where a message ends or whom it is for, or `auth` sends it already.",
        remedy: "Remove it, or correct its name.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/",
    "headers": {
      "Host": "other.example"
    }
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "body-not-allowed",
        severity: Error,
        meaning: "A GET or HEAD request has a body. Servers ignore it, or take it for the beginning of another request.",
        remedy: "Write `\"method\": \"POST\"`, or leave the body out.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/",
    "bodyTemplate": "x"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "body-json",
        severity: Error,
        meaning: "The body is not JSON, whatever its placeholders stand for, or a placeholder stands in a key.",
        remedy: "Inside quotes a placeholder is a text, without quotes a whole value; keys are written out.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string",
        "description": "A city"
      }
    },
    "required": [
      "city"
    ]
  },
  "impl": {
    "method": "POST",
    "urlTemplate": "https://example.com/",
    "bodyTemplate": "{\"a\": 1${city}}"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "body-type",
        severity: Error,
        meaning: "What the body is depends on a value, or is a form in which a value could end its part and begin another.",
        remedy: "Write `Content-Type` out; send JSON or `application/x-www-form-urlencoded`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string",
        "description": "A city"
      }
    },
    "required": [
      "city"
    ]
  },
  "impl": {
    "method": "POST",
    "urlTemplate": "https://example.com/",
    "headers": {
      "Content-Type": "multipart/form-data; boundary=x"
    },
    "bodyTemplate": "--x ${city} --x--"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "value-crosses-hosts",
        severity: Warning,
        meaning: "`${prev.value}` goes to another server than the one that gave it, and a request before has a secret: servers say back what they were told.",
        remedy: "Take only what is needed with `extractExpr`, and bind the secret to its host with `toolcrib secret set NAME --host HOST`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {}
  },
  "impl": [
    {
      "urlTemplate": "https://a.example.com/",
      "headers": {
        "X-Key": "${API_KEY}"
      }
    },
    {
      "urlTemplate": "https://b.example.com/?x=${prev.value}"
    }
  ]
}
"#,
        ),
    },
    ProblemCode {
        name: "raw-body",
        severity: Warning,
        meaning: "Values stand in the body as they are, since nobody here knows its form: one may change what the rest of it means.",
        remedy: "Send JSON or a form, or let `argSchema` admit harmless values only.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {
        "type": "string",
        "description": "A city"
      }
    },
    "required": [
      "city"
    ]
  },
  "impl": {
    "method": "POST",
    "urlTemplate": "https://example.com/",
    "headers": {
      "Content-Type": "application/xml"
    },
    "bodyTemplate": "<a>${city}</a>"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "bad-extract",
        severity: Error,
        meaning: "`extractExpr` is neither JSONPath (RFC 9535) nor a regular expression between slashes, or does not fit `responseEncoding`.",
        remedy: "Write `$.path.to.it`, or `/pattern/`.",
        example: Some(
            r#"{
  "description": "Says hello",
  "tags": [
    "read"
  ],
  "impl": {
    "urlTemplate": "https://example.com/",
    "extractExpr": "current.text"
  }
}
"#,
        ),
    },
    ProblemCode {
        name: "argument-is-secret",
        severity: Error,
        meaning: "An argument has the name of a secret that is kept here. The two are apart, so that an argument can never stand for a secret.",
        remedy: "Rename the argument, or the secret (`toolcrib secret list`).",
        example: None,
    },
    ProblemCode {
        name: "said-twice",
        severity: Error,
        meaning: "A record of the store says one thing in two places, and not the same: in `impl` and beside it.",
        remedy: "Say it once, where the message names.",
        example: None,
    },
    ProblemCode {
        name: "json-extension",
        severity: Warning,
        meaning: "The file's name does not end in `.json`, so it is not loaded as a tool.",
        remedy: "Rename it.",
        example: None,
    },
];
