// What a new tool begins as. Each checks, and each test in it passes.

import { written } from "../yaml/document";

const header = (name: string, description: string) => `name: ${name}\ndescription: ${written(description, 0)}\n`;

export const command = (name: string, description: string) => `${header(name, description || "Greets a person")}
# {WHO} becomes one word of the command, whatever is in it: it needs no quotes of its own.
bash: |
  printf 'Hello, %s!\\n' {WHO}

parameters:
  WHO:
    description: Whom to greet
    default: world

# What it does: read, write or run. Without one of these a person is asked before every call.
tags: [read]

tests:
  - name: greets-the-world
    expected:
      output-contains: "Hello, world!"
`;

export const steps = (name: string, description: string) => `${header(name, description || "Keeps a note and counts the notes")}
# One after the other; what fails ends it, unless the step says otherwise.
steps:
  - name: write
    bash: printf '%s\\n' {TEXT} >> notes.txt
  - name: count
    bash: wc -l < notes.txt

parameters:
  TEXT:
    description: The note to keep

tags: [write]

tests:
  - name: keeps-a-note
    parameters:
      TEXT: buy milk
    expected:
      output-contains: "1"
`;

/** A tool that is another one with arguments that are set. */
export const alias = (name: string, base: string, description: string, parameters: string[]) => `${header(name, description)}type: alias
base-tool: ${base}

# Set for good: callers do not see these. ${parameters.length > 0 ? `It takes: ${parameters.join(", ")}.` : ""}
# fixed-parameters:
#   ${parameters[0] ?? "NAME"}: …

# Usual values: a caller may give others.
# default-parameters:
#   ${parameters[1] ?? parameters[0] ?? "NAME"}: …
`;

export const http = (name: string, description: string) => `${JSON.stringify({
  slug: name.replaceAll("_", "-"),
  displayName: name,
  description: description || "Fetches current weather for a city",
  type: "http",
  tags: ["read"],
  argSchema: { type: "object", properties: { city: { type: "string", description: "The city" } }, required: ["city"] },
  impl: { method: "GET", urlTemplate: "https://api.example.com/v1/current.json?q=${city}", headers: { Accept: "application/json" }, successCodes: [200], timeoutMs: 10000, responseEncoding: "json", extractExpr: "$" },
}, null, 2)}\n`;
