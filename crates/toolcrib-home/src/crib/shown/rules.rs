//! The rules, and what they make of a call: [`RuleRow`], [`RulesTest`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::crib::Crib;
use crate::model::JsonObject;
use crate::model::effects::{Effects, Verdict};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::WireName;
use crate::pipeline::touched;
use crate::rules::{Finding, Rule, RuleContext, Rules as _, Runs};
use crate::schema::{Property, Rejected, Schema};
use crate::shell::{Directory, Part, SimpleCommand, Word};
use crate::spec::manifest::ToolKind;
use crate::spec::{Role, ToolSpec};
use crate::tool::{ShellText, Touched};

/// A rule as lists show it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RuleRow {
    /// Its name.
    pub name: String,
    /// What it says.
    pub verdict: Verdict,
    /// The tools it is for; none: all.
    pub tools: Vec<String>,
    /// Where it comes from.
    pub origin: String,
    /// Why there is such a rule.
    pub reason: String,
    /// Whether it holds; the setting `disabledRules` switches rules off.
    pub enabled: bool,
}

/// What the rules make of a call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RulesTest {
    /// The tool's name for models.
    pub tool: String,
    /// The severest verdict of all rules that match; allow when none does.
    pub verdict: Verdict,
    /// The rules that match, severest first.
    pub findings: Vec<Finding>,
    /// The commands that the shell texts of the call would run.
    pub commands: Vec<RanCommand>,
}

/// A command that a shell text would run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RanCommand {
    /// Its words.
    pub words: Vec<String>,
    /// By what it is run, outermost first.
    pub via: Vec<String>,
    /// Where; `.` for where the call starts, null if that is unknown.
    pub directory: Option<String>,
}

fn row(rule: &Rule, enabled: bool) -> RuleRow {
    RuleRow {
        name: rule.name().to_owned(),
        verdict: rule.verdict(),
        tools: rule.tools().to_vec(),
        origin: rule.origin().to_string(),
        reason: rule.reason().to_owned(),
        enabled,
    }
}

impl Crib {
    /// The rules in force that can match a call of this tool.
    pub fn rules_about(&self, tool: &str) -> Result<Vec<RuleRow>, ToolError> {
        let entry = self.registry().find(tool)?;
        let spec = entry.spec();
        let runs = match self.tool_row(&entry).kind {
            ToolKind::Command | ToolKind::Alias => Runs::Commands,
            ToolKind::Go | ToolKind::Rust if spec.effects.contains(Effects::RUN) => Runs::Commands,
            ToolKind::Go | ToolKind::Rust | ToolKind::Http | ToolKind::Mcp => Runs::Nothing,
        };
        let rules = self.rules().about(spec, runs);
        Ok(rules.map(|rule| row(rule, true)).collect())
    }

    /// Every rule, those that are switched off too.
    pub fn rule_rows(&self) -> Vec<RuleRow> {
        let on = self.rules().rules().map(|rule| row(rule, true));
        let off = self.rules().disabled().map(|rule| row(rule, false));
        on.chain(off).collect()
    }

    /// What the rules make of a call of a tool, with arguments as the pipeline would hand them to the rules. Nothing runs.
    pub fn test_rules(&self, tool: &str, arguments: JsonObject) -> Result<RulesTest, ToolError> {
        let entry = self.registry().find(tool)?;
        let (spec, tool) = (entry.spec(), entry.tool());
        let checked = spec.input_schema.check_arguments(arguments, &spec.synonyms);
        let refined = checked.and_then(|arguments| {
            let refined = tool.refine(arguments.clone(), false);
            refined.map_err(|faults| Rejected::Arguments {
                args: arguments,
                faults,
            })
        });
        match refined {
            Ok(arguments) => {
                let workspace = self.registry().workspace().map(AsRef::as_ref);
                let look = tool.look(&arguments, workspace);
                let touched = touched(spec, &arguments, &look, workspace);
                Ok(self.judged(spec, &arguments, &look.commands, &touched))
            }
            Err(Rejected::Arguments { faults, .. }) => {
                let all: Vec<String> = faults
                    .iter()
                    .map(|fault| format!("`{}` {}", fault.pointer, fault.message))
                    .collect();
                let message = format!("invalid arguments for `{}`: {}", spec.name, all.join("; "));
                Err(ToolError::new(ErrorCode::InvalidArguments, message))
            }
            Err(Rejected::Schema(error)) => {
                let message = format!("`{}` has a schema that cannot be used: {error}", spec.name);
                Err(ToolError::new(ErrorCode::ToolUnavailable, message))
            }
        }
    }

    /// What the rules make of a shell text, whether there is a tool that would run it or not.
    pub fn test_command(&self, command: &str) -> Result<RulesTest, ToolError> {
        let arguments = [("command".to_owned(), json!(command))];
        let arguments = arguments.into_iter().collect();
        Ok(self.judged(&any_shell()?, &arguments, &[], &[]))
    }

    fn judged(
        &self,
        spec: &ToolSpec,
        arguments: &JsonObject,
        texts: &[ShellText],
        touched: &[Touched],
    ) -> RulesTest {
        let cx = RuleContext {
            workspace: self.workspace_path(),
            commands: texts,
            touched,
            follows_links: true,
        };
        let judgement = self.rules().judge(spec, arguments, &cx);
        RulesTest {
            tool: spec.name.to_string(),
            verdict: judgement.verdict,
            findings: judgement.findings,
            commands: commands(spec, arguments, texts),
        }
    }
}

/// A tool that takes shell text.
fn any_shell() -> Result<ToolSpec, ToolError> {
    let schema = Schema::object()
        .required("command", Property::string("The text"))
        .build()
        .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?;
    let mut spec = ToolSpec::new(WireName::fit("shell"), "Runs a command", schema);
    spec.aliases = vec![WireName::fit("execute_bash")];
    spec.roles = vec![("command".to_owned(), Role::Shell)];
    Ok(spec)
}

/// The commands of the shell texts among the arguments, and of those the tool makes of them.
fn commands(spec: &ToolSpec, args: &JsonObject, texts: &[ShellText]) -> Vec<RanCommand> {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let shells = spec.roles.iter().filter(|(_, role)| match role {
        Role::Shell => true,
        Role::Code { language } => matches!(text(language), Some("bash" | "sh")),
        Role::Directory | Role::ReadPath | Role::WritePath | Role::Url => false,
    });
    shells
        .filter_map(|(name, _)| text(name))
        .chain(texts.iter().map(|made| made.text.as_str()))
        .flat_map(|text| crate::shell::read(text).commands)
        .map(|command| ran(&command))
        .collect()
}

fn ran(command: &SimpleCommand) -> RanCommand {
    RanCommand {
        words: command.words.iter().map(shown).collect(),
        via: command.via.iter().map(ToString::to_string).collect(),
        directory: match &command.directory {
            Directory::Start => Some(".".to_owned()),
            Directory::Known(path) => Some(path.clone()),
            Directory::Unknown => None,
        },
    }
}

fn shown(word: &Word) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) | Part::Glob(text) | Part::Dynamic(text) => text.clone(),
        Part::Variable(name) => format!("${name}"),
    };
    word.parts.iter().map(part).collect()
}
