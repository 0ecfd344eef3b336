//! Steps.

use super::{fails, fields, output, tool, value, with};

fields! {
    "steps[].name" a_step_goes_by_its_name {
        let value = value(&tool("steps: [{name: only-one, bash: echo a}]\n"), &[]);
        assert_eq!(value["steps"]["only-one"]["stdout"], "a\n", "{value}");
    }
    "steps[].bash" a_step_runs_its_command {
        let yaml = "steps: [{name: a, bash: 'printf \"<%s>\" {X} | tr a b'}]\nparameters: {X: {description: A text}}\n";
        assert_eq!(output(yaml, &["X=a; $(b)"]), "<b; $(b)>");
    }
    "steps[].continue-on-error" the_rest_goes_on_after_a_failure_that_may_be {
        let yaml = |may: bool| {
            format!("steps:\n  - {{name: a, bash: exit 3, continue-on-error: {may}}}\n  - {{name: b, bash: echo went on}}\n")
        };
        assert_eq!(output(&yaml(true), &[]), "went on");
        fails(&tool(&yaml(false)), &[], "EXECUTION_ERROR", "step `a`");
    }
    "steps[].run-condition" a_step_runs_when_its_condition_holds {
        let yaml = "steps:\n  - {name: a, bash: 'exit {X}', continue-on-error: true}\n  \
                    - {name: b, bash: echo b, run-condition: '{a.exit-code} == 0'}\n\
                    parameters: {X: {type: number, description: A number}}\n";
        let test = tool(yaml);
        assert_eq!(value(&test, &["X=0"])["steps"]["b"]["status"], "ok");
        assert_eq!(value(&test, &["X=1"])["steps"]["b"]["status"], "skipped");
    }
    "steps[].parallel" a_parallel_step_runs_beside_the_one_before {
        // Each waits for the other.
        let yaml = "timeout: 20s\nsteps:\n  - {name: a, bash: 'mkfifo p; echo from a > p'}\n  \
                    - {name: b, bash: 'until [ -p p ]; do :; done; cat p', parallel: true}\n";
        assert_eq!(output(yaml, &[]), "from a");
        let alone = "timeout: 1s\nsteps:\n  - {name: a, bash: 'mkfifo p; echo from a > p'}\n  - {name: b, bash: cat p, parallel: false}\n";
        fails(&tool(alone), &[], "TIMEOUT", "");
    }
    "steps[].wait-for" a_step_waits_for_what_it_names {
        // `c` waits for `a` alone, and `b` for `c`.
        let yaml = "timeout: 20s\nsteps:\n  - {name: a, bash: 'mkfifo p; echo a'}\n  \
                    - {name: b, bash: cat p, wait-for: [a]}\n  - {name: c, bash: 'echo from c > p', wait-for: [a]}\n  \
                    - {name: d, bash: 'echo {b.output}', wait-for: [b, c]}\n";
        assert_eq!(output(yaml, &[]), "from c");
    }
    "steps[].use-tool" a_step_can_be_another_tool {
        let test = with(&[
            ("t", "description: Uses\ntags: [run]\nsteps: [{name: a, use-tool: other-tool}]\n"),
            ("other-tool", "description: Used\ntags: [run]\nbash: echo from the other\n"),
        ]);
        assert_eq!(value(&test, &[])["output"], "from the other");
    }
    "steps[].with.*" another_tool_gets_its_arguments {
        let test = with(&[
            (
                "t",
                "description: Uses\ntags: [run]\nparameters: {N: {type: number, description: N}}\n\
                 steps: [{name: a, use-tool: other, with: {PARAM1: 'value {N}', N: '{N}'}}]\n",
            ),
            (
                "other",
                "description: Used\ntags: [run]\nbash: echo {PARAM1} $(({N} + 1))\n\
                 parameters: {PARAM1: {description: A text}, N: {type: number, description: A number}}\n",
            ),
        ]);
        assert_eq!(value(&test, &["N=4"])["output"], "value 4 5");
    }
    "steps[].error-handling.retry.attempts" a_step_is_tried_so_often {
        let yaml = "steps: [{name: a, bash: 'echo x >> n; [ $(wc -l < n) = 3 ]', error-handling: {retry: {attempts: 3}}}]\n";
        let test = tool(yaml);
        assert_eq!(value(&test, &[])["steps"]["a"]["attempts"], 3);
        fails(&tool(&yaml.replace("attempts: 3", "attempts: 2")), &[], "EXECUTION_ERROR", "step `a`");
    }
    "steps[].error-handling.retry.delay" attempts_are_so_far_apart {
        let yaml = "steps: [{name: a, bash: 'date +%s%3N >> n; [ $(wc -l < n) = 2 ]', error-handling: {retry: {attempts: 2, delay: 400}}}]\n";
        let test = tool(yaml);
        value(&test, &[]);
        let times = std::fs::read_to_string(test.workspace().join("n")).unwrap();
        let times: Vec<u64> = times.lines().map(|time| time.parse().unwrap()).collect();
        assert!(times[1] - times[0] >= 400, "{times:?}");
    }
    "steps[].error-handling.fallback" a_fallback_takes_the_place_of_a_failure {
        let yaml = "steps: [{name: a, bash: exit 1, error-handling: {fallback: 'printf \"<%s>\" {X}'}}]\n\
                    parameters: {X: {description: A text}}\n";
        assert_eq!(output(yaml, &["X=$(id)"]), "<$(id)>");
    }
    "steps[].output.mode" output_comes_as_it_is_printed_or_in_the_end {
        // The reader of the events answers the first step only once it has seen its output.
        let yaml = |mode: &str| {
            format!("steps: [{{name: a, bash: 'echo one; sleep 0.3; echo two', output: {{mode: {mode}, stream-callback: function}}}}]\n")
        };
        let chunks = |yaml: &str| {
            let ran = tool(yaml).run(&["run", "t", "--stream", "--json"]).exits(0);
            ran.stdout.lines().filter(|line| line.contains(r#""chunk""#)).count()
        };
        assert_eq!(chunks(&yaml("stream")), 2);
        assert_eq!(chunks("steps: [{name: a, bash: 'echo one; sleep 0.3; echo two', output: {mode: buffer}}]\n"), 1);
    }
    "steps[].output.buffer-limit" no_more_output_is_kept_than_the_limit {
        let yaml = "steps: [{name: a, bash: seq 1 5000, output: {buffer-limit: 2KB}}]\n";
        let printed = output(yaml, &[]);
        assert!(printed.len() < 2600 && printed.starts_with("1\n2\n") && printed.ends_with("5000"), "{printed}");
        assert!(output(&yaml.replace("2KB", "10MB"), &[]).len() > 20_000);
    }
    "steps[].output.stream-callback" output_is_passed_on_to_where_it_belongs {
        let yaml = |to: &str| format!("steps: [{{name: a, bash: echo hello, output: {{mode: stream, stream-callback: {to}}}}}]\n");
        let console = tool(&yaml("console")).run(&["run", "t", "--json"]).exits(0);
        assert_eq!(console.stderr, "hello\n");
        let function = tool(&yaml("function")).run(&["run", "t", "--json"]).exits(0);
        assert_eq!(function.stderr, "");
        let test = tool(&yaml("file"));
        value(&test, &[]);
        assert_eq!(std::fs::read_to_string(test.workspace().join("t-a.log")).unwrap(), "hello\n");
    }
}
