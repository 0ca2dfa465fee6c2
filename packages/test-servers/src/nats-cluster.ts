import { findFreePort } from "./free-port.ts";
import { type NatsServer, startNats } from "./nats.ts";

export interface NatsCluster {
  /** Three servers with JetStream that know each other. */
  readonly nodes: readonly NatsServer[];
  /** Ends every server. Idempotent. */
  stop(): Promise<void>;
}

const size = 3;

/** Starts three NATS servers on the loopback address that are one cluster. */
export const startNatsCluster = async (): Promise<NatsCluster> => {
  const ports = await Promise.all(Array.from({ length: size }, findFreePort));
  const addresses = ports.map((port) => `nats://127.0.0.1:${port}`);
  const nodes = await Promise.all(
    addresses.map((cluster, index) =>
      startNats({
        server_name: `node-${index}`,
        cluster_name: "leasehold",
        cluster,
        routes: addresses.join(","),
      }),
    ),
  );
  return {
    nodes,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
};
