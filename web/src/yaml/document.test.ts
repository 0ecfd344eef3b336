import { describe, expect, test } from "vitest";
import { append, move, read, removeItem, rename, renameKey, set, written } from "./document";

const TOOL = `# top
name: x # the name
steps:
  # first
  - name: a   # c
    bash: |
      one
      two
    parallel: true
  # second
  - {name: b, bash: "x"}
  - bash: 'it''s'
    name: c
    error-handling:
      retry:
        attempts: 3
tags: [read, write]
`;

describe("YAML in place", () => {
  test("values are read as a person means them", () => {
    expect(read(TOOL, ["steps"])).toEqual([
      { name: "a", bash: "one\ntwo\n", parallel: true },
      { name: "b", bash: "x" },
      { bash: "it's", name: "c", "error-handling": { retry: { attempts: 3 } } },
    ]);
    expect(read(TOOL, ["tags"])).toEqual(["read", "write"]);
    expect(read(TOOL, ["gone", 1])).toBeUndefined();
  });

  test("a field is set, added and removed, and every other byte stays", () => {
    expect(set(TOOL, ["name"], "y: z")).toBe(TOOL.replace("name: x #", 'name: "y: z" #'));
    expect(set(TOOL, ["steps", 0, "bash"], "echo {X}")).toBe(TOOL.replace("bash: |\n      one\n      two\n", "bash: echo {X}\n"));
    expect(set(TOOL, ["steps", 0, "parallel"], undefined)).toBe(TOOL.replace("    parallel: true\n", ""));
    expect(set(TOOL, ["steps", 0, "run-condition"], "{a.exit-code} == 0")).toBe(TOOL.replace("    parallel: true\n", '    parallel: true\n    run-condition: "{a.exit-code} == 0"\n'));
    expect(set(TOOL, ["steps", 1, "bash"], "a\nb")).toBe(TOOL.replace('bash: "x"', 'bash: "a\\nb"'));
    expect(set(TOOL, ["steps", 1, "timeout"], "5s")).toBe(TOOL.replace('"x"}', '"x", timeout: "5s"}'));
    expect(set(TOOL, ["steps", 2, "bash"], undefined)).toBe(TOOL.replace("bash: 'it''s'\n    name: c", "name: c"));
    // A mapping that would be empty goes too.
    expect(set(TOOL, ["steps", 2, "error-handling", "retry", "attempts"], undefined)).toBe(TOOL.replace("    error-handling:\n      retry:\n        attempts: 3\n", ""));
    expect(set(TOOL, ["tags"], ["run"])).toBe(TOOL.replace("[read, write]", "[run]"));
    expect(set(TOOL, ["description"], "Says it")).toBe(`${TOOL}description: Says it\n`);
    const retried = set(TOOL, ["steps", 0, "error-handling", "retry", "attempts"], 2);
    expect(read(retried, ["steps", 0, "error-handling"])).toEqual({ retry: { attempts: 2 } });
    expect(retried.split("\n").filter((line) => !TOOL.split("\n").includes(line))).toHaveLength(1);
  });

  test("steps are added, moved with their comments, renamed and removed", () => {
    const more = append(TOOL, ["steps"], { name: "d", bash: "one\ntwo\n" });
    expect(read(more, ["steps", 3])).toEqual({ name: "d", bash: "one\ntwo\n" });
    expect(more.endsWith("tags: [read, write]\n")).toBe(true);
    const moved = move(TOOL, ["steps"], 1, 0);
    expect(moved).toContain('steps:\n  # second\n  - {name: b, bash: "x"}\n  # first\n  - name: a   # c\n');
    expect(move(moved, ["steps"], 1, 0)).toBe(TOOL);
    expect(removeItem(TOOL, ["steps"], 1)).toBe(TOOL.replace('  # second\n  - {name: b, bash: "x"}\n', ""));
    expect(rename(TOOL, ["steps", 2, "bash"], "use-tool", "read_file")).toBe(TOOL.replace("bash: 'it''s'", "use-tool: read_file"));
    expect(read(append("description: x\n", ["steps"], { name: "a", run: "true" }), ["steps"])).toEqual([{ name: "a", run: true }].map((one) => ({ ...one, run: "true" })));
  });

  test("mappings grow and keys are renamed", () => {
    const one = set("description: x\n", ["parameters", "WHO", "description"], "Whom");
    expect(read(one, ["parameters"])).toEqual({ WHO: { description: "Whom" } });
    const two = set(one, ["parameters", "N", "type"], "number");
    expect(read(two, ["parameters"])).toEqual({ WHO: { description: "Whom" }, N: { type: "number" } });
    expect(read(renameKey(two, ["parameters", "N"], "COUNT"), ["parameters", "COUNT", "type"])).toBe("number");
    expect(read(set(two, ["parameters", "N", "description"], "x\ny"), ["parameters", "N", "description"])).toBe("x\ny");
  });

  test("what is written is read back, whatever it is", () => {
    for (const text of ["", " x", "true", "12", "a: b", "# no", "- x", "é \u0007", "one\n two\n", "\nx", "x\n\n", "tab\there", "{X}", "it's \"q\"", "yes", "2026-01-01", "a #b", "null", "one\n\nthree"]) {
      const document = set("a: 1\nb: 2\n", ["a"], text);
      expect(read(document, ["a"]), JSON.stringify(text)).toBe(text);
      expect(read(document, ["b"])).toBe(2);
    }
    expect(written(["a b", "1", true], 0)).toBe('[a b, "1", true]');
  });
});
