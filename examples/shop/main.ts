// npm start: a small shop whose orders, payments and e-mails are durable jobs in an SQLite file.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runShop } from "./run-shop.ts";

const { values } = parseArgs({
  options: {
    forever: { type: "boolean", default: false },
    seconds: { type: "string", default: "10" },
    orders: { type: "string" },
    dashboard: { type: "boolean", default: false },
    file: { type: "string", default: fileURLToPath(new URL("../data/shop.db", import.meta.url)) },
    help: { type: "boolean", short: "h", default: false },
  },
});

if (values.help) {
  console.log(
    "npm start -- [--seconds 10 | --orders 50 | --forever] [--dashboard] [--file path]\n\n" +
      "Runs a small shop on SQLite: orders come in for some seconds, and are worked off.\n" +
      "With --dashboard it shows its jobs on a web page, and stays open until Ctrl-C.",
  );
} else {
  const limit = (name: "seconds" | "orders"): number => {
    const value = Number(values[name] ?? Infinity);
    if (!(value > 0)) throw new Error(`--${name} must be a positive number.`);
    return value;
  };
  await runShop({
    file: values.file,
    openMs:
      values.forever || values.dashboard || values.orders !== undefined ? Infinity : limit("seconds") * 1_000,
    customers: limit("orders"),
    dashboard: values.dashboard,
  });
}
