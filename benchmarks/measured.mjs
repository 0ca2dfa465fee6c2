// What runs in a measured process: one task of tasks.mjs, from "go" to its answer.
import { countRoundTrips } from "./round-trips.mjs";
import { tasks } from "./tasks.mjs";

const [name, text] = process.argv.slice(2);
const options = JSON.parse(text);
if (options.counts) countRoundTrips();

// Whoever measures has gone.
process.once("disconnect", () => process.exit());

const send = (name, data) => process.send({ name, data });

const go = new Promise((resolve) => process.once("message", resolve));

await tasks[name](options, {
  ready: async () => {
    send("ready");
    await go;
  },
  send,
});
// It stays until the parent has read what the server used, and ends it.
