#!/usr/bin/env node
// Starts the binary of this machine, which npm installed as a package of its own.
"use strict";

const { spawn } = require("node:child_process");
const { platform, arch, argv, env, exit } = process;

const SCOPE = "@SCOPE@";
const KNOWN = "@KNOWN@".split(" ");
const wanted = `${platform}-${arch}`;

let binary;
try {
  binary = require.resolve(`${SCOPE}/${wanted}/bin/toolcrib`);
} catch {
  const why = KNOWN.includes(wanted)
    ? `the package ${SCOPE}/${wanted} is not installed; install without --omit=optional or --no-optional`
    : `there is no build for ${wanted} yet, only for ${KNOWN.join(", ")}`;
  console.error(`toolcrib: ${why}`);
  exit(1);
}

const words = argv.slice(2);
if (typeof process.execve === "function") {
  // Node 23.11 and newer: the binary takes the place of this process.
  process.execve(binary, [binary, ...words], env);
}
const child = spawn(binary, words, { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`toolcrib: cannot start ${binary}: ${error.message}`);
  exit(1);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal === null) exit(code);
  // Ends as the binary did, for who waits for this process.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
