#!/usr/bin/env node
import module from "node:module";

// From Node 22 on; a command that is called again and again starts noticeably sooner.
module.enableCompileCache?.();
const { main } = await import("../dist/main.js");
process.exitCode = await main(process.argv);
// A worker or config module may have left something open, which must not keep the command from ending.
process.stdout.write("", () => setTimeout(() => process.exit(), 1_000).unref());
