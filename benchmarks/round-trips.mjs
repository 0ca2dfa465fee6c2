// How often this process has waited for PostgreSQL, whatever client it uses.
import { Socket } from "node:net";

/** ReadyForQuery: the server has answered all that was sent together. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5]);

let counted = 0;

const countIn = (data) => {
  for (let at = data.indexOf(readyForQuery); at >= 0; at = data.indexOf(readyForQuery, at + 1)) counted += 1;
};

/** Every connection is counted from its first answer on. Costs some CPU, so only a run that asks for it counts. */
export const countRoundTrips = () => {
  const { emit } = Socket.prototype;
  Socket.prototype.emit = function (event, ...args) {
    if (event === "data") countIn(args[0]);
    return emit.call(this, event, ...args);
  };
};

export const roundTripsSoFar = () => counted;
