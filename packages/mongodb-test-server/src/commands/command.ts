import type { Document, Value } from "../bson-values/types.ts";
import type { Deadline } from "../deadline.ts";
import type { Variables } from "../query/matches.ts";
import type { ServerState } from "../server-state.ts";
import type { StoreTransaction } from "../storage/transaction.ts";
import type { Session } from "../transactions/session.ts";

export interface CommandContext {
  readonly server: ServerState;
  readonly name: string;
  readonly database: string;
  readonly command: Document;
  /** The first value of the command: most often the collection. */
  readonly target: Value;
  readonly session: Session | undefined;
  readonly transaction: StoreTransaction | undefined;
  /** A retryable write: what its statements answer is kept in the session. */
  readonly isRetryable: boolean;
  /** The connection is cut in place of the reply. */
  readonly cutConnection: () => void;
  readonly deadline: Deadline;
  /** NOW, CLUSTER_TIME and those of `let`. */
  readonly variables: Variables;
}

export interface Command {
  /** The fields it knows beyond those every command may have; another one is refused by name. */
  readonly fields: readonly string[];
  /** A write needs a primary; a read may allow a secondary; a check runs anywhere. */
  readonly kind: "read" | "write" | "check";
  readonly inTransactions?: boolean;
  readonly run: (context: CommandContext) => Document | Promise<Document>;
}
