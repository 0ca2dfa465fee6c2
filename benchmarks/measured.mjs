// What runs in a measured process: one task of tasks.mjs, from "go" to its answer.
import { tasks } from "./tasks.mjs";

const [name, options] = process.argv.slice(2);

// Whoever measures has gone.
process.once("disconnect", () => process.exit());

const send = (name, data) => process.send({ name, data });

const go = new Promise((resolve) => process.once("message", resolve));

await tasks[name](JSON.parse(options), {
  ready: async () => {
    send("ready");
    await go;
  },
  send,
});
// It stays until the parent has read what the server used, and ends it.
